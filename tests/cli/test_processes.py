"""The command as a process: its streams, signals and exit codes."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import httpx
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from langchain_sentence_window import __version__
from tests.cli.conftest import COMMAND, environment, run_apart, run_here
from tests.loaders.files.writing import file
from tests.loaders.pdf.drawing import drawn, lines, scanned
from tests.patience import PATIENCE

COMMANDS = (
    *("index", "sync", "ask", "explain", "why", "ls", "show", "rm", "stats", "check", "backup", "restore"),
    *("evaluate", "sweep", "serve", "mcp", "config"),
)
ON_WINDOWS = sys.platform == "win32"


@contextmanager
def started(*arguments: str, cwd: Path, **streams: Any) -> Iterator["subprocess.Popen[str]"]:
    """Run a command until the block ends."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    with subprocess.Popen([*COMMAND, *arguments], cwd=cwd, env=environment(), encoding="utf-8", **pipes) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def pipe_of(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


def line_with(pipe: IO[str] | None, words: str) -> str:
    """Read lines up to one with some words."""
    for line in pipe_of(pipe):
        if words in line:
            return line
    raise AssertionError(f"{words!r} wasn't written")


@pytest.mark.process
def test_help_lists_every_command_and_says_what_exit_codes_mean(tmp_path: Path) -> None:
    done = run_apart("--help", cwd=tmp_path)
    assert sorted(re.findall(r"^  (\w+)  +[A-Z]", done.out, re.M)) == sorted(COMMANDS)
    assert "..." not in done.out.partition("Make and change")[2]  # each is told of in a line
    assert "Exit codes: 0 done; 1 nothing was found" in done.out
    bare = run_apart(cwd=tmp_path)
    assert (bare.code, bare.err) == (2, done.out)
    assert run_apart("--version", cwd=tmp_path).out == f"{__version__}\n"
    for command in COMMANDS:
        told = run_here(command, "-h").out
        assert told.startswith(f"Usage: sentence-window {command} ")
        assert "--quiet" in told
        assert ("--json" in told) == (command not in ("serve", "mcp"))


def test_without_the_extra_it_says_how_to_install_it(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['typer'] = None\n"
        "from langchain_sentence_window.apps.cli.main import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        'typer is not installed; install the command with: pip install "langchain-sentence-window[cli]"\n'
    )


@pytest.mark.process
def test_help_and_completion_load_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys; from langchain_sentence_window.apps.cli.main import main\n"
        "sys.argv = ['sentence-window', '--help']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([name for name in ('langchain_core', 'numpy', 'faiss', 'torch', 'rich.console') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
    told = run_apart(
        cwd=tmp_path, _SENTENCE_WINDOW_COMPLETE="complete_bash", COMP_WORDS="sentence-window st", COMP_CWORD="1"
    )
    assert told.out.split() == ["stats"]


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(ON_WINDOWS, reason="Ctrl-C can't be sent to one process there")
def test_watching_follows_the_files_until_ctrl_c(tmp_path: Path) -> None:
    file(tmp_path / "docs" / "one.md", "One is here.")
    with started("index", "docs", "--watch", "--json", cwd=tmp_path) as process:
        first = json.loads(pipe_of(process.stdout).readline())
        assert first["added"] == [str(tmp_path / "docs" / "one.md")]
        file(tmp_path / "docs" / "two.md", "Two is here.")
        second = json.loads(pipe_of(process.stdout).readline())
        assert second["added"] == [str(tmp_path / "docs" / "two.md")]
        (tmp_path / "docs" / "one.md").unlink()
        third = json.loads(pipe_of(process.stdout).readline())
        assert third["deleted"] == [str(tmp_path / "docs" / "one.md")]
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert pipe_of(process.stderr).read() == "Following docs; Ctrl-C ends it.\n"
    listed = run_apart("ls", "--json", cwd=tmp_path).json["documents"]
    assert [each["doc_id"] for each in listed] == [str(tmp_path / "docs" / "two.md")]


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(ON_WINDOWS, reason="there are no such pipes there")
def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path, here: Path) -> None:
    big = tmp_path / "big"
    big.mkdir()
    (big / "big.txt").write_text("A sentence is here. " * 6_000)
    # Costs nothing to embed, as all have the same text.
    assert run_here("index", big, "--index", tmp_path / "index").code == 0
    for arguments in (["show", "big.txt"], ["show", "big.txt", "--json"]):
        with started(*arguments, "--index", str(tmp_path / "index"), cwd=here) as process:
            assert len(pipe_of(process.stdout).read(10)) == 10
            pipe_of(process.stdout).close()
            assert process.wait(PATIENCE) == 0
            assert pipe_of(process.stderr).read() == ""


