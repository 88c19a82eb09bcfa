"""The SQLite database, which holds everything that a store was given; all else is a cache of it.

Each write is one transaction. A read has a connection of its own, in a transaction that sees one state of the database
for as long as it lasts, whatever is written meanwhile; SQLite's write-ahead log provides both. A database in memory has
no such log, so reads and writes take turns on its only connection.
"""

import errno
import os
import secrets
import sqlite3
import struct
import threading
import time
import weakref
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar

from langchain_sentence_window._display import UPGRADE
from langchain_sentence_window.errors import IndexMismatchError, StoreChangedError, StoreError

from .files import DATABASE_FILE, HEAD_FILE, LOG_FILE, NO_FOLLOW, SIDE_FILES, make_folder, refuse_links, size_of
from .tables import APPLICATION_ID, FORMAT_VERSION, RESTORE, Snapshot, Transaction, Version, make_tables

T = TypeVar("T")

SECONDS_TO_WAIT = 60.0
"""How long a write waits for that of another process."""

_SECONDS_PER_ATTEMPT = 0.1  # Python sees Ctrl-C only when SQLite returns
_PAGE_SIZE = 16_384  # of SQLite's default of 4096 bytes, two vectors of 768 numbers would fill three quarters
_SETTINGS = (
    f"PRAGMA page_size = {_PAGE_SIZE}; PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF;"
    "PRAGMA cell_size_check = ON; PRAGMA synchronous = FULL;"
)
class OutdatedError(StoreChangedError):
    """What is searched has moved on to a later state than the one that is read; read the present one."""


class Calls:
    """Counts the calls that are running, for whose end forks and closing wait."""

    def __init__(self) -> None:
        """Start with none."""
        self.is_closed = False
        self._changed = threading.Condition()
        self._running: Counter[int] = Counter()

    @contextmanager
    def counted(self, name: str) -> Iterator[None]:
        """Count a call while the block runs.

        Raises:
            StoreError: The store of that name was closed.
        """
        thread = threading.get_ident()
        with self._changed:
            if self.is_closed:
                raise StoreError(f"{name} is closed; open it again")
            self._running[thread] += 1
        try:
            yield
        finally:
            with self._changed:
                self._running[thread] -= 1
                self._running += Counter()  # drops those that are 0
                self._changed.notify_all()

    def close(self) -> None:
        """Refuse further calls, and wait until those of other threads have ended."""
        with self._changed:
            self.is_closed = True
            self._wait(None)

    def before_fork(self) -> None:
        """Wait for the calls of other threads, and let no other begin before the fork."""
        self._changed.acquire()
        self._wait(SECONDS_TO_WAIT)

    def after_fork_in_parent(self) -> None:
        """Let calls begin again."""
        self._changed.release()

    def _wait(self, seconds: float | None) -> None:
        thread = threading.get_ident()
        self._changed.wait_for(lambda: set(self._running) <= {thread}, seconds)


_CALLS = Calls()
"""The calls of all stores in this process. A fork amid one could leave a lock held, of SQLite or FAISS, that no thread
of the child would release."""

_DATABASES: "weakref.WeakSet[Database]" = weakref.WeakSet()


def is_forked() -> bool:
    """Return whether this process was forked from one that had loaded this module, so that it lacks threads of FAISS."""
    return _Fork.was_made


class _Fork:
    was_made = False

    @staticmethod
    def after_in_child() -> None:
        global _CALLS  # noqa: PLW0603 - the fork's lock can't be released by another thread, so it is replaced
        _CALLS, _Fork.was_made = Calls(), True
        for database in list(_DATABASES):
            database.after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(
        before=lambda: _CALLS.before_fork(),
        after_in_parent=lambda: _CALLS.after_fork_in_parent(),
        after_in_child=_Fork.after_in_child,
    )


