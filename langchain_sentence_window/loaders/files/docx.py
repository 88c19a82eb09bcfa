"""DOCX as Markdown: mammoth makes HTML of it, which is read as any other.

A DOCX file is a ZIP archive of XML, whose parts may have any name. mammoth gets another archive, which holds only the
XML that was checked: without document type definitions, which can make entities grow without end, and within bounds.
What is left out, such as pictures, isn't there for mammoth, so no name makes it read that.

The work of mammoth grows with the number of elements, and with the square of some lengths. Such lengths are bounded, or
what has them is left out if no text depends on it.
"""

import gc
import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from langchain_sentence_window._lazy import of_extra
from langchain_sentence_window.errors import DocumentReadError, MissingExtraError
from langchain_sentence_window.loaders.file_bytes import clean_text

from .html_elements import etree
from .html_pages import MAX_ATTRIBUTES, MAX_TITLE_CHARS, HtmlPage, read_html

MAX_XML_BYTES = 64 * 1024 * 1024
"""Bytes of all XML in a file, unpacked."""

MAX_XML_TAGS = 2_000_000
"""Tags of all XML in a file."""

MAX_ELEMENTS = 500_000
"""Elements of all XML in a file, without those that only lay out."""

MAX_XML_CHARS = 1_000_000
"""Characters of one text, or of one tag."""

MAX_LIST_STEPS = 10_000_000
"""Items of lists times links from list to list, as each item may follow all of them."""

MAX_PARTS = 10_000
"""Parts of the archive."""

OLD_OFFICE = b"\xd0\xcf\x11\xe0"
_HEAD_BYTES = 64
_BEFORE_XML = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"
_TYPE = (b"<!DOCTYPE", "<!DOCTYPE".encode("utf-16-le"), "<!DOCTYPE".encode("utf-16-be"))
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_CORE = "docProps/core.xml"
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_PICTURE_DATA = "{urn:schemas-microsoft-com:office:office}gfxdata"
_MAX_STYLE_NAME = 255
_MAX_DEPTH = 256  # of libxml2
_STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => p:fresh
p[style-name='heading 7'] => h6:fresh
p[style-name='heading 8'] => h6:fresh
p[style-name='heading 9'] => h6:fresh
"""


def _word(names: str) -> list[str]:
    """Return names of WordprocessingML, in its transitional and its strict form."""
    spaces = (
        "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "http://purl.oclc.org/ooxml/wordprocessingml/main",
    )
    return [f"{{{space}}}{name}" for space in spaces for name in names.split()]


_UNREAD = _word("""
fldChar instrText bookmarkStart bookmarkEnd proofErr lastRenderedPageBreak sectPr rFonts sz szCs color lang spacing ind
jc kern shd noProof tcW tcBorders tcMar vAlign tblW tblLook tblGrid tblBorders trHeight pBdr tabs
""")
"""Codes of fields, whose results are runs, and what only lays out."""

_LINKS = _word("hyperlink")
_NOTES = _word("footnoteReference endnoteReference")
_IDS = _word("id")
_STYLE_NAMES = _word("name")
_VALUES = _word("val")
_ITEMS = _word("numPr")
_LIST_LINKS = _word("numStyleLink")


def read_docx(data: bytes, name: str) -> HtmlPage:
    """Read a DOCX file.

    Args:
        data: Its bytes.
        name: Its name in messages.

    Raises:
        DocumentReadError: It is damaged, encrypted, of another type or too large.
        MissingExtraError: mammoth or lxml isn't installed.
    """
    library = _mammoth()
    if data.startswith(OLD_OFFICE):
        raise DocumentReadError(
            f"{name} is encrypted, or a file of an old version of Word; save it as .docx without a password"
        )
    try:
        checked, title = _checked(data, name)
        with _without_collections():
            html = library.convert_to_html(
                io.BytesIO(checked),
                style_map=_STYLES,
                include_embedded_style_map=False,
                convert_image=lambda _: [],
            ).value
    except (DocumentReadError, MissingExtraError):
        raise
    except Exception as error:
        # ZIP, XML and what holds them fail in very many ways; RecursionError is one.
        raise DocumentReadError(
            f"{name} can't be read as DOCX ({type(error).__name__}): it is damaged or of another type; save it anew as "
            ".docx"
        ) from error
    page = read_html(html, name)
    return page._replace(title=title)


@contextmanager
def _without_collections() -> Iterator[None]:
    """Let no garbage be collected: mammoth makes objects that live on, and each collection looks at all of them."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@cache
def _mammoth() -> Any:
    return of_extra("mammoth", "mammoth", "files")


def _checked(data: bytes, name: str) -> tuple[bytes, str]:
    """Return an archive of what is XML in a file, and the title in its properties."""
    title = ""
    counts: Counter[str] = Counter()
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(written, "w") as copy:
        for part in xml_parts(archive, name):
            content = archive.read(part)
            counts["tags"] += content.count(b"<")
            if counts["tags"] > MAX_XML_TAGS:
                raise _too_large(name, f"{MAX_XML_TAGS:,} tags of XML")
            root = parsed_xml(content, name, part.filename)
            if root is None:  # it may be no part of the text; else mammoth finds that it is damaged
                copy.writestr(part.filename, b"")
                continue
            if part.filename == _CORE:
                title = clean_text(re.sub(r"\s+", " ", root.findtext(_TITLE) or ""))[:MAX_TITLE_CHARS]
            _reduce(root)
            _check(root, name, counts)
            copy.writestr(part.filename, etree().tostring(root, encoding="utf-8"))
    return written.getvalue(), title


