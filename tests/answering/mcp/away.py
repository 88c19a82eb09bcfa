"""A store whose server can be away, as a user's own adapter tells, and tools over it."""

import asyncio
import threading
from typing import Any

from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.adapters.local_stores import InMemoryAdapter
from langchain_sentence_window.adapters.registry import register
from tests.patience import PATIENCE
from tests.toys import WordEmbeddings, document


class RemoteStore(InMemoryVectorStore):
    """Fails as often as it is told to, or waits until it may go on; counts how often it is asked."""

    failures = 0
    asked = 0
    going_on: threading.Event

    def _reach(self) -> None:
        self.asked += 1
        self.going_on.wait(PATIENCE)
        if self.failures:
            self.failures -= 1
            raise ConnectionRefusedError("db.internal:5432 refused user=secret")

    def similarity_search_with_score(self, *given: Any, **keywords: Any) -> Any:
        self._reach()
        return super().similarity_search_with_score(*given, **keywords)

    async def asimilarity_search_with_score(self, *given: Any, **keywords: Any) -> Any:
        await asyncio.to_thread(self._reach)
        return await super().asimilarity_search_with_score(*given, **keywords)

    def get_by_ids(self, *given: Any) -> list[Document]:
        self._reach()
        return super().get_by_ids(*given)

    async def aget_by_ids(self, *given: Any) -> list[Document]:
        return await asyncio.to_thread(self.get_by_ids, *given)


class RemoteAdapter(InMemoryAdapter):
    away_errors = frozenset({"builtins.ConnectionRefusedError"})


register(RemoteStore, RemoteAdapter)


def remote_retriever() -> SentenceWindowRetriever:
    store = RemoteStore(WordEmbeddings())
    store.going_on = threading.Event()
    store.going_on.set()
    retriever = SentenceWindowRetriever(vectorstore=store, k=1, window=1)
    retriever.add_documents([document("It begins. A refund is quick. It takes days.", "terms")])
    store.asked = 0
    return retriever
