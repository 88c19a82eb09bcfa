"""`PDFLoader`: PDFs in, one Document a page out."""

import hashlib
import warnings
from collections.abc import Iterator
from pathlib import Path

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window.documents.page_documents import page_document
from langchain_sentence_window.errors import DocumentReadError, InvalidInputError, SentenceWindowWarning
from langchain_sentence_window.loaders.pdf.pdf_file import PdfSource, open_pdf

MAX_LISTED_PAGES = 10
"""Pages that a warning lists; it only counts the rest."""


class PDFLoader(BaseLoader):
    """A loader of PDFs, with one Document a page.

    The text of a page is in reading order, also in columns. Lines of a paragraph are joined by a space, and the hyphen
    of a word that was parted at a line's end is dropped. Paragraphs are separated by a blank line, items of a list and
    rows of a table by a newline, and cells by a tab. Running heads, feet and page numbers are left out.

    Which parts of the text are headings, paragraphs, items and rows is written into the metadata, so sentences that
    cross a page are whole when the Documents of a file are split together.

    Example:
        >>> PDFLoader("contract.pdf").load()  # doctest: +SKIP
        [Document(metadata={'source': 'contract.pdf', 'page': 0, ...}, page_content='...'), ...]
    """

    def __init__(self, path: PdfSource, *, password: str | None = None, source: str | None = None) -> None:
        """Choose what to load.

        Args:
            path: The path of a PDF; of a folder, whose PDFs are then loaded, also those in folders below it, in order
                of their paths; or the bytes of a PDF.
            password: The password of encrypted files.
            source: The name that the metadata gives to bytes; ``None`` for one made of their hash. With paths, leave
                it out.

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

        A page without text has none. If it shows pictures, as a scanned page does, or if the whole file has no text, a
        warning names the file and such pages. In a folder, a file that can't be read has none either, and a warning
        says why.

        Raises:
            DocumentReadError: The file can't be read: it is damaged, encrypted, not a PDF or not there.
            MissingExtraError: pypdfium2 isn't installed.
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
        source: The name that the metadata gives to bytes; ``None`` for one made of their hash.

    Returns:
        The Documents of all pages with text, see `PDFLoader`.

    Raises:
        InvalidInputError: A value is of another type.
        DocumentReadError: The file can't be read.
        MissingExtraError: pypdfium2 isn't installed.
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
        pictures = [number for number in without_text if file.shows_picture(number)]
        # A blank page of a file with text is no page that is missing.
        _warn_of_pages(name, pictures if has_text else without_text, file.page_count, are_pictures=bool(pictures))


def _warn_of_pages(name: str, pages: list[int], page_count: int, *, are_pictures: bool) -> None:
    if not pages and page_count:
        return
    listed = ", ".join(str(number + 1) for number in pages[:MAX_LISTED_PAGES])
    if len(pages) > MAX_LISTED_PAGES:
        listed += f" and {len(pages) - MAX_LISTED_PAGES} more"
    cure = "they show pictures, so recognize their text first (OCR)" if are_pictures else "they are empty"
    which = f"no text on pages {listed} of {page_count}, counted from 1; {cure}" if pages else "no pages"
    warnings.warn(f"{name} has {which}", SentenceWindowWarning, stacklevel=4)


def read_pdf(data: bytes, name: str, source: str) -> list[Document]:
    """Make Documents of a PDF's bytes; see `convert`, which adds metadata to them."""
    from langchain_sentence_window.loaders.pdf.pdf_file import EncryptedPdfError

    try:
        return PDFLoader(data, source=source).load()
    except EncryptedPdfError as error:
        raise DocumentReadError(
            f"{name} is encrypted; save it without a password, or load it with PDFLoader(path, password=...)"
        ) from error
