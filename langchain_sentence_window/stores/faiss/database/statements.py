"""A connection of SQLite that can end what is under way in it.

A statement of which rows are still to be read holds locks until it is reset, even when its connection is closed, from
Python 3.12 on. An exception keeps the frames that it came through, and they keep the cursor of such a statement. So the
connection knows its cursors, and closes them.
"""

import sqlite3
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

Parameters: TypeAlias = Sequence[Any] | Mapping[str, Any]


class Connection(sqlite3.Connection):
    """A connection that knows its cursors, until it is told to forget them."""

    def __init__(self, *given: Any, **settings: Any) -> None:
        """Open the connection, as sqlite3.connect does."""
        super().__init__(*given, **settings)
        self._cursors: list[weakref.ref[sqlite3.Cursor]] = []
        self.stamp: tuple[int, ...] | None = None

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Execute a statement; its cursor is known before it has a statement."""
        cursor = self.cursor()
        self._cursors.append(weakref.ref(cursor))
        return cursor.execute(sql, parameters)

    def forget_cursors(self) -> None:
        """Forget the cursors, whose statements have come to their ends."""
        self._cursors.clear()

    def close(self) -> None:
        """End all statements, and close the connection."""
        while self._cursors:
            cursor = self._cursors[-1]()
            if cursor is not None:
                with suppress(sqlite3.Error):
                    cursor.close()
            self._cursors.pop()
        super().close()
