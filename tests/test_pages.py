"""The documentation as programs: every block runs and prints what its page shows, and the pictures are up to date."""

import re
from pathlib import Path

import pytest
from langchain_core.embeddings import Embeddings

from tests.pages import RUNNABLE, page_name, run

pytestmark = [pytest.mark.slow, pytest.mark.model]

NUMBER = re.compile(r"\d+(?:\.\d+)?")
"""Numbers that may differ a little between machines: coordinates and scores."""


@pytest.mark.parametrize("path", RUNNABLE, ids=page_name)
def test_a_page_runs_and_prints_what_it_shows(path: Path, tmp_path: Path) -> None:
    for block, printed in run(path, tmp_path):
        if block.shown is not None:
            assert printed.rstrip() == block.shown.code.rstrip()


def test_the_pictures_show_what_the_package_returns(minilm: Embeddings) -> None:
    from docs.drawings import IMAGES, draw_all

    drawn = draw_all(minilm)
    measured = {"scale"}  # drawn by benchmarks.page
    assert {path.stem for path in IMAGES.glob("*.svg")} - measured == set(drawn)
    for name, picture in drawn.items():
        committed = (IMAGES / f"{name}.svg").read_text(encoding="utf-8")
        assert NUMBER.sub("", picture) == NUMBER.sub("", committed), f"run python -m docs.drawings: {name}"
        assert numbers(picture) == pytest.approx(numbers(committed), abs=3), f"run python -m docs.drawings: {name}"


def numbers(picture: str) -> list[float]:
    return [float(number) for number in NUMBER.findall(picture)]
