"""`locate`: the boxes of a window's sentences on the pages of their PDF.

No positions are stored. The file is read again, which gives the same text, and each of its code points belongs to a
character of the page. If the text isn't where the window says, an error is raised, so no box surrounds other text.
"""

import ctypes
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.documents import Document

from langchain_sentence_window.documents import PAGE, PARTS, SOURCE, shown
from langchain_sentence_window.documents.window_runs import source_span
from langchain_sentence_window.errors import InvalidInputError
from sentence_window.files.pdf.page_documents import (
    PagedSentence,
    PagePiece,
    sentence_found_on_pages,
    sentences_on_pages,
)

from .characters import PageCharacters, read_characters
from .line_boxes import line_boxes
from .page_text import MADE, PageText
from .pdf_file import PdfFile, PdfSource, open_pdf
from .pdfium import Boxes, Indexes, Mask, PageFrame, pdfium_raw, read_frame

_MARGIN = 10.0
"""Points around a text that include all characters its boxes might touch."""


@dataclass(frozen=True, slots=True)
class PageBox:
    """A rectangle on a page, in fractions of the displayed page from its upper left.

    Attributes:
        page: The page, from 0.
        page_label: The file's label of the page, such as ``iv``; ``None`` if the metadata has none.
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
        start_index: Its first code point in the document, counted as the window's ``start_index``.
        end_index: One past the last code point.
        is_hit: Whether it is a hit of the search.
        boxes: One or more for each of its lines, in reading order.
    """

    text: str
    start_index: int
    end_index: int
    is_hit: bool
    boxes: tuple[PageBox, ...]


def locate(
    window: object, path: str | PathLike[str] | bytes | None = None, *, password: str | None = None
) -> list[SentencePlace]:
    """Find the boxes of each sentence of a window on the pages of its PDF.

    Args:
        window: A window Document of a PDF that `PDFLoader` read, a page that it read, or a `Citation` of one; or the
            `QuotedPlace` of a quotation in it.
        path: The path of the file, or its bytes; ``None`` for the ``source`` in the metadata.
        password: The password of an encrypted file.

    Returns:
        The sentences in order.

    Raises:
        InvalidInputError: The window isn't from a PDF that `PDFLoader` read, or the text of the file has changed.
        DocumentReadError: The file can't be read.
    """
    document = window_of(window)
    sentences = placed_sentences(document)
    with open_pdf(pdf_of(document, path), password) as pdf:
        return locate_in(pdf, sentences or [found_sentence(window, document, pdf)])


def window_of(window: object) -> Document:
    """Return the Document of a window or a citation; for the place of a quotation, a window of that place only.

    Raises:
        InvalidInputError: It is something else.
    """
    narrow = getattr(window, "window", None)
    document = narrow() if callable(narrow) else getattr(window, "document", window)
    if isinstance(document, Document):
        return document
    raise InvalidInputError(f"the window is {shown(window)}; give a Document that a retriever returned, or a Citation")


def placed_sentences(document: Document) -> list[PagedSentence]:
    """Return the sentences of a window with positions in its metadata; none if the text must be searched for.

    Raises:
        InvalidInputError: The metadata doesn't name a page, or is invalid.
    """
    is_on_page = PARTS in document.metadata or PAGE in document.metadata
    return [] if is_on_page and source_span(document) is None else sentences_on_pages(document)


def found_sentence(window: object, document: Document, pdf: PdfFile) -> PagedSentence:
    """Search for a text without positions on the pages that its metadata names.

    Raises:
        InvalidInputError: It isn't there exactly once.
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
    """Return the file of a window: the given one, or the one that the metadata names.

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
    """Find the boxes of sentences on the pages of an open PDF.

    Raises:
        InvalidInputError: The text of a page differs from that of the sentences.
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
        "loader than sentence_window.files.PDFLoader read it. Load it again, and replace the document "
        "in the index"
    )


class _Page:
    """An open page and its text."""

    def __init__(self, text: PageText, characters: PageCharacters, frame: PageFrame, textpage: Any) -> None:
        self._index = text.characters
        self._loose = characters.boxes.astype(np.float64)
        spaces = [code for code in np.unique(characters.codes).tolist() if chr(min(code, sys.maxunicode)).isspace()]
        self._is_ink: Mask = ~characters.generated & ~characters.hidden & ~np.isin(characters.codes, spaces)
        self._tight = np.full((len(characters), 4), np.nan)
        self._frame = frame
        self._textpage = textpage

    def fractions(self, start: int, end: int) -> list[list[float]]:
        """Return the boxes of a span of the page's text, in fractions of the page."""
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
        """Return which characters of the page might touch a box around the given ones."""
        (left, top), (right, bottom) = loose[:, :2].min(axis=0) - _MARGIN, loose[:, 2:].max(axis=0) + _MARGIN
        x0, y0, x1, y1 = self._loose.T
        near: Mask = self._is_ink & (x0 <= right) & (x1 >= left) & (y0 <= bottom) & (y1 >= top)
        return near

    def _read_tight(self, indexes: Indexes) -> Boxes:
        """Return the tight boxes of characters; each is read once."""
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
