"""The reading order of a page: which runs stand in one column, and which column is read first.

A gutter is white space from top to bottom between two columns of prose. Lines across it, such as a title, part the page
into bands; in each band the left column is read before the right one. Tables, signatures and numbers before their
paragraphs have gaps too, so both sides of a gutter must look like prose: several lines, most of them as wide as their
column.
"""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import groupby, pairwise

from langchain_sentence_window.loaders.pdf.lines import Run, median

MIN_COLUMN_LINES = 3
"""Lines that each of two columns must have."""

MIN_COLUMN_CHARS = 18
"""Characters of a typical line of a column, without spaces."""

_MAX_CANDIDATES = 8
_MAX_DEPTH = 4
_MIN_GUTTER = 0.7
_MIN_FILLED = 0.6
_MAX_PITCH = 2.2
_ALIGNED = 2.0
_MARGIN = 0.1
_SAME_BASE = 0.5
_ROW_GAP = 1.35
_MIN_SHARED = 0.8


def reading_order(runs: Sequence[Run]) -> list[list[Run]]:
    """Part the runs of a page into columns.

    Args:
        runs: In any order.

    Returns:
        The runs of each column or full-width band, in reading order; within one, the order is by height on the page.
    """
    return _order(sorted(runs, key=lambda run: (run.y0, run.x0)), _MAX_DEPTH)


def _order(runs: list[Run], depth: int) -> list[list[Run]]:
    if depth and len(runs) >= 2 * MIN_COLUMN_LINES:
        for x in _gutters(runs):
            columns = _part(runs, x, depth)
            if columns is not None:
                return columns
    return [runs] if runs else []


def _gutters(runs: list[Run]) -> list[float]:
    """Return where columns may begin: left sides that several runs share, most runs first."""
    left = min(run.x0 for run in runs)
    width = max(run.x1 for run in runs) - left
    counts: dict[int, int] = {}
    for run in runs:
        if _MARGIN * width < run.x0 - left < (1 - _MARGIN) * width:
            place = round(run.x0 / _ALIGNED)
            counts[place] = counts.get(place, 0) + 1
    places = sorted((place for place in counts if counts[place] >= MIN_COLUMN_LINES), key=lambda each: -counts[each])
    gutters = [_ALIGNED * (place - 0.5) for place in places[:_MAX_CANDIDATES]]
    return [x for x in gutters if sum(run.x1 <= x for run in runs) >= MIN_COLUMN_LINES]


def _part(runs: list[Run], x: float, depth: int) -> list[list[Run]] | None:
    """Part the page at a place where columns may begin; ``None`` if no band has a gutter there."""
    columns: list[list[Run]] = []
    across: list[Run] = []
    found = False
    for crosses, band in groupby(runs, key=lambda run: run.x0 < x < run.x1 - _ALIGNED):
        both = list(band)
        sides = None if crosses else _sides(both, x)
        if sides is None:
            across += both
            continue
        columns += _order(across, depth - 1)
        across = []
        found = True
        for side in sides:
            columns += _order(side, depth - 1)
    return columns + _order(across, depth - 1) if found else None


def _sides(runs: list[Run], x: float) -> tuple[list[Run], list[Run]] | None:
    """Return the left and the right column of a band; ``None`` if they aren't two columns of prose."""
    left, right = [run for run in runs if run.x0 < x], [run for run in runs if run.x0 >= x]
    if min(len(left), len(right)) < MIN_COLUMN_LINES:
        return None
    if min(run.x0 for run in right) - max(run.x1 for run in left) < _MIN_GUTTER * median([run.size for run in runs]):
        return None
    one, other = _Column(left), _Column(right)
    if not (one.is_prose and other.is_prose) or _share_rows(one, other):
        return None
    return left, right


class _Column:
    """The lines of a side, measured."""

    def __init__(self, runs: list[Run]) -> None:
        rows: list[list[Run]] = []
        for run in runs:
            if rows and abs(run.base - rows[-1][0].base) < _SAME_BASE * run.size:
                rows[-1].append(run)
            else:
                rows.append([run])
        self.bases = [row[0].base for row in rows]
        size = median([run.size for run in runs])
        width = max(run.x1 for run in runs) - min(run.x0 for run in runs)
        pitches = [below - above for above, below in pairwise(self.bases)]
        self.pitch = median(pitches)
        widths = [max(run.x1 for run in row) - min(run.x0 for run in row) for row in rows]
        letters = [float(sum(run.letters for run in row)) for row in rows]
        self.is_prose = (
            len(rows) >= MIN_COLUMN_LINES
            and median(letters) >= MIN_COLUMN_CHARS
            and median(widths) >= _MIN_FILLED * width
            and self.pitch <= _MAX_PITCH * size
        )

    def row_starts(self) -> list[float]:
        """Return the bases of the lines after a gap."""
        return [below for above, below in pairwise(self.bases) if below - above > _ROW_GAP * self.pitch]


def _share_rows(one: _Column, other: _Column) -> bool:
    """Return whether paragraphs of both sides begin at the same heights, as the cells of a table do."""
    starts, others = sorted((one.row_starts(), other.row_starts()), key=len)
    shared = 0
    for start in starts:  # both are sorted
        at = bisect_left(others, start - _ALIGNED)
        shared += at < len(others) and others[at] < start + _ALIGNED
    return len(starts) > 1 and shared >= _MIN_SHARED * len(starts)
