"""Adding source documents, from a list or a stream: split, describe each sentence's context, replace what was there.

A stream may be of any length, as it is read, embedded and stored in batches. Each batch is one transaction of a
`FaissStore`.
"""

from collections.abc import AsyncIterable, AsyncIterator, Sequence
from itertools import count
from time import perf_counter

from langchain_core.documents import Document
from tqdm.auto import tqdm

from langchain_sentence_window._arguments import DocumentStream, check_document
from langchain_sentence_window._display import shown
from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.indexed_documents import stored_parts
from langchain_sentence_window.documents.keys import DOC_ID
from langchain_sentence_window.documents.part_groups import (
    Batch,
    Batches,
    Group,
    JoinParts,
    document_ids,
    group_documents,
    has_first,
    is_whole,
    with_stored,
)
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.documents.source_parts import Part
from langchain_sentence_window.embedding.embedder import on_embedded_texts
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from langchain_sentence_window.store.bm25_index import BM25Index

from .indexing import Preparation, replace_documents
from .stored_sentences import sentences_to_change
from .telemetry import log_ingest


async def read_batches(io: IO, documents: list[Document] | DocumentStream, join: JoinParts) -> AsyncIterator[Batch]:
    """Yield Documents in batches: a list as one, a stream as several.

    A stream is read in the caller's thread, by an event loop in others.

    Args:
        io: Makes the calls.
        documents: The Documents; a list is checked already.
        join: Whether the parts of a source are joined.

    Raises:
        InvalidInputError: An element isn't a Document, or parts of a document come far apart.
    """
    if isinstance(documents, list):
        names = await io.in_thread(document_ids, documents, join)
        groups = await io.in_thread(group_documents, documents, join, names)
        if names:
            yield Batch(names, groups, continues=False)
        return
    batches, positions = Batches(join), count()

    def put(document: Document) -> Batch | None:
        check_document(next(positions), document)
        return batches.put(document)

    if isinstance(documents, AsyncIterable):
        async for document in documents:
            batch = put(document)
            if batch is not None:
                yield batch
    else:
        complete = filter(None, map(put, documents))
        while (batch := await io.in_thread(next, complete, None)) is not None:
            yield batch
    rest = batches.rest()
    if rest is not None:
        yield rest


async def with_text(batches: AsyncIterator[Batch]) -> AsyncIterator[Batch]:
    """Read ahead until a batch has text; return all batches.

    Raises:
        InvalidInputError: None has.
    """
    ahead: list[Batch] = []
    async for batch in batches:
        ahead.append(batch)
        if any(part.document.page_content.strip() for group in batch.groups for part in group.parts):
            return _chained(ahead, batches)
    number = sum(len(batch.names) for batch in ahead)
    raise InvalidInputError(f"there is nothing to index: {number} documents were given, and none of them has any text")


async def _chained(ahead: list[Batch], others: AsyncIterator[Batch]) -> AsyncIterator[Batch]:
    while ahead:
        yield ahead.pop(0)  # so that it isn't held any longer
    async for batch in others:
        yield batch


async def ingest_batches(
    io: IO,
    scope: Scope,
    batches: AsyncIterator[Batch],
    prepare: Preparation,
    *,
    bm25_index: BM25Index | None,
    is_list: bool,
    show_progress: bool,
) -> list[str]:
    """Index source documents; each replaces the document of the same ``doc_id``.

    Parts of a source are joined. If they aren't all of its parts, they are added to those that the store has. An
    exception, also of a stream, has a note that says what was stored before.

    Args:
        io: Makes the calls.
        scope: The store, and the filter that documents must pass.
        batches: The source documents; see `read_batches`.
        prepare: Splits them into sentences.
        bm25_index: A lexical index to update too.
        is_list: Whether there is one batch.
        show_progress: Whether to show a progress bar while embedding.

    Returns:
        The ``doc_id`` of each document, in order.

    Raises:
        InvalidInputError: Two documents have the same id, or the filter forbids one or what it would replace; or as for
            `read_batches`.
    """
    start, names = perf_counter(), list[str]()
    documents = sentences = 0
    last = ""
    try:
        with (
            tqdm(desc="Embedding", unit=" sentences", disable=not show_progress or is_list) as bar,
            on_embedded_texts(bar.update),
        ):
            async for batch in batches:
                groups = await with_known_parts(io, scope, batch.groups, prepare.splitter.join_parts)
                prepared = await io.in_thread(prepare, groups)
                is_shown = show_progress and is_list
                await replace_documents(io, scope, *prepared, show_progress=is_shown, bm25_index=bm25_index)
                names += batch.names
                documents += len(prepared.doc_ids)
                sentences += len(prepared.sentences)
                last = prepared.doc_ids[-1]
    except BaseException as error:
        if documents:
            error.add_note(
                f"The batches before were stored: {documents:,} documents, the last of them {shown(last)}. Give the "
                "others again, or all of them; no stored text is embedded twice."
            )
        raise
    log_ingest(scope.adapter, documents=documents, sentences=sentences, seconds=perf_counter() - start)
    return names


async def with_known_parts(io: IO, scope: Scope, groups: Sequence[Group], join: JoinParts) -> list[Group]:
    """Add to each document the parts that the store has and the call doesn't give.

    Raises:
        InvalidInputError: The store can't be asked, and the first part is missing; or the filter forbids what it has.
    """
    incomplete = [group for group in groups if not is_whole(group.parts)]
    # Parts that the filter forbids aren't joined with new ones, so that no warning, error or callback reveals them.
    stored = await sentences_to_change(io, scope, [group.doc_id for group in incomplete]) if incomplete else {}
    if stored is None:
        for group in incomplete:
            if not has_first(group.parts) and DOC_ID not in group.parts[0].document.metadata:
                raise InvalidInputError(
                    f"{shown(group.doc_id)} was given without its first part, and {scope.adapter.name} can't fetch by "
                    "id, so what it has of the others can't be read; give all parts in one call. Nothing was stored."
                )
        return list(groups)
    return [
        Group(group.doc_id, _merge_with_stored(group.parts, stored[group.doc_id], join))
        if stored.get(group.doc_id)
        else group
        for group in groups
    ]


def _merge_with_stored(parts: list[Part], sentences: Sequence[StoredSentence], join: JoinParts) -> list[Part]:
    """Return the parts of a document, new ones and those that its stored sentences came from."""
    key = join if isinstance(join, str) else None
    with_blocks = any(part.blocks is not None for part in parts)
    try:
        return with_stored(parts, stored_parts(sentences, with_blocks=with_blocks, key=key))
    except ValueError as error:
        raise IncompleteWindowError(
            f"the metadata of document {shown(sentences[0].doc_id)} is invalid: {error}; delete it and add all "
            "of its parts again"
        ) from None
