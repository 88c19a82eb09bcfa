"""An index of few bits a number, whose candidates are compared again by 6-bit records.

FAISS compares all codes, or those of the nearest clusters, and names candidates. Their records tell which may be among
the best. What is left over, a little more than was asked for, is for the caller to compare exactly.

No vector moves: removed ones are tombstones until the index is rebuilt. So codes, records and rows agree by position.

Positions count up in the order in which vectors are added. Rows mostly come in rising order, and such a run is searched
where it lies. Other rows are kept a second time, in runs that are sorted and merged as they grow, each at least twice
as long as the next. So finding a row takes a few binary searches, and adding rows never sorts all of them again.

The row at each position is kept as stretches in which rows count up one by one, so a million of them are a few.
"""

import weakref
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._primitives import Rows, Vectors
from langchain_sentence_window.errors import wrong_size

from .faiss_factory import CodeBuffer, GrowableArray, clusters_of, has_codes, threads_for
from .fine_vectors import FineVectors

MIN_CANDIDATES = 500
CANDIDATES_PER_RESULT = 4
"""A search for ``k`` compares the records of `MIN_CANDIDATES` and `CANDIDATES_PER_RESULT` times ``k`` candidates; of
twice as many where clusters are searched, as those indexes hold more vectors."""

CANDIDATES_PER_RANKED = 1
"""Takes the place of `CANDIDATES_PER_RESULT` in `QuantizedIndex.compared`, whose results are ranked by more than their
cosines, so that the farthest matter little."""

MAX_COMPARED_DIRECTLY = 2_000
"""The most vectors that a filter may match for all of their records to be compared, without looking at any codes."""

CLUSTERS_SEARCHED = 3.2
"""One in so many clusters is searched, times the effort. See the benchmarks page."""

_MIN_CLUSTERS_SEARCHED = 16

Flags = npt.NDArray[np.bool_]

NO_POSITION = -1


Compared: TypeAlias = tuple[Rows, Vectors, Vectors]
"""Rows that were compared with a vector, each once, in any order; their cosines by their records; and how far off these
may be."""


