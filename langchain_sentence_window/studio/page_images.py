"""Pictures of the pages of PDFs, and the places of sentences on them."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from langchain_sentence_window.documents.sentence_pages import PagedSentence
from langchain_sentence_window.errors import DocumentReadError, InvalidInputError
from langchain_sentence_window.loaders.pdf.pdf_process import PdfProcess
from langchain_sentence_window.studio.pdf_files import PdfState
from langchain_sentence_window.studio.replies import Refused

MAX_CACHE_BYTES = 64_000_000
"""The most bytes of pictures that are kept."""

MAX_PIXELS = 12_000_000
"""The most pixels of a picture."""

UNREADABLE = 422
"""The status of a page that is damaged, in a file that isn't."""

Place: TypeAlias = tuple[int, list[list[float]]]
"""The index of a sentence and its boxes: left, upper, right and lower side, in fractions of the page."""


class ImageCache:
    """Pictures of pages, the latest ones kept. Several threads may use it."""

    def __init__(self, max_bytes: int = MAX_CACHE_BYTES) -> None:
        """Begin without pictures.

        Args:
            max_bytes: The most bytes that are kept.
        """
        self._max_bytes = max_bytes
        self._kept: OrderedDict[tuple[PdfState, int, int], bytes] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def page(self, pdfs: PdfProcess, pdf: PdfState, number: int, width: int) -> bytes:
        """Return a page as PNG: a kept picture, else a new one.

        Args:
            pdfs: Reads it.
            pdf: The file.
            number: The page, from 0.
            width: Pixels.

        Raises:
            Refused: The file can't be read.
            MissingExtraError: pillow isn't installed.
        """
        key = pdf, number, width
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = _png(pdfs, pdf, number, width)
        with self._lock:
            if key not in self._kept and len(made) <= self._max_bytes:
                self._kept[key] = made
                self._size += len(made)
                while self._size > self._max_bytes:
                    self._size -= len(self._kept.popitem(last=False)[1])
        return made

    @property
    def size(self) -> int:
        """The bytes that are kept."""
        return self._size


def places_on(
    pdfs: PdfProcess, pdf: PdfState, page: int, sentences: Sequence[PagedSentence], indexes: Iterable[int]
) -> list[Place]:
    """Return where the sentences of a document stand on a page.

    Args:
        pdfs: Reads it.
        pdf: The file.
        page: The page, from 0.
        sentences: The sentences of the document.
        indexes: The index of each of them.

    Raises:
        Refused: The file can't be read, or its text is another one now.
    """
    touching = [
        (index, replace(each, pieces=pieces))
        for index, each in zip(indexes, sentences, strict=True)
        if (pieces := tuple(piece for piece in each.pieces if piece.page == page))
    ]
    try:
        found = pdfs.boxes(pdf.to_bytes(), [each for _, each in touching])
    except InvalidInputError as error:
        raise Refused(
            409,
            "the text of the page isn't that of the document; the file has changed since it was read, or another "
            "loader than PDFLoader read it",
        ) from error
    except DocumentReadError as error:
        raise Refused(UNREADABLE, str(error)) from error
    return [
        (index, [[round(side, 5) for side in box] for box in boxes])
        for (index, _), boxes in zip(touching, found, strict=True)
    ]


def _png(pdfs: PdfProcess, pdf: PdfState, number: int, width: int) -> bytes:
    try:
        return pdfs.picture(pdf.to_bytes(), number, width, MAX_PIXELS)
    except InvalidInputError as error:
        raise Refused(404, str(error)) from error
    except DocumentReadError as error:
        raise Refused(UNREADABLE, str(error)) from error
