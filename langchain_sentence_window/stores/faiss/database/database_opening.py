"""Creating the SQLite file of a store, and checking that one is sound before anything is written to it."""

import os
import sqlite3
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

from langchain_sentence_window._display import UPGRADE
from langchain_sentence_window.errors import IndexMismatchError, StoreError

from . import store_files
from .connections import Connections, cure_of
from .database_file import HEAD_FILE, RESTORING_FILE, SEAL_FILE, Head, read_head
from .schema import FORMAT_VERSION, SCHEMA
from .snapshot import Snapshot
from .transaction import Transaction

APPLICATION_ID = 0x53574E31  # "SWN1"; SQLite keeps it in the file's header.

# Larger than SQLite's default of 4096, of which two vectors of 768 numbers would fill three quarters.
_PAGE_SIZE = 16_384
RESTORE = "restore it from a backup, or choose another path"
SIDE_FILE_SUFFIXES = ("-wal", "-shm", "-journal")
"""The suffixes of SQLite's own files beside a database."""


def make_tables(connection: sqlite3.Connection) -> None:
    """Create the tables of an empty database."""
    execute = connection.execute
    execute(f"PRAGMA page_size = {_PAGE_SIZE}")
    execute("BEGIN IMMEDIATE")
    execute(f"PRAGMA application_id = {APPLICATION_ID}")
    for statement in SCHEMA:
        execute(statement)
    execute(f"PRAGMA user_version = {FORMAT_VERSION}")
    transaction = Transaction(connection)
    transaction.begin()
    transaction.assign_birth()
    execute("COMMIT")


def make_file(path: Path, *, read_only: bool) -> None:
    """Create the file of an empty database, if there is none; it gets its name only when it is complete.

    Raises:
        StoreError: There was an index, or the store is read-only.
        OSError: The file can't be written.
        sqlite3.Error: The file can't be written.
    """
    had_index = has_traces_of_index(path)
    if path.is_dir():
        raise StoreError(f"{str(path)!r} is a folder, where an index has a file; move it elsewhere")
    if path.exists():
        return
    if had_index:
        raise StoreError(f"{str(path)!r} is missing or is empty, though there was an index; {RESTORE}")
    if read_only:
        raise StoreError(f"there is no index at {str(path.parent)!r} to read; make one without read_only=True")
    part = store_files.make_part(path)
    try:
        with closing(sqlite3.connect(part, isolation_level=None)) as connection:
            make_tables(connection)
            connection.execute("PRAGMA journal_mode = WAL")
        store_files.put_if_new(part, path)
    finally:
        for name in (part.name, *(f"{part.name}{ending}" for ending in SIDE_FILE_SUFFIXES)):
            with suppress(OSError):
                path.with_name(name).unlink()


def holds_index(folder: Path) -> bool:
    """Return whether there is an index in a folder, or one is being restored there.

    Raises:
        StoreError: The folder can't be read.
    """
    try:
        return any((folder / name).exists() for name in (store_files.DATABASE_FILE, RESTORING_FILE))
    except OSError as error:
        cure = cure_of(error, None, read_only=True)
        raise StoreError(f"{str(folder)!r} can't be read: {error}; {cure}") from error


def has_traces_of_index(path: Path) -> bool:
    """Return whether files of an index lie beside a path; a new database would use the log among them."""
    beside = [path.parent / name for name in (SEAL_FILE, HEAD_FILE, RESTORING_FILE)]
    logs = [path.with_name(f"{path.name}{ending}") for ending in SIDE_FILE_SUFFIXES]
    return any(map(os.path.lexists, beside)) or any(map(store_files.size_of, logs))


