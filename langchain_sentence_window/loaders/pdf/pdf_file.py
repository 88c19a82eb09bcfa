"""`PDFLoader`: PDFs in, one Document a page out; and a PDF file, whose pages are text, the same each time it is read.

The text of a page depends on the pages around it too: on running heads, and on words and paragraphs that go on.
"""

import hashlib
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Self, TypeAlias

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window.documents.page_documents import page_document
from langchain_sentence_window.errors import DocumentReadError, InvalidInputError, SentenceWindowWarning
from langchain_sentence_window.loaders.file_bytes import clean_text, reason
from langchain_sentence_window.splitting.blocks import MAX_LEVEL, title_key

from .characters import PackedPage, PageCharacters, pack, read_characters, unpack
from .file_facts import FileFacts, find_facts, kept_facts
from .hyphens import drops_hyphen
from .lines import TextLine
from .page_layout import PageLayout, PageRuns, PageText, continuation, lay_out, page_runs, write_page
from .pdfium import PDFIUM_LOCK, FilledForm, pdfium, pdfium_raw, read_frame, read_notes, read_rules, shows_picture

PdfSource: TypeAlias = str | Path | bytes
"""The path of a PDF, or its bytes."""

MAX_LISTED_PAGES = 10
"""Pages that a warning lists; it only counts the rest."""


class PDFLoader(BaseLoader):
    """A loader of PDFs, with one Document a page.

    The text of a page is in reading order, even in columns. Lines of a paragraph are joined by a space, and the hyphen
    of a word that was divided at a line's end is dropped. Paragraphs are separated by a blank line, items of a list and
    rows of a table by a newline, and cells by a tab. Page headers, page footers and page numbers are left out.

    The metadata says which parts of the text are headings, paragraphs, items and rows. So sentences that cross a page
    are whole if the Documents of a file are split together.

    Examples:
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
        for remark in _remarks(file, without_text, has_text=has_text):
            warnings.warn(f"{name} has {remark}", SentenceWindowWarning, stacklevel=3)


def _remarks(file: "PdfFile", without_text: list[int], *, has_text: bool) -> Iterator[str]:
    """Yield what a file has that isn't read, and which pages have no text."""
    pictures = [number for number in without_text if file.shows_picture(number)]
    if attached := file.attachments():
        yield f"attached files, which aren't read: {_listed(map(shown, attached))}; save them, and load them as well"
    if forms := file.unread_forms():
        yield f"form fields that can't be read on pages {_from_one(forms)}, counted from 1; print it as a PDF"
    # A blank page of a file with text is no page that is missing.
    if pages := pictures if has_text else without_text:
        cure = "they show pictures, so recognize their text first (OCR)" if pictures else "they are empty"
        yield f"no text on pages {_from_one(pages)} of {file.page_count}, counted from 1; {cure}"
    if not file.page_count:
        yield "no pages"


def _from_one(pages: list[int]) -> str:
    return _listed(str(number + 1) for number in pages)


def _listed(given: Iterable[str]) -> str:
    names = list(given)
    more = f" and {len(names) - MAX_LISTED_PAGES} more" if len(names) > MAX_LISTED_PAGES else ""
    return ", ".join(names[:MAX_LISTED_PAGES]) + more


def read_pdf(data: bytes, name: str, source: str) -> list[Document]:
    """Make Documents of a PDF's bytes; see `convert`, which adds metadata to them."""
    try:
        loaded = PDFLoader(data, source=source).load()
    except EncryptedPdfError as error:
        raise DocumentReadError(
            f"{name} is encrypted; save it without a password, or load it with PDFLoader(path, password=...)"
        ) from error
    if not loaded:
        with open_pdf(data, name=name) as file:
            if any(map(file.shows_picture, range(file.page_count))):
                # It isn't empty, as people read text on its pages.
                raise DocumentReadError(f"{name}: its pages hold images without text; recognize the text first (OCR)")
    return loaded


MAX_ATTACHMENTS = 1000
"""Attached files that are asked for their names."""

MAX_KEPT_RUNS = 64
"""Pages whose runs are kept between the first and the second reading of a file."""

MAX_KEPT_PAGES = 1024
"""Pages of which anything is kept; the others are read twice."""

_MAX_OUTLINE = 10_000
_MAX_LAYOUTS = 8
_METADATA = {"CreationDate": "creationdate", "ModDate": "moddate"}


class EncryptedPdfError(DocumentReadError):
    """A PDF is encrypted, and its password is missing or another one."""


