"""The server as a process that a client starts, over its stdin and stdout."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import pytest

from app.tests.mcp.conftest import INITIALIZE
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[3]
PROGRAM = ["-W", "error::ResourceWarning", "-m", "app.tests.mcp.serving", "stdio"]


def received(pipe: IO[str] | None) -> Any:
    assert pipe is not None
    return json.loads(pipe.readline())


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C can't be sent to one process there")
@pytest.mark.parametrize("is_interrupted", [False, True])
def test_stdout_contains_only_messages_until_the_end(is_interrupted: bool) -> None:
    # Without PYTHONUNBUFFERED, as a client starts it, printed text waits in a buffer.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(
        [sys.executable, *PROGRAM], env=environment, cwd=ROOT, text=True, encoding="utf-8", **pipes
    ) as process:
        assert process.stdin is not None
        search = {"name": "search", "arguments": {"query": "refund"}}
        for message in (
            INITIALIZE,
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": search},
        ):
            process.stdin.write(f"{json.dumps(message)}\n")
        process.stdin.flush()
        assert received(process.stdout)["id"] == 1
        found = received(process.stdout)
        assert found["result"]["structuredContent"]["results"][0]["text"] == "A refund is quick."
        process.stdin.write('this isn\'t JSON\n{"jsonrpc": "2.0", "id": 3, "method": "tools/list"}\n')
        process.stdin.flush()
        while (message := received(process.stdout)).get("id") != 3:
            assert message["jsonrpc"] == "2.0"
        if is_interrupted:
            process.send_signal(signal.SIGINT)
        else:
            process.stdin.close()
        assert process.wait(PATIENCE) == (130 if is_interrupted else 0)
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read() == ""
        printed = ["serving"] if is_interrupted else ["serving", "embedding refund"]
        assert process.stderr.read().splitlines() == printed
