"""The tables of a page: rows of cells, from ruling lines and from columns of short texts.

The runs of a table are taken out of the page before its columns and paragraphs are looked for. A cell may have several
lines. A row with a whole paragraph in a cell isn't read across but cell by cell, so it is told apart.

Lines that follow each other make a table if white space from the first to the last of them parts their texts into the
same columns, and if a column holds figures. Much else has columns too and is read otherwise: columns of prose, markers
before paragraphs, tables of contents, signatures, addresses. When in doubt it isn't a table.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from statistics import median
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .characters import PageCharacters
from .grids import Grid, find_grids
from .lines import Ink, Run, TextLine, cut_run, join_lines
from .paragraphs import BULLETS, has_marker
from .pdfium import Boxes

MAX_CELL_CHARS = 400
"""Characters without spaces; a longer cell is prose."""

_SAME_PIECE = 0.6
_OUTSIDE = -1


@dataclass(frozen=True, slots=True, eq=False)
class GridRow:
    """A row of a table.

    Attributes:
        cells: The lines of each cell, from left to right; none for an empty cell.
    """

    cells: list[list[TextLine]]

    @property
    def is_prose(self) -> bool:
        """Whether a cell is so long that each should be read as paragraphs of its own."""
        return any(sum(run.letters for line in cell for run in line.runs) > MAX_CELL_CHARS for cell in self.cells)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table of a page.

    Attributes:
        rows: From top to bottom, none without text.
    """

    rows: list[GridRow]

    @property
    def box(self) -> tuple[float, float, float, float]:
        """The box around its text: left, top, right, bottom."""
        lines = [line for row in self.rows for cell in row.cells for line in cell]
        x0, y0, x1, y1 = zip(*((line.x0, line.y0, line.x1, line.y1) for line in lines), strict=True)
        return min(x0), min(y0), max(x1), max(y1)


def find_tables(page: PageCharacters, ink: Ink, runs: Sequence[Run], rules: Boxes) -> tuple[list[Table], list[Run]]:
    """Find the tables of a page.

    Args:
        page: The characters of the page.
        ink: Those that can be seen.
        runs: All runs of the ink.
        rules: The ruling lines, turned as the ink is.

    Returns:
        The tables, from top to bottom, and the runs that are in none, in the order given.
    """
    tables, left = find_ruled_tables(page, ink, runs, rules)
    aligned, left = find_aligned_tables(ink, left)
    return sorted([*tables, *aligned], key=lambda table: table.box[1]), left


def find_ruled_tables(
    page: PageCharacters, ink: Ink, runs: Sequence[Run], rules: Boxes
) -> tuple[list[Table], list[Run]]:
    """Find the tables that ruling lines show; see `find_tables`."""
    tables: list[Table] = []
    left = list(runs)
    for grid in find_grids(rules) if left else ():
        found = _ruled_table(page, ink, left, grid)
        if found is not None:
            tables.append(found[0])
            left = found[1]
    return tables, left


def _ruled_table(page: PageCharacters, ink: Ink, runs: Sequence[Run], grid: Grid) -> tuple[Table, list[Run]] | None:
    """Return the table of a grid, and the runs outside; ``None`` if no row of the grid has two texts."""
    if grid.cells.shape[1] == 1:
        return None
    in_grid = [run for run in runs if _meets(run, grid)]
    inside: dict[int, list[Run]] = {}
    for run, cells in zip(in_grid, _cells_of(page, ink, in_grid, grid), strict=True):
        for cell, part in _parted(ink, run, cells):
            inside.setdefault(cell, []).append(part)
    rest = inside.pop(_OUTSIDE, [])
    places = grid.places().tolist()
    rows: dict[int, list[list[TextLine]]] = {}
    for cell, (row, _) in enumerate(places):
        rows.setdefault(row, []).append(join_lines(ink, inside.get(cell, [])))
    if max(sum(map(bool, cells)) for cells in rows.values()) < 2:  # noqa: PLR2004
        return None
    taken = set(map(id, in_grid))
    left = [run for run in runs if id(run) not in taken] + rest
    parted = [each for _, cells in sorted(rows.items()) if any(cells) for each in _rows_between_rules(cells, grid)]
    return Table([GridRow(cells) for cells in parted]), left


_SAME_LEVEL = 0.3
_MIN_LEVELS = 4
_MIN_FULL = 0.8


