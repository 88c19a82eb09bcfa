"""The methods of `FaissStore` that write: adding, replacing and deleting documents.

Vectors are kept in memory until the transaction. They are staged in the database if they become many or embedding takes
long, and when the call is interrupted, so that the same call embeds only the rest when it is made again.
"""

from collections.abc import Iterable, Mapping, Sequence, Sized
from contextlib import suppress
from functools import partial
from itertools import islice
from time import monotonic
from typing import Any

from langchain_core.documents import Document
from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window._arguments import (
    as_documents,
    as_iterator,
    check_document,
    checked_documents,
    checked_texts,
)
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, run
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window._validation import gathered
from langchain_sentence_window.documents.keys import checked_ids
from langchain_sentence_window.embedding.embedder import takes_several_calls, unit_vectors
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowError
from langchain_sentence_window.stores.faiss.conversion import to_records
from langchain_sentence_window.stores.faiss.database.conditions import Condition
from langchain_sentence_window.stores.faiss.database.filters import Filter, compile_filter
from langchain_sentence_window.stores.faiss.database.schema import Record, of_documents, to_halves, with_ids
from langchain_sentence_window.stores.faiss.database.transaction import Transaction
from langchain_sentence_window.stores.faiss.embedder_guard import TEXTS_TO_WRITE, EmbedderGuard
from langchain_sentence_window.stores.faiss.origin import StaleVectorError, UnprovenError
from langchain_sentence_window.stores.faiss.session import IndexSession

MAX_UNSTAGED = 8_192
"""Vectors that are kept in memory alone."""

MAX_SECONDS_UNSTAGED = 10.0
"""How long vectors are kept in memory alone while others are embedded; so much is lost if the process is killed."""


class Replacement:
    """Records that take the place of others, with the vectors of those of their texts that are new.

    Attributes:
        vectors: The half-precision vectors of texts, by text, that aren't in the database. Read it while the
            replacement is written, so that the next one embeds none of these texts again.
    """

    def __init__(
        self,
        session: IndexSession,
        guard: EmbedderGuard,
        records: Sequence[Record],
        *,
        remove: Condition | None = None,
        forbidden: Condition | None = None,
    ) -> None:
        """Set what to write; see `Origin.write`."""
        self._session, self._guard = session, guard
        self._records, self._remove, self._forbidden = records, remove, forbidden
        self.vectors: dict[str, bytes] = {}
        self._staged_at = monotonic()

    @property
    def sentences(self) -> int:
        """The number of records to add."""
        return len(self._records)

    async def make(self, io: IO, *, show_progress: bool) -> None:
        """Embed and write, whatever others write meanwhile; write nothing if there is nothing to change."""
        while self._records or self._remove:
            await self.embed(io, self.vectors, show_progress=show_progress)
            try:
                await io.in_thread(self.write)
            except UnprovenError:
                await self._guard.prove(io, TEXTS_TO_WRITE)
            except StaleVectorError:
                continue
            else:
                break

    async def embed(self, io: IO, known: Mapping[str, bytes], *, show_progress: bool) -> None:
        """Embed the texts that have no vector.

        Args:
            io: Makes the calls.
            known: Vectors that aren't in the database yet, by text.
            show_progress: Whether to show a progress bar.
        """
        texts = [record.embedded for record in self._records]
        self.vectors = {text: known[text] for text in texts if text in known}
        while True:
            try:
                unknown: list[str] = await io.in_thread(
                    self._session.read, lambda state: state.origin.unknown_texts(state.snapshot, texts)
                )
                break
            except UnprovenError:
                await self._guard.prove(io, TEXTS_TO_WRITE)
        new = [text for text in unknown if text not in self.vectors] if self.vectors else unknown
        self._staged_at = monotonic()

        async def keep(part: Sequence[str], unit: Vectors) -> None:
            self.vectors.update(zip(part, to_halves(unit), strict=True))
            if len(self.vectors) >= MAX_UNSTAGED or monotonic() - self._staged_at > MAX_SECONDS_UNSTAGED:
                await self._stage(io)

        try:
            await self._guard.embed(io, new, keep, show_progress=show_progress)
        except BaseException:
            if takes_several_calls(new) and self.vectors:
                with suppress(SentenceWindowError, UnprovenError):
                    await self._stage(io)
            raise

    def write_part(self) -> bool:
        """Write everything in one transaction that others follow, so that the indexes need not be up to date.

        Returns:
            Whether it was written. If not, another call has changed what this one relied on, and `make` does it again.
        """
        try:
            self.write(is_part=True)
        except (UnprovenError, StaleVectorError):
            return False
        return True

    def write(self, *, is_part: bool = False) -> None:
        """Write everything in one transaction; see `Origin.write`."""
        write = partial(
            self._session.origin.write,
            records=self._records,
            vectors=self.vectors,
            remove=self._remove,
            forbidden=self._forbidden,
        )
        self._session.write(write, rows_added=len(self._records), is_part=is_part)

    async def _stage(self, io: IO) -> None:
        vectors, self.vectors = self.vectors, {}
        stage = partial(self._session.origin.stage_vectors, vectors=vectors)
        await io.in_thread(partial(self._session.write, stage, is_part=True))
        self._staged_at = monotonic()


