"""Lead-ins: the sentence that gives meaning to one after it.

- of a table row, the header row of the table
- of a list item, the paragraph that introduces the list, or the item that it is nested in
- of a later sentence of a message, the first sentence, which names the speaker
- of code in a function, its signature, see `langchain_sentence_window.splitting.source_code`

A paragraph introduces a list if it ends with a colon, or, before items with a mark of their own, without any mark. In
doubt there is no lead-in.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from langchain_sentence_window._primitives import COLONS, Span

from .blocks import CODE, HTML, LIST_ITEM, MESSAGE, PROSE, TABLE_ROW, Block
from .transcripts import STAMP, speaker_end


def find_lead_ins(text: str, blocks: Sequence[Block], sentences: Sequence[Sequence[Span]]) -> list[int | None]:
    """Find the lead-in of each sentence of a section.

    Args:
        text: The text.
        blocks: The blocks of the section, in order.
        sentences: The spans of the sentences of each block, in order.

    Returns:
        For each sentence of the section the index of its lead-in in the section, smaller than its own, or ``None``.
    """
    found: list[int | None] = []
    firsts: list[int] = []
    headers, lists = header_rows(text, blocks), _ListReader(text)
    speaker: int | None = None
    for position, (block, spans) in enumerate(zip(blocks, sentences, strict=True)):
        first = len(found)
        firsts.append(first)
        lead = lists.read(block, first, spans)
        if block.kind == TABLE_ROW:
            lead = firsts[headers[position]] if position in headers else None
        elif block.kind == MESSAGE:
            names_speaker = speaker_end(text, block.start, block.end) > block.start
            if names_speaker or STAMP.match(text, block.start, block.end):
                speaker = first if names_speaker else None
                found.append(None)
            lead = speaker
        found += [lead] * (first + len(spans) - len(found))
    return found


def lead_in_part(kind: str, lead_in: str, own_kind: str = PROSE) -> tuple[str, int]:
    """Return what of a lead-in gives meaning to a sentence.

    Args:
        kind: The kind of the block of the sentence that has the lead-in.
        lead_in: The text of the lead-in.
        own_kind: The kind of its own block.

    Returns:
        ``("header", end)`` for a row of a table, ``("speaker", end)`` for a message, ``("signature", end)`` for code in
        a function, else ``("list", end)``; the text up to ``end``, which may be 0, is the part.
    """
    if own_kind == CODE:
        return "signature", len(lead_in)
    if kind == TABLE_ROW and "|" in lead_in:
        return "header", len(lead_in.splitlines()[0].rstrip())  # without the delimiter row
    if kind == MESSAGE:
        return "speaker", speaker_end(lead_in)
    return ("header" if kind == TABLE_ROW else "list"), len(lead_in)


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
        column: Its column in its line.
        style: Its kind, such as ``number``.
        value: The number or the letters, without marks; empty for a bullet.
    """

    column: int
    style: str
    value: str

    def is_first(self) -> bool:
        return self.style == "bullet" or self.value in _FIRST

    def follows(self, other: "_Marker") -> bool:
        """Return whether an item with this marker can belong to the list of an earlier item."""
        are_letters = len(self.value) == len(other.value) == 1 and self.value.isalpha()
        if are_letters and ord(self.value) == ord(other.value) + 1:
            return True  # "(h)", "(i)", where the second is a Roman number too
        return self.style == other.style and self.value.isupper() == other.value.isupper()

    def is_next(self, other: "_Marker") -> bool:
        """Return whether this marker continues the list of another one after a paragraph."""
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


@dataclass(slots=True)
class _ListReader:
    """Reads the blocks of a section in order, and finds the lead-in of each item of a list."""

    _text: str
    _open: list[_Item] = field(default_factory=list)  # the last item of the list, after those that it is nested in
    _earlier: _Item | None = None  # the last item of the list before
    _before: tuple[int, Span] | None = None  # the sentence before a list, and its span

    def read(self, block: Block, first: int, spans: Sequence[Span]) -> int | None:
        """Read the next block.

        Args:
            block: The block.
            first: The index of its first sentence.
            spans: The spans of its sentences, at least one.

        Returns:
            The index of the lead-in of its sentences; ``None`` if it isn't an item, or has no lead-in.
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
            item = self._open[-1]
            return item.last if self._ends_with_colon(item.span) else item.first  # what introduces the items in it
        before, self._before = self._before, None
        if self._earlier is not None and marker.is_next(self._earlier.marker):
            return self._earlier.lead
        if before is None or not marker.is_first():
            return None
        # Titles come before numbered paragraphs, too.
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


MAX_HEADER_CELL_CHARS = 40
"""Characters of a cell of a header row that no delimiter row marks."""

_LINE_END = re.compile(r"\r\n|\r|\n")
_DELIMITER_ROW = re.compile(r"[\r\n][|: \t>]*+-[|:\- \t>]*+(?=[\r\n]|\Z)")


def header_rows(text: str, blocks: Sequence[Block]) -> dict[int, int]:
    """Find the header row of each table.

    A loader may mark it. In Markdown it is the row above the delimiter row. Elsewhere the first row is a header only if
    it looks like one: its cells are short and hold no digit, and the cells below one of them do.

    Args:
        text: The text.
        blocks: The blocks of a section, in order.

    Returns:
        The position of the header row among the blocks, by the position of each row below it.
    """
    found: dict[int, int] = {}
    first = 0
    for at in range(1, len(blocks) + 1):
        goes_on = (
            at < len(blocks)
            and blocks[first].kind == blocks[at].kind == TABLE_ROW
            and blocks[first].is_header is blocks[at].is_header is None
            and not _is_delimited(text, blocks[at])
            and len(_LINE_END.findall(text, blocks[at - 1].end, blocks[at].start)) <= 1  # else another table
        )
        if goes_on:
            continue
        rows = blocks[first:at]
        if rows[0].is_header is False and first and blocks[first - 1].is_header is not None:
            found[first] = found.get(first - 1, first - 1)
        elif rows[0].kind == TABLE_ROW and (_is_delimited(text, rows[0]) or _looks_like_header(text, rows)):
            found |= dict.fromkeys(range(first + 1, at), first)
        first = at
    return found


def _is_delimited(text: str, row: Block) -> bool:
    """Return whether a row of Markdown has the delimiter row below it."""
    has_columns = text.find("|", row.start, row.end) >= 0  # else a hyphen is a cell of a row of several lines
    return has_columns and _DELIMITER_ROW.search(text, row.start, row.end) is not None


def _looks_like_header(text: str, rows: Sequence[Block]) -> bool:
    cells = [_split_cells(text, row) for row in rows]
    header, below = cells[0], cells[1:]
    if not below or len(header) < 2 or any(len(row) != len(header) for row in below):  # noqa: PLR2004
        return False
    words = sum(any(map(str.isalpha, cell)) for cell in header)  # a column of shares may be headed by "%"
    are_titles = words >= max(2, len(header) - 1) and all(
        0 < len(cell) <= MAX_HEADER_CELL_CHARS and not any(map(str.isdigit, cell)) for cell in header
    )
    columns = zip(*below, strict=True)
    return are_titles and any(all(any(map(str.isdigit, cell)) for cell in column) for column in columns)


def _split_cells(text: str, row: Block) -> list[str]:
    """Return the cells of a row, which bars or tabs part."""
    line = text[row.start : row.end].strip()
    if "|" in line:
        line = line.removeprefix("|").removesuffix("|")
        return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)]
    return [cell.strip() for cell in line.split("\t")]
