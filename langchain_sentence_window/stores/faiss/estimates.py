"""Estimates from samples of the index: what searches find."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from langchain_sentence_window._primitives import Vectors

from .dense.dense_index import Place, next_part, start_of
from .dense.faiss_factory import compare_in_blocks, make_faiss_index, threads_for
from .index_state import IndexState
from .session import IndexSession

_TOLERANCE = 1e-5
"""How far below the last exact cosine a cosine may be and still count, as sums of floats depend on their order."""

_Z = 1.96  # of an interval that holds the truth 19 times in 20


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


def estimate_recall(
    session: IndexSession, questions: Vectors, k: int, effort: float, *, is_embedded: bool
) -> RecallEstimate:
    """Estimate how many of the ``k`` nearest vectors a search finds, by comparing some searches with exact ones.

    Others read and write between the steps; writes change the result slightly.

    Args:
        session: The index.
        questions: Unit vectors of shape ``(n, dimension)``.
        k: The number of nearest vectors.
        effort: How many times as much to look at as usual.
        is_embedded: Whether the questions were embedded now, so that the embedder must be that of the index.

    Raises:
        EmbeddingError: The vectors are of another length than those of the index.
        IndexMismatchError: The vectors in the index are from another embedder now.
        UnprovenError: They may be.
    """

    def search(state: IndexState) -> tuple[str, list[Vectors]]:
        index = state.dense
        if is_embedded:
            state.origin.check(state.snapshot)
        if index is None:
            return "", [np.empty(0, dtype=np.float32) for _ in questions]
        found = [index.search(question, k, None, effort) for question in questions]
        return index.index.name, [np.array([cosine for _, cosine in pairs], dtype=np.float32) for pairs in found]

    name, found = session.read(search, dense=True)
    best, place = np.empty((len(questions), 0), dtype=np.float32), session.read(lambda state: start_of(state.snapshot))
    while len(questions) and not place.is_end:
        place, best = session.read(partial(_compare_part, questions, k, best, after=place, weights=session.weights))
    shares = _shares_found(found, best)
    recall, low, high = _interval(shares, k)
    return RecallEstimate(recall, low, high, len(shares), k, effort, name)


def _compare_part(
    questions: Vectors, k: int, best: Vectors, state: IndexState, *, after: Place, weights: Sequence[float]
) -> tuple[Place, Vectors]:
    """Read the next vectors, and return the ``k`` highest cosines of each question so far, best first."""
    place, parts = next_part(state.snapshot, after, weights)
    for _, vectors in parts:
        index = make_faiss_index("Flat", vectors.shape[1])
        index.add(vectors)
        with threads_for(1):
            cosines, _ = compare_in_blocks(index, questions, min(k, len(vectors)))
        best = -np.sort(-np.concatenate([best, np.minimum(cosines, 1)], axis=1), axis=1)[:, :k]
    return place, best


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