def check_names(path: Path, *, read_only: bool) -> None:
    """Check that a database's files aren't links, before SQLite opens them.

    Raises:
        StoreError: One is a link, the database is empty, or there is a rollback journal, which no store writes.
    """
    if not read_only:
        beside = [path.with_name(f"{path.name}{ending}") for ending in SIDE_FILE_SUFFIXES]
        store_files.refuse_links(path, *beside, path.parent / SEAL_FILE, path.parent / HEAD_FILE)
        store_files.remove_second_names(path)
        store_files.remove_abandoned(path)
        for each in beside:
            if each.exists() and each.stat().st_nlink > 1:
                raise StoreError(
                    f"{str(each)!r} has another name elsewhere (a hard link), so writing would change that file too; "
                    "delete this name if no process uses the index"
                )
    if not path.stat().st_size:
        raise StoreError(f"{str(path)!r} is empty, though there was an index; {RESTORE}")
    journal = path.with_name(f"{path.name}-journal")
    if journal.exists():
        raise StoreError(
            f"{str(journal)!r} is a rollback journal, which no store writes, and SQLite would apply it; delete it if "
            "you trust the database, or restore the index from a backup"
        )


def check_file(connections: Connections, connection: sqlite3.Connection) -> None:
    """Check that a database is one of this package, in its format, and undamaged.

    Args:
        connections: The connections to the file.
        connection: The connection to read with; it is in no transaction yet.

    Raises:
        StoreError: It isn't a database of this package, or is damaged.
        IndexMismatchError: Its format isn't the one this version reads.
    """
    path, name = connections.path, connections.name
    # Before anything else is read: others may write at any time, and record it here afterwards.
    head = read_head(path.parent) if path is not None else None
    connection.execute("BEGIN")
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID:
        raise StoreError(f"{name} is a database, but not one of langchain-sentence-window; choose another path")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != FORMAT_VERSION:
        cure = f"a later version wrote it, so upgrade: {UPGRADE}"
        if version == FORMAT_VERSION - 1:
            cure = "open it once without read_only=True, or with a command, which converts it and keeps the old one"
        elif version < FORMAT_VERSION:
            cure = "an earlier version wrote it, so index the documents again, at another path or after removing it"
        raise IndexMismatchError(
            f"{name} has format {version or 1}, and this version of langchain-sentence-window reads format "
            f"{FORMAT_VERSION}; {cure}"
        )
    is_sealed = connections.file.is_sealed_or_unchanged()
    snapshot = Snapshot(connection)
    if snapshot.schema() != _expected_schema():
        raise StoreError(f"{name} doesn't have the tables of an index, so it may be damaged; restore it from a backup")
    if path is None:
        return
    check_head(name, path.parent / HEAD_FILE, head, snapshot)
    if is_sealed:
        # So that the next opening needn't read all of it.
        connections.is_dirty = connections.file.lacks_stamp()
        return
    damage = snapshot.find_damage()
    if damage:
        raise StoreError(
            f"{name} is damaged: {damage}; restore it from a backup with FaissStore.restore(), which replaces the "
            "write-ahead log too, or index the documents again at another path"
        )
    connections.is_dirty = True


def check_log(connections: Connections) -> None:
    """Check that the write-ahead log belongs to the file, before SQLite reads it.

    Raises:
        StoreError: It belongs to another version of the file.
    """
    if connections.file.has_foreign_log():
        raise StoreError(
            f"{connections.name}-wal is the write-ahead log of another version of {connections.name}, as when a backup "
            f"was copied over an index that was in use; make sure that no process uses it, and delete "
            f"{connections.name}-wal and {connections.name}-shm to go on with the backup, or use FaissStore.restore()"
        )


def check_head(name: str, head_file: Path, recorded: Head | None, snapshot: Snapshot) -> None:
    """Check that a database holds all writes that were recorded beside it.

    Raises:
        StoreError: It doesn't.
    """
    head = snapshot.head
    if recorded is not None and recorded.birth == head.birth and recorded.generation > head.generation:
        raise StoreError(
            f"{name} holds {head.generation} writes, and {recorded.generation} were made: its file or its write-ahead "
            f"log was lost, damaged or replaced. Restore both from a backup; to go on without what is missing, delete "
            f"{str(head_file)!r}"
        )


@cache
def _expected_schema() -> list[str]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statement in SCHEMA:
            connection.execute(statement)
        return Snapshot(connection).schema()
