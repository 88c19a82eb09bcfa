"""Estimates from samples of the index: how close sentences come to others, and what searches find.

A question has neither a heading nor neighbors. So the vectors that are searched with are those of the sentences' own
texts, and not those in the index, which know both and are closer to each other.

The scale is a statistic of the index as a whole, so it is kept until enough of the index has changed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window.errors import wrong_size
from langchain_sentence_window.ranking.candidates import Numbers
from langchain_sentence_window.ranking.relevance import closest_match

from .database.reads import placed_texts
from .database.schema import State
from .database.snapshot import Snapshot
from .dense.dense_index import Place, next_part, start_of
from .dense.faiss_factory import compare_in_blocks, make_faiss_index, threads_for
from .index_state import IndexAtState, IndexState
from .session import IndexSession

MAX_CHANGE = 0.1
"""The share of the sentences that may be added, and that may be removed, before the matches are found again."""

MAX_COMPARISONS = 12_000_000
"""Sampled sentences times sentences of the index, above which fewer are sampled."""

MIN_SAMPLE = 50
"""Sentences that are sampled however large the index is, as their mean and spread need some."""

_FOUND = 40
"""Sentences found with each: the sentence itself, those nearby, and a number of copies, none of which counts."""


class Sample(NamedTuple):
    """Sentences spread evenly over an index.

    Attributes:
        asked: The number of sentences that was asked for.
        state: The state of the database that they are from.
        rows: Their rows.
        texts: Their texts; none is blank.
    """

    asked: int
    state: State
    rows: Sequence[int]
    texts: Sequence[str]


class _Kept(NamedTuple):
    """The matches that were found with a sample, and the sample's ``asked`` and ``state``."""

    asked: int
    state: State
    matches: Numbers


class ClosestMatches:
    """Finds the closest matches of a sample of sentences, and keeps them."""

    def __init__(self, session: IndexSession) -> None:
        """Start with none.

        Args:
            session: Holds the sentences, and searches them.
        """
        self._session = session
        # Replaced as a whole and never changed, so it needs no lock that an exception could leave held.
        self._kept: _Kept | None = None

    def kept(self, asked: int) -> Numbers | None:
        """Return the matches that were found before; ``None`` if there are none, or too much has changed since."""
        kept = self._kept
        if kept is None or not self._session.read(lambda state: _still_holds(kept, asked, state.snapshot)):
            return None
        return kept.matches.copy()

    def sample(self, asked: int) -> Sample:
        """Return sentences to embed, as many as were asked for, or fewer if the index is large."""

        def work(read: IndexState) -> Sample:
            snapshot, index, state = read.snapshot, read.dense, read.snapshot.state
            size = min(asked, max(MIN_SAMPLE, MAX_COMPARISONS // max(1, state.sentences)))
            rows = [] if index is None else index.index.spread_rows(size).tolist()
            known = placed_texts(snapshot.execute, rows)
            texts = {row: known[row].text for row in rows if row in known and known[row].text.strip()}
            return Sample(asked, state, list(texts), list(texts.values()))

        return self._session.read(work, dense=True)

    def find(self, sample: Sample, vectors: Vectors) -> Numbers:
        """Find the closest matches of sampled sentences, and keep them.

        Args:
            sample: The sentences. Those that were removed since are left out.
            vectors: The unit vectors of their texts, shape ``(n, dimension)``.

        Raises:
            EmbeddingError: The vectors are of another length than those of the index.
            IndexMismatchError: The vectors in the index are from another embedder now.
            UnprovenError: They may be.
        """

        def work(state: IndexState) -> list[float]:
            state.origin.check(state.snapshot)
            return [] if state.dense is None else _matches(state.snapshot, state.dense, sample.rows, vectors)

        matches = np.array(self._session.read(work, dense=True), dtype=np.float64)
        self._kept = _Kept(sample.asked, sample.state, matches)
        return matches.copy()


def _still_holds(kept: _Kept, asked: int, snapshot: Snapshot) -> bool:
    """Return whether few sentences have changed since.

    An index has to be emptied before another embedder can fill it, so many have changed then.
    """
    if kept.asked != asked:
        return False
    if (kept.state.generation, kept.state.token) == snapshot.version:
        return True
    state, most = snapshot.state, MAX_CHANGE * kept.state.sentences
    added, removed = state.last_row - kept.state.last_row, state.last_removal - kept.state.last_removal
    return 0 <= added <= most and 0 <= removed <= most


def _matches(snapshot: Snapshot, index: IndexAtState, rows: Sequence[int], vectors: Vectors) -> list[float]:
    if not len(rows):
        return []
    if vectors.shape[1] != index.index.dimension:
        raise wrong_size(vectors.shape[1], index.index.dimension)
    found = dict(zip(rows, index.search_together(vectors, _FOUND), strict=True))
    # A search reports rows that the database lacks.
    known = placed_texts(snapshot.execute, {*found, *(row for pairs in found.values() for row, _ in pairs)})
    matches = (
        closest_match(known[row], ((known[other], cosine) for other, cosine in pairs if other in known))
        for row, pairs in found.items()
        if row in known
    )
    return [match for match in matches if match is not None]


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
