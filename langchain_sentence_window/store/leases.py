"""A connection that one call reads with, given back whatever happens."""

from langchain_sentence_window.store.connections import Connections
from langchain_sentence_window.store.state_files import Stamp
from langchain_sentence_window.store.statements import Connection


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