DOCUMENT_BATCH_SIZE = 5_000
"""Documents of an iterator that are added at once."""


class WriteMethods(VectorStore):
    """The methods of a `VectorStore` that write."""

    _session: IndexSession
    _guard: EmbedderGuard

    def add_texts(
        self, texts: Iterable[str], metadatas: list[dict[str, Any]] | None = None, **kwargs: Any
    ) -> list[str]:
        """Embed texts and add them; see `add_documents`.

        Args:
            texts: The texts.
            metadatas: One dict for each text; ``None`` for empty metadata.
            **kwargs: As for `add_documents`.

        Returns:
            The ids, in the order of the texts.

        Raises:
            InvalidInputError: The texts are a single string or aren't strings, or there isn't one dict or id for each.
        """
        return self.add_documents(as_documents(texts, metadatas), **kwargs)

    async def aadd_texts(
        self, texts: Iterable[str], metadatas: list[dict[str, Any]] | None = None, **kwargs: Any
    ) -> list[str]:
        """Async version of `add_texts`."""
        return await self.aadd_documents(as_documents(texts, metadatas), **kwargs)

    def add_documents(
        self, documents: Iterable[Document], *, ids: list[str] | None = None, show_progress: bool = False, **kwargs: Any
    ) -> list[str]:
        """Embed documents and add them; a document replaces the one with the same id.

        Texts that have a vector in the store aren't embedded again. If a long call is interrupted, for example by
        Ctrl-C, it adds no document and keeps the vectors that it has made. The same call embeds only the rest when it
        is made again.

        A list is added all at once. An iterator may be of any length: it is read and added in batches of
        `DOCUMENT_BATCH_SIZE`, each in one transaction, unless ids are given.

        Args:
            documents: The documents. A document without an id gets a new one. Of several with the same id, the last
                is added.
            ids: Ids to use instead of the documents' own.
            show_progress: Whether to show a progress bar while embedding.
            **kwargs: Ignored; LangChain's signature.

        Returns:
            The ids, in the order of the documents.

        Raises:
            InvalidInputError: The metadata can't be stored as JSON, or an id can't be stored.
            EmbeddingError: The vectors are unusable, or of another length than the store's.
            IndexMismatchError: The store's vectors are from another embedder; nothing was changed.
        """
        return run(self._add_all(BLOCKING, documents, ids, show_progress=show_progress))

    async def aadd_documents(
        self, documents: Iterable[Document], *, ids: list[str] | None = None, show_progress: bool = False, **kwargs: Any
    ) -> list[str]:
        """Async version of `add_documents`."""
        return await self._add_all(ASYNC, documents, ids, show_progress=show_progress)

    def add_embeddings(self, documents: Sequence[Document], vectors: Sequence[Sequence[float]] | Vectors) -> list[str]:
        """Add documents with vectors that the store's embedder made elsewhere.

        Args:
            documents: As for `add_documents`.
            vectors: One vector for each document; they are scaled to length 1.

        Returns:
            The ids, in the order of the documents.

        Raises:
            InvalidInputError: The metadata can't be stored as JSON, or an id can't be stored.
            EmbeddingError: There isn't one vector for each document, or they have another dimension than the store's.
            IndexMismatchError: The store's vectors are from another embedder; nothing was changed.
        """
        records = to_records(checked_documents(documents), None)
        if records:
            unit = unit_vectors(vectors, len(records))
            latest = sorted({record.id: i for i, record in enumerate(records)}.values())
            if len(latest) < len(records):
                unit = unit[latest]
            self._guard.refresh()
            write = partial(self._session.origin.write, records=[records[i] for i in latest], vectors=unit)
            self._guard.run_proven(partial(self._session.write, write, rows_added=len(latest)), TEXTS_TO_WRITE)
        return [record.id for record in records]

    async def aadd_embeddings(
        self, documents: Sequence[Document], vectors: Sequence[Sequence[float]] | Vectors
    ) -> list[str]:
        """Async version of `add_embeddings`."""
        return await run_in_executor(None, self.add_embeddings, documents, vectors)

    def replace_documents(
        self,
        sentences: Sequence[Document],
        doc_ids: Sequence[str],
        *,
        contexts: Sequence[str] | None = None,
        within: Filter | None = None,
        show_progress: bool = False,
    ) -> None:
        """Replace all sentences of some source documents, in one transaction.

        Args:
            sentences: Sentence Documents, as `SentenceSplitter` makes them.
            doc_ids: The source documents to replace; those without new sentences are removed.
            contexts: Text to put before each sentence when it is embedded, and nowhere else.
            within: A filter that everything replaced must match; ``None`` for no restriction.
            show_progress: Whether to show a progress bar while embedding.

        Raises:
            InvalidInputError: The filter doesn't match everything that would be replaced; nothing was changed.
            EmbeddingError: The vectors are unusable, or of another length than the store's.
            IndexMismatchError: The store's vectors are from another embedder; nothing was changed.
        """
        run(
            self._replace(
                BLOCKING, checked_documents(sentences), doc_ids, contexts, within, show_progress=show_progress
            )
        )

    async def areplace_documents(
        self,
        sentences: Sequence[Document],
        doc_ids: Sequence[str],
        *,
        contexts: Sequence[str] | None = None,
        within: Filter | None = None,
        show_progress: bool = False,
    ) -> None:
        """Async version of `replace_documents`."""
        await self._replace(ASYNC, checked_documents(sentences), doc_ids, contexts, within, show_progress=show_progress)

    def delete(self, ids: list[str] | None = None, *, filter: Filter | None = None, **kwargs: Any) -> bool:
        """Delete documents by id, or all that match a filter; ids that don't exist are ignored.

        Args:
            ids: Ids of documents.
            filter: A metadata filter; ``{}`` matches every document.
            **kwargs: Ignored; LangChain's signature.

        Returns:
            True.

        Raises:
            InvalidInputError: There are neither ids nor a filter, or both, or the ids aren't a list of strings.
            FilterError: The filter is invalid.
        """
        if (ids is None) == (filter is None):
            raise InvalidInputError("delete takes either ids or a filter; filter={} matches every document")
        condition = compile_filter(filter) if filter is not None else with_ids(checked_ids(ids))
        self._session.write(lambda transaction: transaction.remove(condition))
        return True

    def delete_documents(self, doc_ids: Sequence[str] | None = None, *, filter: Filter | None = None) -> int:
        """Delete whole documents that a retriever added, in one transaction.

        Args:
            doc_ids: Their names; those that don't exist are ignored. ``None`` for any.
            filter: A filter on the metadata of their sentences; ``None`` for any.

        Returns:
            The number of documents deleted.

        Raises:
            InvalidInputError: There are neither names nor a filter, or the filter matches only a part of a document;
                nothing was deleted.
            FilterError: The filter is invalid.
        """
        return len(self.remove_documents(doc_ids, filter=filter))

    def remove_documents(self, doc_ids: Sequence[str] | None = None, *, filter: Filter | None = None) -> list[str]:
        """Delete what `delete_documents` deletes, and return the names of the documents."""
        if doc_ids is None and filter is None:
            raise InvalidInputError("delete_documents takes doc_ids or a filter; filter={} matches every document")
        conditions = [] if filter is None else [compile_filter(filter)]
        conditions += [] if doc_ids is None else [of_documents(checked_ids(doc_ids))]
        sql = " AND ".join(f"({sql})" for sql, _ in conditions)
        condition = sql, [value for _, values in conditions for value in values]
        return self._session.write(lambda transaction: transaction.remove_documents(condition))

    async def adelete_documents(self, doc_ids: Sequence[str] | None = None, *, filter: Filter | None = None) -> int:
        """Async version of `delete_documents`."""
        return await run_in_executor(None, partial(self.delete_documents, doc_ids, filter=filter))

    async def prepare_replacement(
        self, io: IO, sentences: Sequence[Document], doc_ids: Sequence[str], contexts: Sequence[str]
    ) -> Replacement:
        """Prepare what `replace_documents` does, for a call that replaces many documents part by part."""
        self._guard.refresh()
        records: list[Record] = await io.in_thread(to_records, sentences, None, contexts)
        return Replacement(self._session, self._guard, records, remove=of_documents(checked_ids(doc_ids)))

    def catch_up(self) -> None:
        """Bring the indexes up to date after parts were written; else the next searches do."""
        self._session.catch_up_after_parts()

    def discard_staged(self) -> int:
        """Drop the texts and vectors of interrupted calls, which are kept for a retry.

        Returns:
            The number of texts dropped.
        """
        return self._session.write(Transaction.discard_staged, is_part=True)

    # Machinery

    async def _add_all(
        self, io: IO, documents: Iterable[Document], ids: list[str] | None, *, show_progress: bool
    ) -> list[str]:
        """Add a list at once, and an iterator in batches."""
        if ids is not None or isinstance(documents, Sized):
            return await self._add(io, checked_documents(documents), ids, show_progress=show_progress)
        added = list[str]()
        read = enumerate(as_iterator(documents))
        while part := await io.in_thread(lambda: list(islice(read, DOCUMENT_BATCH_SIZE))):
            for position, document in part:
                check_document(position, document)
            added += await self._add(io, [document for _, document in part], None, show_progress=show_progress)
        return added

    async def _replace(
        self,
        io: IO,
        sentences: Sequence[Document],
        doc_ids: Sequence[str],
        contexts: Sequence[str] | None,
        within: Filter | None,
        *,
        show_progress: bool,
    ) -> list[str]:
        if contexts is not None:
            contexts = checked_texts(contexts)
        remove, forbidden = of_documents(checked_ids(doc_ids)), None
        if within is not None:
            by_id, filtered = with_ids([each.id for each in sentences if each.id]), compile_filter(within)
            sql = f"({remove[0]} OR {by_id[0]}) AND NOT ({filtered[0]})"
            forbidden = sql, [*remove[1], *by_id[1], *filtered[1]]
        return await self._add(
            io, sentences, None, contexts, remove=remove, forbidden=forbidden, show_progress=show_progress
        )

    async def _add(
        self,
        io: IO,
        documents: Sequence[Document],
        ids: Sequence[str] | None,
        contexts: Sequence[str] | None = None,
        *,
        remove: Condition | None = None,
        forbidden: Condition | None = None,
        show_progress: bool,
    ) -> list[str]:
        """Embed the texts that are new, then write everything at once."""
        self._guard.refresh()
        given = gathered(ids) if isinstance(ids, list | tuple) else ids
        records: list[Record] = await io.in_thread(to_records, documents, given, contexts)
        latest = list({record.id: record for record in records}.values())
        replacement = Replacement(self._session, self._guard, latest, remove=remove, forbidden=forbidden)
        await replacement.make(io, show_progress=show_progress)
        return [record.id for record in records]
