"""The connections to one SQLite file: one that writes, any number that read."""

import os
import secrets
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.stores.faiss.database.checksums import Seal
from langchain_sentence_window.stores.faiss.database.files import remove_file, size_of
from langchain_sentence_window.stores.faiss.database.held_files import HELD_FILES, Identity, identity_of
from langchain_sentence_window.stores.faiss.database.locks import NestedWriteError
from langchain_sentence_window.stores.faiss.database.state_files import (
    RESTORING_FILE,
    SEAL_FILE,
    Head,
    Stamp,
    log_of,
    looks_of,
    read_seal,
    write_head,
    write_seal,
)
from langchain_sentence_window.stores.faiss.database.statements import Connection

T = TypeVar("T")

_SECONDS_TO_WAIT = 60.0
_SECONDS_AT_A_TIME = 0.1  # Python sees Ctrl-C only when SQLite comes back
# Room for the indexes' pages that one write touches, else each is written out again and again.
_WRITING = "PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = 4000;"
# Room for what one query reads, so that the next doesn't read it again: four times SQLite's own.
_SETTINGS = (
    "PRAGMA cache_size = -8192; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA synchronous = FULL;"
)


class Connections:
    """One connection that writes, any number that read, and what is noted of the file."""

    def __init__(self, path: Path | None, *, read_only: bool) -> None:
        """Open nothing yet; ``None`` for a database in memory, which is there until this is closed."""
        self.path = path
        self.name = str(path) if path else "the store in memory"
        self._read_only = read_only
        self._name_in_memory = secrets.token_hex(16)
        self._memory: Connection | None = None
        self._all: list[Connection] = []
        self._idle: list[Connection] = []
        self._writer: Connection | None = None
        self._failed: list[Connection] = []
        self._holder = object()
        self._held: Identity | None = None
        self._refusal: str | None = None
        self.is_dirty = False
        # Nobody else sees the file change then: a user who may not write in its folder can't lock it.
        self._cannot_lock = path is not None and read_only and not os.access(path.parent, os.W_OK)

    # Reading

    def take_reader(self, stamp: Stamp | None = None) -> Connection:
        """A connection that no other thread has, and that sees the file as it looks."""
        if self._refusal:
            raise StoreError(self._refusal)
        while self._idle:
            with suppress(IndexError):
                connection = self._idle.pop()
                if connection.stamp == stamp:
                    return connection
                self.discard(connection)
        return self._connect(stamp=stamp)

    def open_to_check(self) -> Connection:
        """A connection that brings nothing from the log into the file, not even when it is closed."""
        return self._connect(mode="mode=ro", stamp=self.stamp())

    def give_back(self, connection: Connection) -> None:
        """Let other threads have a connection."""
        connection.forget_cursors()
        self._idle.append(connection)

    def discard(self, connection: Connection) -> None:
        """Close a connection."""
        if self._leads_elsewhere():
            # Whichever connection is closed last deletes the log, by its path: that of another store by now.
            _leave_open(connection)
        else:
            connection.close()
        with suppress(ValueError):
            self._all.remove(connection)

    def check_identity(self) -> None:
        """See that the path leads to the file that is open.

        Raises:
            StoreError: It leads to another, or to none.
        """
        if self._leads_elsewhere():
            raise StoreError(
                f"{self.name} was moved, replaced or deleted while it was open; close this store and open the path "
                "again"
            )

    def check_restored(self) -> None:
        """See that no backup is about to take the place of the file.

        Raises:
            StoreError: One is.
        """
        if self.path is not None and (self.path.parent / RESTORING_FILE).exists():
            raise StoreError(
                f"{self.name} is being restored from a backup, or that was interrupted; wait, or call "
                "FaissStore.restore() again"
            )

    def stamp(self) -> Stamp | None:
        """How the file looks to a user who can't lock it and has no log to read; ``None`` for all others.

        Such a connection takes the file for one that never changes. As long as that is so and there is no log,
        what it reads is right.
        """
        if not self._cannot_lock or self.path is None or size_of(log_of(self.path)):
            return None
        try:
            status = self.path.stat()
        except OSError:
            return (0,)
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns

    # Writing

    @property
    def writer(self) -> Connection:
        """The one connection that writes; opened on first use."""
        if self._refusal:
            raise StoreError(self._refusal)
        if self._writer is None:
            writer = self._connect(seconds_to_wait=_SECONDS_AT_A_TIME)
            writer.executescript(_WRITING)
            if self.path is not None:
                until_unlocked(lambda: writer.execute("PRAGMA journal_mode = WAL"))
            self._writer = writer
        return self._writer

    def begin_writing(self) -> Connection:
        """Begin a transaction that no other process can be in, and remove the seal of what is to change.

        Raises:
            sqlite3.OperationalError: Another process was in one for too long.
            StoreError: The folder isn't the one that was opened.
        """
        writer = self.writer
        until_unlocked(lambda: writer.execute("BEGIN IMMEDIATE"))
        self.check_identity()
        if self.path is not None:
            remove_file(self.path.parent / SEAL_FILE)
        return writer

    def end_writing(self, *, has_failed: bool) -> None:
        """Undo a transaction that wasn't committed, if there is one.

        Args:
            has_failed: Whether an exception came out of what was done. Statements may be under way then, which would
                keep locks, so the connection isn't used again.
        """
        if self._writer is not None and (has_failed or self._writer.in_transaction):
            self._failed.append(self._writer)
            self._writer = None
        while self._failed:
            with suppress(sqlite3.Error):
                self._failed[-1].rollback()
            self.discard(self._failed[-1])
            self._failed.pop()

    def wrote(self, head: Head | None) -> None:
        """Note that a transaction was committed."""
        self.is_dirty = True
        self.writer.forget_cursors()
        if self.path and head is not None:
            write_head(self.path.parent, head)

    # Sealing

    def is_sealed(self) -> bool:
        """Whether the file is as it was last closed."""
        if self.path is None:
            return False
        sealed = read_seal(self.path.parent)
        return sealed is not None and sealed == self._seal_of_file()

    def has_foreign_log(self) -> bool:
        """Whether the log beside the file belongs to another version of it.

        Whoever writes removes the seal first. So a file that is sealed has no log, unless it was put beside it.
        """
        if self.path is None:
            return False
        before = looks_of(log_of(self.path))
        return bool(before and before[0] and self.is_sealed()) and looks_of(log_of(self.path)) == before

    def seal(self) -> None:
        """Bring the log into the file and note the file's checksum, unless others are at work."""
        if self.path is None or not self.is_dirty:
            return
        with suppress(sqlite3.Error, OSError, StoreError, NestedWriteError):
            writer = self.writer
            self.check_identity()
            writer.execute("PRAGMA shrink_memory")
            (busy, *_) = writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if busy:
                return
            # Nobody else can write while the checksum is made.
            self.begin_writing()
            seal = self._seal_of_file() if not size_of(log_of(self.path)) else None
            if seal:
                write_seal(self.path.parent, seal)
                self.is_dirty = False
            writer.rollback()

    # Closing

    def close(self) -> None:
        """Seal the file and close all connections; nobody is using one."""
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
        """Do what is left of closing, also when an exception came in the midst of it."""
        self.close_all()
        if self._memory is not None:
            self._memory.close()
        # First, as a file that may have been let go isn't held any more.
        self._memory = self._held = None
        HELD_FILES.release(self._holder)
        self._refusal = f"{self.name} is closed; open it again"

    def close_all(self) -> None:
        """Close all connections to a file, without sealing it; new ones are opened when they are needed."""
        self._writer = None
        self._idle.clear()
        while self._all:
            self.discard(self._all[-1])

    def refuse(self, reason: str) -> None:
        """Let nobody have a connection any more, and leave those there are as they are.

        Args:
            reason: Goes on where the store's name ends.
        """
        self._refusal = f"{self.name} {reason}"
        for connection in [*self._all, *([self._memory] if self._memory else [])]:
            _leave_open(connection)
        self._all.clear()
        self._idle.clear()
        self._writer = self._memory = self._held = None

    # Machinery

    def _leads_elsewhere(self) -> bool:
        return self.path is not None and self._held is not None and identity_of(self.path) != self._held

    def _seal_of_file(self) -> Seal | None:
        self._hold()
        return None if self._held is None else HELD_FILES.seal(self._held)

    def _hold(self) -> None:
        if self.path and self._held is None and self.path.exists():
            self._held = HELD_FILES.hold(self.path, self._holder)

    def _connect(
        self, *, mode: str = "", stamp: Stamp | None = None, seconds_to_wait: float = _SECONDS_TO_WAIT
    ) -> Connection:
        target = self._target("immutable=1" if stamp is not None else mode)
        if self.path is None and self._memory is None:
            self._memory = _open(target)
        self._hold()
        self.check_identity()
        # Only now: a database that a backup took the place of comes after the file that says so.
        self.check_restored()
        connection = _open(target)
        connection.stamp = stamp
        self._all.append(connection)
        try:
            until_unlocked(lambda: connection.executescript(_SETTINGS))
            # Opens the log too. If the folder was swapped by now, or on the way, it shows.
            until_unlocked(lambda: connection.execute("SELECT count(*) FROM sqlite_schema").fetchone())
            connection.execute(f"PRAGMA busy_timeout = {seconds_to_wait * 1_000:.0f}")
            self.check_identity()
        except BaseException:
            self.discard(connection)
            raise
        return connection

    def _target(self, mode: str) -> str:
        if self.path is None:
            # Readers have connections of their own here too: from Python 3.12 on, threads that share one may be
            # given each other's rows.
            return f"file:{self._name_in_memory}?mode=memory&cache=shared"
        if not mode:
            mode = "mode=rw" if not self._read_only else "mode=ro"
        return f"{self.path.as_uri()}?{mode}"


def _open(target: str) -> Connection:
    return sqlite3.connect(
        target,
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=_SECONDS_AT_A_TIME,
        factory=Connection,
    )


def until_unlocked(work: Callable[[], T]) -> T:
    """Do something again and again while another process keeps the database locked, for a minute at most.

    Raises:
        sqlite3.OperationalError: It can't be done, or is locked still.
    """
    deadline = time.monotonic() + _SECONDS_TO_WAIT
    while True:
        try:
            return work()
        except sqlite3.OperationalError as error:
            is_locked = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            if not is_locked or time.monotonic() > deadline:
                raise
            time.sleep(0.001)


def _leave_open(connection: Connection) -> None:
    """Keep a connection from being closed, even when this process ends."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
