"""The FAISS half of the store: which sentences are nearest. A cache; the database can rebuild it."""

import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from langchain_sentence_window.store.database import Vectors

Rows: TypeAlias = npt.NDArray[np.int64]
_READ_AT_ONCE = 1 << 24


class VectorIndex:
    """Unit vectors by row number, searched exactly by inner product, which is their cosine."""

    def __init__(self, dimension: int, index: Any = None) -> None:
        """Begin with no vectors, or with those of a FAISS index."""
        self.dimension = dimension
        self._index = index or _faiss().IndexIDMap2(_faiss().IndexFlatIP(dimension))

    def __len__(self) -> int:
        """The number of vectors."""
        return int(self._index.ntotal)

    def add(self, rows: Sequence[int] | Rows, vectors: Vectors) -> None:
        """Add vectors of shape ``(len(rows), dimension)``; none of the rows is in the index yet."""
        if len(rows):
            # The database keeps half precision; rounded here, vectors rank the same after a rebuild.
            rounded = vectors.astype(np.float16).astype(np.float32)
            rounded /= np.maximum(np.linalg.norm(rounded, axis=1, keepdims=True), np.float32(1e-12))
            self._index.add_with_ids(rounded, np.asarray(rows, dtype=np.int64))

    def remove(self, rows: Sequence[int]) -> None:
        """Remove vectors; rows that aren't there are ignored."""
        if rows:
            self._index.remove_ids(_faiss().IDSelectorBatch(np.asarray(rows, dtype=np.int64)))

    def search(self, vector: Vectors, k: int, allowed: Sequence[int] | None) -> list[tuple[int, float]]:
        """Find the nearest vectors.

        Args:
            vector: A unit vector of shape ``(dimension,)``.
            k: How many to find at most.
            allowed: Rows to search among; ``None`` for all.

        Returns:
            ``(row, cosine)``, best first, equal ones by row.
        """
        found = len(self) if allowed is None else len(allowed)
        if not found:
            return []
        parameters = None
        if allowed is not None:
            # Kept in a variable, as FAISS keeps only a pointer to the selector.
            selector = _faiss().IDSelectorBatch(np.asarray(allowed, dtype=np.int64))
            parameters = _faiss().SearchParameters(sel=selector)
        scores, rows = self._index.search(vector[None, :], min(k, found), params=parameters)
        pairs = [(int(row), min(float(score), 1.0)) for row, score in zip(rows[0], scores[0], strict=True) if row >= 0]
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))

    @classmethod
    def of(cls, dimension: int, parts: Iterable[tuple[Rows, Vectors]]) -> "VectorIndex":
        """Build an index from slices of ``(rows, vectors)``."""
        index = cls(dimension)
        for rows, vectors in parts:
            index.add(rows, vectors)
        return index

    def save(self, path: Path) -> dict[str, int]:
        """Write the index into a file, which is either the old one or the new one at any moment.

        Returns:
            What `load` checks the file against: its size in bytes and its checksum.
        """
        part = path.with_suffix(".part")
        _faiss().write_index(self._index, str(part))
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        seal = _seal(part)
        part.replace(path)
        return seal

    @classmethod
    def load(cls, path: Path, dimension: int, seal: Mapping[str, int]) -> "VectorIndex | None":
        """Read an index from a file; ``None`` if the file is missing or isn't the one that was sealed."""
        try:
            if _seal(path) != seal:
                return None
        except OSError:
            return None
        return cls(dimension, _faiss().read_index(str(path)))


def _faiss() -> Any:
    """FAISS, imported on use: it takes a tenth of a second, and a program may search another store."""
    import faiss

    return faiss


def _seal(path: Path) -> dict[str, int]:
    checksum = size = 0
    with path.open("rb") as file:
        while part := file.read(_READ_AT_ONCE):
            checksum = zlib.crc32(part, checksum)
            size += len(part)
    return {"size": size, "crc32": checksum}
