"""The vectors that are searched, exactly: those of the database, mixed with their neighbors'.

An index that keeps codes of them compares its best candidates with these again.
"""

from collections.abc import Sequence

import numpy as np

from langchain_sentence_window._types import Rows, Vectors
from langchain_sentence_window.embedding.mixing import mix_some
from langchain_sentence_window.stores.faiss.database.in_order import MAX_ROWS_AROUND
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot


def exact_cosines(snapshot: Snapshot, vector: Vectors, rows: Rows, weights: Sequence[float]) -> Vectors:
    """Compare a unit vector with the vectors of some rows.

    Args:
        snapshot: The state of the database.
        vector: A unit vector of shape ``(dimension,)``.
        rows: The rows, each once.
        weights: The weights of a sentence and its neighbors in each vector.

    Returns:
        The cosine of each row, in their order; `numpy.nan` for a row that doesn't exist.
    """
    cosines = np.full(len(rows), np.nan, dtype=np.float32)
    order = np.argsort(rows)
    for start in range(0, len(rows), MAX_ROWS_AROUND):
        part = order[start : start + MAX_ROWS_AROUND]
        wanted = rows[part]
        around = snapshot.vectors_around(wanted.tolist(), len(weights) - 1)
        if around is None:
            continue
        found, vectors, positions = around
        at = np.searchsorted(wanted, found)
        is_wanted = np.flatnonzero(wanted[np.minimum(at, len(wanted) - 1)] == found)
        mixed = mix_some(vectors, positions, weights, is_wanted)
        # Not by a product of matrices, whose threads don't survive a fork.
        cosines[part[at[is_wanted]]] = np.einsum("ij,j->i", mixed, vector)
    return cosines
