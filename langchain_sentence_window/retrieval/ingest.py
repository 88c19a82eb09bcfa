"""Adding source documents, from a list or a stream: split, describe each sentence's context, replace what was there.

A stream may be of any length. While one batch is embedded, a thread splits the next, and another writes the one
before, if the store lets us embed. So no more than three are in memory, and the embedder rarely waits. Each batch is
one transaction of a `FaissStore`.
"""

import logging
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from itertools import chain
from time import perf_counter
from typing import Any, ParamSpec, TypeAlias, TypeVar

from langchain_core.documents import Document
from tqdm.auto import tqdm

from langchain_sentence_window._arguments import DocumentStream, check_document
from langchain_sentence_window._display import shown
from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.indexed_documents import stored_parts
from langchain_sentence_window.documents.keys import DOC_ID
from langchain_sentence_window.documents.part_groups import (
    MAX_BATCH_CHARS,
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
    names = await io.in_thread(document_ids, documents, join)
    groups = await io.in_thread(group_documents, documents, join, names)
    groups = await with_known_parts(io, scope, groups, join)
    # In a thread, as `situate` may ask a model.
    prepared = await io.in_thread(prepare, groups)
    write = partial(replace_documents, io, scope, *prepared, show_progress=show_progress, bm25_index=bm25_index)
    if not LOGGER.isEnabledFor(logging.INFO):
        await write()
        return names
    replaced = await _stored_before(io, scope, prepared.doc_ids)
    with counted_texts() as embedded:
        await write()
    log_ingest(
        scope.adapter,
        documents=len(prepared.doc_ids),
        sentences=len(prepared.sentences),
        embedded=embedded.count,
        replaced=replaced,
        seconds=perf_counter() - start,
    )
    return names


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


_Writing: TypeAlias = tuple[Prepared, Replacement, Future[bool]]


async def ingest_stream(
    io: IO,
    scope: Scope,
    documents: DocumentStream,
    prepare: Preparation,
    *,
    bm25_index: BM25Index | None,
    show_progress: bool,
) -> list[str]:
    """Index source documents from a stream, in batches; see `ingest_documents`.

    The stream is read in the caller's thread, by an event loop in others. An exception, also of the stream, has a note
    that says what was stored before.

    Returns:
        The ``doc_id`` of each document, in order.

    Raises:
        InvalidInputError: An element isn't a Document, or parts of a document come far apart; or as for
            `ingest_documents`.
    """
    ingest, start = _Ingest(io, scope, prepare, bm25_index), perf_counter()
    reader = BatchReader(io, documents, Batches(prepare.splitter.join_parts))
    with (
        tqdm(desc="Embedding", unit=" sentences", disable=not show_progress) as bar,
        on_embedded_texts(bar.update),
        counted_texts() as embedded,
    ):
        try:
            try:
                await ingest.run(reader)
            finally:
                await io.to_end(ingest.close)
        except BaseException as error:
            error.add_note(ingest.note())
            raise
    if LOGGER.isEnabledFor(logging.INFO):
        log_ingest(
            scope.adapter,
            documents=ingest.documents,
            sentences=ingest.sentences,
            embedded=embedded.count,
            replaced=ingest.replaced,
            seconds=perf_counter() - start,
        )
    return reader.names


class BatchReader:
    """Reads a stream in batches.

    Attributes:
        names: The name of the document that each Document is, or is a part of, of those in batches so far.
    """

    def __init__(self, io: IO, documents: DocumentStream, batches: Batches) -> None:
        """Read nothing yet."""
        self._io, self._batches = io, batches
        self._documents = aiter(documents) if isinstance(documents, AsyncIterable) else iter(documents)
        self._read = 0
        self.names: list[str] = []

    async def next(self) -> Batch | None:
        """Read the next batch; return ``None`` after the last.

        Raises:
            InvalidInputError: An element isn't a Document, or as for `Batches.put`.
        """
        if isinstance(self._documents, AsyncIterator):
            batch = await self._next_async(self._documents)
        else:
            batch = await self._io.in_thread(self._next_of, self._documents)
        if batch is not None:
            self.names += batch.names
        return batch

    def _next_of(self, documents: Iterable[Document]) -> Batch | None:
        for document in documents:
            complete = self._put(document)
            if complete is not None:
                return complete
        return self._batches.rest()

    async def _next_async(self, documents: AsyncIterator[Document]) -> Batch | None:
        async for document in documents:
            complete = self._put(document)
            if complete is not None:
                return complete
        return self._batches.rest()

    def _put(self, document: Document) -> Batch | None:
        check_document(self._read, document)
        self._read += 1
        return self._batches.put(document)


class _Ingest:
    """The batches of a stream as they are split, embedded and written.

    Attributes:
        documents: The documents that were stored.
        sentences: Their sentences.
        replaced: How many of the documents were there before; ``None`` if that isn't known.
    """

    def __init__(self, io: IO, scope: Scope, prepare: Preparation, bm25_index: BM25Index | None) -> None:
        self._io, self._scope, self._prepare, self._bm25_index = io, scope, prepare, bm25_index
        self._splitter, self._writer = Background(), Background()
        self._writing: _Writing | None = None
        self._last = ""
        self.documents = self.sentences = 0
        self.replaced: int | None = 0

    async def run(self, reader: BatchReader) -> None:
        """Store all batches."""
        batch = await reader.next()
        prepared = await self._prepared(batch) if batch is not None else None
        while prepared is not None:
            batch = await reader.next()
            if batch is None:
                await self._store(prepared, is_last=True)
                break
            if batch.continues or self._prepare.situate is not None:
                # It is joined with what the batches before leave in the store; or it may ask a model for an hour, which
                # is the caller's to interrupt.
                await self._store(prepared)
                await self._finish_write()
                prepared = await self._prepared(batch)
                continue
            splitting = self._splitter.begin(self._prepare, await self._known(batch))
            await self._store(prepared)
            prepared = await self._io.result_of(splitting)

    def close(self) -> None:
        """Wait for what is being split and written."""
        writing, self._writing = self._writing, None
        self._splitter.close()
        self._writer.close()
        if writing is not None:
            prepared, _, written = writing
            if not written.cancelled() and written.exception() is None and written.result():
                self._count(prepared)

    def note(self) -> str:
        """Tell what was stored."""
        if not self.documents:
            return "Nothing of this call was stored."
        return (
            f"The batches before were stored: {self.documents:,} documents, the last of them {shown(self._last)}. Give "
            "the others again, or all of them; no stored text is embedded twice."
        )

    async def _known(self, batch: Batch) -> Sequence[Any]:
        return await with_known_parts(self._io, self._scope, batch.groups, self._prepare.splitter.join_parts)

    async def _prepared(self, batch: Batch) -> Prepared:
        return await self._io.in_thread(self._prepare, await self._known(batch))

    async def _store(self, prepared: Prepared, *, is_last: bool = False) -> None:
        """Embed a batch, and begin to write it after the one before is written."""
        io, adapter = self._io, self._scope.adapter
        await self._count_replaced(prepared)
        replacement: Replacement | None = None
        if self._scope.filter is None and not (is_last and self._writing is None):
            replacement = await adapter.prepare_replacement(io, *prepared)
        if replacement is None:
            await self._finish_write()
            await replace_documents(io, self._scope, *prepared, show_progress=False, bm25_index=self._bm25_index)
            self._count(prepared)
            return
        known = self._writing[1].vectors if self._writing is not None else {}
        await replacement.embed(io, known, show_progress=False)
        await self._finish_write()
        if is_last:
            await replacement.make(io, show_progress=False)  # which brings the indexes up to date
            self._count(prepared)
        else:
            self._writing = prepared, replacement, self._writer.begin(replacement.write_part)

    async def _finish_write(self) -> None:
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
        self._last = prepared.doc_ids[-1]

    async def _count_replaced(self, prepared: Prepared) -> None:
        is_logged = LOGGER.isEnabledFor(logging.INFO)
        found = await _stored_before(self._io, self._scope, prepared.doc_ids) if is_logged else None
        self.replaced = None if found is None or self.replaced is None else self.replaced + found


async def read_beginning(io: IO, documents: DocumentStream) -> tuple[list[Document], DocumentStream]:
    """Read and check the beginning of a stream: a batch, or more if that has no text.

    Returns:
        What was read, and a stream of the same Documents as the given one.

    Raises:
        InvalidInputError: An element isn't a Document.
    """
    read = _Beginning()
    if isinstance(documents, AsyncIterable):
        others = aiter(documents)
        async for document in others:
            if read.put(document):
                break
        return read.documents, _chained(read.documents, others)
    rest = iter(documents)
    await io.in_thread(lambda: any(map(read.put, rest)))
    return read.documents, chain(read.documents, rest)


class _Beginning:
    """Collects the Documents at the beginning of a stream."""

    def __init__(self) -> None:
        self.documents: list[Document] = []
        self._chars = 0
        self._has_text = False

    def put(self, document: Document) -> bool:
        """Add the next Document; return whether these are enough."""
        check_document(len(self.documents), document)
        self.documents.append(document)
        self._chars += len(document.page_content)
        self._has_text = self._has_text or bool(document.page_content.strip())
        return self._has_text and self._chars >= MAX_BATCH_CHARS


async def _chained(first: Iterable[Document], others: AsyncIterator[Document]) -> AsyncIterator[Document]:
    for document in first:
        yield document
    del first  # so that it isn't held any longer
    async for document in others:
        yield document


P = ParamSpec("P")
T = TypeVar("T")


class Background:
    """One thread, which does one job after the other. It begins with the first."""

    def __init__(self) -> None:
        """Begin nothing yet."""
        self._thread: ThreadPoolExecutor | None = None

    def begin(self, job: Callable[P, T], /, *arguments: P.args, **keywords: P.kwargs) -> Future[T]:
        """Begin a job, in a copy of the caller's context."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="sentence-window")
        return self._thread.submit(copy_context().run, partial(job, *arguments, **keywords))

    def close(self) -> None:
        """Wait for all jobs that were begun."""
        if self._thread is not None:
            self._thread.shutdown()
