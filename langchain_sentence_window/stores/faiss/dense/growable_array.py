"""An array with room to grow."""

from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

Number = TypeVar("Number", bound=np.generic)


class GrowableArray(Generic[Number]):
    """An array that grows by half along its first axis when it is full.

    It has spare room from the start, so that the first vector added doesn't wait for a copy of all others. Spare room
    takes no memory until it is used.
    """

    def __init__(self, first: npt.NDArray[Number]) -> None:
        """Start with a copy of an array."""
        self._array, self._count = first[:0], 0
        self.reserve(len(first))
        self.append(first)

    def __len__(self) -> int:
        """Return the number of filled rows."""
        return self._count

    @property
    def filled(self) -> npt.NDArray[Number]:
        """The filled rows, as a view that is valid until the next change."""
        return self._array[: self._count]

    def reserve(self, count: int) -> None:
        """Make room for so many rows in total, and an eighth more."""
        if count > len(self._array):
            grown = np.empty((count * 9 // 8, *self._array.shape[1:]), dtype=self._array.dtype)
            grown[: self._count] = self.filled
            self._array = grown

    def append(self, more: npt.NDArray[Number]) -> None:
        """Append rows."""
        end = self._count + len(more)
        if end > len(self._array):
            self.reserve(max(end, len(self._array) * 4 // 3))
        self._array[self._count : end] = more
        self._count = end

    def remove(self, at: npt.NDArray[np.intp]) -> None:
        """Remove the rows at ascending positions, by moving the last rows into the gaps."""
        kept = self._count - len(at)
        gaps, movers = at[at < kept], np.setdiff1d(np.arange(kept, self._count), at, assume_unique=True)
        self._array[gaps] = self._array[movers]
        self._count = kept
