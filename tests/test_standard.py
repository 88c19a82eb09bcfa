"""LangChain's own integration suites, all of their tests."""

from collections.abc import Generator
from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import RetrieversIntegrationTests, VectorStoreIntegrationTests

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from tests.toys import VOCABULARY, WordEmbeddings


class TestFaissStoreInMemory(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self) -> Generator[VectorStore, None, None]:
        with FaissStore(self.get_embeddings()) as store:
            yield store


class TestFaissStoreOnDisk(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, tmp_path: Path) -> Generator[VectorStore, None, None]:
        with FaissStore(self.get_embeddings(), tmp_path / "index") as store:
            yield store


class TestRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[SentenceWindowRetriever]:
        return SentenceWindowRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, VectorStore]:
        embedding: Embeddings = WordEmbeddings()
        documents = [Document(page_content=f"All about a {word}.") for word in VOCABULARY]
        return {"vectorstore": SentenceWindowRetriever.from_documents(documents, embedding).vectorstore}

    @property
    def retriever_query_example(self) -> str:
        return "refund annual"
