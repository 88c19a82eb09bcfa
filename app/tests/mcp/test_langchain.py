"""The server from LangChain, through ``langchain.mcp`` where it is installed."""

import warnings
from importlib import import_module
from typing import Any

import pytest

from app.tests.mcp.conftest import TEXT, listening
from app.tests.mcp.test_http import TOKEN
from langchain_sentence_window import SentenceWindowRetriever
from sentence_window.mcp import create_mcp_server


async def test_langchain_calls_the_tools(retriever: SentenceWindowRetriever) -> None:
    pytest.importorskip("fastmcp", reason='it needs pip install "langchain[mcp]"')
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is in beta
        from langchain.mcp import MCPAdapter
    transports = import_module("fastmcp.client.transports")
    with listening(create_mcp_server(retriever), token=TOKEN) as port:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        transport = transports.StreamableHttpTransport(f"http://127.0.0.1:{port}/mcp", headers=headers)
        opened: Any = MCPAdapter(transport)
        async with opened as adapter:
            tools = {tool.name: tool for tool in await adapter.list_tools()}

            async def called(name: str, **arguments: str) -> Any:
                call = {"name": name, "args": arguments, "id": "1", "type": "tool_call"}
                return (await tools[name].ainvoke(call)).artifact["structured_content"]

            assert list(tools) == ["search", "fetch", "read_around", "verify_quote"]
            assert all(tool.metadata["mcp"]["tool"]["annotations"]["read_only_hint"] for tool in tools.values())
            (passage,) = (await called("search", query="refund"))["results"]
            assert TEXT[passage["start"] : passage["end"]] == passage["text"] == "A refund is quick."
            assert (await called("fetch", id=passage["id"]))["text"] == TEXT
