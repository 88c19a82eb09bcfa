"""Reading with a connection: for one call, or for several calls and across forks."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, TypeVar

from langchain_sentence_window.errors import StoreChangedError, StoreError
from langchain_sentence_window.stores.faiss.database.connections import ERRORS, Connection, Connections
from langchain_sentence_window.stores.faiss.database.database_file import Stamp
from langchain_sentence_window.stores.faiss.database.schema import Version
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot

if TYPE_CHECKING:
    from langchain_sentence_window.stores.faiss.database.database import Database

T = TypeVar("T")


class Lease:
    """A connection that one call reads with, returned whatever happens.

    After a failed call it may have unfinished statements, which would block writers. So it is closed then.
    """

    __slots__ = ("_connections", "connection", "has_succeeded", "stamp")

    def __init__(self, connections: Connections) -> None:
        """Take no connection yet, so that no exception can come between taking one and returning it."""
        self._connections = connections
        self.connection: Connection | None = None
        self.stamp: Stamp | None = None
        self.has_succeeded = False

    def take(self, *, begins: bool = True) -> Snapshot:
        """Take a connection that no other thread has, and begin to read one state with it."""
        file = self._connections.file
        self.stamp = file.stamp() if file.cannot_lock else None
        self.connection = self._connections.take_reader(self.stamp)
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
            self._connections.give_back(connection)
        else:
            self._connections.discard(connection)
            self.connection = None

    def is_outdated(self) -> bool:
        """Return whether the file changed under a connection that can't notice it."""
        return self.stamp is not None and self._connections.file.stamp() != self.stamp


class LongRead(Generic[T]):
    """A read of one state in several calls, part by part.

    No connection may cross a fork, so a fork cuts the read off. It resumes after the parts already read, unless
    somebody has written by then.
    """

    def __init__(self, connections: Connections, parts: Callable[[Snapshot, int], Iterator[T]]) -> None:
        """Take no connection yet.

        Args:
            connections: The connections to take one from.
            parts: Reads a state part by part, without the first so many; always the same for the same state.
        """
        self._connections = connections
        self._read = parts
        self._lease = Lease(connections)
        self._parts: Iterator[T] | None = None
        self._version: Version | None = None
        self._given = 0

    def begin(self) -> None:
        """Begin, or resume after a fork.

        Raises:
            StoreError: Another process has written since the fork.
        """
        if self._parts is not None:
            return
        self._lease = lease = Lease(self._connections)
        snapshot = lease.take()
        version = snapshot.version
        if self._version not in (None, version):
            self.end()
            raise StoreError(
                f"{self._connections.name} was written just when the process forked, so this read can't go on; begin "
                "again"
            )
        self._version = version
        self._parts = self._read(snapshot, self._given)

    def next(self) -> T | None:
        """Read the next part, or return ``None`` after the last one."""
        self.begin()
        part = None if self._parts is None else next(self._parts, None)
        self._given += 1
        return part

    def is_outdated(self) -> bool:
        """Return whether the file changed under a connection that can't notice it."""
        return self._lease.is_outdated()

    def end(self) -> None:
        """Return the connection."""
        self._lease.end()

    def cut(self) -> None:
        """Forget the connection, which was closed or belongs to another process."""
        self._lease, self._parts = Lease(self._connections), None


class OneState:
    """Reads of one state of a database, in any number of calls, by one thread at a time.

    The state is that of the first read which `keep` follows. A database in a file keeps it for a connection. One in
    memory has no log to read it from: a read of a later state is refused there, or the state is copied.
    """

    def __init__(self, database: "Database", connections: Connections, *, copies: bool) -> None:
        """Read nothing yet.

        Args:
            database: The database.
            connections: Its connections.
            copies: Whether to copy the state of a database in memory, which takes time, but no write changes it then.
        """
        self._database = database
        self._connections = connections
        self._copies = copies
        self._lease = Lease(connections)
        self._snapshot: Snapshot | None = None
        self._copy: Database | None = None
        self._version: Version | None = None
        self._is_kept = False

    def read_state(self, work: Callable[[Snapshot], T]) -> T:
        """Read the state that is kept, or the present one if none is; the caller is in the lock of the database.

        Raises:
            StoreChangedError: The state doesn't exist any more.
            StoreError: SQLite can't read.
        """
        try:
            if self._connections.path is None:
                database = self._copy or self._database
                return database.read_state(lambda snapshot: self._read_memory(snapshot, work))
            if self._snapshot is None:
                self._lease = Lease(self._connections)
                self._snapshot = self._checked(self._lease.take())
            else:
                self._connections.file.check_identity()
            result = work(self._snapshot)
            if self._lease.is_outdated():
                raise _changed(self._connections.name)
            return result
        except BaseException as error:
            self._let_go()
            if isinstance(error, ERRORS):
                raise self._database.unreadable(error) from error
            raise

    def keep(self) -> None:
        """Keep the state of the last read for all later ones."""
        self._is_kept = True

    def renew(self) -> None:
        """Read the present state from now on, as the last read turned out to be of another one than the caches.

        Raises:
            StoreChangedError: Earlier reads were of that state.
        """
        if self._is_kept:
            raise _changed(self._connections.name)
        self.end()

    def end(self) -> None:
        """Let go of the state; the next read is of the present one."""
        self._lease.has_succeeded = True
        self._let_go()
        self._version, self._is_kept = None, False

    def begin(self) -> None:
        """Resume after a fork, which the next read does, as it takes a connection."""

    def cut(self) -> None:
        """Forget the connection, which was closed or belongs to another process."""
        self._lease, self._snapshot = Lease(self._connections), None

    def _read_memory(self, snapshot: Snapshot, work: Callable[[Snapshot], T]) -> T:
        if self._copy is not None:
            return work(snapshot)
        result = work(self._checked(snapshot))
        if self._copies:
            self._copy = self._database.copy_of(snapshot)
        return result

    def _checked(self, snapshot: Snapshot) -> Snapshot:
        version = snapshot.version
        if self._is_kept and version != self._version:
            raise _changed(self._connections.name)
        self._version = version
        return snapshot

    def _let_go(self) -> None:
        self._snapshot = None
        with suppress(StoreError):
            self._lease.end()
        if self._copy is not None:
            self._copy.close()
            self._copy = None


def _changed(name: str) -> StoreChangedError:
    return StoreChangedError(f"{name} changes too often to be read in one state; ask again")
