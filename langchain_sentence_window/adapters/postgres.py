"""The adapters of langchain-postgres: `PGVectorStore`, and the older `PGVector`."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass, replace
from itertools import repeat
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.base import StoreAdapter
from langchain_sentence_window.adapters.get_where import GetWhereAdapter
from langchain_sentence_window.adapters.holding import has_only, is_plain_text
from langchain_sentence_window.adapters.search_methods import Scored
from langchain_sentence_window.documents.stored_metadata import StoreLimits
from langchain_sentence_window.documents.values import is_scalar


class PostgresAdapter(StoreAdapter):
    """PostgreSQL plans a fetch anew for each number of ids; a call takes no more than 32,767 ids."""

    holds_json = True

    def holds(self, key: str, value: Any) -> bool:
        """Return whether JSONB can hold a value, which has no NUL in a string."""
        return has_only([key, value], _is_of_jsonb)

    async def search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored:
        """Search with copies of the settings, as the store writes the first query into a hybrid search's."""
        own = {name: copy.deepcopy(value) if is_dataclass(value) else value for name, value in settings.items()}
        return await super().search(io, query, own)

    async def get(self, io: IO, ids: Sequence[str], filter: Any) -> list[Document] | None:
        """Get documents by 1, 2, 4, 8 ... ids, repeating the last id, so that few plans are made."""
        wanted = 1 << (len(ids) - 1).bit_length()
        return await super().get(io, [*ids, *repeat(ids[-1], wanted - len(ids))], filter)


class PGVectorStoreAdapter(PostgresAdapter, GetWhereAdapter):
    """`PGVectorStore` filters what it gets by id, and may keep some keys in columns of their own."""

    def holds(self, key: str, value: Any) -> bool:
        """Return whether a column of its own, or else the column of JSON, can hold a value."""
        if key in self._columns:
            return is_scalar(value)
        return self._table.metadata_json_column is not None  # of type JSON, which holds a NUL too

    @property
    def limits(self) -> StoreLimits:
        """The metadata that the store can hold; nothing is converted for columns, as their types aren't known."""
        return replace(super().limits, typed=self._columns)

    async def get_where(self, io: IO, ids: list[str] | None, filter: Any) -> Mapping[str, Any]:
        """Call the store's ``get``, or await its ``aget``."""
        found: Mapping[str, Any] = await io.call(self.store.get, self.store.aget, ids=ids, where=filter)
        return found

    @property
    def _columns(self) -> frozenset[str]:
        return frozenset(self._table.metadata_columns)

    @property
    def _table(self) -> Any:
        """The async store that a store wraps."""
        return getattr(self.store, "_PGVectorStore__vs", self.store)


def _is_of_jsonb(value: Any) -> bool:
    return is_plain_text(value) and not (isinstance(value, str) and "\0" in value)
