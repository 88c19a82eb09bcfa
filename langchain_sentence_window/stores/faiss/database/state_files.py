"""The small files beside a database that record the state in which it was left."""

import re
import struct
import zlib
from pathlib import Path
from typing import NamedTuple, TypeAlias

from langchain_sentence_window.stores.faiss.database.checksums import Seal
from langchain_sentence_window.stores.faiss.database.files import open_regular, replace_file, write_in_place

SEAL_FILE = "sentences.seal"
"""The checksum of the database as it was last closed, so that opening needn't check each row. It exists only while
the write-ahead log is empty: every write removes it first."""

HEAD_FILE = "sentences.head"
"""The number of the last write, which reveals that a write-ahead log was lost. It names the database of the write, as
a process may record it after another database was put in the same place."""

RESTORING_FILE = "sentences.restoring"
"""Exists while a backup replaces the database; the files beside it may be of another database then."""

Stamp: TypeAlias = tuple[int, ...]
"""Values that change when a file is written."""

_HEAD = struct.Struct("<qq")
_CHECKSUM = struct.Struct("<I")
_WRITTEN = re.compile(r"(\d{1,19}) bytes, CRC-32 ([0-9a-f]{8})\n")
_STAMPED = re.compile(
    r"((\d{1,19}) bytes, CRC-32 ([0-9a-f]{8})\n"
    r"inode (\d{1,20}), modified (\d{1,20}), changed (\d{1,20})\n)([0-9a-f]{8})\n"
)
_MAX_SEAL_BYTES = 200


class Sealed(NamedTuple):
    """The record of a database whose log is empty.

    Attributes:
        seal: Its size and checksum.
        stamp: Its stamp at that time; ``None`` if it isn't known to be older than any later change.
    """

    seal: Seal
    stamp: Stamp | None


def write_seal(folder: Path, sealed: Sealed) -> None:
    """Record the checksum of a database whose log is empty.

    Raises:
        OSError: The file can't be written.
    """
    (size, checksum), stamp = sealed
    content = f"{size} bytes, CRC-32 {checksum:08x}\n"
    if stamp is not None:
        _, inode, modified, changed = stamp
        content += f"inode {inode}, modified {modified}, changed {changed}\n"
        content += f"{zlib.crc32(content.encode('ascii')):08x}\n"
    replace_file(folder / SEAL_FILE, content.encode("ascii"))


def read_seal(folder: Path) -> Sealed | None:
    """Read what `write_seal` wrote; return ``None`` if it is missing or damaged."""
    try:
        with open_regular(folder / SEAL_FILE) as file:
            content = file.read(_MAX_SEAL_BYTES).decode("ascii", errors="replace")
    except OSError:
        return None
    if found := _WRITTEN.fullmatch(content):
        return Sealed([int(found[1]), int(found[2], 16)], None)
    found = _STAMPED.fullmatch(content)
    if not found or zlib.crc32(found[1].encode("ascii")) != int(found[7], 16):
        return None
    size = int(found[2])
    return Sealed([size, int(found[3], 16)], (size, int(found[4]), int(found[5]), int(found[6])))


class Head(NamedTuple):
    """The last write of a database.

    Attributes:
        birth: A random number drawn when the database was created or restored.
        generation: The number of the write.
    """

    birth: int
    generation: int


def write_head(folder: Path, head: Head) -> None:
    """Record the last write, if the file can be written."""
    content = _HEAD.pack(*head)
    write_in_place(folder / HEAD_FILE, content + _CHECKSUM.pack(zlib.crc32(content)))


def read_head(folder: Path) -> Head | None:
    """Read what `write_head` wrote; return ``None`` if it is missing or damaged."""
    try:
        with open_regular(folder / HEAD_FILE) as file:
            content, checksum = file.read(_HEAD.size), file.read(2 * _CHECKSUM.size)
    except OSError:
        return None
    return Head(*_HEAD.unpack(content)) if checksum == _CHECKSUM.pack(zlib.crc32(content)) and content else None


def log_of(path: Path) -> Path:
    """Return the path of a database's write-ahead log."""
    return path.with_name(f"{path.name}-wal")


def stamp_of(path: Path) -> Stamp | None:
    """Return a file's stamp, its size first; ``None`` if it doesn't exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns
