"""Documents as blocks to lay out, made of runs of their own text.

The runs of all blocks, joined, are the text: each character once and in order. A character that only marks up others,
such as ``#``, is in a run of the style `MARK`, which the page keeps and doesn't show. A text without marks is cut by
what the index says of its sentences.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from langchain_sentence_window.splitting import blocks as splitting

MARK = "m"
"""A character that says how others look, and isn't shown."""


PARAGRAPH = "paragraph"
HEADING = "heading"
ITEM = "item"
TABLE = "table"
CODE = "code"
RULE = "rule"
GAP = "gap"
"""Text that may not be shown stands here."""

NUMBER = "k"
"""The style of the number of a list item, which is shown."""


Run: TypeAlias = tuple[int, int, str]
"""A stretch of a text that looks alike: its first code point, one past its last, and its style: letters, see
`inline_marks`; empty for plain text. A plain tuple, as a document has very many."""


def tiled(start: int, end: int, shown: Iterable[Run]) -> list[Run]:
    """Return runs that tile a stretch: those that are shown, in order and disjoint, and marks between them."""
    found: list[Run] = []
    at = start
    for run in shown:
        if at < run[0]:
            found.append((at, run[0], MARK))
        found.append(run)
        at = run[1]
    if at < end:
        found.append((at, end, MARK))
    return found


@dataclass(slots=True)
class Row:
    """A row of a table.

    Attributes:
        cells: The runs of each cell.
        is_header: Whether it names the columns.
    """

    cells: list[list[Run]]
    is_header: bool = False


@dataclass(slots=True)
class Block:
    """A paragraph, a heading, a list item, a table, code, or a rule.

    Attributes:
        kind: Which of these.
        runs: Its text, unless it is a table.
        rows: The rows of a table.
        level: Of a heading, from 1 to 6; else how many lists the block is in.
        quotes: How many quotes it is in.
        is_numbered: Whether a list item has a number, else a bullet.
    """

    kind: str
    runs: list[Run] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    level: int = 0
    quotes: int = 0
    is_numbered: bool = False

    def all_runs(self) -> Iterator[Run]:
        """Yield the runs, those of cells too, in the order of the text."""
        yield from self.runs
        for row in self.rows:
            for cell in row.cells:
                yield from cell

    def to_dict(self, text: str, offset: int, sentences: "Sentences") -> dict[str, Any]:
        """Return what the page lays out.

        Args:
            text: The text that the runs are of.
            offset: Where it begins in the document.
            sentences: Its sentences. Ask the blocks of a text in order.

        Returns:
            ``kind``, ``start``, and ``runs`` or ``rows``; and what differs from the default. Runs are three lists:
            texts, the indexes of their sentences, styles. They are cut where sentences begin and end.
        """
        first = next(self.all_runs(), None)
        made: dict[str, Any] = {"kind": self.kind, "start": offset + (first[0] if first else 0)}
        if self.rows:
            made["rows"] = [
                {"header": row.is_header, "cells": [sentences.cut(text, cell) for cell in row.cells]}
                for row in self.rows
            ]
        else:
            made["runs"] = sentences.cut(text, self.runs)
        optional = {"level": self.level, "quotes": self.quotes, "numbered": self.is_numbered}
        return made | {name: value for name, value in optional.items() if value}


class Sentences:
    """The sentences of a text, for runs that are asked for from left to right."""

    def __init__(self, spans: Sequence[tuple[int, int, int]]) -> None:
        """Take ``(start, end, index)`` of each sentence, in order and disjoint."""
        self._spans = spans
        self._at = 0

    def cut(self, text: str, runs: Iterable[Run]) -> tuple[list[str], list[int], list[str]]:
        """Cut runs where sentences begin and end.

        Returns:
            For each piece its text, the index of its sentence, which is -1 between sentences, and its style.
        """
        texts, indexes, styles = list[str](), list[int](), list[str]()
        spans, at = self._spans, self._at
        for start, end, style in runs:
            while start < end:
                while at < len(spans) and spans[at][1] <= start:
                    at += 1
                stop, index = end, -1
                if at < len(spans):
                    low, high, number = spans[at]
                    stop, index = (min(end, low), -1) if start < low else (min(end, high), number)
                texts.append(text[start:stop])
                indexes.append(index)
                styles.append(style)
                start = stop
        self._at = at
        return texts, indexes, styles


_CODE = frozenset({splitting.CODE, splitting.HTML, splitting.FRONT_MATTER})
_OF_A_LINE = frozenset(
    {splitting.HEADING, splitting.LIST_ITEM, splitting.TABLE_ROW, splitting.MESSAGE, splitting.CONTENTS}
)
_KINDS = {splitting.HEADING: HEADING, splitting.LIST_ITEM: ITEM, splitting.TABLE_ROW: TABLE}


@dataclass(frozen=True, slots=True)
class PlainSentence:
    """The facts known of a sentence.

    Attributes:
        start: Its first code point in the text.
        end: One past its last code point.
        kind: The kind of its block in the splitter; empty if it isn't known.
        level: The level of a heading; 0 if it isn't known.
        is_header: Whether it is the row of a table that names the columns.
    """

    start: int
    end: int
    kind: str = ""
    level: int = 0
    is_header: bool = False


def plain_blocks(text: str, sentences: Sequence[PlainSentence]) -> list[Block]:
    """Cut a text into blocks.

    Args:
        text: Any string.
        sentences: Its sentences, in order and disjoint. White space between them is kept with the one before.

    Returns:
        Blocks whose runs tile the text; none for an empty text.
    """
    if not text:
        return []
    found: list[Block] = []
    for first, start, end in _stretches(text, sentences):
        kind = CODE if first.kind in _CODE else _KINDS.get(first.kind, PARAGRAPH)
        if kind == TABLE:
            if not found or found[-1].kind != TABLE or first.is_header:
                found.append(Block(TABLE))
            found[-1].rows.append(Row(_cells(text, start, end), first.is_header))
        else:
            level = (first.level or 1) if kind == HEADING else int(kind == ITEM)
            found.append(Block(kind, _trimmed(text, start, end), level=level))
    return found


def _stretches(text: str, sentences: Sequence[PlainSentence]) -> Iterator[tuple[PlainSentence, int, int]]:
    """Yield the first sentence of each block or row, and the span of the text that belongs to it."""
    first = PlainSentence(0, 0) if not sentences else sentences[0]
    start, last = 0, first
    for each in sentences[1:]:
        if _begins(text[last.end : each.start], last, each):
            yield first, start, each.start
            first, start = each, each.start
        last = each
    yield first, start, len(text)


def _begins(space: str, last: PlainSentence, sentence: PlainSentence) -> bool:
    lines = space.count("\n") or space.count("\r")
    if last.kind != sentence.kind:
        return lines > 0 or bool({last.kind, sentence.kind} & (_OF_A_LINE | _CODE))
    return lines > (0 if sentence.kind in _OF_A_LINE else 1)


def _cells(text: str, start: int, end: int) -> list[list[Run]]:
    """Return a cell for each tab; the tab belongs to the cell before it."""
    cells: list[list[Run]] = []
    while start < end:
        tab = text.find("\t", start, end)
        stop = end if tab < 0 or tab + 1 >= end or text[tab:end].isspace() else tab + 1
        cells.append(_trimmed(text, start, stop))
        start = stop
    return cells


def _trimmed(text: str, start: int, end: int) -> list[Run]:
    """Return a stretch whose white space at the end isn't shown."""
    close = start + len(text[start:end].rstrip())
    return tiled(start, end, [(start, close, "")] if start < close else [])
