"""The reading order of a page: which runs form a column, and which column is read first.

A gutter is vertical white space between two columns of prose. Lines across it, such as a title, divide the page into
bands; in each band the left column is read before the right one. Tables, signatures and numbered paragraphs have gaps
too, so both sides of a gutter must look like prose: several lines, most of them as wide as their column. If pages of a
file have such columns, other texts are divided there too: contents, code, lists.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from math import ceil, floor
from typing import TypeAlias

from .lines import Run, median

_REACH = 2.5
_MAX_REACH = 100.0
_SAME_LEFT = 2.0
_AGREE = 3.0
_MIN_PAGES = 2
_MAX_KNOWN = 4


@dataclass(frozen=True, slots=True)
class Gutter:
    """The positions of two columns on a page, in points.

    Attributes:
        left: Where most lines of the left column begin.
        right: Where most lines of the right column begin.
    """

    left: float
    right: float


def common_gutters(pages: Sequence[Gutter | None]) -> list[Gutter]:
    """Return the gutters that several pages share, the most frequent first; in a file of two pages, one page is enough.

    Args:
        pages: The gutter of each page.
    """
    found: list[tuple[Gutter, int]] = []
    for gutter in filter(None, pages):
        at = next((i for i, (each, _) in enumerate(found) if abs(each.right - gutter.right) < _AGREE), None)
        if at is None:
            found.append((gutter, 1))
        else:
            each, count = found[at]
            found[at] = Gutter(min(each.left, gutter.left), each.right), count + 1
    least = min(_MIN_PAGES, len(pages) - 1)
    return [gutter for gutter, count in sorted(found, key=lambda each: -each[1]) if count >= least][:_MAX_KNOWN]


def usual_left(runs: list[Run]) -> float:
    """Return the left side that most runs share."""
    places = Counter(round(run.x0) for run in runs)
    most = max(places, key=lambda place: (places[place] + places[place - 1] + places[place + 1], places[place], -place))
    return median([run.x0 for run in runs if abs(run.x0 - most) <= _SAME_LEFT])


def middle(runs: list[Run], right: float) -> float:
    """Return the middle of the white space before the left side of a column.

    Hanging quotation marks of the right column, and long lines of the left one, may reach into it.
    """
    first = floor(right - min(_MAX_REACH, _REACH * median([run.size for run in runs])))
    count = ceil(right) - first + 1
    changes = [0] * (count + 1)
    for run in [run for run in runs if run.x1 >= first and run.x0 <= first + count]:
        start, end = max(0, ceil(run.x0) - first), min(count, floor(run.x1) - first + 1)
        if start < end:
            changes[start] += 1
            changes[end] -= 1
    crossed = list(accumulate(changes[:count]))
    least = min(crossed)
    stretches = [list(places) for few, places in groupby(range(count), lambda at: crossed[at] == least) if few]
    widest = max(stretches, key=lambda places: (len(places), places[0]))
    return first + (widest[0] + widest[-1]) / 2


MIN_COLUMN_LINES = 3
"""Lines that each of two columns must have."""

MIN_COLUMN_CHARS = 18
"""Letters of a typical line of a column."""

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
_HANG = 4.0
_MIN_BEGIN = 0.25
_MAX_LEVEL = 0.4
_MIN_LONG = 10
_MIN_SHARE = 0.5
_MOST_INDENT = 0.25
_MOST_OVER = 0.35


def reading_order(runs: Sequence[Run], known: Iterable[Gutter] = ()) -> list[list[Run]]:
    """Divide the runs of a page into columns.

    Args:
        runs: In any order.
        known: The gutters of other pages of the file. There, lists, code and single lines are divided too.

    Returns:
        The runs of each column or full-width band, in reading order; within one, the order is by height on the page.
    """
    ordered = _sorted(runs)
    own = find_gutter(ordered)
    gutters = [*([own] if own else []), *known]
    places = [middle(ordered, gutter.right) for gutter in gutters] if ordered else []
    letters = [_letters_in_columns(_bands(ordered, x, gutter)) for x, gutter in zip(places, gutters, strict=False)]
    if any(letters):
        best = letters.index(max(letters))
        columns = _divide(ordered, places[best], _MAX_DEPTH, gutters[best])
        if columns is not None:
            return columns
    return _order(ordered, _MAX_DEPTH)


def find_gutter(runs: Sequence[Run]) -> Gutter | None:
    """Find two columns of prose on a page; ``None`` unless they hold most of its text.

    Args:
        runs: The runs of the page, in any order.
    """
    runs = _sorted(runs)
    if len(runs) < 2 * MIN_COLUMN_LINES:
        return None
    best, most = None, _MIN_SHARE * sum(run.letters for run in runs)
    for x in _gutters(runs):
        bands = list(_bands(runs, x))
        letters = _letters_in_columns(bands)
        if letters > most:
            longest = max((sides for _, sides in bands if sides), key=lambda sides: min(map(len, sides)))
            best, most = Gutter(*(usual_left(side) for side in longest)), letters
    return best


_Sides: TypeAlias = tuple[list[Run], list[Run]]
_Band: TypeAlias = tuple[list[Run], _Sides | None]


def _sorted(runs: Iterable[Run]) -> list[Run]:
    return sorted(runs, key=lambda run: (run.y0, run.x0))


def _order(runs: list[Run], depth: int) -> list[list[Run]]:
    if depth and len(runs) >= 2 * MIN_COLUMN_LINES:
        for x in _gutters(runs):
            columns = _divide(runs, x, depth)
            if columns is not None:
                return columns
    return [runs] if runs else []


def _gutters(runs: list[Run]) -> list[float]:
    """Return candidates for gutters: before left sides that several runs share, the most frequent first."""
    left = min(run.x0 for run in runs)
    width = max(run.x1 for run in runs) - left
    inner = [run.x0 for run in runs if _MARGIN * width < run.x0 - left < (1 - _MARGIN) * width]
    counts = Counter(round(x0 / _ALIGNED) for x0 in inner)
    places = [place for place, count in counts.most_common() if count >= MIN_COLUMN_LINES]
    lefts = [_ALIGNED * (place - 0.5) for place in places[:_MAX_CANDIDATES]]
    gutters = [middle(runs, x) for x in lefts if sum(run.x1 <= x for run in runs) >= MIN_COLUMN_LINES]
    return list(dict.fromkeys(gutters))


def _bands(runs: list[Run], x: float, known: Gutter | None = None) -> Iterator[_Band]:
    """Yield the bands between lines across a gutter with their columns, and these lines with ``None``."""
    for crosses, band in groupby(runs, key=_crosses(runs, x, known)):
        both = list(band)
        sides = None if crosses else _sides(both, x)
        if known and not crosses and sides is None:
            sides = _known_sides(both, x, known)
        yield both, sides


def _letters_in_columns(bands: Iterable[_Band]) -> int:
    """Return the number of characters in columns."""
    return sum(run.letters for both, sides in bands if sides is not None for run in both)


def _crosses(runs: list[Run], x: float, known: Gutter | None) -> Callable[[Run], bool]:
    """Return a function that says whether a run divides a page into bands.

    Such a run crosses the gutter. A long line of the left column doesn't count, even if it reaches into the right
    column, which has lines at the same height.
    """
    if known is None:
        return lambda run: run.x0 < x < run.x1
    indent, end = (known.left + _MOST_INDENT * (x - known.left), known.right + _MOST_OVER * (x - known.left))
    crossing = [run for run in runs if run.x0 < x < run.x1]
    long = [run for run in crossing if known.left - _HANG < run.x0 < indent and run.x1 < end]
    bases = sorted(run.base for run in runs if run.x0 >= x)
    crossing_ids = {id(run) for run in crossing} - {id(run) for run in long if _has_between(bases, run.y0, run.y1)}
    return lambda run: id(run) in crossing_ids


def _has_between(values: list[float], low: float, high: float) -> bool:
    at = bisect_left(values, low)
    return at < len(values) and values[at] <= high + _ALIGNED


def _divide(runs: list[Run], x: float, depth: int, known: Gutter | None = None) -> list[list[Run]] | None:
    """Divide the page at a possible gutter; ``None`` if no band has columns there."""
    columns: list[list[Run]] = []
    across: list[Run] = []
    found = False
    for both, sides in _bands(runs, x, known):
        if sides is None:
            across += both
            continue
        columns += _order(across, depth - 1)
        across = []
        found = True
        for side in sides:
            columns += _order(side, depth - 1)
    return columns + _order(across, depth - 1) if found else None


def _sides(runs: list[Run], x: float) -> _Sides | None:
    """Return the left and the right column of a band; ``None`` if they aren't two columns of prose."""
    left, right = [run for run in runs if run.x0 < x], [run for run in runs if run.x0 >= x]
    if min(len(left), len(right)) < MIN_COLUMN_LINES:
        return None
    if min(run.x0 for run in right) - max(run.x1 for run in left) < _MIN_GUTTER * median([run.size for run in runs]):
        return None
    one, other = _Column(left), _Column(right)
    if one.is_prose and other.is_prose:
        return None if _share_rows(one, other) else (left, right)
    is_long = min(len(one.bases), len(other.bases)) >= _MIN_LONG and (one.is_prose or other.is_prose)
    return (left, right) if is_long and _level(one.bases, other.bases) < _MAX_LEVEL else None


