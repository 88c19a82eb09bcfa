"""The file of a database: whether it is still the one that was opened, and whether it is as it was closed.

A large file takes seconds to read. If the system says that nobody has written to it since it was sealed, it is opened
as it is, and read later: in the background, and at the latest before the first change of the database.
"""

import os
import re
import struct
import threading
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeAlias

from langchain_sentence_window.errors import StoreError

from .locks import HELD_FILES, Identity, identity_of
from .store_files import NO_FOLLOW, Seal, open_regular, replace_file, size_of

SEAL_FILE = "sentences.seal"
"""The checksum of the database as it was last closed, so that opening needn't check each row. It exists only while
the write-ahead log is empty: every write removes it first."""

HEAD_FILE = "sentences.head"
"""The number of the last write, which reveals that a write-ahead log was lost. It names the database of the write, as
a process may record it after another database was put in the same place."""

RESTORING_FILE = "sentences.restoring"
"""Exists while a backup replaces the database; the files beside it may be of another database then."""

Stamp: TypeAlias = tuple[int, ...]
"""Values that change when a file is written."""

_HEAD = struct.Struct("<qq")
_CHECKSUM = struct.Struct("<I")
_WRITTEN = re.compile(r"(\d{1,19}) bytes, CRC-32 ([0-9a-f]{8})\n")
_STAMPED = re.compile(
    r"((\d{1,19}) bytes, CRC-32 ([0-9a-f]{8})\n"
    r"inode (\d{1,20}), modified (\d{1,20}), changed (\d{1,20})\n)([0-9a-f]{8})\n"
)
_MAX_SEAL_BYTES = 200


class Sealed(NamedTuple):
    """The record of a database whose log is empty.

    Attributes:
        seal: Its size and checksum.
        stamp: Its stamp at that time; ``None`` if it isn't known to be older than any later change.
    """

    seal: Seal
    stamp: Stamp | None


def write_seal(folder: Path, sealed: Sealed) -> None:
    """Record the checksum of a database whose log is empty.

    Raises:
        OSError: The file can't be written.
    """
    (size, checksum), stamp = sealed
    content = f"{size} bytes, CRC-32 {checksum:08x}\n"
    if stamp is not None:
        _, inode, modified, changed = stamp
        content += f"inode {inode}, modified {modified}, changed {changed}\n"
        content += f"{zlib.crc32(content.encode('ascii')):08x}\n"
    replace_file(folder / SEAL_FILE, content.encode("ascii"))


def read_seal(folder: Path) -> Sealed | None:
    """Read what `write_seal` wrote; return ``None`` if it is missing or damaged."""
    try:
        with open_regular(folder / SEAL_FILE) as file:
            content = file.read(_MAX_SEAL_BYTES).decode("ascii", errors="replace")
    except OSError:
        return None
    if found := _WRITTEN.fullmatch(content):
        return Sealed([int(found[1]), int(found[2], 16)], None)
    found = _STAMPED.fullmatch(content)
    if not found or zlib.crc32(found[1].encode("ascii")) != int(found[7], 16):
        return None
    size = int(found[2])
    return Sealed([size, int(found[3], 16)], (size, int(found[4]), int(found[5]), int(found[6])))


class Head(NamedTuple):
    """The last write of a database.

    Attributes:
        birth: A random number drawn when the database was created or restored.
        generation: The number of the write.
    """

    birth: int
    generation: int


def write_head(folder: Path, head: Head) -> None:
    """Record the last write, if the file can be written."""
    path, content = folder / HEAD_FILE, _HEAD.pack(*head)
    content += _CHECKSUM.pack(zlib.crc32(content))
    with suppress(OSError):
        # In place, as all versions of it have the same length.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | NO_FOLLOW, 0o666)
        try:
            is_only_here = os.fstat(handle).st_nlink == 1
            if is_only_here:
                os.write(handle, content)
        finally:
            os.close(handle)
        if not is_only_here:
            replace_file(path, content)


def read_head(folder: Path) -> Head | None:
    """Read what `write_head` wrote; return ``None`` if it is missing or damaged."""
    try:
        with open_regular(folder / HEAD_FILE) as file:
            content, checksum = file.read(_HEAD.size), file.read(2 * _CHECKSUM.size)
    except OSError:
        return None
    return Head(*_HEAD.unpack(content)) if checksum == _CHECKSUM.pack(zlib.crc32(content)) and content else None


def log_of(path: Path) -> Path:
    """Return the path of a database's write-ahead log."""
    return path.with_name(f"{path.name}-wal")


def stamp_of(path: Path) -> Stamp | None:
    """Return a file's stamp, its size first; ``None`` if it doesn't exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns


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
        self.cannot_lock = path is not None and read_only and not os.access(path.parent, os.W_OK)

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

    def check_identity(self) -> None:
        """Check that the path leads to the file that is open.

        Raises:
            StoreError: It leads to another file, or to none.
        """
        if self._held is None or self.path is None:
            return
        if identity_of(self.path) != self._held:
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
        if not self.cannot_lock or self.path is None or size_of(log_of(self.path)):
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


PART_SIZE = 1 << 22
"""Bytes that are read in one step."""

_PAUSE = 9
"""How many times as long as it reads a check in the background pauses."""


class LaterCheck:
    """Compares a file with its seal, in steps of any thread.

    If the file is written to meanwhile, the check ends without a result: who writes has checked it before.
    """

    def __init__(self, read: Callable[[int, int], bytes], sealed: Sealed, is_unchanged: Callable[[], bool]) -> None:
        """Begin before the first byte.

        Args:
            read: Reads a number of bytes at a place, or less at the end of the file.
            sealed: What was recorded of the file.
            is_unchanged: Returns whether nobody has written to the file since it was sealed.
        """
        self.sealed = sealed
        self._read = read
        self._is_unchanged = is_unchanged
        self._turn = threading.RLock()  # the garbage collector may close the store in the middle
        # Replaced as a whole, so that no exception leaves the checksum of other bytes.
        self._progress = 0, 0
        self._is_over = False
        self.has_passed = False
        self.is_damaged = False

    def step(self) -> bool:
        """Read the next part; return whether the check is over."""
        with self._turn:
            if not self._is_over:
                at, checksum = self._progress
                part = self._read(at, PART_SIZE)
                read = at + len(part), zlib.crc32(part, checksum)
                if not part or read[0] >= self.sealed.seal[0] or not self._is_unchanged():
                    self.has_passed = list(read) == self.sealed.seal
                    self.is_damaged = not self.has_passed and self._is_unchanged()
                    self._is_over = True
                self._progress = read
            return self._is_over


def run_slowly(step: Callable[[], bool]) -> None:
    """Run steps until one returns that it was the last, with pauses in which others use the processor and the disk."""
    began = time.monotonic()
    while not step():
        time.sleep(_PAUSE * (time.monotonic() - began))
        began = time.monotonic()
