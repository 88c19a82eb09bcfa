"""The text of an HTML page, in Markdown: that between two ends of blocks, and the blocks with the span of each."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from langchain_sentence_window.loaders.files.html_elements import is_footnote_mark
from langchain_sentence_window.splitting.blocks import CODE, HEADING, LIST_ITEM, TABLE_ROW, Block

_BOLD = frozenset({"b", "strong"})
# Soft hyphens and what has no width.
_UNSEEN = dict.fromkeys((0xAD, 0x200B, 0x2060, 0xFEFF))
_TO_SPACE = {ord(each): " " for each in "\t\n\r\f"}


def without_unseen(text: str) -> str:
    """Remove what takes no room on a page."""
    return text.translate(_UNSEEN)


class InlineText:
    """Collects the text of one block after the other."""

    def __init__(self) -> None:
        """Begin without text."""
        self._parts: list[str] = []
        self._chars = self._bold_chars = self._open_bold = 0
        self._footnote_mark: Any = None

    def __bool__(self) -> bool:
        """Return whether there is anything, be it white space."""
        return bool(self._parts)

    def start(self, element: Any) -> None:
        """Add what an element inside a line begins with."""
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
        """Add what an element inside a line ends with."""
        self._open_bold -= element.tag in _BOLD
        if element.tag == "q":
            self.add("”")
        elif element is self._footnote_mark:
            self._footnote_mark = None
            self.add("]")

    def add(self, text: str) -> bool:
        """Add text; return whether it is more than white space."""
        text = without_unseen(text).translate(_TO_SPACE)
        chars = len(text) - text.count(" ")
        self._chars += chars
        self._bold_chars += chars if self._open_bold else 0
        self._parts.append(text)
        return chars > 0 and not text.isspace()

    def end_line(self) -> None:
        """Break the line."""
        self._parts.append("\n")

    def take(self) -> tuple[list[list[str]], bool]:
        """Return the lines of each paragraph so far, and whether all of them are bold; begin anew."""
        paragraphs = list(_paragraphs("".join(self._parts)))
        is_bold = self._chars > 0 and self._bold_chars == self._chars
        self._parts, self._chars, self._bold_chars = [], 0, 0
        return paragraphs, is_bold

    def _is_power(self, sup: Any) -> bool:
        """Return whether raised text is written as in ``10^6``, as ``106`` is another number."""
        text = (sup.text or "").lstrip()
        before = self._parts[-1][-1:] if self._parts else ""
        return (text[:1].isdigit() and before.isalnum()) or (text[:1] in "-−+" and text[1:2].isdigit())


def _paragraphs(written: str) -> Iterator[list[str]]:
    """Yield the lines of each paragraph, without needless white space; a blank line parts paragraphs."""
    lines: list[str] = []
    for line in written.split("\n"):
        words = " ".join(line.split())
        if words:
            lines.append(words)
        elif lines:
            yield lines
            lines = []
    if lines:
        yield lines


# What would be a heading, a quote, code, HTML or an underline at the beginning of a line.
_MARK = re.compile(r"^(?=#{1,6}(?:\s|$)|>|`{3}|~{3}|<[a-zA-Z/!?]|(?:={3,}+|-{3,}+)\s*+$)", re.MULTILINE)
_TICKS = re.compile(r"`{3,}+")
_OF_CODE = re.compile(
    r"\b(?:code|console|example|highlight|hljs|lang|listing|prettyprint|programlisting|screen|source|src|synopsis|syntax)",
    re.IGNORECASE,
)
_NAMED_AROUND = 2  # elements around preformatted text whose names tell what it is
_ALIGNED = re.compile(r"\S {3,}\S")  # columns, or comments behind code
_PROSE_SHARE = 0.95
_MAX_ALIGNED_SHARE = 0.1
_MIN_PROSE_CHARS = 400


@dataclass(frozen=True, slots=True)
class WrittenBlock:
    """A block to write.

    Attributes:
        kind: Its kind, see `Block`.
        text: Its text.
        level: The level of a heading.
        marker: What stands before an item, such as ``"- "``; empty if the block goes on in an item.
        indent: White space before each of its lines.
        goes_on: Whether it follows the block before without a blank line.
    """

    kind: str
    text: str
    level: int = 0
    marker: str = ""
    indent: str = ""
    goes_on: bool = False


class MarkdownText:
    """A text that grows by blocks.

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

    def add(self, block: WrittenBlock) -> None:
        """Add a block that isn't blank."""
        is_next_item = block.kind == LIST_ITEM and self._last == LIST_ITEM and bool(block.marker)
        separator = "\n" if block.goes_on or is_next_item else "\n\n"
        before = (separator if self._parts else "") + block.indent
        written = _written(block)
        start = self._length + len(before)
        self._parts += [before, written]
        self._length = start + len(written)
        self.blocks.append(Block(start, self._length, block.kind, block.level))
        self._last = block.kind


def is_code(element: Any, text: str) -> bool:
    """Return whether preformatted text is code, and not a letter or a standard that was typed with line breaks."""
    if len(text) < _MIN_PROSE_CHARS or next(element.iter("code", "samp", "kbd"), None) is not None:
        return True
    if any(map(_OF_CODE.search, _names(element))):
        return True
    words = sum(each.isalpha() or each.isspace() or each in ".,'-" for each in text)
    lines = text.split("\n")
    aligned = sum(_ALIGNED.search(line) is not None for line in lines)
    return words < _PROSE_SHARE * len(text) or aligned > _MAX_ALIGNED_SHARE * len(lines)


def _names(element: Any) -> Iterator[str]:
    for each in (element, *islice(element.iterancestors(), _NAMED_AROUND)):
        yield from (each.get("class", ""), each.get("id", ""))


def _written(block: WrittenBlock) -> str:
    if block.kind == CODE:
        fence = max([*(found[0] for found in _TICKS.finditer(block.text)), "``"], key=len) + "`"
        return f"{fence}\n{block.text}\n{fence}"
    if block.kind == HEADING:
        return f"{'#' * block.level} {block.text}"
    if block.kind == TABLE_ROW:
        return block.text
    text = _MARK.sub(r"\\", block.text)
    return block.marker + text.replace("\n", "\n" + block.indent + " " * len(block.marker))
