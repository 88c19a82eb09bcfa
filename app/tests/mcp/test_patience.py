"""Tools while the store's server doesn't answer: they try again, and give up in time."""

import asyncio
import logging
import re
import threading
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from app.tests.mcp.conftest import called, text_of
from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.errors import StoreUnavailableError
from sentence_window.mcp import create_mcp_server
from tests.patience import PATIENCE
from tests.toys import WordEmbeddings, document

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": "refund"}),
    ("fetch", {"id": "terms"}),
    ("read_around", {"doc_id": "terms", "first": 1, "last": 1}),
    ("verify_quote", {"quote": "A refund is quick."}),
]
AWAY = (
    "got no answer from the documents in time. Try again in a minute; if that fails too, tell the user that they can't "
    "be reached now."
)
BUSY = re.compile(
    r"\w+ gave no answer within 0\.2 s, as the server is busy\. Try again in 1 s; if that fails too, tell the user "
    r"that it is busy now\."
)


class RemoteStore(InMemoryVectorStore):
    """A store whose server fails ``failures`` times, or waits until ``goes_on`` is set; it counts requests."""

    failures = 0
    asked = 0
    goes_on: threading.Event

    def _reach(self) -> None:
        self.asked += 1
        self.goes_on.wait(PATIENCE)
        if self.failures:
            self.failures -= 1
            raise StoreUnavailableError("no answer") from ConnectionRefusedError("db.internal:5432 user=secret")

    async def asimilarity_search_with_score(self, *arguments: Any, **keywords: Any) -> Any:
        await asyncio.to_thread(self._reach)
        return await super().asimilarity_search_with_score(*arguments, **keywords)

    async def aget_by_ids(self, *arguments: Any) -> list[Document]:
        await asyncio.to_thread(self._reach)
        return await super().aget_by_ids(*arguments)


def remote_retriever() -> SentenceWindowRetriever:
    store = RemoteStore(WordEmbeddings())
    store.goes_on = threading.Event()
    store.goes_on.set()
    retriever = SentenceWindowRetriever(vectorstore=store, k=1, window=1)
    retriever.add_documents([document("It begins. A refund is quick. It takes days.", "terms")])
    return retriever


def store_of(retriever: SentenceWindowRetriever) -> RemoteStore:
    assert isinstance(retriever.vectorstore, RemoteStore)
    return retriever.vectorstore


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    sleep = asyncio.sleep
    monkeypatch.setattr(asyncio, "sleep", lambda seconds: sleep(0))


@pytest.mark.usefixtures("no_pauses")
@pytest.mark.parametrize(("name", "arguments"), CALLS)
async def test_a_tool_tries_five_times_and_hides_the_address(
    name: str, arguments: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    remote = remote_retriever()
    store = store_of(remote)
    expected = await called(create_mcp_server(remote), name, arguments)
    assert not expected.is_error
    store.failures = 4
    assert await called(create_mcp_server(remote), name, arguments) == expected
    store.failures, store.asked = 1_000, 0
    failed = await called(create_mcp_server(remote), name, arguments)
    assert failed.is_error
    assert text_of(failed) == f"{name} {AWAY}"
    assert store.asked == 5
    (record,) = (each for each in caplog.records if each.levelno >= logging.WARNING)
    assert "db.internal:5432" in record.getMessage()
    assert record.exc_info is None
    assert "\n" not in record.getMessage()


@pytest.mark.parametrize(("name", "arguments"), [CALLS[0], CALLS[2]])
async def test_a_call_that_takes_too_long_says_when_to_try_again(
    name: str, arguments: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    remote = remote_retriever()
    server = create_mcp_server(remote, timeout=0.2)
    store_of(remote).goes_on.clear()
    failed = await called(server, name, arguments)
    store_of(remote).goes_on.set()
    assert failed.is_error
    assert BUSY.fullmatch(text_of(failed))
    assert text_of(failed).startswith(name)
    (record,) = (each for each in caplog.records if each.levelno >= logging.WARNING)
    assert (record.getMessage(), record.exc_info) == (f"{name} gave no answer within 0.2 s", None)
    async with asyncio.timeout(PATIENCE):  # on a busy machine a call may take longer than the limit
        while (await called(server, name, arguments)).is_error:
            pass
