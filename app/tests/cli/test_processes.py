"""The command as a process: its streams, signals and exit codes."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import httpx
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from app.tests.cli.conftest import COMMAND, environment, run_here, run_process
from app.tests.files.pdf.drawing import drawn, lines, scanned
from app.tests.files.writing import file
from sentence_window import __version__
from tests.patience import PATIENCE

COMMANDS = (
    *("index", "sync", "ask", "explain", "why", "ls", "show", "rm", "stats", "check", "backup", "restore"),
    *("evaluate", "sweep", "serve", "mcp", "config"),
)
QUESTION = "After how many bookings is it refused?"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it has no such signals, pipes and terminals")


@contextmanager
def started(*arguments: str, cwd: Path) -> Iterator[tuple["subprocess.Popen[str]", IO[str], IO[str]]]:
    """Run a command until the block ends; also yield its stdout and stderr."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*COMMAND, *arguments], cwd=cwd, env=environment(), encoding="utf-8", **pipes) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            yield process, process.stdout, process.stderr
        finally:
            process.kill()


def test_help_lists_every_command() -> None:
    done = run_here("--help")
    assert sorted(re.findall(r"^  (\w+)  +[A-Z]", done.out, re.M)) == sorted(COMMANDS)
    assert "..." not in done.out.partition("Make and change")[2]  # descriptions aren't cut
    assert "Exit codes: 0 done; 1 nothing was found" in done.out
    bare = run_here()
    assert (bare.code, bare.err) == (2, done.out)
    assert run_here("--version").out == f"{__version__}\n"
    for command in COMMANDS:
        text = run_here(command, "-h").out
        assert text.startswith(f"Usage: sentence-window {command} ")
        assert "--quiet" in text
        assert ("--json" in text) == (command not in ("serve", "mcp"))


@pytest.mark.process
def test_help_and_completion_load_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys; from sentence_window.cli.main import main\n"
        "sys.argv = ['sentence-window', '--help']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([name for name in ('langchain_core', 'numpy', 'faiss', 'torch', 'rich.console') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    variables = {"_SENTENCE_WINDOW_COMPLETE": "complete_bash", "COMP_WORDS": "sentence-window st", "COMP_CWORD": "1"}
    assert run_process(cwd=tmp_path, **variables).out.split() == ["stats"]


def test_tracebacks_are_shown_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for env in ({}, {"SENTENCE_WINDOW_DEBUG": "1"}):
        done = run_here("ls", env=env)
        assert done.code == 4
        assert ("Traceback" in done.err) == bool(env)


@pytest.mark.process
@pytest.mark.slow
def test_watching_follows_the_files_until_ctrl_c(tmp_path: Path) -> None:
    one, two = tmp_path / "docs" / "one.md", tmp_path / "docs" / "two.md"
    file(one, "One is here.")
    with started("index", "docs", "--watch", "--json", cwd=tmp_path) as (process, out, err):
        assert json.loads(out.readline())["added"] == [str(one)]
        file(two, "Two is here.")
        assert json.loads(out.readline())["added"] == [str(two)]
        one.unlink()
        assert json.loads(out.readline())["deleted"] == [str(one)]
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert err.read() == "Following docs; Ctrl-C ends it.\n"
    listed = run_process("ls", "--json", cwd=tmp_path).json["documents"]
    assert [each["doc_id"] for each in listed] == [str(two)]


@pytest.mark.process
@pytest.mark.slow
def test_a_pipe_that_is_closed_early_is_not_an_error(tmp_path: Path, here: Path) -> None:
    (tmp_path / "big.txt").write_text("A sentence is here. " * 6_000)  # the same text is embedded once
    assert run_here("index", tmp_path / "big.txt", "--index", tmp_path / "index").code == 0
    for arguments in (["show", "big.txt"], ["show", "big.txt", "--json"]):
        with started(*arguments, "--index", str(tmp_path / "index"), cwd=here) as (process, out, err):
            assert len(out.read(10)) == 10
            out.close()
            assert process.wait(PATIENCE) == 0
            assert err.read() == ""


