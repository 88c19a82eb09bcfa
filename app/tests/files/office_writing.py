"""Office files, made from little by the libraries that write them, or by hand where none does."""

import gzip
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from app.tests.files.writing import archive


def library(name: str) -> Any:
    """A library of the extra, or one that writes what it reads."""
    return pytest.importorskip(name, reason=f"{name} isn't installed; install the extra files and the group test")


def pptx(*texts: str) -> bytes:
    """A slide for each text."""
    deck = library("pptx").Presentation()
    for text in texts:
        slide = deck.slides.add_slide(deck.slide_layouts[6])
        slide.shapes.add_textbox(0, 0, 9, 9).text_frame.text = text
    return saved(deck)


def xlsx(sheets: Mapping[str, Sequence[Sequence[object]]], *, title: str = "") -> bytes:
    book = library("openpyxl").Workbook()
    book.remove(book.active)
    book.properties.title = title or None
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    return saved(book)


def saved(file: Any) -> bytes:
    written = io.BytesIO()
    file.save(written)
    return written.getvalue()


def odt(body: str, *, styles: str = "", more: Mapping[str, bytes] = {}) -> bytes:
    names = {name: f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0" for name in ("office", "style", "text", "table")}
    spaces = " ".join(f'xmlns:{name}="{space}"' for name, space in names.items())
    content = (
        f"<office:document-content {spaces}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:text>{body}</office:text></office:body></office:document-content>"
    )
    return archive({"content.xml": content.encode(), **more})


def epub(chapters: Mapping[str, str], *, more: Mapping[str, bytes] = {}) -> bytes:
    items = "".join(
        f'<item id="{name}" href="{name}.xhtml" media-type="application/xhtml+xml"/>'
        f'<item id="_{name}" href="{name}.css" media-type="text/css"/>'
        for name in chapters
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    book = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>'
        f"House rules</dc:title></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    container = '<container><rootfiles><rootfile full-path="in/book.opf"/></rootfiles></container>'
    parts = {"META-INF/container.xml": container.encode(), "in/book.opf": book.encode()}
    parts |= {f"in/{name}.xhtml": f"<html><body>{text}</body></html>".encode() for name, text in chapters.items()}
    return archive({**parts, **more})


def msg(name: str) -> bytes:
    """A recorded message of Outlook: ``pay``, or ``seats``, which has an attachment."""
    return gzip.decompress((Path(__file__).parent / f"{name}.msg.gz").read_bytes())