def in_terminal(*arguments: str, cwd: Path, columns: int = 120) -> bytes:
    """Run a command in a terminal, and return all that it wrote."""
    import fcntl
    import struct
    import termios

    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment_of = {**environment(), "TERM": "xterm-256color"}
    with subprocess.Popen(
        [*COMMAND, *arguments], cwd=cwd, env=environment_of, stdin=child, stdout=child, stderr=child
    ) as process:
        os.close(child)
        written = b""
        try:
            while part := os.read(parent, 10_000):
                written += part
        except OSError:  # the other end has closed
            pass
        assert process.wait(PATIENCE) == 0, written
    os.close(parent)
    return written


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(ON_WINDOWS, reason="there are no such terminals there")
def test_a_terminal_sees_styles_and_progress_and_its_width_is_kept(here: Path) -> None:
    written = in_terminal("ask", "After how many bookings is it refused?", "-k", "1", cwd=here, columns=40)
    seen = written.decode()
    assert "Loading minilm …" in seen
    assert "\x1b[1;4m" in seen
    shown = seen_lines(written)
    assert all(len(line) <= 40 for line in shown)
    assert any("1 window" in line for line in shown)
    assert not any("Loading" in line for line in shown)


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("again", [False, True])
async def test_agents_are_served_over_stdio(here: Path, tmp_path: Path, again: bool) -> None:
    with (tmp_path / "stderr").open("w+") as errors:
        parameters = StdioServerParameters(
            command=COMMAND[0],
            args=[*COMMAND[1:], "mcp", "--title", "policies", *(["--show-again"] if again else [])],
            cwd=here,
            env=environment(),
        )
        async with Client(stdio_client(parameters, errlog=errors)) as client:
            assert client.server_info is not None
            assert client.server_info.name == "policies"
            query = {"query": "After how many bookings is it refused?", "k": 1}
            called = await client.call_tool("search", query)
            (found,) = called.structured_content["results"]
            assert "100 bookings" in found["text"]
            called = await client.call_tool("search", query)
            assert [each["text"] for each in called.structured_content["results"]] == ([found["text"]] if again else [])
        errors.seek(0)
        assert errors.read() == "Serving on stdin and stdout\n"


BAR = re.compile(r"\d+% \|.{10}\| \d+/\d+ files, [\d:]+, [\d,]+ sentences?")


def seen_lines(written: bytes) -> list[str]:
    """Return the lines that a terminal shows at last, as carriage returns move to the beginning of a line."""
    lines: list[str] = []
    for line in re.sub(r"\x1b\[[\d;]*m", "", written.decode()).split("\n"):
        shown = ""
        for part in line.split("\r"):
            shown = part + shown[len(part) :]
        lines.append(shown.rstrip())
    return lines


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(ON_WINDOWS, reason="there are no such terminals there")
def test_progress_counts_sentences_and_warnings_have_lines_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "scan.pdf").write_bytes(drawn(lines("A refund is quick."), scanned, lines("It takes days.")))
    (tmp_path / "more.md").write_text("One is here. Two is there.")
    written = in_terminal("index", "scan.pdf", "more.md", cwd=tmp_path)
    drawn_bars = BAR.findall(written.decode())
    assert drawn_bars[-1].endswith("2/2 files, " + drawn_bars[-1].split(", ")[1] + ", 4 sentences")
    shown = seen_lines(written)
    (warning,) = (line for line in shown if "Warning: " in line)
    assert re.fullmatch(r"Warning: \S+scan\.pdf has no text on pages 2 of 3, counted from 1; .*\(OCR\)", warning)
    assert "2 added; 4 sentences" in shown
    assert not any("files, " in line for line in shown)


def test_agents_are_not_served_to_strangers_without_a_token(here: Path) -> None:
    done = run_here("mcp", "--http", "--host", "::", "--name", "search.example.com")
    assert done.code == 2
    assert "give a token" in done.err
    assert "SENTENCE_WINDOW_TOKEN or by --token" in done.err
    nameless = run_here("mcp", "--http", "--host", "::")
    assert nameless.code == 2
    assert "such as --name search.example.com" in nameless.err
    assert run_here("mcp", "--http", "--port", 65_536).code == 2


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(ON_WINDOWS, reason="Ctrl-C can't be sent to one process there")
def test_people_are_served_a_page_until_ctrl_c(here: Path) -> None:
    with started("serve", "--port", "0", "--token", "t0ken", cwd=here) as process:
        address = re.search(r"http://\S+", line_with(process.stdout, "http://"))
        assert address
        answer = httpx.get(address[0], follow_redirects=True, timeout=PATIENCE)
        assert answer.status_code == 200
        assert "<html" in answer.text
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
        assert pipe_of(process.stderr).read() == ""


@pytest.mark.process
@pytest.mark.slow
def test_tracebacks_are_shown_only_when_they_are_asked_for(tmp_path: Path) -> None:
    quiet = run_apart("ls", cwd=tmp_path)
    assert "Traceback" not in quiet.err
    loud = run_apart("ls", cwd=tmp_path, SENTENCE_WINDOW_DEBUG="1")
    assert "Traceback" in loud.err
    assert quiet.code == loud.code == 4
