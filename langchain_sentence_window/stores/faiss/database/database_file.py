"""The file of a database: whether it is still the one that was opened, and whether it is as it was closed.

A large file takes seconds to read. If the system says that nobody has written to it since it was sealed, it is opened
as it is, and read later: in the background, and at the latest before the first change of the database.
"""

import os
import time
from pathlib import Path

from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.stores.faiss.database.files import size_of
from langchain_sentence_window.stores.faiss.database.held_files import HELD_FILES, Identity, identity_of
from langchain_sentence_window.stores.faiss.database.later_check import LaterCheck
from langchain_sentence_window.stores.faiss.database.state_files import (
    RESTORING_FILE,
    Sealed,
    Stamp,
    log_of,
    read_seal,
    stamp_of,
)

MAX_READ_AT_OPENING = 2**31
"""The bytes of the largest file that is always read when it is opened."""

SETTLED_AFTER = 2.0
"""Seconds after a change of a file from which on another one has another time, on any file system."""


class DatabaseFile:
    """The file that the connections of a store are on."""

    def __init__(self, path: Path | None, *, read_only: bool) -> None:
        """Hold nothing yet.

        Args:
            path: The file; ``None`` for a database in memory, which has none.
            read_only: Whether the database is only read.
        """
        self.path = path
        self.name = str(path) if path else "the store in memory"
        self._holder = object()
        self._held: Identity | None = None
        self.later_check: LaterCheck | None = None
        # A user who may not write in the folder can't lock the file either, so it may change while it is read.
        self._cannot_lock = path is not None and read_only and not os.access(path.parent, os.W_OK)

    # Identity

    def hold(self) -> None:
        """Keep the file open, if it exists, so that a file that replaces it can be told apart."""
        if self.path and self._held is None and self.path.exists():
            self._held = HELD_FILES.hold(self.path, self._holder)

    def release(self) -> None:
        """Let go of the file; may be called again."""
        # First, as a file that may have been released isn't held any more.
        self._held = None
        HELD_FILES.release(self._holder)

    def forget(self) -> None:
        """Forget the file, which stays open."""
        self._held = None

    def leads_elsewhere(self) -> bool:
        """Return whether the path leads to another file than the one held, or to none."""
        return self.path is not None and self._held is not None and identity_of(self.path) != self._held

    def check_identity(self) -> None:
        """Check that the path leads to the file that is open.

        Raises:
            StoreError: It leads to another file, or to none.
        """
        if self.leads_elsewhere():
            raise StoreError(
                f"{self.name} was moved, replaced or deleted while it was open; close this store and open the path "
                "again"
            )

    def check_restored(self) -> None:
        """Check that no backup is replacing the file.

        Raises:
            StoreError: A backup is replacing it.
        """
        if self.path is not None and (self.path.parent / RESTORING_FILE).exists():
            raise StoreError(
                f"{self.name} is being restored from a backup, or that was interrupted; wait, or call "
                "FaissStore.restore() again"
            )

    def stamp(self) -> Stamp | None:
        """Return the file's stamp for a user who can't lock it and has no log to read; ``None`` for others.

        The connection of such a user assumes that the file never changes. What it reads is right as long as the stamp
        stays the same and there is no log.
        """
        if not self._cannot_lock or self.path is None or size_of(log_of(self.path)):
            return None
        try:
            status = self.path.stat()
        except OSError:
            return (0,)
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns

    # The seal

    def make_seal(self) -> Sealed | None:
        """Read the file and return what to record of it; ``None`` if it doesn't exist."""
        self.hold()
        if self._held is None or self.path is None:
            return None
        before, check = stamp_of(self.path), self.later_check
        if check is not None and check.has_passed and before == check.sealed.stamp:
            return check.sealed
        seal = HELD_FILES.seal(self._held)
        return Sealed(seal, before if before == stamp_of(self.path) and _will_differ(before) else None)

    def is_sealed(self) -> bool:
        """Read the file, and return whether it is as it was last closed."""
        sealed = self._sealed()
        made = None if sealed is None else self.make_seal()
        return sealed is not None and made is not None and sealed.seal == made.seal

    def is_sealed_or_unchanged(self) -> bool:
        """Return whether the file is as it was last closed, or large and not written to since, to be read later."""
        sealed = self._sealed()
        if sealed is None or self.path is None or sealed.stamp is None or sealed.seal[0] <= MAX_READ_AT_OPENING:
            return self.is_sealed()
        self.hold()
        if self._held is None or stamp_of(self.path) != sealed.stamp:
            return self.is_sealed()
        if self.later_check is None:
            path, held = self.path, self._held
            self.later_check = LaterCheck(
                lambda at, size: HELD_FILES.read(held, at, size), sealed, lambda: stamp_of(path) == sealed.stamp
            )
        return True

    def lacks_stamp(self) -> bool:
        """Return whether the file was read as a whole when it was opened, though it is large."""
        return self.path is not None and self.later_check is None and size_of(self.path) > MAX_READ_AT_OPENING

    def finish_check(self) -> None:
        """Read what hasn't been read yet of a file that is checked later.

        Raises:
            StoreError: The file was damaged.
        """
        check = self.later_check
        if check is not None:
            while not check.step():
                pass
            self.check_damage()

    def check_damage(self) -> None:
        """Check that no damage was found since the file was opened.

        Raises:
            StoreError: The file was damaged.
        """
        if self.later_check is not None and self.later_check.is_damaged:
            raise StoreError(
                f"{self.name} isn't as it was closed, though nobody has written to it, so it is damaged; restore it "
                "from a backup with FaissStore.restore()"
            )

    def has_foreign_log(self) -> bool:
        """Return whether the log beside the file belongs to another version of it.

        Every write removes the seal first. So a sealed file has no log, unless one was put beside it.
        """
        if self.path is None:
            return False
        before = stamp_of(log_of(self.path))
        is_sealed = bool(before and before[0]) and self.is_sealed_or_unchanged()
        return is_sealed and stamp_of(log_of(self.path)) == before

    def _sealed(self) -> Sealed | None:
        return None if self.path is None else read_seal(self.path.parent)


def _will_differ(stamp: Stamp | None) -> bool:
    """Return whether a stamp is of a large file, and any later change of it gives it another stamp."""
    if stamp is None or stamp[0] <= MAX_READ_AT_OPENING:
        return False
    return min(stamp) >= 0 and time.time_ns() - max(stamp[2:]) > SETTLED_AFTER * 1e9
