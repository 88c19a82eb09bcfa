"""The 6-bit records that candidates are compared by, in a file.

Unit vectors as records of 6-bit codes.

A record holds the numbers of a vector as whole numbers from -31 to 31, the number that one of these stands for, and a
checksum. The checksum covers the position of the record and a number drawn for its file, so no record is taken for
another.

Four codes take three bytes: a byte has a code in its lower bits, and two bits of a fourth code above. The codes that
are spread this way are the last quarter of all, so that a few operations on whole arrays put them together.

Records never move. A search reads only the ones that it compares, from a file; memory holds those that came after the
file was recorded. A file that isn't recorded yet is ours alone, so records are appended to it.
"""

import errno
import os
import secrets
import weakref
from collections.abc import Iterator
from contextlib import suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import IO, TypeAlias

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._primitives import Rows, Vectors
from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.stores.faiss.database.store_files import make_part, new_file, open_regular, sync_folder

from .faiss_factory import GrowableArray

Records: TypeAlias = npt.NDArray[np.void]

BLOCK_SIZE = 4_096
"""Records that are read, compared or written at once."""

ERRORS_TO_COVER = 4.0
"""Standard deviations of a cosine's error that `cosines` gives as the error: one in 10,000 is larger."""

_LARGEST = 31
_ZERO = 32
"""Stands for 0, as codes are stored without a sign."""
_BITS = 6
_SPREAD_OVER = 3
"""Bytes over which the bits of a code of the last quarter are spread."""
_MULTIPLE = 16
"""The number of codes is a multiple of this, so that their bytes make up whole words for the checksum."""
_STEP = np.uint64(0x9E3779B97F4A7C15)


def draw_token() -> int:
    """Draw a number for a file of records."""
    return secrets.randbits(62)


def record_type(dimension: int) -> np.dtype[np.void]:
    """Return the type of the record of a vector."""
    size = _padded(dimension) * _BITS // 8
    return np.dtype([("codes", "u1", (size,)), ("unit", "<f4"), ("checksum", "<u4")])


def encoded(vectors: Vectors, kind: np.dtype[np.void]) -> Records:
    """Return the records of unit vectors of shape ``(n, dimension)``, without checksums."""
    records = np.empty(len(vectors), dtype=kind)
    highest, lowest = vectors.max(axis=1, initial=0.0), vectors.min(axis=1, initial=0.0)
    units = np.maximum(highest, -lowest) / np.float32(_LARGEST)
    records["unit"], records["checksum"] = units, 0
    scaled = vectors / np.where(units > 0, units, np.float32(1))[:, None]
    scaled += np.float32(_ZERO + 0.5)  # rounds, as what is behind the point is cut off then
    codes = np.full((len(vectors), _padded(vectors.shape[1])), _ZERO, dtype=np.uint8)
    codes[:, : vectors.shape[1]] = scaled
    records["codes"] = _packed(codes)
    return records


def decoded(records: Records, dimension: int) -> Vectors:
    """Return the vectors of records, shape ``(n, dimension)``."""
    return np.asarray(_numbers(records, dimension) * records["unit"][:, None])


def cosines(records: Records, vector: Vectors) -> tuple[Vectors, Vectors]:
    """Compare a unit vector with records.

    Returns:
        The cosine of each, and how far it may be from that of the vector before it was encoded.
    """
    codes = _numbers(records, len(vector))
    units = np.asarray(records["unit"])
    # Each number is off by up to half a unit, evenly distributed.
    errors = units * np.float32(ERRORS_TO_COVER / np.sqrt(12.0))
    # Not by a product of matrices, whose threads don't survive a fork.
    return np.einsum("ij,j->i", codes, vector) * units, errors


def sealed(records: Records, token: int, first: int) -> Records:
    """Return records with their checksums, for the positions from ``first`` on."""
    copy = records.copy()
    copy["checksum"] = _checksums(copy, token, np.arange(first, first + len(copy), dtype=np.int64))
    return copy


def are_intact(records: Records, token: int, positions: Rows) -> bool:
    """Return whether records are those that were sealed for some positions."""
    return bool(np.array_equal(records["checksum"], _checksums(records, token, positions)))


