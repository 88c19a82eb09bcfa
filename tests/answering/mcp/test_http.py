"""The server over HTTP on loopback: who gets in."""

import asyncio
import inspect
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.auth.settings import AuthSettings
from pydantic import AnyHttpUrl

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.apps.hosts import LOOPBACK
from langchain_sentence_window.apps.mcp.mcp_server import create_mcp_server, serve_mcp
from langchain_sentence_window.apps.mcp.mcp_transports import MAX_SESSIONS, SESSION_IDLE_SECONDS, OneToken, http_app
from tests.answering.mcp.conftest import text_of
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[3]
TOKEN = "-".join(["t0ken", "of", "many", "letters"])
PING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


@contextmanager
def listening(app: Any) -> Iterator[int]:
    """Serve on a free port until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([free])))
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive()
                time.sleep(0.01)
            yield free.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


def status(port: int, path: str = "/mcp", method: str = "POST", **headers: str) -> int:
    """Return what a request with these headers is answered with."""
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(method, path, json.dumps(PING), sent)
        return connection.getresponse().status
    finally:
        connection.close()


async def search(port: int, token: str | None = None) -> str:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False, timeout=PATIENCE) as http,
        Client(streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)) as client,
    ):
        (found,) = (await client.call_tool("search", {"query": "refund"})).structured_content["results"]
    text: str = found["text"]
    return text


@pytest.fixture
def app(retriever: SentenceWindowRetriever) -> Any:
    return http_app(create_mcp_server(retriever), names=LOOPBACK, token=None)


@pytest.fixture
def guarded(retriever: SentenceWindowRetriever) -> Any:
    return http_app(create_mcp_server(retriever), names=[*LOOPBACK, "search.example.com"], token=TOKEN)


async def test_a_client_on_this_machine_searches(app: Any) -> None:
    with listening(app) as port:
        assert await search(port) == "A refund is quick."


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        *(("127.0.0.1:PORT", 200), ("localhost:PORT", 200), ("[::1]:PORT", 200), ("localhost", 200)),
        *(("evil.example.com", 421), ("evil.example.com:PORT", 421), ("localhost.evil.example.com:PORT", 421)),
        *(("127.0.0.1.evil.example.com", 421), ("", 421)),
    ],
)
def test_a_request_for_another_host_is_refused(app: Any, host: str, expected: int) -> None:
    with listening(app) as port:
        assert status(port, Host=host.replace("PORT", str(port))) == expected


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
def test_it_is_refused_by_any_method_and_version(app: Any, method: str, version: str) -> None:
    with listening(app) as port:
        refused = status(port, method=method, Host="evil.example.com", MCP_Protocol_Version=version)
        assert refused in (403, 405, 421)
        # With the right host, the answer is another one: the host was what was wrong.
        assert refused == 405 or status(port, method=method, MCP_Protocol_Version=version) != refused


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("http://localhost:PORT", 200),
        *(("https://evil.example.com", 403), ("null", 403), ("http://localhost.evil.example.com", 403)),
    ],
)
def test_a_request_of_a_page_from_elsewhere_is_refused(app: Any, origin: str, expected: int) -> None:
    with listening(app) as port:
        assert status(port, Origin=origin.replace("PORT", str(port))) == expected


async def test_the_right_token_gets_in(guarded: Any) -> None:
    with listening(guarded) as port:
        assert await search(port, TOKEN) == "A refund is quick."
        assert status(port, Authorization=f"Bearer {TOKEN}", Host="search.example.com") == 200
        assert status(port, Authorization=f"Bearer {TOKEN}", Host="search.example.com:443") == 200
        assert status(port, Authorization=f"Bearer {TOKEN}", Host="evil.example.com") == 421


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": ""},
        {"Authorization": TOKEN},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": f"Bearer {TOKEN.upper()}"},
        {"Authorization": "Bearer \xfc"},
    ],
)
def test_no_other_token_does(guarded: Any, headers: dict[str, str]) -> None:
    with listening(guarded) as port:
        for path in ("/mcp", "/", "/mcp/", "/other"):
            assert status(port, path, **headers) == 401


async def test_authorization_of_the_sdk_guards_as_well(retriever: SentenceWindowRetriever) -> None:
    auth = AuthSettings(issuer_url=AnyHttpUrl("https://login.example.com"), resource_server_url=None)
    server = create_mcp_server(retriever, auth=auth, token_verifier=OneToken(TOKEN))
    with listening(http_app(server, names=LOOPBACK, token=None)) as port:
        assert status(port) == 401
        assert status(port, Authorization="Bearer wrong") == 401
        assert await search(port, TOKEN) == "A refund is quick."


def opened(port: int, session: str | None = None, body: Any = PING) -> tuple[int, str | None]:
    """Return what a request is answered with, and its session."""
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    headers |= {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-06-18"} if session else {}
    try:
        connection.request("POST", "/mcp", json.dumps(body), headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.getheader("Mcp-Session-Id")
    finally:
        connection.close()


def test_a_session_ends_and_its_client_begins_another(retriever: SentenceWindowRetriever) -> None:
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    app = http_app(create_mcp_server(retriever), names=LOOPBACK, token=None, session_idle_timeout=0.05)
    with listening(app) as port:
        _, session = opened(port)
        until = time.monotonic() + PATIENCE
        # A request keeps it, so it must be left alone for longer than that.
        while (answer := opened(port, session, listing)[0]) != 404:
            assert answer == 200
            assert time.monotonic() < until
            time.sleep(0.2)
        status_, again = opened(port)
        assert (status_, again not in (None, session)) == (200, True)


def test_there_are_so_many_sessions_at_once(retriever: SentenceWindowRetriever) -> None:
    app = http_app(create_mcp_server(retriever), names=LOOPBACK, token=None, max_sessions=3)
    with listening(app) as port:
        sessions = [opened(port)[1] for _ in range(3)]
        assert opened(port)[0] == 503
        assert status(port, method="DELETE", Mcp_Session_Id=str(sessions[0])) == 200
        assert opened(port)[0] == 200


def test_sessions_are_bounded_unless_said_otherwise(retriever: SentenceWindowRetriever) -> None:
    server = create_mcp_server(retriever)
    http_app(server, names=LOOPBACK, token=None)
    manager = server.session_manager
    assert (manager.session_idle_timeout, manager.max_sessions) == (1_800, 1_000)
    of_serving = inspect.signature(serve_mcp).parameters
    assert of_serving["session_idle_timeout"].default == SESSION_IDLE_SECONDS == 1_800
    assert of_serving["max_sessions"].default == MAX_SESSIONS == 1_000


async def test_many_calls_at_once_are_all_answered(retriever: SentenceWindowRetriever) -> None:
    with listening(http_app(create_mcp_server(retriever, timeout=None), names=LOOPBACK, token=None)) as port:
        limits = httpx2.Limits(max_connections=None)
        async with (
            httpx2.AsyncClient(trust_env=False, timeout=PATIENCE, limits=limits) as http,
            Client(streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)) as client,
        ):
            calls = [client.call_tool("verify_quote", {"quote": "A refund is quick."}) for _ in range(200)]
            results = await asyncio.gather(*calls)
    assert {result.structured_content["verdict"] for result in results} == {"verbatim"}


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[int, list[str]]]:
    """Serve in a process until Ctrl-C; the lines of its log are there when the block has ended."""
    log: list[str] = []
    with subprocess.Popen(
        [sys.executable, "-m", "tests.answering.mcp.serving", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            while not log or "running on" not in log[-1]:
                log.append(process.stderr.readline())
                assert log[-1]
            yield int(log[-1].partition("http://127.0.0.1:")[2].split()[0]), log
        finally:
            if sys.platform == "win32":
                process.kill()
            else:
                process.send_signal(signal.SIGINT)
        log += process.communicate(timeout=PATIENCE)[1].splitlines()
        assert sys.platform == "win32" or process.returncode == 0


TIMED = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (\w+) [\w.]+: (.*)", re.DOTALL)


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("token", [None, TOKEN])
async def test_it_serves_as_a_process_until_ctrl_c(token: str | None) -> None:
    with serving("http", "0", *([token] if token else [])) as (port, log):
        assert await search(port, token) == "A refund is quick."
        if token:
            assert status(port, Authorization="Bearer wrong") == 401
        assert status(port, Host="evil.example.com", Authorization=f"Bearer {token}") == 421
    assert all(map(TIMED.match, log))


@pytest.mark.process
@pytest.mark.slow
async def test_a_call_that_takes_too_long_is_a_line_of_the_log() -> None:
    with serving("busy", "0") as (port, log):
        async with (
            httpx2.AsyncClient(trust_env=False, timeout=PATIENCE) as http,
            Client(streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)) as client,
        ):
            failed = await client.call_tool("search", {"query": "refund"})
    assert failed.is_error
    assert "the server is busy. Try again in 1 s" in text_of(failed)
    lines = [match for match in map(TIMED.match, log) if match]
    assert len(lines) == len(log)
    warnings = [match[2].rstrip() for match in lines if match[1] == "WARNING"]
    assert warnings == ["search gave no answer within 0.1 s"]
