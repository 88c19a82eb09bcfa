"""The conformance suite on stores whose servers don't start here: their clients speak with loopback servers."""

from typing import Any

import pytest

from langchain_sentence_window.testing import MakeStore, SentenceWindowStoreTests
from tests.live_stores import makers


class WireTests(SentenceWindowStoreTests):
    many = 2_000


class TestElasticsearch(WireTests):
    @pytest.fixture
    def make_store(self, elasticsearch: Any) -> MakeStore:
        return lambda embedding: makers.elasticsearch(embedding, elasticsearch)

    def tenant_filter(self, tenant: str) -> Any:
        return [{"term": {"metadata.tenant.keyword": tenant}}]


class TestMongoDB(WireTests):
    @pytest.fixture
    def make_store(self, mongodb: Any) -> MakeStore:
        return lambda embedding: makers.mongodb(embedding, mongodb)

    def tenant_filter(self, tenant: str) -> Any:
        return {"tenant": {"$eq": tenant}}


class TestPinecone(WireTests):
    @pytest.fixture
    def make_store(self, pinecone_url: str) -> MakeStore:
        return lambda embedding: makers.pinecone(embedding, pinecone_url)


class TestWeaviate(WireTests):
    @pytest.fixture
    def make_store(self, weaviate: Any) -> MakeStore:
        return lambda embedding: makers.weaviate(embedding, weaviate)

    def tenant_filter(self, tenant: str) -> Any:
        from weaviate.classes.query import Filter

        return Filter.by_property("tenant").equal(tenant)
