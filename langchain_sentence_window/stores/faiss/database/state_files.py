"""The files beside a database that say in what state it was left."""

import re
import struct
import zlib
from pathlib import Path
from typing import NamedTuple, TypeAlias

from langchain_sentence_window.stores.faiss.database.checksums import Seal
from langchain_sentence_window.stores.faiss.database.files import open_regular, replace_file, write_in_place

SEAL_FILE = "sentences.seal"
"""The checksum of the database as it was last closed, so that opening needn't check each row. It is there only
while the write-ahead log is empty: before anything is written, it is removed."""

HEAD_FILE = "sentences.head"
"""The number of the last write, so that a write-ahead log that was lost doesn't go unnoticed. It names the database
that the write went to: a process may note it when another one has its place by now."""

RESTORING_FILE = "sentences.restoring"
"""There while a backup takes the place of the database; what is beside that may be of another one."""

Stamp: TypeAlias = tuple[int, ...]
"""What tells whether a file was written since."""

_HEAD = struct.Struct("<qq")
_CHECKSUM = struct.Struct("<I")
_WRITTEN = re.compile(r"(\d{1,19}) bytes, CRC-32 ([0-9a-f]{8})\n")


def write_seal(folder: Path, seal: Seal) -> None:
    """Note the checksum of a database whose log is empty.

    Raises:
        OSError: It can't be written.
    """
    replace_file(folder / SEAL_FILE, f"{seal[0]} bytes, CRC-32 {seal[1]:08x}\n".encode("ascii"))


def read_seal(folder: Path) -> Seal | None:
    """Read what `write_seal` wrote; ``None`` if it is missing or damaged."""
    try:
        with open_regular(folder / SEAL_FILE) as file:
            found = _WRITTEN.fullmatch(file.read(100).decode("ascii", errors="replace"))
    except OSError:
        return None
    return [int(found[1]), int(found[2], 16)] if found else None


class Head(NamedTuple):
    """The last write of a database.

    Attributes:
        birth: Drawn when the database was made or restored.
        generation: The number of the write.
    """

    birth: int
    generation: int


def write_head(folder: Path, head: Head) -> None:
    """Note the last write; where it can't be noted, that is left out."""
    content = _HEAD.pack(*head)
    write_in_place(folder / HEAD_FILE, content + _CHECKSUM.pack(zlib.crc32(content)))


def read_head(folder: Path) -> Head | None:
    """Read what `write_head` wrote; ``None`` if it is missing or damaged."""
    try:
        with open_regular(folder / HEAD_FILE) as file:
            content, checksum = file.read(_HEAD.size), file.read(2 * _CHECKSUM.size)
    except OSError:
        return None
    return Head(*_HEAD.unpack(content)) if checksum == _CHECKSUM.pack(zlib.crc32(content)) and content else None


def log_of(path: Path) -> Path:
    """Where SQLite keeps the write-ahead log of a database."""
    return path.with_name(f"{path.name}-wal")


def looks_of(path: Path) -> Stamp | None:
    """What tells of a file that it was written: its size first; ``None`` if it isn't there."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_ino, status.st_mtime_ns
