"""LangChain's own suites, all of their tests."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.tools import BaseTool
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import (
    RetrieversIntegrationTests,
    ToolsIntegrationTests,
    VectorStoreIntegrationTests,
)
from langchain_tests.unit_tests import ToolsUnitTests

from langchain_sentence_window import FaissStore, SentenceWindowRetriever, create_tools
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


def tool_of(name: str) -> BaseTool:
    """One of the tools of a small index that one tenant reads."""
    documents = [Document(page_content=f"All about a {word}.", id=word, metadata={"n": 1}) for word in VOCABULARY]
    retriever = SentenceWindowRetriever.from_documents(documents, WordEmbeddings(), filter={"n": 1})
    return next(tool for tool in create_tools(retriever, prefix="terms_") if tool.name == f"terms_{name}")


class SearchTool:
    @property
    def tool_constructor(self) -> BaseTool:
        return tool_of("search")

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"query": "refund annual", "k": 2}


class ReadingTool:
    @property
    def tool_constructor(self) -> BaseTool:
        return tool_of("read_around")

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"doc_id": "refund", "first": 0, "last": 0, "before": 2, "after": 2}


class TestSearchToolUnit(SearchTool, ToolsUnitTests):
    pass


class TestSearchTool(SearchTool, ToolsIntegrationTests):
    pass


class TestReadingToolUnit(ReadingTool, ToolsUnitTests):
    pass


class TestReadingTool(ReadingTool, ToolsIntegrationTests):
    pass


def test_the_examples_of_the_tools_find_something() -> None:
    for example in (SearchTool(), ReadingTool()):
        assert "All about a refund." in example.tool_constructor.invoke(example.tool_invoke_params_example)
