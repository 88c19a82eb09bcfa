"""Replacing an index, whatever its state, with a backup: completely or not at all.

The backup is copied into a folder beside the old index, the workshop. Then the old files are moved into the workshop,
and the new database is moved out of it. If a step fails, all are moved back. Meanwhile a marker file exists, without
which another process could open the new database with the log of the old one. The marker names the workshop, so that
the next restore can undo one that was killed.
"""

import os
import re
import secrets
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO

from langchain_sentence_window.errors import IndexNotFoundError, StoreError

from . import store_files
from .database import Database
from .database_file import HEAD_FILE, RESTORING_FILE, SEAL_FILE, Head, Sealed, log_of, write_head, write_seal
from .database_opening import SIDE_FILE_SUFFIXES, holds_index
from .locks import FORKS
from .transaction import Transaction

_FILES = (
    SEAL_FILE,
    HEAD_FILE,
    *(f"{store_files.DATABASE_FILE}{ending}" for ending in SIDE_FILE_SUFFIXES),
    store_files.DATABASE_FILE,
)
_NEW = "new"
_WORKSHOP = re.compile(rf"{re.escape(store_files.DATABASE_FILE)}\.[0-9a-f]{{16}}\.part")


def restore_index(backup: Path, folder: Path) -> None:
    """Replace an index with a backup.

    Args:
        backup: The folder of the backup, or of any closed index.
        folder: The folder of the index to replace.

    Raises:
        IndexNotFoundError: There is no index in the backup's folder.
        StoreError: The backup is damaged, or the folder can't be written; nothing was changed.
    """
    if not holds_index(backup):
        raise IndexNotFoundError(f"there is no index at {str(backup)!r} to restore; give the folder of a backup")
    if backup == folder or (folder.exists() and backup.samefile(folder)):
        raise StoreError(f"{str(backup)!r} can't be restored to itself; give another path")
    store_files.make_folder(folder)
    _refuse_folders(folder)
    FORKS.read(lambda: _restore(backup, folder))


def take_place(folder: Path, new: Path, kept: str, release: Callable[[], None]) -> None:
    """Put a new database in the place of an index's, which is kept under another name.

    Args:
        folder: The folder of the index.
        new: The new database, beside the old one; it has no log.
        kept: The name of the old database from then on.
        release: Closes the caller's connection to the old database, once nobody else can open it.

    Raises:
        StoreError: Another process has written to the old database meanwhile; nothing was changed.
        OSError: The files can't be renamed; nothing was changed.
    """
    with _workshop(folder) as workshop:
        new.rename(workshop / _NEW)
        head = _made_another(workshop / _NEW)
        with _alone(folder, workshop):
            release()
            _exchange(folder, workshop, head)
            old = workshop / store_files.DATABASE_FILE
            if store_files.size_of(log_of(old)):
                raise StoreError(f"{str(folder)!r} was written to by another process; end that process, and try again")
        old.replace(folder / kept)


def undo_killed_exchange(folder: Path, is_meant: Callable[[Path], bool]) -> None:
    """Move the files of an index back, if the process that exchanged them was killed.

    Args:
        folder: The folder of the index.
        is_meant: Returns whether the exchange is meant, by its workshop.

    Raises:
        StoreError: Another call is exchanging them.
    """
    with suppress(OSError), store_files.open_regular(folder / RESTORING_FILE) as file:
        killed = _killed_workshop(file.read(100), folder)
        if killed and is_meant(killed):
            with _workshop(folder) as workshop, _alone(folder, workshop):
                pass


def _restore(backup: Path, folder: Path) -> None:
    database = Database(backup / store_files.DATABASE_FILE, read_only=True)
    try:
        with _workshop(folder) as workshop:
            store_files.make_new(workshop / _NEW)
            database.write_copy(workshop / _NEW)
            head = _made_another(workshop / _NEW)
            with _alone(folder, workshop):
                _exchange(folder, workshop, head)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(
            f"{str(backup)!r} can't be restored to {str(folder)!r}: {error}; make room, or choose another path"
        ) from error
    finally:
        database.close()


def _refuse_folders(folder: Path) -> None:
    for path in (folder / name for name in (*_FILES, *_vector_names(folder), RESTORING_FILE)):
        if path.is_dir() and not path.is_symlink():
            raise StoreError(f"{str(path)!r} is a folder, where an index has a file; move it elsewhere, and try again")