def in_terminal(*arguments: str, cwd: Path) -> str:
    """Run a command in a terminal, and return all that it wrote."""
    parent, child = pty.openpty()
    termios.tcsetwinsize(child, (24, 120))
    env = environment(TERM="xterm-256color")
    with subprocess.Popen([*COMMAND, *arguments], cwd=cwd, env=env, stdin=child, stdout=child, stderr=child) as process:
        os.close(child)
        written = b""
        try:
            while part := os.read(parent, 10_000):
                written += part
        except OSError:  # the other end was closed
            pass
        assert process.wait(PATIENCE) == 0, written
    os.close(parent)
    return written.decode()


def visible_lines(written: str) -> list[str]:
    """Return the lines that a terminal shows at the end; a carriage return moves to the start of a line."""
    shown: list[str] = []
    for line in re.sub(r"\x1b\[[\d;]*m", "", written).split("\n"):
        overwritten = ""
        for part in line.split("\r"):
            overwritten = part + overwritten[len(part) :]
        shown.append(overwritten.rstrip())
    return shown


@pytest.mark.process
@pytest.mark.slow
def test_a_terminal_shows_progress_with_warnings_on_lines_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "scan.pdf").write_bytes(drawn(lines("A refund is quick."), scanned, lines("It takes days.")))
    (tmp_path / "more.md").write_text("One is here. Two is there.")
    written = in_terminal("index", "scan.pdf", "more.md", cwd=tmp_path)
    assert "Loading minilm …" in written
    bars = re.findall(r"\d+% \|.{10}\| \d+/\d+ files, [\d:]+, [\d,]+ sentences?", written)
    assert re.search(r" 2/2 files, [\d:]+, 4 sentences$", bars[-1])
    shown = visible_lines(written)
    (warning,) = (line for line in shown if "Warning: " in line)
    assert re.fullmatch(r"Warning: \S+scan\.pdf has no text on pages 2 of 3, counted from 1; .*\(OCR\)", warning)
    assert "2 added; 4 sentences" in shown
    assert not any("files, " in line or "Loading" in line for line in shown)


@pytest.mark.process
@pytest.mark.slow
async def test_agents_are_served_over_stdio(here: Path, tmp_path: Path) -> None:
    arguments = [*COMMAND[1:], "mcp", "--title", "policies", "--show-again"]
    parameters = StdioServerParameters(command=COMMAND[0], args=arguments, cwd=here, env=environment())
    with (tmp_path / "stderr").open("w+") as errors:
        async with Client(stdio_client(parameters, errlog=errors)) as client:
            assert client.server_info is not None
            assert client.server_info.name == "policies"
            for _ in range(2):
                result = await client.call_tool("search", {"query": QUESTION, "k": 1})
                (passage,) = result.structured_content["results"]
                assert "100 bookings" in passage["text"]
        errors.seek(0)
        assert errors.read() == "Serving on stdin and stdout\n"


def test_a_public_server_requires_a_token_and_a_name(here: Path) -> None:
    for command in (["mcp", "--http"], ["serve"]):
        done = run_here(*command, "--host", "::", "--name", "search.example.com")
        assert done.code == 2
        assert "give a token" in done.err
        assert "SENTENCE_WINDOW_TOKEN or by --token" in done.err
        nameless = run_here(*command, "--host", "::")
        assert nameless.code == 2
        assert "such as --name search.example.com" in nameless.err
        assert run_here(*command, "--port", 65_536).code == 2


@pytest.mark.process
@pytest.mark.slow
def test_people_are_served_a_page_until_ctrl_c(here: Path) -> None:
    with started("serve", "--port", "0", "--token", "t0ken", cwd=here) as (process, out, err):
        address = re.search(r"http://\S+", next(line for line in out if "http://" in line))
        assert address
        answer = httpx.get(address[0], follow_redirects=True, timeout=PATIENCE)
        assert answer.status_code == 200
        assert "<html" in answer.text
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
        assert err.read() == ""