class QuantizedIndex:
    """Unit vectors by row, searched by inner product, which is their cosine.

    Attributes:
        faiss_index: The FAISS index, to be written to a file too.
    """

    is_exact = False

    def __init__(
        self,
        name: str,
        index: Any,
        fine: FineVectors,
        ids: Rows,
        trained_on: int,
        *,
        owner: Any = None,
        is_mapped: bool = False,
    ) -> None:
        """Search a FAISS index of codes.

        Args:
            name: Its name for FAISS's index factory.
            index: The index as FAISS created or loaded it, trained.
            fine: The records of the same vectors.
            ids: The row of each position; of a tombstone its complement, which is negative.
            trained_on: The number of vectors when it was trained.
            owner: The object that frees the index when it is collected, if not the index itself.
            is_mapped: Whether its codes are mapped from a file, so that none can be added.
        """
        self.name = name
        self.is_mapped = is_mapped
        self.trained_on = trained_on
        self.fine = fine
        self.faiss_index = index
        self._owner = owner
        self._codes = CodeBuffer(index) if has_codes(index) and not is_mapped else None
        is_live = ids >= 0
        self._positions = RowPositions(np.where(is_live, ids, ~ids))
        self._is_live: GrowableArray[np.bool_] = GrowableArray(is_live)
        self.tombstones = len(ids) - int(np.count_nonzero(is_live))
        self._forget_bits()

    @property
    def dimension(self) -> int:
        """The length of the vectors."""
        return int(self.faiss_index.d)

    def __len__(self) -> int:
        """Return the number of vectors, without tombstones."""
        return len(self._positions) - self.tombstones

    @property
    def wasted_bytes(self) -> int:
        """The bytes of memory that tombstones take up."""
        return self.tombstones * int(self.faiss_index.code_size)

    @property
    def in_memory(self) -> int:
        """The number of vectors whose records are in memory and not in a file."""
        return self.fine.in_memory

    @property
    def ids(self) -> Rows:
        """The row of each position, and the complement of a tombstone's."""
        rows = self._positions.rows
        return np.asarray(np.where(self._is_live.filled, rows, ~rows))

    @property
    def live_rows(self) -> Rows:
        """The rows that have a vector, in any order."""
        return np.asarray(self._positions.rows[self._is_live.filled])

    def reserve(self, count: int) -> None:
        """Make room for so many vectors in total."""
        if self._codes:
            self._codes.reserve(count)

    def add(self, rows: Rows, vectors: Vectors) -> None:
        """Add unit vectors of shape ``(len(rows), dimension)`` for rows that aren't in the index yet."""
        self.fine.add(vectors)
        with threads_for(len(rows)):
            if self._codes:
                self._codes.add(vectors)
            else:
                self.faiss_index.add(vectors)
        self._positions.append(rows)
        self._is_live.append(np.ones(len(rows), dtype=np.bool_))
        self._forget_bits()

    def remove(self, rows: Rows) -> None:
        """Remove vectors; rows without one are ignored."""
        at = self._positions_of(rows)
        self._is_live.filled[at] = False
        self.tombstones += len(at)
        self._forget_bits()

    def discard(self) -> None:
        """Remove the file of an index that nobody searched yet, even if something still refers to the index."""
        if self.fine.file is not None:
            self.fine.file.discard()

    def nearest(self, vector: Vectors, k: int, allowed: Rows | None, effort: float = 1.0) -> Rows:
        """Return the rows of the ``k`` vectors nearest to another, and of those that may be as near as the last.

        Raises:
            EmbeddingError: The vector is of another length than those of the index.
            DamagedRecordError: The file of the records was damaged.
        """
        positions = self._candidates(vector, k, allowed, effort, CANDIDATES_PER_RESULT)
        rows, cosines, errors = self._compared(vector, positions)
        if len(rows) <= k:
            return rows
        kth = np.partition(cosines - errors, -k)[-k]
        return np.asarray(rows[cosines + errors >= kth])

    def compared(
        self, vector: Vectors, k: int, allowed: Rows | None, effort: float = 1.0, also: Rows | None = None
    ) -> Compared:
        """Compare a vector with those among which almost all of the nearest are, in less time than `nearest` takes.

        Args:
            vector: A unit vector of shape ``(dimension,)``.
            k: The number of the nearest; there are fewer only if there are fewer vectors.
            allowed: The rows to search; ``None`` for all.
            effort: How many times as many candidates and clusters to look at as usual; infinity for all.
            also: Rows to compare with in any case. Those without a vector are left out.

        Raises:
            EmbeddingError: The vector is of another length than those of the index.
            DamagedRecordError: The file of the records was damaged.
        """
        positions = self._candidates(vector, k, allowed, effort, CANDIDATES_PER_RANKED)
        if also is not None:
            # As np.union1d, which takes several times as long for so few.
            positions = np.sort(np.concatenate([positions, self._positions_of(also)]))
            positions = positions[np.diff(positions, prepend=NO_POSITION) > 0]
        return self._compared(vector, positions)

    def decoded(self, rows: Rows) -> Vectors:
        """Return the vectors of some rows as their records have them, shape ``(len(rows), dimension)``."""
        return self.fine.decoded(self._positions_of(rows))

    # Machinery

    def _positions_of(self, rows: Rows) -> Rows:
        """Return the positions of some rows; those without a vector are left out."""
        at = self._positions.positions_of(rows)
        at = at[at != NO_POSITION]
        return np.asarray(at[self._is_live.filled[at]])

    def _compared(self, vector: Vectors, positions: Rows) -> Compared:
        return self._positions.rows_at(positions), *self.fine.cosines(vector, positions)

    def _candidates(self, vector: Vectors, k: int, allowed: Rows | None, effort: float, per_result: int) -> Rows:
        """Return the positions to compare again, in rising order."""
        if len(vector) != self.dimension:
            raise wrong_size(len(vector), self.dimension)
        matching, bits = (len(self), None) if allowed is None else self._selected(allowed)
        wanted = (MIN_CANDIDATES + per_result * k) * (2 if clusters_of(self.faiss_index) > 1 else 1) * effort
        if matching <= max(k, MAX_COMPARED_DIRECTLY, wanted):
            if allowed is None:
                return np.flatnonzero(self._is_live.filled)
            return np.sort(self._positions_of(allowed))
        count = int(max(k, wanted))
        for clusters in (self._clusters_to_search(matching, effort), clusters_of(self.faiss_index)):
            if allowed is None:
                found = self._search_live(vector, count, clusters)
            else:
                found = self._search(vector, count, bits, clusters)
            if len(found) >= k:
                break
        return np.sort(found)

    def _clusters_to_search(self, matching: int, effort: float) -> int:
        """Return how many clusters to search; the fewer vectors match a filter, the more, at much the same cost."""
        clusters = clusters_of(self.faiss_index)
        usual = max(_MIN_CLUSTERS_SEARCHED, clusters / CLUSTERS_SEARCHED) * effort
        return int(min(clusters, np.ceil(usual * len(self) / matching)))

    def _search_live(self, vector: Vectors, count: int, clusters: int) -> Rows:
        """Return the positions of the nearest codes that aren't tombstones, best first."""
        # With a bit for each code, FAISS takes a little longer, and the bits are made anew after each change. So
        # tombstones are left out afterwards, unless they are most of what was found.
        asked = count + min(count, self.tombstones)
        found = self._search(vector, asked, None, clusters)
        live = found[self._is_live.filled[found]][:count]
        is_enough = len(live) == count or len(found) < asked
        return live if is_enough else self._search(vector, count, self._live_bits(), clusters)

    def _search(self, vector: Vectors, count: int, bits: npt.NDArray[np.uint8] | None, clusters: int) -> Rows:
        """Return the positions of the nearest codes, best first."""
        import faiss

        bitmap: Any = faiss.IDSelectorBitmap  # its types are wrong
        settings: dict[str, Any] = {"nprobe": clusters} if clusters else {}
        if bits is not None:
            # Both must stay in variables, as FAISS holds only pointers to them.
            selector = bitmap(bits)
            settings["sel"] = selector
        kind = faiss.SearchParametersIVF if clusters else faiss.SearchParameters
        parameters = kind(**settings) if settings else None
        with threads_for(1):
            _, positions = self.faiss_index.search(vector[None, :], count, params=parameters)
        found: Rows = positions[0]
        return np.asarray(found[found >= 0])

    def _forget_bits(self) -> None:
        self._bits: npt.NDArray[np.uint8] | None = None
        self._last_filter: tuple[weakref.ref[Rows], int, npt.NDArray[np.uint8]] | None = None

    def _live_bits(self) -> npt.NDArray[np.uint8] | None:
        """Return a bit for each position, set if it isn't a tombstone; ``None`` if none is."""
        if not self.tombstones:
            return None
        if self._bits is None:
            self._bits = np.packbits(self._is_live.filled, bitorder="little")
        return self._bits

    def _selected(self, allowed: Rows) -> tuple[int, npt.NDArray[np.uint8] | None]:
        """Return how many of some rows have a vector, and a bit for each position; filters often come again."""
        last = self._last_filter
        if last is not None and last[0]() is allowed:
            return last[1:]
        at = self._positions_of(allowed)
        if len(at) <= MAX_COMPARED_DIRECTLY:
            return len(at), None
        is_allowed = np.zeros(len(self._positions), dtype=np.bool_)
        is_allowed[at] = True
        bits = np.packbits(is_allowed, bitorder="little")
        self._last_filter = weakref.ref(allowed), len(at), bits
        return len(at), bits


