"""Where the rows of an index are: the position of each row, and the row at each position.

Positions count up in the order in which vectors are added, and nothing moves. Rows mostly come in rising order, and
such a run is searched where it lies. Other rows are kept a second time, in runs that are sorted and merged as they
grow, each at least twice as long as the next. So finding a row takes a few binary searches, and adding rows never
sorts all of them again.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._types import Rows
from langchain_sentence_window.stores.faiss.dense.row_stretches import RowStretches

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
