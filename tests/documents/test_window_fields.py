"""Fields of windows: a row is all that a field needs, wherever windows are made, joined, cut, reranked and shown."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from langchain_sentence_window.documents.keys import WINDOW_KEYS

ROOT = Path(__file__).parents[2]


@pytest.mark.process
def test_a_field_that_a_row_adds_is_right_wherever_windows_go() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.documents.added_field"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    found: dict[str, list[object]] = json.loads(run.stdout)
    assert found.pop("source") == ["", "a value of its own"]
    assert found.pop("command") == ["", "24 characters"]
    assert found.pop("page") == ["", 24]
    assert {name: characters for name, (_, characters) in found.items()} == {
        "invoke": 24,
        "merge_windows": 46,
        "slice": 7,
        "trimmed": 7,
        "reranked": 24,
        "quoted": 7,
    }
    assert all(len(str(text)) == characters for text, characters in found.values())


def test_the_documentation_lists_every_field() -> None:
    page = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")
    table = page.partition("A window has the metadata of its document, and these keys:")[2].partition("\n\n| key")[2]
    listed = re.findall(r"`(\w+)`", "".join(row.split("|")[1] for row in table.partition("\n\n")[0].splitlines()[2:]))
    assert sorted(listed) == sorted(WINDOW_KEYS)
