"""Turns of searching threads, of which no more run at once than are of use.

What a search does in Python takes turns at the interpreter's lock, which FAISS, tantivy and SQLite let go of for
moments. Each time, another thread takes it, so many searches at once interrupt each other hundreds of times and all
become slower. Those that wait here interrupt nobody.
"""

import os
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeVar

from langchain_sentence_window._io import COMPUTING_THREADS

T = TypeVar("T")

MAX_WAIT_SECONDS = 1.0
"""The longest time to wait for a turn. Turns are for speed, so nothing may depend on one that doesn't end."""


class Turns:
    """Lets so many threads run at once, and others wait for them."""

    def __init__(self, at_once: int) -> None:
        """Start with nobody in.

        Args:
            at_once: The number of threads that run at once.
        """
        self._at_once = at_once
        self._thread = threading.local()
        self.reset()

    def reset(self) -> None:
        """Forget the threads that are in. After a fork they don't exist."""
        # Unlike a semaphore, a simple queue may be used again by a signal handler that interrupts its use.
        free: SimpleQueue[object] = SimpleQueue()
        for _ in range(self._at_once):
            free.put(object())
        self._free = free

    def run(self, work: Callable[[], T]) -> T:
        """Run a function when it is this thread's turn; at once within another turn of the same thread."""
        if getattr(self._thread, "has_turn", False):
            return work()
        free, turn = self._next()
        try:
            self._thread.has_turn = True
            return work()
        finally:
            self._thread.has_turn = False
            free.put(turn)

    def _next(self) -> tuple[SimpleQueue[object], object]:
        """Wait for a turn; return it, and where it is given back."""
        while True:
            free = self._free
            try:
                return free, free.get(timeout=MAX_WAIT_SECONDS)
            except Empty:
                # Many wait, or an exception such as Ctrl-C came just between taking a turn and giving it back.
                if self._free is free:
                    self.reset()


SEARCHES = Turns(COMPUTING_THREADS)
"""The turns of all searches in this process, as all stores share its cores."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=SEARCHES.reset)
