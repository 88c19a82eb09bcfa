"""The conformance suite on the store and the adapter that the documentation shows."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.testing import MakeStore, SentenceWindowStoreTests, WordVectors
from tests.pages import DOCS, blocks_of

BLOCKS = [block.code for block in blocks_of((DOCS / "how-to" / "adapters.md").read_text(encoding="utf-8"))]
STORE, ADAPTER = (code for code in BLOCKS if "class Shelf" in code)


@pytest.fixture(scope="module")
def shelf_store() -> Any:
    names: dict[str, Any] = {"__name__": "documented"}
    exec(STORE + ADAPTER, names)  # noqa: S102
    return names["ShelfStore"]


@pytest.fixture
def make_store(shelf_store: Any) -> Iterator[MakeStore]:
    with ExitStack() as made:
        yield lambda embedding: made.enter_context(closing(shelf_store(embedding)))


@pytest.mark.slow
class TestShelfStore(SentenceWindowStoreTests):
    @pytest.fixture
    def make_store(self, make_store: MakeStore) -> MakeStore:
        return make_store


def test_an_adapter_is_short() -> None:
    assert len(ADAPTER.splitlines()) < 60


@pytest.mark.parametrize("filter", [{"tenant": {"$in": ["a"]}}, [["tenant"]], [["tenant", None]]])
def test_a_filter_that_the_store_cannot_read_is_refused(make_store: MakeStore, filter: Any) -> None:
    with pytest.raises(InvalidInputError, match="filters by keys with one value each"):
        SentenceWindowRetriever(vectorstore=make_store(WordVectors()), filter=filter)


def test_what_the_store_adds_is_not_shown(make_store: MakeStore) -> None:
    store = make_store(WordVectors())
    retriever = SentenceWindowRetriever(vectorstore=store)
    retriever.add_documents([Document(page_content="A refund.", id="a")])
    assert "_row" in store.similarity_search("refund")[0].metadata
    (window,) = retriever.invoke("refund")
    assert "_row" not in window.metadata | retriever.get(["a"])[0].metadata
