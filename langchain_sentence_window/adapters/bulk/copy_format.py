"""Rows in the binary format of PostgreSQL's ``COPY``.

A file is a header, rows and a trailer. A row is the number of its fields (16 bits), then each field: its length in
bytes (32 bits, -1 for NULL), and the bytes. All numbers are in network byte order. A ``vector`` of pgvector is its
dimension and a zero (16 bits each), then its numbers in single precision. See
https://www.postgresql.org/docs/current/sql-copy.html.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from langchain_sentence_window._types import Vectors

HEADER = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
TRAILER = struct.pack(">h", -1)
_NULL = struct.pack(">i", -1)
_CHUNK_BYTES = 1 << 18

MAX_DIMENSION = 16_000
"""Numbers of the longest vector that pgvector keeps."""


def copied(rows: Iterable[Sequence[bytes | None]]) -> Iterator[bytes]:
    """Yield rows in the binary format, in pieces of some 100 kB.

    Args:
        rows: The fields of each row, as `COPY` takes them; ``None`` for NULL. All rows have the same number of fields.
    """
    pieces, size = [HEADER], 0
    pack = struct.Struct(">i").pack
    for row in rows:
        pieces.append(len(row).to_bytes(2, "big"))
        for field in row:
            if field is None:
                pieces.append(_NULL)
            else:
                pieces += pack(len(field)), field
                size += len(field)
        if size > _CHUNK_BYTES:
            yield b"".join(pieces)
            pieces, size = [], 0
    pieces.append(TRAILER)
    yield b"".join(pieces)


def vector_fields(vectors: Vectors) -> list[bytes]:
    """Return vectors as fields of pgvector's type ``vector``.

    Args:
        vectors: Finite numbers, shape ``(n, dimension)``, with a dimension of `MAX_DIMENSION` at most.
    """
    count, dimension = vectors.shape
    record = np.empty(count, dtype=[("dimension", ">u2"), ("unused", ">u2"), ("numbers", ">f4", (dimension,))])
    record["dimension"], record["unused"], record["numbers"] = dimension, 0, vectors
    size = record.dtype.itemsize
    data = record.tobytes()
    return [data[start : start + size] for start in range(0, count * size, size)]
