"""Base classes with what the adapters of several stores have in common."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_sentence_window._io import IO
from langchain_sentence_window.embedding.embedder import embed_texts
from langchain_sentence_window.errors import InvalidInputError

from .matchers import check_mappings, mapping_matcher
from .store_adapter import Scored, StoreAdapter


class GetWhereAdapter(StoreAdapter):
    """The store filters by mappings, also what it gets by id."""

    rechecks_hits = False  # their mappings mean other things in places

    def join(self, filters: Sequence[Any]) -> Any:
        """Return a mapping of one key, as neither store takes several everywhere."""
        check_mappings(self.name, filters)
        return filters[0] if len(filters) == 1 and len(filters[0]) == 1 else self._in_one_mapping(filters)

    async def get(self, io: IO, ids: Sequence[str], filter: Any) -> list[Document] | None:
        """Get documents within the filter."""
        if filter is None:
            return await super().get(io, ids, None)
        return self.documents_of(await self.get_where(io, list(ids), filter))

    async def list_sentences(self, io: IO, filter: Any) -> list[Document]:
        """Get all documents within the filter."""
        return self.documents_of(await self.get_where(io, None, filter))

    def documents_of(self, got: Mapping[str, Any]) -> list[Document]:
        """Make Documents of what the store's ``get`` returns."""
        rows = zip(got["documents"], got["metadatas"], got["ids"], strict=True)
        return [Document(page_content=text or "", metadata=metadata or {}, id=id_) for text, metadata, id_ in rows]

    async def get_where(self, io: IO, ids: list[str] | None, filter: Any) -> Mapping[str, Any]:
        """Call the store's ``get``, for some ids or all; return its ``ids``, ``documents`` and ``metadatas``."""
        raise NotImplementedError


class DeleteFirstAdapter(StoreAdapter):
    """The store refuses an id that it holds, or keeps both documents; so the old one is deleted first."""

    async def put(self, io: IO, documents: Sequence[Document], existing: Sequence[str] | None) -> None:
        """Delete documents with the same ids, then add the new ones."""
        ids = [str(document.id) for document in documents]
        if existing is None:
            found = await self.fetch(io, ids)
            existing = ids if found is None else [str(document.id) for document in found]
        old = sorted(set(existing).intersection(ids))
        if not old or self.embedding is None:
            await self.remove(io, old)
            await super().put(io, documents, existing)
            return
        # Embedded before the old ones go, so that a failing embedder leaves them.
        embedding = self.embedding
        texts = [document.page_content for document in documents]
        vectors = await embed_texts(io, embedding, texts)
        await self.remove(io, old)
        for start in range(0, len(documents), self.write_batch_size):
            part = slice(start, start + self.write_batch_size)
            await self.add_embedded(io, documents[part], vectors[part])

    async def add_embedded(self, io: IO, documents: Sequence[Document], vectors: Sequence[list[float]]) -> None:
        """Add documents with their vectors."""
        raise NotImplementedError


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
        vectors = await embed_texts(io, embedding, texts)
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


def with_whole_numbers(document: Document) -> Document:
    """Return a Document in whose metadata floats without a fraction, such as ``3.0``, are integers again."""
    metadata = {key: _whole(value) for key, value in document.metadata.items()}
    return Document(id=document.id, page_content=document.page_content, metadata=metadata)


def _whole(value: Any) -> Any:
    if isinstance(value, list):
        return list(map(_whole, value))
    return int(value) if isinstance(value, float) and value.is_integer() else value
