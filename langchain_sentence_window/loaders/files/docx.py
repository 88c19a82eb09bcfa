"""DOCX as Markdown: mammoth makes HTML of it, which is read as any other.

A DOCX file is a ZIP archive of XML. What it unpacks to is checked before anything is unpacked, and document type
definitions, which can make entities grow without end, are refused, as no such file has them.
"""

import io
import re
import zipfile
from functools import cache
from importlib import import_module
from typing import Any
from xml.etree import ElementTree

from langchain_sentence_window.errors import DocumentReadError, MissingExtraError
from langchain_sentence_window.loaders.files.html_pages import MAX_TITLE_CHARS, HtmlPage, read_html
from langchain_sentence_window.loaders.pdf.reading import clean_text

MAX_XML_BYTES = 64 * 1024 * 1024
"""Bytes of all XML in a file, unpacked."""

MAX_XML_TAGS = 2_000_000
"""Tags of all XML in a file."""

MAX_PARTS = 10_000
"""Parts of the archive."""

_OLD = b"\xd0\xcf\x11\xe0"
_TYPE = (b"<!DOCTYPE", "<!DOCTYPE".encode("utf-16-le"), "<!DOCTYPE".encode("utf-16-be"))
_CORE = "docProps/core.xml"
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => p:fresh
p[style-name='heading 7'] => h6:fresh
p[style-name='heading 8'] => h6:fresh
p[style-name='heading 9'] => h6:fresh
"""


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
    if data.startswith(_OLD):
        raise DocumentReadError(
            f"{name} is encrypted, or a file of an old version of Word; save it as .docx without a password"
        )
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_parts(archive, name)
            title = _core_title(archive)
        html = library.convert_to_html(
            io.BytesIO(data),
            style_map=_STYLES,
            include_embedded_style_map=False,
            convert_image=lambda _: [],
        ).value
    except DocumentReadError:
        raise
    except Exception as error:
        # ZIP, XML and what holds them fail in very many ways; RecursionError is one.
        raise DocumentReadError(
            f"{name} can't be read as DOCX ({type(error).__name__}): it is damaged or of another type; save it anew as "
            ".docx"
        ) from error
    page = read_html(html, name)
    return page._replace(title=title)


@cache
def _mammoth() -> Any:
    try:
        return import_module("mammoth")
    except ModuleNotFoundError as error:
        raise MissingExtraError("mammoth", "files") from error


def _check_parts(archive: zipfile.ZipFile, name: str) -> None:
    parts = archive.infolist()
    texts = [each for each in parts if each.filename.lower().endswith((".xml", ".rels"))]
    # No more is unpacked of a part than it says here.
    if len(parts) > MAX_PARTS or sum(each.file_size for each in texts) > MAX_XML_BYTES:
        raise DocumentReadError(
            f"{name} unpacks to more than {MAX_XML_BYTES:,} bytes of XML, or has more than {MAX_PARTS:,} parts; split "
            "it into files, or save it as text"
        )
    tags = 0
    for each in texts:
        content = archive.read(each)
        tags += content.count(b"<")
        if tags > MAX_XML_TAGS:
            raise DocumentReadError(
                f"{name} has more than {MAX_XML_TAGS:,} tags of XML; split it into files, or save it as text"
            )
        if any(mark in content for mark in _TYPE):
            raise DocumentReadError(
                f"{name} has a document type definition in {each.filename!r}, which no DOCX file has; save it anew as "
                ".docx"
            )


def _core_title(archive: zipfile.ZipFile) -> str:
    """Return the title in the file's properties; empty if there is none."""
    if _CORE not in archive.namelist():
        return ""
    try:
        # It has no document type definition, so its entities can't grow.
        found = ElementTree.fromstring(archive.read(_CORE)).findtext(_TITLE) or ""  # noqa: S314
    except ElementTree.ParseError:
        return ""
    return clean_text(re.sub(r"\s+", " ", found))[:MAX_TITLE_CHARS]
