"""Estimating how many of the nearest vectors a search finds, by comparing some searches with exact ones."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from langchain_sentence_window._types import Vectors
from langchain_sentence_window.stores.faiss.database.database import Database
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.dense.at_state import IndexAtState
from langchain_sentence_window.stores.faiss.dense.cache import VectorCache
from langchain_sentence_window.stores.faiss.dense.comparing import compare_in_blocks
from langchain_sentence_window.stores.faiss.dense.factory import make_faiss_index, one_thread
from langchain_sentence_window.stores.faiss.dense.reading import Place, next_part, start_of

_TOLERANCE = 1e-5
"""How far below the last exact cosine a cosine may be and still count, as sums of floats depend on their order."""

_Z = 1.96  # of an interval that holds the truth 19 times in 20

_Call: TypeAlias = Callable[[Callable[[], Any]], Any]


@dataclass(frozen=True, slots=True)
class RecallEstimate:
    """The share of the ``k`` nearest vectors that searches found.

    Attributes:
        recall: The mean over all questions; 1 if all were found.
        low: The lower end of its confidence interval, of 19 in 20.
        high: The upper end.
        questions: The number of questions.
        k: The number of nearest vectors that were asked for.
        search_effort: The effort of the searches.
        index: The name of the index that was searched.
    """

    recall: float
    low: float
    high: float
    questions: int
    k: int
    search_effort: float
    index: str


class RecallEstimator:
    """Compares searches with exact ones, in steps between which others read and write."""

    def __init__(self, database: Database, vectors: VectorCache, weights: Sequence[float], call: _Call) -> None:
        """Search an index.

        Args:
            database: Holds the vectors.
            vectors: Holds the index.
            weights: The weights of a sentence and its neighbors in each vector.
            call: Runs a step as a call of the store.
        """
        self._database = database
        self._vectors = vectors
        self._weights = weights
        self._call = call

    def estimate(
        self, questions: Vectors, k: int, effort: float, check: Callable[[Snapshot], None] = lambda _: None
    ) -> RecallEstimate:
        """Estimate the recall; writes while this runs change the result slightly.

        Args:
            questions: Unit vectors of shape ``(n, dimension)``.
            k: The number of nearest vectors.
            effort: How many times as much to look at as usual.
            check: Is called with the state that is searched first; may raise an exception.

        Raises:
            EmbeddingError: The vectors are of another length than those of the index.
        """

        def search(snapshot: Snapshot, index: IndexAtState | None) -> tuple[str, list[Vectors]]:
            check(snapshot)
            if index is None:
                return "", [np.empty(0, dtype=np.float32) for _ in questions]
            found = [index.search(question, k, None, effort) for question in questions]
            return index.name, [np.array([cosine for _, cosine in pairs], dtype=np.float32) for pairs in found]

        name, found = self._call(lambda: self._vectors.read(search))
        shares = _shares_found(found, self._exact(questions, k))
        recall, low, high = _interval(shares, k)
        return RecallEstimate(recall, low, high, len(shares), k, effort, name)

    def _exact(self, questions: Vectors, k: int) -> Vectors:
        """Return the ``k`` highest cosines of each question, or fewer if there are fewer vectors, best first."""
        best = np.empty((len(questions), 0), dtype=np.float32)
        place: Place = self._call(lambda: self._database.read(start_of))
        while len(questions) and not place.is_end:
            place, best = self._call(partial(self._compare_part, questions, k, place, best))
        return best

    def _compare_part(self, questions: Vectors, k: int, place: Place, best: Vectors) -> tuple[Place, Vectors]:
        after, parts = self._database.read(lambda snapshot: next_part(snapshot, place, self._weights))
        for _, vectors in parts:
            index = make_faiss_index("Flat", vectors.shape[1])
            index.add(vectors)
            with one_thread():
                cosines, _ = compare_in_blocks(index, questions, min(k, len(vectors)))
            best = -np.sort(-np.concatenate([best, np.minimum(cosines, 1)], axis=1), axis=1)[:, :k]
        return after, best


def _shares_found(found: Sequence[Vectors], exact: Vectors) -> list[float]:
    """Return the share of the highest cosines that were found for each question; 1 if there are none."""
    if not exact.shape[1]:
        return [1.0] * len(exact)
    return [
        min(1.0, float(np.count_nonzero(cosines >= line[-1] - _TOLERANCE)) / len(line))
        for cosines, line in zip(found, exact, strict=True)
    ]


def _interval(shares: Sequence[float], k: int) -> tuple[float, float, float]:
    """Return the mean of shares of ``k``, and its interval by Wilson.

    Each of the ``k`` counts as a trial. The more the shares vary, the more alike those of a question are, and the fewer
    trials they count for; see https://en.wikipedia.org/wiki/Design_effect.
    """
    if not shares:
        return math.nan, 0.0, 1.0
    mean = float(np.mean(shares))
    spread = mean * (1 - mean)
    effect = max(1.0, float(np.var(shares)) * k / spread) if spread > 0 else 1.0
    trials = len(shares) * k / effect
    center = (mean + _Z**2 / (2 * trials)) / (1 + _Z**2 / trials)
    half = _Z * math.sqrt(spread / trials + _Z**2 / (4 * trials**2)) / (1 + _Z**2 / trials)
    return mean, max(0.0, min(mean, center - half)), min(1.0, max(mean, center + half))
