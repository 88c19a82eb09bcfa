"""The bytes of a file and its state, read so that both are of one moment."""

import hashlib
import os
import stat
import time
from dataclasses import dataclass
from pathlib import Path

from langchain_sentence_window.documents.file_states import FileState
from langchain_sentence_window.errors import DocumentReadError

MAX_FILE_BYTES = 256 * 1024 * 1024
"""Bytes of the largest file that is read."""

SETTLED_NS = 100_000_000
"""Nanoseconds after which a change surely has a later time than the one before, if the file system counts fractions
of a second."""

COARSELY_SETTLED_NS = 2_000_000_000
"""The same for file systems that count whole seconds, or every other."""

_MAX_ATTEMPTS = 3
_SECOND_NS = 1_000_000_000
# Devices and pipes are never opened. These are for a file that becomes one in the meantime: opening mustn't wait.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class FileBytes:
    """A file's bytes, and its state when they were read."""

    data: bytes
    state: FileState


def read_file(path: Path, name: str) -> FileBytes:
    """Read a file.

    Args:
        path: Its path.
        name: Its name in messages.

    Raises:
        DocumentReadError: It isn't there, isn't a regular file, is too large, can't be read, is empty, or changes while
            it is read.
    """
    try:
        for _ in range(_MAX_ATTEMPTS):
            _check_kind(path.stat(), name)
            read = _read_once(path, name)
            if read is not None:
                return read
    except (OSError, ValueError) as error:
        raise DocumentReadError(f"{name} can't be read ({reason(error)}); {_cure(error)}") from error
    raise DocumentReadError(f"{name} changes while it is read; read it again when it is finished")


def reason(error: Exception) -> str:
    """Return why a file can't be read, in the words of the system."""
    return (isinstance(error, OSError) and error.strerror) or type(error).__name__


def _cure(error: Exception) -> str:
    if isinstance(error, PermissionError):
        return "give yourself the permission to read it"
    return "check the path"


def _check_kind(found: os.stat_result, name: str) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise DocumentReadError(f"{name} is a folder; give the path of a file")
    if not stat.S_ISREG(found.st_mode):
        raise DocumentReadError(f"{name} is a device, a pipe or a socket; give the path of a file on a disk")
    if found.st_size > MAX_FILE_BYTES:
        raise DocumentReadError(
            f"{name} has {found.st_size:,} bytes, and no more than {MAX_FILE_BYTES:,} are read; split it into files"
        )


def _read_once(path: Path, name: str) -> FileBytes | None:
    """Read the file; return ``None`` if it changed meanwhile."""
    descriptor = os.open(path, _FLAGS)
    with os.fdopen(descriptor, "rb") as file:
        before = os.fstat(descriptor)
        _check_kind(before, name)
        data = file.read(before.st_size + 1)
        after = os.fstat(descriptor)
    if _mark(before) != _mark(after) or len(data) != after.st_size:
        return None
    if not data.strip():
        raise EmptyFileError(f"{name} is empty; write the text into it, or leave it out")
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


def _mark(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_size, found.st_mtime_ns, found.st_ino


class EmptyFileError(DocumentReadError):
    """A file can be read, and holds no text."""
