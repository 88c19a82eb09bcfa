"""Documents of parts of HTML, into which other formats are turned to be read.

So all formats share how headings, lists and tables are read and written.
"""

import re
from collections.abc import Callable, Iterable
from html import escape
from typing import Any

from langchain_core.documents import Document

from .block_writer import BlockWriter
from .markdown_text import MarkdownText
from .reader import write_html


def document_of(name: str, parts: Iterable[Any], title: str = "", **metadata: Any) -> Document:
    """Make one Document of parts.

    Args:
        name: The file's name in messages.
        parts: Strings of HTML; lxml trees with the tags of HTML; and lists of alternatives, each of which is a sequence
            of parts. The first alternative with text is read.
        title: Its title; empty if it has none.
        metadata: More metadata.
    """
    text = MarkdownText()
    _write(parts, name, text)
    return text.document(title, **metadata)


def _write(parts: Iterable[Any], name: str, text: MarkdownText) -> None:
    for part in parts:
        text.end_list()
        if isinstance(part, list):
            before = len(text.blocks)
            for alternative in part:
                if len(text.blocks) == before:
                    _write(alternative, name, text)
        elif isinstance(part, str):
            write_html(part, name, text)
        else:
            BlockWriter(text).write(part)


def rename_elements(root: Any, tag: Callable[[Any], str]) -> Any:
    """Give elements the tags of HTML and no attributes, inner ones first; return the root."""
    for each in reversed(list(root.iter())):
        each.tag = tag(each)
        each.attrib.clear()
    return root


def table_html(rows: Iterable[Iterable[str]]) -> str:
    """Return the texts of cells as an HTML table."""
    cells = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


def text_html(text: str) -> str:
    """Return plain text as HTML, with its paragraphs and lines."""
    return "<p>".join(escape(each).replace("\n", "<br>") for each in re.split(r"\n[ \t\r]*+\n\s*+", text.strip()))
