"""One SQLite connection, which can end its unfinished statements.

A statement with unread rows holds locks until it is reset; from Python 3.12 on, even when its connection is closed. An
exception keeps the frames that it passed through, and they keep the cursor of such a statement. So the connection
knows its cursors, and closes them.

It also tells before the first statement of a transaction that isn't a read.
"""

import errno
import os
import re
import sqlite3
import time
import weakref
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


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
    """A connection that knows its cursors until it is told to forget them.

    Attributes:
        before_change: Is called once before a statement that isn't a read; ``None`` for nothing.
    """

    def __init__(self, *given: Any, **settings: Any) -> None:
        """Open the connection; see ``sqlite3.connect``."""
        super().__init__(*given, **settings)
        self._cursors: list[weakref.ref[sqlite3.Cursor]] = []
        self.stamp: tuple[int, ...] | None = None
        self.before_change: Callable[[], None] | None = None

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Execute a statement; its cursor is known before it has a statement."""
        if self.before_change is not None and not _READS.match(sql):
            self._announce()
        cursor = self.cursor()
        self._cursors.append(weakref.ref(cursor))
        return cursor.execute(sql, parameters)

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> sqlite3.Cursor:
        """Execute a statement that isn't a read several times."""
        self._announce()
        return super().executemany(sql, parameters)

    def _announce(self) -> None:
        if self.before_change is not None:
            self.before_change()
            self.before_change = None

    def forget_cursors(self) -> None:
        """Forget the cursors, whose statements are finished."""
        self._cursors.clear()

    def close(self) -> None:
        """End all statements and close the connection."""
        while self._cursors:
            cursor = self._cursors[-1]()
            if cursor is not None:
                with suppress(sqlite3.Error):
                    cursor.close()
            self._cursors.pop()
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
