"""Reads the bytes of a file and its state consistently, without following links below a root folder."""

import errno
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from langchain_sentence_window.errors import DocumentReadError
from sentence_window.files.file_state import FileState

MAX_FILE_BYTES = 256 * 1024 * 1024
"""Bytes of the largest file that is read."""

SETTLED_NS = 100_000_000
"""Nanoseconds after which another change gets a later modification time, on file systems with fractions of a second."""

COARSELY_SETTLED_NS = 2_000_000_000
"""The same for file systems with a resolution of one or two seconds."""

_MAX_ATTEMPTS = 3
_SECOND_NS = 1_000_000_000
# Devices and pipes are refused before they are opened. If a file is replaced by one, opening it must not block.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
_FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
# Errors of opening a link with `O_NOFOLLOW`; some systems check `O_DIRECTORY` first.
_LINK_ERRORS = frozenset({errno.ELOOP, errno.EMLINK, errno.ENOTDIR})
_HAS_DESCRIPTORS = os.open in os.supports_dir_fd and bool(_NO_LINKS)


@dataclass(frozen=True, slots=True)
class FileBytes:
    """The bytes of a file, and its state when they were read."""

    data: bytes
    state: FileState


@dataclass(frozen=True, slots=True)
class Root:
    """A folder as it was when its files were listed.

    Attributes:
        path: Its path. Links in this path are followed.
        identity: Its device and inode; ``None`` if another machine listed it.
    """

    path: str
    identity: tuple[int, int] | None = None

    @classmethod
    def of(cls, path: str, status: os.stat_result) -> Self:
        """Return the root of a folder, with its identity."""
        return cls(path, (status.st_dev, status.st_ino))

    @contextmanager
    def folder(self, path: str) -> Iterator[str | int]:
        """Open the root, or a folder below it, without following links below the root.

        Args:
            path: The absolute path of the root, or of a folder below it.

        Yields:
            Its file descriptor; on a system without `dir_fd`, its path.

        Raises:
            LinkedFileError: A link has replaced a folder, or another folder has replaced the root.
            OSError: It can't be opened.
        """
        names = Path(path).relative_to(self.path).parts
        if not _HAS_DESCRIPTORS:
            self._check(os.stat(self.path))  # noqa: PTH116
            for count in range(len(names)):
                _check_no_link(Path(self.path, *names[: count + 1]))
            yield path
            return
        opened = os.open(self.path, _FOLDER_FLAGS)
        try:
            self._check(os.fstat(opened))
            for name in names:
                try:
                    inner = os.open(name, _FOLDER_FLAGS | _NO_LINKS, dir_fd=opened)
                except OSError as error:
                    raise LinkedFileError(path) if error.errno in _LINK_ERRORS else error from None
                os.close(opened)
                opened = inner
            yield opened
        finally:
            os.close(opened)

    def _check(self, status: os.stat_result) -> None:
        if self.identity not in (None, (status.st_dev, status.st_ino)):
            raise LinkedFileError(self.path)


def read_file(path: Path, name: str, root: Root | None = None) -> FileBytes:
    """Read a file.

    Args:
        path: Its path.
        name: Its name in messages.
        root: The folder in which the file was found; no link below it is followed. ``None`` to follow links.

    Raises:
        DocumentReadError: It is missing, isn't a regular file, is too large, can't be read, or changes while it is
            read.
    """
    try:
        for _ in range(_MAX_ATTEMPTS):
            with open_file(path, name, root) as descriptor:
                read = _read_once(descriptor)
            if read is not None:
                return read
    except (OSError, ValueError) as error:
        cure = "give yourself the permission to read it" if isinstance(error, PermissionError) else "check the path"
        raise DocumentReadError(f"{name} can't be read ({reason(error)}); {cure}") from error
    raise DocumentReadError(f"{name} changes while it is read; read it again when it is finished")


@contextmanager
def open_file(path: Path, name: str, root: Root | None = None) -> Iterator[int]:
    """Open a regular file for reading, and yield its descriptor.

    Args:
        path: Its path.
        name: Its name in messages.
        root: See `read_file`.

    Raises:
        DocumentReadError: It isn't a regular file, is too large, or is a link below the root.
        OSError: It can't be opened.
    """
    if root is None:
        _check_kind(path.stat(), name)
        descriptor = os.open(path, _FLAGS)
    else:
        with root.folder(str(path.parent)) as folder:
            descriptor = _open_in(folder, path, name)
    try:
        _check_kind(os.fstat(descriptor), name)
        yield descriptor
    finally:
        os.close(descriptor)


def _open_in(folder: str | int, path: Path, name: str) -> int:
    if isinstance(folder, str):
        _check_no_link(path)
        _check_kind(path.lstat(), name)
        descriptor = os.open(path, _FLAGS)
        if os.path.samestat(os.fstat(descriptor), path.lstat()):
            return descriptor
        os.close(descriptor)
        raise LinkedFileError(name)
    status = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        raise LinkedFileError(name)
    _check_kind(status, name)
    try:
        return os.open(path.name, _FLAGS | _NO_LINKS, dir_fd=folder)
    except OSError as error:
        raise LinkedFileError(name) if error.errno in _LINK_ERRORS else error from None


def _check_no_link(path: Path) -> None:
    if path.is_symlink() or getattr(path, "is_junction", bool)():
        raise LinkedFileError(str(path))


def reason(error: Exception) -> str:
    """Return the system's message why a file can't be read."""
    return (isinstance(error, OSError) and error.strerror) or type(error).__name__


def _check_kind(status: os.stat_result, name: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise DocumentReadError(f"{name} is a folder; give the path of a file")
    if not stat.S_ISREG(status.st_mode):
        raise DocumentReadError(f"{name} is a device, a pipe or a socket; give the path of a file on a disk")
    if status.st_size > MAX_FILE_BYTES:
        raise DocumentReadError(
            f"{name} has {status.st_size:,} bytes, and no more than {MAX_FILE_BYTES:,} are read; split it into files"
        )


def _read_once(descriptor: int) -> FileBytes | None:
    """Read the file; return ``None`` if it changed at the same time."""
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        before = os.fstat(descriptor)
        data = file.read(before.st_size + 1)
        after = os.fstat(descriptor)
    if _mark(before) != _mark(after) or len(data) != after.st_size:
        return None
    is_coarse = after.st_mtime_ns % _SECOND_NS == 0
    age = time.time_ns() - after.st_mtime_ns
    is_settled = age > (COARSELY_SETTLED_NS if is_coarse else SETTLED_NS)
    return FileBytes(
        data,
        FileState(
            size=len(data),
            modified_ns=after.st_mtime_ns if is_settled and after.st_mtime_ns >= 0 else None,
            sha256=hashlib.sha256(data).hexdigest(),
        ),
    )


def _mark(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ino


class EmptyFileError(DocumentReadError):
    """A file can be read, but holds no text."""


class LinkedFileError(DocumentReadError):
    """A link has replaced a file or a folder."""

    def __init__(self, name: str) -> None:
        """Write the message.

        Args:
            name: The path.
        """
        super().__init__(f"{name} was replaced by a link or another folder, which isn't followed; try again")


def clean_text(text: str) -> str:
    """Remove control characters and lone surrogates, which can't be stored, from a file's metadata."""
    return "".join(each for each in text if each.isprintable()).strip()
