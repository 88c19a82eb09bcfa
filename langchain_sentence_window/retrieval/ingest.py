"""Adding source documents: split, describe the context of each sentence, replace what the store had."""

import logging
from collections.abc import Sequence
from time import perf_counter

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.adapters.store_adapter import StoreAdapter
from langchain_sentence_window.documents.indexed_documents import stored_parts
from langchain_sentence_window.documents.keys import DOC_ID
from langchain_sentence_window.documents.part_groups import (
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
from langchain_sentence_window.embedding.contextual_vectors import NeighborMixedEmbeddings
from langchain_sentence_window.embedding.embedder import counted_texts
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from langchain_sentence_window.retrieval.indexing import replace_documents
from langchain_sentence_window.retrieval.logs import LOGGER, log_ingest
from langchain_sentence_window.retrieval.preparing import Preparation
from langchain_sentence_window.retrieval.stored_documents import sentences_to_change
from langchain_sentence_window.stores.bm25_index import BM25Index


async def ingest_documents(
    io: IO,
    scope: Scope,
    documents: Sequence[Document],
    prepare: Preparation,
    *,
    bm25_index: BM25Index | None,
    show_progress: bool,
) -> list[str]:
    """Index source documents; each replaces the document of the same ``doc_id``.

    Parts of a source are joined. If they aren't all of its parts, they are added to those that the store has.

    Args:
        io: Makes the calls.
        scope: The store, and the filter that documents must pass.
        documents: The source documents.
        prepare: Splits them into sentences.
        bm25_index: A lexical index to update too.
        show_progress: Whether to show a progress bar while embedding.

    Returns:
        The ``doc_id`` of each document, in order.

    Raises:
        InvalidInputError: Two documents have the same id, or the filter forbids one or what it would replace.
    """
    start, join = perf_counter(), prepare.splitter.join_parts
    groups = await io.in_thread(group_documents, documents, join)
    groups = await with_known_parts(io, scope, groups, join)
    # In a thread, as `situate` may ask a model.
    doc_ids, sentences, contexts = await io.in_thread(prepare, groups)
    replaced = await stored_before(io, scope, doc_ids)
    with counted_texts() as embedded:
        await replace_documents(
            io, scope, sentences, doc_ids, contexts, show_progress=show_progress, bm25_index=bm25_index
        )
    log_ingest(
        scope.adapter.name,
        documents=len(doc_ids),
        sentences=len(sentences),
        embedded=embedded.count if embeds_here(scope.adapter) else len(sentences),
        replaced=replaced,
        seconds=perf_counter() - start,
    )
    return document_ids(documents, join)


async def stored_before(io: IO, scope: Scope, doc_ids: Sequence[str]) -> int | None:
    """Count the documents that the store has already, if that is to be told and the store can fetch by id."""
    if not LOGGER.isEnabledFor(logging.INFO):
        return None
    try:
        found = await scope.fetch(io, [(doc_id, 0) for doc_id in doc_ids])
    except InvalidInputError:  # the filter can't be enforced by id, and the documents will be refused
        return None
    return None if found is None else len(found)


def embeds_here(adapter: StoreAdapter) -> bool:
    """Return whether texts are embedded by this package and not by the store."""
    return adapter.mixes_neighbors or isinstance(adapter.embedding, NeighborMixedEmbeddings)


async def with_known_parts(io: IO, scope: Scope, groups: Sequence[Group], join: JoinParts) -> list[Group]:
    """Add to each document the parts that the store has and the call doesn't give.

    Raises:
        InvalidInputError: The store can't be asked, and the first part is missing; or the filter forbids what it has.
    """
    partial = [group for group in groups if not is_whole(group.parts)]
    # What the filter forbids isn't joined with what is given, so that no warning, error or callback tells of it.
    stored = await sentences_to_change(io, scope, [group.doc_id for group in partial]) if partial else {}
    if stored is None:
        for group in partial:
            if not has_first(group.parts) and DOC_ID not in group.parts[0].document.metadata:
                raise InvalidInputError(
                    f"{shown(group.doc_id)} was given without its first part, and {scope.adapter.name} can't fetch by "
                    "id, so what it has of the others can't be read; give all parts in one call. Nothing was stored."
                )
        return list(groups)
    return [
        Group(group.doc_id, _merged(group.parts, stored[group.doc_id], join)) if stored.get(group.doc_id) else group
        for group in groups
    ]


def _merged(parts: list[Part], sentences: Sequence[StoredSentence], join: JoinParts) -> list[Part]:
    key = join if isinstance(join, str) else None
    with_blocks = any(part.blocks is not None for part in parts)
    try:
        return with_stored(parts, stored_parts(sentences, with_blocks=with_blocks, key=key))
    except ValueError as error:
        raise IncompleteWindowError(
            f"the metadata of document {shown(sentences[0].doc_id)} can't be right, as {error}; delete it and add all "
            "of its parts again"
        ) from None
