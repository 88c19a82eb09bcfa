"""Writes the elements of an HTML page as blocks of Markdown: headings, paragraphs, list items, table rows, code.

The words of the page are in the text once and in their order. Marks inside a line, such as those of links and emphasis,
are left out, as they would be between the words of a quotation. A paragraph that is wholly bold may be a heading, so
it is written as ``**bold**``. Tables that only arrange blocks are read cell by cell.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_sentence_window.splitting import (
    CODE,
    HEADING,
    LIST_ITEM,
    MAX_HEADING_CHARS,
    MAX_LEVEL,
    MAX_MARKED_HEADING_CHARS,
    PROSE,
    TABLE_ROW,
)

from .elements import BLOCKS, MAX_LABEL_CHARS, data_tables, is_box, is_box_label, is_code
from .markdown_text import InlineText, MarkdownText, WrittenBlock, without_invisible
from .visibility import walk_shown

MAX_ROW_CHARS = 2_000
"""Characters of the longest row that is written on one line; the cells of a longer row become paragraphs."""

_LISTS = frozenset({"ul", "ol", "menu", "dir", "dl"})
_ITEMS = frozenset({"li", "dt", "dd"})
_PRE = frozenset({"pre", "xmp", "listing", "plaintext"})
_HEADING = re.compile(r"h([1-6])")
_MAX_DIGITS = 6
_MAX_INDENT = 80
_MAX_LISTS = 20  # outer lists to check, so that deep nesting takes linear time


@dataclass(slots=True)
class _List:
    """A list that is open.

    Attributes:
        number: The number of the next item; ``None`` in a list without numbers.
        indent: White space before its items.
        inner: White space before further blocks of the open item.
        marker: The marker of the open item until its first block is written; then empty.
        is_plain: Whether the items of this or an outer list hold headings, so that they aren't written as a list.
    """

    number: int | None
    indent: str
    inner: str = ""
    marker: str = ""
    is_plain: bool = False


@dataclass(slots=True)
class _Table:
    """A table of data that is open."""

    cells: list[list[str]] = field(default_factory=list)
    rows: int = 0


class BlockWriter:
    """Writes the blocks of one tree."""

    def __init__(self, text: MarkdownText) -> None:
        """Write at the end of a text."""
        self._text = text
        self._inline = InlineText()
        self._lists: list[_List] = []
        self._table: _Table | None = None
        self._tables: set[Any] = set()
        self._level = 0
        self._pre: list[str] | None = None
        self._label = ""
        self._in_label = False
        self._after_term = False

    def write(self, root: Any, left_out: Collection[Any] = ()) -> None:
        """Write an element with everything in it.

        Args:
            root: The element.
            left_out: Elements to leave out, besides hidden ones.
        """
        self._tables = data_tables(root)
        for event, element in walk_shown(root, left_out):
            if event == "start":
                self._start(element)
                self._add(element.text)
            elif event == "end":
                self._end(element)
            if event != "start" and element is not root:
                self._add(element.tail)
        self._flush()
        self._end_label()

    def _start(self, element: Any) -> None:
        if self._pre is not None:
            self._pre.append("\n" if element.tag == "br" else "")
        elif element.tag in BLOCKS:
            self._start_block(element, element.tag)
        else:
            self._inline.start(element)

    def _end(self, element: Any) -> None:
        if element.tag in BLOCKS:
            self._end_block(element, element.tag)
        elif self._pre is None:
            self._inline.end(element)

    def _start_block(self, element: Any, tag: str) -> None:
        if self._after_term and tag in ("dt", "dd", "p", "div"):
            return  # further terms and their explanation continue the item of the first term
        self._flush()
        self._in_label = is_box_label(element)
        level = 0 if self._in_label else _heading_level(element)
        if level:
            self._level = level
            for each in self._lists if not self._in_plain_list() else ():
                each.is_plain, each.marker = True, ""
        elif tag in _LISTS:
            indent = self._lists[-1].inner[:_MAX_INDENT] if self._lists else ""
            number = _number(element.get("start"), 1) if tag == "ol" else None
            self._lists.append(_List(number, indent, is_plain=self._in_plain_list()))
        elif tag in _ITEMS:
            self._start_item(element, tag)
        elif tag in _PRE:
            self._pre = []
        elif element in self._tables:
            self._table = _Table()
        elif tag in ("td", "th") and self._table is not None:
            self._table.cells.append([])

    def _start_item(self, element: Any, tag: str) -> None:
        if not self._lists:  # an item outside any list
            self._lists.append(_List(None, ""))
        own = self._lists[-1]
        if own.number is not None:
            own.number = _number(element.get("value"), own.number)
        marker = "- " if own.number is None else f"{own.number}. "
        own.number = None if own.number is None else own.number + 1
        own.inner = own.indent + " " * len(marker)
        own.marker = "" if tag == "dd" else marker  # an explanation continues the item of its term

    def _end_block(self, element: Any, tag: str) -> None:
        if tag == "dt" and self._inline and self._pre is None:
            if not self._after_term:  # libxml2 nests terms that aren't closed
                self._inline.end_line()
                self._after_term = True
            return
        if tag in _PRE and self._pre is not None:
            self._end_pre(element)
            return
        self._flush()
        self._in_label = False
        if self._label and is_box(element):
            self._end_label()
        if _heading_level(element):
            self._level = 0
        elif tag in _LISTS and self._lists:
            self._lists.pop()
        elif tag in _ITEMS and self._lists:
            self._lists[-1].marker = ""
        elif tag == "tr" and self._table is not None:
            self._end_row(self._table)
        elif element in self._tables and self._table is not None:
            self._end_row(self._table)
            self._table = None

    def _end_pre(self, element: Any) -> None:
        text = without_invisible("".join(self._pre or ())).strip("\r\n").rstrip()
        self._pre = None
        if not text.strip():
            return
        if self._table is not None:
            if self._table.cells:
                self._table.cells[-1].append(" ".join(text.split()))
        elif is_code(element, text):
            self._write(WrittenBlock(CODE, text))
        else:
            for paragraph in re.split(r"\n[ \t\r]*+\n\s*+", text.strip()):
                self._write(WrittenBlock(PROSE, paragraph.strip()))

    def _end_row(self, table: _Table) -> None:
        cells, table.cells = [" ".join(each) for each in table.cells], []
        if not any(cells):
            return
        if sum(map(len, cells)) > MAX_ROW_CHARS:
            for cell in filter(None, cells):
                self._write(WrittenBlock(PROSE, cell))
            return
        row = "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        if not table.rows:
            row += "\n|" + " --- |" * len(cells)
        table.rows += 1
        self._write(WrittenBlock(TABLE_ROW, row, goes_on=table.rows > 1))

    def _add(self, text: str | None) -> None:
        if not text:
            return
        if self._pre is not None:
            self._pre.append(text)
        elif self._inline.add(text):
            self._after_term = False

    def _flush(self) -> None:
        if not self._inline:
            return
        paragraphs, is_bold = self._inline.take()
        self._after_term = False
        for paragraph in paragraphs:
            self._add_paragraph(paragraph, is_bold=is_bold)

    def _add_paragraph(self, lines: list[str], *, is_bold: bool) -> None:
        text = "\n".join(lines)
        on_one_line = " ".join(lines)
        if self._table is not None:
            if self._table.cells:
                self._table.cells[-1].append(on_one_line)
            else:  # a caption
                self._write(WrittenBlock(PROSE, text))
        elif self._in_label and len(on_one_line) <= MAX_LABEL_CHARS:
            self._end_label()
            self._label = on_one_line.rstrip(":")
        elif self._level:
            is_heading = len(on_one_line) <= MAX_MARKED_HEADING_CHARS - MAX_LEVEL - 1
            heading = WrittenBlock(HEADING, on_one_line, self._level)
            self._write(heading if is_heading else WrittenBlock(PROSE, text))
        elif self._lists and not self._in_plain_list():
            self._add_item(text)
        elif is_bold and len(text) <= MAX_HEADING_CHARS - 4 and not {"\n", "*"} & set(text):
            self._write(WrittenBlock(PROSE, f"**{text}**"))
        else:
            self._write(WrittenBlock(PROSE, text))

    def _in_plain_list(self) -> bool:
        """Return whether the innermost open list is plain; lists inside a plain one are plain too."""
        return bool(self._lists) and self._lists[-1].is_plain

    def _add_item(self, text: str) -> None:
        own = self._lists[-1]
        outer = next((each for each in self._lists[-_MAX_LISTS:-1] if each.marker), None)
        marker, own.marker = own.marker, ""
        indent = own.indent if marker else own.inner
        if outer is not None:  # a list at the beginning of an item shares the line of the outer item
            if own.number is None and outer.number is not None:  # such as a term inside a numbered item
                marker, indent = outer.marker, outer.indent
            outer.marker = ""
        self._write(WrittenBlock(LIST_ITEM, text, marker=marker, indent=indent))

    def _write(self, block: WrittenBlock) -> None:
        if self._label and (block.kind == PROSE or (block.kind == LIST_ITEM and not block.marker)):
            block, self._label = replace(block, text=f"{self._label}: {block.text}"), ""
        self._end_label()
        self._text.add(block)

    def _end_label(self) -> None:
        """Write a pending label that no paragraph followed."""
        label, self._label = self._label, ""
        if label:
            self._write(WrittenBlock(PROSE, f"{label}:"))


def _heading_level(element: Any) -> int:
    """Return the level of a heading; 0 for other elements."""
    found = _HEADING.fullmatch(element.tag)
    if found:
        return int(found[1])
    if element.get("role") == HEADING:  # the role is called as the kind is
        return min(MAX_LEVEL, _number(element.get("aria-level"), 2) or 2)
    return 0


def _number(value: str | None, default: int) -> int:
    if value is None or len(value) > _MAX_DIGITS or not (value.isascii() and value.isdigit()):
        return default
    return int(value)
