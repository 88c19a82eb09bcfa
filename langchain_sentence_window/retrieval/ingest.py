"""Adding source documents, from a list or a stream: split, describe each sentence's context, replace what was there.

A stream may be of any length. While one batch is embedded, a thread splits the next, and another writes the one
before, if the store lets us embed. So no more than three are in memory, and the embedder rarely waits. Each batch is
one transaction of a `FaissStore`.
"""

import logging
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from itertools import count
from time import perf_counter
from typing import TypeAlias

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
from langchain_sentence_window.embedding.embedder import counted_texts, on_embedded_texts
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from langchain_sentence_window.store.bm25_index import BM25Index
from langchain_sentence_window.store.writing import Replacement

from .indexing import Preparation, Prepared, replace_documents
from .stored_sentences import sentences_to_change
from .telemetry import LOGGER, log_ingest


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
    start, join = perf_counter(), prepare.splitter.join_parts
    work = _Ingest(io, scope, bm25_index, show_progress=show_progress and is_list)
    names: list[str] = []
    prepared: Prepared | None = None
    with (
        tqdm(desc="Embedding", unit=" sentences", disable=not show_progress or is_list) as bar,
        on_embedded_texts(bar.update),
        counted_texts() as embedded,
    ):
        try:
            try:
                async for batch in batches:
                    names += batch.names
                    # `situate` may ask a model for an hour, which is the caller's to interrupt.
                    alone = batch.continues or prepare.situate is not None
                    if prepared is not None and alone:  # it may be joined with what those before leave in the store
                        await work.store(prepared)
                        await work.finish_write()
                    groups = await with_known_parts(io, scope, batch.groups, join)
                    if prepared is None or alone:
                        prepared = await io.in_thread(prepare, groups)
                    else:
                        splitting = work.threads.submit(copy_context().run, prepare, groups)
                        await work.store(prepared)
                        prepared = await io.result_of(splitting)
                if prepared is not None:
                    await work.store(prepared, is_last=True)
            finally:
                await io.to_end(work.close)
        except BaseException as error:
            if work.documents:
                error.add_note(
                    f"The batches before were stored: {work.documents:,} documents, the last of them "
                    f"{shown(work.last)}. Give the others again, or all of them; no stored text is embedded twice."
                )
            raise
    if LOGGER.isEnabledFor(logging.INFO):
        log_ingest(
            scope.adapter,
            documents=work.documents,
            sentences=work.sentences,
            embedded=embedded.count,
            replaced=work.replaced,
            seconds=perf_counter() - start,
        )
    return names


_Writing: TypeAlias = tuple[Prepared, Replacement, Future[bool]]


class _Ingest:
    """Batches as they are split, embedded and written.

    Attributes:
        threads: Two threads, for splitting and writing.
        documents: The documents that were stored.
        sentences: Their sentences.
        last: The name of the last of them.
        replaced: How many of the documents were there before; ``None`` if that isn't known. It is counted for the log.
    """

    def __init__(self, io: IO, scope: Scope, bm25_index: BM25Index | None, *, show_progress: bool) -> None:
        self._io, self._scope, self._bm25_index, self._show_progress = io, scope, bm25_index, show_progress
        self.threads = ThreadPoolExecutor(2, thread_name_prefix="sentence-window")
        self._writing: _Writing | None = None
        self.documents = self.sentences = 0
        self.last = ""
        self.replaced: int | None = 0

    def close(self) -> None:
        """Wait for what is being split and written."""
        self.threads.shutdown()
        if self._writing is not None:
            prepared, _, written = self._writing
            if not written.cancelled() and written.exception() is None and written.result():
                self._count(prepared)

    async def store(self, prepared: Prepared, *, is_last: bool = False) -> None:
        """Embed a batch, and begin to write it after the one before is written."""
        io, scope = self._io, self._scope
        if LOGGER.isEnabledFor(logging.INFO):
            stored = await _stored_before(io, scope, prepared.doc_ids)
            self.replaced = None if stored is None or self.replaced is None else self.replaced + stored
        replacement: Replacement | None = None
        if scope.filter is None and not (is_last and self._writing is None):
            replacement = await scope.adapter.prepare_replacement(io, *prepared)
        if replacement is None:
            await self.finish_write()
            await replace_documents(
                io, scope, *prepared, show_progress=self._show_progress, bm25_index=self._bm25_index
            )
            self._count(prepared)
            return
        known = self._writing[1].vectors if self._writing is not None else {}
        await replacement.embed(io, known, show_progress=False)
        await self.finish_write()
        if is_last:
            await replacement.make(io, show_progress=False)  # which brings the indexes up to date
            self._count(prepared)
        else:
            self._writing = prepared, replacement, self.threads.submit(copy_context().run, replacement.write_part)

    async def finish_write(self) -> None:
        """Wait until the batch before is written."""
        if self._writing is None:
            return
        prepared, replacement, written = self._writing
        if not await self._io.result_of(written):
            await replacement.make(self._io, show_progress=False)
        self._writing = None
        self._count(prepared)

    def _count(self, prepared: Prepared) -> None:
        self.documents += len(prepared.doc_ids)
        self.sentences += len(prepared.sentences)
        self.last = prepared.doc_ids[-1]


async def _stored_before(io: IO, scope: Scope, doc_ids: Sequence[str]) -> int | None:
    """Count the documents that the store has already, if it can fetch by id."""
    try:
        found = await scope.fetch(io, [(doc_id, 0) for doc_id in doc_ids])
    except InvalidInputError:  # the filter can't be enforced by id, and the documents will be refused
        return None
    return None if found is None else len(found)


async def with_known_parts(io: IO, scope: Scope, groups: Sequence[Group], join: JoinParts) -> list[Group]:
    """Add to each document the parts that the store has and the call doesn't give.

    Raises:
        InvalidInputError: The store can't be asked, and the first part is missing; or the filter forbids what it has.
    """
    incomplete = [group for group in groups if not is_whole(group.parts)]
    # What the filter forbids isn't joined with what is given, so that no warning, error or callback tells of it.
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
            f"the metadata of document {shown(sentences[0].doc_id)} can't be right, as {error}; delete it and add all "
            "of its parts again"
        ) from None