class _Run(NamedTuple):
    """Consecutive positions.

    Attributes:
        start: The first position.
        end: The position after the last.
        rows: Their rows in rising order, each once; ``None`` if those lie in rising order already.
        positions: The position of each of these rows.
    """

    start: int
    end: int
    rows: Rows | None
    positions: npt.NDArray[np.int32] | None


class RowPositions:
    """The rows of an index by position. A row may be added again, and is at its latest position then."""

    def __init__(self, rows: Rows) -> None:
        """Start with rows at the positions from 0 on."""
        self._rows = RowStretches()
        self._rows.append(rows)
        self._runs: list[_Run] = []
        if len(rows):
            self._runs.append(self._run(0, len(rows)))

    def __len__(self) -> int:
        """Return the number of positions."""
        return len(self._rows)

    @property
    def rows(self) -> Rows:
        """The row at each position."""
        return self._rows.between(0, len(self._rows))

    def rows_at(self, positions: Rows) -> Rows:
        """Return the rows at some positions."""
        return self._rows.at(positions)

    def append(self, rows: Rows) -> None:
        """Add rows at the next positions."""
        if not len(rows):
            return
        start = len(self._rows)
        self._rows.append(rows)
        self._runs.append(self._run(start, len(self._rows)))
        while len(self._runs) > 1:
            before, last = self._runs[-2:]
            if self._follows(before, last):
                merged = _Run(before.start, last.end, None, None)
            elif before.end - before.start < 2 * (last.end - last.start):
                merged = self._run(before.start, last.end)
            else:
                break
            self._runs[-2:] = [merged]

    def positions_of(self, rows: Rows) -> Rows:
        """Return the latest position of each of some rows; `NO_POSITION` for a row that was never added."""
        found = np.full(len(rows), NO_POSITION, dtype=np.int64)
        for run in reversed(self._runs):
            missing = np.flatnonzero(found == NO_POSITION)
            if not len(missing):
                break
            wanted = rows[missing]
            if run.rows is None or run.positions is None:
                is_here, at = self._rows.find(wanted, run.start, run.end)
            else:
                place = np.minimum(np.searchsorted(run.rows, wanted), len(run.rows) - 1)
                is_here = run.rows[place] == wanted
                at = run.positions[place[is_here]]
            found[missing[is_here]] = at
        return found

    def _follows(self, before: _Run, last: _Run) -> bool:
        """Return whether two runs lie in rising order together."""
        if before.rows is not None or last.rows is not None:
            return False
        last_before, first = self._rows.at(np.array([before.end - 1, last.start]))
        return bool(last_before < first)

    def _run(self, start: int, end: int) -> _Run:
        rows = self._rows.between(start, end)
        if bool(np.all(rows[1:] > rows[:-1])):
            return _Run(start, end, None, None)
        order = np.argsort(rows, kind="stable")
        in_order = rows[order]
        is_latest = np.append(in_order[1:] != in_order[:-1], True)
        return _Run(start, end, in_order[is_latest], (order[is_latest] + start).astype(np.int32))


