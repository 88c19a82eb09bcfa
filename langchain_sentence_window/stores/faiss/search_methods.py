"""The methods of `FaissStore` that search: by text, by vector, by words."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.documents import Document
from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window._showing import shown
from langchain_sentence_window._types import Vectors
from langchain_sentence_window._validation import checked_count
from langchain_sentence_window.embedding.embedder import unit_vector
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.fusion import LEXICAL_WEIGHT
from langchain_sentence_window.ranking.names import Evidence, QueryWords
from langchain_sentence_window.stores.faiss.candidates import Rank
from langchain_sentence_window.stores.faiss.conversion import to_documents
from langchain_sentence_window.stores.faiss.database.filters import Filter, filter_keys
from langchain_sentence_window.stores.faiss.database.schema import Record
from langchain_sentence_window.stores.faiss.embedder_guard import EmbedderGuard
from langchain_sentence_window.stores.faiss.engine import StoreEngine
from langchain_sentence_window.stores.faiss.search_arguments import (
    check_hybrid,
    checked_effort,
    condition_of,
    unknown_keys,
)
from langchain_sentence_window.stores.faiss.searcher import HybridQuery


class SearchMethods(VectorStore):
    """The methods of a `VectorStore` that search."""

    _engine: StoreEngine
    _guard: EmbedderGuard
    _search_effort: float

    def similarity_search(
        self,
        query: str,
        k: int = 4,
        *,
        filter: Filter | None = None,
        search_effort: float | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Find the ``k`` documents most similar to a text; see `similarity_search_with_score`."""
        return _without_scores(self.similarity_search_with_score(query, k, filter=filter, search_effort=search_effort))

    async def asimilarity_search(
        self,
        query: str,
        k: int = 4,
        *,
        filter: Filter | None = None,
        search_effort: float | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Async version of `similarity_search`."""
        return _without_scores(
            await self.asimilarity_search_with_score(query, k, filter=filter, search_effort=search_effort)
        )

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
        vector = self._guard.queries.embed(query)
        return self.similarity_search_with_score_by_vector(vector, k, filter=filter, search_effort=search_effort)

    async def asimilarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        *,
        filter: Filter | None = None,
        search_effort: float | None = None,
        **kwargs: Any,
    ) -> list[tuple[Document, float]]:
        """Async version of `similarity_search_with_score`."""
        vector = await self._guard.queries.aembed(query)
        return await self.asimilarity_search_with_score_by_vector(vector, k, filter=filter, search_effort=search_effort)

    def similarity_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        *,
        filter: Filter | None = None,
        search_effort: float | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Find the ``k`` documents most similar to a vector; see `similarity_search_with_score`."""
        return _without_scores(
            self.similarity_search_with_score_by_vector(embedding, k, filter=filter, search_effort=search_effort)
        )

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
        effort = self._effort(search_effort)
        vector, condition = unit_vector(embedding), condition_of(filter)
        found = self._guard.run_proven(lambda: self._engine.search(vector, k, condition, effort))
        self._check_found(found, filter)
        return _scored(found)

    async def asimilarity_search_with_score_by_vector(
        self,
        embedding: list[float] | Vectors,
        k: int = 4,
        *,
        filter: Filter | None = None,
        search_effort: float | None = None,
        **kwargs: Any,
    ) -> list[tuple[Document, float]]:
        """Async version of `similarity_search_with_score_by_vector`."""
        search = self.similarity_search_with_score_by_vector
        return await run_in_executor(None, search, embedding, k, filter=filter, search_effort=search_effort)

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
        found = self._engine.lexical_search(query, k, condition_of(filter))
        self._check_found(found, filter)
        return _scored(found)

    async def alexical_search(
        self, query: str, k: int = 4, *, filter: Filter | None = None
    ) -> list[tuple[Document, float]]:
        """Async version of `lexical_search`."""
        return await run_in_executor(None, self.lexical_search, query, k, filter=filter)

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
                `langchain_sentence_window.ranking.fusion`.
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
        spreading = check_hybrid(lexical_weight, rank, spreads)
        effort = self._effort(search_effort)
        vector = self._guard.queries.embed(query)
        return self._hybrid_search(HybridQuery(vector, query, k, lexical_weight, None, rank, spreading, effort), filter)

    async def ahybrid_search(
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
        """Async version of `hybrid_search`; ``rank`` is called in a thread."""
        spreading = check_hybrid(lexical_weight, rank, spreads)
        effort = self._effort(search_effort)
        vector = await self._guard.queries.aembed(query)
        asked = HybridQuery(vector, query, k, lexical_weight, None, rank, spreading, effort)
        return await run_in_executor(None, self._hybrid_search, asked, filter)

    def _hybrid_search(self, asked: HybridQuery, filter: Filter | None) -> list[tuple[Document, float]]:
        if not asked.weight and asked.rank is None:
            return self.similarity_search_with_score_by_vector(
                asked.vector, asked.k, filter=filter, search_effort=asked.effort
            )
        checked_count("k", asked.k)
        query = replace(asked, where=condition_of(filter))
        found = self._guard.run_proven(lambda: self._engine.hybrid_search(query))
        self._check_found(found, filter)
        return _scored(found)

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
        return self._engine.name_evidence(words, keys, condition_of(filter))

    def _effort(self, of_call: float | None) -> float:
        return self._search_effort if of_call is None else checked_effort(of_call)

    def _check_found(self, found: Sequence[object], filter: Filter | None) -> None:
        """Warn if nothing was found because no document has the filter's keys."""
        if found or not filter:
            return
        unknown = self._engine.unknown_keys(filter_keys(filter))
        if unknown:
            warnings.warn(unknown_keys(unknown), stacklevel=3)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda cosine: min(max(cosine, 0.0), 1.0)


def _scored(found: Sequence[tuple[Record, float]]) -> list[tuple[Document, float]]:
    documents = to_documents([record for record, _ in found])
    return list(zip(documents, [score for _, score in found], strict=True))


def _without_scores(found: Sequence[tuple[Document, float]]) -> list[Document]:
    return [document for document, _ in found]
