"""A FAISS index over the rows of the database.

FAISS numbers vectors by position. In an array of codes (Flat, SQ8, SQfp16), vectors are removed in place, by moving the
last ones into the gaps. Other indexes (HNSW, IVF) keep removed vectors as tombstones, which no search returns, until
they are rebuilt.
"""

import math
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from langchain_sentence_window._primitives import Rows, Vectors
from langchain_sentence_window.errors import StoreError, wrong_size
from langchain_sentence_window.stores.faiss.database.store_files import Seal, new_file, seal_of
from langchain_sentence_window.stores.faiss.search_reads import with_tied

from . import faiss_factory

MIN_SHARE_TO_APPROXIMATE = 0.5
"""The least share of vectors that a filter must match for an approximate search with HNSW or IVF. Below it, all
matching vectors are compared, as a search along a graph fails where most nodes are excluded."""

MIN_EF_SEARCH = 64
"""The least number of candidates in an HNSW search (its efSearch); twice ``k``, if that is more."""

_DEAD = -1


class VectorIndex:
    """Unit vectors by row, searched by inner product, which is their cosine.

    Attributes:
        faiss_index: The FAISS index, to be written to a file too.
        dimension: The length of the vectors.
        in_memory: The number of vectors that another kind of index has in a file.
    """

    def __init__(
        self,
        index: Any,
        rows: Rows,
        trained_on: int,
        *,
        name: str = "Flat",
        owner: Any = None,
        is_mapped: bool = False,
    ) -> None:
        """Search a FAISS index.

        Args:
            index: The index as FAISS created or loaded it.
            rows: The row of each position; negative for a tombstone.
            trained_on: The number of vectors when it was trained.
            name: Its name for FAISS's index factory.
            owner: The object that frees the index when it is collected, if not the index itself.
            is_mapped: Whether its vectors are mapped from a file, so that none can be added or removed.
        """
        import faiss

        self.name = name
        self.dimension = int(index.d)
        self.in_memory = 0
        self.is_exact = faiss_factory.is_exact(index)
        self.faiss_index, self._library = index, cast("Any", faiss)  # its types are wrong
        self._owner = owner
        self._is_codes = faiss_factory.has_codes(index)
        self._clusters = faiss_factory.clusters_of(index)
        self._codes = faiss_factory.CodeBuffer(index) if self._is_codes and not is_mapped else None
        self._rows: faiss_factory.GrowableArray[np.int64] = faiss_factory.GrowableArray(rows)
        self._by_row: Rows | None = None
        self.trained_on = trained_on
        self.is_mapped = is_mapped
        self.tombstones = int(np.count_nonzero(rows == _DEAD))

    def __len__(self) -> int:
        """Return the number of vectors, without tombstones."""
        return len(self._rows.filled) - self.tombstones

    @property
    def wasted_bytes(self) -> int:
        """The bytes of memory that tombstones take up."""
        clustered_or_flat = self.faiss_index if hasattr(self.faiss_index, "code_size") else self._storage()
        return self.tombstones * int(clustered_or_flat.code_size)

    @property
    def ids(self) -> Rows:
        """The row of each position; negative for a tombstone."""
        return self._rows.filled

    def reserve(self, count: int) -> None:
        """Make room for so many vectors in total."""
        if self._codes:
            self._codes.reserve(count)

    def add(self, rows: Rows, vectors: Vectors) -> None:
        """Add unit vectors of shape ``(len(rows), dimension)`` for rows that aren't in the index yet."""
        with faiss_factory.threads_for(len(rows)):
            if self._codes:
                self._codes.add(vectors)
            else:
                self.faiss_index.add(vectors)
        self._rows.append(rows)
        self._by_row = None

    def remove(self, rows: Rows) -> None:
        """Remove vectors; rows without one are ignored."""
        at = np.flatnonzero(np.isin(self._rows.filled, rows))
        if not len(at):
            return
        if self._codes:
            self._codes.codes.remove(at)
            self._codes.show()
            self._rows.remove(at)
        else:
            self._rows.filled[at] = _DEAD
            self.tombstones += len(at)
        self._by_row = None

    def discard(self) -> None:
        """Drop an index that nobody searched yet, which has no file to remove."""

    def search(self, vector: Vectors, k: int, allowed: Rows | None, effort: float = 1.0) -> list[tuple[int, float]]:
        """Find the vectors nearest to another.

        Args:
            vector: A unit vector of shape ``(dimension,)``.
            k: The number of results; there are fewer only if there are fewer vectors, and more if others are as near
                as the last.
            allowed: The rows to search; ``None`` for all.
            effort: How many times as many nodes or clusters to visit as usual; infinity for all.

        Returns:
            ``(row, cosine)``, best first, ties by row.

        Raises:
            EmbeddingError: The vector is of another length than those of the index.
        """
        rows, live = self._rows.filled, None
        found = count = len(rows) - self.tombstones
        if not count:
            return []
        if len(vector) != self.faiss_index.d:
            raise wrong_size(len(vector), self.faiss_index.d)
        if allowed is not None:
            live = np.isin(rows, allowed)
            found = int(np.count_nonzero(live))
        elif self.tombstones:
            live = rows != _DEAD
        if not found:
            return []
        if found < MIN_SHARE_TO_APPROXIMATE * count:
            effort = math.inf

        def find(wanted: int) -> list[tuple[int, float]]:
            wanted = min(wanted, found)
            pairs = self._nearest(vector, wanted, live, effort)
            return pairs if len(pairs) == wanted else self._nearest(vector, wanted, live, math.inf)

        with faiss_factory.threads_for(1):
            return with_tied(find, k)

    def cosines_of(self, vector: Vectors, rows: Rows) -> dict[int, float]:
        """Return the cosines of a unit vector and those of some rows; rows without a vector are left out.

        They are those that `search` finds.

        Raises:
            EmbeddingError: The vector is of another length than those of the index.
        """
        if type(self.faiss_index) not in (self._library.IndexFlat, self._library.IndexFlatIP):
            return dict(self.search(vector, max(1, len(rows)), rows))
        if len(vector) != self.faiss_index.d:
            raise wrong_size(len(vector), self.faiss_index.d)
        at = self._positions_of(rows)
        if not len(at):
            return {}
        query, scores = np.ascontiguousarray(vector), np.empty(len(at), dtype=np.float32)
        pointer = self._library.swig_ptr
        with faiss_factory.threads_for(1):
            self.faiss_index.compute_distance_subset(1, pointer(query), len(at), pointer(scores), pointer(at))
        found = zip(self._rows.filled[at].tolist(), scores.tolist(), strict=True)
        return {row: min(score, 1.0) for row, score in found}

    @property
    def live_rows(self) -> Rows:
        """The rows that have a vector, in any order."""
        return np.asarray(self._rows.filled[self._rows.filled != _DEAD])

    def decoded(self, rows: Rows) -> Vectors:
        """Return the vectors of some rows as the index keeps them, shape ``(len(rows), dimension)``."""
        if self._clusters:
            self.faiss_index.make_direct_map()
        return np.asarray(self.faiss_index.reconstruct_batch(self._positions_of(rows)))

    def _positions_of(self, rows: Rows) -> Rows:
        """Return the positions of some rows; those without a vector are left out."""
        filled = self._rows.filled
        if not len(filled):
            return filled
        if self._by_row is None:
            self._by_row = np.argsort(filled, kind="stable")  # they are nearly in order, so this is quick
        at = self._by_row[np.minimum(np.searchsorted(filled, rows, sorter=self._by_row), len(filled) - 1)]
        return np.asarray(at[filled[at] == rows])

    def _nearest(self, vector: Vectors, k: int, live: Any, effort: float) -> list[tuple[int, float]]:
        """Search along the graph or in the nearest clusters; compare with all live vectors if the effort is infinite.

        An array of codes is always compared as a whole.

        Returns:
            ``(row, cosine)``, best first, ties by row.
        """
        index, faiss, settings = self.faiss_index, self._library, dict[str, Any]()
        if self._clusters:
            kind = faiss.SearchParametersIVF
            usual = max(8, self._clusters // 16)
            settings["nprobe"] = max(1, math.ceil(min(self._clusters, usual * effort)))
        elif self._is_codes or math.isinf(effort):
            index, kind = index if self._is_codes else self._storage(), faiss.SearchParameters
        else:
            kind = faiss.SearchParametersHNSW
            visited = min(len(self._rows.filled), max(MIN_EF_SEARCH, 2 * k) * effort)
            settings["efSearch"] = max(k, math.ceil(visited))
        if live is not None:
            # FAISS holds only pointers to both, which stay in variables until it has searched.
            bits = np.packbits(live, bitorder="little")
            settings["sel"] = faiss.IDSelectorBitmap(bits)
        scores, positions = index.search(vector[None, :], k, params=kind(**settings) if settings else None)
        found = zip(positions[0].tolist(), self._rows.filled[positions[0]].tolist(), scores[0].tolist(), strict=True)
        pairs = [(row, min(score, 1.0)) for position, row, score in found if position >= 0]
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))

    def _storage(self) -> Any:
        """Return the vectors of an HNSW index, without its graph."""
        return self._library.downcast_index(self.faiss_index.storage)

    # The file

    def save(self, path: Path) -> Seal | None:
        """Write the index to a file, and return the file's seal; see `write_index`.

        Raises:
            StoreError: The file can't be written; the old one is unchanged.
        """
        return write_index(path, self.faiss_index, self._rows.filled)


