"""The conformance suite on other stores; ``make test-stores`` runs it."""

from typing import Any

import pytest
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window.testing import MakeStore, SentenceWindowStoreTests
from tests.live_stores.makers import CASES, StoreCase, vacuum


class TestStores(SentenceWindowStoreTests):
    case: StoreCase

    @pytest.fixture(params=CASES)
    def make_store(self, request: pytest.FixtureRequest) -> MakeStore:
        self.case = CASES[request.param]
        self.many = self.case.many
        return self.case.maker(request)

    def tenant_filter(self, tenant: str) -> Any:
        return self.case.tenant(tenant)

    def settle(self, store: VectorStore) -> None:
        # Until deleted rows are vacuumed away, which PostgreSQL does about once a minute, an HNSW index finds them
        # first and returns fewer others.
        if self.case is CASES["PostgreSQL"]:
            vacuum(store)
