"""The files of a store: their names, and writing them completely or not at all, never through a link.

A folder may come from a stranger, and a link in it could direct a write anywhere. So no file is opened for writing
through a link: new files have unpredictable names, and replace old ones by being renamed.
"""

import errno
import os
import secrets
import stat
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeAlias

from langchain_sentence_window._display import shown
from langchain_sentence_window.errors import InvalidInputError, StoreError

DATABASE_FILE = "sentences.sqlite3"
LOG_FILE = f"{DATABASE_FILE}-wal"
SIDE_FILES = (LOG_FILE, f"{DATABASE_FILE}-shm", f"{DATABASE_FILE}-journal")
"""SQLite's own files next to the database."""

HEAD_FILE = "sentences.head"
VECTORS_FILE = "vectors.faiss"
WORDS_FOLDER = "words"
SETTINGS_FILE = "settings.json"
"""Settings with which the index was made and is asked; the store itself doesn't read them."""

NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # until another opens a pipe
_ABANDONED_AFTER = 3_600.0  # seconds


def as_folder(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path of a folder, so that the process may change its working directory.

    Raises:
        InvalidInputError: The argument isn't a usable path.
    """
    given = os.fspath(path) if isinstance(path, str | os.PathLike) else path
    if not isinstance(given, str) or not given or "\0" in given:
        raise InvalidInputError(
            f"the path is {shown(path)}; give the name of a folder, as a string or a Path, without NUL"
        )
    try:
        os.fsencode(given)
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"the path is {shown(path)}; a folder's name has no lone surrogates") from error
    return Path(given).absolute()


def make_folder(folder: Path) -> None:
    """Create a folder, if it doesn't exist.

    Raises:
        StoreError: The folder can't be created.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{str(folder)!r} can't be used as an index's folder: {error}; choose another path") from error


def refuse_links(*paths: Path) -> None:
    """Check that no file to be written in place is a link, by which the write would change another file.

    Raises:
        StoreError: One is a symbolic link, or has another name elsewhere.
    """
    for path in paths:
        if path.is_symlink():
            raise StoreError(
                f"{str(path)!r} is a symbolic link, and writing through it could change any file; put the file itself "
                "there, or choose another path"
            )
        if path.is_file() and path.stat().st_nlink > 1:
            raise StoreError(
                f"{str(path)!r} has another name elsewhere (a hard link), so writing would change that file too; put a "
                "copy of it in its place, or choose another path"
            )


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Create an empty file that replaces another one at the end of the block, or is removed after an exception.

    Yields:
        The path of the new file, next to the other.

    Raises:
        OSError: The file can't be created, or can't replace the other, which is unchanged.
    """
    remove_abandoned(path)
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    make_new(part)
    try:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(path)
        sync_folder(path.parent)
    finally:
        with suppress(OSError):
            part.unlink()


def remove_abandoned(path: Path) -> None:
    """Remove the unfinished files that killed processes left next to a file."""
    for part in path.parent.glob(f"{path.name}.*.part*"):
        if is_abandoned(part):
            with suppress(OSError):
                part.unlink()


def is_abandoned(path: Path) -> bool:
    """Return whether a file is so old that no process is still writing it, or another file that refers to it."""
    try:
        return time.time() - path.lstat().st_mtime > _ABANDONED_AFTER
    except OSError:
        return False


def make_new(path: Path) -> None:
    """Create an empty file.

    Raises:
        OSError: The path exists, if only as a link, or the file can't be created.
    """
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW, 0o666))


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file to read; anything else, such as a pipe, could block.

    Raises:
        OSError: It can't be opened, or isn't a regular file.
    """
    handle = os.open(path, os.O_RDONLY | NO_WAIT | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def replace_file(path: Path, content: bytes) -> None:
    """Replace a small file by a new one, so that either is complete at any moment.

    Raises:
        OSError: The new file can't be written; the old one is unchanged.
    """
    with new_file(path) as part:
        part.write_bytes(content)


def remove_file(path: Path) -> bool:
    """Remove a file, so that it stays removed after a power failure; return whether it existed."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    sync_folder(path.parent)
    return True


def size_of(path: Path) -> int:
    """Return the bytes of a file; 0 if it doesn't exist."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power failure, if the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


Checksum: TypeAlias = list[int]
"""The size of a file in bytes, and its CRC-32."""

_PART_BYTES = 1 << 22


def checksum_of(path: Path) -> Checksum | None:
    """Read a whole file and return its checksum; ``None`` if it can't be read."""
    checksum = size = 0
    try:
        with open_regular(path) as file:
            while part := file.read(_PART_BYTES):
                checksum, size = zlib.crc32(part, checksum), size + len(part)
    except OSError:
        return None
    return [size, checksum]
