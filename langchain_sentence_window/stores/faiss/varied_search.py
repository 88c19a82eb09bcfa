"""The methods of `FaissStore` that search for variety."""

from typing import Any

from langchain_core.documents import Document
from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from langchain_sentence_window._showing import shown
from langchain_sentence_window._types import Vectors
from langchain_sentence_window._validation import as_number, checked_count
from langchain_sentence_window.embedding.embedder import unit_vector
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.stores.faiss.conversion import to_documents
from langchain_sentence_window.stores.faiss.database.filters import Filter
from langchain_sentence_window.stores.faiss.search_arguments import condition_of
from langchain_sentence_window.stores.faiss.search_methods import SearchMethods


class VariedSearch(SearchMethods):
    """The searches of a store for documents that are different from each other."""

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
        vector = self._guard.queries.embed(query)
        return self.max_marginal_relevance_search_by_vector(
            vector, k, fetch_k, lambda_mult, filter=filter, search_effort=search_effort
        )

    async def amax_marginal_relevance_search(
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
        """Async version of `max_marginal_relevance_search`."""
        vector = await self._guard.queries.aembed(query)
        return await self.amax_marginal_relevance_search_by_vector(
            vector, k, fetch_k, lambda_mult, filter=filter, search_effort=search_effort
        )

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
        effort = self._effort(search_effort)
        found = self._guard.run_proven(
            lambda: self._engine.search_with_vectors(vector, candidate_count, condition, effort)
        )
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
        search_effort: float | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Async version of `max_marginal_relevance_search_by_vector`."""
        search = self.max_marginal_relevance_search_by_vector
        return await run_in_executor(
            None, search, embedding, k, fetch_k, lambda_mult, filter=filter, search_effort=search_effort
        )
