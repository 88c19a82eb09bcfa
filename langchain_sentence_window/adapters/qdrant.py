"""The adapter of langchain-qdrant's `QdrantVectorStore`."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window._showing import shown
from langchain_sentence_window.adapters.base import StoreAdapter
from langchain_sentence_window.adapters.holding import has_only
from langchain_sentence_window.documents.keys import DOC_ID
from langchain_sentence_window.errors import InvalidInputError

_PAGE_SIZE = 1_000


class QdrantAdapter(StoreAdapter):
    """Qdrant filters by objects of its client, also when it scrolls through ids."""

    added_keys = frozenset({"_id", "_collection_name"})
    holds_json = True

    def holds(self, key: str, value: Any) -> bool:
        """Return whether JSON in UTF-8, with numbers of 64 bits, can hold a value."""
        return has_only([key, value])

    def join(self, filters: Sequence[Any]) -> Any:
        """Return a filter with all of them as conditions."""
        for each in filters:
            if type(each).__name__ != "Filter" or not type(each).__module__.startswith("qdrant_client"):
                raise InvalidInputError(f"{self.name} filters by qdrant_client.models.Filter, not by {shown(each)}")
        return filters[0] if len(filters) == 1 else type(filters[0])(must=list(filters))

    def of_documents(self, doc_ids: Sequence[str]) -> Any:
        """Return a filter on the payload."""
        from qdrant_client.models import FieldCondition, Filter, MatchAny

        key = f"{self.store.metadata_payload_key}.{DOC_ID}"
        return Filter(must=[FieldCondition(key=key, match=MatchAny(any=list(doc_ids)))])

    async def get(self, io: IO, ids: Sequence[str], filter: Any) -> list[Document] | None:
        """Scroll through the points of the ids."""
        if filter is None:
            return await super().get(io, ids, None)
        from qdrant_client.models import HasIdCondition

        store = self.store
        keys = store.collection_name, store.content_payload_key, store.metadata_payload_key
        within = type(filter)(must=[filter, HasIdCondition(has_id=list(ids))])
        scroll = partial(store.client.scroll, keys[0], scroll_filter=within, limit=len(ids), with_payload=True)
        points, _ = await io.in_thread(scroll)
        return [store._document_from_point(point, *keys) for point in points]

    async def list_sentences(self, io: IO, filter: Any) -> list[Document]:
        """Scroll through all points within the filter."""
        store = self.store
        keys = store.collection_name, store.content_payload_key, store.metadata_payload_key
        found: list[Document] = []
        offset: Any = None
        while True:
            points, offset = await io.in_thread(
                store.client.scroll, keys[0], scroll_filter=filter, limit=_PAGE_SIZE, offset=offset, with_payload=True
            )
            found += [store._document_from_point(point, *keys) for point in points]
            if offset is None:
                return found