class Database:
    """The database of a store, for any number of threads and processes.

    Attributes:
        folder: The folder of all files, as an absolute path; ``None`` for a store in memory.
        name: Its name in messages.
        read_only: Whether writes are refused.
    """

    def __init__(self, folder: Path | None, *, read_only: bool = False) -> None:
        """Open or create the database in a folder, or create one in memory.

        Raises:
            StoreError: The file isn't a database of this package, belongs to another log, or can't be opened.
            IndexMismatchError: Its format isn't the one that this version reads.
        """
        self.folder, self.read_only = folder, read_only
        self.path = None if folder is None else folder / DATABASE_FILE
        self.name = "the store in memory" if folder is None else str(self.path)
        self.calls = Calls()
        self._turn = threading.RLock()
        """Held by who writes, and by who reads a database in memory."""
        self._idle: list[sqlite3.Connection] = []
        self._memory: sqlite3.Connection | None = None
        self._held: tuple[int, int] | None = None
        self._has_renewed_epoch = False
        self._states: weakref.WeakSet[OneState] = weakref.WeakSet()
        self.on_fork: list[Callable[[], None]] = []
        with self.running("can't be opened as an index"):
            if self.path is None:
                self._memory = _connect(":memory:")
                _make_all(self._memory)
            else:
                self._open(self.path)
        self._finalizer = weakref.finalize(self, _close_all, self._idle)
        _DATABASES.add(self)

    # Reading and writing

    @contextmanager
    def running(self, what: str) -> Iterator[None]:
        """Count a call while the block runs, and translate the errors of SQLite and the system.

        Args:
            what: What can't be done if there is an error.
        """
        with _CALLS.counted(self.name), self.calls.counted(self.name):
            try:
                yield
            except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
                cure = cure_of(error, self.path, read_only=self.read_only) or RESTORE
                raise StoreError(f"{self.name} {what}: {error}; {cure}") from error

    @contextmanager
    def reading(self) -> Iterator[Snapshot]:
        """Read one state of the database in the block.

        Raises:
            StoreError: SQLite can't read, or the store was closed.
            OutdatedError: The file was written to meanwhile, and this process may not lock it.
        """
        with self.running("can't be read"):
            if self._memory is not None:
                with self._turn, _transaction(self._memory, "BEGIN"):
                    yield Snapshot(self._memory)
                return
            stamp = self._stamp()
            snapshot = self.keep_state()
            try:
                yield snapshot
            except OutdatedError:  # is raised by each search after a write, and closing the only connection syncs files
                self.release_state(snapshot)
                raise
            except BaseException:
                snapshot.connection.close()
                self._check_stamp(stamp)
                raise
            self.release_state(snapshot)
            self._check_stamp(stamp)

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """Write in the block: all of it at its end, or nothing if it raises an exception. Others wait.

        Raises:
            StoreError: SQLite can't write: the disk is full, or the file is locked, damaged or read-only.
        """
        if self.read_only:
            raise StoreError(f"{self.name} was opened for reading only; open it without read_only=True to change it")
        with self.running("can't be written, and is as it was before the call"), self._turn:
            if self._memory is not None and self._memory.in_transaction:
                raise StoreError(f"{self.name} can't be written while this thread reads it; write after the read")
            connection = self._memory or self._take()
            try:
                if self.folder is not None and not self._has_renewed_epoch:
                    _renew_epoch(connection, self.folder)
                    self._has_renewed_epoch = True
                with _transaction(connection, "BEGIN IMMEDIATE"):
                    transaction = Transaction(connection)
                    yield transaction
                    transaction.finish()
                    self._check_identity()
                    connection.execute("COMMIT")
            except BaseException:
                if connection is not self._memory:
                    connection.close()
                raise
            if self.folder is not None:
                if transaction.has_changed:
                    _write_head(self.folder, transaction.fact("birth"), transaction.version.generation)
                self._put_back(connection)

    @contextmanager
    def at_one_state(self, *, copies: bool = False) -> Iterator["OneState"]:
        """Return a context for several reads, perhaps of several threads, that are all of one state; see `OneState`."""
        state = OneState(self, copies=copies)
        self._states.add(state)
        try:
            yield state
        finally:
            state.end()

    def keep_state(self) -> Snapshot:
        """Return the present state, to be released; of a database in memory a copy of it."""
        if self._memory is None:
            connection = self._take()
        else:
            connection = _connect(":memory:")
            with self.reading() as snapshot:
                snapshot.copy_to(connection)
        try:
            _patiently(lambda: connection.execute("BEGIN"))
        except BaseException:
            connection.close()
            raise
        return Snapshot(connection)

    def release_state(self, snapshot: Snapshot) -> None:
        """Let go of a state that was kept."""
        connection = snapshot.connection
        if self._memory is not None or self.calls.is_closed:
            connection.close()
        else:
            connection.rollback()
            self._put_back(connection)

    # Closing and forks

    def close(self) -> None:
        """Wait for running calls, and close all connections; later calls raise `StoreError`."""
        self.calls.close()
        _DATABASES.discard(self)
        for state in list(self._states):
            state.end()
        with suppress(StoreError):
            self._check_identity()  # else the connections stay open
        self._finalizer()
        if self._memory is not None:
            self._memory.close()

    def after_fork(self) -> None:
        """Begin anew in the child process, which must not touch a connection that was opened in its parent."""
        for connection in self._idle:
            _leave_open(connection)
        self._idle.clear()
        self.calls = Calls()
        # A call in memory that didn't end within a minute leaves it in any state.
        self.calls.is_closed = self._memory is not None and not self._turn.acquire(blocking=False)
        self._turn = threading.RLock()
        for state in list(self._states):
            state.after_fork()
        for forget in self.on_fork:
            forget()

    # Machinery

    def _open(self, path: Path) -> None:
        folder = path.parent
        if not self.read_only:
            make_folder(folder)
            refuse_links(path, folder / HEAD_FILE, *(folder / name for name in SIDE_FILES))
        if path.is_dir():
            raise StoreError(f"{str(path)!r} is a folder, where an index has a file; move it elsewhere")
        if not size_of(path) and (size_of(folder / HEAD_FILE) or size_of(folder / LOG_FILE)):
            raise StoreError(f"{str(path)!r} is missing or is empty, though there was an index; {RESTORE}")
        if self.read_only and not size_of(path):
            raise StoreError(f"there is no index at {str(folder)!r} to read; make one without read_only=True")
        if (folder / f"{DATABASE_FILE}-journal").exists():
            raise StoreError(
                f"{str(path)}-journal is a rollback journal, which no store writes, and SQLite would apply it; delete "
                "it if you trust the database, or restore the index from a backup"
            )
        head = _read_head(folder)  # before the database, as others may write meanwhile and record it here afterwards
        connection = self._connect_file(mode="ro" if size_of(path) else "")
        try:
            if not size_of(path):
                _patiently(lambda: connection.execute("PRAGMA journal_mode = WAL"))
                _make_all(connection)
            with _transaction(connection, "BEGIN"):
                self._check(Snapshot(connection), head)
        finally:
            _patiently(connection.close)
        with suppress(FileNotFoundError):
            self._held = _identity(path)

    def _check(self, snapshot: Snapshot, head: "_Head | None") -> None:
        """Check that the file is a database of this package, in its format, with its own log.

        Raises:
            StoreError: It isn't.
            IndexMismatchError: It has another format.
        """
        (application,) = snapshot.execute("PRAGMA application_id").fetchone()
        (format_,) = snapshot.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION_ID:
            raise StoreError(
                f"{self.name} is a database, but not one of langchain-sentence-window; choose another path"
            )
        if format_ != FORMAT_VERSION:
            is_later = format_ > FORMAT_VERSION
            cure = (
                f"a later version wrote it, so upgrade: {UPGRADE}"
                if is_later
                else ("an earlier version wrote it, so index the documents again, at another path or after removing it")
            )
            raise IndexMismatchError(
                f"{self.name} has format {format_ or 1}, and this version of langchain-sentence-window reads format "
                f"{FORMAT_VERSION}; {cure}"
            )
        of_file, of_log = snapshot.epochs()
        if of_file != of_log:
            raise StoreError(
                f"{self.name}-wal is the write-ahead log of another version of {self.name}, as when a backup was copied "
                "over an index that was in use; make sure that no process uses it, and delete "
                f"{self.name}-wal and {self.name}-shm to go on with the backup, or use FaissStore.restore()"
            )
        made = snapshot.version.generation
        if head is not None and head.birth == snapshot.fact("birth") and head.generation > made:
            raise StoreError(
                f"{self.name} holds {made} writes, and {head.generation} were made: its file or its write-ahead log was "
                "lost, damaged or replaced. Restore both from a backup; to go on without what is missing, delete "
                f"{HEAD_FILE!r} beside it"
            )

    def _connect_file(self, *, mode: str = "") -> sqlite3.Connection:
        assert self.path is not None  # noqa: S101
        mode = mode or ("ro" if self.read_only else "rwc" if self._held is None else "rw")
        if self._cannot_lock and not size_of(self.path.with_name(LOG_FILE)):
            return _connect(f"{self.path.as_uri()}?immutable=1")
        return _connect(f"{self.path.as_uri()}?mode={mode}")

    def _take(self) -> sqlite3.Connection:
        """Return a connection that no other call has."""
        self._check_identity()
        with suppress(IndexError):
            return self._idle.pop()
        connection = self._connect_file()
        try:
            self._check_identity()
        except StoreError:
            _leave_open(connection)
            raise
        return connection

    def _put_back(self, connection: sqlite3.Connection) -> None:
        if self._cannot_lock:
            connection.close()
        else:
            self._idle.append(connection)

    def _check_identity(self) -> None:
        """Check that the path leads to the file that was opened.

        Raises:
            StoreError: It leads to another file, or to none.
        """
        if self.path is None or self._held is None:
            return
        with suppress(OSError):
            if _identity(self.path) == self._held:
                return
        # SQLite removes the log by its path when the last connection is closed, which is that of the other file now.
        while self._idle:
            _leave_open(self._idle.pop())
        raise StoreError(
            f"{self.name} was moved, replaced or deleted while it was open; close this store and open the path again"
        )

    # A process that may not write in the folder can't lock the file, so the file may change while it is read. What was
    # read is right if the file is the same afterwards and there is no log.

    @cached_property
    def _cannot_lock(self) -> bool:
        return self.read_only and self.folder is not None and not os.access(self.folder, os.W_OK)

    def _stamp(self) -> tuple[int, ...]:
        if self.path is None or not self._cannot_lock or size_of(self.path.with_name(LOG_FILE)):
            return ()
        status = self.path.stat()
        return status.st_ino, status.st_size, status.st_mtime_ns

    def _check_stamp(self, before: tuple[int, ...]) -> None:
        if self._cannot_lock and self._stamp() != before:
            raise OutdatedError(
                f"{self.name} changes all the time, and this process can't lock it without write permission for its "
                "folder; grant it, or read when nobody writes"
            )


