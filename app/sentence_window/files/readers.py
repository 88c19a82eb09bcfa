"""Which reader reads a file, by its suffix: ours, and those of other packages.

A package adds a reader by an entry point, whose name is the suffix without its dot::

    [project.entry-points."sentence_window.readers"]
    djvu = "my_package:read_djvu"

`read_djvu` takes the bytes of a file and its name for messages, and returns its Documents: one, or one a page, slide or
row. It raises `DocumentReadError` if it can't read them.
"""

import mimetypes
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from langchain_core.documents import Document

from langchain_sentence_window.documents import LAYOUT, TITLE, write_layout
from langchain_sentence_window.splitting import read_front_matter

from .markup.formats import FORMATS, Format
from .text_encoding import decode

GROUP = "sentence_window.readers"
"""The group of the entry points that add readers."""

ReadBytes: TypeAlias = Callable[[bytes, str], Iterable[Document]]
"""Makes Documents of a file's bytes; the second argument is the file's name in messages."""


class Reader(NamedTuple):
    """A reader of files with one suffix.

    Attributes:
        content_type: The type of the files, which becomes metadata.
        read: Makes Documents of a file's bytes.
    """

    content_type: str
    read: ReadBytes


PDF = "application/pdf"


@cache
def readers() -> Mapping[str, Reader]:
    """Return the readers by suffix, in lower case with the dot.

    For the same suffix, a reader of another package takes precedence over ours.
    """
    added = {f".{each.name.lower()}": each for each in entry_points(group=GROUP)}
    return MappingProxyType({**_OWN, **{suffix: _imported(_type_of(suffix), each) for suffix, each in added.items()}})


def _type_of(suffix: str) -> str:
    return mimetypes.guess_type(f"file{suffix}")[0] or "application/octet-stream"


def _imported(content_type: str, entry: EntryPoint) -> Reader:
    """Return a reader whose module is imported when the first file is read."""

    def read(data: bytes, name: str) -> Iterable[Document]:
        documents: Iterable[Document] = entry.load()(data, name)
        return documents

    return Reader(content_type, read)


def _own(content_type: str, function: str) -> Reader:
    return _imported(content_type, EntryPoint("", f"sentence_window.files.{function}", ""))


def _read_text(data: bytes, name: str) -> Iterator[Document]:
    text = decode(data, name)
    front_matter = read_front_matter(text)
    title = front_matter.title if front_matter else ""
    yield Document(text, metadata={TITLE: title} if title else {})


def _read_markup(of: Format, data: bytes, name: str) -> Iterator[Document]:
    text = decode(data, name)
    front_matter = read_front_matter(text)
    title = (front_matter.title if front_matter else "") or of.title_of(text)
    blocks = of.parse(text, front_matter.end if front_matter else 0)
    metadata = {TITLE: title} if title else {}
    yield Document(text, metadata=metadata if blocks is None else {**metadata, LAYOUT: write_layout(blocks)})


_OPEN_XML = "application/vnd.openxmlformats-officedocument"
_OWN: Mapping[str, Reader] = {
    ".md": Reader("text/markdown", _read_text),
    ".markdown": Reader("text/markdown", _read_text),
    ".txt": Reader("text/plain", _read_text),
    ".text": Reader("text/plain", _read_text),
    ".srt": Reader("application/x-subrip", _read_text),
    ".vtt": Reader("text/vtt", _read_text),
    # .rst, .adoc, .asciidoc, .org and .tex
    **{suffix: Reader(each.content_type, partial(_read_markup, each)) for each in FORMATS for suffix in each.suffixes},
    ".html": _own("text/html", "html.reader:read_html"),
    ".htm": _own("text/html", "html.reader:read_html"),
    ".docx": _own(f"{_OPEN_XML}.wordprocessingml.document", "office.docx:read_docx"),
    ".pdf": _own(PDF, "pdf.pdf_loader:read_pdf"),
    ".pptx": _own(f"{_OPEN_XML}.presentationml.presentation", "office.slides:read_slides"),
    ".xlsx": _own(f"{_OPEN_XML}.spreadsheetml.sheet", "office.sheets:read_xlsx"),
    ".csv": _own("text/csv", "office.sheets:read_csv"),
    ".tsv": _own("text/tab-separated-values", "office.sheets:read_csv"),
    ".odt": _own("application/vnd.oasis.opendocument.text", "office.odt:read_odt"),
    ".rtf": _own("application/rtf", "office.rtf:read_rtf"),
    ".epub": _own("application/epub+zip", "office.epub:read_epub"),
    ".ipynb": _own("application/x-ipynb+json", "office.notebook:read_notebook"),
    ".eml": _own("message/rfc822", "mail.eml:read_eml"),
    ".msg": _own("application/vnd.ms-outlook", "mail.msg:read_msg"),
    ".json": _own("application/json", "office.json_file:read_json"),
}
