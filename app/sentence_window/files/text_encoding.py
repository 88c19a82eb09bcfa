"""Decodes the bytes of a file: by its byte order mark, by its declaration in HTML, as UTF-8, or by detection."""

import codecs
import re
from contextlib import suppress

import charset_normalizer

from langchain_sentence_window.errors import DocumentReadError

HEAD_BYTES = 4_096
"""Bytes of an HTML file that are searched for a declared encoding."""

MAX_NULS = 0.2
"""The largest share of NUL bytes that are removed from an HTML page; a page with more isn't text, or is UTF-16."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before the mark of UTF-16, with which it begins
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WIDE_MARKS = tuple(mark for mark, encoding in _MARKS if encoding != "utf-8")
_DECLARED = re.compile(rb"<meta\b[^<>]{0,200}?\bcharset\s{0,9}+=\s{0,9}+[\"']?\s{0,9}+([\w.:-]{2,40})", re.IGNORECASE)
# Python knows other codecs that aren't encodings of files, such as unicode_escape.
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
    """Decode the bytes of a file, without a byte order mark.

    Args:
        data: The bytes.
        name: The file's name in messages.
        is_html: Whether the file may declare its encoding in a ``<meta>`` tag.

    Raises:
        DocumentReadError: It isn't text, or its encoding is unknown.
    """
    for start, kind in _BINARY.items():
        if data.startswith(start):
            raise DocumentReadError(f"{name} is {kind} by its content, not text; give it the suffix of its type")
    if is_html and not data.startswith(_WIDE_MARKS) and data.count(0) <= MAX_NULS * len(data):
        data = data.replace(b"\0", b"")  # as browsers do
    text = _decoded(data, is_html=is_html)
    if text is None:
        raise DocumentReadError(f"{name} is in an unknown encoding; open it in an editor and save it as UTF-8")
    if "\0" in text:
        raise DocumentReadError(
            f"{name} holds NUL characters, so it isn't text, or it is in UTF-16 without a byte order mark; save it "
            "as UTF-8"
        )
    return text


def decode_as(data: bytes, *encodings: str | None, errors: str = "strict") -> str:
    """Decode bytes in the first encoding that is known and fits; else in that of Windows.

    Args:
        data: The bytes.
        encodings: Names of encodings; ``None`` is skipped.
        errors: What a byte that doesn't fit means, as for `bytes.decode`.
    """
    for encoding in filter(None, encodings):
        with suppress(LookupError, ValueError):
            return data.decode(encoding, errors)
    return data.decode("cp1252", "replace")


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
    best = charset_normalizer.from_bytes(data).best()
    return None if best is None else _try(data, best.encoding)


def _try(data: bytes, encoding: str) -> str | None:
    try:
        text = data.decode(encoding)
        text.encode()
    except (UnicodeError, LookupError):  # a lone surrogate can't be encoded
        return None
    return text
