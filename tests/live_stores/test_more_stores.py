"""The conformance suite on further stores, the real ones; ``make test-stores`` runs it."""

from pathlib import Path
from typing import Any

import pytest

from langchain_sentence_window.testing import MakeStore, SentenceWindowStoreTests
from tests.live_stores import makers


class TestLanceDB(SentenceWindowStoreTests):
    @pytest.fixture
    def make_store(self, tmp_path: Path) -> MakeStore:
        return lambda embedding: makers.lancedb(embedding, tmp_path)


class TestRedis(SentenceWindowStoreTests):
    @pytest.fixture
    def make_store(self, redis_socket: str) -> MakeStore:
        return lambda embedding: makers.redis(embedding, redis_socket)

    def tenant_filter(self, tenant: str) -> Any:
        from redisvl.query.filter import Tag

        return Tag("tenant") == tenant


class TestMariaDB(SentenceWindowStoreTests):
    @pytest.fixture
    def make_store(self, mariadb: Any) -> MakeStore:
        return lambda embedding: makers.mariadb(embedding, mariadb)
