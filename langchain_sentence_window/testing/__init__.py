"""A conformance suite: does a LangChain vector store work with `SentenceWindowRetriever`?

A store's maintainer writes ten lines in a project with pytest and pytest-asyncio:

    import pytest
    from langchain_sentence_window.testing import SentenceWindowStoreTests
    from my_package import MyStore

    class TestMyStore(SentenceWindowStoreTests):
        @pytest.fixture
        def make_store(self, tmp_path):
            return lambda embedding: MyStore(embedding, path=tmp_path / uuid4().hex)

A class attribute says what the store can't do, and its tests are skipped with that reason. All embedders of the suite
make unit vectors of `DIMENSION` numbers, and all source documents have a ``tenant`` in their metadata.
"""

import pytest

# Failing assertions then show the values that were compared.
pytest.register_assert_rewrite("langchain_sentence_window.testing.suite")

from .material import DIMENSION, WordVectors  # noqa: E402
from .suite import MakeStore, SentenceWindowStoreTests  # noqa: E402

__all__ = ["DIMENSION", "MakeStore", "SentenceWindowStoreTests", "WordVectors"]
