"""The server from LangChain: ``langchain.mcp`` where it is installed, and a tool over the SDK's client everywhere."""

import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import StructuredTool
from mcp import Client
from mcp.types import TextContent

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.apps.hosts import LOOPBACK
from langchain_sentence_window.apps.mcp.mcp_server import create_mcp_server
from langchain_sentence_window.apps.mcp.mcp_transports import http_app
from tests.agents.test_tools import ScriptedChat, call
from tests.answering.mcp.conftest import TEXT
from tests.answering.mcp.test_http import TOKEN, listening

ROOT = Path(__file__).parents[3]
FOUND = "<source>\n[1] terms.md, line 1 · doc_id: terms · first: 2 · last: 2\nA refund is quick.\n</source>"


async def ask(tools: list[Any], name: str, **arguments: Any) -> ToolMessage:
    """Let an agent call a tool, and return what its model is shown."""
    replies = [AIMessage("", tool_calls=[call(name, **arguments)]), AIMessage("Done.")]
    agent: Any = create_agent(ScriptedChat(messages=iter(replies)), tools)
    state = await agent.ainvoke({"messages": [("user", "Refunds?")]})
    (message,) = [each for each in state["messages"] if isinstance(each, ToolMessage)]
    return message


async def test_an_agent_calls_it_by_the_sdk_client(retriever: SentenceWindowRetriever) -> None:
    async with Client(create_mcp_server(retriever, text="sources")) as client:

        def made(tool: Any) -> StructuredTool:
            async def ask_server(**arguments: Any) -> tuple[str, Any]:
                result = await client.call_tool(tool.name, arguments)
                (content,) = result.content
                assert isinstance(content, TextContent)
                return content.text, result.structured_content

            return StructuredTool(
                name=tool.name,
                description=tool.description,
                args_schema=tool.input_schema,
                coroutine=ask_server,
                response_format="content_and_artifact",
            )

        tools = [made(tool) for tool in (await client.list_tools()).tools]
        message = await ask(tools, "search", query="refund")
        assert message.content == FOUND
        assert message.artifact["results"][0]["id"] == "terms#2-2"
        assert TEXT in str((await ask(tools, "fetch", id="terms#2-2")).content)


@pytest.fixture
def adapter() -> Any:
    """`langchain.mcp.MCPAdapter`, which needs the extra ``mcp`` of ``langchain``."""
    pytest.importorskip("fastmcp", reason='it needs pip install "langchain[mcp]"')
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is in beta
        from langchain.mcp import MCPAdapter
    return MCPAdapter


async def checked(adapter: Any) -> None:
    """Check what an agent gets through ``langchain.mcp``."""
    async with adapter:
        tools = await adapter.list_tools()
        assert [tool.name for tool in tools] == ["search", "fetch", "read_around", "verify_quote"]
        assert all(tool.metadata["mcp"]["tool"]["annotations"]["read_only_hint"] for tool in tools)
        found = await ask(tools, "search", query="refund")
        (passage,) = found.artifact["structured_content"]["results"]
        assert TEXT[passage["start"] : passage["end"]] == passage["text"] == "A refund is quick."
        fetched = await ask(tools, "fetch", id=passage["id"])
        assert fetched.artifact["structured_content"]["text"] == TEXT
        failed = await ask(tools, "fetch", id="nobody")
        assert failed.status == "error"
        assert "There is no document 'nobody'" in str(failed.content)


async def test_langchain_calls_it_in_memory(retriever: SentenceWindowRetriever, adapter: Any) -> None:
    await checked(adapter(create_mcp_server(retriever)))


@pytest.mark.process
@pytest.mark.slow
async def test_langchain_starts_it_as_a_process(adapter: Any) -> None:
    transports = import_module("fastmcp.client.transports")
    arguments = ["-m", "tests.answering.mcp.serving", "stdio"]
    await checked(adapter(transports.StdioTransport(sys.executable, arguments, cwd=str(ROOT), keep_alive=False)))


async def test_langchain_reaches_it_over_http_with_a_token(retriever: SentenceWindowRetriever, adapter: Any) -> None:
    transports = import_module("fastmcp.client.transports")
    with listening(http_app(create_mcp_server(retriever), names=LOOPBACK, token=TOKEN)) as port:
        url = f"http://127.0.0.1:{port}/mcp"
        await checked(adapter(transports.StreamableHttpTransport(url, headers={"Authorization": f"Bearer {TOKEN}"})))
