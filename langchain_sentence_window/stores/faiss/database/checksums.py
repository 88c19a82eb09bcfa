"""Checksums of files, which reveal damage."""

import stat
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from langchain_sentence_window.stores.faiss.database.files import open_regular

Seal: TypeAlias = list[int]
"""The size of a file in bytes, and its CRC-32."""

_READ_BATCH_SIZE = 1 << 22


def seal_of(path: Path) -> Seal | None:
    """Read a whole file and return its seal; ``None`` if it can't be read."""
    try:
        with open_regular(path) as file:
            return seal_of_parts(lambda _, size: file.read(size))
    except OSError:
        return None


def seal_of_parts(read: Callable[[int, int], bytes]) -> Seal:
    """Read a file in parts and return its seal.

    Args:
        read: Reads at a place, and so many bytes at most; nothing at the end.
    """
    checksum = size = 0
    while part := read(size, _READ_BATCH_SIZE):
        checksum = zlib.crc32(part, checksum)
        size += len(part)
    return [size, checksum]


def seals_in(folder: Path, known: Mapping[str, Seal] | None = None) -> dict[str, Seal]:
    """Return the seals of all files in a folder, by name.

    Args:
        folder: The folder.
        known: Seals of files that don't change once they are written; these aren't read again.

    Returns:
        The seals; none if the folder is a link or holds one, as a write through a link changes a file elsewhere.
    """
    try:
        kinds = {path.name: path.lstat().st_mode for path in sorted(folder.iterdir())}
        is_link = stat.S_ISLNK(folder.lstat().st_mode)
    except OSError:
        return {}
    if is_link or any(map(stat.S_ISLNK, kinds.values())):
        return {}
    known = known or {}
    names = [name for name, kind in kinds.items() if stat.S_ISREG(kind)]
    return {name: seal for name in names if (seal := known.get(name) or seal_of(folder / name))}
