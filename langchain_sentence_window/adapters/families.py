"""Base classes with what the adapters of several stores have in common."""

import inspect
from collections.abc import Mapping
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window.embedding.embedder import embed_query
from langchain_sentence_window.errors import InvalidInputError

from .matchers import mapping_matcher
from .store_adapter import Scored, StoreAdapter


class VectorAdapter(StoreAdapter):
    """Embeds queries and documents with the store's embedder, then searches and writes with the vectors."""

    takes_vectors = True

    async def search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored:
        """Embed the query, then search; see `search_vector`."""
        if self.embedding is None:
            raise InvalidInputError(f"{self.name} was made without an embedder; give it one")
        return await self.search_vector(io, await embed_query(io, self.embedding, query), settings)

    async def search_vector(self, io: IO, vector: list[float], settings: Mapping[str, Any]) -> Scored:
        """Search by a vector; ``settings`` and result are those of `search`."""
        raise NotImplementedError


class FilteredByMappings(VectorAdapter):
    """Filters by mappings of this package, which bind documents that are fetched by id too."""

    def search_parameters(self) -> Mapping[str, inspect.Parameter]:
        """Return ``filter`` alone: whatever else a search takes would not hold for sentences that are read by id."""
        return {"filter": inspect.Parameter("filter", inspect.Parameter.KEYWORD_ONLY)}

    def reads_filter(self, filter: Any) -> bool:
        """Return whether it is a mapping; raise a `FilterError` for one that can't be read."""
        return isinstance(filter, Mapping) and bool(mapping_matcher(filter))


def with_whole_numbers(document: Document) -> Document:
    """Return a Document in whose metadata floats without a fraction, such as ``3.0``, are integers again."""
    metadata = {key: _whole(value) for key, value in document.metadata.items()}
    return Document(id=document.id, page_content=document.page_content, metadata=metadata)


def _whole(value: Any) -> Any:
    if isinstance(value, list):
        return list(map(_whole, value))
    return int(value) if isinstance(value, float) and value.is_integer() else value
