"""An async client beside Qdrant's store: the same answers, and no thread that waits."""

import asyncio
from typing import Any

import pytest
from langchain_core.documents import Document
from qdrant_client import AsyncQdrantClient, models

from langchain_sentence_window import NeighborMixedEmbeddings, SentenceWindowRetriever
from langchain_sentence_window.adapters.qdrant import use_async_client
from langchain_sentence_window.errors import InvalidInputError, StoreUnavailableError
from tests.live_stores import makers
from tests.live_stores.test_away import AsyncWords, NoThreads

TEXT = "A refund is quick. It takes days. Not in May. We pay. A card has a limit."
OF_A = models.Filter(must=[models.FieldCondition(key="metadata.tenant", match=models.MatchValue(value="a"))])


@pytest.fixture
def retriever() -> SentenceWindowRetriever:
    store = makers.qdrant(NeighborMixedEmbeddings(AsyncWords()))
    retriever = SentenceWindowRetriever(vectorstore=store, k=3)
    retriever.add_documents([Document(TEXT, id=name, metadata={"tenant": name[0]}) for name in ("a1", "a2", "b1")])
    return retriever


def client_of(store: Any) -> AsyncQdrantClient:
    """An async client of what a store in memory holds."""
    client = AsyncQdrantClient(":memory:")
    local: Any = client._client
    local.collections = store.client._client.collections
    return client


@pytest.mark.parametrize("settings", [{}, {"window": 2}, {"filter": OF_A}, {"filter": OF_A, "window": 1}])
async def test_it_answers_the_same_in_no_thread(
    retriever: SentenceWindowRetriever, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = retriever.vectorstore
    expected = await retriever.ainvoke("refund", **settings)
    assert expected
    use_async_client(store, client_of(store))
    assert retriever.invoke("refund", **settings) == expected
    with monkeypatch.context() as patched:
        patched.setattr(asyncio.get_running_loop(), "_default_executor", NoThreads())
        assert await retriever.ainvoke("refund", **settings) == expected
        assert sorted(each.doc_id for each in await retriever.adocuments()) == ["a1", "a2", "b1"]


async def test_a_server_that_is_away_is_named(retriever: SentenceWindowRetriever) -> None:
    client = AsyncQdrantClient(host="127.0.0.1", port=9, timeout=1, check_compatibility=False)
    use_async_client(retriever.vectorstore, client)
    with pytest.raises(StoreUnavailableError, match="QdrantVectorStore doesn't answer"):
        await retriever.ainvoke("refund")
    await client.close()


async def test_what_is_no_async_client_is_refused(retriever: SentenceWindowRetriever) -> None:
    store: Any = retriever.vectorstore
    with pytest.raises(InvalidInputError, match="give an AsyncQdrantClient"):
        use_async_client(store, store.client)
    with pytest.raises(InvalidInputError, match="give a QdrantVectorStore"):
        use_async_client(retriever, client_of(store))
