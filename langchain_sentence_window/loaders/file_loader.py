"""`load_file`: a file as Documents, read by its suffix; and the text of a file's bytes.

A byte order mark decides. Else HTML may declare its encoding. Else it is UTF-8, and if it can't be, charset-normalizer
is asked, if it is installed.
"""

import codecs
import re
from collections.abc import Mapping
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window.documents.file_state import FILE_STATE
from langchain_sentence_window.documents.keys import SOURCE
from langchain_sentence_window.documents.part_blocks import LAYOUT, write_layout
from langchain_sentence_window.documents.source_metadata import CONTENT_TYPE, TITLE
from langchain_sentence_window.errors import DocumentReadError, InvalidInputError, SentenceWindowError
from langchain_sentence_window.splitting.front_matter import read_front_matter

from .file_bytes import EmptyFileError, FileBytes, read_file
from .markup.light_markup import FORMATS, format_of
from .pdf.pdf_file import read_pdf

if TYPE_CHECKING:
    from .files.html_pages import HtmlPage
    from .pdf.pdf_process import PdfProcess


_MARKDOWN, _TEXT, _HTML, _PDF = "text/markdown", "text/plain", "text/html", "application/pdf"
_SUBRIP, _WEBVTT = "application/x-subrip", "text/vtt"
_OPEN_XML = "application/vnd.openxmlformats-officedocument"
_DOCX = f"{_OPEN_XML}.wordprocessingml.document"

SUFFIXES: Mapping[str, str] = MappingProxyType(
    {
        ".md": _MARKDOWN,
        ".markdown": _MARKDOWN,
        ".txt": _TEXT,
        ".text": _TEXT,
        ".srt": _SUBRIP,
        ".vtt": _WEBVTT,
        # .rst, .adoc, .asciidoc, .org and .tex
        **{suffix: each.content_type for each in FORMATS for suffix in each.suffixes},
        ".html": _HTML,
        ".htm": _HTML,
        ".docx": _DOCX,
        ".pdf": _PDF,
        ".pptx": f"{_OPEN_XML}.presentationml.presentation",
        ".xlsx": f"{_OPEN_XML}.spreadsheetml.sheet",
        ".csv": "text/csv",
        ".tsv": "text/tab-separated-values",
        ".odt": "application/vnd.oasis.opendocument.text",
        ".rtf": "application/rtf",
        ".epub": "application/epub+zip",
        ".ipynb": "application/x-ipynb+json",
        ".eml": "message/rfc822",
        ".msg": "application/vnd.ms-outlook",
        ".json": "application/json",
    }
)
"""The suffixes of files that are read, in lower case, and the type of their content."""

_OTHER_THAN_OFFICE = {_MARKDOWN, _TEXT, _SUBRIP, _WEBVTT, _HTML, _DOCX, *(each.content_type for each in FORMATS)}


def load_file(path: str | PathLike[str], *, source: str | None = None) -> list[Document]:
    """Load a file as Documents: one per page of a PDF, per slide or per row of a sheet, and one for any other file.

    Text, subtitles, Markdown and other markup stay as they are written. Subtitles and Markdown are read as such when
    they are split, and of other markup, such as reStructuredText, the metadata says the blocks. The text of all other
    files is Markdown with their headings, lists and tables. In HTML,
    scripts, styles, navigation, boilerplate and hidden text are left out. If ``<main>`` or the only ``<article>`` holds
    enough of the text, only that is read.

    Args:
        path: The path of a file whose suffix is in `SUFFIXES`.
        source: What the metadata calls the source, which names the document; ``None`` for the path as it is given.

    Returns:
        The Documents. Their metadata holds ``source``, ``content_type``, ``file_state``, see
        `langchain_sentence_window.documents.file_state`, and ``title`` if the file says one. Those of a PDF's pages
        hold what `PDFLoader` writes, too.

    Raises:
        InvalidInputError: An argument is of another type.
        DocumentReadError: The file isn't there, can't be read, is of another type, or holds no text.
        MissingExtraError: The library that reads such files isn't installed.
    """
    if not isinstance(path, str | PathLike) or not isinstance(fspath(path), str):
        raise InvalidInputError(f"path is {shown(path)}; give the path of a file as a string or a Path")
    if not isinstance(source, str | None) or source == "":
        raise InvalidInputError(f"source is {shown(source)}; give the document a name as a string, or None")
    given = fspath(path)
    name = given if given.isprintable() else ascii(given)
    check_suffix(given, name)
    return convert(read_file(Path(given), name), given, source or given)


