"""Comparing several vectors with all vectors of an index."""

from typing import Any

import numpy as np

from langchain_sentence_window._types import Rows, Vectors

_BLOCK_SIZE = 16
"""Vectors in one search. From 20 on, FAISS multiplies matrices with a BLAS, as NumPy does. Its threads don't survive a
fork: if another thread forks meanwhile, the call never ends."""


def compare_in_blocks(index: Any, vectors: Vectors, k: int) -> tuple[Vectors, Rows]:
    """Find the vectors of an array of codes that are nearest to each of several.

    Args:
        index: The FAISS index, with at least ``k`` vectors.
        vectors: Unit vectors of shape ``(n, dimension)``.
        k: The number of results for each, above 0.

    Returns:
        Cosines and positions, both of shape ``(n, k)``, best first.
    """
    slices = [vectors[start : start + _BLOCK_SIZE] for start in range(0, len(vectors), _BLOCK_SIZE)]
    found = [index.search(each, k) for each in slices]
    return np.concatenate([cosines for cosines, _ in found]), np.concatenate([positions for _, positions in found])
