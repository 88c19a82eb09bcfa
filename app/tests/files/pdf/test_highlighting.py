"""The sentences of a window marked in a picture of its pages, or in a copy of its PDF."""

import io
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pypdf
import pypdfium2
import pytest
from langchain_core.documents import Document
from PIL import Image

from app.tests.files.pdf.drawing import HEIGHT, WIDTH, drawn, lines, turned
from langchain_sentence_window import SentenceSplitter
from langchain_sentence_window.errors import InvalidInputError
from sentence_window.files import PageBox, highlight, load_pdf, locate

HIT_COLOR, CONTEXT_COLOR, DPI = (255, 208, 0), (255, 242, 168), 144

Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]
"""A picture: ``(height, width, 3)``."""

SCALE = DPI / 72
OPENED_BY = "user"
TEXT = ("The first one is here. The second", "one was found by the search.", "The third follows.")


def window_of(pdf: bytes, *hits: int, pages: int = 1, **metadata: Any) -> Document:
    """A window of the first pages of a file."""
    text, parts = "", []
    for number, page in enumerate(load_pdf(pdf)[:pages]):
        own = page.page_content
        text += " " if text else ""
        span = [len(text), len(text) + len(own)]
        parts.append({"page": number, "start_index": 0, "end_index": len(own), "span": span})
        text += own
    spans = SentenceSplitter().spans(text)
    found = [{"start_index": spans[hit][0], "end_index": spans[hit][1]} for hit in hits]
    metadata |= {"start_index": 0, "parts": parts, "sentence_spans": spans, "hits": found}
    return Document(page_content=text, metadata=metadata)


def picture_of(path: Path) -> Pixels:
    with Image.open(path) as picture:
        return np.array(picture)


def annotations_of(pdf: bytes, password: str | None = None) -> list[Any]:
    page: Any = pypdf.PdfReader(io.BytesIO(pdf), password=password).pages[0]
    return [each.get_object() for each in page["/Annots"]]


def pixels_of(pdf: bytes, number: int = 0) -> Pixels:
    document = pypdfium2.PdfDocument(pdf)
    picture = np.array(document[number].render(scale=SCALE).to_pil().convert("RGB"))
    document.close()
    return picture


def inside(box: PageBox, height: int, width: int, margin: float) -> tuple[slice, slice]:
    """Rows and columns of a picture of the page that are in a box, or in a box that is wider by a margin in pixels."""
    return (
        slice(round(box.y0 * height - margin), round(box.y1 * height + margin)),
        slice(round(box.x0 * width - margin), round(box.x1 * width + margin)),
    )


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_a_picture_is_colored_under_the_boxes_and_nowhere_else(tmp_path: Path, degrees: int) -> None:
    pdf = turned(drawn(lines(*TEXT)), degrees)
    window = window_of(pdf, 1)
    path = highlight(window, tmp_path / "a.png", pdf=pdf)
    assert path == tmp_path / "a.png"
    picture, plain = picture_of(path), pixels_of(pdf)
    assert picture.shape == plain.shape
    height, width = plain.shape[:2]
    elsewhere = np.ones((height, width), np.bool_)
    for place in locate(window, pdf):
        for box in place.boxes:
            elsewhere[inside(box, height, width, 1)] = False
            marked = picture[inside(box, height, width, -1)].reshape(-1, 3)
            color = HIT_COLOR if place.is_hit else CONTEXT_COLOR
            assert (marked == color).all(axis=1).mean() > 0.4
            assert marked.max(axis=0).tolist() == list(color)
            assert marked.min() < 60  # the text is still black
    assert elsewhere.any()
    assert (picture[elsewhere] == plain[elsewhere]).all()


def test_pages_are_stacked_in_a_picture(tmp_path: Path) -> None:
    pdf = drawn(lines("One ends. Two begins and"), lines("goes on. Three is here."), lines("Four isn't in it."))
    picture = picture_of(highlight(window_of(pdf, 1, pages=2), tmp_path / "a.PNG", pdf=pdf))
    assert picture.shape[1] == WIDTH * SCALE
    assert 2 * HEIGHT * SCALE < picture.shape[0] < 2 * HEIGHT * SCALE + 50
    hit_rows = np.flatnonzero((picture == HIT_COLOR).all(axis=2).any(axis=1))
    assert hit_rows.min() < HEIGHT * SCALE < hit_rows.max()


def test_a_picture_of_a_large_page_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentence_window.files.pdf.highlighting.MAX_PIXELS", 10_000)
    pdf = drawn(lines(*TEXT))
    height, width, _ = picture_of(highlight(window_of(pdf), tmp_path / "a.png", pdf=pdf)).shape
    assert 8_000 < width * height < 11_000


