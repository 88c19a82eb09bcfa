"""E-books (EPUB): the chapters in reading order, without the navigation document."""

import json
import posixpath
from collections.abc import Iterator
from urllib.parse import unquote

from langchain_core.documents import Document

from sentence_window.files.html.parts import document_of

from .package import Package, title_in

_CHAPTERS = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml"})


def read_epub(data: bytes, name: str) -> Iterator[Document]:
    """Read an EPUB file as one Document.

    Raises:
        DocumentReadError: It is encrypted, damaged, or too large.
    """
    package = Package(data, name)
    container = package.needed("META-INF/container.xml")
    path = next((each.get("full-path", "") for each in container.iter("{*}rootfile")), "")
    book = package.needed(path)
    items = {each.get("id"): each for each in book.iter("{*}item")}
    chapters = [items[each.get("idref")] for each in book.iter("{*}itemref") if each.get("idref") in items]
    pages: list[str] = []
    for each in dict.fromkeys(chapters):
        if each.get("media-type") in _CHAPTERS and "nav" not in each.get("properties", "").split():
            part = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(each.get("href", ""))))
            if part not in package.parts:
                raise package.unreadable(part)
            written = package.parts.pop(part)
            pages.append(written.decode(json.detect_encoding(written), "replace"))
    yield document_of(name, pages, title_in(book))
