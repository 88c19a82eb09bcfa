"""A text in Markdown that is written block by block, with the span of each."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from langchain_sentence_window.splitting.blocks import CODE, HEADING, LIST_ITEM, TABLE_ROW, Block

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
