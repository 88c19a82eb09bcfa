"""The server as a process that a client starts, over its stdin and stdout."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.answering.mcp.serving import TEXT
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[3]
PROGRAM = ["-W", "error::ResourceWarning", "-m", "tests.answering.mcp.serving", "stdio"]


@pytest.mark.process
@pytest.mark.slow
async def test_a_client_starts_it_and_calls_its_tools(tmp_path: Path) -> None:
    with (tmp_path / "stderr").open("w+") as errors:
        transport = stdio_client(StdioServerParameters(command=sys.executable, args=PROGRAM, cwd=ROOT), errlog=errors)
        async with Client(transport) as client:
            assert client.server_info is not None
            assert client.server_info.name == "terms"
            assert len((await client.list_tools()).tools) == 4
            (found,) = (await client.call_tool("search", {"query": "refund"})).structured_content["results"]
            assert TEXT[found["start"] : found["end"]] == found["text"] == "A refund is quick."
            fetched = (await client.call_tool("fetch", {"id": found["id"]})).structured_content
            assert fetched["text"] == TEXT
            other = (await client.call_tool("fetch", {"id": "other"})).structured_content
            assert other["text"].endswith("Für alle.")  # not in the platform's encoding
            failed = await client.call_tool("fetch", {"id": "nobody"})
            assert failed.is_error
        errors.seek(0)
        assert errors.read().splitlines() == ["serving", "embedding refund"]


def started() -> "subprocess.Popen[str]":
    # As a client starts it: what it prints waits in a buffer.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.Popen(
        [sys.executable, *PROGRAM],
        env=environment,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def open_pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


def ask(process: "subprocess.Popen[str]", **message: object) -> None:
    pipe = open_pipe(process.stdin)
    pipe.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    pipe.flush()


def begin(process: "subprocess.Popen[str]") -> None:
    """Shake hands, as clients of the protocol's earlier versions do."""
    info = {"name": "test", "version": "1"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
    ask(process, id=1, method="initialize", params=params)
    assert json.loads(open_pipe(process.stdout).readline())["id"] == 1
    ask(process, method="notifications/initialized")


@pytest.mark.process
@pytest.mark.slow
def test_stdout_holds_nothing_but_messages() -> None:
    with started() as process:
        begin(process)
        ask(process, id=2, method="tools/call", params={"name": "search", "arguments": {"query": "refund"}})
        found = json.loads(open_pipe(process.stdout).readline())
        assert found["id"] == 2
        assert found["result"]["structuredContent"]["results"][0]["text"] == "A refund is quick."
        open_pipe(process.stdin).write("this isn't JSON\n")
        ask(process, id=3, method="tools/list")
        while (line := json.loads(open_pipe(process.stdout).readline())).get("id") != 3:
            assert line["jsonrpc"] == "2.0"
        open_pipe(process.stdin).close()
        assert open_pipe(process.stdout).read() == ""
        assert process.wait(PATIENCE) == 0


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C can't be sent to one process there")
def test_ctrl_c_ends_it_at_once_and_quietly() -> None:
    with started() as process:
        begin(process)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert open_pipe(process.stderr).read() == "serving\n"
        assert open_pipe(process.stdout).read() == ""
