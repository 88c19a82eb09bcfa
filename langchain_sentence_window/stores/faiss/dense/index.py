"""A FAISS index over the rows of the database: which are nearest. A cache; the database can rebuild it.

FAISS numbers vectors by position. Indexes that are an array of codes (Flat, SQ8, SQfp16) take removals
in place, by moving the last vectors into the gaps. The others (HNSW, IVF) keep what was removed as
tombstones, which no search returns, until they are rebuilt.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from langchain_sentence_window._types import Rows, Vectors
from langchain_sentence_window.errors import StoreError, wrong_size
from langchain_sentence_window.stores.faiss.database.checksums import Seal, seal_of
from langchain_sentence_window.stores.faiss.database.files import new_file
from langchain_sentence_window.stores.faiss.dense.code_buffer import CodeBuffer, GrowableArray
from langchain_sentence_window.stores.faiss.dense.factory import (
    clusters_of,
    fewest_to_train,
    fork_safe_threads,
    has_codes,
    load_faiss,
    make_faiss_index,
    one_thread,
)

WIDE = 0.5
"""Share of the vectors from which on a filter leaves the search to HNSW or IVF; below it, all those
that are left are compared, as a graph of which most is barred loses its way."""

LEAST_EFFORT = 64
"""Candidates an HNSW search keeps (its efSearch) at least; twice ``k``, if that is more."""

_DEAD = -1
_ENOUGH_TO_TRAIN = 50_000
_FEWEST_TOMBSTONES = 1_000


class VectorIndex:
    """Unit vectors by row number, searched by inner product, which is their cosine."""

    def __init__(self, index: Any, rows: Rows, trained_on: int, *, owner: Any = None, is_mapped: bool = False) -> None:
        """Search a FAISS index.

        Args:
            index: As FAISS made or read it.
            rows: The row of each position; below 0 for a tombstone.
            trained_on: How many vectors there were when it was trained.
            owner: What frees the index when it goes, if that isn't the index itself.
            is_mapped: Whether its vectors are in a file, so that nothing can be added or removed.
        """
        self._faiss = index
        self._owner = owner
        self._codes = CodeBuffer(index) if has_codes(index) and not is_mapped else None
        self._rows: GrowableArray[np.int64] = GrowableArray(rows)
        self.trained_on = trained_on
        self.is_mapped = is_mapped
        self.tombstones = int(np.count_nonzero(rows == _DEAD))

    @property
    def dimension(self) -> int:
        """How long the vectors are."""
        return int(self._faiss.d)

    def __len__(self) -> int:
        """The number of vectors, without tombstones."""
        return len(self._rows) - self.tombstones

    @property
    def wasted_bytes(self) -> int:
        """Bytes of memory that the vectors of tombstones take."""
        clustered_or_flat = self._faiss if hasattr(self._faiss, "code_size") else self._storage()
        return self.tombstones * int(clustered_or_flat.code_size)

    @classmethod
    def build(
        cls,
        factory: str,
        dimension: int,
        count: int,
        sample: Callable[[int], Vectors],
        parts: Iterable[tuple[Rows, Vectors]],
    ) -> "VectorIndex":
        """Train an index and fill it.

        Args:
            factory: What FAISS calls it; where there are too few vectors to train it, they are kept as
                ``Flat`` until there are enough.
            dimension: The vectors' length.
            count: How many will come.
            sample: Gives about as many of them as it is asked for, to train with.
            parts: All of them, as slices of ``(rows, vectors)``.
        """
        index = make_faiss_index(factory, dimension)
        if not index.is_trained:
            if count < fewest_to_train(index):
                index = make_faiss_index("Flat", dimension)
            else:
                with fork_safe_threads():
                    index.train(sample(max(_ENOUGH_TO_TRAIN, fewest_to_train(index))))
        built = cls(index, np.empty(0, dtype=np.int64), count)
        if built._codes:
            built._codes.reserve(count)
        for rows, vectors in parts:
            built.add(rows, vectors)
        return built

    def is_due(self, factory: str) -> bool:
        """Whether building it anew would make it better: it outgrew its training, or is half tombstones."""
        if self.tombstones > max(len(self), _FEWEST_TOMBSTONES):
            return True
        fresh = make_faiss_index(factory, self._faiss.d)
        if fresh.is_trained or len(self) < fewest_to_train(fresh):
            return False
        if type(fresh) is not type(self._faiss):
            return True
        return self.trained_on < _ENOUGH_TO_TRAIN and len(self) > 4 * self.trained_on

    def add(self, rows: Rows, vectors: Vectors) -> None:
        """Add unit vectors of shape ``(len(rows), dimension)``; none of the rows is in the index yet."""
        with fork_safe_threads():
            if self._codes:
                self._codes.add(vectors)
            else:
                self._faiss.add(vectors)
        self._rows.append(rows)

    def remove(self, rows: Rows) -> None:
        """Remove vectors; rows that aren't there are ignored."""
        at = np.flatnonzero(np.isin(self._rows.filled, rows))
        if not len(at):
            return
        if self._codes:
            self._codes.remove(at)
            self._rows.remove(at)
        else:
            self._rows.filled[at] = _DEAD
            self.tombstones += len(at)

    def search(self, vector: Vectors, k: int, allowed: Rows | None) -> list[tuple[int, float]]:
        """Find the nearest vectors.

        Args:
            vector: A unit vector of shape ``(dimension,)``.
            k: How many to find at most; so many are found if there are.
            allowed: Rows to search among; ``None`` for all.

        Returns:
            ``(row, cosine)``, best first, equal ones by row.

        Raises:
            EmbeddingError: The vector is of another size than those of the index.
        """
        if not len(self):
            return []
        if len(vector) != self._faiss.d:
            raise wrong_size(len(vector), self._faiss.d)
        live, found, is_all = None, len(self), allowed is None
        if allowed is not None:
            live = np.isin(self._rows.filled, allowed)
            found = int(np.count_nonzero(live))
        elif self.tombstones:
            live = self._rows.filled != _DEAD
        if not found:
            return []
        k = min(k, found)
        with one_thread():
            if has_codes(self._faiss) or not (is_all or found >= WIDE * len(self)):
                pairs = self._compare_all(vector, k, live)
            else:
                pairs = self._follow(vector, k, live)
                if len(pairs) < k:
                    pairs = self._compare_all(vector, k, live)
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))

    def _follow(self, vector: Vectors, k: int, live: Any) -> list[tuple[int, float]]:
        """Search as the index was made to: along the graph, or in the nearest clusters."""
        clusters = clusters_of(self._faiss)
        if clusters:
            return self._search(
                self._faiss, vector, k, live, load_faiss().SearchParametersIVF, nprobe=max(8, clusters // 16)
            )
        effort = max(LEAST_EFFORT, 2 * k)
        return self._search(self._faiss, vector, k, live, load_faiss().SearchParametersHNSW, efSearch=effort)

    def _compare_all(self, vector: Vectors, k: int, live: Any) -> list[tuple[int, float]]:
        """Compare with every vector that is live."""
        clusters = clusters_of(self._faiss)
        if clusters:
            return self._search(self._faiss, vector, k, live, load_faiss().SearchParametersIVF, nprobe=clusters)
        codes = self._faiss if has_codes(self._faiss) else self._storage()
        return self._search(codes, vector, k, live, load_faiss().SearchParameters)

    def _storage(self) -> Any:
        """The vectors of an HNSW index, without its graph."""
        return load_faiss().downcast_index(self._faiss.storage)

    def _search(
        self, index: Any, vector: Vectors, k: int, live: Any, kind: Callable[..., Any], **settings: int
    ) -> list[tuple[int, float]]:
        if live is not None:
            # Both are kept in variables, as FAISS keeps only pointers to them.
            bits = np.packbits(live, bitorder="little")
            selector = load_faiss().IDSelectorBitmap(bits)
            settings["sel"] = selector
        parameters = kind(**settings) if settings else None
        (scores,), (positions,) = index.search(vector[None, :], k, params=parameters)
        found = zip(positions.tolist(), self._rows.filled[positions].tolist(), scores.tolist(), strict=True)
        return [(row, min(score, 1.0)) for position, row, score in found if position >= 0]

    # The file

    def save(self, path: Path) -> Seal | None:
        """Write the index into a file, which is either the old one or the new one at any moment.

        It is FAISS's own format: an ``IndexIDMap`` whose ids are the rows.

        Returns:
            The file's seal.

        Raises:
            StoreError: The file can't be written; the old one is as it was.
        """
        wrapper = load_faiss().IndexIDMap(make_faiss_index("Flat", self._faiss.d))
        wrapper.index, wrapper.ntotal = self._faiss, self._faiss.ntotal
        load_faiss().copy_array_to_vector(self._rows.filled, wrapper.id_map)
        try:
            with new_file(path) as part:
                load_faiss().write_index(wrapper, str(part))
                seal = seal_of(part)
        except (OSError, RuntimeError) as error:
            raise StoreError(
                f"{str(path)!r} can't be written: {error}; make room, or go on without, as the database has everything"
            ) from error
        return seal

    @classmethod
    def load(cls, path: Path, trained_on: int, *, mapped: bool) -> "VectorIndex | None":
        """Read an index from a file that is known to be sound.

        Args:
            path: What `save` wrote.
            trained_on: As it was when it was saved.
            mapped: Whether to leave the vectors in the file, and read those that are needed. Nothing can
                be added or removed then.

        Returns:
            ``None`` if this release of FAISS can't read it, as another may have written it.
        """
        faiss = load_faiss()
        try:
            wrapper = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
            if not mapped and not has_codes(faiss.downcast_index(wrapper.index)):
                wrapper = faiss.read_index(str(path))
            rows = faiss.vector_to_array(wrapper.id_map)
        except (RuntimeError, AttributeError):
            return None
        wrapper.id_map.resize(0)
        return cls(faiss.downcast_index(wrapper.index), rows, trained_on, owner=wrapper, is_mapped=mapped)
