"""The SQLite database, which holds all data of a store; everything else is a cache of it.

Each write is one transaction. A read has a connection of its own, in a transaction that sees one state of the database
regardless of concurrent writes; SQLite's write-ahead log provides both. A database in memory has no such log, so reads
and writes take turns on its only connection.
"""

import concurrent.futures.thread
import errno
import logging
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
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from langchain_sentence_window._display import UPGRADE
from langchain_sentence_window.errors import IndexMismatchError, StoreChangedError, StoreError

from .files import (
    DATABASE_FILE,
    HEAD_FILE,
    LOG_FILE,
    NO_FOLLOW,
    NO_WAIT,
    SIDE_FILES,
    make_folder,
    make_new,
    open_regular,
    refuse_links,
    size_of,
)
from .tables import (
    APPLICATION_ID,
    FORMAT_VERSION,
    RESTORE,
    SECONDS_TO_WAIT,
    Snapshot,
    Transaction,
    Version,
    make_tables,
)

T = TypeVar("T")

_SECONDS_PER_ATTEMPT = 0.1  # Python sees Ctrl-C only when SQLite returns
_SECONDS_BEFORE_FORK = 10.0
_PAGE_SIZE = 16_384  # of SQLite's default of 4096 bytes, two vectors of 768 numbers would fill three quarters
_SETTINGS = (
    f"PRAGMA page_size = {_PAGE_SIZE}; PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY; "
    "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA synchronous = FULL; "
    "PRAGMA wal_autocheckpoint = 0;"  # a log begins only after an epoch, see `_before_log`
)
EMPTY_LOG = "PRAGMA wal_checkpoint(TRUNCATE)"

MAX_LOG_BYTES = 32_000_000
"""The size of the write-ahead log from which on it is brought into the database."""


class OutdatedError(StoreChangedError):
    """A cache is at a later state than the one that is read; read the present one."""


class Calls:
    """Counts the running calls; forks and closing wait for their end.

    Attributes:
        refusal: Why new calls are refused; empty if they aren't.
    """

    def __init__(self, refusal: str = "") -> None:
        """Start without calls."""
        self.refusal = refusal
        self._lock = threading.RLock()  # Ctrl-C can't leave it held by a ``with``, as it can a condition
        self._changed = threading.Condition(self._lock)
        self._running: Counter[int] = Counter()
        self._forking: set[int] = set()

    @property
    def is_closed(self) -> bool:
        """Whether calls are refused."""
        return bool(self.refusal)

    @property
    def are_running(self) -> bool:
        """Whether a call of any thread is running."""
        return bool(self._running)

    @contextmanager
    def counted(self, name: str) -> Iterator[None]:
        """Count a call while the block runs.

        Raises:
            StoreError: The store of that name was closed.
        """
        thread = threading.get_ident()
        is_counted = False
        try:
            with self._lock:
                # A fork would wait forever if other threads kept starting calls.
                self._changed.wait_for(
                    lambda: thread in self._running or self._forking <= {thread}, timeout=_SECONDS_BEFORE_FORK
                )
                if self.refusal:
                    raise StoreError(f"{name} {self.refusal}")
                self._running[thread] += 1
                is_counted = True  # Ctrl-C may end the ``with`` before the block begins
            yield
        finally:
            if is_counted:
                self._end(thread)

    def _end(self, thread: int) -> None:
        with self._lock:
            self._running[thread] -= 1
            if not self._running[thread]:
                del self._running[thread]
                self._changed.notify_all()

    def close(self) -> None:
        """Refuse new calls, and wait for running ones, unless this thread is within one."""
        thread = threading.get_ident()
        with self._lock:
            self.refusal = self.refusal or "is closed; open it again"
            # As in a signal handler: others may wait for a lock that this thread holds.
            self._changed.wait_for(lambda: not self._running or thread in self._running)

    def before_fork(self) -> None:
        """Wait some seconds for the calls of other threads, and block new ones until the fork."""
        thread = threading.get_ident()
        self._changed.acquire()
        self._forking.add(thread)
        self._changed.wait_for(lambda: set(self._running) <= {thread}, timeout=_SECONDS_BEFORE_FORK)

    def after_fork_in_parent(self) -> None:
        """Allow new calls again."""
        self._forking.discard(threading.get_ident())
        self._changed.notify_all()
        self._changed.release()


_CALLS = Calls()
"""The calls of all stores in this process. A fork during a call could leave a lock of SQLite or FAISS held, which no
thread of the child would release."""


