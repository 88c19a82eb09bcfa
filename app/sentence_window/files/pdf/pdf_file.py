"""An open PDF, whose pages are the same text each time they are read.

The text of a page also depends on other pages: on running heads, and on words and paragraphs that go on.
"""

import hashlib
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Self, TypeAlias

from langchain_sentence_window.errors import DocumentReadError
from langchain_sentence_window.splitting import MAX_LEVEL, title_key
from sentence_window.files.file_bytes import clean_text, reason

from .characters import PageCharacters, read_characters
from .drawings import read_rules, shows_picture
from .file_facts import FileFacts, find_facts, kept_facts
from .form_fields import FilledForm, read_notes
from .hyphens import drops_hyphen
from .lines import TextLine
from .page_layout import PageLayout, PageRuns, continuation, lay_out, page_runs
from .page_text import PageText, write_page
from .pdfium import PDFIUM_LOCK, pdfium, pdfium_raw, read_frame

PdfSource: TypeAlias = str | Path | bytes
"""The path of a PDF, or its bytes."""

MAX_ATTACHMENTS = 1000
"""Attached files whose names are read."""

MAX_KEPT_RUNS = 64
"""Pages whose runs are kept between the first and the second reading of a file; the others are read twice."""

_MAX_OUTLINE = 10_000
_MAX_LAYOUTS = 8
_METADATA = {"CreationDate": "creationdate", "ModDate": "moddate"}


class EncryptedPdfError(DocumentReadError):
    """A PDF is encrypted, and the password is missing or wrong."""


class PdfFile:
    """An open PDF, a context manager.

    Attributes:
        name: Its name in messages.
        page_count: The number of its pages.
        document: The document of pypdfium2; hold `PDFIUM_LOCK` while you use it.
    """

    def __init__(self, document: Any, key: Hashable, name: str, open_again: Callable[[], Any]) -> None:
        """Wrap an open document; use `open_pdf`.

        Args:
            document: The document of pypdfium2.
            key: Identifies the file's content.
            name: Its name in messages.
            open_again: Opens a second copy of the document, which may be changed.
        """
        self.name = name
        self.document = document
        self._form = FilledForm(open_again)
        self._attached: dict[str, None] = {}
        self._key = key
        self._runs: dict[int, PageRuns] = {}
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
        """Open a page that includes the texts of its form fields, and hold `PDFIUM_LOCK` until it is closed.

        Args:
            number: The page's number, from 0.

        Yields:
            The handles of the page and of its text, for PDFium's functions.

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
                    f"page {number + 1} of {self.name} can't be read: the file is damaged; repair it or save it again"
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
        """Return the file's own metadata, under the names that LangChain's loaders use, such as ``title``."""
        with PDFIUM_LOCK:
            found = self.document.get_metadata_dict(skip_empty=True)
        named = {_METADATA.get(key, key.lower()): clean_text(value) for key, value in found.items()}
        return {key: value for key, value in named.items() if value}

    def attachments(self) -> list[str]:
        """Return the names of files attached to the file, and to the pages read so far."""
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
        """Return the width and the height of each displayed page, in points."""
        with PDFIUM_LOCK:
            return [self.document.get_page_size(number) for number in range(self.page_count)]

    def render(self, number: int, width: int, max_pixels: int) -> Any:
        """Render a page as a Pillow image.

        Args:
            number: The page's number, from 0.
            width: Its width in pixels.
            max_pixels: The most pixels of the image; a larger one is scaled down.

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
                f"page {number + 1} of {self.name} can't be shown: the file is damaged; repair it or save it again"
            ) from error

    def has_ink(self, number: int) -> bool:
        """Return whether a page has any text, even if only a running head."""
        return number not in self.facts().inkless

    def shows_picture(self, number: int) -> bool:
        """Return whether a page may show a picture of text, as a scanned page does."""
        with self.open_page(number) as (page, _):
            return shows_picture(page)

    def facts(self) -> FileFacts:
        """Return facts that only the whole file shows."""
        if self._known is None:
            pages = (self.read_rows(number) for number in range(self.page_count))
            self._known = kept_facts(self._key, lambda: find_facts(pages, self._read_outline()))
        return self._known

    def read_rows(self, number: int) -> list[TextLine]:
        """Read the lines of a page across its columns, including running heads and feet, from top to bottom."""
        return self._read_runs(number).rows()

    def _read_runs(self, number: int) -> PageRuns:
        runs = self._runs.get(number)
        if runs is None:
            with self.open_page(number) as (page, textpage):
                runs = page_runs(read_characters(page, textpage, number), read_rules(page, read_frame(page)))
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
        EncryptedPdfError: It is encrypted, and the password is missing or wrong.
        DocumentReadError: It is missing, damaged, or isn't a PDF.
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
            f"{name} can't be read as a PDF: it is damaged, or isn't a PDF; repair it or save it again"
        ) from error
    return PdfFile(document, key, name, open_once)
