"""`FaissStore`: the embedded vector store."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import run_in_executor

from langchain_sentence_window._arguments import (
    as_documents,
    as_iterator,
    check_document,
    check_order,
    checked_documents,
    checked_texts,
)
from langchain_sentence_window._display import shown, summary_repr
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, run, with_arguments_of
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window._validation import (
    checked_count,
    checked_list,
    checked_neighbor_weights,
    gathered,
)
from langchain_sentence_window.documents.indexed_documents import IndexedDocument, SentenceRun, indexed_documents
from langchain_sentence_window.documents.keys import HEADING, checked_ids
from langchain_sentence_window.documents.sentence_documents import own_metadata
from langchain_sentence_window.embedding.embedder import unit_vectors
from langchain_sentence_window.embedding.named_embedders import checked_embedding
from langchain_sentence_window.embedding.vectors import NEIGHBOR_WEIGHTS, normalized
from langchain_sentence_window.errors import IndexNotFoundError, InvalidInputError, StoreError

from .backup import copy_index, holds_index, restore_index
from .check import StoreStats, bytes_by_part, check_database, check_folder
from .database import Database, OneState
from .faiss_index import AUTO, check_index_name
from .files import DATABASE_FILE, as_folder
from .filters import Condition, Filter, compile_filter, for_few
from .origin import TEXTS_TO_WRITE, Origin
from .records import (
    Record,
    add_records,
    as_time,
    latest_of,
    of_documents,
    read_documents,
    read_shared,
    to_records,
    with_ids,
)
from .searches import StoreSearches
from .state import IndexState, Kept, checked_effort
from .tables import ONE_OF, Snapshot, as_json, from_halves, to_halves
from .vectors import VectorCache
from .words import WordCache
from .writing import Replacement

if TYPE_CHECKING:
    from .check import CheckResult

T = TypeVar("T")

DOCUMENT_BATCH_SIZE = 5_000
"""Documents of an iterator that are added at once."""

SAMPLED_QUESTIONS = 100
"""Sentences that `FaissStore.recall_estimate` searches with, unless questions are given."""

MAX_ROWS_BEHIND = 50_000
"""Rows that a series of writes adds before the caches catch up, as each update of theirs has a fixed cost."""

MIN_ROWS_TO_CATCH_UP = 2_000
"""The least number of rows for which a write brings the lexical index up to date itself; after smaller ones the next
search makes one update for all of them."""


@dataclass(frozen=True, slots=True)
class RecallEstimate:
    """The share of the ``k`` nearest vectors that searches found.

    Attributes:
        recall: The mean over all questions; 1 if all were found.
        low: The lower end of its confidence interval, of 19 in 20.
        high: The upper end.
        questions: The number of questions.
        k: The number of nearest vectors that were asked for.
        search_effort: The effort of the searches.
        index: The name of the index that was searched.
    """

    recall: float
    low: float
    high: float
    questions: int
    k: int
    search_effort: float
    index: str


class FaissStore(StoreSearches):
    """A LangChain vector store in one folder, or in memory: SQLite stores it, FAISS searches it.

    Every call is one SQLite transaction: it takes effect completely or not at all. The FAISS index and the lexical
    index are caches. They are updated before each search, and rebuilt from the database if they are missing or damaged.
    Nothing is pickled. Any number of threads may search while one writes, and each search sees one state of the store.
    Several processes may open the same path: writers queue, and each process sees at once what another has written.

    Scores are cosines: 1 for the same direction, 0 for unrelated texts; higher is better. Relevance scores are the
    same, with 0 instead of negative values. Vectors are stored in half precision, which changes scores slightly. What
    an index of codes finds is compared again with the stored vectors. So scores don't depend on the index, except that
    a hybrid search uses codes of six bits. See the benchmarks page.

    The index depends on the size of the store. A new index is built in the background, while searches and writes use
    the present one. `stats` says which index is in use, and why.

    Metadata can be anything that JSON can represent. It is filtered before the search, so ``k`` documents are returned
    if ``k`` match. `langchain_sentence_window.store.filters` describes the syntax of filters.
    """

    def __init__(
        self,
        embedding: Embeddings,
        path: str | PathLike[str] | None = None,
        index: str | None = None,
        *,
        neighbor_weights: Sequence[float] | None = None,
        search_effort: float = 1.0,
        read_only: bool = False,
    ) -> None:
        """Open the store at a path, or create it there.

        Args:
            embedding: The embedder of texts and queries.
            path: A folder; ``None`` for a store in memory.
            index: ``auto`` compares all vectors exactly in small stores. In larger stores, it compares codes of two
                bits per number (``IVF1,PQ…x4fs``), and in the largest only those of the nearest clusters
                (``IVF…,PQ…x4fs``); then it compares the best again. Or the name of an index for FAISS's index factory:
                ``Flat`` is exact; ``SQ8`` and ``SQfp16`` are smaller; ``RaBitQ`` and ``RaBitQ2`` are much smaller and
                faster; ``HNSW32``, ``HNSW32_SQ8`` and ``IVF…`` are faster, and miss some results. ``None`` keeps the
                index of an existing store; a new store gets ``auto``. If an existing store has another index than the
                one named, the new one is built from the database, without embedding, and kept.
            neighbor_weights: The weights with which a sentence's vector is mixed with those of its neighbors in its
                section when it is searched: of the sentence itself, of those next to it, of those two away, and so on;
                ``(1,)`` for no mixing. ``None`` keeps the weights of an existing store; a new store gets
                `NEIGHBOR_WEIGHTS`. Other weights are applied without embedding. Documents without ``doc_id`` and
                ``sentence_index`` have no neighbors.
            search_effort: How much a search compares if the index isn't exact: 1 is the default, 2 compares twice as
                many candidates, clusters or nodes and finds more, and ``float("inf")`` compares everything.
                `recall_estimate` measures the effect.
            read_only: Whether to leave the files unchanged.

        Raises:
            InvalidInputError: FAISS can't make the index, the index can't be kept up to date, the weights aren't
                numbers of 0 or more, the first above 0, or the effort isn't a number above 0.
            StoreError: The path is a file, or what it holds isn't a store or is damaged.
            IndexMismatchError: The store was made with another embedder or format.
        """
        check_order(embedding, path, f"{type(self).__name__}(embedding, path)")
        weights = None if neighbor_weights is None else checked_neighbor_weights(neighbor_weights)
        self._effort = checked_effort(search_effort)
        if index is not None and not (isinstance(index, str) and index == AUTO):
            check_index_name(index)
        self._embedding = checked_embedding(embedding)
        self._database = Database(None if path is None else as_folder(path), read_only=read_only)
        self._state: OneState | None = None
        self._rows_behind = 0
        try:
            with self._database.reading() as snapshot:
                kept = snapshot.fact("settings") or {}
            self._index_asked: str = index or kept.get("index", AUTO)
            self._weights: tuple[float, ...] = tuple(weights or kept.get("weights", NEIGHBOR_WEIGHTS))
            settings = {"index": self._index_asked, "weights": list(self._weights)}
            if settings != kept and not read_only:
                with self._database.writing() as transaction:
                    transaction.set_fact("settings", settings)
            self._vectors = VectorCache(self._database, self._index_asked, self._weights)
            self._words, self._kept = WordCache(self._database), Kept()
            self._origin = Origin(self._embedding, self._database)
            self._origin.check_opening()
        except BaseException:
            self._database.close()
            raise

    @classmethod
    def open(cls, path: str | PathLike[str], embedding: Embeddings, **settings: Any) -> Self:
        """Open a store that exists.

        Args:
            path: The folder of the store.
            embedding: The embedder of its texts.
            **settings: ``index``, ``neighbor_weights``, ``search_effort`` or ``read_only``; others stay as they were.

        Raises:
            IndexNotFoundError: There is no store at the path.
            StoreError: The path is a file, or what it holds isn't a store or is damaged.
            IndexMismatchError: The store was made with another embedder or format.
        """
        check_order(embedding, path, f"{cls.__name__}.open(path, embedding)")
        cls.check_exists(path)
        return cls(embedding, path, **settings)

    @classmethod
    def check_exists(cls, path: str | PathLike[str]) -> None:
        """Check that there is a store at a path.

        Raises:
            IndexNotFoundError: There is none.
            StoreError: The path is a file, or can't be read.
        """
        folder = as_folder(path)
        if cls.exists(folder):
            return
        if folder.is_file():
            is_of_index = folder.name == DATABASE_FILE
            likely = repr(str(folder.parent)) if is_of_index else "the path that from_documents was given"
            raise StoreError(f"{str(folder)!r} is a file, and an index is a folder; give {likely}")
        raise IndexNotFoundError(
            f"there is no index at {str(path)!r}; make one with from_documents(..., path={str(path)!r})"
        )

    @staticmethod
    def exists(path: str | PathLike[str]) -> bool:
        """Return whether there is a store at a path, or one is being restored there."""
        return holds_index(as_folder(path))

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        path: str | PathLike[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Open or create a store and add texts to it.

        Args:
            texts: The texts.
            embedding: The embedder of texts and queries.
            metadatas: One dict for each text; ``None`` for empty metadata.
            ids: One id for each text; ``None`` for new ids.
            path: A folder; ``None`` for a store in memory.
            **kwargs: Other arguments of the class.

        Raises:
            InvalidInputError: As for `add_texts`; nothing was created at the path.
        """
        documents = as_documents(texts, metadatas)
        if ids is not None and len(checked_ids(ids)) != len(documents):
            raise InvalidInputError(f"got {len(ids)} ids for {len(documents)} texts; give one for each")
        store = cls(embedding, path, **kwargs)
        store.add_documents(documents, ids=ids)
        return store

    @classmethod
    def from_documents(cls, documents: list[Document], embedding: Embeddings, **kwargs: Any) -> Self:
        """Open or create a store and add documents to it.

        Args:
            documents: The documents.
            embedding: The embedder of texts and queries.
            **kwargs: ``path``, ``ids`` and other arguments of the class.

        Raises:
            InvalidInputError: The documents aren't a list of Documents; nothing was created at the path.
        """
        return super().from_documents(checked_documents(documents), embedding, **kwargs)

    @classmethod
    async def afrom_documents(cls, documents: list[Document], embedding: Embeddings, **kwargs: Any) -> Self:
        """Async version of `from_documents`."""
        return await super().afrom_documents(checked_documents(documents), embedding, **kwargs)

    # Writing

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
        return run(self._add(BLOCKING, documents, ids, show_progress=show_progress))

    async def aadd_documents(
        self, documents: Iterable[Document], *, ids: list[str] | None = None, show_progress: bool = False, **kwargs: Any
    ) -> list[str]:
        """Async version of `add_documents`."""
        return await self._add(ASYNC, documents, ids, show_progress=show_progress)

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
            halves = dict(
                zip([each.id for each in records], to_halves(unit_vectors(vectors, len(records))), strict=True)
            )
            latest = latest_of(records)
            self._origin.refresh()

            def write() -> None:
                with self._database.writing() as transaction:
                    self._origin.claim(transaction, halves)
                    transaction.remove(with_ids([each.id for each in latest]))
                    add_records(transaction, latest, [halves[each.id] for each in latest])

            self._origin.run_proven(write, TEXTS_TO_WRITE)
            self._follow_write(len(latest))
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
        replacement = run(self.prepare_replacement(BLOCKING, sentences, doc_ids, contexts, within))
        run(replacement.make(BLOCKING, show_progress=show_progress))

    @with_arguments_of(replace_documents)
    async def areplace_documents(self, *given: Any, show_progress: bool = False, **settings: Any) -> None:
        """Async version of `replace_documents`."""
        replacement = await self.prepare_replacement(ASYNC, *given, **settings)
        await replacement.make(ASYNC, show_progress=show_progress)

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
        with self._database.writing() as transaction:
            transaction.remove(condition)
        self._follow_write(0)
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
        with self._database.writing() as transaction:
            names = _whole_documents(transaction, condition)
            transaction.remove(of_documents(names))
        self._follow_write(0)
        return names

    async def adelete_documents(self, doc_ids: Sequence[str] | None = None, *, filter: Filter | None = None) -> int:
        """Async version of `delete_documents`."""
        return await run_in_executor(None, partial(self.delete_documents, doc_ids, filter=filter))

    async def prepare_replacement(
        self,
        io: IO,
        sentences: Sequence[Document],
        doc_ids: Sequence[str],
        contexts: Sequence[str] | None = None,
        within: Filter | None = None,
    ) -> Replacement:
        """Prepare what `replace_documents` does, to be written alone or with others.

        The last of several sentences with the same id counts.
        """
        documents = checked_documents(sentences)
        texts = None if contexts is None else checked_texts(contexts)
        remove, forbidden = of_documents(checked_ids(doc_ids)), None
        if within is not None:
            by_id, filtered = with_ids([each.id for each in documents if each.id]), compile_filter(within)
            sql = f"({remove[0]} OR {by_id[0]}) AND NOT ({filtered[0]})"
            forbidden = sql, [*remove[1], *by_id[1], *filtered[1]]
        self._origin.refresh()
        records: list[Record] = await io.in_thread(to_records, documents, None, texts)
        return self._replacement(latest_of(records), remove=remove, forbidden=forbidden)

    def catch_up(self) -> None:
        """Bring the indexes up to date after parts were written; else the next searches do."""
        self._follow_write(0)

    def discard_staged(self) -> int:
        """Drop the texts and vectors of interrupted calls, which are kept for a retry.

        Returns:
            The number of texts dropped.
        """
        with self._database.writing() as transaction:
            return transaction.execute("DELETE FROM staged").rowcount

    async def _add(
        self, io: IO, documents: Iterable[Document], ids: list[str] | None, *, show_progress: bool
    ) -> list[str]:
        """Add a list at once, and an iterator in batches."""
        if ids is None and not isinstance(documents, Sized):
            added, read = list[str](), enumerate(as_iterator(documents))
            while part := await io.in_thread(lambda: list(islice(read, DOCUMENT_BATCH_SIZE))):
                for position, document in part:
                    check_document(position, document)
                added += await self._add(io, [document for _, document in part], None, show_progress=show_progress)
            return added
        self._origin.refresh()
        given = gathered(ids) if isinstance(ids, list | tuple) else ids
        records: list[Record] = await io.in_thread(to_records, checked_documents(documents), given)
        await self._replacement(latest_of(records)).make(io, show_progress=show_progress)
        return [record.id for record in records]

    def _replacement(self, records: Sequence[Record], **conditions: Condition | None) -> Replacement:
        return Replacement(self._database, self._origin, records, self._follow_write, **conditions)

    def _follow_write(self, rows: int, *, is_part: bool = False) -> None:
        """Bring the caches up to date after a write, so that the next search needn't; of small ones, the words wait."""
        self._rows_behind += rows
        if is_part and self._rows_behind < MAX_ROWS_BEHIND:
            return
        rows, self._rows_behind = self._rows_behind, 0
        with suppress(StoreError):  # the next search tries again
            if self._vectors.is_used:
                with self._database.reading() as snapshot, self._vectors.lock:
                    self._vectors.at(snapshot)
            if rows >= MIN_ROWS_TO_CATCH_UP:
                self._words.catch_up()

    # Reading

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Fetch documents, in the order of the ids; ids that don't exist are left out.

        Raises:
            InvalidInputError: The ids aren't a list of strings.
        """
        return self.get_by_ids_within(ids, {})

    def get_by_ids_within(self, ids: Sequence[str], filter: Filter) -> list[Document]:
        """Fetch the documents that match a filter, in the order of the ids.

        Raises:
            InvalidInputError: The ids aren't a list of strings.
            FilterError: The filter is invalid.
        """
        wanted = checked_ids(ids)
        (sql, parameters), (holds, values) = with_ids(wanted), for_few(compile_filter(filter))
        with self._reading() as snapshot:
            read = read_documents(snapshot, (f"{sql} AND ({holds})", [*parameters, *values]))
        found = {document.id: document for document in read.values()}
        return [found[id_] for id_ in dict.fromkeys(wanted) if id_ in found]

    async def aget_by_ids_within(self, ids: Sequence[str], filter: Filter) -> list[Document]:
        """Async version of `get_by_ids_within`."""
        return await run_in_executor(None, self.get_by_ids_within, ids, filter)

    def list_documents(self, filter: Filter | None = None) -> list[IndexedDocument]:
        """List the documents that a retriever added, in the order in which they were last written.

        Args:
            filter: A filter on the metadata of their sentences; ``None`` for no filter. A document of which it matches
                a part is listed with that part's sentences and pages.

        Raises:
            FilterError: The filter is invalid.
        """
        condition = compile_filter(filter or {})
        with self._reading() as snapshot:
            sql, parameters = snapshot.simplest(condition)
            found = snapshot.execute(_LISTED.format(sql), parameters).fetchall()
            sources = read_shared(snapshot, "sources", {each[2] for each in found})
            sections = read_shared(snapshot, "sections", {each[3] for each in found})
        return indexed_documents(
            SentenceRun(
                doc_id, count, str(sections[section].get(HEADING, "")), own_metadata(sources[source]), as_time(written)
            )
            for doc_id, count, source, section, written in found
        )

    async def alist_documents(self, filter: Filter | None = None) -> list[IndexedDocument]:
        """Async version of `list_documents`."""
        return await run_in_executor(None, self.list_documents, filter)

    def count_documents(self, filter: Filter | None = None) -> int:
        """Count the documents that `list_documents` lists, without reading them.

        Args:
            filter: A filter on the metadata of their sentences; ``None`` for no filter.

        Raises:
            FilterError: The filter is invalid.
        """
        condition = compile_filter(filter or {})
        with self._reading() as snapshot:
            sql, parameters = snapshot.simplest(condition)
            (count,) = snapshot.execute(_COUNTED.format(sql), parameters).fetchone()
        return int(count)

    async def acount_documents(self, filter: Filter | None = None) -> int:
        """Async version of `count_documents`."""
        return await run_in_executor(None, self.count_documents, filter)

    def sample_embedded(self) -> list[tuple[str, Vectors]]:
        """Return a few texts as they were embedded, with their unit vectors.

        By these, one can tell whether an embedder is the store's. They are long, as a model that truncates its input
        may give the same vectors for short ones.
        """
        return self._origin.sample(TEXTS_TO_WRITE)[1]

    def is_made_with(self, embedding: Embeddings) -> bool:
        """Return whether an embedder is known to have made the vectors, without embedding anything."""
        return self._origin.is_made_with(embedding)

    def export(self) -> Iterator[tuple[list[Document], Vectors]]:
        """Yield all documents with their vectors as they were embedded, in slices; the reverse of `add_embeddings`.

        Yields:
            Documents and unit vectors of shape ``(n, dimension)``, in the order of source documents and sentences. All
            slices are from the state of the store at the first one.
        """
        with self.at_one_state(copies=True) as store:
            rows = store._read(lambda snapshot: snapshot.execute(_IN_ORDER).fetchall())
            for start in range(0, len(rows), DOCUMENT_BATCH_SIZE):
                wanted = [row for (row,) in rows[start : start + DOCUMENT_BATCH_SIZE]]
                yield store._read(partial(_exported, rows=wanted))

    def __len__(self) -> int:
        """Return the number of documents in the store; a retriever adds one for each sentence."""
        return self._read(lambda snapshot: snapshot.version.sentences)

    def __bool__(self) -> bool:
        """Return true, also for an empty store."""
        return True

    def _read(self, work: Callable[[Snapshot], T]) -> T:
        with self._reading() as snapshot:
            return work(snapshot)

    # What searches find

    def recall_estimate(
        self,
        questions: Sequence[str] | None = None,
        *,
        sample: int = SAMPLED_QUESTIONS,
        k: int = 50,
        search_effort: float | None = None,
    ) -> RecallEstimate:
        """Estimate how many of the ``k`` nearest documents a search finds, compared with an exact search.

        All vectors are read and compared with each question, part by part, while others read and write. Questions like
        those of your users give the best estimate; those farther from any sentence find less.

        Args:
            questions: Texts to search with; ``None`` for sentences of the store, by their stored vectors.
            sample: The number of sentences, spread evenly over the store, if no questions are given.
            k: The number of nearest documents.
            search_effort: The effort to estimate for; ``None`` for that of the store.

        Raises:
            InvalidInputError: ``questions`` isn't a list of strings, ``sample`` or ``k`` isn't a whole number above 0,
                or ``search_effort`` isn't a number above 0.
            EmbeddingError: The embedder's vectors are unusable, or of another length than the store's.
            IndexMismatchError: The store's vectors are from another embedder.
        """
        return run(self._estimate(BLOCKING, questions, sample=sample, k=k, search_effort=search_effort))

    @with_arguments_of(recall_estimate)
    async def arecall_estimate(self, *given: Any, **settings: Any) -> RecallEstimate:
        """Async version of `recall_estimate`."""
        return await self._estimate(ASYNC, *given, **settings)

    async def _estimate(
        self,
        io: IO,
        questions: Sequence[str] | None = None,
        *,
        sample: int = SAMPLED_QUESTIONS,
        k: int = 50,
        search_effort: float | None = None,
    ) -> RecallEstimate:
        count, k, effort = checked_count("sample", sample), checked_count("k", k), self._of_call(search_effort)
        texts = None if questions is None else checked_list("questions", questions)
        if texts is not None and not all(isinstance(each, str) for each in texts):
            raise InvalidInputError(f"questions are {shown(questions)}; give a list of strings")
        if texts is None:
            sampled = await io.in_thread(self._read, lambda snapshot: snapshot.sample_embedded(count))
            vectors = [vector for _, vector in sampled]
        else:
            vectors = [await self.embed_query(io, str(text)) for text in texts]
        unit: Vectors = normalized(np.stack(vectors)) if vectors else np.empty((0, 0), dtype=np.float32)

        def compare(state: IndexState, at: int, effort: float) -> set[int]:
            return {row for row, _ in state.nearest(unit[at], k, None, effort)}

        shares = list[float]()
        for at in range(len(unit)):  # others read and write in between
            exact = await io.in_thread(self.read, partial(compare, at=at, effort=math.inf), words=False)
            found = await io.in_thread(self.read, partial(compare, at=at, effort=effort), words=False)
            shares.append(len(exact & found) / len(exact) if exact else 1.0)
        recall, low, high = _interval(shares, k)
        name = (await io.in_thread(self.stats)).index_in_use
        return RecallEstimate(recall, low, high, len(shares), k, effort, name)

    # The files

    @property
    def folder(self) -> Path | None:
        """The folder of the store, as an absolute path; ``None`` for a store in memory."""
        return self._database.folder

    def stats(self) -> StoreStats:
        """Count the contents of the store and measure its size; see `StoreStats`."""
        with self._reading() as snapshot:
            in_use, to_come, tombstones, wasted = self._vectors.describe(snapshot)
            (documents,), (staged,) = (
                snapshot.execute(f"SELECT count(*) FROM {table}").fetchone() for table in ("documents", "staged")
            )
            return StoreStats(
                documents=documents,
                sentences=snapshot.version.sentences,
                bytes=bytes_by_part(self.folder),
                index=self._index_asked,
                index_in_use=in_use.name,
                index_reason=in_use.reason,
                index_to_come=to_come,
                neighbor_weights=self._weights,
                tombstones=tombstones,
                rebuild_saves=wasted,
                generation=snapshot.version.generation,
                staged_texts=staged,
            )

    async def astats(self) -> StoreStats:
        """Async version of `stats`."""
        return await run_in_executor(None, self.stats)

    def check(self) -> "CheckResult":
        """Read everything that the store holds, and list what is wrong.

        Each row of the database is compared with its checksum, and the sentences of each document with each other. A
        saved FAISS index or lexical index that is damaged is noted, and is no problem: the next search builds it again.
        Nothing is changed or embedded.
        """
        folder = self.folder
        return check_database(self._database) if folder is None else check_folder(folder)

    async def acheck(self) -> "CheckResult":
        """Async version of `check`."""
        return await run_in_executor(None, self.check)

    def save(self, path: str | PathLike[str] | None = None) -> None:
        """Write the FAISS index and the lexical index beside the database, so that the next opening is fast.

        Documents need no saving: they are in the database when the call that adds them returns.

        Args:
            path: A folder without an index to copy the store into instead, as `backup` does. This is the only way to
                save a store in memory.

        Raises:
            StoreError: The folder holds an index already, or a store in memory got no path.
        """
        if path is None:
            self._save()
        else:
            self.backup(path)

    async def asave(self, path: str | PathLike[str] | None = None) -> None:
        """Async version of `save`."""
        await run_in_executor(None, self.save, path)

    def backup(self, path: str | PathLike[str]) -> None:
        """Copy the current state of the store into a folder, while others read and write.

        The copy appears only when it is complete. Its FAISS index and lexical index are built at its first search.

        Args:
            path: A folder that holds no index yet.

        Raises:
            StoreError: The folder holds an index already, or can't be written.
        """
        copy_index(self._database, as_folder(path))

    async def abackup(self, path: str | PathLike[str]) -> None:
        """Async version of `backup`."""
        await run_in_executor(None, self.backup, path)

    @staticmethod
    def restore(backup: str | PathLike[str], path: str | PathLike[str]) -> None:
        """Replace an index, whatever its state, with a backup.

        The backup is checked row by row before anything is changed. It replaces the index in one transaction, so that
        the old index is unchanged if the call fails or the process is killed, and stores that are open at the path see
        the new one. Only files that aren't a database are removed first.

        Args:
            backup: A folder that `backup` or ``save(path)`` made, or that of any closed index.
            path: The folder of the index to replace; it is created if it doesn't exist.

        Raises:
            IndexNotFoundError: There is no index in the backup's folder.
            StoreError: The backup is damaged, or the path can't be written; nothing was changed.
        """
        restore_index(as_folder(backup), as_folder(path))

    def close(self) -> None:
        """Wait for running calls and close the files.

        Later calls raise `StoreError`. Nothing needs to be saved first.
        """
        self._database.close()

    def __enter__(self) -> Self:
        """Use the store in a ``with`` block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the store."""
        self.close()

    def _save(self) -> None:
        if self.folder is None:
            raise StoreError("the store is in memory only; give save() a path to write it to")
        if self._database.read_only:
            raise StoreError(
                f"{self._database.name} was opened for reading only; open it without read_only=True to change it"
            )
        with self._reading() as snapshot, self._vectors.lock:
            self._vectors.at(snapshot)
        self._vectors.wait()  # for a change that is due, so that the next opening needn't make it
        self._vectors.save()
        self._words.catch_up()

    def __repr__(self) -> str:
        """Show the path, the contents and the settings that aren't the default; never raises."""
        name, database = type(self).__name__, self.__dict__.get("_database")
        if database is None:  # its construction failed
            return f"<{name}: not opened>"
        try:
            parts = ["closed"] if database.calls.is_closed else list(self._parts())
        except Exception:  # noqa: BLE001 - a debugger prints stores in any state
            parts = ["closed" if database.calls.is_closed else "can't be read"]
        return summary_repr(name, database.folder, parts)

    def _parts(self) -> Iterator[str]:
        stats = self.stats()
        yield f"documents={stats.documents}"
        yield f"sentences={stats.sentences}"
        yield f"index={stats.index_in_use!r}"
        yield f"embedding={type(self._embedding).__name__}"
        if stats.neighbor_weights != NEIGHBOR_WEIGHTS:
            yield f"neighbor_weights={stats.neighbor_weights}"
        if self._database.read_only:
            yield "read_only=True"

    def _reopened(self) -> str:
        path, name = self.folder, type(self).__name__
        if path is None:
            return f"keep it in a folder first, with save(path), then {name}.open(path, embedding)"
        return f"{name}.open({str(path)!r}, embedding)"


