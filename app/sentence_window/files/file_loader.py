"""`load_file`: a file as Documents, read by its suffix."""

import hashlib
from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document

from langchain_sentence_window.documents import CONTENT_TYPE, FILE_STATE, SOURCE, shown
from langchain_sentence_window.errors import DocumentReadError, InvalidInputError, SentenceWindowError
from sentence_window.files.file_state import FileState

from .file_bytes import EmptyFileError, FileBytes, read_file
from .readers import PDF, readers

if TYPE_CHECKING:
    from .pdf.pdf_process import PdfProcess


class FileLoader(BaseLoader):
    """A loader of one file of any supported type, for programs that need a loader class.

    Examples:
        >>> DirectoryLoader("handbook/", loader_cls=FileLoader).load()  # doctest: +SKIP
    """

    def __init__(self, path: str | PathLike[str], *, source: str | None = None) -> None:
        """Choose the file; see `load_file` for the arguments."""
        self._path, self._source = path, source

    def lazy_load(self) -> Iterator[Document]:
        """Yield the Documents that `load_file` returns."""
        yield from load_file(self._path, source=self._source)


def load_file(path: str | PathLike[str], *, source: str | None = None) -> list[Document]:
    """Load a file as Documents: one per page of a PDF, per slide or per row of a sheet, and one for any other file.

    The text of text files, subtitles, Markdown and other markup is unchanged. The splitter recognizes subtitles and
    Markdown; for other markup, such as reStructuredText, the metadata describes the blocks. PDFs become plain text, and
    all other files Markdown with headings, lists and tables. In HTML, scripts, styles, navigation, boilerplate and
    hidden text are left out; if ``<main>`` or the only ``<article>`` holds enough of the text, only that is read.

    Args:
        path: The path of a file whose suffix has a reader, see `sentence_window.files.readers`.
        source: The ``source`` in the metadata, which names the document; ``None`` for the path as given.

    Returns:
        The Documents. Their metadata holds ``source``, ``content_type``, ``file_state``, and ``title`` if the file has
        one. Pages of a PDF also have the metadata of `PDFLoader`.

    Raises:
        InvalidInputError: An argument is of another type.
        DocumentReadError: The file is missing, can't be read, is of another type, or holds no text.
    """
    if not isinstance(path, str | PathLike) or not isinstance(fspath(path), str):
        raise InvalidInputError(f"path is {shown(path)}; give the path of a file as a string or a Path")
    if not isinstance(source, str | None) or source == "":
        raise InvalidInputError(f"source is {shown(source)}; give the document a name as a string, or None")
    given = fspath(path)
    name = given if given.isprintable() else ascii(given)
    check_suffix(given, name)
    return convert(read_file(Path(given), name), given, source or given)


def load_bytes(data: bytes, source: str) -> list[Document]:
    """Load a file from its bytes, such as an upload or an object in a bucket.

    Args:
        data: The bytes.
        source: The name of the file, with its suffix; it becomes the metadata's ``source``.

    Returns:
        The Documents, as from `load_file`.

    Raises:
        InvalidInputError: An argument is of another type.
        DocumentReadError: The bytes can't be read, are of another type, or hold no text.
    """
    if not isinstance(data, bytes):
        raise InvalidInputError(f"data is {shown(data)}; give the bytes of a file")
    if not isinstance(source, str):
        raise InvalidInputError(f"source is {shown(source)}; give the name of the file, with its suffix")
    check_suffix(source, source)
    state = FileState(size=len(data), modified_ns=None, sha256=hashlib.sha256(data).hexdigest())
    return convert(FileBytes(data, state), source, source)


def check_suffix(path: str, name: str) -> None:
    """Check that there is a reader for the suffix of a file.

    Raises:
        DocumentReadError: There is none.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in readers():
        raise DocumentReadError(
            f"{name} can't be read, as its suffix is {suffix!r}; convert it to one of {', '.join(readers())}"
        )


def convert(file: FileBytes, path: str, source: str, pdfs: "PdfProcess | None" = None) -> list[Document]:
    """Make Documents of a file's bytes.

    Args:
        file: The bytes and the state of the file.
        path: Its path, with a suffix that has a reader.
        source: The ``source`` in the metadata.
        pdfs: The process that reads PDFs; ``None`` to read them in this process.

    Raises:
        EmptyFileError: It holds no text.
        DocumentReadError: It is damaged, or of another type.
    """
    name = path if path.isprintable() else ascii(path)
    if not file.data.strip():
        raise EmptyFileError(f"{name} is empty; write text into it, or leave it out")
    reader = readers()[Path(path).suffix.lower()]
    try:
        if reader.content_type == PDF and pdfs is not None:
            loaded = pdfs.load(file, name)
        else:
            loaded = list(reader.read(file.data, name))
    except (SentenceWindowError, Warning):
        raise
    except Exception as error:  # one unusual file must not prevent reading the others
        raise DocumentReadError(
            f"{name} can't be read ({type(error).__name__}: {shown(str(error))}); save it again, or leave it out"
        ) from error
    if not any(document.page_content.strip() for document in loaded):
        raise EmptyFileError(f"{name} holds no text; if it holds pictures of text, recognize the text first (OCR)")
    known = {SOURCE: source, CONTENT_TYPE: reader.content_type, FILE_STATE: str(file.state)}
    return [
        Document(page_content=document.page_content, metadata={**document.metadata, **known}) for document in loaded
    ]
