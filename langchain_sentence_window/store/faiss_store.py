"""`FaissStore`: the embedded vector store."""

import copy
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Sized
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, Self, TypeVar

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from langchain_sentence_window._arguments import (
    as_documents,
    as_iterator,
    check_document,
    check_order,
    checked_documents,
    checked_texts,
)
from langchain_sentence_window._display import shown, summary_repr
from langchain_sentence_window._io import BLOCKING, IO, OpenFiles, run
from langchain_sentence_window._primitives import SentenceKey, Vectors
from langchain_sentence_window._validation import (
    as_number,
    checked_count,
    checked_neighbor_weights,
    checked_weight,
    listed,
)
from langchain_sentence_window.documents.indexed_documents import IndexedDocument, SentenceRun, indexed_documents
from langchain_sentence_window.documents.keys import HEADING, checked_ids
from langchain_sentence_window.documents.sentence_documents import SentencesByKey, own_metadata
from langchain_sentence_window.embedding.embedder import unit_vector, unit_vectors
from langchain_sentence_window.embedding.named_embedders import checked_embedding
from langchain_sentence_window.embedding.vectors import NEIGHBOR_WEIGHTS
from langchain_sentence_window.errors import (
    InvalidInputError,
    SentenceWindowWarning,
    StoreChangedError,
    StoreError,
)
from langchain_sentence_window.ranking.candidates import LEXICAL_WEIGHT

from .backup import copy_database, holds_index, require_index, restore_index
from .check import CheckResult, StoreStats, bytes_by_part, check_database, check_folder
from .database import Database, OneState, OutdatedError
from .faiss_index import AUTO, checked_kind
from .files import as_folder
from .filters import Condition, Filter, compile_filter, for_few
from .origin import Origin, UnprovenError
from .reading import Pairs, RowReader, sentences_at
from .records import (
    add_records,
    as_time,
    checked_names,
    latest_of,
    of_documents,
    read_shared,
    to_records,
    with_ids,
)
from .state import IndexState, SearchCaches, condition_of
from .tables import Snapshot, damaged, to_halves
from .vectors import VectorCache
from .words import WordCache
from .writing import Replacement

T = TypeVar("T")

DOCUMENT_BATCH_SIZE = 5_000
"""Documents of an iterator that are added at once."""

MAX_ROWS_BEHIND = 50_000
"""Rows that a series of writes adds before the caches catch up, because each update of theirs has a fixed cost."""

MIN_ROWS_TO_CATCH_UP = 2_000
"""The least number of rows for which a write brings the lexical index up to date itself; after smaller ones, the next
search makes one update for all of them."""

_MAX_ATTEMPTS = 100
_ATTEMPTS_AMONG_WRITERS = 3
"""Attempts at a read while others may write, before it locks them out."""


