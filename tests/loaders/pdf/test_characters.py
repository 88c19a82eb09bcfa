import io

import numpy as np
import pypdf
import pypdfium2
import pytest
from reportlab.pdfgen.canvas import Canvas

from langchain_sentence_window.loaders.pdf.characters import PageCharacters
from langchain_sentence_window.loaders.pdf.pdf_file import open_pdf
from tests.loaders.pdf.drawing import drawn, mapped, turned


def page_of(pdf: bytes) -> PageCharacters:
    with open_pdf(pdf) as opened:
        return opened.read_characters(0)


def draw(canvas: Canvas) -> None:
    canvas.setFont("Helvetica", 20)
    canvas.drawString(100, 700, "H")
    canvas.setFont("Times-BoldItalic", 10)
    canvas.drawString(300, 500, "b")
    canvas.rotate(90)
    canvas.drawString(200, -400, "u")


def cropped(pdf: bytes) -> bytes:
    writer = pypdf.PdfWriter(io.BytesIO(pdf))
    writer.pages[0].cropbox.lower_left = (30, 40)
    writer.pages[0].cropbox.upper_right = (580, 790)
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
@pytest.mark.parametrize("is_cropped", [False, True])
def test_boxes_are_where_the_ink_is(degrees: int, is_cropped: bool) -> None:
    pdf = turned(cropped(drawn(draw)) if is_cropped else drawn(draw), degrees)
    page = page_of(pdf)
    with pypdfium2.PdfDocument(pdf) as document:
        shown = document[0].render(scale=1).to_numpy()[:, :, 0] < 200
    assert shown.shape == (round(page.height), round(page.width))
    visible = page.boxes[~page.generated]
    for x0, y0, x1, y1 in np.rint(visible).astype(int):
        assert shown[y0 : y1 + 1, x0 : x1 + 1].any()
        shown[max(0, y0 - 1) : y1 + 2, max(0, x0 - 1) : x1 + 2] = False
    assert not shown.any()


def test_fonts_sizes_and_directions() -> None:
    page = page_of(drawn(draw))
    found = {
        chr(code): (float(size), bool(bold), float(angle))
        for code, size, bold, angle, made in zip(
            page.codes, page.sizes, page.bold, page.angles, page.generated, strict=True
        )
        if not made
    }
    assert found == {"H": (20, False, 0), "b": (10, True, 0), "u": (10, True, 270)}


def test_a_line_has_one_origin() -> None:
    def line(canvas: Canvas) -> None:
        canvas.drawString(72, 700, "gjAb.")

    page = page_of(drawn(line))
    assert {tuple(origin) for origin in page.origins.tolist()} == {(72.0, 100.0)}


def test_characters_that_take_two_units_are_counted_once() -> None:
    page = page_of(mapped(b"BT /F 12 Tf 72 700 Td (a1b) Tj ET", {"31": "\U0001d54f"}))
    assert [chr(code) for code in page.codes[~page.generated]] == ["a", "\U0001d54f", "b"]


def test_a_page_without_text_has_no_characters() -> None:
    assert len(page_of(drawn(lambda canvas: None))) == 0