def _made_another(path: Path) -> Head:
    """Make a copy count as another database, and return its head."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        transaction = Transaction(connection)
        transaction.assign_birth()
        head = transaction.head
        connection.execute("COMMIT")
    return head


# The exchange


def _exchange(folder: Path, workshop: Path, head: Head) -> None:
    seal = store_files.seal_of(workshop / _NEW)
    for name in (store_files.LEXICAL_FOLDER, *_vector_names(folder), *_FILES):
        if os.path.lexists(folder / name):
            (folder / name).rename(workshop / name)
    (workshop / _NEW).rename(folder / store_files.DATABASE_FILE)
    write_head(folder, head)
    if seal is not None:
        write_seal(folder, Sealed(seal, None))


def _move_back(folder: Path, workshop: Path) -> None:
    """Undo an exchange that was interrupted at any step; may be interrupted and repeated itself."""
    if not os.path.lexists(workshop / _NEW):
        for name in (SEAL_FILE, HEAD_FILE):
            (folder / name).unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            (folder / store_files.DATABASE_FILE).rename(workshop / _NEW)
    for name in (store_files.LEXICAL_FOLDER, *_vector_names(workshop), *_FILES):
        if os.path.lexists(workshop / name):
            if name == store_files.LEXICAL_FOLDER:
                shutil.rmtree(folder / name, ignore_errors=True)
            (workshop / name).replace(folder / name)
    store_files.sync_folder(folder)


def _vector_names(folder: Path) -> list[str]:
    return [path.name for path in store_files.vector_files(folder)]


@contextmanager
def _workshop(folder: Path) -> Iterator[Path]:
    """Create a folder to work in, and remove it at the end, together with abandoned ones."""
    workshop = folder / f"{store_files.DATABASE_FILE}.{secrets.token_hex(8)}.part"
    try:
        workshop.mkdir()
        yield workshop
    finally:
        if not _is_needed(folder, workshop):
            shutil.rmtree(workshop, ignore_errors=True)
    store_files.remove_abandoned(folder / store_files.DATABASE_FILE)


def _is_needed(folder: Path, workshop: Path) -> bool:
    """Return whether files in the workshop couldn't be moved back."""
    with suppress(OSError):
        return (folder / RESTORING_FILE).read_text(encoding="ascii", errors="replace") == workshop.name
    return False


@contextmanager
def _alone(folder: Path, workshop: Path) -> Iterator[None]:
    """Keep others from opening or restoring the index until all files are exchanged or moved back."""
    marker = folder / RESTORING_FILE
    if marker.is_symlink():
        marker.unlink()
    handle = os.open(marker, os.O_RDWR | os.O_CREAT | store_files.NO_FOLLOW, 0o666)
    with os.fdopen(handle, "r+b", buffering=0) as file:
        _lock(handle, marker)
        killed = _killed_workshop(file.read(100), folder)
        if killed:
            _move_back(folder, killed)
        try:
            file.seek(0)
            file.truncate()
            file.write(workshop.name.encode("ascii"))
            os.fsync(handle)
            store_files.sync_folder(folder)
            if killed:
                shutil.rmtree(killed, ignore_errors=True)
            yield
            store_files.sync_folder(folder)
            _remove(marker, file)
        except BaseException:
            if marker.exists():
                _move_back(folder, workshop)
                _remove(marker, file)
            raise
        store_files.sync_folder(folder)


def _killed_workshop(marked: bytes, folder: Path) -> Path | None:
    """Return the workshop of a restore that was killed during its exchange."""
    name = marked.decode("ascii", "replace")
    is_there = bool(_WORKSHOP.fullmatch(name)) and (folder / name).is_dir() and not (folder / name).is_symlink()
    return folder / name if is_there else None


def _remove(marker: Path, file: IO[bytes]) -> None:
    if sys.platform == "win32":
        file.close()  # Windows can't remove an open file
    marker.unlink()


def _lock(handle: int, marker: Path) -> None:
    """Take a lock that the system releases when this process ends."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_ours = os.path.samestat(os.fstat(handle), marker.lstat())
    except (BlockingIOError, PermissionError, FileNotFoundError):
        is_ours = False
    if not is_ours:
        raise StoreError(f"{str(marker.parent)!r} is being restored by another call; wait for it, and try again")
