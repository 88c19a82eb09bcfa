"""The adapter of langchain-qdrant's `QdrantVectorStore`."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window.documents.keys import DOC_ID

from .families import BlockingAdapter
from .store_adapter import PAGE_SIZE, Embedded
from .stored_values import is_plain


class QdrantAdapter(BlockingAdapter):
    """Qdrant filters by objects of its client, in searches and in reads by id."""

    added_keys = frozenset({"_id", "_collection_name"})
    filter_form = "qdrant_client.models.Filter"
    filter_class = "qdrant_client.", "Filter"
    holds_json = True
    write_batch_size = 256  # Qdrant advises 64 to 256
    away_errors = frozenset({"qdrant_client.http.exceptions.ResponseHandlingException", "grpc.RpcError"})

    def holds(self, key: str, value: Any) -> bool:
        """Return whether JSON in UTF-8, with integers of 64 bits, can hold a value."""
        return is_plain([key, value])

    def combine(self, filters: Sequence[Any]) -> Any:
        """Return a filter with all of them as conditions."""
        return filters[0] if len(filters) == 1 else type(filters[0])(must=list(filters))

    def of_documents(self, doc_ids: Sequence[str]) -> Any:
        """Return a filter on the payload."""
        from qdrant_client.models import FieldCondition, Filter, MatchAny

        key = f"{self.store.metadata_payload_key}.{DOC_ID}"
        return Filter(must=[FieldCondition(key=key, match=MatchAny(any=list(doc_ids)))])

    def rows(self, ids: Sequence[str] | None, filter: Any) -> list[Document]:
        """Retrieve the points of the ids; within a filter, or for all, scroll through them."""
        store = self.store
        if ids is not None and filter is None:
            return self._documents(store.client.retrieve(store.collection_name, ids=list(ids), with_payload=True))
        within = filter
        if ids is not None:
            from qdrant_client.models import HasIdCondition

            within = type(filter)(must=[filter, HasIdCondition(has_id=list(ids))])
        return [document for page in self._pages(within) for document in page]

    async def list_pages(self, io: IO) -> AsyncIterator[Sequence[Document]]:
        """Scroll through all points, in the order of their ids."""
        pages = self._pages(None)
        while (page := await io.in_thread(next, pages, None)) is not None:
            yield page

    async def vectors_of(self, io: IO, ids: Sequence[str]) -> Mapping[str, Sequence[float]]:
        """Retrieve the dense vectors of points."""
        store, name = self.store, self.store.vector_name
        settings = {"ids": list(ids), "with_payload": False, "with_vectors": True}
        points = await io.in_thread(store.client.retrieve, store.collection_name, **settings)
        vectors: dict[str, Any] = {
            str(each.id): each.vector.get(name) if isinstance(each.vector, dict) else each.vector for each in points
        }
        return await super().vectors_of(io, ids) if None in vectors.values() else vectors

    @property
    def takes_vectors(self) -> bool:
        """Whether the store has only dense vectors; it makes sparse ones of the texts itself."""
        return getattr(self.store.retrieval_mode, "value", None) == "dense"

    def write(self, embedded: Embedded) -> None:
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
        store.client.upsert(store.collection_name, points=points, wait=True)

    def _pages(self, filter: Any) -> Iterator[list[Document]]:
        store, offset = self.store, None
        settings = {"scroll_filter": filter, "limit": PAGE_SIZE, "with_payload": True}
        while True:
            points, offset = store.client.scroll(store.collection_name, offset=offset, **settings)
            yield self._documents(points)
            if offset is None:
                return

    def _documents(self, points: Sequence[Any]) -> list[Document]:
        store = self.store
        keys = store.collection_name, store.content_payload_key, store.metadata_payload_key
        documents: list[Document] = [store._document_from_point(point, *keys) for point in points]
        for document, point in zip(documents, points, strict=True):
            document.id = str(point.id)  # which the store sets in the metadata only
        return documents
