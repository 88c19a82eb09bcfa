"""A conformance suite: does a LangChain vector store work under `SentenceWindowRetriever`?

A store's maintainer writes ten lines, in a project with pytest and pytest-asyncio::

    import pytest
    from langchain_sentence_window.testing import SentenceWindowStoreTests
    from my_package import MyStore

    class TestMyStore(SentenceWindowStoreTests):
        @pytest.fixture
        def make_store(self, tmp_path):
            return lambda embedding: MyStore(embedding, path=tmp_path / uuid4().hex)

What a store has no notion of is said by a class attribute, and skipped with that reason. All embedders of the
suite make vectors of `DIMENSION` numbers and length 1, and all sources have a ``tenant`` in their metadata.
"""

import pytest

# So that a failing assertion says what was compared.
pytest.register_assert_rewrite("langchain_sentence_window.testing.suite")

from langchain_sentence_window.testing.material import DIMENSION, WordVectors  # noqa: E402
from langchain_sentence_window.testing.suite import MakeStore, SentenceWindowStoreTests  # noqa: E402

__all__ = ["DIMENSION", "MakeStore", "SentenceWindowStoreTests", "WordVectors"]
