"""`PDFLoader` and `load_pdf`: PDFs as one Document a page."""

import hashlib
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document

from langchain_sentence_window.documents import shown
from langchain_sentence_window.errors import DocumentReadError, InvalidInputError, SentenceWindowWarning
from sentence_window.files.pdf.page_documents import page_document

from .pdf_file import EncryptedPdfError, PdfFile, PdfSource, open_pdf

MAX_LISTED_PAGES = 10
"""Pages or files that a warning lists; it only counts the rest."""


class PDFLoader(BaseLoader):
    """A loader of PDFs, with one Document a page.

    The text of a page is in reading order, even in columns. Lines of a paragraph are joined by a space, and the hyphen
    of a word that was divided at a line's end is dropped. Paragraphs are separated by a blank line, items of a list and
    rows of a table by a newline, and cells by a tab. Page headers, page footers and page numbers are left out.

    The metadata says which parts of the text are headings, paragraphs, items and rows. If the Documents of a file are
    split together, sentences that cross a page are whole.

    Examples:
        >>> PDFLoader("contract.pdf").load()  # doctest: +SKIP
        [Document(metadata={'source': 'contract.pdf', 'page': 0, ...}, page_content='...'), ...]
    """

    def __init__(self, path: PdfSource, *, password: str | None = None, source: str | None = None) -> None:
        """Choose what to load.

        Args:
            path: The path of a PDF or of a folder, or the bytes of a PDF. All PDFs in a folder and its subfolders are
                loaded, in the order of their paths.
            password: The password of encrypted files.
            source: The ``source`` of bytes in the metadata; ``None`` for a name with their hash. Not for paths.

        Raises:
            InvalidInputError: A value is of another type.
        """
        if not isinstance(path, str | Path | bytes):
            raise InvalidInputError(f"path is {shown(path)}; give the path of a PDF or of a folder, or a PDF's bytes")
        if not isinstance(password, str | None):
            raise InvalidInputError("password isn't a string; give the password as a string, or None")
        if not isinstance(source, str | None) or (source is not None and not isinstance(path, bytes)):
            raise InvalidInputError(
                f"source is {shown(source)}; give a string as the name of a PDF's bytes, and leave it out with a path"
            )
        self._path = path
        self._password = password
        self._source = source

    def lazy_load(self) -> Iterator[Document]:
        """Yield the Documents one by one.

        A page without text is skipped. If it shows pictures, as a scanned page does, or if the whole file has no text,
        a warning names the file and these pages. In a folder, a file that can't be read is skipped with a warning.

        Raises:
            DocumentReadError: The file can't be read: it is missing, damaged, encrypted, or isn't a PDF.
        """
        if isinstance(self._path, bytes):
            name = self._source or f"sha256-{hashlib.sha256(self._path).hexdigest()[:16]}.pdf"
            yield from _load_file(self._path, name, self._password)
            return
        path = Path(self._path)
        if not path.is_dir():
            yield from _load_file(path, str(self._path), self._password)
            return
        for each in sorted(each for each in path.rglob("*") if each.suffix.lower() == ".pdf" and each.is_file()):
            try:
                yield from _load_file(each, str(each), self._password)
            except DocumentReadError as error:
                warnings.warn(f"{error}; the other files are loaded", SentenceWindowWarning, stacklevel=2)


def load_pdf(path: PdfSource, *, password: str | None = None, source: str | None = None) -> list[Document]:
    """Load a PDF, or all PDFs of a folder, with one Document a page.

    Args:
        path: The path of a PDF or of a folder, or the bytes of a PDF.
        password: The password of encrypted files.
        source: The ``source`` of bytes in the metadata; ``None`` for a name with their hash.

    Returns:
        The Documents of all pages with text, see `PDFLoader`.

    Raises:
        InvalidInputError: A value is of another type.
        DocumentReadError: The file can't be read.
    """
    return PDFLoader(path, password=password, source=source).load()


def _load_file(path: Path | bytes, name: str, password: str | None) -> Iterator[Document]:
    without_text: list[int] = []
    has_text = False
    with open_pdf(path, password, name=name) as file:
        about = file.about()
        labels = file.page_labels()
        for number in range(file.page_count):
            page = file.read_page(number)
            if not page.text:
                if not file.has_ink(number):
                    without_text.append(number)
                continue
            has_text = True
            yield page_document(
                page.text,
                page.blocks,
                page.continues,
                source=name,
                page=number,
                total_pages=file.page_count,
                page_label=labels[number] if labels else None,
                about=about,
            )
        for message in _messages(file, without_text, has_text=has_text):
            warnings.warn(f"{name} has {message}", SentenceWindowWarning, stacklevel=3)


def _messages(file: "PdfFile", without_text: list[int], *, has_text: bool) -> Iterator[str]:
    """Yield messages about attached files, form fields and pages that can't be read."""
    pictures = [number for number in without_text if file.shows_picture(number)]
    if attached := file.attachments():
        yield f"attached files, which aren't read: {_listed(map(shown, attached))}; save them, and load them as well"
    if forms := file.unread_forms():
        yield f"form fields that can't be read on pages {_page_numbers(forms)}, counted from 1; print it as a PDF"
    # A blank page of a file with text isn't missing any text.
    if pages := pictures if has_text else without_text:
        cure = "they show pictures, so recognize their text first (OCR)" if pictures else "they are empty"
        yield f"no text on pages {_page_numbers(pages)} of {file.page_count}, counted from 1; {cure}"
    if not file.page_count:
        yield "no pages"


def _page_numbers(pages: list[int]) -> str:
    return _listed(str(number + 1) for number in pages)


def _listed(items: Iterable[str]) -> str:
    names = list(items)
    more = f" and {len(names) - MAX_LISTED_PAGES} more" if len(names) > MAX_LISTED_PAGES else ""
    return ", ".join(names[:MAX_LISTED_PAGES]) + more


def read_pdf(data: bytes, name: str) -> list[Document]:
    """Read the bytes of a PDF as Documents, to which `convert` adds metadata."""
    try:
        loaded = PDFLoader(data, source=name).load()
    except EncryptedPdfError as error:
        raise DocumentReadError(
            f"{name} is encrypted; save it without a password, or load it with PDFLoader(path, password=...)"
        ) from error
    if not loaded:
        with open_pdf(data, name=name) as file:
            if any(map(file.shows_picture, range(file.page_count))):
                # It isn't an empty file, as people see text on its pages.
                raise DocumentReadError(f"{name}: its pages hold images without text; recognize the text first (OCR)")
    return loaded