class OneState:
    """Several reads of one state of a database.

    An async call that is canceled leaves a thread behind, which still reads. So the reads of a state take turns, and
    the state ends with the last of them: whoever leaves last lets go of the connection, and nobody waits.

    A database in memory has no log that would keep the state. There a read of a later state is refused, or the state is
    copied first.
    """

    def __init__(self, database: Database, *, copies: bool) -> None:
        """Read nothing yet.

        Args:
            database: The database.
            copies: Whether to copy the state of a database in memory, which takes time, but no write changes it then.
        """
        self._database, self._copies = database, copies
        self._turn = threading.Lock()
        self._is_over = False
        self._version: Version | None = None
        self._snapshot: Snapshot | None = None

    @contextmanager
    def reading(self) -> Iterator[Snapshot]:
        """Read the state in the block.

        Raises:
            StoreChangedError: It doesn't exist any more.
        """
        try:
            with self._database.running("can't be read"), self._turn:
                if self._is_over:
                    raise StoreError(f"a state of {self._database.name} was left before it was read")
                if self._database.folder is None and not self._copies:
                    with self._database.reading() as snapshot:
                        yield self._checked(snapshot)
                    return
                if self._snapshot is None:
                    self._snapshot = self._database.keep_state()
                try:
                    yield self._checked(self._snapshot)
                except sqlite3.Error:
                    self._snapshot.connection.close()
                    self._snapshot = None
                    raise
        finally:
            self._let_go()

    def end(self) -> None:
        """End the state, or leave that to the read that is running."""
        self._is_over = True
        self._let_go()

    def after_fork(self) -> None:
        """Let go of a connection of the parent process."""
        self._turn = threading.Lock()
        if self._snapshot is not None:
            _leave_open(self._snapshot.connection)
            self._snapshot = None

    def _checked(self, snapshot: Snapshot) -> Snapshot:
        if self._version not in (None, snapshot.version):
            raise StoreChangedError(f"{self._database.name} changes too often to be read in one state; ask again")
        self._version = snapshot.version
        return snapshot

    def _let_go(self) -> None:
        # Also after a read, as that may have ended since the state tried to end.
        if self._is_over and self._turn.acquire(blocking=False):
            try:
                snapshot, self._snapshot = self._snapshot, None
                if snapshot is not None:
                    self._database.release_state(snapshot)
            finally:
                self._turn.release()


