"""The searches of `FaissStore`: by text, by vector, by words, for variety, and for the retriever; each in one state."""

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Self, TypeVar

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, OpenFiles, run, with_arguments_of
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window._validation import (
    as_number,
    checked_callback,
    checked_count,
    checked_flag,
    checked_weight,
)
from langchain_sentence_window.embedding.embedder import unit_vector
from langchain_sentence_window.errors import InvalidInputError, StoreChangedError
from langchain_sentence_window.ranking.candidates import LEXICAL_WEIGHT
from langchain_sentence_window.ranking.names import Evidence, QueryWords

from .database import Database, OneState, OutdatedError
from .filters import Filter
from .origin import TEXTS_TO_READ, Origin, UnprovenError
from .reading import Pairs, Rank
from .state import IndexState, Kept, checked_effort, condition_of
from .tables import Snapshot
from .vectors import VectorCache
from .words import WordCache

T = TypeVar("T")

_MAX_ATTEMPTS = 100
_ATTEMPTS_TOGETHER = 3
"""Attempts at a read beside others' writes, before it keeps them out."""


class StoreSearches(OpenFiles, VectorStore):
    """The searches of an open store, as LangChain asks for them and as a retriever does."""

    _embedding: Embeddings
    _database: Database
    _vectors: VectorCache
    _words: WordCache
    _origin: Origin
    _kept: Kept
    _effort: float
    _state: OneState | None

    @property
    def embeddings(self) -> Embeddings:
        """The embedder of texts and queries."""
        return self._embedding

    def similarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        *,
        filter: Filter | None = None,
        search_effort: float | None = None,
        **kwargs: Any,
    ) -> list[tuple[Document, float]]:
        """Find the ``k`` documents most similar to a text, with their cosines, best first.

        Args:
            query: Any text.
            k: The maximum number of documents.
            filter: A filter on their metadata.
            search_effort: How many times as much to look at as usual, for this search; see the class.
            **kwargs: Ignored; LangChain's signature.

        Raises:
            InvalidInputError: ``k`` isn't a whole number above 0, or ``search_effort`` isn't a number above 0.
            FilterError: The filter is invalid.
            EmbeddingError: The query's vector is of another length than the store's.
            IndexMismatchError: The store's vectors are from another embedder.
        """
        vector = self._embedded(query)
        return self.similarity_search_with_score_by_vector(vector, k, filter=filter, search_effort=search_effort)

    @with_arguments_of(similarity_search_with_score)
    def similarity_search(self, *given: Any, **settings: Any) -> list[Document]:
        """Find the ``k`` documents most similar to a text; see `similarity_search_with_score`."""
        return _without_scores(self.similarity_search_with_score(*given, **settings))

    @with_arguments_of(similarity_search_with_score)
    async def asimilarity_search(self, *given: Any, **settings: Any) -> list[Document]:
        """Async version of `similarity_search`."""
        return _without_scores(await self.asimilarity_search_with_score(*given, **settings))

    @with_arguments_of(similarity_search_with_score)
    async def asimilarity_search_with_score(
        self, query: str, *given: Any, **settings: Any
    ) -> list[tuple[Document, float]]:
        """Async version of `similarity_search_with_score`."""
        vector = await self.embed_query(ASYNC, query)
        return await self.asimilarity_search_with_score_by_vector(vector, *given, **settings)

    def similarity_search_with_score_by_vector(
        self,
        embedding: list[float] | Vectors,
        k: int = 4,
        *,
        filter: Filter | None = None,
        search_effort: float | None = None,
        **kwargs: Any,
    ) -> list[tuple[Document, float]]:
        """Find the ``k`` documents most similar to a vector, with their cosines, best first."""
        checked_count("k", k)
        effort, vector, condition = self._of_call(search_effort), unit_vector(embedding), condition_of(filter)
        return self.read(
            lambda state: state.documents(state.nearest(vector, k, condition, effort), filter), words=False
        )

    @with_arguments_of(similarity_search_with_score_by_vector)
    def similarity_search_by_vector(self, *given: Any, **settings: Any) -> list[Document]:
        """Find the ``k`` documents most similar to a vector; see `similarity_search_with_score`."""
        return _without_scores(self.similarity_search_with_score_by_vector(*given, **settings))

    @with_arguments_of(similarity_search_with_score_by_vector)
    async def asimilarity_search_with_score_by_vector(
        self, *given: Any, **settings: Any
    ) -> list[tuple[Document, float]]:
        """Async version of `similarity_search_with_score_by_vector`."""
        return await run_in_executor(None, self.similarity_search_with_score_by_vector, *given, **settings)

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
        checked_count("k", k)
        if not isinstance(query, str):
            raise InvalidInputError(f"the query is {shown(query)}; search with a string")
        condition = condition_of(filter)
        return self.read(lambda state: state.documents(state.matching(query, k, condition), filter))

    @with_arguments_of(lexical_search)
    async def alexical_search(self, *given: Any, **settings: Any) -> list[tuple[Document, float]]:
        """Async version of `lexical_search`."""
        return await run_in_executor(None, self.lexical_search, *given, **settings)

    def hybrid_search(
        self,
        query: str,
        k: int = 4,
        *,
        lexical_weight: float = LEXICAL_WEIGHT,
        filter: Filter | None = None,
        rank: Rank | None = None,
        spreads: bool | None = None,
        search_effort: float | None = None,
    ) -> list[tuple[Document, float]]:
        """Find the ``k`` documents that match a text best by meaning and words together.

        Args:
            query: Any text.
            k: The maximum number of documents.
            lexical_weight: The weight of words, 0 or more; 0 for meaning alone. See
                `langchain_sentence_window.ranking.candidates`.
            filter: A filter on their metadata.
            rank: Ranks the best candidates anew, 200 or ``k`` if that is more: it takes
                `langchain_sentence_window.ranking.candidates.Candidates`, and returns a score for each. It must not
                write to the store.
            spreads: Whether words in the sentences beside it count for a sentence, too. ``None`` if there is no
                ``rank``, which can look at them itself.
            search_effort: How many times as much to look at as usual when vectors are searched; see the class.

        Returns:
            Documents with their cosines, raised or lowered by how well their words match, best first; with ``rank``,
            with its scores.

        Raises:
            InvalidInputError: ``k`` isn't a whole number above 0, ``lexical_weight`` isn't a number of 0 or more,
                ``search_effort`` isn't a number above 0, or ``rank`` can't be called with candidates or doesn't return
                a finite number for each.
            FilterError: The filter is invalid.
            EmbeddingError: The query's vector is of another length than the store's.
            IndexMismatchError: The store's vectors are from another embedder.
            StoreError: The lexical index is out of date and can't be written.
        """
        given: dict[str, Any] = {"filter": filter, "rank": rank, "spreads": spreads, "search_effort": search_effort}
        search = self._hybrid(query, k, lexical_weight=lexical_weight, **given)
        return search(self._embedded(query))

    @with_arguments_of(hybrid_search)
    async def ahybrid_search(self, query: str, *given: Any, **settings: Any) -> list[tuple[Document, float]]:
        """Async version of `hybrid_search`; ``rank`` is called in a thread."""
        search = self._hybrid(query, *given, **settings)
        return await run_in_executor(None, search, await self.embed_query(ASYNC, query))

    def _hybrid(
        self,
        query: str,
        k: int = 4,
        *,
        lexical_weight: float = LEXICAL_WEIGHT,
        filter: Filter | None = None,
        rank: Rank | None = None,
        spreads: bool | None = None,
        search_effort: float | None = None,
    ) -> Callable[[Vectors], list[tuple[Document, float]]]:
        """Check what a hybrid search is given, and return what searches with the vector of the query."""
        weight = checked_weight("lexical_weight", lexical_weight)
        if rank is not None:
            checked_callback("rank", rank, "candidates")
        spreading = rank is None if spreads is None else checked_flag("spreads", spreads)
        effort = self._of_call(search_effort)
        if not weight and rank is None:
            by_vector = self.similarity_search_with_score_by_vector
            return lambda vector: by_vector(vector, k, filter=filter, search_effort=effort)
        checked_count("k", k)
        condition_of(filter)  # refuses an invalid one before the query is embedded
        settings: dict[str, Any] = {
            "lexical_weight": weight,
            "filter": filter,
            "spreads": spreading,
            "search_effort": effort,
        }

        def work(state: IndexState, vector: Vectors) -> list[tuple[Document, float]]:
            return state.documents(state.ranked(rank, vector, query, k, **settings))

        return lambda vector: self.read(partial(work, vector=vector), words=bool(weight))

    def name_evidence(self, words: QueryWords, keys: Sequence[str] = (), *, filter: Filter | None = None) -> Evidence:
        """Collect what tells which documents a query names; see `langchain_sentence_window.ranking.names`.

        Args:
            words: The words of the query.
            keys: Keys of metadata that hold names, beside the title, the file name and its folder.
            filter: A filter on the metadata; of what it forbids, nothing is told.

        Raises:
            FilterError: The filter is invalid.
            StoreError: The lexical index is out of date and can't be written.
        """
        return self.read(lambda state: state.name_evidence(words, keys, filter=filter))

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
        search_effort: float | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Find documents that are similar to a text and different from each other.

        Args:
            query: Any text.
            k: The maximum number of documents.
            fetch_k: The number of most similar documents to choose from.
            lambda_mult: From 0 for diversity alone to 1 for similarity alone.
            filter: A filter on their metadata.
            search_effort: How many times as much to look at as usual; see the class.
            **kwargs: Ignored; LangChain's signature.

        Raises:
            InvalidInputError: ``k`` or ``fetch_k`` isn't a whole number above 0, ``lambda_mult`` isn't in [0, 1], or
                ``search_effort`` isn't a number above 0.
            FilterError: The filter is invalid.
        """
        vector = self._embedded(query)
        return self.max_marginal_relevance_search_by_vector(
            vector, k, fetch_k, lambda_mult, filter=filter, search_effort=search_effort
        )

    @with_arguments_of(max_marginal_relevance_search)
    async def amax_marginal_relevance_search(self, query: str, *given: Any, **settings: Any) -> list[Document]:
        """Async version of `max_marginal_relevance_search`."""
        vector: Any = await self.embed_query(ASYNC, query)
        return await self.amax_marginal_relevance_search_by_vector(vector, *given, **settings)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float] | Vectors,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Filter | None = None,
        search_effort: float | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Find documents that are similar to a vector and different from each other.

        See `max_marginal_relevance_search`.
        """
        checked_count("k", k)
        if not 0 <= as_number(lambda_mult) <= 1:
            raise InvalidInputError(f"lambda_mult is {shown(lambda_mult)}; it must be between 0 and 1, both included")
        vector, condition = unit_vector(embedding), condition_of(filter)
        candidate_count = max(k, checked_count("fetch_k", fetch_k))
        effort = self._of_call(search_effort)

        def work(state: IndexState) -> list[Document]:
            nearest: Pairs = state.nearest(vector, candidate_count, condition, effort)
            candidates: list[Any] = state.vectors_of(nearest)
            chosen = maximal_marginal_relevance(vector, candidates, lambda_mult=float(lambda_mult), k=k)
            return [document for document, _ in state.documents([nearest[at] for at in chosen], filter)]

        return self.read(work, words=False)

    # For the retriever

    @contextmanager
    def at_one_state(self, *, copies: bool = False) -> Iterator[Self]:
        """Return a context with the store as it is at the first search or read, whatever is written meanwhile.

        What searches and fetches there raises a `StoreChangedError` if the state doesn't exist any more: a store in
        memory was written, or an index caught up with another state. Then begin anew.

        Args:
            copies: Whether to copy a store in memory, so that writes don't change what is read.
        """
        with self._database.at_one_state(copies=copies) as state:
            store = copy.copy(self)
            store._state = state
            given = dict(store.__dict__)
            try:
                yield store
            finally:  # what a subclass notes of itself is the store's
                noted = store.__dict__.items()
                self.__dict__.update({name: each for name, each in noted if given.get(name, given) is not each})

    async def embed_query(self, io: IO, text: str) -> Vectors:
        """Embed a question; in an event loop as the embedder does there.

        Returns:
            Its unit vector, of shape ``(dimension,)``.
        """
        self._origin.refresh()
        return await self._origin.queries.ask(io, text)

    def _embedded(self, text: str) -> Vectors:
        return run(self.embed_query(BLOCKING, text))

    def _of_call(self, effort: float | None) -> float:
        return self._effort if effort is None else checked_effort(effort)

    def read(self, work: Callable[[IndexState], T], *, words: bool = True) -> T:
        """Run a function of one state of the store, whatever is written meanwhile.

        Args:
            work: The function. It may be called again from its beginning, so it only returns its result. It must not
                write to the store.
            words: Whether it searches words, or collects evidence of names.

        Raises:
            StoreChangedError: The state of `at_one_state` doesn't exist any more.
            IndexMismatchError: The store's vectors are from another embedder.
            StoreError: SQLite can't read, the lexical index can't be written, or others write so often that no state
                lasts as long as a read.
        """
        for attempt in range(_MAX_ATTEMPTS):
            try:
                with self._reading_for_search(words=words, alone=attempt >= _ATTEMPTS_TOGETHER) as snapshot:
                    parts = self._vectors, self._words, self._origin, self._kept
                    return work(IndexState(snapshot, *parts, self._effort))
            except UnprovenError:
                run(self._origin.prove(BLOCKING, TEXTS_TO_READ))
            except OutdatedError:
                if attempt == _MAX_ATTEMPTS - 1 or (attempt and self._state is not None and self._state.is_fixed):
                    raise
                if words:
                    self._words.catch_up()
        raise StoreChangedError(f"{self._database.name} changes too often to be searched in one state; search again")

    @contextmanager
    def _reading(self) -> Iterator[Snapshot]:
        source = self._database if self._state is None else self._state
        with source.reading() as snapshot:
            yield snapshot

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
            is_writable = not self._database.read_only
            source = self._database.writing() if words and is_writable else self._database.reading()
            stack.enter_context(self._vectors.lock)
            snapshot = stack.enter_context(source)
            self._vectors.drop_if_ahead(snapshot)
            if words:
                self._words.advance(snapshot)
            yield snapshot if self._state is None else stack.enter_context(self._state.reading())


def _without_scores(found: Sequence[tuple[Document, float]]) -> list[Document]:
    return [document for document, _ in found]
