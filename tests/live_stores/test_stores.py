"""The conformance suite on other stores, the real ones; ``make test-stores`` runs it."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window.testing import MakeStore, SentenceWindowStoreTests
from tests.live_stores import makers


class TestCommunityFaiss(SentenceWindowStoreTests):
    @pytest.fixture
    def make_store(self) -> MakeStore:
        return makers.community_faiss


class TestChroma(SentenceWindowStoreTests):
    @pytest.fixture
    def make_store(self, tmp_path: Path) -> MakeStore:
        return lambda embedding: makers.chroma(embedding, tmp_path)


class TestQdrant(SentenceWindowStoreTests):
    @pytest.fixture
    def make_store(self) -> MakeStore:
        return makers.qdrant

    def tenant_filter(self, tenant: str) -> Any:
        from qdrant_client.models import FieldCondition, Filter, MatchValue

        return Filter(must=[FieldCondition(key="metadata.tenant", match=MatchValue(value=tenant))])


class TestMilvus(SentenceWindowStoreTests):
    @pytest.fixture
    def make_store(self, tmp_path: Path) -> MakeStore:
        return lambda embedding: makers.milvus(embedding, tmp_path)

    def tenant_filter(self, tenant: str) -> Any:
        return f'tenant == "{tenant}"'


class TestPostgres(SentenceWindowStoreTests):
    @pytest.fixture
    def make_store(self, postgres: Any) -> MakeStore:
        return lambda embedding: makers.postgres(embedding, postgres)

    def settle(self, store: VectorStore) -> None:
        # Until deleted rows are vacuumed away, which PostgreSQL does about once a minute, an HNSW index finds
        # them first and returns fewer others.
        makers.vacuum(store)
