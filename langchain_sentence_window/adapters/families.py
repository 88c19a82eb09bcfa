"""Base classes with what the adapters of several stores have in common."""

import inspect
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from itertools import count
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window.embedding.embedder import embed_query
from langchain_sentence_window.errors import InvalidInputError

from .matchers import mapping_matcher
from .store_adapter import FILTER_ALONE, PAGE_SIZE, Embedded, Scored, StoreAdapter


class BlockingAdapter(StoreAdapter):
    """Uses a store whose client only blocks: each call of it runs in a thread."""

    def rows(self, ids: Sequence[str] | None, filter: Any) -> list[Document]:
        """Read Documents; see `select`."""
        raise NotImplementedError

    def write(self, embedded: Embedded) -> None:
        """Write a batch of documents with their vectors, in place of those with the same ids; if `takes_vectors`."""
        raise NotImplementedError

    async def select(self, io: IO, ids: Sequence[str] | None, filter: Any) -> list[Document] | None:
        """Call `rows`."""
        return await io.in_thread(self.rows, ids, filter)

    async def put_vectors(self, io: IO, embedded: Embedded) -> None:
        """Call `write`."""
        await io.in_thread(self.write, embedded)


class VectorAdapter(BlockingAdapter):
    """Embeds queries and documents with the store's embedder, then searches and writes with the vectors."""

    takes_vectors = True

    def nearest(self, vector: list[float], k: int, filter: Any) -> Scored:
        """Search by a vector: return the ``k`` closest documents that a filter lets through, the closest first."""
        raise NotImplementedError

    async def search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored:
        """Embed the query, then search; see `nearest`."""
        if self.embedding is None:
            raise InvalidInputError(f"{self.name} was made without an embedder; give it one")
        vector = await embed_query(io, self.embedding, query)
        return await io.in_thread(self.nearest, vector, settings["k"], settings.get(self.filter_name))


class FilteredByMappings(VectorAdapter):
    """Filters by mappings of this package, which also apply to documents that are fetched by id."""

    def search_parameters(self) -> Mapping[str, inspect.Parameter]:
        """Return ``filter`` alone: no other setting would apply to sentences that are read by id."""
        return FILTER_ALONE

    def reads_filter(self, filter: Any) -> bool:
        """Return whether it is a mapping; raise a `FilterError` for one that can't be read."""
        return isinstance(filter, Mapping) and bool(mapping_matcher(filter))


async def offset_pages(io: IO, read: Callable[[int], list[Document]]) -> AsyncIterator[list[Document]]:
    """Yield pages of `PAGE_SIZE` Documents, each read from an offset, until one is shorter."""
    for offset in count(step=PAGE_SIZE):
        page = await io.in_thread(read, offset)
        yield page
        if len(page) < PAGE_SIZE:
            return
