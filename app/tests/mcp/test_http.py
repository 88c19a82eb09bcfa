"""The server over HTTP: who gets in, sessions, ``/health``, and its end."""

import asyncio
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from app.tests.mcp.conftest import answered, listening, status
from app.tests.mcp.test_patience import remote_retriever, store_of
from langchain_sentence_window import SentenceWindowRetriever
from sentence_window.mcp import create_mcp_server
from tests.patience import PATIENCE, until

ROOT = Path(__file__).parents[3]
TOKEN = "-".join(["t0ken", "of", "many", "letters"])


async def call_over_http(port: int, name: str, arguments: dict[str, Any], times: int = 1) -> list[Any]:
    """Call a tool with the token, several times at once, and return the structured results."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    limits = httpx2.Limits(max_connections=None)
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False, timeout=PATIENCE, limits=limits) as http,
        Client(streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)) as client,
    ):
        results = await asyncio.gather(*(client.call_tool(name, arguments) for _ in range(times)))
    return [result.structured_content for result in results]


def test_requests_of_other_hosts_and_pages_are_refused(retriever: SentenceWindowRetriever) -> None:
    with listening(create_mcp_server(retriever)) as port:
        for host, expected in (
            *((name, 200) for name in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}", "localhost")),
            *((name, 421) for name in ("evil.example.com", f"evil.example.com:{port}", "")),
            *((f"{name}.evil.example.com:{port}", 421) for name in ("localhost", "127.0.0.1")),
        ):
            assert status(port, Host=host) == expected, host
        for origin, expected in (
            (f"http://localhost:{port}", 200),
            *((name, 403) for name in ("https://evil.example.com", "null", "http://localhost.evil.example.com")),
        ):
            assert status(port, Origin=origin) == expected, origin
        for method in ("POST", "GET", "DELETE"):
            for version in ("2025-06-18", "2026-07-28"):
                headers = {"method": method, "MCP_Protocol_Version": version}
                refused = status(port, Host="evil.example.com", **headers)
                assert refused in (403, 405, 421)
                # With the right host, the status differs, so the host was the reason.
                assert refused == 405 or status(port, **headers) != refused


async def test_only_the_right_token_gets_in(retriever: SentenceWindowRetriever) -> None:
    with listening(create_mcp_server(retriever), names=["search.example.com"], token=TOKEN) as port:
        (found,) = await call_over_http(port, "search", {"query": "refund"})
        assert [each["text"] for each in found["results"]] == ["A refund is quick."]
        right = f"Bearer {TOKEN}"
        for host, expected in (("search.example.com", 200), ("search.example.com:443", 200), ("evil.example.com", 421)):
            assert status(port, Host=host, Authorization=right) == expected
        for path in ("/mcp", "/", "/mcp/", "/other"):
            assert status(port, path) == 401
            for wrong in (
                *("", TOKEN, f"Basic {TOKEN}", "Bearer ", "Bearer wrong", "Bearer \xfc"),
                *(f"Bearer {each}" for each in (TOKEN[:-1], f"{TOKEN}x", TOKEN.upper())),
            ):
                assert status(port, path, Authorization=wrong) == 401, wrong


async def test_many_calls_at_once_are_all_answered(retriever: SentenceWindowRetriever) -> None:
    with listening(create_mcp_server(retriever, timeout=None), token=TOKEN) as port:
        results = await call_over_http(port, "verify_quote", {"quote": "A refund is quick."}, times=40)
    assert [each["verdict"] for each in results] == ["verbatim"] * 40


def test_an_idle_session_ends_and_its_client_begins_another(retriever: SentenceWindowRetriever) -> None:
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    with listening(create_mcp_server(retriever), session_idle_timeout=0.05) as port:
        session = str(answered(port)[2])
        headers = {"Mcp_Session_Id": session, "MCP_Protocol_Version": "2025-06-18"}
        end = time.monotonic() + PATIENCE
        while (code := answered(port, message=listing, **headers)[0]) != 404:
            assert code == 200
            assert time.monotonic() < end
            time.sleep(0.2)  # a request keeps the session
        code, _, another = answered(port)
        assert (code, another not in (None, session)) == (200, True)


def test_sessions_are_limited(retriever: SentenceWindowRetriever) -> None:
    with listening(create_mcp_server(retriever), max_sessions=3) as port:
        sessions = [answered(port)[2] for _ in range(3)]
        assert status(port) == 503
        assert status(port, method="DELETE", Mcp_Session_Id=str(sessions[0])) == 200
        assert status(port) == 200


def health(port: int, method: str = "GET", **headers: str) -> tuple[int, str]:
    return answered(port, "/health", method, **headers)[:2]


@pytest.mark.parametrize("token", [None, TOKEN])
def test_health_needs_no_token_and_says_one_word(token: str | None, caplog: pytest.LogCaptureFixture) -> None:
    remote = remote_retriever()
    store = store_of(remote)
    with listening(create_mcp_server(remote), token=token) as port:
        for _ in range(5):
            assert health(port) == (200, '{"status":"ok"}')
        assert store.asked == 1  # one answer counts for a second
        assert health(port, Host="10.0.0.7:8000", Authorization="Bearer wrong") == (200, '{"status":"ok"}')
        assert health(port, "HEAD") == (200, "")
        assert status(port, "/health", "POST") == (401 if token else 405)
        store.failures = 1_000_000
        until(lambda: health(port) == (503, '{"status":"unavailable"}'))
        store.failures = 0
        until(lambda: health(port) == (200, '{"status":"ok"}'))
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        "the store doesn't answer: StoreUnavailableError",
        "the store answers again",
    ]


@pytest.mark.slow
def test_a_store_that_hangs_is_reported_in_time() -> None:
    remote = remote_retriever()
    with listening(create_mcp_server(remote)) as port:
        store_of(remote).goes_on.clear()
        assert health(port) == (503, '{"status":"unavailable"}')
        store_of(remote).goes_on.set()
        until(lambda: health(port)[0] == 200)


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C can't be sent to one process there")
def test_it_serves_as_a_process_until_ctrl_c() -> None:
    command = [sys.executable, "-m", "app.tests.mcp.serving", "http", "0", TOKEN]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        log: list[str] = []
        while not log or "running on" not in log[-1]:
            log.append(process.stderr.readline())
            assert log[-1]
        port = int(log[-1].partition("http://127.0.0.1:")[2].split()[0])
        (found,) = asyncio.run(call_over_http(port, "search", {"query": "refund"}))
        assert found["results"][0]["text"] == "A refund is quick."
        assert status(port, Authorization="Bearer wrong") == 401
        process.send_signal(signal.SIGINT)
        log += process.communicate(timeout=PATIENCE)[1].splitlines()
        assert process.returncode == 0
    timed = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} \w+ [\w.]+: .*", re.DOTALL)
    assert all(map(timed.match, log))
