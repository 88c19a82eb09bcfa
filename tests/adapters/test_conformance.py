"""The conformance suite on the stores of this package and of LangChain."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import FaissStore, SentenceSplitter
from langchain_sentence_window.stores import NeighborMixedEmbeddings
from langchain_sentence_window.testing import MakeStore, SentenceWindowStoreTests


class TestFaissStore(SentenceWindowStoreTests):
    @pytest.fixture
    def make_store(self, tmp_path: Path) -> MakeStore:
        def make(embedding: Embeddings) -> FaissStore:
            weights = embedding.neighbor_weights if isinstance(embedding, NeighborMixedEmbeddings) else (1,)
            return FaissStore(embedding, tmp_path / uuid4().hex, neighbor_weights=weights)

        return make


class TestInMemoryVectorStore(SentenceWindowStoreTests):
    @pytest.fixture
    def make_store(self) -> MakeStore:
        return InMemoryVectorStore

    def tenant_filter(self, tenant: str) -> Any:
        return lambda document: document.metadata["tenant"] == tenant


class WithoutIds(InMemoryVectorStore):
    """A store that can't fetch by id."""

    def get_by_ids(self, ids: Any, /) -> list[Document]:
        raise NotImplementedError

    async def aget_by_ids(self, ids: Any, /) -> list[Document]:
        raise NotImplementedError


@pytest.mark.slow
class TestInlineWindows(TestInMemoryVectorStore):
    splitter = SentenceSplitter(inline_window=3)

    @pytest.fixture
    def make_store(self) -> MakeStore:
        return WithoutIds
