"""Lower limits, so that an index of a few hundred vectors changes as one of millions does."""

from collections.abc import Callable
from typing import Any

from langchain_sentence_window.store import faiss_index, vectors
from tests.torture.corpus import DIMENSION

EXACT = 200
"""Vectors up to which an index is exact."""

WHOLE = 400
"""Vectors up to which all codes are compared."""


def lower(put: Callable[[Any, str, Any], None] = setattr, *, exact: int = EXACT) -> None:
    """Lower the limits of this process.

    Args:
        put: Sets an attribute of a module; pytest's ``monkeypatch.setattr`` in a test.
        exact: Vectors up to which an index is exact.
    """
    put(faiss_index, "MAX_EXACT_NUMBERS", exact * DIMENSION)
    put(faiss_index, "MAX_WHOLE_NUMBERS", WHOLE * DIMENSION)
    put(faiss_index, "_MIN_CLUSTERS", 4)
    put(faiss_index, "_MIN_TO_TRAIN", 40)
    put(faiss_index, "_MIN_PER_CLUSTER", 10)
    put(faiss_index, "CLUSTERS_SEARCHED", 1)
    put(vectors, "MAX_MADE_AT_ONCE", 0)
    put(vectors, "_PART_SIZE", 50)
    put(vectors, "_MIN_TOMBSTONES", 50)
    put(vectors, "_MAX_CODES_IN_MEMORY", 50)
    put(vectors, "MAX_COMPARED_DIRECTLY", 20)
    # Enough to find all, however coarse the codes of a few random numbers are.
    put(vectors, "MIN_CANDIDATES", 150)
