"""The store without LangChain: a database and its FAISS cache, kept in step, behind one lock."""

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from langchain_sentence_window.errors import EmbeddingError, StoreError
from langchain_sentence_window.store.database import Database, Record, Vectors
from langchain_sentence_window.store.filters import Condition
from langchain_sentence_window.store.vectors import VectorIndex

DATABASE_FILE = "sentences.sqlite3"
VECTORS_FILE = "vectors.faiss"
NO_VECTORS: Vectors = np.empty((0, 0), dtype=np.float32)


class SentenceIndex:
    """Records and their unit vectors, on disk or in memory.

    The generation of the database says whether the vectors in memory, or those in the file, are the
    current ones. If they aren't, because another process wrote or a call was interrupted, they are
    read or built anew before the next search.
    """

    def __init__(self, folder: Path | None) -> None:
        """Open the index in a folder, or make it there; ``None`` for one in memory.

        Raises:
            StoreError: The folder can't be made, or what it holds isn't an index.
            IndexMismatchError: The index has a format this version can't read.
        """
        self._folder = folder
        self._lock = threading.RLock()
        if folder:
            _make_folder(folder)
        self._database = Database(folder / DATABASE_FILE if folder else None)
        self._vectors: VectorIndex | None = None
        self._generation = -1

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._database.close()

    def __len__(self) -> int:
        """The number of records."""
        with self._lock, self._database.snapshot():
            return self._database.count()

    def embedder(self) -> str | None:
        """What describes the embedder the vectors came from; ``None`` before the first write."""
        with self._lock, self._database.snapshot():
            found: str | None = self._database.fact("embedder")
            return found

    def first(self) -> tuple[str, Vectors] | None:
        """The text and vector of the first record, if there is one."""
        with self._lock, self._database.snapshot():
            return self._database.first()

    def write(
        self,
        records: Sequence[Record] = (),
        vectors: Vectors = NO_VECTORS,
        *,
        remove: Condition | None = None,
        embedder: str | None = None,
    ) -> None:
        """Remove records and add others, replacing those with the same id, in one transaction.

        Args:
            records: What to add; each has another id.
            vectors: Unit vectors of shape ``(len(records), dimension)``.
            remove: What to remove first.
            embedder: What describes the embedder of the vectors.

        Raises:
            EmbeddingError: The vectors are of another size than those of the index.
            StoreError: SQLite can't write; nothing was changed.
        """
        with self._lock:
            with self._database.transaction():
                if records:
                    self._check_size(vectors.shape[1])
                    self._database.set_fact("dimension", vectors.shape[1])
                if embedder:
                    self._database.set_fact("embedder", embedder)
                before = self._database.generation
                change = self._database.write(self._database.rows(remove) if remove else [], records, vectors)
            if self._vectors is not None and self._generation == before:
                if records and self._vectors.dimension != vectors.shape[1]:
                    self._vectors = None  # it was empty, and made for a query of another size
                    return
                self._vectors.remove(change.removed)
                self._vectors.add(change.added, vectors)
                self._generation = before + 1

    def fetch(self, ids: Sequence[str]) -> dict[str, Record]:
        """Fetch records by id; ids that don't exist are left out."""
        with self._lock, self._database.snapshot():
            return self._database.by_ids(ids)

    def search(self, vector: Vectors, k: int, where: Condition | None = None) -> list[tuple[Record, float]]:
        """Find the ``k`` records nearest to a unit vector among those for which a condition holds.

        Returns:
            Records with their cosines, best first.

        Raises:
            EmbeddingError: The vector is of another size than those of the index.
        """
        with self._lock, self._database.snapshot():
            self._check_size(len(vector))
            nearest = self._current_vectors(len(vector)).search(
                vector, k, self._database.rows(where) if where else None
            )
            records = self._database.by_rows([row for row, _ in nearest])
        return [(records[row], cosine) for row, cosine in nearest]

    def save(self) -> None:
        """Write the vectors into their file, so that the next opening needn't rebuild them.

        Raises:
            StoreError: The index is in memory.
        """
        if self._folder is None:
            raise StoreError("the store is in memory only; give save() a path to write it to")
        with self._lock:
            with self._database.snapshot():
                dimension = self._database.fact("dimension")
                vectors = self._current_vectors(dimension) if dimension else None
            if vectors is not None:
                seal = vectors.save(self._folder / VECTORS_FILE)
                with self._database.transaction():
                    self._database.set_fact("vectors", {"generation": self._generation, "seal": seal})

    def copy_to(self, folder: Path) -> None:
        """Copy the records into a folder that holds no index yet.

        Raises:
            StoreError: The folder can't be made, or holds an index.
        """
        _make_folder(folder)
        if (folder / DATABASE_FILE).exists():
            raise StoreError(f"{str(folder)!r} holds an index already; choose another folder, or remove that one")
        with self._lock:
            self._database.copy_to(folder / DATABASE_FILE)

    def _check_size(self, size: int) -> None:
        dimension = self._database.fact("dimension")
        if dimension not in (None, size):
            raise EmbeddingError(
                f"vectors of {size} numbers don't fit an index of vectors of {dimension}; use the embedder the index "
                "was made with, or index the documents again at another path"
            )

    def _current_vectors(self, dimension: int) -> VectorIndex:
        generation = self._database.generation
        if self._vectors is None or self._generation != generation:
            saved = self._saved_vectors(dimension, generation)
            self._vectors = VectorIndex.of(dimension, self._database.vectors()) if saved is None else saved
            self._generation = generation
        return self._vectors

    def _saved_vectors(self, dimension: int, generation: int) -> VectorIndex | None:
        saved = self._database.fact("vectors")
        if self._folder is None or saved is None or saved["generation"] != generation:
            return None
        return VectorIndex.load(self._folder / VECTORS_FILE, dimension, saved["seal"])


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{str(folder)!r} can't be used as an index's folder: {error}; choose another path") from error