class LoadedIndex(NamedTuple):
    """An index from a file.

    Attributes:
        index: The index.
        rows: Its ids.
        owner: The object that frees the index when it is collected.
    """

    index: Any
    rows: Rows
    owner: Any


def write_index(path: Path, index: Any, rows: Rows) -> Seal | None:
    """Write an index to a file, so that the old or the new file is complete at any moment.

    Args:
        path: The file.
        index: The index.
        rows: The id of each of its positions.

    Returns:
        The file's seal.

    Raises:
        StoreError: The file can't be written; the old one is unchanged.
    """
    import faiss

    wrapper: Any = faiss.IndexIDMap(faiss_factory.make_faiss_index("Flat", index.d))
    wrapper.index, wrapper.ntotal = index, index.ntotal
    faiss.copy_array_to_vector(rows, wrapper.id_map)
    try:
        with new_file(path) as part:
            faiss.write_index(wrapper, str(part))
            seal = seal_of(part)
    except (OSError, RuntimeError) as error:
        raise StoreError(
            f"{str(path)!r} can't be written: {error}; make room, or go on without it, as the database has everything"
        ) from error
    return seal


def read_index(path: Path, *, mapped: bool) -> LoadedIndex | None:
    """Load an index from a file whose checksum was verified.

    Args:
        path: A file that `write_index` wrote.
        mapped: Whether to leave the vectors in the file and read them on demand, if FAISS can. None can be added or
            removed then.

    Returns:
        The index; ``None`` if this release of FAISS can't read it, as another may have written it.
    """
    import faiss

    try:
        wrapper: Any = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
        if not mapped and faiss_factory.is_left_in_file(faiss.downcast_index(wrapper.index)):
            wrapper = faiss.read_index(str(path))
        rows = faiss.vector_to_array(wrapper.id_map)
    except (RuntimeError, AttributeError):
        return None
    faiss.Int64Vector().swap(wrapper.id_map)  # frees its memory
    index = faiss.downcast_index(wrapper.index)
    faiss_factory.arrange_centroids(index)
    return LoadedIndex(index, rows, wrapper)
