"""The places of gutters, the white space between two columns: on one page, and on the pages of a file."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from math import ceil, floor

from langchain_sentence_window.loaders.pdf.lines import Run, median

_REACH = 2.5
_MAX_REACH = 100.0
_ALIGNED = 2.0
_AGREE = 3.0
_MIN_PAGES = 2
_MAX_KNOWN = 4


@dataclass(frozen=True, slots=True)
class Gutter:
    """The place of two columns on a page, in points.

    Attributes:
        left: Where most lines of the left column begin.
        right: Where most lines of the right column begin.
    """

    left: float
    right: float


def common_gutters(pages: Sequence[Gutter | None]) -> list[Gutter]:
    """Return the gutters that several pages of a file have, the most frequent one first; the first is enough of few.

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
    """Return where most of the runs begin."""
    places = Counter(round(run.x0) for run in runs)
    most = max(places, key=lambda place: (places[place] + places[place - 1] + places[place + 1], places[place], -place))
    return median([run.x0 for run in runs if abs(run.x0 - most) <= _ALIGNED])


def middle(runs: list[Run], right: float) -> float:
    """Return the middle of the white space before the left side of a column.

    Quotation marks may hang out of the column to the right of it, and long lines out of the one to the left.
    """
    first = floor(right - min(_MAX_REACH, _REACH * median([run.size for run in runs])))
    count = ceil(right) - first + 1
    changes = [0] * (count + 1)
    for run in runs:
        start, end = max(0, ceil(run.x0) - first), min(count, floor(run.x1) - first + 1)
        if start < end:
            changes[start] += 1
            changes[end] -= 1
    crossed = list(accumulate(changes[:count]))
    least = min(crossed)
    stretches = [list(places) for few, places in groupby(range(count), lambda at: crossed[at] == least) if few]
    widest = max(stretches, key=lambda places: (len(places), places[0]))
    return first + (widest[0] + widest[-1]) / 2
