"""Comparing several vectors with all vectors of an index at once, which costs far less than one after the other.

FAISS decodes the codes of Flat, SQ8 and SQfp16, and NumPy multiplies matrices.
"""

from typing import Any

import numpy as np

from langchain_sentence_window._types import Rows, Vectors

_BLOCK_SIZE = 16_384  # vectors that are decoded at a time, so that little memory is used


def compare_in_blocks(index: Any, vectors: Vectors, k: int) -> tuple[Vectors, Rows]:
    """Find the vectors of an array of codes that are nearest to each of several.

    Args:
        index: The FAISS index, with at least ``k`` vectors.
        vectors: Unit vectors of shape ``(n, dimension)``.
        k: The number of results for each, above 0.

    Returns:
        Cosines and positions, both of shape ``(n, k)``, in any order.
    """
    cosines = np.empty((len(vectors), 0), dtype=np.float32)
    positions = np.empty((len(vectors), 0), dtype=np.int64)
    for start in range(0, index.ntotal, _BLOCK_SIZE):
        block = index.reconstruct_n(start, min(_BLOCK_SIZE, index.ntotal - start))
        found = vectors @ block.T
        best = _largest(found, k)
        cosines = np.concatenate([cosines, np.take_along_axis(found, best, axis=1)], axis=1)
        positions = np.concatenate([positions, best + start], axis=1)
        best = _largest(cosines, k)
        cosines, positions = np.take_along_axis(cosines, best, axis=1), np.take_along_axis(positions, best, axis=1)
    return cosines, positions


def _largest(values: Vectors, k: int) -> Rows:
    """Return the positions of the ``k`` largest values in each line, in any order; all if there are fewer."""
    if values.shape[1] <= k:
        return np.tile(np.arange(values.shape[1]), (len(values), 1))
    return np.argpartition(values, -k, axis=1)[:, -k:]
