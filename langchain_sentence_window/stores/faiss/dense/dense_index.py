"""Making indexes, and telling when one should be made anew.

An index together with the state of the database that it is at, as searches use it.

An index that keeps codes doesn't know its vectors exactly. What a search finds with it is compared with the vectors of
the database, so that scores and order are those of an exact search.

The vectors that are searched, exactly: those of the database, mixed with their neighbors'.

An index that keeps codes of them compares its best candidates with these again.

The files of a saved index, and the record of them in the database.

An index that FAISS searches alone is one file of a fixed name. One whose candidates are compared again is two files,
which must be of one moment. So they have new names each time, the record names both, and the old ones are removed after
the record is written. A process that is killed at any moment leaves a record whose files are there.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from langchain_sentence_window._primitives import Rows, Vectors
from langchain_sentence_window.embedding.vectors import mix_some
from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.stores.faiss.database.database_file import stamp_of
from langchain_sentence_window.stores.faiss.database.reads import (
    MAX_ROWS_AROUND,
    are_in,
    vectors_around,
)
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.database.store_files import (
    VECTOR_FILES_BEGIN,
    VECTORS_FILE,
    is_intact,
    is_vector_file,
    remove_abandoned,
    seal_of,
    vector_files,
)
from langchain_sentence_window.stores.faiss.dense.faiss_factory import (
    Choice,
    arrange_centroids,
    choose,
    clusters_of,
    is_coarse,
    make_faiss_index,
    min_to_train,
    threads_for,
)
from langchain_sentence_window.stores.faiss.dense.fine_vectors import DamagedRecordError, FineVectors, RecordFile
from langchain_sentence_window.stores.faiss.dense.quantized import QuantizedIndex
from langchain_sentence_window.stores.faiss.dense.vector_index import VectorIndex, read_index, write_index
from langchain_sentence_window.stores.faiss.ties import best_first, best_pairs

DenseIndex: TypeAlias = VectorIndex | QuantizedIndex
"""An index of either kind: one that FAISS searches alone, or one whose candidates are compared again."""

_TRAINING_SAMPLE_SIZE = 50_000
_MIN_TOMBSTONES = 1_000
_TRAINING_ROUNDS = 10
_CODE_TRAINING_ROUNDS = 5
_PAIRS_PER_CODE = 64
"""Vectors to train a code with. More, or more rounds, find no more; see the benchmarks page."""
_CODE_SAMPLE_SIZE = 5_000
"""Vectors to train codes with where there are no clusters to train."""


def empty_index(
    name: str,
    dimension: int,
    count: int,
    sample: Callable[[int], Vectors],
    fine: Callable[[], FineVectors],
    *,
    in_turn: Callable[[Callable[[], None]], None] = lambda step: step(),
) -> DenseIndex:
    """Create and train an index, to be filled.

    Args:
        name: Its name for FAISS's index factory, as `choose` names it.
        dimension: The vectors' length.
        count: The number of vectors that it is made for.
        sample: Returns about so many of the vectors, to train with.
        fine: Creates the records of an index whose candidates are compared again.
        in_turn: Runs a step of the training, which takes seconds at most; it may raise an exception to end it.
    """
    index = make_faiss_index(name, dimension)
    if not index.is_trained:
        _train(index, sample(_sample_size(index)), in_turn)
    rows = np.empty(0, dtype=np.int64)
    empty: DenseIndex
    if is_coarse(index):
        empty = QuantizedIndex(name, index, fine(), rows, count)
    else:
        empty = VectorIndex(index, rows, count, name=name)
    empty.reserve(count)
    return empty


def change_due(index: DenseIndex, asked: str) -> Choice | None:
    """Return the index that should replace one, and why; ``None`` if it should stay.

    Args:
        index: The present index.
        asked: The name that was asked for; see `choose`.
    """
    chosen = choose(asked, index.dimension, len(index), index.name)
    if chosen.name != index.name:
        return chosen
    if index.tombstones > max(len(index), _MIN_TOMBSTONES):
        return Choice(chosen.name, f"{index.tombstones:,} of its vectors are removed ones")
    outgrown = index.trained_on < _TRAINING_SAMPLE_SIZE and len(index) > 4 * index.trained_on
    if outgrown and not make_faiss_index(chosen.name, index.dimension).is_trained:
        return Choice(chosen.name, f"it was trained with {index.trained_on:,} vectors only")
    return None


def _sample_size(index: Any) -> int:
    """Return about how many vectors to train an index with."""
    import faiss

    trains_codes_alone = isinstance(index, faiss.IndexIVFPQFastScan) and clusters_of(index) == 1
    return max(_CODE_SAMPLE_SIZE if trains_codes_alone else _TRAINING_SAMPLE_SIZE, min_to_train(index))


def _train(index: Any, sample: Vectors, in_turn: Callable[[Callable[[], None]], None]) -> None:
    import faiss

    clusters = clusters_of(index)

    def train_with_threads(train: Callable[[], object]) -> Callable[[], None]:
        def step() -> None:
            with threads_for():
                train()

        return step

    if clusters:
        index.cp.min_points_per_centroid = 1  # no line on stderr for a sample that is a little small
        centroids: Vectors | None = None
        for _ in range(_TRAINING_ROUNDS if clusters > 1 else 1):
            clustering = faiss.Clustering(index.d, clusters, index.cp)
            clustering.niter = 1
            if centroids is not None:
                faiss.copy_array_to_vector(centroids.ravel(), clustering.centroids)
            assignment = make_faiss_index("Flat", index.d)
            in_turn(train_with_threads(partial(clustering.train, sample, assignment)))
            centroids = faiss.vector_to_array(clustering.centroids).reshape(clusters, index.d)
        index.quantizer.add(centroids)
    # With its clusters known, little is left to train.
    if isinstance(index, faiss.IndexIVFPQFastScan):
        in_turn(partial(_train_codes, index, sample))
    else:
        in_turn(train_with_threads(lambda: index.train(sample)))


def _train_codes(index: Any, sample: Vectors) -> None:
    """Train the codes of fast scan, of which each pair of numbers has 16."""
    training = index.pq.cp
    training.min_points_per_centroid, training.max_points_per_centroid = 1, _PAIRS_PER_CODE
    training.niter = _CODE_TRAINING_ROUNDS
    with threads_for(1):  # each pair is so little work that threads would only wait for each other
        index.train(sample)
    arrange_centroids(index)


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
            return best_pairs(self._snapshot, index.search(vector, k, allowed, effort), k)
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


def exact_cosines(snapshot: Snapshot, vector: Vectors, rows: Rows, weights: Sequence[float]) -> Vectors:
    """Compare a unit vector with the vectors of some rows.

    Args:
        snapshot: The state of the database.
        vector: A unit vector of shape ``(dimension,)``.
        rows: The rows, each once.
        weights: The weights of a sentence and its neighbors in each vector.

    Returns:
        The cosine of each row, in their order; `numpy.nan` for a row that doesn't exist.
    """
    cosines = np.full(len(rows), np.nan, dtype=np.float32)
    order = np.argsort(rows)
    for start in range(0, len(rows), MAX_ROWS_AROUND):
        part = order[start : start + MAX_ROWS_AROUND]
        wanted = rows[part]
        around = vectors_around(snapshot.execute, wanted.tolist(), len(weights) - 1)
        if around is None:
            continue
        found, vectors, positions = around
        at = np.searchsorted(wanted, found)
        is_wanted = np.flatnonzero(wanted[np.minimum(at, len(wanted) - 1)] == found)
        mixed = mix_some(vectors, positions, weights, is_wanted)
        # Not by a product of matrices, whose threads don't survive a fork.
        cosines[part[at[is_wanted]]] = np.einsum("ij,j->i", mixed, vector)
    return cosines


RECORDS_FILE = "vectors.records"
"""The name that the records of an unfinished index begin with."""

_TOKENS = 2**62


def save_index(folder: Path, index: DenseIndex) -> tuple[dict[str, Any], Callable[[], None]]:
    """Write an index into files in a folder, while others search it.

    Returns:
        The record of the files, and a function that makes the index read from them, while nobody searches it.

    Raises:
        StoreError: They can't be written; the old ones are unchanged.
        DamagedRecordError: The present file of records was damaged.
    """
    record = {"index": index.name, "trained_on": index.trained_on}
    if isinstance(index, VectorIndex):
        return {**record, "file": VECTORS_FILE, "seal": index.save(folder / VECTORS_FILE)}, lambda: None
    name = f"{VECTOR_FILES_BEGIN}.{secrets.token_hex(8)}"
    try:
        file = index.fine.write(folder / f"{name}.records")
    except OSError as error:
        raise StoreError(
            f"{str(folder / name)!r} can't be written: {error}; make room, or go on without it, as the database has "
            "everything"
        ) from error
    seal = write_index(folder / f"{name}.faiss", index.faiss_index, index.ids)
    records = {"file": f"{name}.records", "token": file.token, "count": file.count}
    return {**record, "file": f"{name}.faiss", "seal": seal, "records": records}, lambda: index.fine.adopt(file)


def load_index(folder: Path, saved: Mapping[str, Any], *, mapped: bool) -> DenseIndex | None:
    """Load the index that was saved.

    Args:
        folder: The folder of its files.
        saved: The record of them.
        mapped: Whether to leave the vectors in the file and read them on demand.

    Returns:
        The index; ``None`` if a file isn't as it was written, or this release of FAISS can't read it.
    """
    file = folder / file_name(saved)
    before = stamp_of(file)
    if not is_intact(seal_of(file), saved["seal"]):
        return None
    found = read_index(file, mapped=mapped)
    if found is None or before != stamp_of(file):
        return None  # written by another release of FAISS, or replaced by another process
    name, trained_on = str(saved["index"]), int(saved["trained_on"])
    if not is_coarse(found.index):
        return VectorIndex(found.index, found.rows, trained_on, name=name, owner=found.owner, is_mapped=mapped)
    fine = _load_records(folder, saved.get("records"), int(found.index.d), len(found.rows))
    if fine is None:
        return None
    return QuantizedIndex(name, found.index, fine, found.rows, trained_on, owner=found.owner, is_mapped=mapped)


def _load_records(folder: Path, saved: Any, dimension: int, count: int) -> FineVectors | None:
    if not isinstance(saved, dict) or not is_vector_file(str(saved.get("file"))) or saved.get("count") != count:
        return None
    token = saved.get("token")
    if not isinstance(token, int) or not 0 <= token < _TOKENS:
        return None
    try:
        file = RecordFile.open(folder / saved["file"], dimension, count, token)
    except DamagedRecordError:
        return None
    return FineVectors(dimension, file)


def file_name(saved: Mapping[str, Any]) -> str:
    """Return the name of the FAISS file of a saved index; never one of another folder, whatever the record says."""
    name = str(saved.get("file", VECTORS_FILE))
    return name if is_vector_file(name) else VECTORS_FILE


def remove_others(folder: Path, saved: Mapping[str, Any] | None) -> None:
    """Remove the files of indexes that aren't the saved one, and abandoned ones. Nobody may be saving meanwhile."""
    records = {} if saved is None else saved.get("records") or {}
    kept = {"" if saved is None else file_name(saved), records.get("file")}
    for path in vector_files(folder):
        if path.name not in kept:
            with suppress(OSError):  # Windows keeps files that others have open
                path.unlink()
    remove_abandoned(folder / VECTOR_FILES_BEGIN)