class PdfFile:
    """An open PDF. Close it after use; it is a context manager.

    Attributes:
        name: Its name in messages.
        page_count: The number of its pages.
        document: The document of pypdfium2; hold `PDFIUM_LOCK` while you use it.
    """

    def __init__(self, document: Any, key: Hashable, name: str, open_again: Callable[[], Any]) -> None:
        """Keep an open document; use `open_pdf`.

        Args:
            document: The document of pypdfium2.
            key: Names the file's content.
            name: Its name in messages.
            open_again: Opens the document once more, for what is changed to be read.
        """
        self.name = name
        self.document = document
        self._form = FilledForm(open_again)
        self._attached: dict[str, None] = {}
        self._key = key
        self._runs: dict[int, PageRuns] = {}
        self._packed: dict[int, PackedPage] = {}
        self._layouts: OrderedDict[int, PageLayout] = OrderedDict()
        self._known: FileFacts | None = None
        with PDFIUM_LOCK:
            self.page_count: int = len(document)

    def __enter__(self) -> Self:
        """Return the file."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close the file; closing it again does nothing."""
        with PDFIUM_LOCK:
            self._form.close()
            self.document.close()

    @contextmanager
    def open_page(self, number: int) -> Iterator[tuple[Any, Any]]:
        """Open a page, with what its form fields hold as a part of it, and hold `PDFIUM_LOCK` meanwhile.

        Args:
            number: The page's number, from 0.

        Yields:
            The handles of the page and of its text for PDFium's own functions.

        Raises:
            DocumentReadError: The page is damaged.
        """
        raw = pdfium_raw()
        with PDFIUM_LOCK, ExitStack() as opened:
            page = raw.FPDF_LoadPage(self.document.raw, number)
            opened.callback(raw.FPDF_ClosePage, page)
            has_text, attached = read_notes(page)
            self._attached |= dict.fromkeys(attached)
            filled = self._form.load_page(number, page) if has_text else None
            if filled:
                page = filled
                opened.callback(raw.FPDF_ClosePage, page)
            textpage = page and raw.FPDFText_LoadPage(page)
            if not textpage:
                raise DocumentReadError(
                    f"page {number + 1} of {self.name} can't be read: the file is damaged; repair it or write it anew"
                )
            opened.callback(raw.FPDFText_ClosePage, textpage)
            yield page, textpage

    def read_characters(self, number: int) -> PageCharacters:
        """Read the characters of a page, counted from 0."""
        with self.open_page(number) as (page, textpage):
            return read_characters(page, textpage, number)

    def read_page(self, number: int) -> PageText:
        """Read the text of a page.

        Args:
            number: The page's number, from 0.
        """
        facts = self.facts()
        layout = None if number in facts.textless else self._layout(number)
        if layout is None or not layout.paragraphs:
            return write_page([], facts.vocabulary)
        before, after = self._neighbor(number, -1), self._neighbor(number, 1)
        continues = continuation(before, layout) if before else ""
        paragraphs = layout.paragraphs
        if continues and before:
            paragraphs = [replace(paragraphs[0], kind=before.paragraphs[-1].kind), *paragraphs[1:]]
        goes = continuation(layout, after) if after else ""
        drops = goes == "~" and drops_hyphen(layout.last_word, after.first_word, facts.vocabulary) if after else False
        return write_page(paragraphs, facts.vocabulary, continues=continues, drop_last_hyphen=drops)

    def about(self) -> dict[str, str]:
        """Return what the file says of itself, by the names that LangChain's loaders give, such as ``title``."""
        with PDFIUM_LOCK:
            found = self.document.get_metadata_dict(skip_empty=True)
        named = {_METADATA.get(key, key.lower()): clean_text(value) for key, value in found.items()}
        return {key: value for key, value in named.items() if value}

    def attachments(self) -> list[str]:
        """Return the names of the attached files: those of the file, and those of the pages that were read."""
        with PDFIUM_LOCK:
            count = self.document.count_attachments()
            of_file = [self.document.get_attachment(number).get_name() for number in range(min(count, MAX_ATTACHMENTS))]
        return list(dict.fromkeys([*of_file, *self._attached]))

    def unread_forms(self) -> list[int]:
        """Return the pages, counted from 0, whose form fields couldn't be read."""
        return sorted(self._form.unread)

    def page_labels(self) -> list[str]:
        """Return the label of each page; an empty list if the file has none."""
        with PDFIUM_LOCK:
            labels = [clean_text(self.document.get_page_label(number)) for number in range(self.page_count)]
        return labels if any(labels) else []

    def page_sizes(self) -> list[tuple[float, float]]:
        """Return the width and the height of each page as it is shown, in points."""
        with PDFIUM_LOCK:
            return [self.document.get_page_size(number) for number in range(self.page_count)]

    def render(self, number: int, width: int, max_pixels: int) -> Any:
        """Return a picture of a page, of pillow.

        Args:
            number: The page's number, from 0.
            width: Pixels.
            max_pixels: The most pixels of the picture; if it would have more, it is narrower.

        Raises:
            DocumentReadError: The page is damaged.
        """
        try:
            with PDFIUM_LOCK, closing(self.document[number]) as page:
                across, down = (max(1.0, side) for side in page.get_size())
                scale = min(width / across, (max_pixels / (across * down)) ** 0.5)
                return page.render(scale=scale).to_pil()
        except (pdfium().PdfiumError, IndexError) as error:
            raise DocumentReadError(
                f"page {number + 1} of {self.name} can't be shown: the file is damaged; repair it or write it anew"
            ) from error

    def has_ink(self, number: int) -> bool:
        """Return whether a page has any text, even if it is only a running head."""
        return number not in self.facts().inkless

    def shows_picture(self, number: int) -> bool:
        """Return whether a page shows what may be a picture of text, as a scanned page does."""
        with self.open_page(number) as (page, _):
            return shows_picture(page)

    def facts(self) -> FileFacts:
        """Return the facts that only the whole file tells."""
        if self._known is None:
            pages = (self.read_rows(number) for number in range(self.page_count))
            self._known = kept_facts(self._key, lambda: find_facts(pages, self._read_outline()))
        return self._known

    def read_rows(self, number: int) -> list[TextLine]:
        """Read the lines of a page across its columns, running heads and feet included, from top to bottom."""
        return self._read_runs(number).rows()

    def _read_runs(self, number: int) -> PageRuns:
        runs = self._runs.get(number)
        if runs is None:
            packed = self._packed.get(number)
            if packed is not None:
                runs = page_runs(unpack(packed), packed.rules)
            else:
                with self.open_page(number) as (page, textpage):
                    runs = page_runs(read_characters(page, textpage, number), read_rules(page, read_frame(page)))
                if MAX_KEPT_RUNS <= len(self._packed) + len(self._runs) < MAX_KEPT_PAGES:
                    self._packed[number] = pack(runs.characters, runs.rules)
            if len(self._runs) < MAX_KEPT_RUNS:
                self._runs[number] = runs
        return runs

    def _layout(self, number: int) -> PageLayout:
        layout = self._layouts.get(number)
        if layout is None:
            facts = self.facts()
            layout = lay_out(
                self._read_runs(number),
                facts.running[number],
                facts.type_,
                facts.outline.get(number, {}),
                facts.gutters,
                has_title=number == facts.title_page,
            )
            if not layout.paragraphs:
                facts.textless.add(number)
            self._layouts[number] = layout
            while len(self._layouts) > _MAX_LAYOUTS:
                self._layouts.popitem(last=False)
        return layout

    def _neighbor(self, number: int, step: int) -> PageLayout | None:
        """Return the layout of the nearest page with text before or after a page."""
        textless = self.facts().textless
        others = range(number + step, self.page_count if step > 0 else -1, step)
        layouts = (self._layout(other) for other in others if other not in textless)
        return next((layout for layout in layouts if layout.paragraphs), None)

    def _read_outline(self) -> dict[int, dict[str, int]]:
        found: dict[int, dict[str, int]] = defaultdict(dict)
        with PDFIUM_LOCK:
            for entry in islice(self.document.get_toc(), _MAX_OUTLINE):
                destination = entry.get_dest()
                page = destination.get_index() if destination else None
                key = title_key(entry.get_title())
                if page is not None and key:
                    found[page].setdefault(key, min(MAX_LEVEL, entry.level + 1))
        return dict(found)


