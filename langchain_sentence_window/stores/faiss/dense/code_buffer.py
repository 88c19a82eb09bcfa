"""The vectors of a FAISS index that is an array of codes, in memory of our own.

Linux provides large pages for memory that requests them before it is filled, which makes searching and loading
faster. NumPy requests them for large arrays; FAISS doesn't.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._types import Vectors
from langchain_sentence_window.stores.faiss.dense.factory import load_faiss
from langchain_sentence_window.stores.faiss.dense.growable_array import GrowableArray


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
