"""The database of a store: who may read or write at the same time.

Each write is one transaction. Readers have their own connections, and see one state of the database for as long as
they read, whatever is written meanwhile. A database in memory has no log to read from, so a lock keeps readers and
the writer apart there.

Callers pass their reads and writes as functions. Wherever an exception occurs, all that a function held is released.
"""

import sqlite3
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from langchain_sentence_window.errors import StoreChangedError, StoreError

from .connections import ERRORS, Connections, Lease, cure_of
from .database_file import Sealed, write_head, write_seal
from .database_opening import RESTORE, check_file, check_log, check_names, make_file, make_tables
from .locks import AccessLock
from .schema import Version
from .snapshot import Snapshot
from .store_files import make_part, put_if_new, seal_of
from .transaction import Transaction

T = TypeVar("T")

_PAGE_BATCH_SIZE = 1_000
_MAX_ATTEMPTS = 20
_UNDAMAGED = "if it isn't closed, it may be damaged: open it again"


class Database:
    """A store's database, for any number of threads.

    Attributes:
        lock: Is held by each call; by one that writes, through the gate `alone`.
    """

    def __init__(self, path: Path | None, *, read_only: bool = False) -> None:
        """Open or create the database, and check that it is sound.

        Args:
            path: The file; ``None`` for a database in memory.
            read_only: Whether to refuse all writes, and a database that doesn't exist.

        Raises:
            StoreError: The file isn't a database of this package, is damaged, or can't be opened.
            IndexMismatchError: Its format isn't the one this version reads.
        """
        self.name = str(path) if path else "the store in memory"
        self.read_only = read_only
        self._connections = Connections(path, read_only=read_only)
        # SQLite isolates the readers of a file from its writer.
        self.lock = AccessLock(self.name, writers_exclude_readers=path is None)
        self._long_reads: weakref.WeakSet[OneState] = weakref.WeakSet()
        try:
            with self._errors("can't be opened as an index", if_damaged=RESTORE):
                self._prepare(path)
        except BaseException:
            self._connections.is_dirty = False
            self._connections.close()
            raise

    # Reading

    def read(self, work: Callable[[Snapshot], T]) -> T:
        """Read one state of the database, whatever is written meanwhile; see `read_state`."""
        return self.lock.read(lambda: self.read_state(work))

    def unreadable(self, error: Exception) -> StoreError:
        """Return the error of a read that failed."""
        return self._error("can't be read", error, if_damaged=_UNDAMAGED)

    # Writing

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Write all or nothing; writers queue. See `transact`."""
        return self.lock.write(lambda: self.transact(work))

    def seal(self) -> None:
        """Move the write-ahead log into the file, and record the file's checksum."""
        if not self.read_only:
            self.lock.write(lambda: self._guarded(self._connections.seal))

    def copy_to(self, path: Path) -> None:
        """Copy the whole database into a new file, which gets its name only when it is complete.

        Raises:
            StoreError: The database can't be read, or the file can't be written.
        """
        with self._errors(f"can't be copied to {str(path)!r}", "make room, or choose another path"):
            part = make_part(path)
            try:
                self.write_copy(part)
                seal = seal_of(part)
                if not put_if_new(part, path):
                    raise StoreError(f"{str(path.parent)!r} holds an index already; choose another folder")
                if seal is not None:
                    # The seal reveals the log of another database, if the copy is put beside one some day.
                    write_seal(path.parent, Sealed(seal, None))
            finally:
                with suppress(OSError):
                    part.unlink()

    def write_copy(self, path: Path) -> None:
        """Write a copy of the whole database into an empty file.

        Raises:
            StoreError: The database can't be read or is damaged, or the file can't be written.
        """
        self._connections.file.finish_check()  # a copy gets a seal of its own
        with closing(sqlite3.connect(path, isolation_level=None)) as target:

            def copy(snapshot: Snapshot) -> None:
                with self._errors(f"can't be copied to {str(path)!r}", "make room, or choose another path"):
                    snapshot.copy_to(target, _PAGE_BATCH_SIZE)
                    target.execute("PRAGMA journal_mode = WAL")

            self.read(copy)

    @property
    def is_checked_later(self) -> bool:
        """Whether the file was opened without reading all of it, as it is large."""
        return self._connections.file.later_check is not None

    def check_on(self) -> bool:
        """Read the next part of a file that is checked later; return whether that was the last.

        If the file is damaged, all later calls fail.
        """
        check = self._connections.file.later_check
        return check is None or check.step()

    # Closing, and forks

    def close(self) -> None:
        """Seal the file and close all connections; nobody may be using one."""
        self.lock.write(self._connections.close)

    def before_fork(self) -> None:
        """Close everything that must not cross a fork; nobody is reading or writing."""
        if self._connections.path is not None:
            self._cut_long_reads()
            self._connections.close_all()

    def after_fork_in_parent(self) -> None:
        """Resume long reads before anybody writes; a failure is raised by the next part."""
        if self._connections.path is not None:
            for reading in list(self._long_reads):
                with suppress(StoreError):
                    reading.begin()

    def after_fork(self, *, was_quiet: bool) -> None:
        """Start afresh in the child process."""
        self.lock.reset()
        if not was_quiet:
            self._connections.refuse(
                "was in use by another thread when the process forked; open it again in this process"
            )
            self._cut_long_reads()

    def _cut_long_reads(self) -> None:
        for reading in list(self._long_reads):
            reading.cut()

    # Machinery

    def read_state(self, work: Callable[[Snapshot], T], *, begins: bool = True) -> T:
        """Read one state of the database; the caller is in `lock`.

        Args:
            work: A function of that state. It is called again if the file changes under a process that can't lock it.
            begins: Whether to begin a transaction, without which each statement sees a state of its own.

        Raises:
            StoreError: SQLite can't read: the store is closed, or its file is damaged.
        """
        try:
            for _ in range(_MAX_ATTEMPTS):
                lease = Lease(self._connections)
                try:
                    try:
                        result = work(lease.take(begins=begins))
                        lease.has_succeeded = True
                    finally:
                        lease.end()
                except (sqlite3.DatabaseError, StoreError):
                    if not lease.is_outdated():
                        raise
                    continue
                finally:
                    # Again, in case an exception such as Ctrl-C interrupted the first.
                    lease.end()
                if lease.stamp is None or not lease.is_outdated():
                    return result
        except ERRORS as error:
            raise self.unreadable(error) from error
        raise StoreError(
            f"{self.name} changes all the time, and this process can't lock it without write permission for its "
            "folder; grant it, or read when nobody writes"
        )

    def transact(self, work: Callable[[Transaction], T]) -> T:
        """Write all or nothing: commit at the end, roll back on any exception; the caller is alone in `lock`.

        Raises:
            StoreError: SQLite can't write: the disk is full, or the file is locked, damaged or read-only.
        """
        if self.read_only:
            raise StoreError(f"{self.name} was opened for reading only; open it without read_only=True to change it")
        connections, has_failed = self._connections, True
        try:
            try:
                try:
                    connection = connections.begin_writing()
                    transaction = Transaction(connection)
                    result = work(transaction)
                    head = transaction.head if transaction.finish() else None
                    connection.execute("COMMIT")
                    # Fails if another file was put at the path meanwhile.
                    connections.file.check_identity()
                    connection.cursors.clear()
                    if connections.path is not None and head is not None:
                        write_head(connections.path.parent, head)
                    has_failed = False
                    return result
                finally:
                    connections.end_writing(has_failed=has_failed)
            finally:
                connections.end_writing(has_failed=has_failed)
        except ERRORS as error:
            what = "can't be read or written, and is as it was before the call"
            raise self._error(what, error, if_damaged=_UNDAMAGED) from error
        finally:
            connections.end_writing(has_failed=has_failed)

    def _guarded(self, work: Callable[[], T]) -> T:
        """Run a function that uses the writing connection, and leave no transaction open."""
        has_failed = True
        try:
            try:
                try:
                    result = work()
                    has_failed = False
                    return result
                finally:
                    self._connections.end_writing(has_failed=has_failed)
            finally:
                self._connections.end_writing(has_failed=has_failed)
        finally:
            self._connections.end_writing(has_failed=has_failed)

    def _error(self, what: str, error: Exception, cure: str | None = None, *, if_damaged: str = "") -> StoreError:
        cure = cure or cure_of(error, self._connections.path, read_only=self.read_only) or if_damaged
        return StoreError(f"{self.name} {what}: {error}; {cure}")

    @contextmanager
    def _errors(self, what: str, cure: str | None = None, *, if_damaged: str = "") -> Iterator[None]:
        try:
            yield
        except ERRORS as error:
            raise self._error(what, error, cure, if_damaged=if_damaged) from error

    # Opening

    def _prepare(self, path: Path | None) -> None:
        connections = self._connections
        if path is None:
            self._guarded(lambda: make_tables(connections.writer))
            return
        connections.file.check_restored()
        make_file(path, read_only=self.read_only)
        check_names(path, read_only=self.read_only)
        check_log(connections)
        # Only reads, so that nothing moves from a log into the file before both are checked.
        checking = connections.open_to_check()
        try:
            check_file(connections, checking)
        finally:
            connections.discard(checking)
        if self.read_only:
            connections.is_dirty = False
        else:
            self._guarded(lambda: connections.writer)


