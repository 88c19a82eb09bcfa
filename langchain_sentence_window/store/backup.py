"""Copying an index while others write, and replacing one with such a copy."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from os import PathLike
from pathlib import Path

from langchain_sentence_window.errors import IndexNotFoundError, StoreError

from .check import find_damage
from .database import EMPTY_LOG, Database, begin_epoch, translated_errors
from .files import (
    DATABASE_FILE,
    HEAD_FILE,
    LOG_FILE,
    SIDE_FILES,
    as_folder,
    make_folder,
    new_file,
    refuse_links,
    size_of,
)
from .tables import Snapshot


def holds_index(folder: Path) -> bool:
    """Return whether there is an index in a folder.

    Raises:
        StoreError: The folder can't be read.
    """
    with translated_errors(f"{str(folder)!r} can't be read", read_only=True):
        path = folder / DATABASE_FILE
        return path.exists() and path.stat().st_size > 0  # a process that is killed as it makes one leaves it empty


def require_index(path: str | PathLike[str]) -> None:
    """Check that there is an index at a path.

    Raises:
        IndexNotFoundError: There is none.
        StoreError: The path is a file, or can't be read.
    """
    folder = as_folder(path)
    if holds_index(folder):
        return
    if folder.is_file():
        is_of_index = folder.name == DATABASE_FILE
        likely = repr(str(folder.parent)) if is_of_index else "the path that from_documents was given"
        raise StoreError(f"{str(folder)!r} is a file, and an index is a folder; give {likely}")
    raise IndexNotFoundError(
        f"there is no index at {str(path)!r}; make one with from_documents(..., path={str(path)!r})"
    )


def copy_database(database: Database, folder: Path) -> None:
    """Copy a database into a folder that holds no index yet; the copy appears only when it is complete.

    Raises:
        StoreError: The folder can't be created, or it holds an index, or what is left of one.
    """
    if database.folder is not None and folder.is_relative_to(database.folder):
        raise StoreError(f"{str(folder)!r} is inside the store's own folder; choose another folder")
    make_folder(folder)
    if holds_index(folder) or size_of(folder / LOG_FILE) or size_of(folder / HEAD_FILE):
        raise StoreError(f"{str(folder)!r} holds an index already; choose another folder, or remove that one")
    with database.reading() as snapshot, translated_errors(f"{database.name} can't be copied to {str(folder)!r}"):
        _write_new(folder / DATABASE_FILE, snapshot)


def restore_index(backup: Path, folder: Path) -> None:
    """Replace an index, even a damaged one, with a backup.

    Raises:
        IndexNotFoundError: There is no index in the backup's folder.
        StoreError: The backup is damaged, or the folder can't be written; nothing was changed.
    """
    if not holds_index(backup):
        raise IndexNotFoundError(f"there is no index at {str(backup)!r} to restore; give the folder of a backup")
    if backup == folder or (folder.exists() and backup.samefile(folder)):
        raise StoreError(f"{str(backup)!r} can't be restored to itself; give another path")
    make_folder(folder)
    path = folder / DATABASE_FILE
    files = [path, folder / HEAD_FILE, *(folder / name for name in SIDE_FILES)]
    refuse_links(*files)
    for each in files:
        if each.is_dir():
            raise StoreError(f"{str(each)!r} is a folder, where an index has a file; move it elsewhere, and try again")
    database = Database(backup, read_only=True)
    try:
        with database.reading() as snapshot:
            if damage := find_damage(snapshot):
                raise StoreError(f"{database.name} is damaged: {damage}; choose another backup. Nothing was changed")
            # Within the read, which would blame the backup for these errors.
            what = f"{str(backup)!r} can't be restored to {str(folder)!r}"
            with translated_errors(what, cure="choose another path"):
                _replace(files, snapshot)
    finally:
        database.close()


def _replace(files: Sequence[Path], snapshot: Snapshot) -> None:
    """Write a copy of a database over another one, whose file is the first; only what isn't a database is removed."""
    if size_of(files[0]):
        try:
            _copy_over(files[0], snapshot)
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
                raise
        else:
            return
    for each in files:  # it is no database, so no process uses it
        each.unlink(missing_ok=True)
    _write_new(files[0], snapshot)


def _copy_over(path: Path, snapshot: Snapshot) -> None:
    """Write a copy of a database over another one, in one transaction of SQLite."""
    (path.parent / HEAD_FILE).unlink(missing_ok=True)  # it counts writes that the copy may not have
    with closing(_connected(path)) as target:
        if _page_size(target) != _page_size(snapshot.connection):
            target.execute("PRAGMA journal_mode = DELETE")  # with a write-ahead log, SQLite can't change it
        snapshot.copy_to(target)
        with suppress(sqlite3.OperationalError):  # another process uses it, and will
            target.execute("PRAGMA journal_mode = WAL")
        begin_epoch(target, is_copy=True)
        target.execute(EMPTY_LOG)


def _write_new(path: Path, snapshot: Snapshot) -> None:
    """Write a copy of a database as a new file, which appears when it is complete."""
    with new_file(path) as part, closing(_connected(part)) as target:
        snapshot.copy_to(target)
        begin_epoch(target, is_copy=True)
        target.execute("PRAGMA journal_mode = WAL")


def _page_size(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA page_size").fetchone()[0])


def _connected(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, timeout=60)
