"""Connections that are read with: one for a call, given back whatever happens; one for several calls and over forks."""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.stores.faiss.database.connections import Connections
from langchain_sentence_window.stores.faiss.database.schema import Version
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.database.state_files import Stamp
from langchain_sentence_window.stores.faiss.database.statements import Connection

T = TypeVar("T")


class Lease:
    """A connection that one call reads with; given back whatever happens.

    One that a call failed with may have statements under way, which would keep what they read from being
    written. So it is closed.
    """

    __slots__ = ("_connections", "connection", "has_succeeded", "stamp")

    def __init__(self, connections: Connections) -> None:
        """Take none yet, so that nothing can come between taking one and giving it back."""
        self._connections = connections
        self.connection: Connection | None = None
        self.stamp: Stamp | None = None
        self.has_succeeded = False

    def take(self) -> Connection:
        """Take a connection that no other thread has."""
        self.stamp = self._connections.stamp()
        self.connection = self._connections.take_reader(self.stamp)
        self._connections.check_identity()
        return self.connection

    def end(self) -> None:
        """Give it back, if that wasn't done."""
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
        """Whether the file changed under a connection that can't see that."""
        return self.stamp is not None and self._connections.stamp() != self.stamp


class LongRead(Generic[T]):
    """What several calls read of one state, part by part.

    No connection may cross a fork, so a fork cuts it off. If nobody has written by the time it goes on, it reads that
    very state, and leaves out the parts that it gave before.
    """

    def __init__(self, connections: Connections, parts: Callable[[Snapshot, int], Iterator[T]]) -> None:
        """Take no connection yet.

        Args:
            connections: Where one is taken.
            parts: Reads a state part by part, without the first so many; always the same of the same state.
        """
        self._connections = connections
        self._read = parts
        self._lease = Lease(connections)
        self._parts: Iterator[T] | None = None
        self._version: Version | None = None
        self._given = 0

    def begin(self) -> None:
        """Begin, or go on after a fork.

        Raises:
            StoreError: The state isn't the latest any more.
        """
        if self._parts is not None:
            return
        self._lease = lease = Lease(self._connections)
        connection = lease.take()
        connection.execute("BEGIN")
        snapshot = Snapshot(connection)
        version = snapshot.version
        if self._version not in (None, version):
            self.end()
            raise StoreError(
                f"{self._connections.name} was written just when the process forked, so what was read is gone; begin "
                "again"
            )
        self._version = version
        self._parts = self._read(snapshot, self._given)

    def next(self) -> T | None:
        """Read the next part; ``None`` if there is none."""
        self.begin()
        part = None if self._parts is None else next(self._parts, None)
        self._given += 1
        return part

    def is_outdated(self) -> bool:
        """Whether the file changed under a connection that can't see that."""
        return self._lease.is_outdated()

    def end(self) -> None:
        """Give the connection back."""
        self._lease.end()

    def cut(self) -> None:
        """Forget the connection, which was closed or is another process's."""
        self._lease, self._parts = Lease(self._connections), None
