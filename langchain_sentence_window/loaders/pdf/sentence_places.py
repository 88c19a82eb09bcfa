"""`locate` and `highlight`: where the sentences of a window stand on the pages of their PDF, and the pages with marks.

Nothing of this is stored. The file is read again, which gives the same text, and each character of it is one of the
page. A text that doesn't stand where the window says is refused, so no box is around anything else.
"""

import ctypes
import io
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window._lazy import of_extra
from langchain_sentence_window.documents.keys import PARTS, SOURCE
from langchain_sentence_window.documents.page_documents import (
    PagedSentence,
    PagePiece,
    sentence_found_on_pages,
    sentences_on_pages,
)
from langchain_sentence_window.documents.source_metadata import PAGE
from langchain_sentence_window.documents.window_runs import source_span
from langchain_sentence_window.errors import InvalidInputError

from .characters import PageCharacters, line_boxes, read_characters
from .page_layout import MADE, PageText
from .pdf_file import PdfFile, PdfSource, open_pdf
from .pdfium import PDFIUM_LOCK, Boxes, Indexes, Mask, PageFrame, pdfium_raw, read_frame

_MARGIN = 10.0
"""Points around a text in which characters are looked for that its boxes might touch."""


@dataclass(frozen=True, slots=True)
class PageBox:
    """A rectangle on a page, in fractions of the page as a viewer shows it, from its upper left.

    Attributes:
        page: The page, from 0.
        page_label: What the file calls the page, such as ``iv``; ``None`` if the metadata doesn't say.
        x0: The left side, from 0 to 1.
        y0: The upper side.
        x1: The right side.
        y1: The lower side.
    """

    page: int
    page_label: str | None
    x0: float
    y0: float
    x1: float
    y1: float


@dataclass(frozen=True, slots=True)
class SentencePlace:
    """The place of a sentence of a window.

    Attributes:
        text: The sentence.
        start_index: Its first code point in the document, as the window's ``start_index`` counts.
        end_index: One past the last code point.
        is_hit: Whether the search found it.
        boxes: In reading order, one or more for each of its lines.
    """

    text: str
    start_index: int
    end_index: int
    is_hit: bool
    boxes: tuple[PageBox, ...]


def locate(
    window: object, path: str | PathLike[str] | bytes | None = None, *, password: str | None = None
) -> list[SentencePlace]:
    """Find the rectangles of each sentence of a window on the pages of its PDF.

    Args:
        window: A window Document of a PDF that `PDFLoader` read, a page that it read, or a `Citation` of one; or the
            `QuotedPlace` of a quotation in it.
        path: Where the file is, or its bytes, if it isn't where ``source`` of the metadata says.
        password: The password of an encrypted file.

    Returns:
        The sentences in order.

    Raises:
        InvalidInputError: The window isn't of a PDF that `PDFLoader` read, or the file's text is another one now.
        DocumentReadError: The file can't be read.
        MissingExtraError: pypdfium2 isn't installed.
    """
    document = window_of(window)
    sentences = _placed_sentences(document)
    with open_pdf(pdf_of(document, path), password) as pdf:
        return locate_in(pdf, sentences or [_found_sentence(window, document, pdf)])


def window_of(window: object) -> Document:
    """Return the Document of a window, or of a citation; of a quotation's place, a window of that place alone.

    Raises:
        InvalidInputError: It is neither.
    """
    narrow = getattr(window, "window", None)
    document = narrow() if callable(narrow) else getattr(window, "document", window)
    if isinstance(document, Document):
        return document
    raise InvalidInputError(f"the window is {shown(window)}; give a Document that a retriever returned, or a Citation")


def _placed_sentences(document: Document) -> list[PagedSentence]:
    """Return the sentences of a window that says where it stands; none for one that must be looked for.

    Raises:
        InvalidInputError: The metadata doesn't say on which page the text stands, or can't be right.
    """
    is_on_page = PARTS in document.metadata or PAGE in document.metadata
    return [] if is_on_page and source_span(document) is None else sentences_on_pages(document)


def _found_sentence(window: object, document: Document, pdf: PdfFile) -> PagedSentence:
    """Look for a text that doesn't say where it stands on the pages that it was of.

    Raises:
        InvalidInputError: It isn't there, or more than once.
    """
    whole, own = getattr(window, "document", document), getattr(window, "own", None)
    text = document.page_content
    found = sentence_found_on_pages(
        whole, text, own or (0, len(text)), lambda page: pdf.read_page(page).text if page < pdf.page_count else ""
    )
    if found is None:
        raise InvalidInputError(
            f"the metadata doesn't say where {shown(text)} starts, and it isn't exactly once on the named pages of "
            f"{pdf.name}; give the window as the retriever returned it, and its text unchanged"
        )
    return found


def pdf_of(document: Document, path: object) -> PdfSource:
    """Return the file of a window: the one that is given, or the one that its metadata names.

    Raises:
        InvalidInputError: There is none.
    """
    if isinstance(path, bytes | bytearray | memoryview):
        return bytes(path)
    if isinstance(path, str | PathLike):
        return Path(fspath(path))
    source = document.metadata.get(SOURCE)
    if path is not None or not isinstance(source, str) or not source:
        raise InvalidInputError(f"the file is {shown(source if path is None else path)}; give its path or its bytes")
    return Path(source)


