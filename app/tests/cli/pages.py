"""Run the commands of a page of the documentation.

``python -m app.tests.cli.pages FILE`` runs the page, and writes what its commands print into it. A block of ``text``
that follows a block of ``sh`` holds what its commands write to stdout. Commands that go on until Ctrl-C, or that need
the network, are only parsed.
"""

import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

from app.tests.cli.conftest import run_here
from tests.openai_server import openai_server
from tests.pages import ANSWER, ROOT, Block, blocks_of

HOME = "/home/me"
"""Where the page says that its files are."""

_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_OPEN_ENDED = ("serve", "mcp", "--watch", "--embedding", "--help")


def shown_outputs(page: str) -> Iterator[tuple[Block, Block | None]]:
    """Yield each block of commands, and the block that says what they print."""
    blocks = blocks_of(page)
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        if block.language == "sh":
            between = "" if after is None else page[block.end : after.start].replace("```", "").strip()
            yield block, after if after is not None and after.language == "text" and between == "text" else None


def run_page(page: str, folder: Path) -> Iterator[tuple[Block, Block | None, str]]:
    """Run a page's commands in a folder with the example documents; yield each block with what it shows and prints."""
    shutil.copytree(ROOT / "examples" / "documents", folder / "documents")
    shutil.copy(ROOT / "examples" / "questions.jsonl", folder)
    with chdir(folder), openai_server(lambda messages: ANSWER) as server:
        for block, shown in shown_outputs(page):
            printed = "".join(_printed(line, server.base_url) for line in block.code.splitlines())
            yield block, shown, _DATE.sub("2026-11-22", printed.replace(str(folder), HOME))


def _printed(line: str, base_url: str) -> str:
    """Run a line if it is a call of the command; return what it printed."""
    words = shlex.split(line)
    while words and re.fullmatch(r"\w+=\S*", words[0]):
        del words[0]
    if words[:1] != ["sentence-window"]:
        return ""
    arguments = words[1:]
    if any(word in _OPEN_ENDED for word in arguments):
        assert run_here(*arguments, "--help").out.startswith("Usage: "), line  # with an unknown option, it is an error
        return ""
    done = run_here(*arguments, env={"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": base_url})
    assert done.code == 0, (line, done.err)
    return done.out


def rewrite(path: Path) -> None:
    """Write what the commands of a page print below them."""
    page = path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        ran = list(run_page(page, Path(folder).resolve()))
    for _, shown, printed in reversed(ran):
        if shown is not None:
            page = page[: shown.start] + printed.rstrip() + "\n" + page[shown.end :]
    path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        rewrite(Path(name))
