"""Where the rows of an index are: the position of each row, and the row at each position.

Positions count up in the order in which vectors are added, and nothing moves. Rows mostly come in rising order, and
such a run is searched where it lies. Other rows are kept a second time, in runs that are sorted and merged as they
grow, each at least twice as long as the next. So finding a row takes a few binary searches, and adding rows never
sorts all of them again.

Rows by position, kept as stretches in which they count up one by one.

Rows are added in the order of their numbers for the most part, so a million of them are a few stretches.
"""

from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._primitives import Rows

Number = TypeVar("Number", bound=np.generic)


class GrowableArray(Generic[Number]):
    """An array that grows by half along its first axis when it is full.

    It has spare room from the start, so that the first vector added doesn't wait for a copy of all others. Spare room
    takes no memory until it is used.

    Attributes:
        filled: The filled rows, as a view that is valid until the next change.
    """

    def __init__(self, first: npt.NDArray[Number]) -> None:
        """Start with a copy of an array."""
        self._array = self.filled = first[:0]
        self.reserve(len(first))
        self.append(first)

    def reserve(self, count: int) -> None:
        """Make room for so many rows in total, and an eighth more."""
        if count > len(self._array):
            grown = np.empty((count * 9 // 8, *self._array.shape[1:]), dtype=self._array.dtype)
            grown[: len(self.filled)] = self.filled
            self._array, self.filled = grown, grown[: len(self.filled)]

    def append(self, more: npt.NDArray[Number]) -> None:
        """Append rows."""
        count = len(self.filled)
        end = count + len(more)
        if end > len(self._array):
            self.reserve(max(end, len(self._array) * 4 // 3))
        self._array[count:end] = more
        self.filled = self._array[:end]

    def remove(self, at: npt.NDArray[np.intp]) -> None:
        """Remove the rows at ascending positions, by moving the last rows into the gaps."""
        count = len(self.filled)
        kept = count - len(at)
        gaps, movers = at[at < kept], np.setdiff1d(np.arange(kept, count), at, assume_unique=True)
        self._array[gaps] = self._array[movers]
        self.filled = self._array[:kept]


NO_POSITION = -1


class _Run(NamedTuple):
    """Consecutive positions.

    Attributes:
        start: The first position.
        end: The position after the last.
        rows: Their rows in rising order, each once; ``None`` if those lie in rising order already.
        positions: The position of each of these rows.
    """

    start: int
    end: int
    rows: Rows | None
    positions: npt.NDArray[np.int32] | None


class RowPositions:
    """The rows of an index by position. A row may be added again, and is at its latest position then."""

    def __init__(self, rows: Rows) -> None:
        """Start with rows at the positions from 0 on."""
        self._rows = RowStretches()
        self._rows.append(rows)
        self._runs: list[_Run] = []
        if len(rows):
            self._runs.append(self._run(0, len(rows)))

    def __len__(self) -> int:
        """Return the number of positions."""
        return len(self._rows)

    @property
    def rows(self) -> Rows:
        """The row at each position."""
        return self._rows.between(0, len(self._rows))

    def rows_at(self, positions: Rows) -> Rows:
        """Return the rows at some positions."""
        return self._rows.at(positions)

    def append(self, rows: Rows) -> None:
        """Add rows at the next positions."""
        if not len(rows):
            return
        start = len(self._rows)
        self._rows.append(rows)
        self._runs.append(self._run(start, len(self._rows)))
        while len(self._runs) > 1 and self._should_merge(*self._runs[-2:]):
            last, before = self._runs.pop(), self._runs.pop()
            self._runs.append(self._merged(before, last))

    def positions_of(self, rows: Rows) -> Rows:
        """Return the latest position of each of some rows; `NO_POSITION` for a row that was never added."""
        found = np.full(len(rows), NO_POSITION, dtype=np.int64)
        for run in reversed(self._runs):
            missing = np.flatnonzero(found == NO_POSITION)
            if not len(missing):
                break
            wanted = rows[missing]
            if run.rows is None or run.positions is None:
                is_here, at = self._rows.find(wanted, run.start, run.end)
            else:
                place = np.minimum(np.searchsorted(run.rows, wanted), len(run.rows) - 1)
                is_here = run.rows[place] == wanted
                at = run.positions[place[is_here]]
            found[missing[is_here]] = at
        return found

    def _should_merge(self, before: _Run, last: _Run) -> bool:
        return self._follows(before, last) or before.end - before.start < 2 * (last.end - last.start)

    def _follows(self, before: _Run, last: _Run) -> bool:
        """Return whether two runs lie in rising order together."""
        if before.rows is not None or last.rows is not None:
            return False
        last_before, first = self._rows.at(np.array([before.end - 1, last.start]))
        return bool(last_before < first)

    def _merged(self, before: _Run, last: _Run) -> _Run:
        return (
            _Run(before.start, last.end, None, None)
            if self._follows(before, last)
            else self._run(before.start, last.end)
        )

    def _run(self, start: int, end: int) -> _Run:
        rows = self._rows.between(start, end)
        if bool(np.all(rows[1:] > rows[:-1])):
            return _Run(start, end, None, None)
        order = np.argsort(rows, kind="stable")
        in_order = rows[order]
        is_latest = np.append(in_order[1:] != in_order[:-1], True)
        return _Run(start, end, in_order[is_latest], (order[is_latest] + start).astype(np.int32))


class RowStretches:
    """The row at each position, from 0 on."""

    def __init__(self) -> None:
        """Start empty."""
        none = np.empty(0, dtype=np.int64)
        self._starts: GrowableArray[np.int64] = GrowableArray(none)
        self._firsts: GrowableArray[np.int64] = GrowableArray(none)
        self._count = 0

    def __len__(self) -> int:
        """Return the number of positions."""
        return self._count

    def append(self, rows: Rows) -> None:
        """Add rows at the next positions."""
        if not len(rows):
            return
        begins = np.append(0, np.flatnonzero(rows[1:] != rows[:-1] + 1) + 1)
        if self._count and self.at(np.array([self._count - 1]))[0] + 1 == rows[0]:
            begins = begins[1:]  # the last stretch goes on
        self._starts.append(begins + self._count)
        self._firsts.append(rows[begins])
        self._count += len(rows)

    def at(self, positions: Rows) -> Rows:
        """Return the rows at some positions."""
        starts = self._starts.filled
        stretch = np.searchsorted(starts, positions, side="right") - 1
        return np.asarray(self._firsts.filled[stretch] + (positions - starts[stretch]))

    def between(self, start: int, end: int) -> Rows:
        """Return the rows at the positions from ``start`` to before ``end``."""
        if start >= end:
            return np.empty(0, dtype=np.int64)
        starts, firsts = self._touching(start, end)
        lengths = np.diff(np.append(np.maximum(starts, start), end))
        return np.arange(start, end) + np.repeat(firsts - starts, lengths)

    def find(self, rows: Rows, start: int, end: int) -> tuple[npt.NDArray[np.bool_], Rows]:
        """Look for rows at the positions from ``start`` to before ``end``, where rows must be in rising order.

        Returns:
            Whether each is there, and the positions of those that are.
        """
        starts, firsts = self._touching(start, end)
        stretch = np.maximum(np.searchsorted(firsts, rows, side="right") - 1, 0)
        positions = starts[stretch] + (rows - firsts[stretch])
        ends = np.append(starts[1:], end)[stretch]
        is_here = (positions >= np.maximum(starts[stretch], start)) & (positions < ends)
        return is_here, positions[is_here]

    def _touching(self, start: int, end: int) -> tuple[Rows, Rows]:
        """Return the starts and first rows of the stretches with positions from ``start`` to before ``end``."""
        starts = self._starts.filled
        first, last = np.searchsorted(starts, start, side="right") - 1, np.searchsorted(starts, end, side="left")
        return starts[first:last], self._firsts.filled[first:last]
