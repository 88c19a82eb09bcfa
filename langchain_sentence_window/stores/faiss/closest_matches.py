"""How close the sentences of an index come to others elsewhere in it: the scale on which queries are judged.

It is a statistic of the index as a whole, so it is kept until enough of the index has changed.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from langchain_sentence_window._types import Rows
from langchain_sentence_window.embedding.mixing import normalized
from langchain_sentence_window.ranking.candidates import Numbers
from langchain_sentence_window.ranking.closest_matches import closest_match
from langchain_sentence_window.stores.faiss.database.database import Database
from langchain_sentence_window.stores.faiss.database.schema import State
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.dense.cache import VectorCache
from langchain_sentence_window.stores.faiss.dense.index import VectorIndex

MAX_CHANGE = 0.1
"""The share of the sentences that may be added, and that may be removed, before the matches are found again."""

MAX_COMPARISONS = 12_000_000
"""Sampled sentences times sentences of the index, above which fewer are sampled."""

MIN_SAMPLE = 50
"""Sentences that are sampled however large the index is, as their mean and spread need some."""

_FOUND = 40
"""Sentences found with each: the sentence itself, those nearby, and a number of copies, none of which counts."""


class _Kept(NamedTuple):
    """The matches that were found in a state of the database.

    Attributes:
        sample: The number of sentences that was asked for.
        state: The state.
        matches: The cosines.
    """

    sample: int
    state: State
    matches: Numbers


class ClosestMatches:
    """Finds the closest matches of a sample of sentences, and keeps them."""

    def __init__(self, database: Database, vectors: VectorCache) -> None:
        """Start with none.

        Args:
            database: Holds the sentences, with their vectors as they were embedded.
            vectors: Holds the vectors that are searched.
        """
        self._database = database
        self._vectors = vectors
        # Replaced as a whole and never changed, so it needs no lock that an exception could leave held.
        self._kept: _Kept | None = None

    def read(self, sample: int) -> Numbers:
        """Return the cosines of a sample of sentences with their closest matches; see `FaissStore.closest_matches`."""
        kept = self._kept
        if kept is None or not self._database.read(partial(_still_holds, kept, sample)):
            kept = self._vectors.read(lambda snapshot, index: _find(snapshot, index, sample))
            self._kept = kept
        return kept.matches.copy()


def _still_holds(kept: _Kept, sample: int, snapshot: Snapshot) -> bool:
    """Return whether few sentences have changed since.

    An index has to be emptied before another embedder can fill it, so many have changed then.
    """
    if kept.sample != sample:
        return False
    if kept.state.version == snapshot.version:
        return True
    state, most = snapshot.state, MAX_CHANGE * kept.state.sentences
    added, removed = state.last_row - kept.state.last_row, state.last_removal - kept.state.last_removal
    return 0 <= added <= most and 0 <= removed <= most


def _find(snapshot: Snapshot, index: VectorIndex | None, sample: int) -> _Kept:
    state = snapshot.state
    size = min(sample, max(MIN_SAMPLE, MAX_COMPARISONS // max(1, state.sentences)))
    matches = [] if index is None else _matches(snapshot, index, index.spread_rows(size))
    return _Kept(sample, state, np.array(matches, dtype=np.float64))


def _matches(snapshot: Snapshot, index: VectorIndex, rows: Rows) -> list[float]:
    embedded = snapshot.vectors_of(rows.tolist())
    if not embedded:
        return []
    vectors = normalized(np.array(list(embedded.values())))
    found = dict(zip(embedded, index.search_together(vectors, _FOUND), strict=True))
    # A search reports rows that the database lacks.
    known = snapshot.placed_texts({*found, *(row for pairs in found.values() for row, _ in pairs)})
    matches = (
        closest_match(known[row], ((known[other], cosine) for other, cosine in pairs if other in known))
        for row, pairs in found.items()
        if row in known
    )
    return [match for match in matches if match is not None]