# Connections


def _connect(target: str) -> sqlite3.Connection:
    """Open the database at a URI, for any thread and without automatic transactions."""
    connection = sqlite3.connect(
        target, uri=True, isolation_level=None, check_same_thread=False, timeout=_SECONDS_PER_ATTEMPT
    )
    try:
        _patiently(lambda: connection.executescript(_SETTINGS))
    except BaseException:
        connection.close()
        raise
    return connection


def _close_all(connections: list[sqlite3.Connection]) -> None:
    while connections:
        connections.pop().close()


def _leave_open(connection: sqlite3.Connection) -> None:
    """Keep a connection from being closed, even when this process ends."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    """Roll back at the end of the block what wasn't committed."""
    _patiently(lambda: connection.execute(begin))
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.rollback()


def _patiently(work: Callable[[], T]) -> T:
    """Repeat a call while another process keeps the database locked, for at most `SECONDS_TO_WAIT`."""
    deadline = time.monotonic() + SECONDS_TO_WAIT
    while True:
        try:
            return work()
        except sqlite3.OperationalError as error:
            is_locked = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            if not is_locked or time.monotonic() > deadline:
                raise
            time.sleep(0.001)


def _make_all(connection: sqlite3.Connection) -> None:
    with _transaction(connection, "BEGIN IMMEDIATE"):
        make_tables(connection)
        connection.execute("COMMIT")