def _known_sides(runs: list[Run], x: float, known: Gutter) -> _Sides | None:
    """Return the columns of a band at a known gutter; ``None`` if its lines begin elsewhere, as cells of a table do."""
    left, right = [run for run in runs if run.x0 < x], [run for run in runs if run.x0 >= x]
    if not left or not right:
        return None
    rows, others = _rows(left), _rows(right)
    aligned = sum(abs(row[0].x0 - known.right) < _HANG for row in others)
    if min(run.x0 for run in left) >= known.left - _HANG and aligned >= _MIN_BEGIN * len(others):
        return left, right
    level = _level([row[0].base for row in rows], [row[0].base for row in others])
    return (left, right) if level < _MAX_LEVEL else None


def _rows(runs: list[Run]) -> list[list[Run]]:
    """Return the lines of a column, each from left to right."""
    rows: list[list[Run]] = []
    for run in runs:
        if rows and abs(run.base - rows[-1][0].base) < _SAME_BASE * run.size:
            rows[-1].append(run)
        else:
            rows.append([run])
    return [sorted(row, key=lambda run: run.x0) for row in rows]


class _Column:
    """Measures of the lines on one side of a gutter."""

    def __init__(self, runs: list[Run]) -> None:
        rows = _rows(runs)
        self.bases = [row[0].base for row in rows]
        size = median([run.size for run in runs])
        width = max(run.x1 for run in runs) - min(run.x0 for run in runs)
        pitches = [below - above for above, below in pairwise(self.bases)]
        self.pitch = median(pitches)
        widths = [max(run.x1 for run in row) - min(run.x0 for run in row) for row in rows]
        letters = [float(sum(run.letters - run.figures for run in row)) for row in rows]
        self.is_prose = (
            len(rows) >= MIN_COLUMN_LINES
            and median(letters) >= MIN_COLUMN_CHARS
            and median(widths) >= _MIN_FILLED * width
            and self.pitch <= _MAX_PITCH * size
        )

    def row_starts(self) -> list[float]:
        """Return the baselines of lines after a gap."""
        return [below for above, below in pairwise(self.bases) if below - above > _ROW_GAP * self.pitch]


def _share_rows(one: _Column, other: _Column) -> bool:
    """Return whether the paragraphs of both sides begin at the same heights, as cells of a table do."""
    starts, others = one.row_starts(), other.row_starts()
    return min(len(starts), len(others)) > 1 and _level(starts, others) >= _MIN_SHARED


def _level(bases: list[float], others: list[float]) -> float:
    """Return the share of lines, on the side with fewer, that are at the height of a line on the other side."""
    bases, others = sorted((bases, others), key=len)
    others = sorted(others)
    shared = 0
    for base in bases:
        at = bisect_left(others, base - _ALIGNED)
        shared += at < len(others) and others[at] < base + _ALIGNED
    return shared / len(bases)
