"""Keeping a FAISS index in step with the database, for many threads that search and one that writes."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np

from langchain_sentence_window._types import Rows, Vectors
from langchain_sentence_window.embedding.mixing import mix_neighbors, normalized
from langchain_sentence_window.stores.faiss.damaged_cache import is_intact
from langchain_sentence_window.stores.faiss.database.checksums import seal_of
from langchain_sentence_window.stores.faiss.database.database import Database
from langchain_sentence_window.stores.faiss.database.locks import AccessLock
from langchain_sentence_window.stores.faiss.database.schema import Changes, Version
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.database.state_files import stamp_of
from langchain_sentence_window.stores.faiss.database.transaction import Transaction
from langchain_sentence_window.stores.faiss.dense.index import VectorIndex

T = TypeVar("T")

Current: TypeAlias = tuple[VectorIndex | None, Version | None]
"""An index, and the version of the database that it is at."""

_NOTHING: Current = (None, None)
VECTORS_FACT = "vectors"
"""The name of the fact that describes the saved index."""

_MAX_ATTEMPTS = 3


class VectorCache:
    """A FAISS index of one state of the database, which catches up before each search."""

    def __init__(self, database: Database, file: Path | None, factory: str, weights: Sequence[float]) -> None:
        """Start empty; the first search loads the file, or builds the index.

        Args:
            database: The database to cache.
            file: The file of the saved index; ``None`` for a store in memory.
            factory: The name of the index for FAISS's index factory.
            weights: The weights of a sentence and its neighbors in each vector; ``(1,)`` for no mixing.
        """
        self._database = database
        self._file = file
        self._factory = factory
        self._weights = tuple(weights)
        self._lock = AccessLock()
        # Replaced as a whole, so that no exception can leave an index with the version of another.
        self._current: Current = _NOTHING

    @property
    def tombstones(self) -> int:
        """The number of removed vectors that still take up memory."""
        index, _ = self._current
        return 0 if index is None else index.tombstones

    @property
    def wasted_bytes(self) -> int:
        """The bytes of memory that tombstones take up."""
        index, _ = self._current
        return 0 if index is None else index.wasted_bytes

    def read(self, work: Callable[[Snapshot, VectorIndex | None], T]) -> T:
        """Run a function with one state of the database and the index of the same state.

        Args:
            work: A function of both; the index is ``None`` if the database never had a vector.
        """

        def if_current(snapshot: Snapshot) -> tuple[T] | None:
            index, version = self._current
            return (work(snapshot, index),) if version == snapshot.version else None

        for _ in range(_MAX_ATTEMPTS):
            done = self._lock.read(lambda: self._database.read(if_current))
            if done is not None:
                return done[0]
            self.catch_up()
        # Others write faster than this thread can read.
        return self._lock.write(lambda: self._advance_and(work))

    def ask(self, question: Callable[[VectorIndex], T]) -> tuple[T, Version] | None:
        """Run a function with the index as it is, even if it is out of date.

        Returns:
            The result and the version of the index; ``None`` if there is no index yet.
        """

        def answer() -> tuple[T, Version] | None:
            index, version = self._current
            return None if index is None or version is None else (question(index), version)

        return self._lock.read(answer)

    def catch_up(self) -> None:
        """Bring the index up to date with the database."""
        self._lock.write(lambda: self._put(self._database.read(self._advanced)))

    def catch_up_after_write(self) -> None:
        """Catch up after a write, if there is an index yet, and rebuild the index if that is due."""
        if self._current[0] is None:
            return
        self.catch_up()
        index, _ = self._current
        if index is not None and index.needs_rebuild(self._factory):
            # Others search the old index meanwhile.
            built: Current = self._database.read(lambda snapshot: (self._built(snapshot), snapshot.version))
            self._lock.write(lambda: self._put(built))
            self.catch_up()

    def close(self) -> None:
        """Release the index and its file."""
        self._lock.write(lambda: self._put(_NOTHING))

    def after_fork(self, *, was_quiet: bool) -> None:
        """Start afresh in the child process; drop an index that another thread may have been changing."""
        self._lock.reset()
        if not was_quiet:
            self._put(_NOTHING)

    def save(self) -> None:
        """Write the index into its file.

        Raises:
            StoreError: The file can't be written.
        """
        file = self._file
        if file is not None:
            # In a transaction, so that the file and its record are from one process.
            self._database.write(lambda transaction: self._save(file, transaction))

    def _save(self, file: Path, transaction: Transaction) -> None:
        index, version = self._lock.write(lambda: self._put(self._advanced(transaction)))
        if index is None or version is None:
            return
        record = {
            "generation": version[0],
            "token": version[1],
            "index": self._factory,
            "weights": self._weights,
            "trained_on": index.trained_on,
            "seal": self._lock.read(lambda: index.save(file)),
        }
        transaction.set_fact(VECTORS_FACT, record)

    def _put(self, current: Current) -> Current:
        self._current = current
        return current

    def _advance_and(self, work: Callable[[Snapshot, VectorIndex | None], T]) -> T:
        def advance_and(snapshot: Snapshot) -> tuple[Current, T]:
            current = self._advanced(snapshot)
            return current, work(snapshot, current[0])

        current, result = self._database.read(advance_and)
        self._put(current)
        return result

    def _advanced(self, snapshot: Snapshot) -> Current:
        """Return the index of a state; the caller holds the lock exclusively, and puts the index in place."""
        version, current = snapshot.version, self._current
        if current[0] is not None and current[1] == version:
            return current
        # An exception such as Ctrl-C may interrupt the changes; there is no index then.
        index, at = current
        self._put(_NOTHING)
        changes = snapshot.changes_since(*at) if at else None
        if index is None or changes is None or index.is_mapped or index.dimension != snapshot.fact("dimension"):
            index, changes = self._read_file(snapshot, version)
        if index is None:
            index = self._built(snapshot)
        elif changes is not None:
            self._apply(changes, snapshot, index)
        return index, version

    def _read_file(self, snapshot: Snapshot, version: Version) -> tuple[VectorIndex | None, Changes | None]:
        """Load the saved index, and the changes since it was saved."""
        saved = snapshot.fact(VECTORS_FACT)
        if self._file is None or saved is None:
            return None, None
        if (saved["index"], tuple(saved["weights"])) != (self._factory, self._weights):
            return None, None
        changes = snapshot.changes_since(saved["generation"], saved["token"])
        before = stamp_of(self._file)
        if changes is None or not is_intact(seal_of(self._file), saved["seal"]):
            return None, None
        is_current = (saved["generation"], saved["token"]) == version
        mapped = self._database.read_only and is_current
        index = VectorIndex.load(self._file, saved["trained_on"], mapped=mapped)
        if index is None or before != stamp_of(self._file):
            return None, None  # written by another release of FAISS, or replaced by another process
        if index.dimension != snapshot.fact("dimension"):
            return None, None  # the store was emptied, and has another embedder now
        return index, None if is_current else changes

    def _built(self, snapshot: Snapshot) -> VectorIndex | None:
        dimension = snapshot.fact("dimension")
        if dimension is None:
            return None
        count = snapshot.state.sentences
        return VectorIndex.build(self._factory, dimension, count, snapshot.sample_vectors, self._all(snapshot))

    def _apply(self, changes: Changes, snapshot: Snapshot, index: VectorIndex) -> None:
        index.remove(changes.removed)
        if len(self._weights) == 1:
            for rows, vectors in snapshot.vectors_after(changes.last_row):
                index.add(rows, normalized(vectors))
            return
        # All sentences of a changed document may have new neighbors.
        documents = ",".join(map(str, sorted(changes.documents)))
        touched = f"document IN ({documents})"
        index.remove(snapshot.rows((touched, [])))
        for rows, vectors in self._mixed(snapshot, f"({touched} OR row > {changes.last_row})"):
            index.add(rows, vectors)

    def _all(self, snapshot: Snapshot) -> Iterator[tuple[Rows, Vectors]]:
        if len(self._weights) > 1:
            yield from self._mixed(snapshot, "1")
        else:
            for rows, vectors in snapshot.vectors_after(0):
                yield rows, normalized(vectors)

    def _mixed(self, snapshot: Snapshot, sql: str) -> Iterator[tuple[Rows, Vectors]]:
        for rows, vectors, positions in snapshot.vectors_in_order((sql, [])):
            yield rows, np.ascontiguousarray(mix_neighbors(vectors, positions, self._weights))