def renew_epoch(connection: sqlite3.Connection) -> None:
    """Draw a new number for the epoch of a database, so that it accepts no log of an earlier one; see `_renew_epoch`."""
    with _transaction(connection, "BEGIN IMMEDIATE"):
        epoch = secrets.randbits(62)
        connection.execute("UPDATE epoch SET epoch = ?", [epoch])
        connection.execute(
            "UPDATE writes SET epoch = ? WHERE generation = (SELECT max(generation) FROM writes)", [epoch]
        )
        connection.execute("COMMIT")


def _renew_epoch(connection: sqlite3.Connection, folder: Path) -> None:
    """Begin another epoch before a log is written, if there is none.

    SQLite can't tell whether a log belongs to the file beside it. So the number of the epoch is in the file before the
    log begins, and in the last write, which is in the log. An older version of the file has another number. See
    `Snapshot.epochs`.
    """
    if not size_of(folder / LOG_FILE):
        renew_epoch(connection)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


# The head file tells how many writes were made, which reveals that a log was lost.


class _Head(NamedTuple):
    """The last write.

    Attributes:
        birth: A random number drawn when the database was made, as another may have been put in its place since.
        generation: The number of the write.
    """

    birth: int
    generation: int


_HEAD = struct.Struct("<qqI")


def _write_head(folder: Path, birth: int, generation: int) -> None:
    """Record the last write, if the file can be written."""
    head = struct.pack("<qq", birth, generation)
    with suppress(OSError):
        # In place, as all versions of it have the same length.
        handle = os.open(folder / HEAD_FILE, os.O_WRONLY | os.O_CREAT | NO_FOLLOW, 0o666)
        try:
            os.write(handle, head + struct.pack("<I", zlib.crc32(head)))
        finally:
            os.close(handle)


def _read_head(folder: Path) -> _Head | None:
    """Read what `_write_head` wrote; return ``None`` if it is missing or damaged."""
    with suppress(OSError, struct.error):
        content = (folder / HEAD_FILE).read_bytes()
        birth, generation, checksum = _HEAD.unpack(content)
        if zlib.crc32(content[:-4]) == checksum:
            return _Head(birth, generation)
    return None


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


# Errors

_AS_ERRNO = {
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_CANTOPEN: errno.EMFILE,
    sqlite3.SQLITE_BUSY: errno.EAGAIN,
    sqlite3.SQLITE_LOCKED: errno.EAGAIN,
}


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