class OneState:
    """Reads of one state of a database, in any number of calls.

    A database in a file keeps the state for a connection. One in memory has no log to read it from: a read of a later
    state is refused there, or the state is copied.

    An async call that is canceled leaves a thread behind, which still reads. So the reads of a state wait for each
    other, and the state ends with the last of them. Only then may another call have the connection.

    Attributes:
        calls: The lock that each read enters, alone; see `within`. It is closed to end the state.
        is_kept: Whether all later reads are of the state of the last one; set after the first that counts.
    """

    def __init__(self, database: Database, *, copies: bool) -> None:
        """Read nothing yet; the caller ends it.

        Args:
            database: The database.
            copies: Whether to copy the state of a database in memory, which takes time, but no write changes it then.
        """
        self._database = database
        self._connections = database._connections
        self.calls = AccessLock(f"a state of {database.name}", writers_exclude_readers=False)
        self._copies = copies
        self._lease = Lease(self._connections)
        self._snapshot: Snapshot | None = None
        self._copy: Database | None = None
        self._version: Version | None = None
        self.is_kept = False
        database._long_reads.add(self)

    def read_state(self, work: Callable[[Snapshot], T]) -> T:
        """Read the state that is kept, or the present one if none is.

        The caller is in the lock of the database, and alone in `calls`.

        Raises:
            StoreChangedError: The state doesn't exist any more.
            StoreError: SQLite can't read.
        """
        try:
            if self._copy is None and self._connections.path is None:
                if not self._copies:
                    return self._database.read_state(lambda snapshot: work(self._checked(snapshot)))
                self._copy = self._database.read_state(self._copied)
                self._connections = self._copy._connections
            if self._snapshot is None:
                self._lease = Lease(self._connections)
                self._snapshot = self._checked(self._lease.take())
            else:
                self._connections.file.check_identity()
            result = work(self._snapshot)
            if self._lease.stamp is not None and self._lease.is_outdated():
                raise _changed(self._connections.name)
            return result
        except BaseException as error:
            self.end(has_failed=True)
            if isinstance(error, ERRORS):
                raise self._database.unreadable(error) from error
            raise

    def end(self, *, has_failed: bool = False, is_outdated: bool = False) -> None:
        """Let go of the state; the next read is of the present one, or after one that failed, of this one again.

        Args:
            has_failed: Whether a read failed.
            is_outdated: Whether the last read turned out to be of another state than the caches.

        Raises:
            StoreChangedError: The state is outdated, and earlier reads were of it.
        """
        if is_outdated and self.is_kept:
            raise _changed(self._connections.name)
        self._lease.has_succeeded = not has_failed
        self._snapshot = None
        with suppress(StoreError):
            self._lease.end()
        if self._copy is not None:
            self.drop_copy()
        if not has_failed:
            self._version, self.is_kept = None, False

    def drop_copy(self) -> None:
        """Close the copy of a database in memory, if there is one; may be called again."""
        if self._copy is not None:
            self._copy.close()
            self._copy, self._connections = None, self._database._connections

    def begin(self) -> None:
        """Resume after a fork, before anybody writes; a failure is raised by the next read."""
        if self.is_kept and not self.calls.is_closed:
            self.read_state(lambda _: None)

    def cut(self) -> None:
        """Forget the connection, which was closed or belongs to another process, and threads that don't exist there."""
        self.calls.reset()
        self._lease, self._snapshot = Lease(self._connections), None

    def _copied(self, snapshot: Snapshot) -> Database:
        copy = Database(None)
        self._checked(snapshot).copy_to(copy._connections.writer, _PAGE_BATCH_SIZE)
        return copy

    def _checked(self, snapshot: Snapshot) -> Snapshot:
        version = snapshot.version
        if self.is_kept and version != self._version:
            raise _changed(self._connections.name)
        self._version = version
        return snapshot


def _changed(name: str) -> StoreChangedError:
    return StoreChangedError(f"{name} changes too often to be read in one state; ask again")
