"""Reading and running the code of the documentation.

``python -m tests.pages [FILE …]`` runs the pages and the notebook, and writes what they print into them.

A page is run from top to bottom in one namespace, in a folder that holds nothing but the example documents and
questions. A block of ``text`` that follows a block of ``python`` with nothing but white space between them holds all
that the block prints.
"""

import contextlib
import io
import logging
import os
import re
import shutil
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.openai_server import openai_server

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
NOTEBOOK = ROOT / "examples" / "tour.ipynb"
ANSWER = "Once more than 100 bookings have been taken [1]."
"""The answer of the model that pages ask as OpenAI's."""

_FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<code>.*?)^(?P=indent)```[ ]*$", re.M | re.S)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of code.

    Attributes:
        language: The first word after the fence.
        code: Its text, without the indentation of the fence.
        indent: The fence's indentation.
        start: Where its text begins in the page.
        end: Where its text ends, before the closing fence.
        shown: The block that says what this one prints.
    """

    language: str
    code: str
    indent: str
    start: int
    end: int
    shown: "Block | None" = None


def blocks_of(page: str) -> list[Block]:
    """Find the blocks of a page, those of output with the blocks that print it."""
    found: list[Block] = []
    printer = -1
    for match in _FENCE.finditer(page):
        language = (match["info"].split() or [""])[0]
        block = Block(language, textwrap.dedent(match["code"]), match["indent"], *match.span("code"))
        between = page[printer : match.start()]
        if language == "text" and printer >= 0 and found[-1].language == "python" and not between.strip():
            last = found.pop()
            found.append(Block(last.language, last.code, last.indent, last.start, last.end, block))
        else:
            found.append(block)
        printer = match.end()
    return found


def page_name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


RUNNABLE = [path for path in PAGES if any(block.language == "python" for block in blocks_of(read(path)))]


def run(path: Path, folder: Path) -> Iterator[tuple[Block, str]]:
    """Run the Python blocks of a page in a folder, and yield each with what it printed."""
    page = path.read_text(encoding="utf-8")
    shutil.copytree(ROOT / "examples" / "documents", folder / "documents")
    for name in ("agreement.pdf", "questions.jsonl"):
        shutil.copy(ROOT / "examples" / name, folder)
    names: dict[str, object] = {"__name__": "__main__"}
    with chdir(folder), _a_model_that_answers(), _logging_restored():
        for block in blocks_of(page):
            if block.language != "python":
                continue
            line = page.count("\n", 0, block.start)
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile("\n" * line + block.code, str(path), "exec"), names)  # noqa: S102
            yield block, printed.getvalue()


@contextmanager
def _logging_restored() -> Iterator[None]:
    """Undo what a page does to logging."""
    loggers = logging.getLogger(), logging.getLogger("langchain_sentence_window")
    before = [(logger.level, list(logger.handlers)) for logger in loggers]
    try:
        yield
    finally:
        for logger, (level, handlers) in zip(loggers, before, strict=True):
            logger.setLevel(level)
            logger.handlers[:] = handlers


@contextmanager
def _a_model_that_answers() -> Iterator[None]:
    """Let `ChatOpenAI` ask a server on this machine."""
    with openai_server(lambda messages: ANSWER) as server:
        settings = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.base_url}
        before = {name: os.environ.get(name) for name in settings}
        os.environ.update(settings)
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value


def rewrite(path: Path) -> int:
    """Write what the blocks of a page print below them; return how many blocks ran."""
    page = path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        ran = list(run(path, Path(folder)))
    for block, printed in reversed(ran):
        if block.shown is not None:
            text = textwrap.indent(printed.rstrip() + "\n", block.shown.indent)
            page = page[: block.shown.start] + text + page[block.shown.end :]
    path.write_text(page, encoding="utf-8")
    return len(ran)


def run_notebook(path: Path) -> Any:
    """Run a notebook in its own folder, in a kernel of this Python; return it with what its cells show."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    where = {"metadata": {"path": str(path.parent)}}
    client = NotebookClient(notebook, timeout=600, kernel_name="python3", resources=where, record_timing=False)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Proactor event loop", RuntimeWarning)  # zmq on Windows says what it does
        client.execute(
            env={**os.environ, "PYTHONWARNINGS": "ignore:IProgress not found:Warning", "HF_HUB_OFFLINE": "1"}
        )
    notebook.metadata["language_info"] = {"name": "python"}  # without the version that ran it
    return notebook


def rewrite_notebook(path: Path) -> int:
    """Write what the cells of a notebook show into it; return how many cells ran."""
    import nbformat

    notebook = run_notebook(path)
    nbformat.write(notebook, path)  # type: ignore[no-untyped-call]
    return sum(cell.cell_type == "code" for cell in notebook.cells)


if __name__ == "__main__":
    for each in [Path(name).resolve() for name in sys.argv[1:]] or [*PAGES, NOTEBOOK]:
        count = rewrite_notebook(each) if each.suffix == ".ipynb" else rewrite(each)
        print(f"{each.relative_to(ROOT)}: {count} blocks")
