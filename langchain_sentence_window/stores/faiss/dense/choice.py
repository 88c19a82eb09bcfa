"""Choosing the index for a number of vectors: exact while that is cheap, then codes, then clusters of codes.

The limits are in numbers, vectors times dimension, as the time of an exact search grows with these.
"""

import re
from typing import NamedTuple

from langchain_sentence_window.stores.faiss.dense.factory import make_faiss_index, min_to_train

AUTO = "auto"
"""The name of the choice, in place of the name of an index."""

MAX_EXACT_NUMBERS = 50_000 * 384
"""Numbers that are compared exactly. From about half as many on, codes that are compared again take less time; below,
building and keeping them isn't worth it."""

MAX_WHOLE_NUMBERS = 1_500_000 * 384
"""Numbers whose codes are all compared. Above, only the nearest clusters are."""

KEPT_SHARE = 0.5
"""The share of a limit down to which the larger index is kept when vectors are removed, so that it doesn't change to
and fro."""

_CODES = re.compile(r"(?:IVF(\d+),)?(?:PQ\d+x4fs|RaBitQ2)")
_MAX_CLUSTER_GROWTH = 4
_MIN_CLUSTER_BITS = 6


class Choice(NamedTuple):
    """An index and the reason for it.

    Attributes:
        name: Its name for FAISS's index factory.
        reason: Why it was chosen, as a clause.
    """

    name: str
    reason: str


def choose(asked: str, dimension: int, count: int, present: str | None = None) -> Choice:
    """Choose the index for a number of vectors.

    Args:
        asked: The name of an index, or `AUTO`.
        dimension: The length of the vectors.
        count: Their number.
        present: The name of the present index, if there is one. It is kept if the number is close to a limit.
    """
    chosen = Choice(asked, "it was asked for") if asked != AUTO else _chosen(dimension, count, present)
    if chosen.name == present:
        return chosen
    fresh = make_faiss_index(chosen.name, dimension)
    if not fresh.is_trained and count < min_to_train(fresh):
        return Choice("Flat", f"{chosen.name} can't be trained with {count:,} vectors yet")
    return chosen


def is_automatic(asked: str, name: str) -> bool:
    """Return whether an index is one that `AUTO` chooses, for whatever number of vectors, and `AUTO` was asked for."""
    return asked == AUTO and (name == "Flat" or _CODES.fullmatch(name) is not None)


def _chosen(dimension: int, count: int, present: str | None) -> Choice:
    numbers, size = count * dimension, f"{count:,} vectors of {dimension:,} numbers"
    clusters = _clusters_in(present or "")
    if numbers > MAX_WHOLE_NUMBERS or (clusters > 1 and numbers > KEPT_SHARE * MAX_WHOLE_NUMBERS):
        wanted = _clusters_for(count)
        if clusters > 1 and wanted < _MAX_CLUSTER_GROWTH * clusters:
            wanted = clusters
        return Choice(_codes(dimension, wanted), f"{size} are too many to compare all of their codes")
    if numbers > MAX_EXACT_NUMBERS or (present not in (None, "Flat") and numbers > KEPT_SHARE * MAX_EXACT_NUMBERS):
        return Choice(_codes(dimension), f"{size} are compared by codes first")
    return Choice("Flat", f"{size} are few enough to compare exactly")


def _codes(dimension: int, clusters: int = 1) -> str:
    """Return the name of an index of codes of two bits a number.

    Four bits for each pair of numbers are compared by fast scan; see https://arxiv.org/abs/1812.09162. Without clusters
    it takes no filters, but with one it does. RaBitQ takes any dimension.
    """
    if dimension % 2 == 0:
        return f"IVF{clusters},PQ{dimension // 2}x4fs"
    return f"IVF{clusters},RaBitQ2" if clusters > 1 else "RaBitQ2"


def _clusters_in(name: str) -> int:
    """Return the number of clusters of an index of codes; 0 for another index."""
    codes = _CODES.fullmatch(name)
    return int(codes[1] or 0) if codes else 0


def _clusters_for(count: int) -> int:
    """Return a power of two near the square root of the number of vectors."""
    return 1 << max(_MIN_CLUSTER_BITS, round(count.bit_length() / 2))