_LISTED = """
    SELECT doc_id, sentences, source_key, (SELECT section_key FROM sentences WHERE sentences.row = found.first), written
    FROM (SELECT source_key, count(*) AS sentences, min(row) AS first FROM sentences
        WHERE source_key IS NOT NULL AND ({}) GROUP BY source_key) AS found
    JOIN sources USING (source_key) JOIN documents USING (document) ORDER BY first
"""
_COUNTED = """
    SELECT count(DISTINCT document) FROM sources
    WHERE source_key IN (SELECT source_key FROM sentences WHERE source_key IS NOT NULL AND ({}))
"""
_IN_ORDER = "SELECT row FROM sentences ORDER BY document, sentence_index, row"


def _whole_documents(snapshot: Snapshot, condition: Condition) -> list[str]:
    """Return the names of the documents of which a condition matches sentences.

    Raises:
        InvalidInputError: It matches only a part of a document.
    """
    sql, parameters = snapshot.simplest(condition)
    found = snapshot.execute(
        "SELECT doc_id, matching, (SELECT count(*) FROM sentences WHERE sentences.document = found.document) "
        f"FROM (SELECT document, count(*) AS matching FROM sentences WHERE {sql} GROUP BY document) AS found "
        "JOIN documents USING (document)",
        parameters,
    ).fetchall()
    partly = next((doc_id for doc_id, matching, every in found if matching < every), None)
    if partly is not None:
        raise InvalidInputError(
            f"the filter lets through only a part of document {partly!r:.80}; give one that matches all of it, or "
            "delete it by its id with a retriever that has no filter. Nothing was deleted."
        )
    return [doc_id for doc_id, _, _ in found]


