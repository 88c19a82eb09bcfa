"""The connections to one database: one that writes, any number that read, each lent to one call at a time.

One SQLite connection, which can end its unfinished statements.

A statement with unread rows holds locks until it is reset; from Python 3.12 on, even when its connection is closed. An
exception keeps the frames that it passed through, and they keep the cursor of such a statement. So the connection
knows its cursors, and closes them.

It also tells before the first statement of a transaction that isn't a read.
"""

import errno
import os
import re
import secrets
import sqlite3
import time
import weakref
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from langchain_sentence_window.errors import StoreError

from .database_file import SEAL_FILE, DatabaseFile, Stamp, log_of, write_seal
from .locks import NestedWriteError
from .snapshot import Snapshot
from .store_files import size_of, sync_folder

T = TypeVar("T")

ERRORS = (sqlite3.Error, sqlite3.Warning, UnicodeDecodeError, OSError)
"""The errors of SQLite and the system, which become a `StoreError`."""


SECONDS_TO_WAIT = 60.0
"""How long to wait for another process's lock at most."""

SECONDS_PER_ATTEMPT = 0.1
"""How long SQLite waits in one go; Python sees Ctrl-C only when SQLite returns."""


_AS_ERRNO = {
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_CANTOPEN: errno.EMFILE,
    sqlite3.SQLITE_BUSY: errno.EAGAIN,
    sqlite3.SQLITE_LOCKED: errno.EAGAIN,
}
_READS = re.compile(r"\s*(SELECT|WITH|PRAGMA|BEGIN|COMMIT|ROLLBACK)\b")


class Connection(sqlite3.Connection):
    """A connection that knows its cursors until these are cleared, when their statements are finished.

    Attributes:
        cursors: The cursors.
        before_change: Is called once before a statement that isn't a read; ``None`` for nothing.
    """

    def __init__(self, *given: Any, **settings: Any) -> None:
        """Open the connection; see ``sqlite3.connect``."""
        super().__init__(*given, **settings)
        self.cursors: list[weakref.ref[sqlite3.Cursor]] = []
        self.stamp: tuple[int, ...] | None = None
        self.before_change: Callable[[], None] | None = None

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Execute a statement; its cursor is known before it has a statement."""
        if self.before_change is not None and not _READS.match(sql):
            self.before_change()
            self.before_change = None
        cursor = self.cursor()
        self.cursors.append(weakref.ref(cursor))
        return cursor.execute(sql, parameters)

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> sqlite3.Cursor:
        """Execute a statement that isn't a read several times."""
        if self.before_change is not None:
            self.before_change()
            self.before_change = None
        return super().executemany(sql, parameters)

    def close(self) -> None:
        """End all statements and close the connection."""
        while self.cursors:
            cursor = self.cursors[-1]()
            if cursor is not None:
                with suppress(sqlite3.Error):
                    cursor.close()
            self.cursors.pop()
        super().close()


def open_connection(target: str) -> Connection:
    """Open the database at a URI, for any thread and without automatic transactions."""
    return sqlite3.connect(
        target,
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=SECONDS_PER_ATTEMPT,
        factory=Connection,
    )


def until_unlocked(work: Callable[[], T]) -> T:
    """Repeat a function while another process keeps the database locked, for at most `SECONDS_TO_WAIT`.

    Raises:
        sqlite3.OperationalError: It fails for another reason, or the database is still locked.
    """
    deadline = time.monotonic() + SECONDS_TO_WAIT
    while True:
        try:
            return work()
        except sqlite3.OperationalError as error:
            is_locked = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            if not is_locked or time.monotonic() > deadline:
                raise
            time.sleep(0.001)


def cure_of(error: Exception, path: Path | None, *, read_only: bool) -> str | None:
    """Return what to do about an error that tells nothing of damage; ``None`` for one that may.

    Args:
        error: The error of SQLite or the system.
        path: The database; ``None`` for one in memory.
        read_only: Whether it is only read.
    """
    of_sqlite = _AS_ERRNO.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)  # without what SQLite adds to it
    code = error.errno if isinstance(error, OSError) else of_sqlite
    may = "read" if read_only else "read and write"
    is_forbidden = code in (errno.EACCES, errno.EPERM, errno.EROFS)
    # SQLite doesn't say why it can't create a log.
    if path is not None and not read_only and code == errno.EMFILE:
        is_forbidden = not os.access(path.parent, os.W_OK)
    if is_forbidden and not read_only and path is not None and os.access(path, os.R_OK):
        return "open it with read_only=True, or let this user write in its folder and to the files there"
    if is_forbidden:
        return f"let this user {may} the folder and its files, or choose another path"
    if code in (errno.EMFILE, errno.ENFILE):
        return f"let this user {may} the folder and its files; if it may already, too many files are open"
    if code in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO):
        return "make sure that the disk has room and works, and try again"
    if code == errno.EAGAIN:
        return "another process is using it; try again when that has ended"
    return "choose another path" if isinstance(error, OSError) else None


def leave_open(connection: Connection) -> None:
    """Keep a connection from being closed, even when this process ends."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


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

    def open_to_check(self) -> Connection:
        """Open a connection that moves nothing from the log into the file, not even when it is closed."""
        return self._connect(mode="mode=ro", stamp=self.file.stamp())

    def discard(self, connection: Connection) -> None:
        """Close a connection."""
        try:
            self.file.check_identity()
        except StoreError:
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
        writer = self._writer or self.writer
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
            with suppress(FileNotFoundError):
                (self.path.parent / SEAL_FILE).unlink()
                sync_folder(self.path.parent)
            if self.file.later_check is not None:
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


@dataclass(slots=True)
class Lease:
    """A connection that one call reads with, returned whatever happens.

    After a failed call it may have unfinished statements, which would block writers. So it is closed then.

    Attributes:
        connections: The connections that it is one of.
        connection: The connection. None is taken at first, so no exception can come between taking and returning it.
        stamp: The stamp of the file, if it may change under the connection.
        has_succeeded: Whether the call didn't fail.
    """

    connections: Connections
    connection: Connection | None = None
    stamp: Stamp | None = None
    has_succeeded: bool = False

    def take(self, *, begins: bool = True) -> Snapshot:
        """Take a connection that no other thread has, and begin to read one state with it."""
        connections, file = self.connections, self.connections.file
        self.stamp = file.stamp() if file.cannot_lock else None
        if connections._refusal:
            raise StoreError(connections._refusal)
        if file.later_check is not None:
            file.check_damage()
        while self.connection is None and connections._idle:
            with suppress(IndexError):
                connection = connections._idle.pop()
                if connection.stamp == self.stamp:
                    self.connection = connection
                else:
                    connections.discard(connection)
        if self.connection is None:
            self.connection = connections._connect(stamp=self.stamp)
        file.check_identity()
        if begins:
            self.connection.execute("BEGIN")
        return Snapshot(self.connection)

    def end(self) -> None:
        """Return the connection, if there is one."""
        connection = self.connection
        if connection is None:
            return
        if self.has_succeeded:
            connection.rollback()
            self.connection = None
            connection.cursors.clear()
            self.connections._idle.append(connection)
        else:
            self.connections.discard(connection)
            self.connection = None

    def is_outdated(self) -> bool:
        """Return whether the file changed under a connection that can't notice it."""
        return self.stamp is not None and self.connections.file.stamp() != self.stamp
