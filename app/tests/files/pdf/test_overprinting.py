"""Characters that are printed twice at the same position."""

import pytest
from reportlab.pdfgen.canvas import Canvas

from app.tests.files.pdf.drawing import drawn, mapped
from sentence_window.files import load_pdf


def text_of(pdf: bytes) -> str:
    return load_pdf(pdf)[0].page_content


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
