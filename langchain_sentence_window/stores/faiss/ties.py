"""Equal scores, which are ordered by document and index, so that no result depends on when something was added.

FAISS and tantivy keep whichever of equally good results they come across first. So more are asked for than are wanted,
until the last of them is worse, and those beyond are left out here.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._primitives import Rows
from langchain_sentence_window.stores.faiss.database.reads import places_of
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot

MAX_TIED = 2_000
"""The most results beyond those wanted. Of still more equal ones, those that the index came across first are taken."""

_GROWTH = 4

Pairs: TypeAlias = list[tuple[int, float]]
"""``(row, score)``, best first."""


def with_tied(find: Callable[[int], Pairs], k: int) -> Pairs:
    """Find the best results, and all others that are as good as the last of them.

    Args:
        find: Finds at most so many of the best results, in order of their scores.
        k: The number of results.
    """
    asked = k + 1
    while True:
        found = find(asked)
        if len(found) <= k:
            return found
        last = found[k - 1][1]
        if found[-1][1] < last or len(found) < asked or asked >= k + MAX_TIED:
            return [pair for pair in found if pair[1] >= last]
        asked = min(asked * _GROWTH, k + MAX_TIED)


def best_of(source: Snapshot, found: Pairs, k: int) -> Pairs:
    """Return the ``k`` best of some results in any order: of those as good as the last, the first by place.

    Args:
        source: Tells where rows stand.
        found: The results of `with_tied`.
        k: The number of results.
    """
    if len(found) <= k:
        return found
    last = min(score for _, score in found)
    better, tied = ([each for each in found if (each[1] > last) is is_better] for is_better in (True, False))
    places = places_of(source.execute, [row for row, _ in tied])
    return better + sorted(tied, key=lambda each: places.get(each[0], ("", 0)))[: k - len(better)]


def best_pairs(source: Snapshot, found: Pairs, k: int) -> Pairs:
    """Return the ``k`` best of some results, best first, equal ones by document and index; see `best_first`."""
    rows, scores = np.array([row for row, _ in found], dtype=np.int64), np.array([score for _, score in found])
    return [found[at] for at in best_first(source, rows, scores, k).tolist()]


def best_first(source: Snapshot, rows: Rows, scores: npt.NDArray[np.floating], k: int) -> npt.NDArray[np.int64]:
    """Return the positions of the ``k`` highest scores, equal ones by document and index.

    Args:
        source: Tells where rows stand.
        rows: The rows, each once.
        scores: Their scores.
        k: The number of positions.
    """
    order = np.lexsort((rows, -scores))
    if not len(order):
        return order
    in_order = scores[order]
    is_equal = in_order[1:] == in_order[:-1]
    is_tied = np.concatenate([is_equal, [False]]) | np.concatenate([[False], is_equal])
    # What is worse than the last one is left out whatever its place is.
    is_tied &= in_order >= in_order[min(k, len(order)) - 1]
    tied = order[is_tied]
    if len(tied):
        places = places_of(source.execute, rows[tied].tolist())
        by_place = sorted(tied.tolist(), key=lambda at: (-scores[at], places.get(int(rows[at]), ("", 0))))
        order[is_tied] = by_place
    return np.asarray(order[:k])
