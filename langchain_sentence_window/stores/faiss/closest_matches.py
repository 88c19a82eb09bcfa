"""How close sentences of an index, asked as questions, come to others elsewhere in it: the scale of a query.

A question has neither a heading nor neighbors. So the vectors that are searched with are those of the sentences' own
texts, and not those in the index, which know both and are closer to each other.

The scale is a statistic of the index as a whole, so it is kept until enough of the index has changed.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from langchain_sentence_window._types import Vectors
from langchain_sentence_window.errors import wrong_size
from langchain_sentence_window.ranking.candidates import Numbers
from langchain_sentence_window.ranking.closest_matches import closest_match
from langchain_sentence_window.stores.faiss.database.database import Database
from langchain_sentence_window.stores.faiss.database.schema import State
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.dense.at_state import IndexAtState
from langchain_sentence_window.stores.faiss.dense.cache import VectorCache
from langchain_sentence_window.stores.faiss.origin import Origin

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

    def __init__(self, database: Database, vectors: VectorCache, origin: Origin) -> None:
        """Start with none.

        Args:
            database: Holds the sentences.
            vectors: Holds the vectors that are searched.
            origin: Knows the embedder that sentences are embedded with again.
        """
        self._database = database
        self._vectors = vectors
        self._origin = origin
        # Replaced as a whole and never changed, so it needs no lock that an exception could leave held.
        self._kept: _Kept | None = None

    def kept(self, asked: int) -> Numbers | None:
        """Return the matches that were found before; ``None`` if there are none, or too much has changed since."""
        kept = self._kept
        if kept is None or not self._database.read(partial(_still_holds, kept, asked)):
            return None
        return kept.matches.copy()

    def sample(self, asked: int) -> Sample:
        """Return sentences to embed, as many as were asked for, or fewer if the index is large."""

        def work(snapshot: Snapshot, index: IndexAtState | None) -> Sample:
            state = snapshot.state
            size = min(asked, max(MIN_SAMPLE, MAX_COMPARISONS // max(1, state.sentences)))
            rows = [] if index is None else index.spread_rows(size).tolist()
            known = snapshot.placed_texts(rows)
            texts = {row: known[row].text for row in rows if row in known and known[row].text.strip()}
            return Sample(asked, state, list(texts), list(texts.values()))

        return self._vectors.read(work)

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

        def work(snapshot: Snapshot, index: IndexAtState | None) -> list[float]:
            self._origin.check(snapshot)
            return [] if index is None else _matches(snapshot, index, sample.rows, vectors)

        matches = np.array(self._vectors.read(work), dtype=np.float64)
        self._kept = _Kept(sample.asked, sample.state, matches)
        return matches.copy()


def _still_holds(kept: _Kept, asked: int, snapshot: Snapshot) -> bool:
    """Return whether few sentences have changed since.

    An index has to be emptied before another embedder can fill it, so many have changed then.
    """
    if kept.asked != asked:
        return False
    if kept.state.version == snapshot.version:
        return True
    state, most = snapshot.state, MAX_CHANGE * kept.state.sentences
    added, removed = state.last_row - kept.state.last_row, state.last_removal - kept.state.last_removal
    return 0 <= added <= most and 0 <= removed <= most


def _matches(snapshot: Snapshot, index: IndexAtState, rows: Sequence[int], vectors: Vectors) -> list[float]:
    if not len(rows):
        return []
    if vectors.shape[1] != index.dimension:
        raise wrong_size(vectors.shape[1], index.dimension)
    found = dict(zip(rows, index.search_together(vectors, _FOUND), strict=True))
    # A search reports rows that the database lacks.
    known = snapshot.placed_texts({*found, *(row for pairs in found.values() for row, _ in pairs)})
    matches = (
        closest_match(known[row], ((known[other], cosine) for other, cosine in pairs if other in known))
        for row, pairs in found.items()
        if row in known
    )
    return [match for match in matches if match is not None]
