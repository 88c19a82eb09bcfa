"""The adapter of langchain-chroma's `Chroma`."""

from collections.abc import Mapping
from typing import Any

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.get_where import GetWhereAdapter
from langchain_sentence_window.adapters.holding import has_only


class ChromaAdapter(GetWhereAdapter):
    """Chroma filters what it gets by id."""

    write_batch_size = 5_000  # it takes no more than 5,461

    def holds(self, key: str, value: Any) -> bool:
        """Ask Chroma itself, as newer ones hold lists of strings, of numbers and of booleans."""
        from chromadb.api.types import validate_metadata

        if value is None or not key or key.startswith("$") or not has_only([key, value]):
            return False
        try:
            validate_metadata({key: value})
        except (TypeError, ValueError):
            return False
        return True

    async def get_where(self, io: IO, ids: list[str] | None, filter: Any) -> Mapping[str, Any]:
        """Call the store's ``get``, which only blocks."""
        found: Mapping[str, Any] = await io.in_thread(self.store.get, ids=ids, where=filter)
        return found
