"""The adapters of langchain-postgres: `PGVectorStore`, and the older `PGVector`."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from itertools import repeat
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.base import Scored, StoreAdapter
from langchain_sentence_window.adapters.get_where import GetWhereAdapter


class PostgresAdapter(StoreAdapter):
    """PostgreSQL plans a fetch anew for each number of ids; a call takes no more than 32,767 ids."""

    async def search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored:
        """Search with copies of the settings, as the store writes the first query into a hybrid search's."""
        own = {name: copy.deepcopy(value) if is_dataclass(value) else value for name, value in settings.items()}
        return await super().search(io, query, own)

    async def get(self, io: IO, ids: Sequence[str], filter: Any) -> list[Document] | None:
        """Get documents by 1, 2, 4, 8 ... ids, repeating the last id, so that few plans are made."""
        wanted = 1 << (len(ids) - 1).bit_length()
        return await super().get(io, [*ids, *repeat(ids[-1], wanted - len(ids))], filter)


class PGVectorStoreAdapter(PostgresAdapter, GetWhereAdapter):
    """`PGVectorStore` filters what it gets by id."""

    async def get_where(self, io: IO, ids: list[str], filter: Any) -> Mapping[str, Any]:
        """Call the store's ``get``, or await its ``aget``."""
        found: Mapping[str, Any] = await io.call(self.store.get, self.store.aget, ids=ids, where=filter)
        return found
