"""The PDF that a document was read from, if the page may show it.

A document's metadata says where its file is. Whoever wrote the document may have written anything there, so a file is
opened only if it lies in a folder that the page was given, links followed.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from langchain_sentence_window.documents.file_states import FileState
from langchain_sentence_window.errors import DocumentReadError, InvalidInputError, SentenceWindowError
from langchain_sentence_window.folders.served import served_below
from langchain_sentence_window.loaders.file_bytes import Root, open_file
from langchain_sentence_window.loaders.pdf.pdf_process import PdfBytes, PdfProcess
from langchain_sentence_window.studio.read_document import ReadDocument
from langchain_sentence_window.studio.replies import Refused

_GONE = "the file isn't there any more"
_CHANGED = "the file has changed since it was read; add it to the index again"


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
    if not document.is_whole:
        raise Refused(403, "the filter hides a part of this document, so its pages aren't shown")
    path, root = _served(document.source, folders)
    with _opened(path, root) as opened:
        state = os.fstat(opened)
    pdf = PdfState(path, root, state.st_mtime_ns, state.st_size)
    if _has_changed(pdf, FileState.read(document.metadata)):
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
    if any(Path(os.path.abspath(base / source)).is_relative_to(base) for base in folders):  # noqa: PTH100 - no link is read
        raise Refused(404, _GONE)
    raise Refused(
        403,
        "the file isn't in a folder that this page may show; to see its pages, name its folder when you start the "
        "page: serve_studio(retriever, folders=[...])",
    )


def _has_changed(pdf: PdfState, known: FileState | None) -> bool:
    """Return whether a file isn't the one that was read, as far as its loader has said what that was."""
    if known is None:
        return False
    if pdf.size != known.size:
        return True
    return pdf.modified_ns != known.modified_ns and _sha256(pdf) != known.sha256


@lru_cache(maxsize=16)
def _sha256(pdf: PdfState) -> str:
    return hashlib.sha256(pdf.read()).hexdigest()
