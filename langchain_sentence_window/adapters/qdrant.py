"""The adapter of langchain-qdrant's `QdrantVectorStore`, and its loader.

The loader fills an empty collection without building its HNSW graph meanwhile. A collection that holds points keeps its
graph: to switch it off would drop it, and searches would be slow until it is built anew. See
https://qdrant.tech/documentation/manage-data/bulk-upload/.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import IO
from langchain_sentence_window._validation import checked_flag
from langchain_sentence_window.documents.keys import DOC_ID
from langchain_sentence_window.embedding.embedder import embed_query
from langchain_sentence_window.errors import InvalidInputError

from .store_adapter import PAGE_SIZE, BulkLoader, Embedded, Scored, StoreAdapter
from .traits import has_only

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


NOTE = "sentence_window_hnsw_m"
"""The key of the collection's metadata that notes the ``m`` to set again."""


class QdrantLoader(BulkLoader):
    """Loads a collection of Qdrant.

    Its setting: ``defer_index``, whether the graph of an empty collection is built only at the end. After `finish`
    Qdrant builds it in the background, and until it is done, searches compare all points.
    """

    adapter: "QdrantAdapter"

    def __init__(self, adapter: "QdrantAdapter", *, defer_index: bool = True) -> None:
        """Take the store's adapter; raise an `InvalidInputError` if the setting can't be used."""
        super().__init__(adapter)
        self._defers = checked_flag("defer_index", defer_index)

    async def prepare(self, io: IO) -> None:
        """Note the graph's ``m`` in the collection's metadata, and set it to 0, if the collection is empty."""
        if not self._defers:
            return
        info = await self.adapter.call(io, "get_collection")
        vectors = info.config.params.vectors
        params = vectors.get(self.adapter.store.vector_name) if isinstance(vectors, dict) else vectors
        # A vector may have a graph of its own kind; else it has that of the collection.
        own = getattr(params, "hnsw_config", None)
        m = info.config.hnsw_config.m if own is None or own.m is None else own.m
        if m and not info.points_count and not _noted(info):
            await self.adapter.call(io, "update_collection", metadata={NOTE: m})
            await self._set_m(io, 0)

    async def finish(self, io: IO) -> None:
        """Set the ``m`` that was noted, so that the graph is built."""
        m = _noted(await self.adapter.call(io, "get_collection"))
        if m:
            await self._set_m(io, m)
            await self.adapter.call(io, "update_collection", metadata={NOTE: None})

    async def _set_m(self, io: IO, m: int) -> None:
        from qdrant_client.models import HnswConfigDiff, VectorParamsDiff

        change = {self.adapter.store.vector_name: VectorParamsDiff(hnsw_config=HnswConfigDiff(m=m))}
        await self.adapter.call(io, "update_collection", vectors_config=change)


def _noted(info: Any) -> int:
    noted: int = (info.config.metadata or {}).get(NOTE) or 0
    return noted


class QdrantAdapter(StoreAdapter):
    """Qdrant filters by objects of its client, also when it scrolls through ids."""

    added_keys = frozenset({"_id", "_collection_name"})
    filter_form = "qdrant_client.models.Filter"
    filter_class = "qdrant_client.", "Filter"
    holds_json = True
    write_batch_size = 256  # Qdrant advises 64 to 256
    loader_class = QdrantLoader
    away_errors = frozenset({"qdrant_client.http.exceptions.ResponseHandlingException", "grpc.RpcError"})

    def holds(self, key: str, value: Any) -> bool:
        """Return whether JSON in UTF-8, with numbers of 64 bits, can hold a value."""
        return has_only([key, value])

    def combine(self, filters: Sequence[Any]) -> Any:
        """Return a filter with all of them as conditions."""
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
        found = await self.call(
            io,
            "query_points",
            query=vector,
            using=self.store.vector_name,
            limit=settings["k"],
            query_filter=settings.get("filter"),
            with_payload=True,
        )
        scores = (point.score for point in found.points)
        return self._best_highest(zip(self._documents(found.points), scores, strict=True))

    async def select(self, io: IO, ids: Sequence[str] | None, filter: Any) -> list[Document] | None:
        """Retrieve the points of the ids; within a filter, or for all, scroll through them."""
        if ids is not None and filter is None:
            return self._documents(await self.call(io, "retrieve", ids=list(ids), with_payload=True))
        within = filter
        if ids is not None:
            from qdrant_client.models import HasIdCondition

            within = type(filter)(must=[filter, HasIdCondition(has_id=list(ids))])
        return [document async for page in self._pages(io, within) for document in page]

    def _searches_plainly(self, settings: Mapping[str, Any]) -> bool:
        """Return whether there is an async client, and it finds what the store's own search would."""
        is_own = type(self.store).__module__.startswith("langchain_qdrant.")
        return self.store in _async_clients and is_own and self._is_dense and settings.keys() <= {"k", "filter"}

    @property
    def _is_dense(self) -> bool:
        return getattr(self.store.retrieval_mode, "value", None) == "dense"

    async def call(self, io: IO, name: str, **arguments: Any) -> Any:
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
        documents: list[Document] = [store._document_from_point(point, *keys) for point in points]
        for document, point in zip(documents, points, strict=True):
            document.id = str(point.id)  # which the store says in the metadata alone
        return documents

    @property
    def takes_vectors(self) -> bool:
        """Whether the store has dense vectors alone; it makes sparse ones of the texts itself."""
        return self._is_dense

    async def put_vectors(self, io: IO, embedded: Embedded) -> None:
        """Write points, and wait until they are stored."""
        from qdrant_client.models import PointStruct

        store = self.store
        points = [
            PointStruct(
                id=str(each.id),
                vector={store.vector_name: vector},
                payload={store.content_payload_key: each.page_content, store.metadata_payload_key: each.metadata},
            )
            for each, vector in embedded
        ]
        await io.in_thread(store.client.upsert, store.collection_name, points=points, wait=True)

    def list_pages(self, io: IO) -> AsyncIterator[Sequence[Document]]:
        """Scroll through all points, which stand in the order of their ids."""
        return self._pages(io, None)

    async def vectors_of(self, io: IO, ids: Sequence[str]) -> Mapping[str, Sequence[float]]:
        """Retrieve the dense vectors of points.

        Raises:
            InvalidInputError: The store has none.
        """
        points = await self.call(io, "retrieve", ids=list(ids), with_payload=False, with_vectors=True)
        name = self.store.vector_name
        found: dict[str, Any] = {
            str(each.id): each.vector.get(name) if isinstance(each.vector, dict) else each.vector for each in points
        }
        return await super().vectors_of(io, ids) if None in found.values() else found

    async def _pages(self, io: IO, filter: Any) -> AsyncIterator[list[Document]]:
        offset: Any = None
        while True:
            points, offset = await self.call(
                io, "scroll", scroll_filter=filter, limit=PAGE_SIZE, offset=offset, with_payload=True
            )
            yield self._documents(points)
            if offset is None:
                return
