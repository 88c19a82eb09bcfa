"""Lower limits, so that an index of a few hundred vectors changes as one of millions does."""

from collections.abc import Callable
from typing import Any

from langchain_sentence_window.stores.faiss.dense import dense_cache as cache
from langchain_sentence_window.stores.faiss.dense import dense_index as reading
from langchain_sentence_window.stores.faiss.dense import faiss_factory as choice
from langchain_sentence_window.stores.faiss.dense import faiss_factory as factory
from langchain_sentence_window.stores.faiss.dense import quantized
from tests.torture.corpus import DIMENSION

EXACT = 200
"""Vectors up to which an index is exact."""

WHOLE = 400
"""Vectors up to which all codes are compared."""


def lower(put: Callable[[Any, str, Any], None] = setattr) -> None:
    """Lower the limits of this process.

    Args:
        put: Sets an attribute of a module; pytest's ``monkeypatch.setattr`` in a test.
    """
    put(choice, "MAX_EXACT_NUMBERS", EXACT * DIMENSION)
    put(choice, "MAX_WHOLE_NUMBERS", WHOLE * DIMENSION)
    put(choice, "_MIN_CLUSTER_BITS", 2)
    put(factory, "_MIN_TO_TRAIN", 40)
    put(factory, "_MIN_PER_CLUSTER", 10)
    put(cache, "MAX_CHANGED_AT_ONCE", 0)
    put(reading, "PART_SIZE", 50)
    put(quantized, "MAX_COMPARED_DIRECTLY", 20)
    # Enough to find all, whatever codes of a few random numbers say.
    put(quantized, "MIN_CANDIDATES", 150)
    put(quantized, "CLUSTERS_SEARCHED", 1)
