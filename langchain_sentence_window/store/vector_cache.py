"""Keeps a FAISS index in step with the database, for many threads that search and one that writes."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from langchain_sentence_window.embedding.mixing import Vectors, in_context, normalised
from langchain_sentence_window.store.database import Database
from langchain_sentence_window.store.locks import ReadersWriterLock
from langchain_sentence_window.store.reading import Snapshot
from langchain_sentence_window.store.seals import seal_of
from langchain_sentence_window.store.tables import Changes, Rows, Version
from langchain_sentence_window.store.vectors import VectorIndex

T = TypeVar("T")

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
            weights: How much of its neighbours each vector is given; ``(1,)`` for nothing.
        """
        self._database = database
        self._file = file
        self._factory = factory
        self._weights = tuple(weights)
        self._lock = ReadersWriterLock()
        self._index: VectorIndex | None = None
        self._at: Version | None = None

    @property
    def tombstones(self) -> int:
        """Vectors that were removed and still take room."""
        return self._index.tombstones if self._index else 0

    @property
    def wasted_bytes(self) -> int:
        """Bytes of memory they take."""
        return self._index.wasted_bytes if self._index else 0

    def read(self, work: Callable[[Snapshot, VectorIndex | None], T]) -> T:
        """Do something with one state of the database and the index of that very state.

        Args:
            work: Is given both; no index where the database never had a vector.
        """
        for _ in range(_TRIES):
            with self._lock.reading(), self._database.snapshot() as snapshot:
                if self._at == snapshot.version:
                    return work(snapshot, self._index)
            self.catch_up()
        # Others write faster than this thread gets to read.
        with self._lock.writing(), self._database.snapshot() as snapshot:
            self._advance(snapshot)
            return work(snapshot, self._index)

    def ask(self, question: Callable[[VectorIndex], T]) -> tuple[T, Version] | None:
        """Ask the index as it is, even if it is behind; return of which write that is, too.

        ``None`` if there is no index yet.
        """
        with self._lock.reading():
            if self._index is None or self._at is None:
                return None
            return question(self._index), self._at

    def catch_up(self) -> None:
        """Bring the index to the state of the database."""
        with self._lock.writing(), self._database.snapshot() as snapshot:
            self._advance(snapshot)

    def follow(self) -> None:
        """Catch up after a write, if there is an index yet; build it anew where that is due."""
        if self._index is None:
            return
        self.catch_up()
        if self._index is not None and self._index.is_due(self._factory):
            # Others search the old one meanwhile.
            with self._database.snapshot() as snapshot:
                version, built = snapshot.version, self._built(snapshot)
            with self._lock.writing():
                self._index, self._at = built, version
            self.catch_up()

    def close(self) -> None:
        """Let go of the index, and of its file."""
        with self._lock.writing():
            self._index = self._at = None

    def save(self) -> None:
        """Write the index into its file.

        Raises:
            StoreError: The file can't be written.
        """
        if self._file is None:
            return
        # In a transaction, so that the file and what is noted of it are of one process.
        with self._database.transaction() as transaction:
            with self._lock.writing():
                self._advance(transaction)
            with self._lock.reading():
                if self._index is None or self._at is None:
                    return
                noted = {
                    "generation": self._at[0],
                    "token": self._at[1],
                    "index": self._factory,
                    "weights": self._weights,
                    "trained_on": self._index.trained_on,
                    "seal": self._index.save(self._file),
                }
            transaction.set_fact(_FACT, noted)

    def _advance(self, snapshot: Snapshot) -> None:
        """Bring the index to a state; whoever calls holds the lock alone."""
        version = snapshot.version
        if self._at == version:
            return
        try:
            changes = snapshot.changes_since(*self._at) if self._at else None
            if self._index is None or changes is None or self._index.is_mapped:
                self._index, changes = self._read_file(snapshot, version)
            if self._index is None:
                self._index = self._built(snapshot)
            elif changes is not None:
                self._apply(changes, snapshot, self._index)
        except BaseException:
            # Half of it may be done, e.g. after Ctrl-C.
            self._index = self._at = None
            raise
        self._at = version

    def _read_file(self, snapshot: Snapshot, version: Version) -> tuple[VectorIndex | None, Changes | None]:
        """Read the saved index, and what it lacks."""
        saved = snapshot.fact(_FACT)
        if self._file is None or saved is None:
            return None, None
        if (saved["index"], tuple(saved["weights"])) != (self._factory, self._weights):
            return None, None
        changes = snapshot.changes_since(saved["generation"], saved["token"])
        if changes is None or seal_of(self._file) != saved["seal"]:
            return None, None
        is_current = (saved["generation"], saved["token"]) == version
        mapped = self._database.read_only and is_current
        before = self._file.stat()
        index = VectorIndex.load(self._file, saved["trained_on"], mapped=mapped)
        after = self._file.stat()
        if (before.st_ino, before.st_mtime_ns) != (after.st_ino, after.st_mtime_ns):
            return None, None  # another process put another file there
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
                index.add(rows, normalised(vectors))
            return
        # All sentences of a document that changed may have new neighbours.
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
                yield rows, normalised(vectors)

    def _mixed(self, snapshot: Snapshot, sql: str) -> Iterator[tuple[Rows, Vectors]]:
        for rows, vectors, places in snapshot.vectors_in_order((sql, [])):
            yield rows, np.ascontiguousarray(in_context(vectors, places, self._weights))
