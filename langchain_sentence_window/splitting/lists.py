"""Lists: which sentence introduces an item, in Markdown and in plain text.

An item is nested if it is indented more than the one before. Plain text often isn't indented, so the look of the
markers tells it too: "(a)" below "2. The supplier shall:" is nested.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from langchain_sentence_window._text import COLONS
from langchain_sentence_window._types import Span
from langchain_sentence_window.splitting.blocks import CODE, HTML, LIST_ITEM, MESSAGE, PROSE, TABLE_ROW, Block

_MARKER = re.compile(
    r"(?:(?P<bullet>[-*+•▪◦‣⁃·])|(?:\*\*|__)?\\?[\[(]?(?:(?P<number>\d{1,3}(?:\.\d{1,3})*)"
    r"|(?P<roman>[ivx]{1,5}|[IVX]{1,5})|(?P<letter>[a-zA-Z]))\\?[.)\]]{1,2}(?:\*\*|__)?)(?=\s|\Z)"
)
_QUOTE = re.compile(r"(?:>[ \t]?)+")
_TAB_WIDTH = 4
_CLOSERS = ">*_\"'”’»)]} \t\r\n"
_ENDS = (".", "!", "?", "…", ";", "。", "！", "？", "；", "।", "؟")
_FIRST = frozenset({"1", "a", "A", "i", "I"})


@dataclass(frozen=True, slots=True)
class _Marker:
    """The marker of an item.

    Attributes:
        column: Where it stands in its line.
        style: Its kind, such as ``number``.
        value: The number or the letters, without marks; empty for a bullet.
    """

    column: int
    style: str
    value: str

    def is_first(self) -> bool:
        return self.style == "bullet" or self.value in _FIRST

    def follows(self, other: "_Marker") -> bool:
        """Return whether an item with this marker can stand in one list with an earlier item."""
        if (
            len(self.value) == len(other.value) == 1
            and self.value.isalpha()
            and ord(self.value) == ord(other.value) + 1
        ):
            return True  # "(h)", "(i)", where the second is a Roman number too
        return self.style == other.style and self.value.isupper() == other.value.isupper()

    def is_next(self, other: "_Marker") -> bool:
        """Return whether a list that another marker stood in goes on with this one after a paragraph."""
        is_number = self.style == other.style == "number" and self.value.isdecimal() and other.value.isdecimal()
        return int(self.value) == int(other.value) + 1 if is_number else not self.is_first() and self.follows(other)


@dataclass(frozen=True, slots=True)
class _Item:
    """An item that may hold others.

    Attributes:
        marker: Its marker.
        lead: The index of its lead-in.
        first: The index of its first sentence.
        last: The index of its last sentence.
        span: The span of that sentence.
    """

    marker: _Marker
    lead: int | None
    first: int
    last: int
    span: Span


class ListReader:
    """Reads the blocks of a section in order, and finds the lead-in of each item of a list."""

    def __init__(self, text: str) -> None:
        """Start before the first block of a section.

        Args:
            text: The text.
        """
        self._text = text
        self._open: list[_Item] = []  # the last item of the list, after those that it is nested in
        self._earlier: _Item | None = None  # the last item of the list before
        self._before: tuple[int, Span] | None = None  # the sentence before a list, and its span

    def read(self, block: Block, first: int, spans: Sequence[Span]) -> int | None:
        """Read the next block.

        Args:
            block: The block.
            first: The index of its first sentence.
            spans: The spans of its sentences, at least one.

        Returns:
            The index of the lead-in of its sentences; ``None`` if it is no item, or has no lead-in.
        """
        last, span = first + len(spans) - 1, spans[-1]
        quote = _QUOTE.match(self._text, block.start, block.end) if self._text[block.start] == ">" else None
        at = quote.end() if quote else block.start
        marker = _MARKER.match(self._text, at, block.end) if block.kind in (PROSE, LIST_ITEM) else None
        column = self._column(block.start, at) if marker or self._open or block.kind == LIST_ITEM else 0
        if marker or (block.kind == LIST_ITEM and not column):  # the bullets of a loader's items may be lost
            style = str(marker.lastgroup) if marker else "bullet"
            new = _Marker(column, style, marker[style] if marker and style != "bullet" else "")
            lead = self._lead(new, is_marked=block.kind == LIST_ITEM)
            self._open.append(_Item(new, lead, first, last, span))
            return lead
        if self._open and (block.kind == LIST_ITEM or (block.kind in (CODE, HTML, TABLE_ROW) and column)):
            while len(self._open) > 1 and self._open[-1].marker.column >= column:
                self._open.pop()
            self._open[-1] = replace(self._open[-1], last=last, span=span)
            return self._open[-1].lead
        if block.kind == HTML and self._text.startswith("<!--", block.start):
            return None  # a comment parts nothing
        if self._open:
            self._earlier, self._open = self._open[0], []
        self._before = (last, span) if block.kind in (PROSE, MESSAGE) else None
        return None

    def _lead(self, marker: _Marker, *, is_marked: bool) -> int | None:
        """Close the items that a new one isn't nested in, and return the index of its lead-in."""
        self._close(lambda item: marker.column + 1 < item.marker.column)
        for depth in reversed(range(len(self._open))):
            item = self._open[depth]
            if item.marker.column + 1 < marker.column:
                break
            if marker.follows(item.marker):
                del self._open[depth:]
                return item.lead
        if self._open and not self._nests(marker, self._open[-1], is_marked=is_marked):
            self._close(lambda item: marker.column <= item.marker.column + 1)
        if self._open:
            return self._below(self._open[-1])
        before, self._before = self._before, None
        if self._earlier is not None and marker.is_next(self._earlier.marker):
            return self._earlier.lead
        if before is None or not marker.is_first():
            return None
        # Above numbered paragraphs stand titles too.
        introduces = self._introduces(before[1]) if is_marked else self._ends_with_colon(before[1])
        return before[0] if introduces else None

    def _close(self, ends: Callable[[_Item], bool]) -> None:
        while self._open and ends(self._open[-1]):
            self._earlier = self._open.pop()

    def _nests(self, marker: _Marker, item: _Item, *, is_marked: bool) -> bool:
        """Return whether an item holds a new one that isn't of its list."""
        if marker.column > item.marker.column + 1:
            return True
        # Markdown marks nesting, so only a colon says more than the indent.
        return marker.is_first() and (self._ends_with_colon(item.span) if is_marked else self._introduces(item.span))

    def _below(self, item: _Item) -> int:
        """Return the index of the sentence of an item that introduces the items in it."""
        return item.last if self._ends_with_colon(item.span) else item.first

    def _ends_with_colon(self, span: Span) -> bool:
        return self._text[slice(*span)].rstrip(_CLOSERS).endswith(COLONS)

    def _introduces(self, span: Span) -> bool:
        """Return whether a sentence ends with a colon, or without a mark, as a title does."""
        sentence = self._text[slice(*span)].rstrip(_CLOSERS)
        return bool(sentence) and not sentence.endswith(_ENDS)

    def _column(self, start: int, at: int) -> int:
        """Return the column of a position in the line that a block begins in."""
        line = start
        while line > 0 and self._text[line - 1] in " \t":
            line -= 1
        return len(self._text[line:at].expandtabs(_TAB_WIDTH))
