"""Loads a `Milvus` store in batches; Milvus builds its indexes in the background as segments fill."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window._types import Vectors
from langchain_sentence_window._validation import checked_count
from langchain_sentence_window.adapters.batches import batches
from langchain_sentence_window.adapters.bulk.base import BulkLoader
from langchain_sentence_window.adapters.traits import StoreTraits
from langchain_sentence_window.errors import InvalidInputError


class MilvusLoader(BulkLoader):
    """Loads a collection of Milvus. Its setting: ``rows``, in one request, 1 or more."""

    settings: ClassVar[Mapping[str, Any]] = {"rows": 1_000}

    def __init__(self, adapter: StoreTraits, settings: Mapping[str, Any]) -> None:
        """Take the store's adapter.

        Raises:
            InvalidInputError: The store has several vectors for a text, or makes ids itself; or a setting can't be
                used.
        """
        super().__init__(adapter, settings)
        self._store = adapter.store
        self._rows = checked_count("rows", self.given["rows"])
        if self._store._is_multi_embedding or self._store._is_function_only:
            raise InvalidInputError(
                f"{adapter.name} was built with several embedders, or none, so one vector for each text isn't what it "
                "takes; add documents with a retriever"
            )
        if self._store.auto_id:
            raise InvalidInputError(
                f"{adapter.name} was built with auto_id=True, so a document can't be written again in its own place; "
                "build it without"
            )

    async def write(self, io: IO, documents: Sequence[Document], vectors: Vectors, *, are_new: bool = False) -> None:
        """Write rows in batches; the first makes the collection if there is none."""
        store = self._store
        for numbers in batches(range(len(documents)), self._rows):
            part = documents[numbers[0] : numbers[-1] + 1]
            lists = vectors[numbers[0] : numbers[-1] + 1].tolist()
            texts, metadata = [each.page_content for each in part], [dict(each.metadata) for each in part]
            ids = [each.id for each in part]
            if store.col is None:
                await io.call(store.add_embeddings, store.aadd_embeddings, texts, lists, metadata, ids=ids)
                continue
            rows = store._prepare_insert_list(texts, [lists], metadata, ids, force_ids=True)

            async def upsert(*given: Any, **keywords: Any) -> Any:  # the async client is made when it is first named
                return await store.aclient.upsert(*given, **keywords)

            await io.call(store.client.upsert, upsert, store.collection_name, rows, timeout=store.timeout)

    async def finish(self, io: IO) -> None:
        """Store what is still in memory, so that its index is built."""
        if self._store.col is not None:
            await io.in_thread(self._store.client.flush, self._store.collection_name)
