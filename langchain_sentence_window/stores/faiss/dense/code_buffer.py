"""The vectors of a FAISS index that is an array of codes, in memory of our own.

Linux provides large pages for memory that requests them before it is filled, which makes searching and loading
faster. NumPy requests them for large arrays; FAISS doesn't.
"""

from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._types import Vectors
from langchain_sentence_window.stores.faiss.dense.factory import load_faiss

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


class CodeBuffer:
    """Replaces the array of a FAISS index, which reads its vectors from here.

    FAISS must not change such an index itself: that would crash the process.
    """

    def __init__(self, index: Any) -> None:
        """Take over the codes of an index, which may be empty, or mapped to a file."""
        self._index = index
        count, size = index.ntotal, index.code_size
        if count:
            given = load_faiss().rev_swig_ptr(index.codes.data(), count * size).reshape(count, size)
        else:
            given = np.empty((0, size), dtype=np.uint8)
        self._codes: GrowableArray[np.uint8] = GrowableArray(given)
        self._show()

    def reserve(self, count: int) -> None:
        """Make room for so many vectors in total."""
        self._codes.reserve(count)
        self._show()

    def add(self, vectors: Vectors) -> None:
        """Add vectors of shape ``(n, dimension)``."""
        self._codes.append(self._index.sa_encode(vectors))
        self._show()

    def remove(self, at: npt.NDArray[np.intp]) -> None:
        """Remove the vectors at ascending positions, by moving the last vectors into the gaps."""
        self._codes.remove(at)
        self._show()

    def _show(self) -> None:
        """Point FAISS to the current vectors."""
        faiss, codes = load_faiss(), self._codes.filled
        nobody = faiss.MaybeOwnedVectorUInt8()  # A view needs an owner in C++; this object owns the memory.
        self._index.codes = faiss.MaybeOwnedVectorUInt8.create_view(faiss.swig_ptr(codes), codes.size, nobody.owner)
        self._index.ntotal = len(codes)
