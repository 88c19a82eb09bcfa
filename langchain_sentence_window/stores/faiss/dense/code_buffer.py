"""The vectors of a FAISS index that is an array of codes, in memory of our own.

Linux has large pages for memory that asks for them before it is filled. NumPy asks for large arrays and
FAISS doesn't, so where it gets small ones a search of 100,000 vectors of 384 numbers takes up to twice as
long (10 ms to 4.8), and reading a million of them from a file three times (0.95 s to 0.3).
"""

from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._types import Vectors
from langchain_sentence_window.stores.faiss.dense.factory import load_faiss

Number = TypeVar("Number", bound=np.generic)


class GrowableArray(Generic[Number]):
    """An array that grows by half when it is full, along its first axis.

    There is room to spare from the start, which takes no memory until it is used: to copy a million vectors
    takes a quarter of a second, and the first that is added shouldn't have to wait for that.
    """

    def __init__(self, first: npt.NDArray[Number]) -> None:
        """Begin with a copy of an array."""
        self._array, self._count = first[:0], 0
        self.reserve(len(first))
        self.append(first)

    def __len__(self) -> int:
        """How many rows of it are filled."""
        return self._count

    @property
    def filled(self) -> npt.NDArray[Number]:
        """What is in it; a view, which holds until it is changed."""
        return self._array[: self._count]

    def reserve(self, count: int) -> None:
        """Make room for so many rows in all, and an eighth more."""
        if count > len(self._array):
            grown = np.empty((count * 9 // 8, *self._array.shape[1:]), dtype=self._array.dtype)
            grown[: self._count] = self.filled
            self._array = grown

    def append(self, more: npt.NDArray[Number]) -> None:
        """Add rows at the end."""
        end = self._count + len(more)
        if end > len(self._array):
            self.reserve(max(end, len(self._array) * 4 // 3))
        self._array[self._count : end] = more
        self._count = end

    def remove(self, at: npt.NDArray[np.intp]) -> None:
        """Remove the rows at some positions, ascending, by moving the last ones into the gaps."""
        kept = self._count - len(at)
        gaps, movers = at[at < kept], np.setdiff1d(np.arange(kept, self._count), at, assume_unique=True)
        self._array[gaps] = self._array[movers]
        self._count = kept


class CodeBuffer:
    """Takes the place of the array in a FAISS index, which reads it from here then.

    FAISS itself must not change such an index any more: it would end the process.
    """

    def __init__(self, index: Any) -> None:
        """Take the codes over from an index, which may be empty, or mapped to a file."""
        self._index = index
        count, size = index.ntotal, index.code_size
        if count:
            given = load_faiss().rev_swig_ptr(index.codes.data(), count * size).reshape(count, size)
        else:
            given = np.empty((0, size), dtype=np.uint8)
        self._codes: GrowableArray[np.uint8] = GrowableArray(given)
        self._show()

    def reserve(self, count: int) -> None:
        """Make room for so many vectors in all."""
        self._codes.reserve(count)
        self._show()

    def add(self, vectors: Vectors) -> None:
        """Add vectors of shape ``(n, dimension)``."""
        self._codes.append(self._index.sa_encode(vectors))
        self._show()

    def remove(self, at: npt.NDArray[np.intp]) -> None:
        """Remove the vectors at some positions, ascending, by moving the last ones into the gaps."""
        self._codes.remove(at)
        self._show()

    def _show(self) -> None:
        """Let FAISS see what is there now."""
        faiss, codes = load_faiss(), self._codes.filled
        nobody = faiss.MaybeOwnedVectorUInt8()  # A view has an owner in C++; this one's is this object.
        self._index.codes = faiss.MaybeOwnedVectorUInt8.create_view(faiss.swig_ptr(codes), codes.size, nobody.owner)
        self._index.ntotal = len(codes)
