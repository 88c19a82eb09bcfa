"""The page "Use the command line": its commands run, and print what it shows."""

import re
from pathlib import Path

import pytest
from langchain_core.embeddings import Embeddings

from app.tests.cli.pages import run_page
from app.tests.cli.test_processes import COMMANDS
from sentence_window.cli import opened_index
from tests.pages import DOCS

PAGE = DOCS / "how-to" / "command-line.md"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
"""Numbers that may differ a little between machines: scores."""


@pytest.mark.slow
def test_the_page_shows_what_its_commands_print(
    tmp_path: Path, minilm: Embeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opened_index, "load_embedding", lambda name: minilm)
    checked = 0
    for _, shown, printed in run_page(PAGE.read_text(encoding="utf-8"), tmp_path):
        if shown is not None:
            assert NUMBER.sub("", printed.rstrip()) == NUMBER.sub("", shown.code.rstrip())
            assert list(map(float, NUMBER.findall(printed))) == pytest.approx(
                list(map(float, NUMBER.findall(shown.code))), abs=0.02
            )
            checked += 1
    assert checked >= 8


def test_the_page_describes_every_command() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for command in COMMANDS:
        assert re.search(rf"(`|sentence-window ){command}\b", page), command
