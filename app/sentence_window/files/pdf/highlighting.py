"""`highlight`: the pages of a window with its sentences marked, as a picture or as a copy of the PDF."""

import ctypes
import io
import os
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from langchain_sentence_window.documents import shown
from langchain_sentence_window.errors import InvalidInputError

from .pdf_file import PdfSource, open_pdf
from .pdfium import PDFIUM_LOCK, Boxes, pdfium_raw, read_frame
from .sentence_places import (
    PageBox,
    SentencePlace,
    found_sentence,
    locate_in,
    pdf_of,
    placed_sentences,
    window_of,
)

HIT_COLOR = (255, 208, 0)
"""Red, green and blue, from 0 to 255, of sentences that are hits."""

CONTEXT_COLOR = (255, 242, 168)
"""The color of sentences around them."""

DPI = 144
"""Pixels per inch of an image, unless it would exceed `MAX_PIXELS`."""

MAX_PIXELS = 40_000_000
"""The most pixels of an image."""

_POINTS = 72
_SPACE = 12
_BETWEEN = (128, 128, 128)
_OPAQUE = 255
_Color: TypeAlias = tuple[int, int, int]
_Marks: TypeAlias = dict[int, list[tuple[_Color, list[PageBox]]]]
"""For each page, in order, the color and the boxes of each sentence."""


def highlight(
    window: object,
    path: str | PathLike[str],
    *,
    pdf: str | PathLike[str] | bytes | None = None,
    password: str | None = None,
) -> Path:
    """Mark the sentences of a window in a picture of its pages, or in a copy of its PDF.

    Hits are marked more strongly than the sentences around them.

    Args:
        window: A window Document of a PDF that `PDFLoader` read, a page that it read, or a `Citation` of one; or the
            `QuotedPlace` of a quotation in it.
        path: The file to write. A ``.png`` is an image of the window's pages, one below the other. A ``.pdf`` is a copy
            of the whole file with annotations that any viewer shows; that of an encrypted file is encrypted too.
        pdf: The path of the PDF, or its bytes; ``None`` for the ``source`` in the metadata.
        password: The password of an encrypted PDF.

    Returns:
        The path of the written file. An existing file is replaced once the new one is complete.

    Raises:
        InvalidInputError: The path has another suffix or is the PDF itself, the window isn't from a PDF that
            `PDFLoader` read, or the text of the PDF has changed.
        DocumentReadError: The PDF can't be read.
    """
    document = window_of(window)
    sentences = placed_sentences(document)
    source = pdf_of(document, pdf)
    target = _target(path, source)
    with open_pdf(source, password) as file:
        marks = _marks(locate_in(file, sentences or [found_sentence(window, document, file)]))
        with PDFIUM_LOCK:
            write = _image if target.suffix.lower() == ".png" else _annotated
            written = write(file.document, marks)
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


def _image(document: Any, marks: _Marks) -> bytes:
    """Return a PNG of marked pages, one below the other."""
    from PIL import Image

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
    """Return an image of a page with boxes colored as with a highlighter, so that text stays black."""
    from PIL import Image, ImageChops, ImageDraw

    with closing(document[number]) as page:
        picture = page.render(scale=scale).to_pil().convert("RGB")
    layer = Image.new("RGB", picture.size, "white")
    draw = ImageDraw.Draw(layer)
    for color, boxes in marks:
        for box in boxes:
            left, right = sorted((round(box.x0 * picture.width), round(box.x1 * picture.width) - 1))
            top, bottom = sorted((round(box.y0 * picture.height), round(box.y1 * picture.height) - 1))
            draw.rectangle((left, top, right, bottom), fill=color)
    return ImageChops.multiply(picture, layer)


def _annotated(document: Any, marks: _Marks) -> bytes:
    """Return a PDF with an annotation for each sentence on each page; its existing content isn't rewritten."""
    raw = pdfium_raw()
    for number, sentences in marks.items():
        with closing(document[number]) as page:
            frame = read_frame(page.raw)
            for color, boxes in sentences:
                fractions = np.array([[box.x0, box.y0, box.x1, box.y1] for box in boxes])
                _annotate(raw, page.raw, color, frame.unshow(fractions * ([frame.width, frame.height] * 2)))
    written = io.BytesIO()
    document.save(written, flags=raw.FPDF_INCREMENTAL)
    return written.getvalue()


def _annotate(raw: Any, page: Any, color: _Color, boxes: Boxes) -> None:
    annotation = raw.FPDFPage_CreateAnnot(page, raw.FPDF_ANNOT_HIGHLIGHT)
    try:
        raw.FPDFAnnot_SetColor(annotation, raw.FPDFANNOT_COLORTYPE_Color, *color, _OPAQUE)
        raw.FPDFAnnot_SetFlags(annotation, raw.FPDF_ANNOT_FLAG_PRINT)
        for left, bottom, right, top in boxes.tolist():
            # Viewers expect the points row by row, upper row first, contrary to the specification.
            quad = raw.FS_QUADPOINTSF(left, top, right, top, left, bottom, right, bottom)
            raw.FPDFAnnot_AppendAttachmentPoints(annotation, ctypes.byref(quad))
        (left, bottom), (right, top) = boxes[:, :2].min(axis=0).tolist(), boxes[:, 2:].max(axis=0).tolist()
        raw.FPDFAnnot_SetRect(annotation, raw.FS_RECTF(left=left, top=top, right=right, bottom=bottom))
    finally:
        raw.FPDFPage_CloseAnnot(annotation)
