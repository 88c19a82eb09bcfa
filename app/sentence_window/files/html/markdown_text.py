"""Text in Markdown, built block by block, with the span of each block."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window.documents import LAYOUT, TITLE, write_layout
from langchain_sentence_window.splitting import CODE, HEADING, LIST_ITEM, TABLE_ROW, Block, without_data_uris

from .elements import is_footnote_mark

_BOLD = frozenset({"b", "strong"})
# Soft hyphens, and characters without a width.
_INVISIBLE = dict.fromkeys((0xAD, 0x200B, 0x2060, 0xFEFF))
_TO_SPACE = {ord(each): " " for each in "\t\n\r\f"}


def without_invisible(text: str) -> str:
    """Remove characters that take no space on a page."""
    return text.translate(_INVISIBLE)


class InlineText:
    """The text of the block that is being read."""

    def __init__(self) -> None:
        """Begin with no text."""
        self._parts: list[str] = []
        self._chars = self._bold_chars = self._open_bold = 0
        self._footnote_mark: Any = None

    def __bool__(self) -> bool:
        """Return whether there is any text, even if only white space."""
        return bool(self._parts)

    def start(self, element: Any) -> None:
        """Add the text with which an inline element begins, such as a quotation mark."""
        tag = element.tag
        if tag == "br":
            self.end_line()
        elif tag == "q":
            self.add("“")
        elif tag == "sup" and self._footnote_mark is None and self._is_power(element):
            self.add("^")
        elif tag == "a" and self._footnote_mark is None and is_footnote_mark(element):
            self._footnote_mark = element
            self.add("[")
        self._open_bold += tag in _BOLD

    def end(self, element: Any) -> None:
        """Add the text with which an inline element ends."""
        self._open_bold -= element.tag in _BOLD
        if element.tag == "q":
            self.add("”")
        elif element is self._footnote_mark:
            self._footnote_mark = None
            self.add("]")

    def add(self, text: str) -> bool:
        """Add text; return whether it has more than white space."""
        text = without_invisible(text).translate(_TO_SPACE)
        chars = len(text) - text.count(" ")
        self._chars += chars
        self._bold_chars += chars if self._open_bold else 0
        self._parts.append(text)
        return chars > 0 and not text.isspace()

    def end_line(self) -> None:
        """Begin a new line."""
        self._parts.append("\n")

    def take(self) -> tuple[list[list[str]], bool]:
        """Return the lines of each paragraph, and whether all of them are bold; then begin again with no text."""
        paragraphs = list(_paragraphs("".join(self._parts)))
        is_bold = self._chars > 0 and self._bold_chars == self._chars
        self._parts, self._chars, self._bold_chars = [], 0, 0
        return paragraphs, is_bold

    def _is_power(self, sup: Any) -> bool:
        """Return whether raised text is an exponent. It is written as ``10^6``, as ``106`` is a different number."""
        text = (sup.text or "").lstrip()
        before = self._parts[-1][-1:] if self._parts else ""
        return (text[:1].isdigit() and before.isalnum()) or (text[:1] in "-−+" and text[1:2].isdigit())


def _paragraphs(written: str) -> Iterator[list[str]]:
    """Yield the lines of each paragraph, with white space collapsed. A blank line separates paragraphs."""
    lines = (" ".join(line.split()) for line in written.split("\n"))
    for has_words, paragraph in groupby(lines, key=bool):
        if has_words:
            yield list(paragraph)


# Text that Markdown would read as a heading, a quote, code, HTML or an underline at the beginning of a line.
_MARKUP = re.compile(r"^(?=#{1,6}(?:\s|$)|>|`{3}|~{3}|<[a-zA-Z/!?]|(?:={3,}+|-{3,}+)\s*+$)", re.MULTILINE)
_TICKS = re.compile(r"`{3,}+")


@dataclass(frozen=True, slots=True)
class WrittenBlock:
    """A block to write.

    Attributes:
        kind: Its kind, see `Block`.
        text: Its text.
        level: The level of a heading.
        marker: The marker of a list item, such as ``"- "``; empty for a block that continues an item.
        indent: White space before each of its lines.
        goes_on: Whether no blank line separates it from the block before it.
    """

    kind: str
    text: str
    level: int = 0
    marker: str = ""
    indent: str = ""
    goes_on: bool = False


class MarkdownText:
    """A text in Markdown that grows block by block.

    Attributes:
        blocks: The blocks so far, in order.
    """

    def __init__(self) -> None:
        """Begin with an empty text."""
        self.blocks: list[Block] = []
        self._parts: list[str] = []
        self._length = 0
        self._last = ""

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._parts)

    def document(self, title: str = "", **metadata: Any) -> Document:
        """Return the text as a Document whose metadata holds the title and the blocks."""
        titled = {TITLE: title} if title else {}
        return Document(self.text, metadata={**titled, **metadata, LAYOUT: write_layout(self.blocks)})

    def end_list(self) -> None:
        """Let the next item begin a new list."""
        self._last = ""

    def add(self, block: WrittenBlock) -> None:
        """Add a block without its data URIs, unless it is blank then."""
        text = without_data_uris(block.text).rstrip()
        if not text:
            return
        block = replace(block, text=text)
        is_next_item = block.kind == LIST_ITEM and self._last == LIST_ITEM and bool(block.marker)
        separator = "\n" if block.goes_on or is_next_item else "\n\n"
        before = (separator if self._parts else "") + block.indent
        written = _written(block)
        start = self._length + len(before)
        self._parts += [before, written]
        self._length = start + len(written)
        self.blocks.append(Block(start, self._length, block.kind, block.level))
        self._last = block.kind


def _written(block: WrittenBlock) -> str:
    if block.kind == CODE:
        fence = max([*(found[0] for found in _TICKS.finditer(block.text)), "``"], key=len) + "`"
        return f"{fence}\n{block.text}\n{fence}"
    if block.kind == HEADING:
        return f"{'#' * block.level} {block.text}"
    if block.kind == TABLE_ROW:
        return block.text
    text = _MARKUP.sub(r"\\", block.text)
    return block.marker + text.replace("\n", "\n" + block.indent + " " * len(block.marker))
