"""Characters that are printed again where they stand already."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reportlab.pdfgen.canvas import Canvas

from langchain_sentence_window.loaders.pdf.lines import MAX_SHIFT, printed_again
from langchain_sentence_window.loaders.pdf.pdf_file import open_pdf
from tests.loaders.pdf.drawing import drawn, mapped


def text_of(pdf: bytes) -> str:
    with open_pdf(pdf) as opened:
        return opened.read_page(0).text


def again(canvas: Canvas, text: str, x: float, y: float) -> None:
    """Draw a text word by word, as PDFium itself leaves out a text that is drawn twice at once."""
    for word in text.split():
        canvas.drawString(x, y, word)
        x += canvas.stringWidth(f"{word} ")


@pytest.mark.parametrize(("x", "y"), [(0, 0), (0.3, 0), (1.1, 0.1), (-1.1, -0.9)])
def test_a_line_that_is_printed_twice_is_read_once(x: float, y: float) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.drawString(72, 700, "The fee, all of it, is due.")
        canvas.drawString(72, 685, "It will be paid.")
        again(canvas, "The fee, all of it, is due.", 72 + x, 700 + y)

    assert text_of(drawn(draw)) == "The fee, all of it, is due. It will be paid."


def test_each_letter_may_be_printed_twice_in_turn() -> None:
    def draw(canvas: Canvas) -> None:
        x = 72.0
        for letter in "Illicit fees of 1,000.00 will be paid.":
            for shift in (0, 0.9):
                canvas.drawString(x + shift, 700, letter)
            x += canvas.stringWidth(letter)

    assert text_of(drawn(draw)) == "Illicit fees of 1,000.00 will be paid."


@pytest.mark.parametrize("size", [2, 4, 9, 30])
def test_thin_letters_side_by_side_are_kept(size: int) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Times-Roman", size)
        canvas.drawString(72, 700, "lllliiii....,,,,||||''''")

    assert text_of(drawn(draw)) == "lllliiii....,,,,||||''''"


@pytest.mark.parametrize("shift", [0, 1.1])
def test_a_ligature_of_equal_letters_is_one_print(shift: float) -> None:
    content = b"BT /F 12 Tf 72 700 Td (An oAer.) Tj ET BT /F 12 Tf %f 700 Td (An o) Tj (Aer.) Tj ET" % (72 + shift)
    assert text_of(mapped(content, {"41": "ff"})) == "ffn offer."


def test_letters_of_formulas_that_are_printed_twice_are_read_once() -> None:
    assert text_of(mapped(b"BT /F 12 Tf 72 700 Td (so A.) Tj ET", {"41": 2 * "\U0001d461"})) == "so \U0001d461."


def test_a_wide_ligature_of_different_letters_is_one_word() -> None:
    assert text_of(mapped(b"BT /F 12 Tf 72 700 Td (This is eWcient.) Tj ET", {"57": "ffi"})) == "This is efficient."


PLACE = st.floats(0, 30).map(lambda value: round(value, 2))


@given(st.lists(st.tuples(st.sampled_from("ab"), PLACE, PLACE), max_size=20), st.sampled_from([1.0, 10.0]))
def test_one_of_each_place_is_kept(characters: list[tuple[str, float, float]], size: float) -> None:
    codes = np.array([ord(code) for code, _, _ in characters], np.uint32)
    boxes = np.array([[x, y, x + size, y + size] for _, x, y in characters], np.float32).reshape(-1, 4)
    again = printed_again(codes, boxes, np.full(len(codes), size, np.float32))
    corners = boxes[:, :2].astype(np.float64)
    for index in np.flatnonzero(again):
        earlier = (codes[:index] == codes[index]) & (
            np.abs(corners[:index] - corners[index]).max(axis=1) <= MAX_SHIFT * np.float32(size)
        )
        assert earlier.any()
    kept = {(code, x, y) for (code, x, y), is_again in zip(characters, again, strict=True) if not is_again}
    exact = {(code, x, y) for code, x, y in characters}
    assert {code for code, _, _ in kept} == {code for code, _, _ in exact}
    moved = np.concatenate([boxes, boxes + np.float32(MAX_SHIFT * size / 2)])
    doubled = printed_again(np.tile(codes, 2), moved, np.full(2 * len(codes), size, np.float32))
    alone = np.array([(np.abs(boxes - box).max(axis=1) < 2 * size).sum() == 1 for box in boxes], np.bool_)
    assert doubled[len(codes) :][alone].all()