def _exported(snapshot: Snapshot, rows: Sequence[int]) -> tuple[list[Document], Vectors]:
    documents = read_documents(snapshot, (f"row {ONE_OF}", [as_json(rows)]))
    found = snapshot.execute(f"SELECT row, vector FROM vectors WHERE row {ONE_OF}", [as_json(rows)])
    vectors: dict[int, bytes] = dict(found.fetchall())
    return [documents[row] for row in rows], from_halves(vectors[row] for row in rows)


_Z = 1.96  # of an interval that holds the truth 19 times in 20


def _interval(shares: Sequence[float], k: int) -> tuple[float, float, float]:
    """Return the mean of shares of ``k``, and its interval by Wilson.

    Each of the ``k`` counts as a trial. The more the shares vary, the more alike those of a question are, and the fewer
    trials they count for; see https://en.wikipedia.org/wiki/Design_effect.
    """
    if not shares:
        return math.nan, 0.0, 1.0
    mean = float(np.mean(shares))
    spread = mean * (1 - mean)
    effect = max(1.0, float(np.var(shares)) * k / spread) if spread > 0 else 1.0
    trials = len(shares) * k / effect
    center = (mean + _Z**2 / (2 * trials)) / (1 + _Z**2 / trials)
    half = _Z * math.sqrt(spread / trials + _Z**2 / (4 * trials**2)) / (1 + _Z**2 / trials)
    return mean, max(0.0, min(mean, center - half)), min(1.0, max(mean, center + half))
