"""Reading with a connection: for one call, or for several calls and across forks."""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.stores.faiss.database.connections import Connection, Connections
from langchain_sentence_window.stores.faiss.database.database_file import Stamp
from langchain_sentence_window.stores.faiss.database.schema import Version
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot

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
