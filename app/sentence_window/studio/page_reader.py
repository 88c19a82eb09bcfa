"""Read a document as it looks: its text in blocks, the pages of its PDF, and the places of sentences on them.

A document's metadata says where its file is. Whoever wrote the document may have written anything there, so a file is
opened only if it lies in a folder that the page was given, links followed.
"""

import asyncio
import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from pydantic import Field
from starlette.responses import Response
from starlette.routing import BaseRoute

from langchain_sentence_window.documents import FILE_STATE
from langchain_sentence_window.errors import DocumentReadError, InvalidInputError, SentenceWindowError
from sentence_window.files.file_bytes import Root, open_file
from sentence_window.files.pdf.page_documents import PagedSentence
from sentence_window.files.pdf.pdf_process import PdfBytes, PdfProcess
from sentence_window.folders.found_files import served_below
from sentence_window.studio.page_state import Studio, reading
from sentence_window.studio.read_document import ReadDocument, read_document
from sentence_window.studio.replies import Refused

MIN_WIDTH = 200
MAX_WIDTH = 2_400
"""Pixels of a page's picture."""

KEPT_SECONDS = 30.0
"""How long a document is kept for the calls of its pages. Then it is asked again whether it may be shown."""

P = ParamSpec("P")
T = TypeVar("T")


DocId: TypeAlias = Annotated[str, Field(min_length=1)]
Page: TypeAlias = Annotated[int, Field(ge=0)]
"""A page, from 0."""
Width: TypeAlias = Annotated[int, Field(ge=MIN_WIDTH, le=MAX_WIDTH)]


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    pages = _Pages()
    return [
        reading("/api/document", pages.document),
        reading("/api/page", pages.picture),
        reading("/api/boxes", pages.boxes),
    ]


@dataclass(frozen=True, slots=True)
class PdfState:
    """A file as it is now.

    Attributes:
        path: Where it is, links followed.
        root: The served folder to open it below.
        modified_ns: When it was changed, in nanoseconds.
        size: Its bytes.
    """

    path: Path
    root: Root
    modified_ns: int
    size: int

    @property
    def version(self) -> str:
        """A name for its content."""
        return f"{self.modified_ns:x}-{self.size:x}"

    def to_bytes(self) -> PdfBytes:
        """Return the file for a `PdfProcess`."""
        return PdfBytes(self.path.name, f"{self.version} {self.path}", self.read, self.size)

    def read(self) -> bytes:
        """Return its bytes.

        Raises:
            Refused: It has changed.
        """
        with _opened(self.path, self.root) as opened, os.fdopen(opened, "rb", closefd=False) as file:
            found, data = os.fstat(opened), file.read()
        if (found.st_mtime_ns, found.st_size) != (self.modified_ns, len(data)):
            raise Refused(409, _CHANGED)
        return data


class _Pages:
    """The documents and the pages of one app."""

    def __init__(self) -> None:
        self._opened: tuple[ReadDocument | None, float] = None, 0.0
        # A process reads one file at a time. Pictures don't wait for boxes, which take a whole file first.
        self._readers = {
            name: (ThreadPoolExecutor(1, f"studio-{name}"), PdfProcess()) for name in ("pictures", "boxes")
        }

    async def document(self, studio: Studio, doc_id: DocId) -> object:
        """Return a document in blocks, and the sizes of its pages, or why they can't be shown."""
        document = await self._open(studio, doc_id, is_fresh=True)
        try:
            pdf = await asyncio.to_thread(pdf_of, document, studio.folders)
            sizes = await self._in("pictures", page_sizes, pdf, document.page_count)
            shown: dict[str, Any] = {"page_sizes": sizes, "version": pdf.version, "no_pages": None}
        except (Refused, SentenceWindowError) as error:
            reason = str(error) if document.kind == "pdf" else None
            shown = {"page_sizes": None, "version": None, "no_pages": reason}
        return {**await asyncio.to_thread(document.to_dict), **shown}

    async def picture(
        self, studio: Studio, doc_id: DocId, page: Page, width: Width, version: str | None = None
    ) -> object:
        """Return a page as a PNG; ``version`` is for browsers, so that they don't show that of an older file."""
        pdf = await self._pdf(studio, await self._open(studio, doc_id))
        made = await self._in("pictures", _png, pdf, page, width)
        return Response(made, media_type="image/png", headers={"Cache-Control": "private, max-age=600"})

    async def boxes(self, studio: Studio, doc_id: DocId, page: Page) -> object:
        """Return the places of the sentences that touch a page."""
        opened = await self._open(studio, doc_id)
        pdf = await self._pdf(studio, opened)
        return {"page": page, "sentences": await self._in("boxes", _places_on, pdf, page, opened.on_pages or [])}

    async def _open(self, studio: Studio, doc_id: str, *, is_fresh: bool = False) -> ReadDocument:
        kept, until = self._opened
        if is_fresh or kept is None or kept.doc_id != doc_id or until < time.monotonic():
            kept = await read_document(studio.retriever, doc_id)
            self._opened = kept, time.monotonic() + KEPT_SECONDS
        return kept

    async def _pdf(self, studio: Studio, document: ReadDocument) -> PdfState:
        return await asyncio.to_thread(pdf_of, document, studio.folders)

    async def _in(
        self, name: str, function: Callable[Concatenate[PdfProcess, P], T], *arguments: P.args, **keywords: P.kwargs
    ) -> T:
        thread, pdfs = self._readers[name]
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(thread, partial(function, pdfs, *arguments, **keywords))


