"""Files that are open beside SQLite, to be read as they are; each once in a process.

Whoever closes a file gives up all locks that its process has on it (POSIX wants it so), those of SQLite's
connections too. So a file is closed with the last store that is on it. As long as it is open, no other file
can get its number, so a file that took its place is told from it.
"""

import os
from pathlib import Path
from typing import BinaryIO, TypeAlias

from langchain_sentence_window.store.files import open_regular
from langchain_sentence_window.store.locks import AccessLock
from langchain_sentence_window.store.seals import Seal, seal_of_open

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
        self._files: dict[Identity, tuple[list[BinaryIO], int]] = {}

    def hold(self, path: Path) -> Identity:
        """Open a file, or count one user more; return what it is known by.

        Raises:
            OSError: It can't be opened.
        """
        return self._lock.write(lambda: self._hold(path))

    def seal(self, identity: Identity) -> Seal:
        """Read a file and make its seal."""
        return self._lock.write(lambda: self._seal(identity))

    def release(self, identity: Identity) -> None:
        """Count one user less, and close a file that has none left."""
        self._lock.write(lambda: self._release(identity))

    def reset(self) -> None:
        """Forget who was at work: after a fork, the other threads are in the other process."""
        self._lock.reset()

    def _hold(self, path: Path) -> Identity:
        known = identity_of(path)
        if known is None or known not in self._files:
            file = open_regular(path)
            status = os.fstat(file.fileno())
            known = status.st_dev, status.st_ino
            self._files.setdefault(known, ([], 0))[0].append(file)
        files, users = self._files[known]
        self._files[known] = files, users + 1
        return known

    def _seal(self, identity: Identity) -> Seal:
        file = self._files[identity][0][0]
        file.seek(0)
        return seal_of_open(file)

    def _release(self, identity: Identity) -> None:
        files, users = self._files.get(identity, ([], 0))
        if users > 1:
            self._files[identity] = files, users - 1
            return
        self._files.pop(identity, None)
        for file in files:
            file.close()


HELD_FILES = HeldFiles()