def locate_in(pdf: PdfFile, sentences: Iterable[PagedSentence]) -> list[SentencePlace]:
    """Find the rectangles of sentences on the pages of an open PDF.

    Raises:
        InvalidInputError: The text of a page isn't the one that the sentences are from.
    """
    found = list(sentences)
    by_page: dict[int, list[PagePiece]] = {}
    for piece in (piece for sentence in found for piece in sentence.pieces):
        by_page.setdefault(piece.page, []).append(piece)
    boxes: dict[PagePiece, list[PageBox]] = {}
    for page, pieces in sorted(by_page.items()):
        boxes |= _boxes_on(pdf, page, pieces)
    return [
        SentencePlace(
            each.text, each.start, each.end, each.is_hit, tuple(box for piece in each.pieces for box in boxes[piece])
        )
        for each in found
    ]


def _boxes_on(pdf: PdfFile, number: int, pieces: Iterable[PagePiece]) -> Mapping[PagePiece, list[PageBox]]:
    if number >= pdf.page_count:
        raise _changed(pdf, number)
    text = pdf.read_page(number)
    for piece in pieces:
        if text.text[piece.start : piece.end] != piece.text:
            raise _changed(pdf, number)
    with pdf.open_page(number) as (page, textpage):
        on_page = _Page(text, read_characters(page, textpage, number), read_frame(page), textpage)
        return {
            piece: [PageBox(number, piece.label, *box) for box in on_page.fractions(piece.start, piece.end)]
            for piece in pieces
        }


def _changed(pdf: PdfFile, number: int) -> InvalidInputError:
    return InvalidInputError(
        f"page {number + 1} of {pdf.name} doesn't have the text of the window; the file has changed, or another "
        "loader than langchain_sentence_window.loaders.PDFLoader read it. Load it again, and replace the document "
        "in the index"
    )


class _Page:
    """An open page with its text."""

    def __init__(self, text: PageText, characters: PageCharacters, frame: PageFrame, textpage: Any) -> None:
        self._index = text.characters
        self._loose = characters.boxes.astype(np.float64)
        spaces = [code for code in np.unique(characters.codes).tolist() if chr(min(code, sys.maxunicode)).isspace()]
        self._is_ink: Mask = ~characters.generated & ~characters.hidden & ~np.isin(characters.codes, spaces)
        self._tight = np.full((len(characters), 4), np.nan)
        self._frame = frame
        self._textpage = textpage

    def fractions(self, start: int, end: int) -> list[list[float]]:
        """Return the boxes of a stretch of the page's text, in fractions of the page."""
        index = self._index[start:end]
        chosen = np.array(list(dict.fromkeys(index[index != MADE].tolist())), np.intp)
        if not len(chosen):
            return []
        loose = self._loose[chosen]
        near = self._near(loose)
        near[chosen] = True
        indexes = np.flatnonzero(near)
        tight = self._read_tight(indexes)
        boxes = line_boxes(np.searchsorted(indexes, chosen), tight, loose, self._is_ink[indexes])
        boxes = np.clip(boxes / ([self._frame.width, self._frame.height] * 2), 0, 1)
        found: list[list[float]] = boxes[(boxes[:, :2] < boxes[:, 2:]).all(axis=1)].tolist()
        return found

    def _near(self, loose: Boxes) -> Mask:
        """Return which characters of the page might touch a box around some of them."""
        (left, top), (right, bottom) = loose[:, :2].min(axis=0) - _MARGIN, loose[:, 2:].max(axis=0) + _MARGIN
        x0, y0, x1, y1 = self._loose.T
        near: Mask = self._is_ink & (x0 <= right) & (x1 >= left) & (y0 <= bottom) & (y1 >= top)
        return near

    def _read_tight(self, indexes: Indexes) -> Boxes:
        """Return the boxes around the ink of characters; each is asked for once."""
        new = indexes[np.isnan(self._tight[indexes, 0])]
        if len(new):
            read = pdfium_raw().FPDFText_GetCharBox
            left, right, bottom, top = (ctypes.c_double() for _ in range(4))
            boxes: list[tuple[float, ...]] = []
            for index in new.tolist():
                known = read(self._textpage, index, left, right, bottom, top)
                boxes.append((left.value, bottom.value, right.value, top.value) if known else (0.0,) * 4)
            self._tight[new] = self._frame.show(np.nan_to_num(np.array(boxes)))
        return self._tight[indexes]


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
    sentences = _placed_sentences(document)
    source = pdf_of(document, pdf)
    target = _target(path, source)
    with open_pdf(source, password) as file:
        marks = _marks(locate_in(file, sentences or [_found_sentence(window, document, file)]))
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
    """Return a PNG of pages with marks, one below the other."""
    image = of_extra("PIL.Image", "pillow", "files")
    sizes = [document.get_page_size(number) for number in marks]
    area = sum(width * height for width, height in sizes) / _POINTS**2
    scale = min(DPI, (MAX_PIXELS / max(area, 1)) ** 0.5) / _POINTS
    pictures = [_picture(document, number, scale, marks[number]) for number in marks]
    width = max((picture.width for picture in pictures), default=1)
    height = sum(picture.height + _SPACE for picture in pictures) - _SPACE
    sheet = image.new("RGB", (width, max(1, height)), _BETWEEN)
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
    """Return a PDF with an annotation for each sentence on each page; what was there before stays as it is."""
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
            # Viewers take the points row by row, upper row first, whatever the specification says.
            quad = raw.FS_QUADPOINTSF(left, top, right, top, left, bottom, right, bottom)
            raw.FPDFAnnot_AppendAttachmentPoints(annotation, ctypes.byref(quad))
        (left, bottom), (right, top) = boxes[:, :2].min(axis=0).tolist(), boxes[:, 2:].max(axis=0).tolist()
        raw.FPDFAnnot_SetRect(annotation, raw.FS_RECTF(left=left, top=top, right=right, bottom=bottom))
    finally:
        raw.FPDFPage_CloseAnnot(annotation)