class FaissStore(OpenFiles, VectorStore):
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
    the present one. `stats` says which index is in use.

    Metadata can be anything that JSON can represent. It is filtered before the search, so ``k`` documents are returned
    if ``k`` match. `langchain_sentence_window.store.filters` describes the syntax of filters.

    Async methods are those of LangChain's `VectorStore`, which run the sync form in a thread.
    """

    def __init__(
        self,
        embedding: Embeddings,
        path: str | PathLike[str] | None = None,
        index: str | None = None,
        *,
        neighbor_weights: Sequence[float] | None = None,
        read_only: bool = False,
    ) -> None:
        """Open the store at a path, or create it there.

        Args:
            embedding: The embedder of texts and queries.
            path: A folder; ``None`` for a store in memory.
            index: ``exact`` compares all vectors; it takes 4 bytes of memory for each number. ``codes`` compares codes
                of two bits for each number, in very large stores only those of the nearest clusters, and then compares
                the best again: it is faster and smaller, and may miss a few of the nearest. ``auto`` is exact in small
                stores and has codes in larger ones. ``None`` keeps the index of an existing store; a new store gets
                ``auto``. If an existing store has another index than the one named, the new one is built from the
                database, without embedding, and kept.
            neighbor_weights: The weights with which a sentence's vector is mixed with those of its neighbors in its
                section when it is searched: of the sentence itself, of those next to it, of those two away, and so on;
                ``(1,)`` for no mixing. ``None`` keeps the weights of an existing store; a new store gets
                `NEIGHBOR_WEIGHTS`. Other weights are applied without embedding. Documents without ``doc_id`` and
                ``sentence_index`` have no neighbors.
            read_only: Whether to leave the files unchanged.

        Raises:
            InvalidInputError: There is no such index, or the weights aren't numbers of 0 or more, the first above 0.
            StoreError: The path is a file, or its content isn't a store or is damaged.
            IndexMismatchError: The store was made with another embedder or format.
        """
        check_order(embedding, path, f"{type(self).__name__}(embedding, path)")
        weights = None if neighbor_weights is None else checked_neighbor_weights(neighbor_weights)
        asked = None if index is None else checked_kind(index)
        self._embedding = checked_embedding(embedding)
        self._database = Database(None if path is None else as_folder(path), read_only=read_only)
        self._state: OneState | None = None
        self._rows_behind = 0
        try:
            with self._database.reading() as snapshot:
                stored = snapshot.fact("settings", dict) or {}
            self._origin = Origin(self._embedding, self._database)
            self._origin.check_opening()
            try:
                stored_index = checked_kind(stored.get("index", AUTO))
                stored_weights = checked_neighbor_weights(stored.get("weights", NEIGHBOR_WEIGHTS))
            except InvalidInputError as error:
                raise damaged(f"settings that can be used: {error}") from error
            self._index, self._weights = asked or stored_index, weights or stored_weights
            settings = {"index": self._index, "weights": list(self._weights)}
            if settings != stored and not read_only:
                with self._database.writing() as transaction:
                    transaction.set_fact("settings", settings)
            self._vectors = VectorCache(self._database, self._index, self._weights)
            self._words, self._caches = WordCache(self._database), SearchCaches()
        except BaseException:
            self._database.close()
            raise

    @classmethod
    def open(cls, path: str | PathLike[str], embedding: Embeddings, **settings: Any) -> Self:
        """Open a store that exists.

        Args:
            path: The folder of the store.
            embedding: The embedder of its texts.
            **settings: ``index``, ``neighbor_weights`` or ``read_only``; the others stay as they were.

        Raises:
            IndexNotFoundError: There is no store at the path.
            StoreError: The path is a file, or its content isn't a store or is damaged.
            IndexMismatchError: The store was made with another embedder or format.
        """
        check_order(embedding, path, f"{cls.__name__}.open(path, embedding)")
        require_index(path)
        return cls(embedding, path, **settings)

    @staticmethod
    def exists(path: str | PathLike[str]) -> bool:
        """Return whether there is a store at a path."""
        return holds_index(as_folder(path))

    @classmethod
    def from_texts(
        cls, texts: list[str], embedding: Embeddings, metadatas: list[dict[str, Any]] | None = None, **kwargs: Any
    ) -> Self:
        """Open or create a store and add texts to it.

        Args:
            texts: The texts.
            embedding: The embedder of texts and queries.
            metadatas: One dict for each text; ``None`` for empty metadata.
            **kwargs: As for `from_documents`.

        Raises:
            InvalidInputError: As for `add_texts`; nothing was created at the path.
        """
        return cls.from_documents(as_documents(texts, metadatas), embedding, **kwargs)

    @classmethod
    def from_documents(
        cls,
        documents: list[Document],
        embedding: Embeddings,
        *,
        ids: list[str] | None = None,
        path: str | PathLike[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Open or create a store and add documents to it.

        Args:
            documents: The documents.
            embedding: The embedder of texts and queries.
            ids: One id for each document; ``None`` for their own ids, or new ones.
            path: A folder; ``None`` for a store in memory.
            **kwargs: Other arguments of the class.

        Raises:
            InvalidInputError: The documents aren't a list of Documents, or there isn't one id for each; nothing was
                created at the path.
        """
        checked = checked_documents(documents)
        if ids is not None:
            checked_names(ids, len(checked))
        store = cls(embedding, path, **kwargs)
        store.add_documents(checked, ids=ids)
        return store

    @property
    def embeddings(self) -> Embeddings:
        """The embedder of texts and queries."""
        return self._embedding

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

    def add_documents(
        self, documents: Iterable[Document], *, ids: list[str] | None = None, show_progress: bool = False, **kwargs: Any
    ) -> list[str]:
        """Embed documents and add them; a document replaces the one with the same id.

        Texts that have a vector in the store aren't embedded again. If a long call is interrupted, for example by
        Ctrl-C, it adds no document and keeps the vectors that it has made. The same call embeds only the rest when it
        is repeated.

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
        if ids is None and not isinstance(documents, Sized):
            added, numbered = list[str](), enumerate(as_iterator(documents))
            while batch := list(islice(numbered, DOCUMENT_BATCH_SIZE)):
                for position, document in batch:
                    check_document(position, document)
                added += self.add_documents([document for _, document in batch], show_progress=show_progress)
            return added
        records = to_records(checked_documents(documents), ids)
        replacement = Replacement(self._database, self._origin, latest_of(records), self.catch_up)
        run(replacement.make(BLOCKING, show_progress=show_progress))
        return [record.id for record in records]

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
        ids = [record.id for record in records]
        if records:
            halves = dict(zip(ids, to_halves(unit_vectors(vectors, len(records))), strict=True))
            latest = latest_of(records)

            def write() -> None:
                with self._database.writing() as transaction:
                    self._origin.claim(transaction, halves)
                    transaction.remove(with_ids(ids))
                    add_records(transaction, latest, [halves[each.id] for each in latest])

            self._origin.run_proven(write)
            self.catch_up(len(latest))
        return ids

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
        self.catch_up()
        return True

    def discard_staged(self) -> int:
        """Delete the texts and vectors of interrupted calls, which are kept for a retry; return the number of texts."""
        with self._database.writing() as transaction:
            return transaction.execute("DELETE FROM staged").rowcount

    # Writing, for the retriever

    def delete_documents(self, doc_ids: Sequence[str] | None = None, *, filter: Filter | None = None) -> list[str]:
        """Delete whole documents that a retriever added, in one transaction.

        Args:
            doc_ids: Their names; those that don't exist are ignored. ``None`` for any.
            filter: A filter on the metadata of their sentences; ``None`` for any.

        Returns:
            The names of the documents that were deleted.

        Raises:
            InvalidInputError: There are neither names nor a filter, or the filter matches only a part of a document;
                nothing was deleted.
            FilterError: The filter is invalid.
        """
        if doc_ids is None and filter is None:
            raise InvalidInputError("delete_documents takes doc_ids or a filter; filter={} matches every document")
        conditions = [] if filter is None else [compile_filter(filter)]
        conditions += [] if doc_ids is None else [of_documents(checked_ids(doc_ids))]
        sql = " AND ".join(f"({sql})" for sql, _ in conditions)
        condition = sql, [value for _, values in conditions for value in values]
        with self._database.writing() as transaction:
            names = _whole_documents(transaction, condition)
            transaction.remove(of_documents(names))
        self.catch_up()
        return names

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
        records = await io.in_thread(to_records, documents, None, texts)
        return Replacement(self._database, self._origin, latest_of(records), self.catch_up, remove, forbidden)

    def catch_up(self, rows: int = 0, *, is_part: bool = False) -> None:
        """Bring the caches up to date after a write, so that the next search needn't; the words only after large ones.

        Args:
            rows: The number of rows that were written.
            is_part: Whether other writes follow, so that the caches may wait.
        """
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

    # Searching

    def similarity_search(
        self, query: str, k: int = 4, *, filter: Filter | None = None, **kwargs: Any
    ) -> list[Document]:
        """Find the ``k`` documents most similar to a text; see `similarity_search_with_score`."""
        return _without_scores(self.similarity_search_with_score(query, k, filter=filter, **kwargs))

    def similarity_search_with_score(
        self, query: str, k: int = 4, *, filter: Filter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Find the ``k`` documents most similar to a text, with their cosines, best first.

        Args:
            query: Any text.
            k: The maximum number of documents.
            filter: A filter on their metadata.
            **kwargs: Ignored with a warning; LangChain's signature.

        Raises:
            InvalidInputError: A filter is given by another name, or ``k`` isn't a whole number above 0.
            FilterError: The filter is invalid.
            EmbeddingError: The query's vector is of another length than the store's.
            IndexMismatchError: The store's vectors are from another embedder.
        """
        _check_search(k, filter, kwargs)  # before the query is embedded
        return self.similarity_search_with_score_by_vector(self._embedded(query), k, filter=filter)

    def similarity_search_by_vector(
        self, embedding: list[float] | Vectors, k: int = 4, *, filter: Filter | None = None, **kwargs: Any
    ) -> list[Document]:
        """Find the ``k`` documents most similar to a vector; see `similarity_search_with_score`."""
        return _without_scores(self.similarity_search_with_score_by_vector(embedding, k, filter=filter, **kwargs))

    def similarity_search_with_score_by_vector(
        self, embedding: list[float] | Vectors, k: int = 4, *, filter: Filter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Find the ``k`` documents most similar to a vector, with their cosines, best first."""
        vector, condition = unit_vector(embedding), _check_search(k, filter, kwargs)
        return self.read(lambda state: state.documents(state.nearest(vector, k, condition), filter), words=False)

    def lexical_search(self, query: str, k: int = 4, *, filter: Filter | None = None) -> list[tuple[Document, float]]:
        """Find the ``k`` documents that match a text's words best, with their BM25 scores, best first.

        Words are runs of letters and digits; their case doesn't matter. Documents without any of the words are left
        out, so there may be fewer than ``k``.

        Args:
            query: Any text; it has no special syntax.
            k: The maximum number of documents.
            filter: A filter on their metadata.

        Raises:
            InvalidInputError: ``k`` isn't a whole number above 0.
            FilterError: The filter is invalid.
            StoreError: The lexical index is out of date and can't be written.
        """
        condition = _check_search(k, filter, ())
        if not isinstance(query, str):
            raise InvalidInputError(f"the query is {shown(query)}; search with a string")
        return self.read(lambda state: state.documents(state.matching(query, k, condition), filter))

    def hybrid_search(
        self, query: str, k: int = 4, *, lexical_weight: float = LEXICAL_WEIGHT, filter: Filter | None = None
    ) -> list[tuple[Document, float]]:
        """Find the ``k`` documents that match a text best by meaning and words together.

        Words in neighboring sentences count for a sentence, too.

        Args:
            query: Any text.
            k: The maximum number of documents.
            lexical_weight: The weight of words, 0 or more; 0 for meaning alone. See
                `langchain_sentence_window.ranking.candidates`.
            filter: A filter on their metadata.

        Returns:
            Documents with their cosines, raised or lowered by how well their words match, best first.

        Raises:
            InvalidInputError: ``k`` isn't a whole number above 0, or ``lexical_weight`` isn't a number of 0 or more.
            FilterError: The filter is invalid.
            EmbeddingError: The query's vector is of another length than the store's.
            IndexMismatchError: The store's vectors are from another embedder.
            StoreError: The lexical index is out of date and can't be written.
        """
        weight, condition = checked_weight("lexical_weight", lexical_weight), _check_search(k, filter, ())
        if not weight:
            return self.similarity_search_with_score(query, k, filter=filter)
        vector = self._embedded(query)

        def search(state: IndexState) -> list[tuple[Document, float]]:
            scores = state.score(vector, query, k, weight, state.allowed(condition), spreads=True)
            best = zip(scores.rows[:k].tolist(), scores.fused[:k].tolist(), strict=True)
            return state.documents(list(best), filter)

        return self.read(search)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda cosine: min(max(cosine, 0.0), 1.0)

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Filter | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Find documents that are similar to a text and different from each other.

        Args:
            query: Any text.
            k: The maximum number of documents.
            fetch_k: The number of most similar documents to choose from.
            lambda_mult: From 0 for diversity alone to 1 for similarity alone.
            filter: A filter on their metadata.
            **kwargs: Ignored with a warning; LangChain's signature.

        Raises:
            InvalidInputError: A filter is given by another name, ``k`` or ``fetch_k`` isn't a whole number above 0, or
                ``lambda_mult`` isn't in [0, 1].
            FilterError: The filter is invalid.
        """
        condition, candidate_count = _check_search(k, filter, kwargs), max(k, checked_count("fetch_k", fetch_k))
        if not 0 <= as_number(lambda_mult) <= 1:
            raise InvalidInputError(f"lambda_mult is {shown(lambda_mult)}; it must be between 0 and 1, both included")
        vector = self._embedded(query)

        def search(state: IndexState) -> list[Document]:
            nearest: Pairs = state.nearest(vector, candidate_count, condition)
            candidates: Any = list(state.snapshot.vectors_of(row for row, _ in nearest))
            chosen = maximal_marginal_relevance(vector, candidates, lambda_mult=float(lambda_mult), k=k)
            return _without_scores(state.documents([nearest[at] for at in chosen], filter))

        return self.read(search, words=False)

    # Reading

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Fetch documents, in the order of the ids; ids that don't exist are left out.

        Raises:
            InvalidInputError: The ids aren't a list of strings.
        """
        return self.get_by_ids_within(ids, {})

    def __len__(self) -> int:
        """Return the number of documents in the store; a retriever adds one for each sentence."""
        with self._reading() as snapshot:
            return snapshot.version.sentences

    def __bool__(self) -> bool:
        """Return true, also for an empty store."""
        return True

    # Reading, for the retriever

    def get_by_ids_within(self, ids: Sequence[str], filter: Filter) -> list[Document]:
        """Fetch the documents that match a filter, in the order of the ids.

        Raises:
            InvalidInputError: The ids aren't a list of strings.
            FilterError: The filter is invalid.
        """
        asked = checked_ids(ids)
        (sql, parameters), (holds, values) = with_ids(asked), for_few(compile_filter(filter))
        with self._reading() as snapshot:
            rows = snapshot.execute(f"SELECT row FROM sentences WHERE {sql} AND ({holds})", [*parameters, *values])
            documents = RowReader(snapshot).documents([row for (row,) in rows])
        by_id = {document.id: document for document in documents.values()}
        return [by_id[id_] for id_ in dict.fromkeys(asked) if id_ in by_id]

    def read_sentences(self, keys: Iterable[SentenceKey], filter: Filter | None = None) -> SentencesByKey:
        """Read sentences by document and index; leave out those that don't exist or that the filter forbids."""
        where = condition_of(filter)
        with self._reading() as snapshot:
            return sentences_at(RowReader(snapshot), keys, where)

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
            runs = snapshot.execute(_RUNS_OF_SENTENCES.format(sql), parameters).fetchall()
            sources = read_shared(snapshot, "sources", {each[2] for each in runs})
            sections = read_shared(snapshot, "sections", {each[3] for each in runs})
        return indexed_documents(
            SentenceRun(
                doc_id, count, str(sections[section].get(HEADING, "")), own_metadata(sources[source]), as_time(written)
            )
            for doc_id, count, source, section, written in runs
        )

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
            (count,) = snapshot.execute(_DOCUMENT_COUNT.format(sql), parameters).fetchone()
        return int(count)

    def sample_for(self, embedding: Embeddings) -> list[tuple[str, Vectors]]:
        """Return a few texts and their vectors, by which to check that an embedder made the vectors.

        The texts are long, because a model that truncates its input may give the same vectors for short ones.

        Returns:
            The texts as they were embedded, with unit vectors; nothing if the embedder's name proves it.
        """
        return self._origin.sample_for(embedding)

    def export(self) -> Iterator[tuple[list[Document], Vectors]]:
        """Yield all documents with their vectors as they were embedded, in slices; the reverse of `add_embeddings`.

        Yields:
            Documents and unit vectors of shape ``(n, dimension)``, in the order of source documents and sentences. All
            slices are from the state of the store at the first one.
        """
        with self.at_one_state(copies=True) as store:
            with store._reading() as snapshot:
                rows = snapshot.execute("SELECT row FROM sentences ORDER BY document, sentence_index, row").fetchall()
            for start in range(0, len(rows), DOCUMENT_BATCH_SIZE):
                part = [row for (row,) in rows[start : start + DOCUMENT_BATCH_SIZE]]
                with store._reading() as snapshot:
                    documents, vectors = RowReader(snapshot).documents(part), snapshot.vectors_of(part)
                yield [documents[row] for row in part], vectors

    @contextmanager
    def at_one_state(self, *, copies: bool = False) -> Iterator[Self]:
        """Return a context with the store as it is at the first search or read, regardless of later writes.

        Searches and reads there raise a `StoreChangedError` if the state doesn't exist any more: a store in memory was
        written, or an index caught up with another state. Then start again.

        Args:
            copies: Whether to copy a store in memory, so that writes don't change what is read.
        """
        with self._database.at_one_state(copies=copies) as state:
            store = copy.copy(self)
            store._state = state
            yield store

    async def embed_query(self, io: IO, text: str) -> Vectors:
        """Embed a question; in an event loop, with the embedder's async method.

        Returns:
            Its unit vector, of shape ``(dimension,)``.
        """
        return await self._origin.queries.embed(io, text)

    def _embedded(self, text: str) -> Vectors:
        return run(self.embed_query(BLOCKING, text))

    def read(self, work: Callable[[IndexState], T], *, words: bool = True) -> T:
        """Run a function on one state of the store, regardless of concurrent writes.

        Args:
            work: The function. It may be called again from its beginning, so it must only return its result. It must
                not write to the store.
            words: Whether it searches words.

        Raises:
            StoreChangedError: The state of `at_one_state` doesn't exist any more.
            IndexMismatchError: The store's vectors are from another embedder.
            StoreError: SQLite can't read, the lexical index can't be written, or others write so often that no state
                lasts as long as a read.
        """
        for attempt in range(_MAX_ATTEMPTS):
            try:
                with self._reading_for_search(words=words, alone=attempt >= _ATTEMPTS_AMONG_WRITERS) as snapshot:
                    parts = self._vectors, self._words, self._origin, self._caches, RowReader(snapshot)
                    return work(IndexState(snapshot, *parts))
            except UnprovenError:
                run(self._origin.prove(BLOCKING))
            except OutdatedError:
                if attempt == _MAX_ATTEMPTS - 1 or (attempt and self._state is not None and self._state.is_fixed):
                    raise
                if words:
                    self._words.catch_up()
        raise StoreChangedError(f"{self._database.name} changes too often to be searched in one state; search again")

    def _reading(self) -> AbstractContextManager[Snapshot]:
        return (self._database if self._state is None else self._state).reading()

    @contextmanager
    def _reading_for_search(self, *, words: bool, alone: bool) -> Iterator[Snapshot]:
        """Read a state in the block, to which the caches are brought; alone if others write faster than it can read."""
        if not alone:
            with self._reading() as snapshot:
                yield snapshot
            return
        with ExitStack() as stack:
            stack.enter_context(self._database.running("can't be searched"))  # before locks, for which others wait
            if self._state is not None:
                stack.enter_context(self._state.turn)
            if self._database.folder is None:
                stack.enter_context(self._database.turn)
                if words:
                    self._words.catch_up()
                yield stack.enter_context(self._reading())
                return
            locks_out_writers = words and not self._database.read_only
            source = self._database.writing() if locks_out_writers else self._database.reading()
            stack.enter_context(self._vectors.lock)
            snapshot = stack.enter_context(source)
            self._vectors.drop_if_ahead(snapshot)
            if words:
                self._words.advance(snapshot)
            yield snapshot if self._state is None else stack.enter_context(self._state.reading())

    # The files

    @property
    def folder(self) -> Path | None:
        """The folder of the store, as an absolute path; ``None`` for a store in memory."""
        return self._database.folder

    def stats(self) -> StoreStats:
        """Count the contents of the store and measure its size; see `StoreStats`."""
        with self._reading() as snapshot:
            in_use, to_come, tombstones = self._vectors.describe(snapshot)
            documents, staged = snapshot.execute(
                "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM staged)"
            ).fetchone()
            return StoreStats(
                documents=documents,
                sentences=snapshot.version.sentences,
                bytes=bytes_by_part(self.folder),
                index=self._index,
                index_in_use=in_use,
                index_to_come=to_come,
                neighbor_weights=self._weights,
                tombstones=tombstones,
                generation=snapshot.version.generation,
                staged_texts=staged,
            )

    def check(self) -> CheckResult:
        """Read everything in the store, and list what is wrong.

        Each row of the database is compared with its checksum, and the sentences of each document with each other and
        with the places in their metadata; ids and the times of writing have no checksums. A saved FAISS index or
        lexical index that is damaged is noted, and is no problem: the next search builds it again. Nothing is changed
        or embedded.
        """
        return check_database(self._database) if self.folder is None else check_folder(self.folder)

    def save(self) -> None:
        """Write the FAISS index and the lexical index next to the database, so that the next opening is fast.

        Documents need no saving: they are in the database when the call that adds them returns.

        Raises:
            StoreError: The store is in memory, or was opened for reading only, or the folder can't be written.
        """
        if self.folder is None:
            raise StoreError("the store is in memory only; give backup() a path to write it to")
        self._database.check_writable()
        with self._vectors.lock, self._database.reading() as snapshot:
            self._vectors.drop_if_ahead(snapshot)
            self._vectors.at(snapshot)
        self._vectors.wait()  # for a change that is due, so that the next opening needn't make it
        self._vectors.save()
        self._words.catch_up()

    def backup(self, path: str | PathLike[str]) -> None:
        """Copy the current state of the store into a folder, while others read and write.

        The copy appears only when it is complete. Its FAISS index and lexical index are built at its first search.

        Args:
            path: A folder that holds no index yet.

        Raises:
            StoreError: The folder holds an index already, or can't be written.
        """
        copy_database(self._database, as_folder(path))

    @staticmethod
    def restore(backup: str | PathLike[str], path: str | PathLike[str]) -> None:
        """Replace an index, even a damaged one, with a backup.

        The backup is checked row by row before anything is changed. It replaces the index in one transaction, so that
        the old index is unchanged if the call fails or the process is killed, and stores that are open at the path see
        the new one. Only files that aren't a database are removed first.

        Args:
            backup: A folder that `backup` made, or that of any closed index.
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

    def __repr__(self) -> str:
        """Show the path, the contents and the settings that aren't the default; never raises."""
        name, database = type(self).__name__, self.__dict__.get("_database")
        if database is None:  # its construction failed
            return f"<{name}: not opened>"
        try:
            stats = self.stats()
            parts = [f"documents={stats.documents}", f"sentences={stats.sentences}", f"index={stats.index_in_use!r}"]
            parts.append(f"embedding={type(self._embedding).__name__}")
            if self._weights != NEIGHBOR_WEIGHTS:
                parts.append(f"neighbor_weights={self._weights}")
            if database.read_only:
                parts.append("read_only=True")
        except Exception:  # noqa: BLE001 - a debugger prints stores in any state
            parts = ["closed" if database.calls.is_closed else "can't be read"]
        return summary_repr(name, database.folder, parts)

    def _reopened(self) -> str:
        path, name = self.folder, type(self).__name__
        if path is None:
            return f"copy it into a folder first, with backup(path), then {name}.open(path, embedding)"
        return f"{name}.open({str(path)!r}, embedding)"


_RUNS_OF_SENTENCES = """
    SELECT doc_id, sentences, source_key, (SELECT section_key FROM sentences WHERE sentences.row = runs.first), written
    FROM (SELECT source_key, count(*) AS sentences, min(row) AS first FROM sentences
        WHERE source_key IS NOT NULL AND ({}) GROUP BY source_key) AS runs
    JOIN sources USING (source_key) JOIN documents USING (document) ORDER BY first
"""
_DOCUMENT_COUNT = """
    SELECT count(DISTINCT document) FROM sources
    WHERE source_key IN (SELECT source_key FROM sentences WHERE source_key IS NOT NULL AND ({}))
"""


def _whole_documents(snapshot: Snapshot, condition: Condition) -> list[str]:
    """Return the names of the documents whose sentences match a condition.

    Raises:
        InvalidInputError: It matches only a part of a document.
    """
    sql, parameters = snapshot.simplest(condition)
    counts = snapshot.execute(
        "SELECT doc_id, matching, (SELECT count(*) FROM sentences WHERE sentences.document = matches.document) "
        f"FROM (SELECT document, count(*) AS matching FROM sentences WHERE {sql} GROUP BY document) AS matches "
        "JOIN documents USING (document)",
        parameters,
    ).fetchall()
    partly = next((doc_id for doc_id, matching, every in counts if matching < every), None)
    if partly is not None:
        raise InvalidInputError(
            f"the filter lets through only a part of document {partly!r:.80}; give one that matches all of it, or "
            "delete it by its id with a retriever that has no filter. Nothing was deleted."
        )
    return [doc_id for doc_id, _, _ in counts]


def _check_search(k: object, filter: Filter | None, others: Collection[str]) -> Condition | None:
    """Check the arguments of a search, and compile its filter; warn of arguments that no search takes.

    Raises:
        InvalidInputError: A filter is given by another name, as it would not be applied, or ``k`` isn't a whole number
            above 0.
        FilterError: The filter is invalid.
    """
    for name in others:
        if "filter" in name.lower():
            raise InvalidInputError(f"a search of FaissStore takes no {shown(name)}; give the filter as filter=...")
    if others:
        message = f"a search of FaissStore takes no {listed(list(others))}, so it is ignored; leave it out"
        warnings.warn(message, SentenceWindowWarning, stacklevel=4)
    checked_count("k", k)
    return condition_of(filter)


def _without_scores(found: Sequence[tuple[Document, float]]) -> list[Document]:
    return [document for document, _ in found]
