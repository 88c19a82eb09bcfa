"""Calls of the server's tools, in memory."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from mcp import Client
from mcp.types import CallToolResult, TextContent

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.apps.mcp.mcp_server import create_mcp_server
from tests.toys import WordEmbeddings, document

Call = Callable[..., Awaitable[CallToolResult]]

TEXT = "It begins. We pay. A refund is quick. It takes days. Not in May.\n\n# Cards\n\nA card has a limit. It ends."


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
    given = [document(TEXT, "terms", source="terms.md"), document("A seat is free. Für alle.", "other")]
    return SentenceWindowRetriever.from_documents(given, words, k=1, window=0, ranking=None)


@pytest.fixture
def call(retriever: SentenceWindowRetriever) -> Call:
    server = create_mcp_server(retriever)

    async def calling(name: str, **arguments: Any) -> CallToolResult:
        return await called(server, name, arguments)

    return calling
