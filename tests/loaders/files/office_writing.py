"""Office files, made from little by the libraries that write them, or by hand where none does."""

import io
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.loaders.files.writing import archive

_FILLER = " ".encode("utf-16-le")  # properties of text are padded with blanks
_SECTOR, _NONE, _END = 512, 0xFFFFFFFF, 0xFFFFFFFE


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


def msg(subject: str, body: str, *, sent: int = 0, attachment: str = "") -> bytes:
    """A message of Outlook: a compound file with a stream for each property, sent so many days after 1600."""
    texts = {"0037": subject, "1000": body}
    streams = {f"__substg1.0_{tag}001F": text.encode("utf-16-le") for tag, text in texts.items()}
    streams["__properties_version1.0"] = bytes(32) + b"".join(
        struct.pack("<HHIII", 0x1F, int(tag, 16), 6, 2 * len(text) + 2, 0) for tag, text in texts.items()
    )
    if sent:
        sent_at = struct.pack("<HHIQ", 0x40, 0x0039, 6, sent * 864_000_000_000)
        streams["__properties_version1.0"] += sent_at
    held = {}
    if attachment:
        name = attachment.encode("utf-16-le")
        held = {
            "__substg1.0_3707001F": name,
            "__properties_version1.0": bytes(8) + struct.pack("<HHIII", 0x1F, 0x3707, 6, len(name) + 2, 0),
        }
    return _compound(streams, {"__attach_version1.0_#00000000": held} if attachment else {})


def _compound(streams: Mapping[str, bytes], folders: Mapping[str, Mapping[str, bytes]]) -> bytes:
    """A compound file of version 3, whose streams are padded so that none is a small one."""
    entries: list[tuple[str, int, int, int, int, int]] = []  # name, type, right, child, first sector, size
    data, chain = b"", list[int]()

    def add_all(held: Mapping[str, bytes], inner: Mapping[str, Mapping[str, bytes]]) -> int:
        nonlocal data
        first, before = _NONE, None
        for name in sorted([*held, *inner], key=lambda each: (len(each), each.upper())):
            at = len(entries)
            if before is not None:
                entries[before] = (*entries[before][:2], at, *entries[before][3:])
            first, before = (at if first == _NONE else first), at
            if name in inner:
                entries.append((name, 1, _NONE, _NONE, 0, 0))
                child = add_all(inner[name], {})
                entries[at] = (*entries[at][:3], child, 0, 0)
                continue
            size = max(len(held[name]), 4096)
            count, start = -(-size // _SECTOR), len(chain)
            entries.append((name, 2, _NONE, _NONE, start, size))
            data += (held[name] + _FILLER * 2048)[:size] if "substg" in name else held[name].ljust(size, b"\0")
            data = data.ljust((start + count) * _SECTOR, b"\0")
            chain.extend([*range(start + 1, start + count), _END])
        return first

    entries.append(("Root Entry", 5, _NONE, _NONE, _END, 0))
    entries[0] = ("Root Entry", 5, _NONE, add_all(streams, folders), _END, 0)
    folder = b""
    for name, kind, right, child, start, size in entries:
        written = (name + "\0").encode("utf-16-le")
        folder += written.ljust(64, b"\0") + struct.pack("<HBBIII", len(written), kind, 1, _NONE, right, child)
        folder += bytes(36) + struct.pack("<IQ", start, size)
    folder = folder.ljust(-(-len(folder) // _SECTOR) * _SECTOR, b"\0")
    first = len(chain)
    count = len(folder) // _SECTOR
    chain += [*range(first + 1, first + count), _END]
    table_at = len(chain)
    tables = -(-(table_at + 2) // 128)
    chain += [0xFFFFFFFD] * tables
    table = b"".join(struct.pack("<I", each) for each in chain).ljust(tables * _SECTOR, b"\xff")
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(10)
    header += struct.pack("<IIIIIIII", tables, first, 0, 4096, _END, 0, _END, 0)
    header += b"".join(struct.pack("<I", table_at + each) for each in range(tables))
    return header.ljust(_SECTOR, b"\xff") + data + folder + table
