"""Unit vectors as records of 6-bit codes.

A record holds the numbers of a vector as whole numbers from -31 to 31, the number that one of these stands for, and a
checksum. The checksum covers the position of the record and a number drawn for its file, so no record is taken for
another.

Four codes take three bytes: a byte has a code in its lower bits, and two bits of a fourth code above. The codes that
are spread this way are the last quarter of all, so that a few operations on whole arrays put them together.
"""

import secrets
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._types import Rows, Vectors

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
