"""Tools while the store's server doesn't answer: they try again, and give up in time."""

import asyncio
import logging
import re
import threading
from typing import Any

import pytest

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.apps.mcp import mcp_tools as patience
from langchain_sentence_window.apps.mcp.mcp_server import create_mcp_server
from langchain_sentence_window.errors import InvalidInputError
from tests.answering.mcp.away import RemoteStore, remote_retriever
from tests.answering.mcp.conftest import called, text_of
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
    r"\w+ gave no answer within 0\.[25] s, as the server is busy\. Try again in 1 s; if that fails too, tell the user "
    r"that it is busy now\."
)


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "_PAUSES", (0.0,) * 4)


def store_of(retriever: SentenceWindowRetriever) -> RemoteStore:
    assert isinstance(retriever.vectorstore, RemoteStore)
    return retriever.vectorstore


@pytest.mark.usefixtures("quickly")
@pytest.mark.parametrize(("name", "arguments"), CALLS)
async def test_a_tool_tries_again_until_the_store_is_back(name: str, arguments: dict[str, Any]) -> None:
    remote = remote_retriever()
    expected = await called(create_mcp_server(remote), name, arguments)
    store_of(remote).failures = 4
    assert await called(create_mcp_server(remote), name, arguments) == expected
    assert not expected.is_error


@pytest.mark.usefixtures("quickly")
@pytest.mark.parametrize(("name", "arguments"), CALLS)
async def test_it_gives_up_after_five_tries_and_tells_no_address(
    name: str, arguments: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    remote = remote_retriever()
    store_of(remote).failures = 1_000
    failed = await called(create_mcp_server(remote), name, arguments)
    assert failed.is_error
    assert text_of(failed) == f"{name} {AWAY}"
    assert store_of(remote).asked == 5
    (record,) = (each for each in caplog.records if each.levelno >= logging.WARNING)
    assert "db.internal:5432" in record.getMessage()
    assert record.exc_info is None
    assert "\n" not in record.getMessage()


@pytest.mark.parametrize(("name", "arguments"), CALLS)
async def test_a_call_that_takes_too_long_says_when_to_try_again(
    name: str, arguments: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    remote = remote_retriever()
    server = create_mcp_server(remote, timeout=0.2)
    store_of(remote).going_on.clear()
    failed = await called(server, name, arguments)
    store_of(remote).going_on.set()
    assert failed.is_error
    assert BUSY.fullmatch(text_of(failed))
    assert text_of(failed).startswith(name)
    (record,) = (each for each in caplog.records if each.levelno >= logging.WARNING)
    assert (record.getMessage(), record.exc_info) == (f"{name} gave no answer within 0.2 s", None)
    async with asyncio.timeout(PATIENCE):  # on a busy machine a call may take longer than the limit, now and then
        while (await called(server, name, arguments)).is_error:
            pass


async def test_time_is_limited_however_often_it_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "_PAUSES", (PATIENCE,) * 4)
    remote = remote_retriever()
    store_of(remote).failures = 1_000
    failed = await called(create_mcp_server(remote, timeout=0.5), "search", {"query": "refund"})
    assert store_of(remote).asked <= 1  # not even once, where the machine is busy
    assert text_of(failed) == f"search {AWAY}" or BUSY.fullmatch(text_of(failed))


async def test_no_limit_is_no_limit() -> None:
    remote = remote_retriever()
    store_of(remote).going_on.clear()
    threading.Timer(0.2, store_of(remote).going_on.set).start()
    assert not (await called(create_mcp_server(remote, timeout=None), "search", {"query": "refund"})).is_error


@pytest.mark.usefixtures("quickly")
async def test_what_is_no_absence_is_not_tried_again() -> None:
    tries = []

    class Broken(WordEmbeddings):
        def embed_query(self, text: str) -> list[float]:
            tries.append(text)
            raise ConnectionRefusedError("the model's, not the store's")

    retriever = SentenceWindowRetriever.from_documents([document("A refund.")], Broken())
    failed = await called(create_mcp_server(retriever), "search", {"query": "refund"})
    assert "failed on the server" in text_of(failed)
    assert tries == ["refund"]


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), True, "5", b"5"])
def test_a_limit_that_is_none_is_refused(timeout: Any) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(f"timeout is {timeout!r}; give seconds above 0")):
        create_mcp_server(remote_retriever(), timeout=timeout)
