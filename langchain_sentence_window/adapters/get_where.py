"""The common part of the adapters of Chroma and PGVectorStore: both have a ``get`` that takes ids and a filter."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.base import StoreAdapter
from langchain_sentence_window.adapters.filtering import check_mappings


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
        return await self._documents_where(io, list(ids), filter)

    async def list_sentences(self, io: IO, filter: Any) -> list[Document]:
        """Get all documents within the filter."""
        return await self._documents_where(io, None, filter)

    async def _documents_where(self, io: IO, ids: list[str] | None, filter: Any) -> list[Document]:
        got = await self.get_where(io, ids, filter)
        rows = zip(got["documents"], got["metadatas"], got["ids"], strict=True)
        return [Document(page_content=text, metadata=metadata or {}, id=id_) for text, metadata, id_ in rows]

    async def get_where(self, io: IO, ids: list[str] | None, filter: Any) -> Mapping[str, Any]:
        """Call the store's ``get``, for some ids or all; return its ``ids``, ``documents`` and ``metadatas``."""
        raise NotImplementedError
