"""Filters for single documents, in the form of other vector stores."""

from collections.abc import Callable

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window._io import BLOCKING
from langchain_sentence_window.adapters.registry import adapter_of
from tests.toys import WordEmbeddings

NAMES = ["a", "b.md", "path/c d", 'quote "q"']


def chroma(words: WordEmbeddings) -> VectorStore:
    from langchain_chroma import Chroma

    store: VectorStore = Chroma(collection_name="of_documents", embedding_function=words)
    return store


def qdrant(words: WordEmbeddings) -> VectorStore:
    from langchain_qdrant import QdrantVectorStore
    from qdrant_client import QdrantClient
    from qdrant_client.models import Distance, VectorParams

    client = QdrantClient(":memory:")
    size = len(words.embed_query("a"))
    client.create_collection("texts", vectors_config=VectorParams(size=size, distance=Distance.COSINE))
    store: VectorStore = QdrantVectorStore(client, "texts", words)
    return store


@pytest.mark.parametrize("make", [chroma, qdrant])
@pytest.mark.parametrize("wanted", [["a"], ["b.md", "path/c d"], ['quote "q"', "a", "absent"]])
async def test_only_sentences_of_the_documents_are_found(
    make: Callable[[WordEmbeddings], VectorStore], wanted: list[str], words: WordEmbeddings
) -> None:
    store = make(words)
    SentenceWindowRetriever(vectorstore=store).add_documents([Document("Cats eat fish.", id=name) for name in NAMES])
    adapter = adapter_of(store)
    of_documents = adapter.join([adapter.of_documents(wanted)])
    found = await adapter.search(BLOCKING, "cats", {"k": 10, adapter.filter_name([]): of_documents})
    assert sorted(adapter.read(document).doc_id for document, _ in found) == sorted(set(wanted) & set(NAMES))
