"""The file of a database: whether it is still the one that was opened, and whether it is as it was closed."""

import os
from pathlib import Path

from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.stores.faiss.database.checksums import Seal
from langchain_sentence_window.stores.faiss.database.files import size_of
from langchain_sentence_window.stores.faiss.database.held_files import HELD_FILES, Identity, identity_of
from langchain_sentence_window.stores.faiss.database.state_files import (
    RESTORING_FILE,
    Stamp,
    log_of,
    read_seal,
    stamp_of,
)


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

    def make_seal(self) -> Seal | None:
        """Read the file and return its seal; ``None`` if it doesn't exist."""
        self.hold()
        return None if self._held is None else HELD_FILES.seal(self._held)

    def is_sealed(self) -> bool:
        """Return whether the file is as it was last closed."""
        if self.path is None:
            return False
        sealed = read_seal(self.path.parent)
        return sealed is not None and sealed == self.make_seal()

    def has_foreign_log(self) -> bool:
        """Return whether the log beside the file belongs to another version of it.

        Every write removes the seal first. So a sealed file has no log, unless one was put beside it.
        """
        if self.path is None:
            return False
        before = stamp_of(log_of(self.path))
        return bool(before and before[0] and self.is_sealed()) and stamp_of(log_of(self.path)) == before
