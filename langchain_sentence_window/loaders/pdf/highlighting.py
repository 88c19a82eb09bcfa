"""`highlight`: the sentences of a window marked on the pages of their PDF, as an image or as a copy of the file."""

import ctypes
import io
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias

from langchain_sentence_window._showing import shown
from langchain_sentence_window.documents.sentence_pages import sentences_on_pages
from langchain_sentence_window.errors import InvalidInputError, MissingExtraError
from langchain_sentence_window.loaders.pdf.frames import Boxes, read_frame
from langchain_sentence_window.loaders.pdf.locating import PageBox, SentencePlace, locate_in, pdf_of, window_of
from langchain_sentence_window.loaders.pdf.pdfium import PDFIUM_LOCK, pdfium, pdfium_raw
from langchain_sentence_window.loaders.pdf.reading import PdfSource, open_pdf

HIT_COLOR = (255, 208, 0)
"""Red, green and blue, from 0 to 255, of the sentences that the search found."""

CONTEXT_COLOR = (255, 242, 168)
"""Of the sentences around them."""

DPI = 144
"""Pixels for each inch of an image, unless it would have more than `MAX_PIXELS`."""

MAX_PIXELS = 40_000_000
"""Pixels of an image of several or of large pages."""

_POINTS = 72
_SPACE = 12
_BETWEEN = (128, 128, 128)
_OPAQUE = 255
_Color: TypeAlias = tuple[int, int, int]
_Marks: TypeAlias = dict[int, list[tuple[_Color, list[PageBox]]]]
"""For each page, in order, the boxes of each sentence with its color."""


def highlight(
    window: object,
    path: str | PathLike[str],
    *,
    pdf: str | PathLike[str] | bytes | None = None,
    password: str | None = None,
) -> Path:
    """Mark the sentences of a window in a picture of its pages, or in a copy of its PDF.

    Sentences that the search found are marked more strongly than those around them.

    Args:
        window: A window Document of a PDF that `PDFLoader` read, a page that it read, or a `Citation` of one; or the
            `QuotedPlace` of a quotation in it.
        path: The file to write. With ``.png`` it is an image of the pages that the window touches, one below the other.
            With ``.pdf`` it is a copy of the whole file with annotations, which any viewer shows; the copy of an
            encrypted file is encrypted too.
        pdf: Where the PDF is, or its bytes, if it isn't where ``source`` of the metadata says.
        password: The password of an encrypted PDF.

    Returns:
        The path of the file that was written. A file that was there is replaced once the new one is complete.

    Raises:
        InvalidInputError: The path is of another kind or is the PDF itself, the window isn't of a PDF that `PDFLoader`
            read, or the PDF's text is another one now.
        DocumentReadError: The PDF can't be read.
        MissingExtraError: pypdfium2 or pillow isn't installed.
    """
    document = window_of(window)
    source = pdf_of(document, pdf)
    target = _target(path, source)
    with open_pdf(source, password) as opened:
        marks = _marks(locate_in(opened, sentences_on_pages(document)))
    with PDFIUM_LOCK, _opened(source, password) as file:
        written = _image(file, marks) if target.suffix.lower() == ".png" else _annotated(file, marks)
    unfinished = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        unfinished.write_bytes(written)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return target


def _target(path: object, source: PdfSource) -> Path:
    target = Path(fspath(path)) if isinstance(path, str | PathLike) else None
    if target is None or target.suffix.lower() not in (".png", ".pdf"):
        raise InvalidInputError(f"the path is {shown(path)}; give the path of a .png or a .pdf file to write")
    if not isinstance(source, bytes) and target.resolve() == Path(source).resolve():
        raise InvalidInputError(f"the path is {shown(path)}, which is the PDF itself; give another one for the copy")
    return target


def _marks(places: Sequence[SentencePlace]) -> _Marks:
    found: _Marks = defaultdict(list)
    all_alike = not any(place.is_hit for place in places)
    for place in places:
        color = HIT_COLOR if place.is_hit or all_alike else CONTEXT_COLOR
        for page in dict.fromkeys(box.page for box in place.boxes):
            found[page].append((color, [box for box in place.boxes if box.page == page]))
    return dict(sorted(found.items()))


