"""Each store finds only sentences of documents that a filter of the store names."""

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.stores import IO, StoreAdapter, adapter_of
from tests.live_stores.makers import CASES
from tests.toys import WordEmbeddings

NAMES = ["a", "b.md", "path/c d", 'quote "q"']


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("MongoDB", "Weaviate")])
async def test_only_sentences_of_the_documents_are_found(
    name: str, request: pytest.FixtureRequest, words: WordEmbeddings
) -> None:
    await check_finds_only(CASES[name].maker(request)(words), escapes=name != "Milvus")


@pytest.mark.parametrize("make", [FaissStore, InMemoryVectorStore])
async def test_our_store_and_the_one_in_memory(make: Any, words: WordEmbeddings) -> None:
    await check_finds_only(make(words))


async def check_finds_only(store: VectorStore, *, escapes: bool = True) -> None:
    SentenceWindowRetriever(vectorstore=store).add_documents([Document("Cats eat fish.", id=name) for name in NAMES])
    adapter = adapter_of(store)
    for wanted in (["a"], ["b.md", "path/c d"], ['quote "q"', "a", "absent"]):
        of_documents = adapter.of_documents(wanted)
        if of_documents is None:
            assert not escapes
            assert NAMES[3] in wanted
            continue
        found = await adapter.search(IO(), "cats", {"k": 10, adapter.filter_name: adapter.join([of_documents])})
        assert sorted(adapter.read(document).doc_id for document, _ in found) == sorted(set(wanted) & set(NAMES))


def test_an_unknown_store_gets_no_filter(words: WordEmbeddings) -> None:
    assert StoreAdapter(InMemoryVectorStore(words)).of_documents(["a"]) is None
