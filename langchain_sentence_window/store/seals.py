"""Checksums of files, by which a file that was damaged is told from one that wasn't."""

import os
import struct
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, TypeAlias

Seal: TypeAlias = list[int]
"""The size of a file in bytes, and its CRC-32."""

_READ_AT_ONCE = 1 << 22
_HEAD = struct.Struct("<qI")


def seal_of(path: Path) -> Seal | None:
    """Read a whole file and make its seal; ``None`` if it can't be read."""
    try:
        with path.open("rb") as file:
            return seal_of_open(file)
    except OSError:
        return None


def seal_of_open(file: BinaryIO) -> Seal:
    """Read what is left of an open file, and make its seal."""
    checksum = size = 0
    while part := file.read(_READ_AT_ONCE):
        checksum = zlib.crc32(part, checksum)
        size += len(part)
    return [size, checksum]


def seals_in(folder: Path, known: Mapping[str, Seal] | None = None) -> dict[str, Seal]:
    """Make the seals of all files in a folder, by name.

    Args:
        folder: Where they are.
        known: Seals of files that don't change once they are written; these aren't read again.
    """
    try:
        names = sorted(path.name for path in folder.iterdir() if path.is_file())
    except OSError:
        return {}
    known = known or {}
    return {name: seal for name in names if (seal := known.get(name) or seal_of(folder / name))}


def replace_file(path: Path, content: bytes) -> None:
    """Write a file that is either the old one or the new one at any moment.

    Raises:
        OSError: It can't be written; the old one is as it was.
    """
    part = path.with_suffix(".part")
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def write_number(path: Path, number: int) -> None:
    """Write a number and its checksum; where it can't be written, it is left out."""
    body = struct.pack("<q", number)
    with suppress(OSError), path.open("r+b" if path.exists() else "wb") as file:
        file.write(_HEAD.pack(number, zlib.crc32(body)))


def read_number(path: Path) -> int | None:
    """Read what `write_number` wrote; ``None`` if it is missing or damaged."""
    try:
        number, checksum = _HEAD.unpack(path.read_bytes())
    except (OSError, struct.error):
        return None
    return int(number) if zlib.crc32(struct.pack("<q", number)) == checksum else None
