"""Checking a file part by part, after it was opened."""

import threading
import time
import zlib
from collections.abc import Callable

from langchain_sentence_window.stores.faiss.database.state_files import Sealed

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
