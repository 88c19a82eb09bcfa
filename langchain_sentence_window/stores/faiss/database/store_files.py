"""The names of a store's files.

Writing the files of a store: completely or not at all, and never through a link.

A folder may come from a stranger, and a link in it could direct a write anywhere. So no file is opened for writing
through a link: new files have unpredictable names, and replace old ones by being renamed.
"""

import errno
import os
import re
import secrets
import shutil
import stat
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeAlias

from langchain_sentence_window._display import shown
from langchain_sentence_window.errors import InvalidInputError, StoreError

DATABASE_FILE = "sentences.sqlite3"
VECTORS_FILE = "vectors.faiss"
VECTOR_FILES_BEGIN = "vectors"
"""The beginning of the names of all files of the FAISS index."""

VECTOR_FILES = "vectors.*"
"""A pattern of all files of the FAISS index, also of unfinished ones."""

_VECTOR_FILE = re.compile(r"vectors(\.[0-9a-f]{16})?\.(faiss|records)")

LEXICAL_FOLDER = "lexical"
SETTINGS_FILE = "settings.json"
"""Settings with which the index was made and is asked; the store itself doesn't read them."""


def is_vector_file(name: str) -> bool:
    """Return whether a name is one that a file of a saved FAISS index may have."""
    return _VECTOR_FILE.fullmatch(name) is not None


def vector_files(folder: Path) -> list[Path]:
    """Return the files of all saved FAISS indexes in a folder, in the order of their names."""
    return sorted(path for path in folder.glob(VECTOR_FILES) if is_vector_file(path.name))


NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_ABANDONED_AFTER = 3_600.0  # seconds
_MAX_NAME_BYTES = 255


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
        longest = max(map(len, map(os.fsencode, Path(given).parts)), default=0)
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"the path is {shown(path)}; a folder's name has no lone surrogates") from error
    if longest > _MAX_NAME_BYTES:
        raise InvalidInputError(f"the path is {shown(path)}; each name in it may have at most {_MAX_NAME_BYTES} bytes")
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
    """Check that no file to be written in place is a link.

    Raises:
        StoreError: One is.
    """
    for path in paths:
        if path.is_symlink():
            raise StoreError(
                f"{str(path)!r} is a symbolic link, and writing through it could change any file; put the file itself "
                "there, or choose another path"
            )


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Create an empty file that replaces another one at the end of the block, or is removed after an exception.

    Yields:
        The path of the new file, beside the other.

    Raises:
        OSError: The file can't be created, or can't replace the other, which is unchanged.
    """
    part = make_part(path)
    try:
        yield part
        _sync(part)
        part.replace(path)
        sync_folder(path.parent)
    finally:
        with suppress(OSError):
            part.unlink()


def make_part(path: Path) -> Path:
    """Create an empty file beside another one, and remove abandoned ones."""
    remove_abandoned(path)
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    make_new(part)
    return part


def remove_abandoned(path: Path) -> None:
    """Remove the unfinished files and folders that killed processes left beside a file."""
    for part in path.parent.glob(f"{path.name}.*.part*"):
        with suppress(OSError):
            is_folder = stat.S_ISDIR(part.lstat().st_mode)
            latest = max(each.lstat().st_mtime for each in (part, *(part.iterdir() if is_folder else ())))
            if time.time() - latest > _ABANDONED_AFTER:
                shutil.rmtree(part, ignore_errors=True) if is_folder else part.unlink()


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
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
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


def put_if_new(part: Path, path: Path) -> bool:
    """Rename a finished file, unless another file has the name.

    Returns:
        Whether it got the name. Its old name is gone in any case.
    """
    _sync(part)
    try:
        os.link(part, path)
    except FileExistsError:
        return False
    except OSError:
        # A file system without hard links.
        if path.exists():
            return False
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink()
    sync_folder(path.parent)
    return True


def remove_second_names(path: Path) -> None:
    """Remove the second name of a file whose `put_if_new` was killed halfway.

    Raises:
        StoreError: The file has a name elsewhere, so a write would change that file too.
    """
    if path.stat().st_nlink == 1:
        return
    for part in path.parent.glob(f"{path.name}.*.part"):
        with suppress(OSError):
            if part.samefile(path):
                part.unlink()
    if path.stat().st_nlink > 1:
        raise StoreError(
            f"{str(path)!r} has another name elsewhere (a hard link), so writing would change that file too; put a "
            "copy of it in its place, or choose another path"
        )


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


def _sync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


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


def is_intact(found: object, recorded: object) -> bool:
    """Return whether the seals of a cache's files are those that were recorded when it was written.

    If they aren't, or nothing was recorded, the cache that asks is dropped and built again. No search notices.
    """
    return bool(recorded) and found == recorded
