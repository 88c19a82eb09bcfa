"""The conformance suite on stores that are loaded in bulk: what a retriever adds goes through a bulk loader."""

from collections.abc import Sequence

import numpy as np
import pytest
from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.milvus import MilvusAdapter
from langchain_sentence_window.adapters.postgres import PGVectorStoreAdapter
from langchain_sentence_window.adapters.qdrant import QdrantAdapter
from langchain_sentence_window.adapters.store_adapter import StoreAdapter
from langchain_sentence_window.embedding.embedder import embed_texts
from tests.live_stores import test_stores


async def put_in_bulk(self: StoreAdapter, io: IO, documents: Sequence[Document]) -> None:
    assert self.embedding is not None
    vectors = await embed_texts(io, self.embedding, [each.page_content for each in documents])
    loader = self.bulk_loader()
    await loader.prepare(io)
    await loader.write(io, documents, np.array(vectors, dtype=np.float32))
    await loader.finish(io)


@pytest.fixture(autouse=True)
def bulk(monkeypatch: pytest.MonkeyPatch) -> None:
    for adapter in (MilvusAdapter, PGVectorStoreAdapter, QdrantAdapter):
        monkeypatch.setattr(adapter, "put", put_in_bulk)


class TestBulkQdrant(test_stores.TestQdrant):
    pass


class TestBulkMilvus(test_stores.TestMilvus):
    pass


class TestBulkPostgres(test_stores.TestPostgres):
    pass