def check_suffix(path: str, name: str) -> None:
    """Check that a file can be read by its suffix.

    Raises:
        DocumentReadError: It can't.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise DocumentReadError(
            f"{name} can't be read, as its suffix is {suffix!r}; files with {', '.join(SUFFIXES)} can, so convert it"
        )


def convert(file: FileBytes, path: str, source: str, pdfs: "PdfProcess | None" = None) -> list[Document]:
    """Make Documents of a file's bytes.

    Args:
        file: The bytes and the state of the file.
        path: Its path, with one of `SUFFIXES`.
        source: What the metadata calls the source.
        pdfs: The process that reads PDFs; ``None`` for this one.

    Raises:
        EmptyFileError: It holds no text.
        DocumentReadError: It is damaged, or of another type.
        MissingExtraError: The library that reads such files isn't installed.
    """
    name = path if path.isprintable() else ascii(path)
    if not file.data.strip():
        raise EmptyFileError(f"{name} is empty; write the text into it, or leave it out")
    content_type = SUFFIXES[Path(path).suffix.lower()]
    try:
        if content_type == _PDF and pdfs is not None:
            loaded = pdfs.load(file, name, source)
        else:
            loaded = _read(Path(path).suffix.lower(), file.data, name, source)
    except (SentenceWindowError, Warning):
        raise
    except Exception as error:  # one odd file of very many mustn't keep the others out
        raise DocumentReadError(
            f"{name} can't be read ({type(error).__name__}: {shown(str(error))}); save it anew, or leave it out"
        ) from error
    if not any(document.page_content.strip() for document in loaded):
        raise EmptyFileError(f"{name} holds no text; if it holds pictures of text, recognize the text first (OCR)")
    known = {SOURCE: source, CONTENT_TYPE: content_type, FILE_STATE: str(file.state)}
    return [
        Document(page_content=document.page_content, metadata={**document.metadata, **known}) for document in loaded
    ]


def _read(suffix: str, data: bytes, name: str, source: str) -> list[Document]:
    content_type = SUFFIXES[suffix]
    if content_type == _PDF:
        return read_pdf(data, name, source)
    if content_type not in _OTHER_THAN_OFFICE:
        from .files.office import READERS, TEXT_READERS

        read = TEXT_READERS.get(suffix)
        return list(READERS[suffix](data, name) if read is None else read(decode(data, name), name))
    metadata: dict[str, Any] = {}
    if content_type in (_HTML, _DOCX):
        text, blocks, title = _page(content_type, data, name)
        metadata[LAYOUT] = write_layout(blocks)
    else:
        text = decode(data, name)
        front_matter = read_front_matter(text)
        title = front_matter.title if front_matter else ""
        if known := format_of(content_type):
            title = title or known.title_of(text)
            parsed = known.parse(text, front_matter.end if front_matter else 0)
            if parsed is not None:
                metadata[LAYOUT] = write_layout(parsed)
    return [Document(page_content=text, metadata={TITLE: title, **metadata} if title else metadata)]


def _page(content_type: str, data: bytes, name: str) -> "HtmlPage":
    if content_type == _HTML:
        from .files.html_pages import read_html

        return read_html(decode(data, name, is_html=True), name)
    from .files.docx import read_docx

    return read_docx(data, name)


HEAD_BYTES = 4_096
"""Bytes in which an HTML file declares its encoding."""

MAX_NULS = 0.2
"""The share of NUL bytes that are left out of an HTML page; with more it is no text, or in another encoding."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before that of UTF-16, which it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WIDE_MARKS = tuple(mark for mark, encoding in _MARKS if encoding != "utf-8")
_DECLARED = re.compile(rb"<meta\b[^<>]{0,200}?\bcharset\s{0,9}+=\s{0,9}+[\"']?\s{0,9}+([\w.:-]{2,40})", re.IGNORECASE)
# Others that Python knows aren't encodings of files, such as unicode_escape.
_ENCODINGS = re.compile(
    r"utf-?8|iso-?8859-\d{1,2}|latin-?1|us-ascii|ascii|windows-\d{3,4}|cp\d{3,4}|koi8-[ru]|macintosh|ibm866"
    r"|gbk|gb2312|gb18030|big5|shift[_-]jis|euc-(?:jp|kr)"
)
_AS_BROWSERS_READ = {"iso-8859-1": "cp1252", "latin-1": "cp1252", "latin1": "cp1252", "us-ascii": "cp1252"}
_BINARY = {
    b"%PDF-": "a PDF",
    b"PK\x03\x04": "a ZIP archive, as DOCX files are",
    b"\xd0\xcf\x11\xe0": "a file of an old version of Word or Excel",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"\x1f\x8b": "a compressed file",
    b"{\\rtf": "a file in Rich Text Format",
}


def decode(data: bytes, name: str, *, is_html: bool = False) -> str:
    """Return the text of a file's bytes, without a byte order mark.

    Args:
        data: The bytes.
        name: The file's name in messages.
        is_html: Whether the file may declare its encoding as HTML does.

    Raises:
        DocumentReadError: It isn't text, or its encoding isn't known.
    """
    for start, kind in _BINARY.items():
        if data.startswith(start):
            raise DocumentReadError(f"{name} is {kind} by its content, not text; give it the suffix of its kind")
    if is_html and not data.startswith(_WIDE_MARKS) and data.count(0) <= MAX_NULS * len(data):
        data = data.replace(b"\0", b"")  # as browsers do
    text = _decoded(data, is_html=is_html)
    if text is None:
        raise DocumentReadError(f"{name} is in an encoding that isn't known; open it in an editor and save it as UTF-8")
    if "\0" in text:
        raise DocumentReadError(
            f"{name} holds NUL characters, so it isn't text, or it is in UTF-16 without a byte order mark; save it "
            "as UTF-8"
        )
    return text


def _decoded(data: bytes, *, is_html: bool) -> str | None:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _try(data[len(mark) :], encoding)
    tried = [*([_declared(data)] if is_html else []), "utf-8"]
    for each in tried:
        if each is not None and (text := _try(data, each)) is not None:
            return text
    return None if b"\0" in data[:HEAD_BYTES] else _detected(data)


def _declared(data: bytes) -> str | None:
    found = _DECLARED.search(data, 0, HEAD_BYTES)
    name = found[1].decode("ascii", "replace").lower() if found else ""
    return _AS_BROWSERS_READ.get(name, name) if _ENCODINGS.fullmatch(name) else None


def _detected(data: bytes) -> str | None:
    try:
        normalizer = import_module("charset_normalizer")
    except ModuleNotFoundError:  # it is optional, and the error says how to save the file
        return None
    best = normalizer.from_bytes(data).best()
    return None if best is None else _try(data, best.encoding)


def _try(data: bytes, encoding: str) -> str | None:
    try:
        text = data.decode(encoding)
        text.encode()
    except (UnicodeError, LookupError):  # a lone surrogate can't be encoded
        return None
    return text