class RowStretches:
    """The row at each position, from 0 on."""

    def __init__(self) -> None:
        """Start empty."""
        none = np.empty(0, dtype=np.int64)
        self._starts: GrowableArray[np.int64] = GrowableArray(none)
        self._firsts: GrowableArray[np.int64] = GrowableArray(none)
        self._count = 0

    def __len__(self) -> int:
        """Return the number of positions."""
        return self._count

    def append(self, rows: Rows) -> None:
        """Add rows at the next positions."""
        if not len(rows):
            return
        begins = np.append(0, np.flatnonzero(rows[1:] != rows[:-1] + 1) + 1)
        if self._count and self.at(np.array([self._count - 1]))[0] + 1 == rows[0]:
            begins = begins[1:]  # the last stretch goes on
        self._starts.append(begins + self._count)
        self._firsts.append(rows[begins])
        self._count += len(rows)

    def at(self, positions: Rows) -> Rows:
        """Return the rows at some positions."""
        starts = self._starts.filled
        stretch = np.searchsorted(starts, positions, side="right") - 1
        return np.asarray(self._firsts.filled[stretch] + (positions - starts[stretch]))

    def between(self, start: int, end: int) -> Rows:
        """Return the rows at the positions from ``start`` to before ``end``."""
        if start >= end:
            return np.empty(0, dtype=np.int64)
        starts, firsts = self._touching(start, end)
        lengths = np.diff(np.append(np.maximum(starts, start), end))
        return np.arange(start, end) + np.repeat(firsts - starts, lengths)

    def find(self, rows: Rows, start: int, end: int) -> tuple[npt.NDArray[np.bool_], Rows]:
        """Look for rows at the positions from ``start`` to before ``end``, where rows must be in rising order.

        Returns:
            Whether each is there, and the positions of those that are.
        """
        starts, firsts = self._touching(start, end)
        stretch = np.maximum(np.searchsorted(firsts, rows, side="right") - 1, 0)
        positions = starts[stretch] + (rows - firsts[stretch])
        ends = np.append(starts[1:], end)[stretch]
        is_here = (positions >= np.maximum(starts[stretch], start)) & (positions < ends)
        return is_here, positions[is_here]

    def _touching(self, start: int, end: int) -> tuple[Rows, Rows]:
        """Return the starts and first rows of the stretches with positions from ``start`` to before ``end``."""
        starts = self._starts.filled
        first, last = np.searchsorted(starts, start, side="right") - 1, np.searchsorted(starts, end, side="left")
        return starts[first:last], self._firsts.filled[first:last]