def counted_call(name: str) -> AbstractContextManager[None]:
    """Return a context of a call; a fork waits for its end."""
    return _CALLS.counted(name)


_DATABASES: "weakref.WeakSet[Database]" = weakref.WeakSet()


def _before_fork() -> None:
    _CALLS.before_fork()
    for database in list(_DATABASES):
        database.before_fork()


def _after_fork_in_parent() -> None:
    _CALLS.after_fork_in_parent()


def _after_fork_in_child() -> None:
    global _CALLS  # noqa: PLW0603 - the fork's lock can't be released by another thread, so it is replaced
    _CALLS = Calls()
    for database in list(_DATABASES):
        database.after_fork_in_child()


# Before a fork, the last registered function is called first. A running call may need a lock that these take.
_HAVE_REGISTERED = logging, concurrent.futures.thread
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)


class Cache(Protocol):
    """A cache of a database."""

    def forget(self) -> None:
        """Release everything: the database was closed."""

    def after_fork(self) -> None:
        """Reset in a child process, where no other thread exists."""


class Database:
    """The database of a store, for any number of threads and processes.

    Attributes:
        folder: The folder of all files, as an absolute path; ``None`` for a store in memory.
        name: Its name in messages.
        read_only: Whether writes are refused.
        turn: Held by the thread that writes, or that reads a database in memory.
        caches: The caches that closing and forks reset.
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
        # A process that may not write in the folder can't lock the file, so the file may change while it is read. The
        # read is valid if the file is the same afterwards and there is no log.
        self._cannot_lock = read_only and folder is not None and not os.access(folder, os.W_OK)
        self.calls = Calls()
        self.turn = threading.RLock()
        self._idle: list[sqlite3.Connection] = []
        self._memory: sqlite3.Connection | None = None
        self._held: tuple[int, int] | None = None
        self._states: set[OneState] = set()
        self.caches: weakref.WeakSet[Cache] = weakref.WeakSet()
        with self.running("can't be opened as an index"):
            if self.path is None:
                self._memory = _connect(":memory:")
                _make_all(self._memory)
            else:
                self._open(self.path)
            _DATABASES.add(self)
        self._finalizer = weakref.finalize(self, _close_all, self._idle if self._memory is None else [self._memory])
        self._finalizer.atexit = self._memory is None  # threads may still use its only connection

    # Reading and writing

    @contextmanager
    def running(self, what: str) -> Iterator[None]:
        """Count a call while the block runs, and translate the errors of SQLite and the system.

        Args:
            what: What can't be done if there is an error.
        """
        try:
            with (
                _CALLS.counted(self.name),
                self.calls.counted(self.name),
                translated_errors(f"{self.name} {what}", self.path, read_only=self.read_only),
            ):
                yield
        finally:
            if self.calls.is_closed:
                self._close_files()

    @contextmanager
    def reading(self) -> Iterator[Snapshot]:
        """Read one state of the database in the block.

        Raises:
            StoreError: SQLite can't read, or the store was closed.
            OutdatedError: The file was written to during the read, and this process may not lock it.
        """
        with self.running("can't be read"):
            if self._memory is not None:
                with self.turn:
                    is_nested = self._memory.in_transaction  # as in a signal handler
                    with nullcontext() if is_nested else _transaction(self._memory, "BEGIN"):
                        yield Snapshot(self._memory)
                return
            stamp = self._stamp()
            snapshot = self.take_state()
            try:
                yield snapshot
            except OutdatedError:  # common after a write, and closing the only connection would sync files
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
        self.check_writable()
        with self.running("can't be written, and is as it was before the call"), self.turn:
            connection = self._memory or self._take()
            try:
                if self.folder is not None:
                    _before_log(connection, self.folder)
                with _transaction(connection, "BEGIN IMMEDIATE"):
                    transaction = Transaction(connection)
                    yield transaction
                    transaction.finish()
                    self._check_identity()
                    connection.execute("COMMIT")
            except BaseException as error:
                if connection is not self._memory and isinstance(error, Exception) and not connection.in_transaction:
                    self._put_back(connection)  # on a full disk, no other could be opened
                elif connection is not self._memory:
                    connection.close()
                raise
            if self.folder is not None:
                if transaction.has_changed:
                    _write_head(self.folder, transaction.fact("birth", int) or 0, transaction.version.generation)
                self._put_back(connection)

    def check_writable(self) -> None:
        """Check that the database wasn't opened for reading only.

        Raises:
            StoreError: It was.
        """
        if self.read_only:
            raise StoreError(f"{self.name} was opened for reading only; open it without read_only=True to change it")

    @contextmanager
    def at_one_state(self, *, copies: bool = False) -> Iterator["OneState"]:
        """Return a context for several reads, perhaps of several threads, that are all of one state; see `OneState`."""
        state = OneState(self, copies=copies)
        self._states.add(state)
        try:
            yield state
        finally:
            state.end()
            self._states.discard(state)

    def take_state(self) -> Snapshot:
        """Take the present state, to be released; of a database in memory a copy of it."""
        connection = self._take() if self._memory is None else _connect(":memory:")
        try:
            if self._memory is not None:
                with self.reading() as snapshot:
                    snapshot.copy_to(connection)
            _retry_while_locked(lambda: connection.execute("BEGIN"))
        except BaseException:
            connection.close()
            raise
        return Snapshot(connection)

    def release_state(self, snapshot: Snapshot, *, is_clean: bool = True) -> None:
        """Release a state that was taken.

        Args:
            snapshot: The state.
            is_clean: Whether all reads ended well. An exception may keep a cursor, and with it the state.
        """
        connection = snapshot.connection
        if self._memory is not None or not is_clean:
            connection.close()
            return
        with suppress(sqlite3.ProgrammingError):  # it is closed already, if the garbage collector calls this
            connection.rollback()
            self._put_back(connection)

    # Closing and forks

    def close(self) -> None:
        """Wait for running calls, and close all connections; later calls raise `StoreError`.

        Within a call of this thread, as in a signal handler, the last call closes them at its end.
        """
        self.calls.close()
        self._close_files()

    def _close_files(self) -> None:
        if self.calls.are_running:
            return  # the last of them does it
        with _CALLS.counted(self.name):  # no fork comes between
            _DATABASES.discard(self)
            for state in list(self._states):
                state.end()
            self._close_idle()
            self._finalizer()
            for cache in list(self.caches):
                cache.forget()

    def _close_idle(self) -> None:
        with suppress(StoreError):
            self._check_identity()  # else the connections stay open
        _close_all(self._idle)

    def before_fork(self) -> None:
        """Close the files. A child would rely on locks of its parent's connections, which only the parent holds."""
        if self._memory is None:
            self._close_idle()
            for state in list(self._states):
                state.before_fork()

    def after_fork_in_child(self) -> None:
        """Reset in the child process."""
        refusal = self.calls.refusal
        if self.calls.are_running:  # its data may be in an inconsistent state
            refusal = refusal or "was in use when the process forked; open it again in this process"
            self._finalizer.detach()
            if self._memory is not None:
                _leave_open(self._memory)
        self.calls = Calls(refusal)
        self.turn = threading.RLock()
        for state in list(self._states):
            state.after_fork_in_child()
        for cache in list(self.caches):
            cache.after_fork()

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
        # One that isn't complete has a page at most: another process is making it, or was killed.
        is_complete = size_of(path) > _PAGE_SIZE
        if is_complete and (folder / f"{DATABASE_FILE}-journal").exists():
            raise StoreError(
                f"{path!s}-journal is a rollback journal, which no store writes, and SQLite would apply it; delete "
                "it if you trust the database, or restore the index from a backup"
            )
        head = _read_head(folder)  # before the database, as others may write in between and record it here afterwards
        if not is_complete and not self.read_only:
            self._make(path)
        connection = self._connect_file(mode="ro")
        try:
            with _transaction(connection, "BEGIN"):
                self._check(Snapshot(connection), head)
        finally:
            _retry_while_locked(connection.close)
        with suppress(FileNotFoundError):
            self._held = _file_identity(path)

    def _make(self, path: Path) -> None:
        """Make the tables of an empty database; another process may be making them."""
        with suppress(FileExistsError):
            make_new(path)  # with the permissions of any new file, which SQLite wouldn't give it
        connection = self._connect_file()
        try:
            if _retry_while_locked(lambda: connection.execute("SELECT 1 FROM sqlite_schema").fetchone()) is None:
                _retry_while_locked(lambda: connection.execute("PRAGMA journal_mode = WAL"))
                _make_all(connection)
        finally:
            _retry_while_locked(connection.close)

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
        if snapshot.execute("SELECT 1 FROM sqlite_schema WHERE type IN ('trigger', 'view')").fetchone():
            raise StoreError(f"{self.name} has triggers or views, which no store makes; {RESTORE}")
        of_file, of_log = snapshot.epochs()
        if of_file != of_log:
            raise StoreError(
                f"{self.name}-wal is the write-ahead log of another version of {self.name}, as when a backup was "
                "copied over an index that was in use; make sure that no process uses it, and delete "
                f"{self.name}-wal and {self.name}-shm to continue with the backup, or use FaissStore.restore()"
            )
        made = snapshot.version.generation
        if head is not None and head.birth == snapshot.fact("birth", int) and head.generation > made:
            raise StoreError(
                f"{self.name} has {made} of {head.generation} writes: its file or its write-ahead log "
                "was lost, damaged or replaced. Restore both from a backup; to continue without the missing writes, "
                f"delete {HEAD_FILE!r} next to it"
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
            return
        self._idle.append(connection)
        if not self._finalizer.alive:  # it has been closed
            self._close_idle()

    def _check_identity(self) -> None:
        """Check that the path leads to the file that was opened.

        Raises:
            StoreError: It leads to another file, or to none.
        """
        if self.path is None or self._held is None:
            return
        with suppress(OSError):
            if _file_identity(self.path) == self._held:
                return
        # SQLite removes the log by its path when the last connection is closed, which is that of the other file now.
        while self._idle:
            _leave_open(self._idle.pop())
        raise StoreError(
            f"{self.name} was moved, replaced or deleted while it was open; close this store and open the path again"
        )

    def _stamp(self) -> tuple[int, ...]:
        if self.path is None or not self._cannot_lock or size_of(self.path.with_name(LOG_FILE)):
            return ()
        status = self.path.stat()
        return status.st_ino, status.st_size, status.st_mtime_ns

    def _check_stamp(self, before: tuple[int, ...]) -> None:
        if self._cannot_lock and self._stamp() != before:
            raise OutdatedError(
                f"{self.name} changes all the time, and this process can't lock it without write permission for its "
                "folder; grant it, or read when no process writes"
            )


class OneState:
    """Several reads of one state of a database.

    An async call that is canceled leaves a thread behind, which still reads. So the reads of a state take turns, and
    the last of them releases the connection; no thread waits for it.

    A database in memory has no log that would keep the state. There a read of a later state is refused, or the state is
    copied first.

    Attributes:
        turn: Held by the thread that reads.
        is_fixed: Whether a read has succeeded; until then, each reads the present state.
    """

    def __init__(self, database: Database, *, copies: bool) -> None:
        """Take no state yet.

        Args:
            database: The database.
            copies: Whether to copy the state of a database in memory, so that no write changes it.
        """
        self._database, self._copies = database, copies
        self.turn = threading.RLock()
        self._reads = 0
        self._is_clean = True
        self._is_over = False
        self.is_fixed = False
        self._version: Version | None = None
        self._snapshot: Snapshot | None = None

    @contextmanager
    def reading(self) -> Iterator[Snapshot]:
        """Read the state in the block, also within another read.

        Raises:
            StoreChangedError: It doesn't exist any more.
        """
        try:
            with self._database.running("can't be read"), self.turn:
                if self._is_over and not self._reads:
                    raise StoreError(f"a state of {self._database.name} was left before it was read")
                self._reads += 1
                try:
                    if self._database.folder is None and not self._copies:
                        with self._database.reading() as snapshot:
                            yield self._checked(snapshot)
                        self.is_fixed = True
                        return
                    if not self.is_fixed and self._reads == 1:
                        self._drop()
                    if self._snapshot is None:
                        self._snapshot = self._database.take_state()
                        # The connection of a generator that is never ended is closed before it is collected itself.
                        self._finalizer = weakref.finalize(self, self._snapshot.connection.close)
                        self._finalizer.atexit = False
                    yield self._checked(self._snapshot)
                    self.is_fixed = True
                except BaseException as error:
                    self._is_clean = False
                    if isinstance(error, sqlite3.Error):
                        self._drop()
                    raise
                finally:
                    self._reads -= 1
        finally:
            self._release()

    def end(self) -> None:
        """End the state, or let a running read do so."""
        self._is_over = True
        self._release()

    def before_fork(self) -> None:
        """Release the connection, unless it is in use."""
        if not self._reads:
            self._drop()

    def after_fork_in_child(self) -> None:
        """Forget a read of a thread that the child lacks."""
        self.turn, self._reads = threading.RLock(), 0

    def _drop(self) -> None:
        """Close the connection; the next read takes the state again, if it is still the present one."""
        if self._snapshot is not None:
            self._snapshot = None
            self._finalizer()

    def _checked(self, snapshot: Snapshot) -> Snapshot:
        if self.is_fixed and self._version != snapshot.version:
            raise StoreChangedError(f"{self._database.name} changes too often to be read in one state; ask again")
        self._version = snapshot.version
        return snapshot

    def _release(self) -> None:
        # Also after a read, as that may have ended since the state tried to end.
        if not self._is_over:
            return
        with _CALLS.counted(self._database.name):  # no fork comes between
            if not self.turn.acquire(blocking=False):
                return
            try:
                if self._snapshot is not None and not self._reads:
                    snapshot, self._snapshot = self._snapshot, None
                    self._finalizer.detach()
                    self._database.release_state(snapshot, is_clean=self._is_clean)
            finally:
                self.turn.release()


# Connections


def _connect(target: str) -> sqlite3.Connection:
    """Open the database at a URI, for any thread and without automatic transactions."""
    connection = sqlite3.connect(
        target, uri=True, isolation_level=None, check_same_thread=False, timeout=_SECONDS_PER_ATTEMPT
    )
    try:
        _retry_while_locked(lambda: connection.executescript(_SETTINGS))
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
    try:
        _retry_while_locked(lambda: connection.execute(begin))
        yield
    finally:
        if connection.in_transaction:
            connection.rollback()


def _retry_while_locked(work: Callable[[], T]) -> T:
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


def begin_epoch(connection: sqlite3.Connection, *, is_copy: bool = False) -> None:
    """Begin another epoch of a database, so that it accepts no log of an earlier one.

    SQLite can't detect whether a log belongs to the file next to it. So a random number is in the file before a log
    begins, and in the last write, which is in the log. Another version of the file has another number. See
    `Snapshot.epochs`.

    Args:
        connection: The connection.
        is_copy: Whether it becomes a database of its own, to which the other's count of writes doesn't apply.
    """
    with _transaction(connection, "BEGIN IMMEDIATE"):
        epoch = secrets.randbits(62)
        if is_copy:
            connection.execute("UPDATE facts SET value = ? WHERE name = 'birth'", [secrets.randbits(62)])
        connection.execute("UPDATE epoch SET epoch = ?", [epoch])
        connection.execute(
            "UPDATE writes SET epoch = ? WHERE generation = (SELECT max(generation) FROM writes)", [epoch]
        )
        connection.execute("COMMIT")


def _before_log(connection: sqlite3.Connection, folder: Path) -> None:
    """Bring a long log into the file, and begin another epoch where a new log begins."""
    if size_of(folder / LOG_FILE) > MAX_LOG_BYTES:
        connection.execute(EMPTY_LOG)  # not done if others read for long; then the next write tries it again
    if not size_of(folder / LOG_FILE):
        begin_epoch(connection)
        connection.execute(EMPTY_LOG)


# The head file counts the writes, which reveals that a log was lost.


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
        handle = os.open(folder / HEAD_FILE, os.O_WRONLY | os.O_CREAT | NO_FOLLOW | NO_WAIT, 0o666)
        try:
            os.write(handle, head + struct.pack("<I", zlib.crc32(head)))
        finally:
            os.close(handle)


def _read_head(folder: Path) -> _Head | None:
    """Read what `_write_head` wrote; return ``None`` if it is missing or damaged."""
    with suppress(OSError, struct.error), open_regular(folder / HEAD_FILE) as file:
        content = file.read()
        birth, generation, checksum = _HEAD.unpack(content)
        if zlib.crc32(content[:-4]) == checksum:
            return _Head(birth, generation)
    return None


def _file_identity(path: Path) -> tuple[int, int]:
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


@contextmanager
def translated_errors(
    what: str, path: Path | None = None, *, read_only: bool = False, cure: str = RESTORE
) -> Iterator[None]:
    """Raise a `StoreError` for errors of SQLite and the system within the block.

    Args:
        what: What can't be done.
        path: The database; ``None`` for one in memory, or another file.
        read_only: Whether it is only read.
        cure: What to do about damage.
    """
    try:
        yield
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{what}: {error}; {_cure_of(error, path, read_only=read_only) or cure}") from error


def _cure_of(error: Exception, path: Path | None, *, read_only: bool) -> str | None:
    """Return what to do about an error that doesn't indicate damage; ``None`` for one that may.

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
        has_log = path is not None and size_of(path.with_name(LOG_FILE))
        other = "copy it and open the copy, as its write-ahead log can't be read" if read_only and has_log else ""
        return f"let this user {may} the folder and its files; if it may already, {other or 'too many files are open'}"
    if code in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO):
        return "make sure that the disk has room and works, and try again"
    if code == errno.EAGAIN:
        return "another process is using it; try again when that has ended"
    return "choose another path" if isinstance(error, OSError) else None