def _rows_between_rules(cells: list[list[TextLine]], grid: Grid) -> list[list[list[TextLine]]]:
    """Return the rows that stand between two rules: those of the cells' lines if they list something side by side.

    Some tables have a rule every few rows. Cells whose texts only wrap are one row.
    """
    lists = [cell for cell in cells if len(cell) > 1]
    levels = _levels(line for cell in lists for line in cell)
    places = {id(line): _nearest(levels, line) for cell in cells for line in cell} if lists else {}
    shared = Counter(at for cell in lists for at in {places[id(line)] for line in cell})
    if sum(count > 1 for count in shared.values()) < max(2, _MIN_FULL * len(levels)):
        return [cells]
    if any(_runs_on([line.text for line in cell]) or cell[-1].text[0] in BULLETS for cell in lists):
        return [cells]
    is_sure = any(len(cell) == len(levels) and _lists_figures(cell) for cell in lists)
    if not is_sure and (len(levels) < _MIN_LEVELS or any(_wraps(cell, grid) for cell in lists)):
        return [cells]
    rows: list[list[list[TextLine]]] = [[[] for _ in cells] for _ in levels]
    for number, cell in enumerate(cells):
        for line in cell:
            is_for_all = number == 0 and len(cell) == 1
            rows[0 if is_for_all else places[id(line)]][number].append(line)
    return rows


def _levels(lines: Iterable[TextLine]) -> list[float]:
    """Return the bases of lines, each once."""
    levels: list[float] = []
    for line in sorted(lines, key=lambda line: line.base):
        if not levels or line.base - levels[-1] > _SAME_LEVEL * line.size:
            levels.append(line.base)
    return levels


def _nearest(levels: list[float], line: TextLine) -> int:
    at = bisect_left(levels, line.base)
    return min(
        (each for each in (at - 1, at) if 0 <= each < len(levels)), key=lambda each: abs(levels[each] - line.base)
    )


def _lists_figures(cell: list[TextLine]) -> bool:
    return sum(_has_figures(line.text) for line in cell) >= max(_MIN_FIGURES, _FIGURES_SHARE * len(cell))


def _wraps(cell: list[TextLine], grid: Grid) -> bool:
    """Return whether the lines of a cell may be those of one text: a line is as long as the cell is wide."""
    at = int(np.searchsorted(grid.xs, max(line.x0 for line in cell), side="right"))
    right = float(grid.xs[min(at, len(grid.xs) - 1)])
    return any(above.x1 + below.first_width + above.size > right for above, below in pairwise(cell))


def _meets(run: Run, grid: Grid) -> bool:
    x0, x1, y0, y1 = grid.xs[0], grid.xs[-1], grid.ys[0], grid.ys[-1]
    return bool(run.x0 < x1 and run.x1 > x0 and y0 <= (run.y0 + run.y1) / 2 <= y1)


def _cells_of(page: PageCharacters, ink: Ink, runs: Sequence[Run], grid: Grid) -> Iterable[npt.NDArray[np.intp]]:
    """Yield for each run the cell of each of its characters.

    What was drawn at once stays together, as a text may run over the line beside it.
    """
    for run in runs:
        start, end = run.words[0][0], run.words[-1][1]
        boxes = ink.boxes[start:end]
        cells = grid.cell_at((boxes[:, :2] + boxes[:, 2:]).astype(np.float64) / 2)
        if (cells != cells[0]).any():
            origins = page.origins[ink.index[start:end]]
            gaps = boxes[1:, 0] - boxes[:-1, 2] > _SAME_PIECE * ink.sizes[start + 1 : end]
            cuts = np.flatnonzero(gaps | (origins[1:] != origins[:-1]).any(axis=1)) + 1
            for piece in np.split(np.arange(end - start), cuts):
                cells[piece] = Counter(cells[piece].tolist()).most_common(1)[0][0]
        yield cells


def _parted(ink: Ink, run: Run, cells: npt.NDArray[np.intp]) -> list[tuple[int, Run]]:
    """Part a run by the cells of its characters."""
    if (cells == cells[0]).all():
        return [(int(cells[0]), run)]
    start = run.words[0][0]
    edges = [*(start + np.flatnonzero(np.diff(cells)) + 1).tolist(), run.words[-1][1]]
    parts: list[tuple[int, Run]] = []
    for edge in edges:
        words = [(max(low, start), min(high, edge)) for low, high in run.words if low < edge and high > start]
        parts.append((int(cells[start - run.words[0][0]]), cut_run(ink, run, words)))
        start = edge
    return parts


MIN_ROWS = 3
"""Lines with a text in two columns or more that a table must have."""

MIN_GUTTER = 1.0
"""The narrowest gutter between two columns, in font sizes."""

MAX_PITCH = 3.5
"""The largest distance of two lines of a table, in font sizes."""

MAX_LETTERS = 25
"""Characters of a typical cell; a column with more is prose, and a table has one such column at most."""

MAX_RUNS = 60
"""Runs of a line of a table."""

