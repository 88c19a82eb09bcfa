"""HTML as Markdown: parsed by lxml, which is libxml2, and written as blocks: headings, paragraphs, items, rows, code.

libxml2 closes what authors leave open, as browsers do, and its work grows with the file alone. It doesn't with the
attributes of one tag and with very deep nesting, so these are refused.

The words of the tree are in the text once and in their order. Marks inside a line, such as those of links and emphasis,
are left out, as they only stand between the words; but a paragraph that is wholly bold may be a heading, so it is
``**bold**``. Tables that only arrange blocks are read cell by cell.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from langchain_sentence_window.errors import DocumentReadError
from langchain_sentence_window.loaders.file_bytes import clean_text
from langchain_sentence_window.splitting.blocks import (
    CODE,
    HEADING,
    LIST_ITEM,
    MAX_HEADING_CHARS,
    MAX_LEVEL,
    MAX_MARKED_HEADING_CHARS,
    PROSE,
    TABLE_ROW,
    Block,
)

from . import html_elements
from .boilerplate import find_content
from .html_elements import WrittenBlock

MAX_TAGS = 2_000_000
"""Tags of the largest HTML file that is read."""

MAX_ATTRIBUTES = 1_000
"""Attributes of one tag."""

MAX_TITLE_CHARS = 1_000

_LONG_TAG = 2 * MAX_ATTRIBUTES
_ATTRIBUTES = r"(?:[^>=]++|=\s*+(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z))?+)*+"
_TAG = re.compile(
    rf"<!--(?:[^-]++|-(?!->))*+|<(script|style)(?=[\s/>]){_ATTRIBUTES}(?:[^<]++|<(?!/\1))*+|</?[a-z]{_ATTRIBUTES}",
    re.IGNORECASE,
)
_VALUE = re.compile(r"=\s*+(?:\"[^\"]*+\"?|'[^']*+'?)")
_ATTRIBUTE = re.compile(r"[\s/=][^\s/=]")
_FATAL = 3


class HtmlPage(NamedTuple):
    """The content of an HTML file.

    Attributes:
        text: Its visible text as Markdown.
        blocks: The blocks of the text, in order.
        title: Its ``<title>``; empty if it has none.
    """

    text: str
    blocks: list[Block]
    title: str


def read_html(html: str, name: str) -> HtmlPage:
    """Read an HTML file.

    Args:
        html: Its text.
        name: Its name in messages.

    Raises:
        DocumentReadError: It has too many tags, or nests them too deep.
        MissingExtraError: lxml isn't installed.
    """
    text = html_elements.MarkdownText()
    title = write_html(html, name, text)
    return HtmlPage(text.text, text.blocks, title)


def write_html(html: str, name: str, text: html_elements.MarkdownText) -> str:
    """Write the content of an HTML file behind a text, see `read_html`, and return the title of the file."""
    _check_size(html, name)
    root = _parsed(html, name)
    if root is None:
        return ""
    html_elements.show_fading(root)
    if any(map(html.__contains__, html_elements.SPOKEN)):
        html_elements.hide_spoken(root)
    html_elements.hide_by_sheets(root)
    main, left_out = find_content(root)
    before = len(text.blocks)
    BlockWriter(text).write(main, left_out)
    if len(text.blocks) == before:  # such as a page whose main part a script fills, or one that is all links
        BlockWriter(text).write(root)
    return _title(root)


def _check_size(html: str, name: str) -> None:
    if html.count("<") > MAX_TAGS:
        raise DocumentReadError(f"{name} has more than {MAX_TAGS:,} tags; split it into files, or save it as text")
    for tag in _TAG.finditer(html):
        if tag.end() - tag.start() <= _LONG_TAG or tag[0].startswith("<!"):
            continue
        # Only the tag counts, and not the script behind it.
        found = re.match(rf"</?[a-z]{_ATTRIBUTES}", tag[0], re.IGNORECASE)
        written = _VALUE.sub("=", found[0] if found else tag[0])
        if sum(1 for _ in _ATTRIBUTE.finditer(written)) > 2 * MAX_ATTRIBUTES:
            raise DocumentReadError(
                f"{name} has a tag with more than {MAX_ATTRIBUTES:,} attributes, so it is damaged; save it anew from "
                "a browser, or as text"
            )


def _parsed(html: str, name: str) -> Any:
    """Return the root element; ``None`` if there is none."""
    library = html_elements.etree()
    parser = library.HTMLParser(
        encoding="utf-8", recover=True, no_network=True, remove_comments=True, remove_pis=True, huge_tree=True
    )
    try:
        root = library.fromstring(html.encode(), parser)
    except library.XMLSyntaxError:
        root = None
    if any(each.level >= _FATAL and each.type == library.ErrorTypes.ERR_RESOURCE_LIMIT for each in parser.error_log):
        raise DocumentReadError(
            f"{name} nests its tags too deep, so it is damaged; save it anew from a browser, or as text"
        )
    return root


def _title(root: Any) -> str:
    found = next((each for each in root.iter("title") if each.getparent().tag != "svg"), None)
    return "" if found is None else title_of("".join(found.itertext()))


def title_of(text: str) -> str:
    """Return a text as a title: on one line, and not too long."""
    return clean_text(" ".join(text.split()))[:MAX_TITLE_CHARS]


MAX_ROW_CHARS = 2_000
"""Characters of the longest row that is written on one line; the cells of a longer one are paragraphs."""

_LISTS = frozenset({"ul", "ol", "menu", "dir", "dl"})
_ITEMS = frozenset({"li", "dt", "dd"})
_PRE = frozenset({"pre", "xmp", "listing", "plaintext"})
_HEADING = re.compile(r"h([1-6])")
_MAX_DIGITS = 6
_MAX_INDENT = 80
_MAX_LISTS = 20  # lists around an item that are looked at, so that nested ones take no more time than others


@dataclass(slots=True)
class _List:
    """A list that is open.

    Attributes:
        number: The number of the next item; ``None`` if items have none.
        indent: White space before its items.
        inner: White space before what follows in the item that is open.
        marker: What stands before the next block; empty if the item has begun.
        is_plain: Whether its items hold headings, or those of a list around it, so they are no list.
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

    def __init__(self, text: html_elements.MarkdownText) -> None:
        """Begin behind a text."""
        self._text = text
        self._inline = html_elements.InlineText()
        self._lists: list[_List] = []
        self._table: _Table | None = None
        self._tables: set[Any] = set()
        self._level = 0
        self._pre: list[str] | None = None
        self._label = ""
        self._in_label = False
        self._after_term = False

    def write(self, root: Any, left_out: Collection[Any] = ()) -> None:
        """Write the tree below an element, itself included.

        Args:
            root: The element.
            left_out: Elements that aren't written, besides those that aren't shown.
        """
        self._tables = html_elements.data_tables(root)
        for event, element in html_elements.walk_shown(root, left_out):
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
        elif element.tag in html_elements.BLOCKS:
            self._start_block(element, element.tag)
        else:
            self._inline.start(element)

    def _end(self, element: Any) -> None:
        if element.tag in html_elements.BLOCKS:
            self._end_block(element, element.tag)
        elif self._pre is None:
            self._inline.end(element)

    def _start_block(self, element: Any, tag: str) -> None:
        if self._after_term and tag in ("dt", "dd", "p", "div"):
            return  # another term with the same meaning, and what explains them, stand in the item of the first
        self._flush()
        self._in_label = html_elements.is_box_label(element)
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
        if not self._lists:  # an item outside of a list
            self._lists.append(_List(None, ""))
        own = self._lists[-1]
        if own.number is not None:
            own.number = _number(element.get("value"), own.number)
        marker = "- " if own.number is None else f"{own.number}. "
        own.number = None if own.number is None else own.number + 1
        own.inner = own.indent + " " * len(marker)
        own.marker = "" if tag == "dd" else marker  # what explains a term goes on in its item

    def _end_block(self, element: Any, tag: str) -> None:
        if tag == "dt" and self._inline and self._pre is None:
            if not self._after_term:  # libxml2 nests terms that are left open
                self._inline.end_line()
                self._after_term = True
            return
        if tag in _PRE and self._pre is not None:
            self._end_pre(element)
            return
        self._flush()
        self._in_label = False
        if self._label and html_elements.is_box(element):
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
        text = html_elements.without_unseen("".join(self._pre or ())).strip("\r\n").rstrip()
        self._pre = None
        if not text.strip():
            return
        if self._table is not None:
            if self._table.cells:
                self._table.cells[-1].append(" ".join(text.split()))
        elif html_elements.is_code(element, text):
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
        elif self._in_label and len(on_one_line) <= html_elements.MAX_LABEL_CHARS:
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
        """Return whether a list that is open holds headings; lists in it are then plain, too."""
        return bool(self._lists) and self._lists[-1].is_plain

    def _add_item(self, text: str) -> None:
        own = self._lists[-1]
        outer = next((each for each in self._lists[-_MAX_LISTS:-1] if each.marker), None)
        marker, own.marker = own.marker, ""
        indent = own.indent if marker else own.inner
        if outer is not None:  # a list that begins an item has no line of its own for the outer one
            if own.number is None and outer.number is not None:  # such as a term in an item that has a number
                marker, indent = outer.marker, outer.indent
            outer.marker = ""
        self._write(WrittenBlock(LIST_ITEM, text, marker=marker, indent=indent))

    def _write(self, block: WrittenBlock) -> None:
        if self._label and (block.kind == PROSE or (block.kind == LIST_ITEM and not block.marker)):
            block, self._label = replace(block, text=f"{self._label}: {block.text}"), ""
        self._end_label()
        self._text.add(block)

    def _end_label(self) -> None:
        """Write a label that no paragraph follows."""
        label, self._label = self._label, ""
        if label:
            self._write(WrittenBlock(PROSE, f"{label}:"))


def _heading_level(element: Any) -> int:
    """Return the level of a heading; 0 if an element is none."""
    found = _HEADING.fullmatch(element.tag)
    if found:
        return int(found[1])
    if element.get("role") == HEADING:  # the role has the name of the kind
        return min(MAX_LEVEL, _number(element.get("aria-level"), 2) or 2)
    return 0


def _number(value: str | None, usual: int) -> int:
    if value is None or len(value) > _MAX_DIGITS or not (value.isascii() and value.isdigit()):
        return usual
    return int(value)
