"""The searches of `FaissStore`: by text, by vector, by words, for relevance or for variety."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from langchain_core.documents import Document
from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from langchain_sentence_window._showing import shown
from langchain_sentence_window._types import Vectors
from langchain_sentence_window._validation import as_number, checked_count, checked_weight, listed
from langchain_sentence_window.documents.keys import CONTRACT_KEYS, RENAMED
from langchain_sentence_window.embedding.embedder import QueryEmbedder, unit_vector
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning
from langchain_sentence_window.ranking.fusion import LEXICAL_WEIGHT
from langchain_sentence_window.stores.faiss.conversion import to_documents
from langchain_sentence_window.stores.faiss.database.filters import Condition, Filter, compile_filter, filter_keys
from langchain_sentence_window.stores.faiss.database.schema import Record
from langchain_sentence_window.stores.faiss.engine import StoreEngine

T = TypeVar("T")


class SearchMethods(VectorStore):
    """What of a `VectorStore` only reads."""

    _queries: QueryEmbedder
    _index: StoreEngine

    def similarity_search(
        self, query: str, k: int = 4, *, filter: Filter | None = None, **kwargs: Any
    ) -> list[Document]:
        """Find the ``k`` documents nearest to a text; see `similarity_search_with_score`."""
        return _without_scores(self.similarity_search_with_score(query, k, filter=filter))

    async def asimilarity_search(
        self, query: str, k: int = 4, *, filter: Filter | None = None, **kwargs: Any
    ) -> list[Document]:
        """Do what `similarity_search` does, with the embedder's own async method."""
        return _without_scores(await self.asimilarity_search_with_score(query, k, filter=filter))

    def similarity_search_with_score(
        self, query: str, k: int = 4, *, filter: Filter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Find the ``k`` documents nearest to a text, with their cosines, best first.

        Args:
            query: Any text.
            k: How many documents to find at most.
            filter: What their metadata must be.
            **kwargs: Not used; LangChain's signature.

        Raises:
            InvalidInputError: ``k`` isn't a number above 0.
            FilterError: The filter can't be read.
            EmbeddingError: The query's vector is of another size than the store's.
            IndexMismatchError: The store's vectors are another embedder's.
        """
        return self.similarity_search_with_score_by_vector(self._queries.embed(query), k, filter=filter)

    async def asimilarity_search_with_score(
        self, query: str, k: int = 4, *, filter: Filter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Do what `similarity_search_with_score` does, with the embedder's own async method."""
        vector = await self._queries.aembed(query)
        return await self.asimilarity_search_with_score_by_vector(vector, k, filter=filter)

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, *, filter: Filter | None = None, **kwargs: Any
    ) -> list[Document]:
        """Find the ``k`` documents nearest to a vector; see `similarity_search_with_score`."""
        return _without_scores(self.similarity_search_with_score_by_vector(embedding, k, filter=filter))

    def similarity_search_with_score_by_vector(
        self, embedding: list[float] | Vectors, k: int = 4, *, filter: Filter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Find the ``k`` documents nearest to a vector, with their cosines, best first."""
        checked_count("k", k)
        vector, condition = unit_vector(embedding), _condition(filter)
        found = self._proven(lambda: self._index.search(vector, k, condition))
        self._check_found(found, filter)
        return _scored(found)

    async def asimilarity_search_with_score_by_vector(
        self, embedding: list[float] | Vectors, k: int = 4, *, filter: Filter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Do what `similarity_search_with_score_by_vector` does without blocking the event loop."""
        return await run_in_executor(None, self.similarity_search_with_score_by_vector, embedding, k, filter=filter)

    def lexical_search(self, query: str, k: int = 4, *, filter: Filter | None = None) -> list[tuple[Document, float]]:
        """Find the ``k`` documents that match a text's words best, with their BM25 scores, best first.

        A document needs one of the words; words are runs of letters and digits, whatever their case.
        Documents without any are left out, so there may be fewer than ``k``.

        Args:
            query: Any text; it has no syntax.
            k: How many documents to find at most.
            filter: What their metadata must be.

        Raises:
            InvalidInputError: ``k`` isn't a number above 0.
            FilterError: The filter can't be read.
            StoreError: The lexical index is behind and can't be written.
        """
        checked_count("k", k)
        if not isinstance(query, str):
            raise InvalidInputError(f"the query is {shown(query)}; search with a string")
        found = self._index.lexical_search(query, k, _condition(filter))
        self._check_found(found, filter)
        return _scored(found)

    async def alexical_search(
        self, query: str, k: int = 4, *, filter: Filter | None = None
    ) -> list[tuple[Document, float]]:
        """Do what `lexical_search` does without blocking the event loop."""
        return await run_in_executor(None, self.lexical_search, query, k, filter=filter)

    def hybrid_search(
        self, query: str, k: int = 4, *, lexical_weight: float = LEXICAL_WEIGHT, filter: Filter | None = None
    ) -> list[tuple[Document, float]]:
        """Find the ``k`` documents that match a text best by meaning and words together.

        Args:
            query: Any text.
            k: How many documents to find at most.
            lexical_weight: How much words count, see `langchain_sentence_window.ranking.fusion`; 0 for not at all.
            filter: What their metadata must be.

        Returns:
            Documents with their cosines, raised or lowered by how well their words match, best first.

        Raises:
            InvalidInputError: ``k`` isn't a number above 0, or ``lexical_weight`` is below 0.
            FilterError: The filter can't be read.
            EmbeddingError: The query's vector is of another size than the store's.
            IndexMismatchError: The store's vectors are another embedder's.
            StoreError: The lexical index is behind and can't be written.
        """
        checked_weight("lexical_weight", lexical_weight)
        vector = self._queries.embed(query)
        return self._hybrid_search(query, vector, k, lexical_weight, filter)

    async def ahybrid_search(
        self, query: str, k: int = 4, *, lexical_weight: float = LEXICAL_WEIGHT, filter: Filter | None = None
    ) -> list[tuple[Document, float]]:
        """Do what `hybrid_search` does, with the embedder's own async method."""
        checked_weight("lexical_weight", lexical_weight)
        vector = await self._queries.aembed(query)
        return await run_in_executor(None, self._hybrid_search, query, vector, k, lexical_weight, filter)

    def _hybrid_search(
        self, query: str, vector: Vectors, k: int, lexical_weight: float, filter: Filter | None
    ) -> list[tuple[Document, float]]:
        if not lexical_weight:
            return self.similarity_search_with_score_by_vector(vector, k, filter=filter)
        checked_count("k", k)
        condition = _condition(filter)
        found = self._proven(lambda: self._index.hybrid_search(vector, query, k, lexical_weight, condition))
        self._check_found(found, filter)
        return _scored(found)

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
        """Find documents that are near to a text and unlike each other.

        Args:
            query: Any text.
            k: How many documents to return at most.
            fetch_k: How many of the nearest to choose them from.
            lambda_mult: 1 for nearness alone, 0 for unlikeness alone.
            filter: What their metadata must be.
            **kwargs: Not used; LangChain's signature.

        Raises:
            InvalidInputError: ``k`` or ``fetch_k`` isn't a number above 0, or ``lambda_mult`` not in [0, 1].
            FilterError: The filter can't be read.
        """
        vector = self._queries.embed(query)
        return self.max_marginal_relevance_search_by_vector(vector, k, fetch_k, lambda_mult, filter=filter)

    async def amax_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Filter | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Do what `max_marginal_relevance_search` does, with the embedder's own async method."""
        vector = await self._queries.aembed(query)
        return await self.amax_marginal_relevance_search_by_vector(vector, k, fetch_k, lambda_mult, filter=filter)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float] | Vectors,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Filter | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Find documents that are near to a vector and unlike each other; see `max_marginal_relevance_search`."""
        checked_count("k", k)
        if not 0 <= as_number(lambda_mult) <= 1:
            raise InvalidInputError(f"lambda_mult is {shown(lambda_mult)}; it must be between 0 and 1, both included")
        vector, condition = unit_vector(embedding), _condition(filter)
        most = max(k, checked_count("fetch_k", fetch_k))
        found = self._proven(lambda: self._index.search_with_vectors(vector, most, condition))
        self._check_found(found, filter)
        candidates: list[Any] = [candidate for _, candidate in found]
        chosen = maximal_marginal_relevance(vector, candidates, lambda_mult=float(lambda_mult), k=k)
        return to_documents([found[i][0] for i in chosen])

    async def amax_marginal_relevance_search_by_vector(
        self,
        embedding: list[float] | Vectors,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Filter | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Do what `max_marginal_relevance_search_by_vector` does without blocking the event loop."""
        search = self.max_marginal_relevance_search_by_vector
        return await run_in_executor(None, search, embedding, k, fetch_k, lambda_mult, filter=filter)

    @abstractmethod
    def _proven(self, work: Callable[[], T]) -> T:
        """Do something, after the embedder's vectors were compared if need be."""

    def _check_found(self, found: Sequence[object], filter: Filter | None) -> None:
        """Warn of a filter that finds nothing, as no document has its keys."""
        if found or not filter:
            return
        unknown = self._index.unknown_keys(filter_keys(filter))
        if unknown:
            warnings.warn(unknown_keys(unknown), stacklevel=3)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda cosine: min(max(cosine, 0.0), 1.0)


def unknown_keys(keys: Sequence[str]) -> SentenceWindowWarning:
    """Say that a filter finds nothing, as no document has some of its keys."""
    return SentenceWindowWarning(
        f"nothing was found, as no document has {listed(keys)} in its metadata, which the filter asks for; "
        f"{_spelling(keys)}"
    )


def _spelling(keys: Sequence[str]) -> str:
    renamed = [f"{RENAMED}{key}" for key in keys if key in CONTRACT_KEYS]
    if renamed:
        return f"a document's own key of that name is stored as {listed(renamed)}"
    return "see that the keys are spelled as in the documents that were added"


def _condition(filter: Filter | None) -> Condition | None:
    if filter is None or (isinstance(filter, Mapping) and not filter):
        return None
    return compile_filter(filter)


def _scored(found: Sequence[tuple[Record, float]]) -> list[tuple[Document, float]]:
    documents = to_documents([record for record, _ in found])
    return list(zip(documents, [score for _, score in found], strict=True))


def _without_scores(found: Sequence[tuple[Document, float]]) -> list[Document]:
    return [document for document, _ in found]
