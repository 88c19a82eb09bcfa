"""Making indexes, telling when one should be made anew, and the files of a saved one.

The vectors that are searched are those of the database, mixed with their neighbors'. An index is built from parts of
them that are read one by one, each in a state of its own, so that no reading lasts long. All parts skip the rows that
were added since the first. Documents that change meanwhile are read again at the end, as after any other write.

An index that FAISS searches alone is one file of a fixed name. One whose candidates are compared again is two files,
which must be of one moment. So they have new names each time, the record names both, and the old ones are removed after
the record is written. A process that is killed at any moment leaves a record whose files are there.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from langchain_sentence_window._primitives import Rows, Vectors
from langchain_sentence_window.embedding.vectors import mix_neighbors, normalized
from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.stores.faiss.database.database_file import stamp_of
from langchain_sentence_window.stores.faiss.database.reads import vectors_in_order
from langchain_sentence_window.stores.faiss.database.schema import Version
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

from . import faiss_factory
from .fine_vectors import DamagedRecordError, FineVectors, RecordFile
from .quantized import QuantizedIndex
from .vector_index import VectorIndex, read_index, write_index

DenseIndex: TypeAlias = VectorIndex | QuantizedIndex
"""An index of either kind: one that FAISS searches alone, or one whose candidates are compared again."""

PART_SIZE = 10_000
"""Rows of a part, and of a document that begins in it also the later ones."""

LAST_OF_ALL = 2**62
"""A row after any other."""

Part = tuple[Rows, Vectors]


class Place(NamedTuple):
    """How far the rows have been read.

    Attributes:
        row: The last row that was looked at.
        last_row: The last row to read.
        unfinished: Documents that were read whole, with their last rows, which come after ``row``.
    """

    row: int
    last_row: int
    unfinished: Mapping[int, int]

    @property
    def is_end(self) -> bool:
        """Whether all rows were read."""
        return self.row >= self.last_row


def start_of(snapshot: Snapshot) -> Place:
    """Return the place before the first row."""
    return Place(0, snapshot.state.last_row, {})


def next_part(snapshot: Snapshot, place: Place, weights: Sequence[float]) -> tuple[Place, list[Part]]:
    """Read the rows after a place, and all other rows of the documents that begin there.

    Args:
        snapshot: A state of the database.
        place: Where to go on.
        weights: The weights of a sentence and its neighbors in each vector.

    Returns:
        Where to go on next; rows in rising order, and their unit vectors of shape ``(n, dimension)``.
    """
    until, documents = snapshot.documents_after(place.row, place.last_row, PART_SIZE)
    if len(weights) == 1:
        parts = [(rows, normalized(vectors)) for rows, vectors in snapshot.vectors_after(place.row, until)]
        return Place(until, place.last_row, {}), parts
    began = sorted(documents - place.unfinished.keys())
    parts = [
        *of_documents(snapshot, began, weights, until=place.last_row),
        *of_none(snapshot, place.row, until=until),
    ]
    last_rows = {**place.unfinished, **snapshot.last_rows(began, until, place.last_row)}
    unfinished = {document: row for document, row in last_rows.items() if row > until}
    return Place(until, place.last_row, unfinished), _in_row_order(parts)


def of_documents(
    snapshot: Snapshot, documents: Iterable[int], weights: Sequence[float], *, until: int = LAST_OF_ALL
) -> Iterator[Part]:
    """Yield the rows of some documents, up to one, and their unit vectors."""
    numbers = ",".join(map(str, sorted(documents)))
    condition = f"document IN ({numbers}) AND row <= {until:d}"
    for rows, vectors, positions in vectors_in_order(snapshot.execute, (condition, [])):
        yield rows, np.ascontiguousarray(mix_neighbors(vectors, positions, weights))


def of_none(snapshot: Snapshot, after: int, *, until: int = LAST_OF_ALL) -> Iterator[Part]:
    """Yield the rows of no document, after one and up to another, and their unit vectors."""
    for rows, vectors in snapshot.vectors_after(after, until, of_no_document=True):
        yield rows, normalized(vectors)


def _in_row_order(parts: Sequence[Part]) -> list[Part]:
    if not parts:
        return []
    rows, vectors = (np.concatenate(each) for each in zip(*parts, strict=True))
    if np.any(np.diff(rows) < 0):  # else they needn't be copied again
        order = np.argsort(rows)
        rows, vectors = rows[order], vectors[order]
    return [(rows, vectors)]


Step: TypeAlias = Callable[[Callable[[], Any]], Any]
"""Runs a step of a change as a call of the store, and returns its result; see `change`."""

Read: TypeAlias = Callable[[Callable[[Snapshot], Any]], Any]
"""Reads one state of the database."""


class _Plan(NamedTuple):
    version: Version
    place: Place
    dimension: int
    sentences: int
    name: str


class IndexMaker:
    """Makes the index that was asked for."""

    def __init__(self, folder: Path | None, asked: str, weights: Sequence[float]) -> None:
        """Set what all indexes have in common.

        Args:
            folder: Where records are written; ``None`` keeps them in memory.
            asked: The name of the index, or ``auto``; see `choose`.
            weights: The weights of a sentence and its neighbors in each vector.
        """
        self._folder = folder
        self._asked = asked
        self._weights = weights

    def make(
        self, read: Read, present: str | None, step: Step = lambda step: step()
    ) -> tuple[DenseIndex, Version] | None:
        """Make an index, while others read and write if they may between two steps.

        Args:
            read: Reads the database.
            present: The name of the present index, if there is one.
            step: Runs a step; may raise an exception to end the work.

        Returns:
            The index, and the version to whose later changes it is to be brought up; ``None`` if the database never had
            a vector.
        """
        plan: _Plan | None = step(lambda: read(lambda snapshot: self._plan(snapshot, present)))
        if plan is None:
            return None
        index = self._empty(plan, lambda size: step(lambda: read(lambda snapshot: snapshot.sample_vectors(size))), step)
        place = plan.place
        try:
            while not place.is_end:
                place = step(partial(read, partial(self._add_part, place, index)))
        except BaseException:
            index.discard()
            raise
        return index, plan.version

    def _plan(self, snapshot: Snapshot, present: str | None) -> _Plan | None:
        dimension, count = snapshot.fact("dimension"), snapshot.state.sentences
        if dimension is None:
            return None
        name = faiss_factory.choose(self._asked, dimension, count, present).name
        return _Plan(snapshot.version, start_of(snapshot), dimension, count, name)

    def _empty(self, plan: _Plan, sample: Callable[[int], Any], step: Step) -> DenseIndex:
        new_fine = partial(self._new_fine, plan.dimension)
        return empty_index(plan.name, plan.dimension, plan.sentences, sample, new_fine, in_turn=step)

    def _add_part(self, place: Place, index: DenseIndex, snapshot: Snapshot) -> Place:
        after, parts = next_part(snapshot, place, self._weights)
        for rows, vectors in parts:
            index.add(rows, vectors)
        return after

    def _new_fine(self, dimension: int) -> FineVectors:
        if self._folder is None:
            return FineVectors(dimension)
        try:
            return FineVectors(dimension, RecordFile.new(self._folder / RECORDS_FILE, dimension))
        except OSError:
            return FineVectors(dimension)  # a search needs no room on the disk


TRAINING_SAMPLE_SIZE = 50_000
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
    index = faiss_factory.make_faiss_index(name, dimension)
    if not index.is_trained:
        _train(index, sample(_sample_size(index)), in_turn)
    rows = np.empty(0, dtype=np.int64)
    empty: DenseIndex
    if faiss_factory.is_coarse(index):
        empty = QuantizedIndex(name, index, fine(), rows, count)
    else:
        empty = VectorIndex(index, rows, count, name=name)
    empty.reserve(count)
    return empty


def _sample_size(index: Any) -> int:
    """Return about how many vectors to train an index with."""
    import faiss

    trains_codes_alone = isinstance(index, faiss.IndexIVFPQFastScan) and faiss_factory.clusters_of(index) == 1
    return max(_CODE_SAMPLE_SIZE if trains_codes_alone else TRAINING_SAMPLE_SIZE, faiss_factory.min_to_train(index))


def _train(index: Any, sample: Vectors, in_turn: Callable[[Callable[[], None]], None]) -> None:
    import faiss

    clusters = faiss_factory.clusters_of(index)

    def train_with_threads(train: Callable[[], object]) -> Callable[[], None]:
        def step() -> None:
            with faiss_factory.threads_for():
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
            assignment = faiss_factory.make_faiss_index("Flat", index.d)
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
    with faiss_factory.threads_for(1):  # each pair is so little work that threads would only wait for each other
        index.train(sample)
    faiss_factory.arrange_centroids(index)


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
    if not faiss_factory.is_coarse(found.index):
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
