"""Rich Text Format (RTF): striprtf gives the text, in which a table row has a bar after each cell."""

import re
from collections.abc import Iterator
from html import escape
from itertools import groupby

from langchain_core.documents import Document
from striprtf.striprtf import rtf_to_text

from langchain_sentence_window.errors import DocumentReadError
from sentence_window.files.html.parts import document_of, table_html
from sentence_window.files.text_encoding import decode_as

HEAD_BYTES = 1_024
"""Bytes in which a file declares its encoding."""

MAX_FONT_STEPS = 100_000_000
"""Fonts times the bytes of the font table, as striprtf may search all of it for each font."""

# Up to the next table or paragraph, as a damaged font table may lack its closing brace.
_FONTS = re.compile(rb"\\fonttbl.*?(?:\\(?:colortbl|stylesheet|pard)|\Z)", re.DOTALL)


def read_rtf(data: bytes, name: str) -> Iterator[Document]:
    """Read an RTF file as one Document.

    Raises:
        DocumentReadError: It is of another type, or its font table is too large.
    """
    if not data.lstrip().startswith(b"{\\rtf"):
        raise DocumentReadError(f"{name} isn't in Rich Text Format; give it the suffix of its type")
    fonts = _FONTS.search(data)
    if fonts and len(re.findall(rb"\\f\d", fonts[0])) * len(fonts[0]) > MAX_FONT_STEPS:
        raise DocumentReadError(f"{name} has too large a font table, so it is damaged; save it again as .rtf")
    declared = re.search(rb"\\ansicpg(\d{3,5})", data[:HEAD_BYTES])
    encoding = f"cp{declared[1].decode()}" if declared else None
    text = rtf_to_text(decode_as(data, encoding, errors="replace"), errors="replace")
    # RTF writes characters beyond U+FFFF as two surrogates.
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    html = []
    for is_table, lines in groupby(text.split("\n"), lambda line: line.endswith("|")):
        if is_table:
            html.append(table_html(line[:-1].split("|") for line in lines))
        else:
            html += [f"<p>{escape(line)}</p>" for line in lines]
    yield document_of(name, ["".join(html)])
