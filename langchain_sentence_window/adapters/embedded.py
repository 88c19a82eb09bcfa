"""The common part of the adapters of stores whose own methods lose something: they are handed vectors."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.base import StoreAdapter
from langchain_sentence_window.adapters.filtering import check_mappings, mapping_matcher
from langchain_sentence_window.adapters.search_methods import Scored
from langchain_sentence_window.errors import InvalidInputError


class EmbeddedAdapter(StoreAdapter):
    """Embeds queries and documents with the store's embedder, then searches and writes with the vectors."""

    async def search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored:
        """Embed the query, then search; see `search_vector`."""
        embedding = self._embedder
        vector = await io.call(embedding.embed_query, embedding.aembed_query, query)
        return await self.search_vector(io, vector, settings)

    async def put(self, io: IO, documents: Sequence[Document], existing: Sequence[str] | None) -> None:
        """Embed all documents, then write them in batches; a failing embedder leaves the old ones."""
        embedding = self._embedder
        texts = [document.page_content for document in documents]
        vectors = await io.call(embedding.embed_documents, embedding.aembed_documents, texts)
        for start in range(0, len(documents), self.write_batch_size):
            part = slice(start, start + self.write_batch_size)
            await self.put_embedded(io, documents[part], vectors[part])

    async def search_vector(self, io: IO, vector: list[float], settings: Mapping[str, Any]) -> Scored:
        """Search by a vector; ``settings`` and result are those of `search`."""
        raise NotImplementedError

    async def put_embedded(self, io: IO, documents: Sequence[Document], vectors: Sequence[list[float]]) -> None:
        """Write documents with their vectors, in place of those with the same ids."""
        raise NotImplementedError

    @property
    def _embedder(self) -> Embeddings:
        embedding = self.embedding
        if embedding is None:
            raise InvalidInputError(f"{self.name} was made without an embedder; give it one")
        return embedding


class FilteredByMappings(EmbeddedAdapter):
    """Filters by mappings of this package, which bind documents that are fetched by id too."""

    def search_parameters(self) -> Mapping[str, inspect.Parameter]:
        """Return ``filter`` alone: whatever else a search takes would not hold for sentences that are read by id."""
        return {"filter": inspect.Parameter("filter", inspect.Parameter.KEYWORD_ONLY)}

    def join(self, filters: Sequence[Any]) -> Any:
        """Return one mapping."""
        check_mappings(self.name, filters)
        for each in filters:
            mapping_matcher(each)  # checks that it can be read
        return super().join(filters)