def _padded(dimension: int) -> int:
    return -(-dimension // _MULTIPLE) * _MULTIPLE


def _packed(codes: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Put codes of shape ``(n, 4 * m)`` into bytes of shape ``(n, 3 * m)``."""
    quarter = codes.shape[1] // (_SPREAD_OVER + 1)
    packed, spread = codes[:, : _SPREAD_OVER * quarter], codes[:, _SPREAD_OVER * quarter :]
    for part in range(_SPREAD_OVER):
        packed[:, part * quarter : (part + 1) * quarter] |= spread >> (2 * part) << _BITS
    return packed


def _numbers(records: Records, dimension: int) -> Vectors:
    """Return the whole numbers of records, shape ``(n, dimension)``."""
    packed = records["codes"]
    quarter = packed.shape[1] // _SPREAD_OVER
    codes = np.empty((len(packed), (_SPREAD_OVER + 1) * quarter), dtype=np.uint8)
    np.bitwise_and(packed, (1 << _BITS) - 1, out=codes[:, : _SPREAD_OVER * quarter])
    above, spread = packed >> _BITS, codes[:, _SPREAD_OVER * quarter :]
    spread[:] = 0
    for part in range(_SPREAD_OVER):
        spread |= above[:, part * quarter : (part + 1) * quarter] << (2 * part)
    codes -= np.uint8(_ZERO)
    return codes.view(np.int8)[:, :dimension].astype(np.float32)


def _checksums(records: Records, token: int, positions: Rows) -> npt.NDArray[np.uint32]:
    """Return the upper half of a sum of products with odd numbers, modulo ``2**64``, mixed.

    Two different records have the same once in four billion times.
    """
    words = np.ascontiguousarray(records).view("<u4").reshape(len(records), -1)[:, :-1]
    keys = _mixed(np.arange(words.shape[1] + 1, dtype=np.uint64) * _STEP + np.uint64(token)) | np.uint64(1)
    sums = np.einsum("ij,j->i", words.astype(np.uint64), keys[1:])
    return np.asarray(_mixed(sums + (positions.astype(np.uint64) + np.uint64(1)) * keys[0]) >> np.uint64(32), np.uint32)


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Mix the bits of numbers, as SplitMix64 does; see https://prng.di.unimi.it/splitmix64.c."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


class DamagedRecordError(StoreError):
    """A record of the file isn't as it was written, so the index has to be built again."""

    def __init__(self, path: Path, what: str) -> None:
        """Name the file and what is wrong with it."""
        super().__init__(f"{str(path)!r} {what}; search again, which builds the index again from the database")


class RecordFile:
    """A file of records, of which single ones are read."""

    def __init__(self, path: Path, file: IO[bytes], dimension: int, count: int, token: int, *, is_ours: bool) -> None:
        """Read an open file.

        Args:
            path: Where it is.
            file: The file, open to read; to write too, if it is ours.
            dimension: The length of the vectors.
            count: The number of records.
            token: The number that was drawn for it.
            is_ours: Whether no other process knows it. It is removed with this object then, until it is given away.
        """
        self.path = path
        self.dimension = dimension
        self.count = count
        self.token = token
        self.is_ours = is_ours
        self._type = record_type(dimension)
        self._file = file
        self._mapped: list[npt.NDArray[np.uint8]] = []
        self._removal = weakref.finalize(self, _remove, path, os.getpid()) if is_ours else None
        # These are called before the removal, as Windows removes no open file.
        weakref.finalize(self, file.close)
        weakref.finalize(self, self._mapped.clear)

    @classmethod
    def new(cls, final: Path, dimension: int) -> "RecordFile":
        """Create an empty file beside the one that it may become.

        Raises:
            OSError: It can't be created.
        """
        part = make_part(final)
        return cls(part, part.open("rb+", buffering=0), dimension, 0, draw_token(), is_ours=True)

    @classmethod
    def open(cls, path: Path, dimension: int, count: int, token: int) -> "RecordFile":
        """Open a file that was saved.

        Raises:
            DamagedRecordError: It can't be read, or doesn't have so many records.
        """
        wanted = count * record_type(dimension).itemsize
        try:
            file = open_regular(path)
            size = os.fstat(file.fileno()).st_size
        except OSError as error:
            raise DamagedRecordError(path, f"can't be read: {error}") from error
        if size != wanted:
            file.close()
            raise DamagedRecordError(path, f"has {size} bytes instead of {wanted}")
        return cls(path, file, dimension, count, token, is_ours=False)

    def append(self, records: Records) -> None:
        """Add records at the end of a file of ours.

        Raises:
            OSError: They can't be written.
        """
        content = sealed(records, self.token, self.count).tobytes()
        self._file.seek(self.count * self._type.itemsize)
        if self._file.write(content) != len(content):
            raise OSError(errno.ENOSPC, "only a part was written", str(self.path))
        self.count += len(records)

    def read(self, positions: Rows) -> Records:
        """Read records.

        Args:
            positions: Their positions.

        Raises:
            DamagedRecordError: One isn't as it was written.
        """
        if not len(positions):
            return np.empty(0, dtype=self._type)
        # One copy of all, in which other threads run: each call of the system would let them in between.
        records = np.take(self._bytes(), positions, axis=0).view(self._type)[:, 0]
        if not are_intact(records, self.token, positions):
            raise DamagedRecordError(self.path, "isn't as it was written")
        return records

    def discard(self) -> None:
        """Remove a file of ours."""
        if self._removal is not None:
            self._removal()

    def rename(self, path: Path) -> None:
        """Give a file of ours its final name, by which other processes find it.

        Raises:
            OSError: It can't be renamed.
        """
        os.fsync(self._file.fileno())
        self.path.replace(path)
        sync_folder(path.parent)
        self.path, self.is_ours = path, False
        if self._removal is not None:
            self._removal.detach()

    def _bytes(self) -> npt.NDArray[np.uint8]:
        """Return the records as bytes, shape ``(count, bytes of a record)``, which aren't read from the file yet.

        Raises:
            DamagedRecordError: The file can't be read, or was cut.
        """
        count = self.count
        mapped = self._mapped[0] if self._mapped else None
        try:
            # The system would end the process that reads behind the end.
            if os.fstat(self._file.fileno()).st_size < count * self._type.itemsize:
                raise DamagedRecordError(self.path, "is shorter than it was")
            if mapped is None or len(mapped) < count:
                content = mmap(self._file.fileno(), count * self._type.itemsize, access=ACCESS_READ)
                mapped = np.frombuffer(content, dtype=np.uint8).reshape(count, -1)
                self._mapped[:] = [mapped]
        except OSError as error:
            raise DamagedRecordError(self.path, f"can't be read: {error}") from error
        return mapped


class FineVectors:
    """Unit vectors by position, from 0, in the order in which they were added."""

    def __init__(self, dimension: int, file: RecordFile | None = None) -> None:
        """Start with the vectors of a file, or without any.

        Args:
            dimension: The length of the vectors.
            file: Their file; ``None`` keeps them in memory.
        """
        self.dimension = dimension
        self.file = file
        self._type = record_type(dimension)
        self._added: GrowableArray[np.void] = GrowableArray(np.empty(0, dtype=self._type))

    def __len__(self) -> int:
        """Return the number of vectors."""
        return self._saved + len(self._added.filled)

    @property
    def in_memory(self) -> int:
        """The number of vectors that aren't in the file."""
        return len(self._added.filled)

    @property
    def is_appending(self) -> bool:
        """Whether vectors are appended to the file, which is ours, as none comes before them in memory."""
        return self.file is not None and self.file.is_ours and not self.in_memory

    def add(self, vectors: Vectors) -> None:
        """Add unit vectors of shape ``(n, dimension)``: to the file, or to memory if the disk is full."""
        for start in range(0, len(vectors), BLOCK_SIZE):
            records = encoded(vectors[start : start + BLOCK_SIZE], self._type)
            if self.file is not None and self.is_appending:
                with suppress(OSError):
                    self.file.append(records)
                    continue
            self._added.append(records)

    def cosines(self, vector: Vectors, positions: Rows) -> tuple[Vectors, Vectors]:
        """Compare a unit vector with some of these.

        Args:
            vector: A unit vector of shape ``(dimension,)``.
            positions: The positions of the others, in rising order.

        Returns:
            The cosine of each, and how far off it may be.

        Raises:
            DamagedRecordError: The file was damaged.
        """
        parts = [cosines(records, vector) for records in self._blocks(positions)]
        empty = np.empty(0, dtype=np.float32)
        return (
            np.concatenate([empty, *(found for found, _ in parts)]),
            np.concatenate([empty, *(errors for _, errors in parts)]),
        )

    def decoded(self, positions: Rows) -> Vectors:
        """Return vectors as they are kept, shape ``(len(positions), dimension)``.

        Raises:
            DamagedRecordError: The file was damaged.
        """
        order = np.argsort(positions, kind="stable")
        vectors = np.empty((len(positions), self.dimension), dtype=np.float32)
        parts = [decoded(records, self.dimension) for records in self._blocks(positions[order])]
        if parts:
            vectors[order] = np.concatenate(parts)
        return vectors

    def write(self, path: Path) -> RecordFile:
        """Write all vectors into a file of a new name, to `adopt`.

        Raises:
            OSError: It can't be written.
            DamagedRecordError: The present file was damaged.
        """
        if self.file is not None and self.is_appending:
            with suppress(FileNotFoundError):  # removed by another process, which took it for an abandoned one
                self.file.rename(path)
                return self.file
        token, start = draw_token(), 0
        with new_file(path) as part, part.open("wb") as file:
            for records in self._blocks(np.arange(len(self), dtype=np.int64)):
                file.write(sealed(records, token, start).tobytes())
                start += len(records)
        return RecordFile.open(path, self.dimension, start, token)

    def adopt(self, file: RecordFile) -> None:
        """Read all vectors from the file that `write` returned."""
        if file is not self.file:
            self.file, self._added = file, GrowableArray(np.empty(0, dtype=self._type))

    @property
    def _saved(self) -> int:
        return 0 if self.file is None else self.file.count

    def _blocks(self, positions: Rows) -> Iterator[Records]:
        """Yield the records at positions in rising order, a block at a time."""
        split = int(np.searchsorted(positions, self._saved))
        for start in range(0, split, BLOCK_SIZE):
            assert self.file is not None  # noqa: S101 - there is none before position 0
            yield self.file.read(positions[start : min(split, start + BLOCK_SIZE)])
        for start in range(split, len(positions), BLOCK_SIZE):
            yield self._added.filled[positions[start : start + BLOCK_SIZE] - self._saved]


def _remove(path: Path, process: int) -> None:
    # A process that was forked from the owner must leave it.
    if os.getpid() == process:
        with suppress(OSError):
            path.unlink()
