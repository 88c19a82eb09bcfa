"""Rows by position, kept as stretches in which they count up one by one.

Rows are added in the order of their numbers for the most part, so a million of them are a few stretches.
"""

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._types import Rows
from langchain_sentence_window.stores.faiss.dense.growable_array import GrowableArray


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
