"""Database files that are kept open beside SQLite's connections, each once in a process.

Closing a file releases all locks that its process has on it, as POSIX demands; those of SQLite's connections too. So
a file is closed with the last store that uses it. While it is open, no other file can get its number, which reveals a
file that replaced it.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO, TypeAlias, TypeVar

from langchain_sentence_window.stores.faiss.database.checksums import Seal, seal_of_parts
from langchain_sentence_window.stores.faiss.database.files import open_regular
from langchain_sentence_window.stores.faiss.database.locks import AccessLock, NestedWriteError

T = TypeVar("T")

Identity: TypeAlias = tuple[int, int]
"""The device of a file and its number there, which don't depend on its name."""


def identity_of(path: Path) -> Identity | None:
    """Return the identity of the file that a path leads to now; ``None`` if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


class HeldFiles:
    """The files that the stores of this process use."""

    def __init__(self) -> None:
        """Start with no file."""
        self._lock = AccessLock()
        self._files: dict[Identity, tuple[list[BinaryIO], set[object]]] = {}
        self._leaving: dict[object, None] = {}

    def hold(self, path: Path, holder: object) -> Identity:
        """Open a file, if it isn't open yet, and return its identity.

        Args:
            path: The file.
            holder: Who uses the file from now on, until `release`.

        Raises:
            OSError: The file can't be opened.
        """
        return self._alone(lambda: self._hold(path, holder))

    def seal(self, identity: Identity) -> Seal:
        """Read a file and return its seal.

        Raises:
            NestedWriteError: This thread is in a call already, which the garbage collector interrupted.
        """
        return self._alone(lambda: seal_of_parts(partial(self._read, identity)))

    def read(self, identity: Identity, at: int, size: int) -> bytes:
        """Read a part of a file, or less at its end.

        Raises:
            NestedWriteError: This thread is in a call already, which the garbage collector interrupted.
        """
        return self._alone(lambda: self._read(identity, at, size))

    def release(self, holder: object) -> None:
        """Remove a holder of any file, and close files without holders, at the latest in the next call."""
        self._leaving[holder] = None
        with suppress(NestedWriteError):
            self._alone(lambda: None)

    def reset(self) -> None:
        """Forget calls of other threads, which don't exist after a fork."""
        self._lock.reset()

    def _alone(self, work: Callable[[], T]) -> T:
        def work_and_let_go() -> T:
            try:
                return work()
            finally:
                self._let_go()

        return self._lock.write(work_and_let_go)

    def _hold(self, path: Path, holder: object) -> Identity:
        self._leaving.pop(holder, None)  # it returns after an interrupted release
        known = identity_of(path)
        if known is None or known not in self._files:
            file = open_regular(path)
            status = os.fstat(file.fileno())
            known = status.st_dev, status.st_ino
            self._files.setdefault(known, ([], set()))[0].append(file)
        self._files[known][1].add(holder)
        return known

    def _read(self, identity: Identity, at: int, size: int) -> bytes:
        file = self._files[identity][0][0]
        if hasattr(os, "pread"):
            return os.pread(file.fileno(), size, at)  # a forked process reads at the same place of the same open file
        file.seek(at)
        return file.read(size)

    def _let_go(self) -> None:
        for holder in list(self._leaving):
            for identity, (files, holders) in list(self._files.items()):
                holders.discard(holder)
                if not holders:
                    del self._files[identity]
                    for file in files:
                        file.close()
            self._leaving.pop(holder, None)


HELD_FILES = HeldFiles()
