"""An index together with the state of the database that it is at, as searches use it.

An index that keeps codes doesn't know its vectors exactly. What a search finds with it is compared with the vectors of
the database, so that scores and order are those of an exact search.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from langchain_sentence_window._types import Rows, Vectors
from langchain_sentence_window.stores.faiss.database.of_rows import are_in
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.dense.building import DenseIndex
from langchain_sentence_window.stores.faiss.dense.exact_vectors import exact_cosines
from langchain_sentence_window.stores.faiss.dense.quantized import QuantizedIndex
from langchain_sentence_window.stores.faiss.ties import best_first

MIN_SPARE = 16
"""The least number of results beyond those asked for that an index of codes finds, to be compared exactly; a quarter of
those asked for, if that is more."""

Found = list[tuple[int, float]]
"""``(row, cosine)``, best first."""


class ComparedRows(NamedTuple):
    """Vectors that were compared with another by the index's codes.

    Attributes:
        rows: The rows, each once, in any order.
        cosines: Their cosines. Those of 6-bit records are off by one or two thousandths.
    """

    rows: Rows
    cosines: Vectors


class IndexAtState:
    """Searches an index in one state of the database."""

    def __init__(self, index: DenseIndex, snapshot: Snapshot, weights: Sequence[float]) -> None:
        """Search an index.

        Args:
            index: The index.
            snapshot: The state that it is at.
            weights: The weights of a sentence and its neighbors in each vector.
        """
        self._index = index
        self._snapshot = snapshot
        self._weights = weights
        self.name = index.name
        self.dimension = index.dimension
        self.spread_rows = index.spread_rows

    def search(self, vector: Vectors, k: int, allowed: Rows | None, effort: float = 1.0) -> Found:
        """Find the vectors nearest to another, with exact cosines.

        Args:
            vector: A unit vector of shape ``(dimension,)``.
            k: The maximum number of results; there are fewer only if there are fewer vectors.
            allowed: The rows to search, in order; ``None`` for all.
            effort: How many times as much to look at as usual; infinity for everything.

        Returns:
            ``(row, cosine)``, best first, ties by document and index.

        Raises:
            EmbeddingError: The vector is of another length than those of the index.
            DamagedRecordError: The file of the records was damaged.
        """
        index = self._index
        if not len(index):
            return []
        if isinstance(index, QuantizedIndex):
            rows = index.nearest(vector, k, allowed, effort)
        elif index.is_exact:
            found = index.search(vector, k, allowed, effort)
            rows, cosines = np.array([row for row, _ in found], dtype=np.int64), np.array([each for _, each in found])
            order = best_first(self._snapshot, rows, cosines, k)
            return [found[at] for at in order.tolist()]
        else:
            more = k + max(MIN_SPARE, k // 4)
            rows = np.array([row for row, _ in index.search(vector, more, allowed, effort)], dtype=np.int64)
        cosines = np.minimum(exact_cosines(self._snapshot, vector, rows, self._weights), 1)
        order = best_first(self._snapshot, rows, cosines, k)
        return list(zip(rows[order].tolist(), cosines[order].tolist(), strict=True))

    def candidates(
        self, vector: Vectors, k: int, allowed: Rows | None, effort: float = 1.0, also: Rows | None = None
    ) -> ComparedRows:
        """Find almost what `search` finds, by the index's codes, in less time for a large ``k``; compare other rows.

        Args:
            vector: A unit vector of shape ``(dimension,)``.
            k: The number of the nearest; there are fewer only if there are fewer vectors, and more if others are as
                near as the last.
            allowed: The rows to search, in order; ``None`` for all.
            effort: How many times as much to look at as usual; infinity for everything.
            also: Other rows to compare with, in order. Those without a vector are left out.

        Raises:
            EmbeddingError: The vector is of another length than those of the index.
            DamagedRecordError: The file of the records was damaged.
        """
        index = self._index
        if isinstance(index, QuantizedIndex):
            rows, cosines, _ = index.compared(vector, k, allowed, effort, also)
            is_taken = np.zeros(len(rows), dtype=np.bool_) if also is None else are_in(rows, also)
            if len(rows):
                is_taken |= cosines >= np.partition(cosines, -min(k, len(rows)))[-min(k, len(rows))]
            return ComparedRows(rows[is_taken], np.minimum(cosines[is_taken], 1))
        found = {} if also is None or not len(also) else index.cosines_of(vector, also)
        found |= index.search(vector, k, allowed, effort)
        rows = np.fromiter(found, dtype=np.int64, count=len(found))
        return ComparedRows(rows, np.fromiter(found.values(), dtype=np.float32, count=len(found)))

    def search_together(self, vectors: Vectors, k: int) -> list[Found]:
        """Find the vectors nearest to each of several, by the index's codes.

        Args:
            vectors: Unit vectors of shape ``(n, dimension)``.
            k: The maximum number of results for each; an approximate search may find fewer.
        """
        if isinstance(self._index, QuantizedIndex):
            return [_best(*self.candidates(vector, k, None), k) for vector in vectors]
        return self._index.search_together(vectors, k)


def _best(rows: Rows, cosines: Vectors, k: int) -> Found:
    order = np.lexsort((rows, -cosines))[:k]
    return list(zip(rows[order].tolist(), np.minimum(cosines[order], 1).tolist(), strict=True))