_MIN_PITCH = 0.85
_SINGLE_SPACED = 1.6
_FIGURES_SHARE = 0.5
_MIN_FIGURES = 2
_MIN_PAGE_NUMBERS = 0.8
_MAX_LOWER = 0.4
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
    """Lines that follow each other, and the white space that runs through all of them, also beside them."""

    lines: list[TextLine]
    white: list[_Gap]
    rows: list[list[TextLine | None]] = field(default_factory=list)

    @property
    def gutters(self) -> list[_Gap]:
        """The white space between texts."""
        return _inner(self.white)

    def cut(self, ink: Ink) -> None:
        """Cut the lines into columns, without lines below the table and columns without text."""
        self.rows = [_cut(ink, line, self.gutters) for line in self.lines]
        while self.rows and sum(map(bool, self.rows[-1])) < 2 and not self._ends_in_cell():  # noqa: PLR2004
            self.rows.pop()
            self.lines.pop()
        # What is left may have no text in a column of the lines that were left out.
        used = [number for number in range(len(self.gutters) + 1) if self.column(number)]
        self.rows = [[row[number] for number in used] for row in self.rows]

    def is_stacked(self) -> bool:
        """Return whether each line stands below the one before it, so that it is clear to which row it belongs."""
        return all(below.base - above.base >= _MIN_PITCH * above.size for above, below in pairwise(self.lines))

    def _ends_in_cell(self) -> bool:
        """Return whether the last line goes on with a cell of the row above."""
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
    """Find the tables that only the places of their texts show; see `find_tables`."""
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
    """Return the longest stretches of lines in which no gutter ends."""
    regions: list[_Region] = []
    region: _Region | None = None
    for line in lines:
        before = region.lines[-1] if region is not None else line
        if region is not None and line.base - before.base <= MAX_PITCH * max(line.size, before.size):
            white = _left_free(region.white, line)
            count = len(_inner(white))
            own = len(_gaps(line))
            is_young = len(region.lines) < MIN_ROWS and own > 0
            # Names across several columns may stand above the header, and titles between two tables.
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
                region.lines.append(line)  # a text is too long for its column
                continue
        gaps = _gaps(line)
        region = _Region([line], [(-inf, line.x0), *gaps, (line.x1, inf)]) if gaps else None
        regions += [region] if region else []
    return [region for region in regions if len(region.lines) >= MIN_ROWS]


def _inner(white: list[_Gap]) -> list[_Gap]:
    return [(low, high) for low, high in white if -inf < low and high < inf]


def _gaps(line: TextLine) -> list[_Gap]:
    """Return the gaps that may be gutters; the one after a marker isn't."""
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
    """Return the runs without signs of currencies, which may stand far from their numbers."""
    return [run for run in line.runs[:-1] if not _is_sign(line.ink, run)] + line.runs[-1:]


def _is_sign(ink: Ink, run: Run) -> bool:
    return run.letters == 1 and ink.text[run.words[0][0]] in _SIGNS


def _without_sign(ink: Ink, run: Run) -> list[Run]:
    """Part a run from a sign at its end, which is that of the next column."""
    if len(run.words) > 1 and ink.text[run.words[-1][0]] in _SIGNS and run.words[-1][1] - run.words[-1][0] == 1:
        return [cut_run(ink, run, run.words[:-1]), cut_run(ink, run, run.words[-1:])]
    return [run]


def _is_marker(line: TextLine) -> bool:
    first = line.ink.text[line.runs[0].words[0][0] : line.runs[0].words[-1][1]]
    is_numbered = first[-1] == "." and any(map(str.isdigit, first))
    return is_numbered or not any(map(str.isalpha, first)) or has_marker(first + " ")


def _left_free(white: list[_Gap], line: TextLine) -> list[_Gap]:
    """Return what a line leaves of white space."""
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
    lower = sum(_runs_on(column) for column in columns)
    if len(long) > 1 or lower > 1:
        return False
    if count == 2 and (long or any(None in row for row in rows)):  # noqa: PLR2004
        return False
    return any(_holds_figures(column) for column in columns[1:])


def _runs_on(column: list[str]) -> bool:
    """Return whether the lines of a column go on from one to the next, as prose does."""
    return sum(text[0].islower() for text in column) > _MAX_LOWER * len(column)


def _lists_pages(columns: list[list[str]]) -> bool:
    """Return whether this is a table of contents: its last column holds page numbers that rise."""
    numbers = [text for text in columns[-1] if _PAGE_NUMBER.fullmatch(text)]
    if len(columns) > 3 or len(numbers) < _MIN_PAGE_NUMBERS * len(columns[-1]):  # noqa: PLR2004
        return False
    values = [int(text) for text in numbers if text.isdecimal()]
    return all(one <= other for one, other in pairwise(values))


def _holds_figures(column: list[str]) -> bool:
    body = column[1:] or column
    figures = [text for text in body if _has_figures(text) or _FIGURE_MARK.search(text)]
    return len(figures) >= max(_MIN_FIGURES, _FIGURES_SHARE * len(body))


def _has_figures(text: str) -> bool:
    figures = sum(map(str.isnumeric, text))
    return figures > 0 and figures >= sum(map(str.isalpha, text))


def _rows(region: _Region) -> list[list[list[TextLine]]]:
    """Return the rows; a line without a text in the first column goes on with the row above."""
    rows: list[list[list[TextLine]]] = []
    for cells in region.rows:
        if cells[0] is None and rows:
            for cell, line in zip(rows[-1], cells, strict=True):
                cell += [line] if line else []
        else:
            rows.append([[line] if line else [] for line in cells])
    return rows
