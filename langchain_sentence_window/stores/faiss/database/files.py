"""Writing the files of a store: whole or not at all, and never through a link.

A folder may come from a stranger. A link in it could lead a write anywhere, so nothing that is written is opened
through one: new files have names that nobody can foresee, and take the place of old ones by being renamed.
"""

import errno
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from langchain_sentence_window._showing import shown
from langchain_sentence_window.errors import InvalidInputError, StoreError

NOT_THROUGH_A_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_ABANDONED_AFTER = 3_600.0  # seconds
_LONGEST_NAME = 255


def as_folder(path: str | os.PathLike[str]) -> Path:
    """Make an absolute path of what a user gave, so that it means the same when the process changes its folder.

    Raises:
        InvalidInputError: It isn't a path.
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
    if longest > _LONGEST_NAME:
        raise InvalidInputError(f"the path is {shown(path)}; its names can have {_LONGEST_NAME} bytes at most")
    return Path(given).absolute()


def make_folder(folder: Path) -> None:
    """Make a folder if it isn't there.

    Raises:
        StoreError: It can't be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{str(folder)!r} can't be used as an index's folder: {error}; choose another path") from error


def refuse_links(*paths: Path) -> None:
    """See that none of the files that are written in place is a link.

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
    """Make an empty file beside another one, for what is to take its place.

    Yields:
        Where it is. It takes the other's place at the end; after an exception it is removed.

    Raises:
        OSError: It can't be made, or not take the other's place; the other is as it was.
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
    """Make an empty file beside another one, and remove what was abandoned there."""
    remove_abandoned(path)
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    make_new(part)
    return part


def remove_abandoned(path: Path) -> None:
    """Remove the unfinished files and folders beside a file that processes which were killed have left."""
    for part in path.parent.glob(f"{path.name}.*.part*"):
        with suppress(OSError):
            is_folder = stat.S_ISDIR(part.lstat().st_mode)
            latest = max(each.lstat().st_mtime for each in (part, *(part.iterdir() if is_folder else ())))
            if time.time() - latest > _ABANDONED_AFTER:
                shutil.rmtree(part, ignore_errors=True) if is_folder else part.unlink()


def make_new(path: Path) -> None:
    """Make an empty file where there is nothing.

    Raises:
        OSError: There is something, if only a link.
    """
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOT_THROUGH_A_LINK, 0o666))


def open_regular(path: Path) -> BinaryIO:
    """Open a file to read; a pipe, which would be waited for, isn't one.

    Raises:
        OSError: It can't be opened, or isn't a file.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "it is no file", str(path))
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def replace_file(path: Path, content: bytes) -> None:
    """Write a small file that is either the old one or the new one at any moment.

    Raises:
        OSError: It can't be written; the old one is as it was.
    """
    with new_file(path) as part:
        part.write_bytes(content)


def put_if_new(part: Path, path: Path) -> bool:
    """Give a finished file its name, unless another has it.

    Returns:
        Whether it got the name. Either way it has no other name any more.
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
    """Remove what is left of a `put_if_new` that was killed halfway.

    Raises:
        StoreError: The file has a name elsewhere, so that writing would change that one too.
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
    """Remove a file so that it stays removed if the power fails; return whether it was there."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    sync_folder(path.parent)
    return True


def size_of(path: Path) -> int:
    """The bytes of a file; 0 if it isn't there."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def sync_folder(folder: Path) -> None:
    """See that the names in a folder outlast a power failure, where the system can do that."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_in_place(path: Path, content: bytes) -> None:
    """Write a small file of which each version is as long; where it can't be written, it is left out."""
    with suppress(OSError):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | NOT_THROUGH_A_LINK, 0o666)
        try:
            is_only_here = os.fstat(handle).st_nlink == 1
            if is_only_here:
                os.write(handle, content)
        finally:
            os.close(handle)
        if not is_only_here:
            replace_file(path, content)


def _sync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())
