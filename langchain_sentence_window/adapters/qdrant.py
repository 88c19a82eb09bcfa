"""The adapter of langchain-qdrant's `QdrantVectorStore`."""

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window._showing import shown
from langchain_sentence_window.adapters.base import StoreAdapter
from langchain_sentence_window.adapters.bulk.base import BulkLoader
from langchain_sentence_window.adapters.bulk.qdrant import QdrantLoader
from langchain_sentence_window.adapters.holding import has_only
from langchain_sentence_window.adapters.search_methods import Scored
from langchain_sentence_window.documents.keys import DOC_ID
from langchain_sentence_window.embedding.embedder import embed_query
from langchain_sentence_window.errors import InvalidInputError

_PAGE_SIZE = 1_000

_async_clients: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""The async clients of stores, see `use_async_client`."""


def use_async_client(store: Any, client: Any) -> None:
    """Let the async queries of retrievers over a `QdrantVectorStore` wait for its server in no thread.

    The store itself has a blocking client alone, so its own async methods wait in threads.

    Args:
        store: The store. A search by anything else than dense vectors alone stays as it is.
        client: An ``AsyncQdrantClient`` of the same server, for one event loop; close it when it is no longer needed.

    Raises:
        InvalidInputError: One of them is something else.
    """
    for name, given, wanted in (("store", store, "QdrantVectorStore"), ("client", client, "AsyncQdrantClient")):
        if wanted not in (each.__name__ for each in type(given).__mro__):
            raise InvalidInputError(f"{name} is {shown(given)}; give {'an' if wanted[0] == 'A' else 'a'} {wanted}")
    _async_clients[store] = client


class QdrantAdapter(StoreAdapter):
    """Qdrant filters by objects of its client, also when it scrolls through ids."""

    added_keys = frozenset({"_id", "_collection_name"})
    holds_json = True
    away_errors = frozenset({"qdrant_client.http.exceptions.ResponseHandlingException", "grpc.RpcError"})

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

    async def search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored:
        """Search by meaning, in no thread if the store has an async client."""
        if self.embedding is None or not self._searches_plainly(settings):
            return await super().search(io, query, settings)
        vector = await embed_query(io, self.embedding, query)
        found = await self._call(
            io,
            "query_points",
            query=vector,
            using=self.store.vector_name,
            limit=settings["k"],
            query_filter=settings.get("filter"),
            with_payload=True,
        )
        scores = [float(point.score) for point in found.points]
        sign = -1.0 if self._are_distances(scores) else 1.0
        return [(document, sign * score) for document, score in zip(self._documents(found.points), scores, strict=True)]

    async def get(self, io: IO, ids: Sequence[str], filter: Any) -> list[Document] | None:
        """Retrieve the points of the ids; within a filter, scroll through them."""
        if filter is None and self.store not in _async_clients:
            return await super().get(io, ids, None)
        if filter is None:
            return self._documents(await self._call(io, "retrieve", ids=list(ids), with_payload=True))
        from qdrant_client.models import HasIdCondition

        within = type(filter)(must=[filter, HasIdCondition(has_id=list(ids))])
        points, _ = await self._call(io, "scroll", scroll_filter=within, limit=len(ids), with_payload=True)
        return self._documents(points)

    def _searches_plainly(self, settings: Mapping[str, Any]) -> bool:
        """Return whether there is an async client, and it finds what the store's own search would."""
        is_own = type(self.store).__module__.startswith("langchain_qdrant.")
        is_dense = getattr(self.store.retrieval_mode, "value", None) == "dense"
        return self.store in _async_clients and is_own and is_dense and settings.keys() <= {"k", "filter"}

    async def _call(self, io: IO, name: str, **arguments: Any) -> Any:
        """Call a method that both clients have; only block if the store has but one."""
        method = getattr(self.store.client, name)
        other = _async_clients.get(self.store)
        collection = self.store.collection_name
        if other is None:
            return await io.in_thread(method, collection, **arguments)
        return await io.call(method, getattr(other, name), collection, **arguments)

    def _documents(self, points: Sequence[Any]) -> list[Document]:
        store = self.store
        keys = store.collection_name, store.content_payload_key, store.metadata_payload_key
        return [store._document_from_point(point, *keys) for point in points]

    def bulk_loader(self, settings: Mapping[str, Any]) -> BulkLoader:
        """Return a loader that upserts points in batches, see `QdrantLoader`."""
        return QdrantLoader(self, settings)

    async def list_sentences(self, io: IO, filter: Any) -> list[Document]:
        """Scroll through all points within the filter."""
        found: list[Document] = []
        offset: Any = None
        while True:
            points, offset = await self._call(
                io, "scroll", scroll_filter=filter, limit=_PAGE_SIZE, offset=offset, with_payload=True
            )
            found += self._documents(points)
            if offset is None:
                return found