@contextmanager
def _opened(source: PdfSource, password: str | None) -> Iterator[Any]:
    document = pdfium().PdfDocument(source if isinstance(source, bytes) else str(source), password=password)
    try:
        yield document
    finally:
        document.close()


def _image(document: Any, marks: _Marks) -> bytes:
    """Return a PNG of pages with marks, one below the other."""
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise MissingExtraError("pillow", "pdf") from error

    sizes = [document.get_page_size(number) for number in marks]
    area = sum(width * height for width, height in sizes) / _POINTS**2
    scale = min(DPI, (MAX_PIXELS / max(area, 1)) ** 0.5) / _POINTS
    pictures = [_picture(document, number, scale, marks[number]) for number in marks]
    width = max((picture.width for picture in pictures), default=1)
    height = sum(picture.height + _SPACE for picture in pictures) - _SPACE
    sheet = Image.new("RGB", (width, max(1, height)), _BETWEEN)
    y = 0
    for picture in pictures:
        sheet.paste(picture, (0, y))
        y += picture.height + _SPACE
    written = io.BytesIO()
    sheet.save(written, "PNG")
    return written.getvalue()


def _picture(document: Any, number: int, scale: float, marks: Sequence[tuple[_Color, list[PageBox]]]) -> Any:
    """Return a picture of a page on which the marked places are colored as with a marker, so that text stays black."""
    from PIL import Image, ImageChops, ImageDraw

    page = document[number]
    try:
        picture = page.render(scale=scale).to_pil().convert("RGB")
    finally:
        page.close()
    layer = Image.new("RGB", picture.size, "white")
    draw = ImageDraw.Draw(layer)
    for color, boxes in marks:
        for box in boxes:
            left, right = sorted((round(box.x0 * picture.width), round(box.x1 * picture.width) - 1))
            top, bottom = sorted((round(box.y0 * picture.height), round(box.y1 * picture.height) - 1))
            draw.rectangle((left, top, right, bottom), fill=color)
    return ImageChops.multiply(picture, layer)


def _annotated(document: Any, marks: _Marks) -> bytes:
    """Return a PDF with an annotation for each sentence on each page; what was there before stays as it is."""
    raw = pdfium_raw()
    for number, sentences in marks.items():
        page = document[number]
        try:
            frame = read_frame(page.raw)
            for color, boxes in sentences:
                points = [
                    (box.x0 * frame.width, box.y0 * frame.height, box.x1 * frame.width, box.y1 * frame.height)
                    for box in boxes
                ]
                _annotate(raw, page.raw, color, frame.unshow(points))
        finally:
            page.close()
    written = io.BytesIO()
    document.save(written, flags=raw.FPDF_INCREMENTAL)
    return written.getvalue()


def _annotate(raw: Any, page: Any, color: _Color, boxes: Boxes) -> None:
    annotation = raw.FPDFPage_CreateAnnot(page, raw.FPDF_ANNOT_HIGHLIGHT)
    try:
        raw.FPDFAnnot_SetColor(annotation, raw.FPDFANNOT_COLORTYPE_Color, *color, _OPAQUE)
        raw.FPDFAnnot_SetFlags(annotation, raw.FPDF_ANNOT_FLAG_PRINT)
        for left, bottom, right, top in boxes.tolist():
            # Viewers take the points row by row, upper row first, whatever the specification says.
            quad = raw.FS_QUADPOINTSF(left, top, right, top, left, bottom, right, bottom)
            raw.FPDFAnnot_AppendAttachmentPoints(annotation, ctypes.byref(quad))
        (left, bottom), (right, top) = boxes[:, :2].min(axis=0).tolist(), boxes[:, 2:].max(axis=0).tolist()
        raw.FPDFAnnot_SetRect(annotation, raw.FS_RECTF(left=left, top=top, right=right, bottom=bottom))
    finally:
        raw.FPDFPage_CloseAnnot(annotation)