def test_without_hits_all_sentences_are_marked_alike(tmp_path: Path) -> None:
    pdf = drawn(lines(*TEXT))
    picture = picture_of(highlight(window_of(pdf), tmp_path / "a.png", pdf=pdf))
    assert not (picture == CONTEXT_COLOR).all(axis=2).any()
    assert (picture == HIT_COLOR).all(axis=2).any()


@pytest.mark.parametrize("degrees", [0, 90])
def test_a_copy_has_an_annotation_for_each_sentence_at_its_boxes(tmp_path: Path, degrees: int) -> None:
    pdf = turned(drawn(lines(*TEXT)), degrees)
    window = window_of(pdf, 1)
    copy = highlight(window, tmp_path / "copy.pdf", pdf=pdf).read_bytes()
    assert copy.startswith(pdf)  # its content isn't rewritten
    annotations = annotations_of(copy)
    places = locate(window, pdf)
    assert len(annotations) == len(places) == 3
    for annotation, place in zip(annotations, places, strict=True):
        assert annotation["/Subtype"] == "/Highlight"
        color = HIT_COLOR if place.is_hit else CONTEXT_COLOR
        assert [round(255 * float(part)) for part in annotation["/C"]] == list(color)
        quads = np.array([float(each) for each in annotation["/QuadPoints"]]).reshape(-1, 4, 2)
        assert len(quads) == len(place.boxes)
        for quad, box in zip(quads, place.boxes, strict=True):
            if degrees == 0:
                expected = [box.x0 * WIDTH, HEIGHT - box.y1 * HEIGHT, box.x1 * WIDTH, HEIGHT - box.y0 * HEIGHT]
            else:  # the page's lower left is shown as its upper left
                expected = [box.y0 * WIDTH, box.x0 * HEIGHT, box.y1 * WIDTH, box.x1 * HEIGHT]
            assert [*quad.min(axis=0), *quad.max(axis=0)] == pytest.approx(expected, abs=0.01)
            assert quad[0, 0] < quad[1, 0]
            assert quad[0, 1] > quad[2, 1]
        rect = [float(each) for each in annotation["/Rect"]]
        corners = quads.reshape(-1, 2)
        assert rect == pytest.approx([*corners.min(axis=0), *corners.max(axis=0)], abs=0.01)


def test_annotations_are_added_to_those_that_are_there(tmp_path: Path) -> None:
    pdf = drawn(lines(*TEXT))
    once = highlight(window_of(pdf, 1), tmp_path / "once.pdf", pdf=pdf).read_bytes()
    twice = highlight(window_of(pdf, 0), tmp_path / "twice.pdf", pdf=once).read_bytes()
    assert len(annotations_of(twice)) == 6


def test_the_copy_of_an_encrypted_file_is_encrypted(tmp_path: Path) -> None:
    writer = pypdf.PdfWriter(io.BytesIO(drawn(lines(*TEXT))))
    writer.encrypt(OPENED_BY, "owner", algorithm="AES-256-R5")
    written = io.BytesIO()
    writer.write(written)
    pdf = written.getvalue()
    window = window_of(drawn(lines(*TEXT)), 1)
    copy = highlight(window, tmp_path / "copy.pdf", pdf=pdf, password=OPENED_BY).read_bytes()
    assert pypdf.PdfReader(io.BytesIO(copy)).is_encrypted
    assert len(annotations_of(copy, OPENED_BY)) == 3
    picture = picture_of(highlight(window, tmp_path / "a.png", pdf=pdf, password=OPENED_BY))
    assert (picture == HIT_COLOR).all(axis=2).any()


def test_an_invalid_path_is_refused(tmp_path: Path) -> None:
    pdf = tmp_path / "a.pdf"
    pdf.write_bytes(drawn(lines(*TEXT)))
    window = window_of(pdf.read_bytes(), source=str(pdf))
    with pytest.raises(InvalidInputError, match="which is the PDF itself; give another one for the copy"):
        highlight(window, tmp_path / "." / "a.pdf")
    for path in ("a.jpg", "a", 7, None):
        with pytest.raises(InvalidInputError, match=r"give the path of a .png or a .pdf file to write"):
            highlight(window, path)  # type: ignore[arg-type]
    assert pdf.read_bytes() == drawn(lines(*TEXT))


def test_a_file_is_replaced_only_by_a_complete_one(tmp_path: Path) -> None:
    pdf = drawn(lines(*TEXT))
    path = tmp_path / "a.png"
    path.write_bytes(b"old")
    with pytest.raises(InvalidInputError):
        highlight(window_of(pdf), path, pdf=drawn(lines("Another text.")))
    assert path.read_bytes() == b"old"
    highlight(window_of(pdf), path, pdf=pdf)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [each.name for each in tmp_path.iterdir()] == ["a.png"]
