"""Loads a `QdrantVectorStore` in batches, into an empty collection without building its HNSW graph meanwhile.

A collection that holds points keeps its graph: to switch it off would drop it, and searches would be slow until it is
built anew. See https://qdrant.tech/documentation/manage-data/bulk-upload/.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window._types import Vectors
from langchain_sentence_window._validation import checked_count, checked_flag
from langchain_sentence_window.adapters.batches import batches
from langchain_sentence_window.adapters.bulk.base import BulkLoader
from langchain_sentence_window.adapters.traits import StoreTraits
from langchain_sentence_window.errors import InvalidInputError

NOTE = "sentence_window_hnsw_m"
"""The key of the collection's metadata that notes the ``m`` to set again."""


class QdrantLoader(BulkLoader):
    """Loads a collection of Qdrant.

    Its settings: ``points``, in one request, 1 or more; ``defer_index``, whether the graph of an empty collection is
    built only at the end. After `finish` Qdrant builds it in the background, and searches meanwhile compare all points.
    """

    settings: ClassVar[Mapping[str, Any]] = {"points": 256, "defer_index": True}

    def __init__(self, adapter: StoreTraits, settings: Mapping[str, Any]) -> None:
        """Take the store's adapter.

        Raises:
            InvalidInputError: The store has no dense vectors, or a setting can't be used.
        """
        super().__init__(adapter, settings)
        self._store = adapter.store
        self._points = checked_count("points", self.given["points"])
        self._defers = checked_flag("defer_index", self.given["defer_index"])
        self._mode = str(getattr(self._store.retrieval_mode, "value", self._store.retrieval_mode))
        if self._mode == "sparse":
            raise InvalidInputError(
                f"{adapter.name} searches by words alone, so it takes no vectors; add documents with a retriever"
            )

    async def prepare(self, io: IO) -> None:
        """Note the graph's ``m`` in the collection's metadata, and set it to 0, if the collection is empty."""
        if not self._defers:
            return
        info = await self._info(io)
        m = self._m(info)
        if info.points_count or not m or self._noted(info):
            return
        await self._update(io, metadata={NOTE: m})
        await self._set_m(io, info, 0)

    async def write(self, io: IO, documents: Sequence[Document], vectors: Vectors, *, are_new: bool = False) -> None:
        """Write points in batches, and wait until each batch is stored."""
        from qdrant_client.models import PointStruct

        store = self._store
        for numbers in batches(range(len(documents)), self._points):
            part = documents[numbers[0] : numbers[-1] + 1]
            named = await self._named_vectors(io, part, vectors[numbers[0] : numbers[-1] + 1])
            points = [
                PointStruct(
                    id=str(each.id),
                    vector=vector,
                    payload={store.content_payload_key: each.page_content, store.metadata_payload_key: each.metadata},
                )
                for each, vector in zip(part, named, strict=True)
            ]
            await io.in_thread(store.client.upsert, store.collection_name, points=points, wait=True)

    async def finish(self, io: IO) -> None:
        """Set the ``m`` that was noted, so that the graph is built."""
        info = await self._info(io)
        noted = self._noted(info)
        if noted:
            await self._set_m(io, info, noted)
            await self._update(io, metadata={NOTE: None})

    async def _named_vectors(self, io: IO, documents: Sequence[Document], vectors: Vectors) -> list[dict[str, Any]]:
        store = self._store
        named: list[dict[str, Any]] = [{store.vector_name: vector} for vector in vectors.tolist()]
        if self._mode == "dense":
            return named
        from qdrant_client.models import SparseVector

        texts = [each.page_content for each in documents]
        found = await io.in_thread(store.sparse_embeddings.embed_documents, texts)
        return [
            {**dense, store.sparse_vector_name: SparseVector(values=sparse.values, indices=sparse.indices)}
            for dense, sparse in zip(named, found, strict=True)
        ]

    async def _info(self, io: IO) -> Any:
        return await io.in_thread(self._store.client.get_collection, self._store.collection_name)

    async def _update(self, io: IO, **changes: Any) -> None:
        await io.in_thread(self._store.client.update_collection, self._store.collection_name, **changes)

    async def _set_m(self, io: IO, info: Any, m: int) -> None:
        from qdrant_client.models import HnswConfigDiff, VectorParamsDiff

        diff = HnswConfigDiff(m=m)
        if self._own_config(info) is None:
            await self._update(io, hnsw_config=diff)
        else:
            await self._update(io, vectors_config={self._store.vector_name: VectorParamsDiff(hnsw_config=diff)})

    def _m(self, info: Any) -> int:
        own = self._own_config(info)
        return int(info.config.hnsw_config.m if own is None else own.m)

    def _own_config(self, info: Any) -> Any:
        """Return the configuration of the vector's own graph; ``None`` if it has that of the collection."""
        vectors = info.config.params.vectors
        params = vectors.get(self._store.vector_name) if isinstance(vectors, dict) else vectors
        own = getattr(params, "hnsw_config", None)
        return None if own is None or own.m is None else own

    def _noted(self, info: Any) -> int:
        noted = (getattr(info.config, "metadata", None) or {}).get(NOTE)
        return noted if isinstance(noted, int) else 0
