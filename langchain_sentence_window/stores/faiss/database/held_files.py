"""Files that are open beside SQLite, to be read as they are; each once in a process.

Whoever closes a file gives up all locks that its process has on it (POSIX wants it so), those of SQLite's
connections too. So a file is closed with the last store that is on it. As long as it is open, no other file
can get its number, so a file that took its place is told from it.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, TypeAlias, TypeVar

from langchain_sentence_window.stores.faiss.database.checksums import Seal, seal_of_open
from langchain_sentence_window.stores.faiss.database.files import open_regular
from langchain_sentence_window.stores.faiss.database.locks import AccessLock, NestedWriteError

T = TypeVar("T")

Identity: TypeAlias = tuple[int, int]
"""What the system knows a file by, whatever its name: the device and the number on it."""


def identity_of(path: Path) -> Identity | None:
    """What the system knows the file by that a path leads to now; ``None`` if it leads to none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


class HeldFiles:
    """The files that the stores of this process are on."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = AccessLock()
        self._files: dict[Identity, tuple[list[BinaryIO], set[object]]] = {}
        self._leaving: dict[object, None] = {}

    def hold(self, path: Path, holder: object) -> Identity:
        """Open a file, if it isn't open; return what it is known by.

        Args:
            path: The file.
            holder: Who is on it now, until it is released.

        Raises:
            OSError: It can't be opened.
        """
        return self._alone(lambda: self._hold(path, holder))

    def seal(self, identity: Identity) -> Seal:
        """Read a file and make its seal.

        Raises:
            NestedWriteError: This thread is at work here already, as when the garbage collector came in between.
        """
        return self._alone(lambda: self._seal(identity))

    def release(self, holder: object) -> None:
        """Let someone go who may be on a file, and close it if nobody is left; perhaps only when the next one comes."""
        self._leaving[holder] = None
        with suppress(NestedWriteError):
            self._alone(lambda: None)

    def reset(self) -> None:
        """Forget who was at work: after a fork, the other threads are in the other process."""
        self._lock.reset()

    def _alone(self, work: Callable[[], T]) -> T:
        def work_and_let_go() -> T:
            try:
                return work()
            finally:
                self._let_go()

        return self._lock.write(work_and_let_go)

    def _hold(self, path: Path, holder: object) -> Identity:
        self._leaving.pop(holder, None)  # if letting it go was cut short, it comes back
        known = identity_of(path)
        if known is None or known not in self._files:
            file = open_regular(path)
            status = os.fstat(file.fileno())
            known = status.st_dev, status.st_ino
            self._files.setdefault(known, ([], set()))[0].append(file)
        self._files[known][1].add(holder)
        return known

    def _seal(self, identity: Identity) -> Seal:
        file = self._files[identity][0][0]
        file.seek(0)
        return seal_of_open(file)

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
