"""Adding documents from a stream of any length: in batches, each of which is split, embedded and written.

While one batch is embedded, a thread splits the next, and another writes the one before, if the store lets us embed.
So no more than three are in memory, and the embedder rarely waits. Each batch is one transaction of a `FaissStore`.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from time import perf_counter
from typing import Any, Protocol, TypeAlias

from tqdm.auto import tqdm

from langchain_sentence_window._arguments import DocumentStream
from langchain_sentence_window._display import shown
from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.part_groups import Batch, Batches
from langchain_sentence_window.embedding.embedder import counted_texts, heard_texts_too
from langchain_sentence_window.retrieval.background import Background
from langchain_sentence_window.retrieval.document_streams import BatchReader
from langchain_sentence_window.retrieval.indexing import replace_documents
from langchain_sentence_window.retrieval.ingest import embeds_here, stored_before, with_known_parts
from langchain_sentence_window.retrieval.logs import log_ingest
from langchain_sentence_window.retrieval.preparing import Preparation, Prepared
from langchain_sentence_window.stores.bm25_index import BM25Index


class Replacement(Protocol):
    """A write that the store prepares; see `StoreAdapter.prepare_replacement`."""

    vectors: Mapping[str, bytes]

    async def make(self, io: IO, *, show_progress: bool) -> None:
        """Embed and write."""

    async def embed(self, io: IO, known: Mapping[str, bytes], *, show_progress: bool) -> None:
        """Embed the texts that have no vector."""

    def write_part(self) -> bool:
        """Write, and return whether that was possible."""


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
        heard_texts_too(bar.update),
        counted_texts() as embedded,
    ):
        try:
            try:
                await ingest.run(reader)
            finally:
                await ingest.close()
        except BaseException as error:
            error.add_note(ingest.note())
            raise
    log_ingest(
        scope.adapter.name,
        documents=ingest.documents,
        sentences=ingest.sentences,
        embedded=embedded.count if embeds_here(scope.adapter) else ingest.sentences,
        replaced=ingest.replaced,
        seconds=perf_counter() - start,
    )
    return reader.names


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

    async def close(self) -> None:
        """Wait for what is being written."""
        writing, self._writing = self._writing, None
        await self._io.in_thread(self._splitter.close)
        await self._io.in_thread(self._writer.close)
        if (
            writing is not None
            and not writing[2].cancelled()
            and writing[2].exception() is None
            and writing[2].result()
        ):
            self._count(writing[0])

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
        if not self._scope.is_bound and not (is_last and self._writing is None):
            replacement = await adapter.prepare_replacement(io, prepared.sentences, prepared.doc_ids, prepared.contexts)
        if replacement is None:
            await self._finish_write()
            await replace_documents(
                io,
                self._scope,
                prepared.sentences,
                prepared.doc_ids,
                prepared.contexts,
                show_progress=False,
                bm25_index=self._bm25_index,
            )
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
        found = await stored_before(self._io, self._scope, prepared.doc_ids)
        self.replaced = None if found is None or self.replaced is None else self.replaced + found