MAX_PIXELS = 12_000_000
"""The most pixels of a picture."""

UNREADABLE = 422
"""The status of a page that is damaged, in a file that isn't."""

Place: TypeAlias = tuple[int, list[list[float]]]
"""The index of a sentence and its boxes: left, upper, right and lower side, in fractions of the page."""


def _places_on(pdfs: PdfProcess, pdf: PdfState, page: int, sentences: Sequence[PagedSentence]) -> list[Place]:
    """Return where the sentences of a document are on a page.

    Raises:
        Refused: The file can't be read, or its text is another one now.
    """
    touching = [
        (index, replace(each, pieces=pieces))
        for index, each in enumerate(sentences)
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


_FILE_STATE = re.compile(r"(\d+) (-|\d+) ([0-9a-f]{64})")
_GONE = "the file isn't there any more"
_CHANGED = "the file has changed since it was read; add it to the index again"


def pdf_of(document: ReadDocument, folders: Sequence[Path]) -> PdfState:
    """Return the PDF that a document was read from.

    Args:
        document: The document.
        folders: Files and folders that may be shown, resolved.

    Raises:
        Refused: There is none, or it may not be shown. The message says why, and never whether a file is there that
            may not be shown.
    """
    if document.kind != "pdf" or document.source is None:
        raise Refused(404, "this document isn't from a PDF")
    path, root = _served(document.source, folders)
    with _opened(path, root) as opened:
        state = os.fstat(opened)
    pdf = PdfState(path, root, state.st_mtime_ns, state.st_size)
    if _has_changed(pdf, document.metadata.get(FILE_STATE)):
        raise Refused(409, _CHANGED)
    return pdf


def page_sizes(pdfs: PdfProcess, pdf: PdfState, page_count: int | None) -> list[tuple[float, float]]:
    """Return the width and the height of each page as it is shown, in points.

    Args:
        pdfs: Reads it.
        pdf: The file.
        page_count: The number of pages that the document has.

    Raises:
        Refused: It can't be read, or has another number of pages now.
    """
    try:
        sizes = pdfs.page_sizes(pdf.to_bytes())
    except SentenceWindowError as error:
        raise Refused(409, str(error)) from error
    if len(sizes) != page_count:
        raise Refused(409, _CHANGED)
    return sizes


@contextmanager
def _opened(path: Path, root: Root) -> Iterator[int]:
    """Open a file, and yield its descriptor."""
    try:
        with open_file(path, path.name, root) as opened:
            yield opened
    except DocumentReadError as error:
        raise Refused(409, str(error)) from error
    except OSError as error:
        raise Refused(404, _GONE) from error


def _served(source: str, folders: Sequence[Path]) -> tuple[Path, Root]:
    """Return the path of a file that may be shown; a relative one counts from the current folder, or from a folder."""
    for base in (Path.cwd(), *folders):
        with suppress(InvalidInputError, ValueError):
            return served_below(base / source, folders)
    raise Refused(
        403,
        "the file isn't there any more, or isn't in a folder that this page may show; to see its pages, name its "
        "folder when you start the page: serve_studio(retriever, folders=[...])",
    )


def _has_changed(pdf: PdfState, known: object) -> bool:
    """Return whether a file isn't the one that was read, as far as its loader has recorded the state of that."""
    state = _FILE_STATE.match(str(known))
    if state is None:
        return False
    size, modified, sha256 = state.groups()
    if pdf.size != int(size):
        return True
    return str(pdf.modified_ns) != modified and _sha256(pdf) != sha256


@lru_cache(maxsize=16)
def _sha256(pdf: PdfState) -> str:
    return hashlib.sha256(pdf.read()).hexdigest()
