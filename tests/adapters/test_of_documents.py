"""Filters for some source documents, in each store's own form."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window._io import BLOCKING
from langchain_sentence_window.adapters.milvus import MilvusAdapter
from langchain_sentence_window.adapters.registry import adapter_of
from langchain_sentence_window.adapters.store_adapter import StoreAdapter
from tests.toys import WordEmbeddings

NAMES = ["a", "b.md", "path/c d", 'quote "q"']


WANTED = pytest.mark.parametrize("wanted", [["a"], ["b.md", "path/c d"], ['quote "q"', "a", "absent"]])


async def check_finds_only(store: VectorStore, wanted: list[str]) -> None:
    SentenceWindowRetriever(vectorstore=store).add_documents([Document("Cats eat fish.", id=name) for name in NAMES])
    adapter = adapter_of(store)
    of_documents = adapter.join([adapter.of_documents(wanted)])
    found = await adapter.search(BLOCKING, "cats", {"k": 10, adapter.filter_name: of_documents})
    assert sorted(adapter.read(document).doc_id for document, _ in found) == sorted(set(wanted) & set(NAMES))


@pytest.mark.parametrize("make", [FaissStore, InMemoryVectorStore])
@WANTED
async def test_only_sentences_of_the_documents_are_found(
    make: Callable[[WordEmbeddings], VectorStore], wanted: list[str], words: WordEmbeddings
) -> None:
    await check_finds_only(make(words), wanted)


def test_a_store_that_is_not_known_gets_no_filter(words: WordEmbeddings) -> None:
    assert StoreAdapter(InMemoryVectorStore(words)).of_documents(["a"]) is None


@pytest.mark.parametrize(
    ("doc_ids", "expression"),
    [
        (["a", "b.md"], 'doc_id in ["a", "b.md"]'),
        (["path/c d"], 'doc_id in ["path/c d"]'),
        (['quote "q"'], None),
        (["a\\"], None),
        (["a\n"], None),
    ],
)
def test_the_expression_for_milvus_holds_nothing_to_escape(doc_ids: list[str], expression: str | None) -> None:
    class Store:
        _metadata_field: Any = None

    assert MilvusAdapter(Store()).of_documents(doc_ids) == expression
