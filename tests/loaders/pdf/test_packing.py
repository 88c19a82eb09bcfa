import dataclasses

import numpy as np
import pytest
from reportlab.pdfgen.canvas import Canvas

from langchain_sentence_window.loaders import load_pdf
from langchain_sentence_window.loaders.pdf import pdf_file as reading
from langchain_sentence_window.loaders.pdf.characters import pack, unpack
from langchain_sentence_window.loaders.pdf.pdf_file import open_pdf
from tests.loaders.pdf.drawing import both, drawn, lines


def mixed(canvas: Canvas) -> None:
    canvas.drawString(72, 700, "Some words, ")
    canvas.setFont("Times-BoldItalic", 9)
    canvas.drawString(172, 700, "and some others.")
    canvas.rotate(90)
    canvas.drawString(100, -30, "On the side.")


@pytest.mark.parametrize("pdf", [drawn(mixed), drawn(both(mixed, lines("More", "lines."))), drawn(lines())])
def test_a_page_is_unpacked_as_it_was(pdf: bytes) -> None:
    with open_pdf(pdf) as opened:
        page = opened.read_characters(0)
    rules = np.zeros((0, 4))
    found = unpack(pack(page, rules))
    for field in dataclasses.fields(page):
        assert np.array_equal(getattr(found, field.name), getattr(page, field.name)), field.name
        assert np.asarray(getattr(found, field.name)).dtype == np.asarray(getattr(page, field.name)).dtype


@pytest.mark.parametrize("kept", [(0, 0), (0, 3), (2, 4), (2, 100)])
def test_what_is_kept_changes_nothing(kept: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [both(mixed, lines(f"Page {word} goes on and", y=500), lines("Head", y=780)) for word in "abcdefg"]
    pdf = drawn(*pages)
    expected = load_pdf(pdf)
    monkeypatch.setattr(reading, "MAX_KEPT_RUNS", kept[0])
    monkeypatch.setattr(reading, "MAX_KEPT_PAGES", kept[1])
    assert load_pdf(pdf) == expected
