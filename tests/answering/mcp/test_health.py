"""``/health`` over HTTP: whether the store answers, without a token and without secrets."""

import asyncio
from http.client import HTTPConnection
from typing import Any

import pytest

from langchain_sentence_window.apps.hosts import LOOPBACK
from langchain_sentence_window.apps.mcp import mcp_transports as health
from langchain_sentence_window.apps.mcp.mcp_server import create_mcp_server
from langchain_sentence_window.apps.mcp.mcp_transports import Health, http_app
from tests.answering.mcp.away import RemoteStore, remote_retriever
from tests.answering.mcp.test_http import TOKEN, listening, status
from tests.patience import PATIENCE


def asked(port: int, method: str = "GET", **headers: str) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request(method, "/health", headers=headers)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize("token", [None, TOKEN])
def test_it_needs_no_token_and_tells_no_more_than_a_word(token: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_FRESH_SECONDS", 0)
    remote = remote_retriever()
    with listening(http_app(create_mcp_server(remote), names=LOOPBACK, token=token)) as port:
        assert asked(port) == (200, '{"status":"ok"}')
        assert asked(port, Host="10.0.0.7:8000", Authorization="Bearer wrong") == (200, '{"status":"ok"}')
        assert asked(port, "HEAD") == (200, "")
        assert asked(port, "POST")[0] == (401 if token else 405)
        store: Any = remote.vectorstore
        store.failures = 1
        assert asked(port) == (503, '{"status":"unavailable"}')
        assert asked(port) == (200, '{"status":"ok"}')
        assert status(port) == (401 if token else 200)


async def test_many_who_ask_at_once_ask_the_store_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_FRESH_SECONDS", PATIENCE)
    remote = remote_retriever()
    assert isinstance(remote.vectorstore, RemoteStore)
    checked = Health(remote, PATIENCE)
    assert await asyncio.gather(*(checked.is_well() for _ in range(20))) == [True] * 20
    assert await checked.is_well()
    assert remote.vectorstore.asked == 1


async def test_a_store_that_hangs_is_unwell_in_time_and_its_recovery_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(health, "_FRESH_SECONDS", 0)
    remote = remote_retriever()
    assert isinstance(remote.vectorstore, RemoteStore)
    checked = Health(remote, seconds=0.1)
    remote.vectorstore.going_on.clear()
    assert [await checked.is_well() for _ in range(2)] == [False] * 2
    remote.vectorstore.going_on.set()
    checked.seconds = PATIENCE
    assert [await checked.is_well() for _ in range(2)] == [True] * 2
    assert [record.getMessage() for record in caplog.records] == [
        "the store doesn't answer: TimeoutError",
        "the store answers again",
    ]


async def test_one_who_leaves_does_not_end_the_check_of_others() -> None:
    remote = remote_retriever()
    assert isinstance(remote.vectorstore, RemoteStore)
    checked = Health(remote, PATIENCE)
    remote.vectorstore.going_on.clear()
    first, second = (asyncio.create_task(checked.is_well()) for _ in range(2))
    await asyncio.sleep(0.05)
    first.cancel()
    remote.vectorstore.going_on.set()
    assert await second
