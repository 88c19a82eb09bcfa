"""The connections to one database: one that writes, any number that read."""

import secrets
import sqlite3
from contextlib import suppress
from pathlib import Path

from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.stores.faiss.database.connection import (
    SECONDS_PER_ATTEMPT,
    SECONDS_TO_WAIT,
    Connection,
    leave_open,
    open_connection,
    until_unlocked,
)
from langchain_sentence_window.stores.faiss.database.database_file import DatabaseFile
from langchain_sentence_window.stores.faiss.database.files import remove_file, size_of
from langchain_sentence_window.stores.faiss.database.locks import NestedWriteError
from langchain_sentence_window.stores.faiss.database.state_files import (
    SEAL_FILE,
    Head,
    Stamp,
    log_of,
    write_head,
    write_seal,
)

# Room for the indexes' pages that one write touches; otherwise each is written out several times.
_WRITING = "PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = 4000;"
# Room for what one query reads, so that the next doesn't read it again: four times SQLite's default.
_SETTINGS = (
    "PRAGMA cache_size = -8192; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA synchronous = FULL;"
)


class Connections:
    """One connection that writes, and any number that read."""

    def __init__(self, path: Path | None, *, read_only: bool) -> None:
        """Open nothing yet.

        Args:
            path: The database; ``None`` for one in memory, which exists until this is closed.
            read_only: Whether the database is only read.
        """
        self.path = path
        self.file = DatabaseFile(path, read_only=read_only)
        self.name = self.file.name
        self._read_only = read_only
        self._name_in_memory = secrets.token_hex(16)
        self._memory: Connection | None = None
        self._all: list[Connection] = []
        self._idle: list[Connection] = []
        self._writer: Connection | None = None
        self._failed: list[Connection] = []
        self._refusal: str | None = None
        self.is_dirty = False

    # Reading

    def take_reader(self, stamp: Stamp | None = None) -> Connection:
        """Take a connection that no other thread has, and that sees the file with this stamp."""
        if self._refusal:
            raise StoreError(self._refusal)
        self.file.check_damage()
        while self._idle:
            with suppress(IndexError):
                connection = self._idle.pop()
                if connection.stamp == stamp:
                    return connection
                self.discard(connection)
        return self._connect(stamp=stamp)

    def open_to_check(self) -> Connection:
        """Open a connection that moves nothing from the log into the file, not even when it is closed."""
        return self._connect(mode="mode=ro", stamp=self.file.stamp())

    def give_back(self, connection: Connection) -> None:
        """Make a connection available to other threads."""
        connection.forget_cursors()
        self._idle.append(connection)

    def discard(self, connection: Connection) -> None:
        """Close a connection."""
        if self.file.leads_elsewhere():
            # The last connection to be closed deletes the log by its path, where another store's log is now.
            leave_open(connection)
        else:
            connection.close()
        with suppress(ValueError):
            self._all.remove(connection)

    # Writing

    @property
    def writer(self) -> Connection:
        """The only connection that writes; opened on first use."""
        if self._refusal:
            raise StoreError(self._refusal)
        if self._writer is None:
            writer = self._connect(seconds_to_wait=SECONDS_PER_ATTEMPT)
            writer.executescript(_WRITING)
            if self.path is not None:
                until_unlocked(lambda: writer.execute("PRAGMA journal_mode = WAL"))
            self._writer = writer
        return self._writer

    def begin_writing(self) -> Connection:
        """Begin a transaction that excludes other processes. Its first change removes the seal of the file.

        Raises:
            sqlite3.OperationalError: Another process held its transaction for too long.
            StoreError: The path doesn't lead to the file that was opened.
        """
        writer = self.writer
        until_unlocked(lambda: writer.execute("BEGIN IMMEDIATE"))
        self.file.check_identity()
        if self.path is not None:
            writer.before_change = self._break_seal
        return writer

    def _break_seal(self) -> None:
        """Remove the seal, and check what hasn't been checked yet, as the next seal is of what the file holds then.

        Raises:
            StoreError: The file was damaged.
        """
        if self.path is not None:
            self.is_dirty = True
            remove_file(self.path.parent / SEAL_FILE)
            self.file.finish_check()

    def end_writing(self, *, has_failed: bool) -> None:
        """Roll back a transaction that wasn't committed, if there is one.

        Args:
            has_failed: Whether the work raised an exception. It may have left unfinished statements, which would keep
                locks, so the connection isn't used again.
        """
        if self._writer is not None:
            self._writer.before_change = None
        if self._writer is not None and (has_failed or self._writer.in_transaction):
            self._failed.append(self._writer)
            self._writer = None
        while self._failed:
            with suppress(sqlite3.Error):
                self._failed[-1].rollback()
            self.discard(self._failed[-1])
            self._failed.pop()

    def wrote(self, head: Head | None) -> None:
        """Record that a transaction was committed."""
        self.writer.forget_cursors()
        if self.path and head is not None:
            write_head(self.path.parent, head)

    def seal(self) -> None:
        """Move the log into the file and record the file's checksum, unless others are using it."""
        if self.path is None or not self.is_dirty:
            return
        with suppress(sqlite3.Error, OSError, StoreError, NestedWriteError):
            writer = self.writer
            self.file.check_identity()
            writer.execute("PRAGMA shrink_memory")
            (busy, *_) = writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if busy:
                return
            # Nobody else can write while the checksum is computed.
            self.begin_writing()
            self.file.finish_check()
            sealed = self.file.make_seal() if not size_of(log_of(self.path)) else None
            if sealed:
                write_seal(self.path.parent, sealed)
                self.is_dirty = False
            writer.rollback()

    # Closing

    def close(self) -> None:
        """Seal the file and close all connections; nobody may be using one."""
        try:
            try:
                self.seal()
            finally:
                self.end_writing(has_failed=True)
        finally:
            try:
                self.close_all()
            finally:
                self._let_go()

    def _let_go(self) -> None:
        """Finish closing, also after an exception in the middle of it."""
        self.close_all()
        if self._memory is not None:
            self._memory.close()
        self._memory = None
        self.file.release()
        self._refusal = f"{self.name} is closed; open it again"

    def close_all(self) -> None:
        """Close all connections without sealing the file; new ones are opened when they are needed."""
        self._writer = None
        self._idle.clear()
        while self._all:
            self.discard(self._all[-1])

    def refuse(self, reason: str) -> None:
        """Refuse all further connections, and leave the existing ones as they are.

        Args:
            reason: The rest of a sentence that begins with the store's name.
        """
        self._refusal = f"{self.name} {reason}"
        for connection in [*self._all, *([self._memory] if self._memory else [])]:
            leave_open(connection)
        self._all.clear()
        self._idle.clear()
        self._writer = self._memory = None
        self.file.forget()

    # Machinery

    def _connect(
        self, *, mode: str = "", stamp: Stamp | None = None, seconds_to_wait: float = SECONDS_TO_WAIT
    ) -> Connection:
        target = self._target("immutable=1" if stamp is not None else mode)
        if self.path is None and self._memory is None:
            self._memory = open_connection(target)
        self.file.hold()
        self.file.check_identity()
        # Only now: a restore writes its marker before it replaces the database.
        self.file.check_restored()
        connection = open_connection(target)
        connection.stamp = stamp
        self._all.append(connection)
        try:
            until_unlocked(lambda: connection.executescript(_SETTINGS))
            # Opens the log too. The second check notices a folder that was swapped meanwhile.
            until_unlocked(lambda: connection.execute("SELECT count(*) FROM sqlite_schema").fetchone())
            connection.execute(f"PRAGMA busy_timeout = {seconds_to_wait * 1_000:.0f}")
            self.file.check_identity()
        except BaseException:
            self.discard(connection)
            raise
        return connection

    def _target(self, mode: str) -> str:
        if self.path is None:
            # Readers have separate connections here too: from Python 3.12 on, threads that share one may get each
            # other's rows.
            return f"file:{self._name_in_memory}?mode=memory&cache=shared"
        if not mode:
            mode = "mode=rw" if not self._read_only else "mode=ro"
        return f"{self.path.as_uri()}?{mode}"
