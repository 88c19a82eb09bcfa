"""Keeps a FAISS index in step with the database, for many threads that search and one that writes."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np

from langchain_sentence_window._types import Rows, Vectors
from langchain_sentence_window.embedding.mixing import mix_neighbors, normalized
from langchain_sentence_window.stores.faiss.database.checksums import seal_of
from langchain_sentence_window.stores.faiss.database.database import Database
from langchain_sentence_window.stores.faiss.database.locks import AccessLock
from langchain_sentence_window.stores.faiss.database.schema import Changes, Version
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.database.state_files import looks_of
from langchain_sentence_window.stores.faiss.database.transaction import Transaction
from langchain_sentence_window.stores.faiss.dense.index import VectorIndex

T = TypeVar("T")

Current: TypeAlias = tuple[VectorIndex | None, Version | None]
"""An index, and the write it has come to."""

_NOTHING: Current = (None, None)
_FACT = "vectors"
_TRIES = 3


class VectorCache:
    """A FAISS index of one state of the database, brought up to date before it is searched."""

    def __init__(self, database: Database, file: Path | None, factory: str, weights: Sequence[float]) -> None:
        """Begin with nothing; the first search reads the file, or builds the index.

        Args:
            database: What the index is a cache of.
            file: Where it is saved; ``None`` for a store in memory.
            factory: What FAISS calls the index.
            weights: How much of its neighbors each vector is given; ``(1,)`` for nothing.
        """
        self._database = database
        self._file = file
        self._factory = factory
        self._weights = tuple(weights)
        self._lock = AccessLock()
        # Replaced as a whole, so that no exception can leave an index with the number of another write.
        self._current: Current = _NOTHING

    @property
    def tombstones(self) -> int:
        """Vectors that were removed and still take room."""
        index, _ = self._current
        return 0 if index is None else index.tombstones

    @property
    def wasted_bytes(self) -> int:
        """Bytes of memory they take."""
        index, _ = self._current
        return 0 if index is None else index.wasted_bytes

    def read(self, work: Callable[[Snapshot, VectorIndex | None], T]) -> T:
        """Do something with one state of the database and the index of that very state.

        Args:
            work: Is given both; no index where the database never had a vector.
        """

        def if_current(snapshot: Snapshot) -> tuple[T] | None:
            index, version = self._current
            return (work(snapshot, index),) if version == snapshot.version else None

        for _ in range(_TRIES):
            done = self._lock.read(lambda: self._database.read(if_current))
            if done is not None:
                return done[0]
            self.catch_up()
        # Others write faster than this thread gets to read.
        return self._lock.write(lambda: self._advance_and(work))

    def ask(self, question: Callable[[VectorIndex], T]) -> tuple[T, Version] | None:
        """Ask the index as it is, even if it is behind; return of which write that is, too.

        ``None`` if there is no index yet.
        """

        def answer() -> tuple[T, Version] | None:
            index, version = self._current
            return None if index is None or version is None else (question(index), version)

        return self._lock.read(answer)

    def catch_up(self) -> None:
        """Bring the index to the state of the database."""
        self._lock.write(lambda: self._put(self._database.read(self._advanced)))

    def follow(self) -> None:
        """Catch up after a write, if there is an index yet; build it anew where that is due."""
        if self._current[0] is None:
            return
        self.catch_up()
        index, _ = self._current
        if index is not None and index.is_due(self._factory):
            # Others search the old one meanwhile.
            built: Current = self._database.read(lambda snapshot: (self._built(snapshot), snapshot.version))
            self._lock.write(lambda: self._put(built))
            self.catch_up()

    def close(self) -> None:
        """Let go of the index, and of its file."""
        self._lock.write(lambda: self._put(_NOTHING))

    def after_fork(self, *, was_quiet: bool) -> None:
        """Begin anew in another process; what was being changed by another thread is gone."""
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
            # In a transaction, so that the file and what is noted of it are of one process.
            self._database.write(lambda transaction: self._save(file, transaction))

    def _save(self, file: Path, transaction: Transaction) -> None:
        index, version = self._lock.write(lambda: self._put(self._advanced(transaction)))
        if index is None or version is None:
            return
        noted = {
            "generation": version[0],
            "token": version[1],
            "index": self._factory,
            "weights": self._weights,
            "trained_on": index.trained_on,
            "seal": self._lock.read(lambda: index.save(file)),
        }
        transaction.set_fact(_FACT, noted)

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
        """The index of a state; whoever calls holds the lock alone, and is to put it in its place."""
        version, current = snapshot.version, self._current
        if current[0] is not None and current[1] == version:
            return current
        # Half of it may be done when an exception comes, e.g. after Ctrl-C; then there is none.
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
        """Read the saved index, and what it lacks."""
        saved = snapshot.fact(_FACT)
        if self._file is None or saved is None:
            return None, None
        if (saved["index"], tuple(saved["weights"])) != (self._factory, self._weights):
            return None, None
        changes = snapshot.changes_since(saved["generation"], saved["token"])
        before = looks_of(self._file)
        if changes is None or seal_of(self._file) != saved["seal"]:
            return None, None
        is_current = (saved["generation"], saved["token"]) == version
        mapped = self._database.read_only and is_current
        index = VectorIndex.load(self._file, saved["trained_on"], mapped=mapped)
        if index is None or before != looks_of(self._file):
            return None, None  # another release of FAISS wrote it, or another process put another file there
        if index.dimension != snapshot.fact("dimension"):
            return None, None  # it was emptied, and has another embedder by now
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
        # All sentences of a document that changed may have new neighbors.
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
        for rows, vectors, places in snapshot.vectors_in_order((sql, [])):
            yield rows, np.ascontiguousarray(mix_neighbors(vectors, places, self._weights))
