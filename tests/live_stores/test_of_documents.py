"""Filters for single documents, in the form of other vector stores."""

from collections.abc import Callable

import pytest
from langchain_core.vectorstores import VectorStore

from tests.adapters.test_of_documents import WANTED, check_finds_only
from tests.toys import WordEmbeddings


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
@WANTED
async def test_only_sentences_of_the_documents_are_found(
    make: Callable[[WordEmbeddings], VectorStore], wanted: list[str], words: WordEmbeddings
) -> None:
    await check_finds_only(make(words), wanted)
