"""Tables without ruling lines, recognized by the positions of their texts.

Lines that follow each other form a table if white space from the first to the last of them separates their texts into
the same columns, and if a column holds figures. Many other texts have columns too and aren't tables: columns of prose,
markers before paragraphs, tables of contents, signatures, addresses. When in doubt, it isn't a table.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from statistics import median
from typing import TypeAlias

from .inks import Ink
from .lines import Run, TextLine, cut_run, join_lines
from .paragraphs import has_marker
from .tables import FIGURES_SHARE, MIN_FIGURES, GridRow, Table, has_figures, runs_on

MIN_ROWS = 3
"""The fewest lines of a table with texts in several columns."""

MIN_GUTTER = 1.0
"""The narrowest gap between two columns, in font sizes."""

MAX_PITCH = 3.5
"""The largest distance between two lines of a table, in font sizes."""

MAX_LETTERS = 25
"""Characters of a typical cell; a column with more is prose, of which a table has at most one."""

MAX_RUNS = 60
"""Runs of a line with table cells; a line with more is spaced-out text."""

_MIN_PITCH = 0.85
_SINGLE_SPACED = 1.6
_MIN_PAGE_NUMBERS = 0.8
_MAX_MARKER_CHARS = 8
_FIGURE_MARK = re.compile(r"[$€£¥%#]|\*{3}|\b(?:n/a|tbd|nil|none|yes|no)\b", re.IGNORECASE)
_PAGE_NUMBER = re.compile(r"(?:[A-Z]{1,2}-)?\d{1,4}|[ivxlc]{1,6}")
_FORM = re.compile(
    r"(?:by|name|title|its|date|dated|print(?:ed)? name|sign(?:ed|ature)|attest|witness(?:ed)?|address|attn|attention"
    r"|e-?mail|phone|tel(?:ephone)?|fax|facsimile|if to|to|with (?:a )?cop(?:y|ies).{0,4})\s*:|/s/|_{3}|-{6}",
    re.IGNORECASE,
)
_MAX_FORM_CELLS = 1
_SIGNS = "$€£¥"
_MAX_NAMES = 5
_MIN_MORE = 2

_Gap: TypeAlias = tuple[float, float]


@dataclass(slots=True)
class _Region:
    """Consecutive lines, and the white space that runs through all of them, including the margins."""

    lines: list[TextLine]
    white: list[_Gap]
    rows: list[list[TextLine | None]] = field(default_factory=list)

    @property
    def gutters(self) -> list[_Gap]:
        """The white space between the columns."""
        return _inner(self.white)

    def cut(self, ink: Ink) -> None:
        """Cut the lines into columns; remove lines below the table and empty columns."""
        self.rows = [_cut(ink, line, self.gutters) for line in self.lines]
        while self.rows and sum(map(bool, self.rows[-1])) < 2 and not self._ends_in_cell():  # noqa: PLR2004
            self.rows.pop()
            self.lines.pop()
        # A column may only have had text in the removed lines.
        used = [number for number in range(len(self.gutters) + 1) if self.column(number)]
        self.rows = [[row[number] for number in used] for row in self.rows]

    def is_stacked(self) -> bool:
        """Return whether no lines overlap, so that each text belongs to one row."""
        return all(below.base - above.base >= _MIN_PITCH * above.size for above, below in pairwise(self.lines))

    def _ends_in_cell(self) -> bool:
        """Return whether the last line continues cells of the row above."""
        if len(self.rows) < 2 or self.rows[-1][0] is not None:  # noqa: PLR2004
            return False
        above, below = self.lines[-2:]
        is_under = all(
            cell is None or over is not None for cell, over in zip(self.rows[-1], self.rows[-2], strict=True)
        )
        return is_under and below.base - above.base <= _SINGLE_SPACED * below.size

    def column(self, number: int) -> list[str]:
        """Return the texts of a column, line by line, without empty ones."""
        return [line.text for row in self.rows if (line := row[number]) is not None]


def find_aligned_tables(ink: Ink, runs: Sequence[Run]) -> tuple[list[Table], list[Run]]:
    """Find the tables without ruling lines; see `find_tables`."""
    tables: list[Table] = []
    taken: set[int] = set()
    runs = [part for run in runs for part in _without_sign(ink, run)]
    for region in _regions(join_lines(ink, runs)):
        region.cut(ink)
        if _is_table(region):
            tables.append(Table(list(map(GridRow, _rows(region)))))
            taken.update(id(run) for line in region.lines for run in line.runs)
    return tables, [run for run in runs if id(run) not in taken]


def _regions(lines: Sequence[TextLine]) -> list[_Region]:
    """Return the longest sequences of lines with common gutters."""
    regions: list[_Region] = []
    region: _Region | None = None
    for line in lines:
        before = region.lines[-1] if region is not None else line
        if region is not None and line.base - before.base <= MAX_PITCH * max(line.size, before.size):
            white = _remaining_white(region.white, line)
            count = len(_inner(white))
            own = len(_gaps(line))
            is_young = len(region.lines) < MIN_ROWS and own > 0
            # Names across several columns may precede the header, and titles may separate two tables.
            is_below_names = (
                len(region.lines) <= _MAX_NAMES
                and own - count >= _MIN_MORE
                and own > max(len(_gaps(each)) for each in region.lines)
            )
            is_title = (
                not is_young
                and len(line.runs) == 1
                and any(low < line.x0 and line.x1 < high for low, high in region.gutters)
            )
            if count and not is_below_names and not is_title and (is_young or count >= len(region.gutters)):
                region.lines.append(line)
                region.white = white
                continue
            if not is_young and not is_below_names and own > 1 and 2 * count >= len(region.gutters):
                region.lines.append(line)  # a text exceeds its column
                continue
        gaps = _gaps(line)
        region = _Region([line], [(-inf, line.x0), *gaps, (line.x1, inf)]) if gaps else None
        regions += [region] if region else []
    return [region for region in regions if len(region.lines) >= MIN_ROWS]


def _inner(white: list[_Gap]) -> list[_Gap]:
    return [(low, high) for low, high in white if -inf < low and high < inf]


def _gaps(line: TextLine) -> list[_Gap]:
    """Return the gaps that may be gutters, without the one after a marker."""
    if len(line.runs) > MAX_RUNS:
        return []
    gaps: list[_Gap] = []
    first, *others = _texts(line)
    right = first.x1
    for number, run in enumerate(others):
        is_marker = number == 0 and first.letters <= _MAX_MARKER_CHARS and _is_marker(line)
        if run.x0 - right >= MIN_GUTTER * line.size and not is_marker:
            gaps.append((right, run.x0))
        right = max(right, run.x1)
    return gaps


def _texts(line: TextLine) -> list[Run]:
    """Return the runs without currency signs, which may be far from their numbers."""
    return [run for run in line.runs[:-1] if not _is_sign(line.ink, run)] + line.runs[-1:]


def _is_sign(ink: Ink, run: Run) -> bool:
    return run.letters == 1 and ink.text[run.words[0][0]] in _SIGNS


def _without_sign(ink: Ink, run: Run) -> list[Run]:
    """Separate a currency sign at the end of a run, which belongs to the next column."""
    if len(run.words) > 1 and ink.text[run.words[-1][0]] in _SIGNS and run.words[-1][1] - run.words[-1][0] == 1:
        return [cut_run(ink, run, run.words[:-1]), cut_run(ink, run, run.words[-1:])]
    return [run]


def _is_marker(line: TextLine) -> bool:
    first = line.ink.text[line.runs[0].words[0][0] : line.runs[0].words[-1][1]]
    is_numbered = first[-1] == "." and any(map(str.isdigit, first))
    return is_numbered or not any(map(str.isalpha, first)) or has_marker(first + " ")


def _remaining_white(white: list[_Gap], line: TextLine) -> list[_Gap]:
    """Return the white space without the part that a line covers."""
    if len(line.runs) > MAX_RUNS:
        return []
    least = MIN_GUTTER * line.size
    for run in _texts(line):
        pieces = [part for low, high in white for part in ((low, min(high, run.x0)), (max(low, run.x1), high))]
        white = [(low, high) for low, high in pieces if high - low >= least]
    return white


def _cut(ink: Ink, line: TextLine, gutters: list[_Gap]) -> list[TextLine | None]:
    cells: list[list[Run]] = [[] for _ in range(len(gutters) + 1)]
    for run, after in zip(line.runs, [*line.runs[1:], line.runs[-1]], strict=True):
        at = after.x0 if _is_sign(ink, run) else run.x0
        cells[sum((low + high) / 2 < at for low, high in gutters)].append(run)
    return [TextLine(ink, cell) if cell else None for cell in cells]


def _is_table(region: _Region) -> bool:
    rows, count = region.rows, len(region.rows[0]) if region.rows else 0
    if sum(sum(map(bool, row)) > 1 for row in rows) < MIN_ROWS or not region.is_stacked():
        return False
    columns = [region.column(number) for number in range(count)]
    texts = [text for column in columns for text in column]
    if sum(bool(_FORM.match(text)) for text in texts) > _MAX_FORM_CELLS or _lists_pages(columns):
        return False
    long = [column for column in columns if median([len(text.replace(" ", "")) for text in column]) > MAX_LETTERS]
    lower = sum(runs_on(column) for column in columns)
    if len(long) > 1 or lower > 1:
        return False
    if count == 2 and (long or any(None in row for row in rows)):  # noqa: PLR2004
        return False
    return any(_holds_figures(column) for column in columns[1:])


def _lists_pages(columns: list[list[str]]) -> bool:
    """Return whether this is a table of contents: its last column holds increasing page numbers."""
    numbers = [text for text in columns[-1] if _PAGE_NUMBER.fullmatch(text)]
    if len(columns) > 3 or len(numbers) < _MIN_PAGE_NUMBERS * len(columns[-1]):  # noqa: PLR2004
        return False
    values = [int(text) for text in numbers if text.isdecimal()]
    return all(one <= other for one, other in pairwise(values))


def _holds_figures(column: list[str]) -> bool:
    body = column[1:] or column
    figures = [text for text in body if has_figures(text) or _FIGURE_MARK.search(text)]
    return len(figures) >= max(MIN_FIGURES, FIGURES_SHARE * len(body))


def _rows(region: _Region) -> list[list[list[TextLine]]]:
    """Return the rows; a line without text in the first column continues the row above."""
    rows: list[list[list[TextLine]]] = []
    for cells in region.rows:
        if cells[0] is None and rows:
            for cell, line in zip(rows[-1], cells, strict=True):
                cell += [line] if line else []
        else:
            rows.append([[line] if line else [] for line in cells])
    return rows
