"""The SQLite file of a store: its connections, what one may read or write at a time, and whether it is sound.

Each write is one transaction. Readers have connections of their own, and see one state of the database
for as long as they read, whatever is written meanwhile. A database in memory has no log to read from
meanwhile, so there a lock keeps readers and the writer apart.
"""

import secrets
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from functools import lru_cache
from pathlib import Path

from langchain_sentence_window.errors import IndexMismatchError, StoreError
from langchain_sentence_window.store.connections import HEAD_FILE, SEAL_FILE, Connections
from langchain_sentence_window.store.locks import ReadersWriterLock
from langchain_sentence_window.store.reading import Snapshot
from langchain_sentence_window.store.seals import read_number
from langchain_sentence_window.store.tables import SCHEMA, Record, Version
from langchain_sentence_window.store.writing import Transaction

FORMAT_VERSION = 4
"""Goes up when another version of this package couldn't read the database any more."""

APPLICATION_ID = 0x53574E31  # "SWN1"; SQLite keeps it in the file's header.

# Larger than SQLite's own 4096, of which two vectors of 768 numbers would fill three quarters.
_PAGE_SIZE = 16_384


class Database:
    """A store's database, for any number of threads."""

    def __init__(self, path: Path | None, *, read_only: bool = False) -> None:
        """Open the database, or make it, and see that it is sound.

        Args:
            path: The file; ``None`` for a database in memory.
            read_only: Whether nothing may be written, not even a new database.

        Raises:
            StoreError: The file isn't a database of this package, is damaged, or can't be opened.
            IndexMismatchError: Its format isn't the one this version knows.
        """
        self.name = str(path) if path else "the store in memory"
        self.read_only = read_only
        self._connections = Connections(path, read_only=read_only)
        self._write_lock = threading.Lock()
        # Only a database in memory needs it: one in a file keeps its readers and its writer apart.
        self._memory_lock = None if path else ReadersWriterLock()
        # A store is often dropped without being closed, which sqlite3 warns of.
        self._close = weakref.finalize(self, self._connections.close)
        try:
            with self._errors("can't be opened as an index", "restore it from a backup, or choose another path"):
                self._prepare(path)
        except BaseException:
            self._connections.is_dirty = False
            self._close()
            raise

    def close(self) -> None:
        """Close all connections, and seal the file."""
        with self._write_lock:
            self._close()

    def seal(self) -> None:
        """Bring the whole database into its file, and note the checksum of that file."""
        with self._write_lock:
            self._connections.seal()

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Read one state of the database, whatever is written meanwhile.

        Raises:
            StoreError: SQLite can't read: the store is closed, or its file damaged.
        """
        with self._reader() as connection:
            connection.execute("BEGIN")
            try:
                yield Snapshot(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    with suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                raise

    def records_at(self, version: Version, rows: Sequence[int]) -> dict[int, Record] | None:
        """Fetch records by row; ``None`` unless all are there and no write came after the given one.

        One statement sees one state, so this needs no `snapshot`, which would take three more.

        Raises:
            StoreError: SQLite can't read.
        """
        with self._reader() as connection:
            records = Snapshot(connection).by_rows(rows, latest=version)
        return records if len(records) == len(rows) else None

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Write all or nothing: commit at the end, roll back on any exception. Writers queue.

        Raises:
            StoreError: SQLite can't do it: the disk is full, the file locked, damaged or read-only.
        """
        if self.read_only:
            raise StoreError(f"{self.name} was opened for reading only; open it without read_only=True to change it")
        if self._memory_lock:
            with self._memory_lock.writing(), self._transaction() as transaction:
                yield transaction
        else:
            with self._write_lock, self._transaction() as transaction:
                yield transaction

    def copy_to(self, path: Path) -> None:
        """Copy the whole database into a new file.

        Raises:
            StoreError: It can't be read, or the file not be written.
        """
        with (
            self._errors(f"can't be copied to {str(path)!r}", "make room, or choose another path"),
            self.snapshot() as snapshot,
            closing(sqlite3.connect(path)) as target,
        ):
            snapshot.copy_to(target)

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        with self._errors("can't be read or written", "it is as it was before the call"):
            connection = self._connections.writer
            connection.execute("BEGIN IMMEDIATE")
            try:
                transaction = Transaction(connection, secrets.randbits(62))
                yield transaction
                transaction.finish()
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            self._connections.wrote(transaction.generation)

    @contextmanager
    def _errors(self, what: str, cure: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, sqlite3.Warning, UnicodeDecodeError) as error:
            raise StoreError(f"{self.name} {what}: {error}; {cure}") from error

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        """A connection to read with, that no writer disturbs."""
        lock = self._memory_lock.reading() if self._memory_lock else nullcontext()
        with self._errors("can't be read", "if it isn't closed, it may be damaged: open it again"), lock:
            connection = self._connections.take_reader()
            try:
                yield connection
            finally:
                self._connections.give_back(connection)

    # Opening

    def _prepare(self, path: Path | None) -> None:
        is_sealed = path is not None and self._connections.is_sealed()
        execute = self._connections.writer.execute
        (application,) = execute("PRAGMA application_id").fetchone()
        (tables,) = execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if tables and application != APPLICATION_ID:
            raise StoreError(
                f"{self.name} is a database, but not one of langchain-sentence-window; choose another path"
            )
        if not tables:
            self._make(path)
        else:
            self._check_format()
        if path is not None:
            self._check_head(path)
            if not is_sealed:
                with self._snapshot_of_writer() as snapshot:
                    self._check_rows(snapshot)
                self._connections.is_dirty = not self.read_only
            if not self.read_only:
                self._connections.use_log()

    def _make(self, path: Path | None) -> None:
        if self.read_only or (
            path is not None and any((path.parent / name).exists() for name in (SEAL_FILE, HEAD_FILE))
        ):
            raise StoreError(
                f"{self.name} is empty, though there was an index; restore it from a backup, or choose another path"
            )
        execute = self._connections.writer.execute
        execute(f"PRAGMA page_size = {_PAGE_SIZE}")
        execute("BEGIN IMMEDIATE")
        try:
            # Another process may have made it since.
            if execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,):
                execute(f"PRAGMA application_id = {APPLICATION_ID}")
                for statement in SCHEMA:
                    execute(statement)
                execute(f"PRAGMA user_version = {FORMAT_VERSION}")
                Transaction(self._connections.writer, secrets.randbits(62)).begin()
            execute("COMMIT")
        except BaseException:
            execute("ROLLBACK")
            raise
        self._connections.is_dirty = True

    def _check_format(self) -> None:
        (version,) = self._connections.writer.execute("PRAGMA user_version").fetchone()
        if version != FORMAT_VERSION:
            raise IndexMismatchError(
                f"{self.name} has format {version or 1}, and this version of langchain-sentence-window reads format "
                f"{FORMAT_VERSION}; upgrade the package, or index the documents again at another path"
            )
        with self._snapshot_of_writer() as snapshot:
            if snapshot.schema() != _expected_schema():
                raise StoreError(
                    f"{self.name} doesn't have the tables of an index, so it may be damaged; restore it from a backup"
                )

    def _check_head(self, path: Path) -> None:
        head = read_number(path.parent / HEAD_FILE)
        with self._snapshot_of_writer() as snapshot:
            generation = snapshot.state.generation
        if head is not None and head > generation:
            raise StoreError(
                f"{self.name} holds {generation} writes, and {head} were made: its file or its write-ahead log was "
                f"lost, damaged or replaced. Restore both from a backup; to go on without what is missing, delete "
                f"{str(path.parent / HEAD_FILE)!r}"
            )

    def _check_rows(self, snapshot: Snapshot) -> None:
        damage = snapshot.find_damage()
        if damage:
            raise StoreError(f"{self.name} is damaged: {damage}; restore it from a backup, or index again elsewhere")

    @contextmanager
    def _snapshot_of_writer(self) -> Iterator[Snapshot]:
        self._connections.writer.execute("BEGIN")
        try:
            yield Snapshot(self._connections.writer)
        finally:
            self._connections.writer.execute("ROLLBACK")


@lru_cache(maxsize=1)
def _expected_schema() -> list[str]:
    connection = sqlite3.connect(":memory:")
    for statement in SCHEMA:
        connection.execute(statement)
    schema = Snapshot(connection).schema()
    connection.close()
    return schema
