"""Servers over a small index: their tools in memory, and their apps over HTTP on loopback."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any

import pytest
import uvicorn
from mcp import Client
from mcp.types import CallToolResult, TextContent

from langchain_sentence_window import SentenceWindowRetriever
from sentence_window.mcp import create_mcp_server, serve_mcp
from tests.patience import PATIENCE
from tests.toys import WordEmbeddings, document

Call = Callable[..., Awaitable[CallToolResult]]

TEXT = "It begins. We pay. A refund is quick. It takes days. Not in May.\n\n# Cards\n\nA card has a limit. It ends."
DOCUMENTS = [document(TEXT, "terms", source="terms.md"), document("A seat is free. Für alle.", "other")]
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def called(server: Any, name: str, arguments: dict[str, Any]) -> CallToolResult:
    """Call a tool as a client does; the text of a result is its structured content."""
    async with Client(server) as client:
        result = await client.call_tool(name, arguments)
    assert isinstance(result, CallToolResult)
    if not result.is_error and text_of(result).startswith("{"):
        assert json.loads(text_of(result)) == result.structured_content
    return result


@pytest.fixture
def retriever(words: WordEmbeddings) -> SentenceWindowRetriever:
    return SentenceWindowRetriever.from_documents(DOCUMENTS, words, k=1, window=0, ranking=None)


@pytest.fixture
def call(retriever: SentenceWindowRetriever) -> Call:
    server = create_mcp_server(retriever)

    async def calling(name: str, **arguments: Any) -> CallToolResult:
        return await called(server, name, arguments)

    return calling


def http_config(server: Any, **arguments: Any) -> uvicorn.Config:
    """Return how `serve_mcp` would serve over HTTP."""
    configs: list[uvicorn.Config] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uvicorn.Server, "run", lambda self: configs.append(self.config))
        serve_mcp(server, "http", **arguments)
    (config,) = configs
    return config


@contextmanager
def listening(server: Any, **arguments: Any) -> Iterator[int]:
    """Serve on a free port of this machine until the block ends."""
    app: Any = http_config(server, **arguments).app
    with socket.create_server(("127.0.0.1", 0)) as free:
        running = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=lambda: asyncio.run(running.serve([free])))
        thread.start()
        try:
            while not running.started:
                assert thread.is_alive()
                time.sleep(0.01)
            yield free.getsockname()[1]
        finally:
            running.should_exit = True
            thread.join()


def answered(
    port: int, path: str = "/mcp", method: str = "POST", message: Any = INITIALIZE, **headers: str
) -> tuple[int, str, str | None]:
    """Return the status, the body and the session of the response to a request."""
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(method, path, json.dumps(message), sent)
        response = connection.getresponse()
        is_stream = method == "GET" and path == "/mcp"
        return response.status, "" if is_stream else response.read().decode(), response.getheader("Mcp-Session-Id")
    finally:
        connection.close()


def status(port: int, path: str = "/mcp", method: str = "POST", **headers: str) -> int:
    """Return the status of the response to a request."""
    return answered(port, path, method, **headers)[0]
