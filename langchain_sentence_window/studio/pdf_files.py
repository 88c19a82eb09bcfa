"""The PDF that a document was read from, if the page may show it.

A document's metadata says where its file is. Whoever wrote the document may have written anything there, so a file is
opened only if it lies in a folder that the page was given, links followed.
"""

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from langchain_sentence_window.documents.file_states import FileState
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowError
from langchain_sentence_window.folders.served import served_file
from langchain_sentence_window.loaders.pdf.reading import PdfFile, open_pdf
from langchain_sentence_window.studio.read_document import ReadDocument
from langchain_sentence_window.studio.replies import Refused

_CHANGED = "the file has changed since it was read; add it to the index again"


@dataclass(frozen=True, slots=True)
class PdfState:
    """A file as it is now.

    Attributes:
        path: Where it is, links followed.
        modified_ns: When it was changed, in nanoseconds.
        size: Its bytes.
    """

    path: Path
    modified_ns: int
    size: int

    @property
    def version(self) -> str:
        """A name for its content."""
        return f"{self.modified_ns:x}-{self.size:x}"


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
    path = _served(document.source, folders)
    state = path.stat()
    pdf = PdfState(path, state.st_mtime_ns, state.st_size)
    if _has_changed(pdf, FileState.read(document.metadata)):
        raise Refused(409, _CHANGED)
    return pdf


def page_sizes(pdf: PdfState, page_count: int | None) -> list[tuple[float, float]]:
    """Return the width and the height of each page as it is shown, in points.

    Args:
        pdf: The file.
        page_count: The number of pages that the document has.

    Raises:
        Refused: It can't be read, or has another number of pages now.
    """
    with opened(pdf) as file:
        if file.page_count != page_count:
            raise Refused(409, _CHANGED)
        return file.page_sizes()


def opened(pdf: PdfState) -> PdfFile:
    """Open a file.

    Raises:
        Refused: It can't be read.
    """
    try:
        return open_pdf(pdf.path, name=pdf.path.name)
    except SentenceWindowError as error:
        raise Refused(409, str(error)) from error


def _served(source: str, folders: Sequence[Path]) -> Path:
    """Return the path of a file that may be shown; a relative one counts from the current folder, or from a folder."""
    for base in (Path.cwd(), *folders):
        with suppress(InvalidInputError, ValueError):
            return served_file(base / source, folders)
    if any(Path(os.path.abspath(base / source)).is_relative_to(base) for base in folders):  # noqa: PTH100 - no link is read
        raise Refused(404, "the file isn't there any more")
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
    with pdf.path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
