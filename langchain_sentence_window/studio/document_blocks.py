"""Documents as blocks to lay out, made of runs of their own text.

The runs of all blocks, joined, are the text: each character once and in order. A character that only marks up others,
such as ``#``, is in a run of the style `MARK`, which the page keeps and doesn't show.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from langchain_sentence_window.studio.inline_marks import MARK

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