def xml_parts(archive: zipfile.ZipFile, name: str) -> Iterator[zipfile.ZipInfo]:
    """Yield the parts that begin as XML does; of all others, no more than the beginning is unpacked.

    Raises:
        DocumentReadError: They are too many or too large, or packed in an odd way.
    """
    parts = {part.filename: part for part in archive.infolist() if not part.is_dir()}
    if len(archive.infolist()) > MAX_PARTS:
        raise _too_large(name, f"{MAX_PARTS:,} parts")
    size = 0
    for part in parts.values():
        if part.compress_type not in _PACKINGS:
            raise DocumentReadError(
                f"{name} packs {part.filename!r} in a way that no {_kind(name)} file does; save it anew"
            )
        with archive.open(part) as file:
            head = file.read(_HEAD_BYTES).lstrip(_BEFORE_XML)
        if head[:1] not in (b"", b"<") or part.filename.lower().endswith(".svg"):
            continue
        size += part.file_size  # no more is unpacked of a part than it says here
        if size > MAX_XML_BYTES:
            raise DocumentReadError(
                f"{name} unpacks to more than {MAX_XML_BYTES:,} bytes of XML; split it into files, or save it as text"
            )
        yield part


def parsed_xml(content: bytes, name: str, part: str) -> Any:
    """Return the root element of a part; ``None`` if it is damaged.

    Raises:
        DocumentReadError: It has a document type definition, or goes beyond the bounds of libxml2.
    """
    library = etree()
    parser = library.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
    check_type(content, name, part)
    try:
        root: Any = library.fromstring(content, parser)
    except library.XMLSyntaxError as error:
        if error.code == library.ErrorTypes.ERR_RESOURCE_LIMIT:
            bounds = f"{MAX_XML_CHARS:,} characters without a tag, or in one, or {_MAX_DEPTH} elements in each other"
            raise _too_large(name, bounds) from error
        return None
    # An encoding may hide the mark.
    check_type(_TYPE[0] if root.getroottree().docinfo.internalDTD is not None else b"", name, part)
    return root


def check_type(content: bytes, name: str, part: str) -> None:
    """Check that a part has no document type definition, as entities in one can grow without end.

    Raises:
        DocumentReadError: It has one.
    """
    if any(mark in content for mark in _TYPE):
        raise DocumentReadError(
            f"{name} has a document type definition in {part!r}, which no {_kind(name)} file has; save it anew"
        )


def _kind(name: str) -> str:
    return Path(name).suffix[1:].upper()


def _reduce(root: Any) -> None:
    """Leave out what no text depends on, and what would be written again for each place that names it."""
    library = etree()
    library.strip_elements(root, *_UNREAD, with_tail=False)
    library.strip_tags(root, *_LINKS)
    library.strip_attributes(root, _PICTURE_DATA)
    library.cleanup_namespaces(root)
    noted = set()
    for note in list(root.iter(*_NOTES)):
        named = note.tag, *map(note.get, _IDS)
        if named in noted:
            note.getparent().remove(note)
        noted.add(named)
    for style_name in root.iter(*_STYLE_NAMES):
        for key in _VALUES:
            if len(style_name.get(key, "")) > _MAX_STYLE_NAME:
                style_name.set(key, style_name.get(key)[:_MAX_STYLE_NAME])


def _check(root: Any, name: str, counts: Counter[str]) -> None:
    """Count what is in a part, and refuse the file if there is too much in it."""
    counts["elements"] += int(root.xpath("count(//*)"))
    if counts["elements"] > MAX_ELEMENTS:
        raise _too_large(name, f"{MAX_ELEMENTS:,} elements of XML")
    if root.xpath(f"boolean(//*[count(@*) > {MAX_ATTRIBUTES}])"):
        raise _too_large(name, f"{MAX_ATTRIBUTES:,} attributes in a tag")
    for element in root.iter():
        tag = len(element.tag) + sum(len(key) + len(value) for key, value in element.attrib.items())
        if max(tag, len(element.text or ""), len(element.tail or "")) > MAX_XML_CHARS:
            raise _too_large(name, f"{MAX_XML_CHARS:,} characters without a tag, or in one")
    counts["items"] += sum(1 for _ in root.iter(*_ITEMS))
    counts["links"] += sum(1 for _ in root.iter(*_LIST_LINKS))
    if counts["items"] * counts["links"] > MAX_LIST_STEPS:
        raise _too_large(name, f"{MAX_LIST_STEPS:,} steps from items of lists to their styles")


def _too_large(name: str, bound: str) -> DocumentReadError:
    return DocumentReadError(f"{name} has more than {bound}; split it into files, or save it as text")