def open_pdf(source: PdfSource, password: str | None = None, *, name: str | None = None) -> PdfFile:
    """Open a PDF.

    Args:
        source: Its path or its bytes.
        password: The password of an encrypted file.
        name: Its name in messages; ``None`` for its path.

    Raises:
        EncryptedPdfError: It is encrypted, and the password is missing or another one.
        DocumentReadError: It can't be read: it is damaged, not a PDF or not there.
        MissingExtraError: pypdfium2 isn't installed.
    """
    library = pdfium()
    if isinstance(source, bytes):
        name = name or "the PDF"
        key: Hashable = hashlib.sha256(source).digest()
        opened: str | bytes = source
    else:
        path = Path(source)
        name = name or str(source)
        try:
            state = path.stat()
            opened = str(path.resolve())
        except (OSError, ValueError) as error:
            raise DocumentReadError(f"{name} can't be read ({reason(error)}); check the path") from error
        key = (opened, state.st_mtime_ns, state.st_size)
        if not path.is_file():
            raise DocumentReadError(f"{name} is a folder; give the path of a PDF")
    if isinstance(source, bytes) and not source:
        raise DocumentReadError(f"{name} is empty; give the bytes of a PDF")

    def open_once() -> Any:
        return library.PdfDocument(opened, password=password)

    try:
        with PDFIUM_LOCK:
            document = open_once()
    except library.PdfiumError as error:
        if getattr(error, "err_code", None) == pdfium_raw().FPDF_ERR_PASSWORD:
            cure = "the password= is wrong" if password else "give its password, password=..."
            raise EncryptedPdfError(f"{name} is encrypted; {cure}") from error
        raise DocumentReadError(
            f"{name} can't be read as a PDF: it is damaged or of another type; repair it or write it anew"
        ) from error
    return PdfFile(document, key, name, open_once)
