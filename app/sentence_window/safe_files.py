"""Read and replace files in folders that others may write to, without following links or waiting for pipes."""

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file to read; anything else, such as a pipe, could block.

    Raises:
        OSError: It can't be opened, or isn't a regular file.
    """
    handle = os.open(path, _READING)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return os.fdopen(handle, "rb")


def write_new(path: Path, content: bytes) -> None:
    """Write a file that doesn't exist yet.

    Raises:
        FileExistsError: The path exists, even if only as a link.
        OSError: The file can't be written.
    """
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINKS | getattr(os, "O_BINARY", 0), 0o666)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file; at any moment, either the old or the new one is complete.

    Raises:
        OSError: The new file can't be written; the old one is unchanged.
    """
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    try:
        write_new(part, content)
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink()
