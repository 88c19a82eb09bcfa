"""The connections to one SQLite file, and the two files beside it that say in what state it was left."""

import os
import secrets
import sqlite3
import threading
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from langchain_sentence_window.store.seals import Seal, replace_file, seal_of_open, write_number

SEAL_FILE = "sentences.seal"
"""The checksum of the database as it was last closed, so that opening needn't check each row."""

HEAD_FILE = "sentences.head"
"""The number of the last write, so that a write-ahead log that was lost doesn't go unnoticed."""

_SECONDS_TO_WAIT = 60.0
# Room for the indexes' pages that one write touches, else each is written out again and again.
_WRITING = "PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = 4000;"
_SETTINGS = "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA synchronous = FULL;"


class Connections:
    """One connection that writes, any number that read, and what is noted of the file."""

    def __init__(self, path: Path | None, *, read_only: bool) -> None:
        """Open nothing yet; ``None`` for a database in memory, which is there as long as its writer."""
        self._path = path
        self._name_in_memory = secrets.token_hex(16)
        self._read_only = read_only
        self._all: list[sqlite3.Connection] = []
        self._idle: list[sqlite3.Connection] = []
        self._writer: sqlite3.Connection | None = None
        self._held: tuple[int, int] | None = None
        self.is_dirty = False
        self._is_closed = False

    @property
    def writer(self) -> sqlite3.Connection:
        """The one connection that writes; opened on first use."""
        if self._writer is None:
            self._writer = self._connect()
            self._writer.executescript(_WRITING)
        return self._writer

    def take_reader(self) -> sqlite3.Connection:
        """A connection that no other thread has."""
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect()

    def give_back(self, connection: sqlite3.Connection) -> None:
        """Let other threads have a connection."""
        if self._is_closed:
            connection.close()
        else:
            self._idle.append(connection)

    def wrote(self, generation: int | None) -> None:
        """Note that a transaction was committed."""
        self.is_dirty = True
        if self._path and generation is not None:
            write_number(self._path.parent / HEAD_FILE, generation)

    def use_log(self) -> None:
        """Write ahead, so that readers and a writer don't wait for each other."""
        self.writer.execute("PRAGMA journal_mode = WAL")

    def is_sealed(self) -> bool:
        """Whether the file is as it was last closed."""
        if self._path is None:
            return False
        try:
            sealed = (self._path.parent / SEAL_FILE).read_text(encoding="ascii", errors="replace")
        except OSError:
            return False
        seal = self._seal_of_file()
        return seal is not None and sealed == _written(seal)

    def seal(self) -> None:
        """Bring the log into the file and note the file's checksum, unless others are at work."""
        if self._path is None or not self.is_dirty:
            return
        with suppress(sqlite3.Error, OSError):
            self.writer.execute("PRAGMA shrink_memory")
            self.writer.execute("PRAGMA busy_timeout = 500")
            (busy, *_) = self.writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            self.writer.execute(f"PRAGMA busy_timeout = {int(_SECONDS_TO_WAIT * 1000)}")
            seal = None if busy else self._seal_of_file()
            if seal:
                replace_file(self._path.parent / SEAL_FILE, _written(seal).encode("ascii"))
                self.is_dirty = False

    def close(self) -> None:
        """Seal the file and close all connections."""
        if not self._is_closed:
            self.seal()
            self._is_closed = True
            for connection in self._all:
                connection.close()
            if self._held:
                _HELD_FILES.release(self._held)

    def _seal_of_file(self) -> Seal | None:
        self._hold()
        return None if self._held is None else _HELD_FILES.seal(self._held)

    def _hold(self) -> None:
        if self._path and self._held is None and self._path.exists():
            self._held = _HELD_FILES.hold(self._path)

    def _connect(self) -> sqlite3.Connection:
        if self._is_closed:
            raise sqlite3.ProgrammingError("it is closed")
        if self._path is None:
            # Readers have connections of their own here too: from Python 3.12 on, threads that share one may be
            # given each other's rows.
            target = f"file:{self._name_in_memory}?mode=memory&cache=shared"
        else:
            mode = "mode=rwc"
            if self._read_only:
                mode = "immutable=1" if self._is_frozen() else "mode=ro"
            target = f"{self._path.absolute().as_uri()}?{mode}"
        connection = sqlite3.connect(
            target, uri=True, isolation_level=None, check_same_thread=False, timeout=_SECONDS_TO_WAIT
        )
        self._all.append(connection)
        connection.executescript(_SETTINGS)
        self._hold()
        return connection

    def _is_frozen(self) -> bool:
        """Whether nobody can write, so that SQLite can read without files to lock."""
        assert self._path is not None  # noqa: S101
        log = self._path.with_name(f"{self._path.name}-wal")
        return not os.access(self._path.parent, os.W_OK) and not (log.exists() and log.stat().st_size)


class _HeldFiles:
    """Files that are open beside SQLite, to be read as they are; each once in a process.

    Whoever closes a file gives up all locks that its process has on it (POSIX wants it so), those of
    SQLite's connections too. So a file is closed with the last store that is on it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: dict[tuple[int, int], tuple[BinaryIO, int]] = {}

    def hold(self, path: Path) -> tuple[int, int]:
        """Open a file, or count one user more; return what it is known by."""
        status = path.stat()
        key = status.st_dev, status.st_ino
        with self._lock:
            file, users = self._files.get(key) or (path.open("rb"), 0)
            self._files[key] = file, users + 1
        return key

    def seal(self, key: tuple[int, int]) -> Seal:
        """Read a file and make its seal."""
        with self._lock:
            file, _ = self._files[key]
            file.seek(0)
            return seal_of_open(file)

    def release(self, key: tuple[int, int]) -> None:
        """Count one user less, and close a file that has none left."""
        with self._lock:
            file, users = self._files.pop(key)
            if users > 1:
                self._files[key] = file, users - 1
            else:
                file.close()


_HELD_FILES = _HeldFiles()


def _written(seal: Seal) -> str:
    return f"{seal[0]} bytes, CRC-32 {seal[1]:08x}\n"
