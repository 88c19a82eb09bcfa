"""What a fork does to stores: each process goes on with connections of its own.

SQLite's connections must not cross a fork, and neither may a lock that another thread holds at that moment. So a
fork waits until no call is at work in any store, and connections to files are closed before it. Both processes
open new ones when they need them. An export that was cut off so goes on if nobody has written meanwhile. OpenMP's
threads don't exist in the new process, so FAISS has one thread there.
"""

import os
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Protocol, TypeVar

from langchain_sentence_window.stores.faiss.database.held_files import HELD_FILES
from langchain_sentence_window.stores.faiss.database.locks import AccessLock

T = TypeVar("T")

_LONGEST_WAIT = 10.0  # seconds


class Forkable(Protocol):
    """What has connections."""

    def before_fork(self) -> None:
        """Close what must not cross a fork; nothing is at work."""

    def after_fork_in_parent(self) -> None:
        """Go on with what was closed; nothing is at work yet."""

    def after_fork(self, *, was_quiet: bool) -> None:
        """Begin anew in the new process.

        Args:
            was_quiet: Whether `before_fork` was called; it isn't where some call didn't end in time.
        """


class _Forks:
    def __init__(self) -> None:
        self.calls = AccessLock()
        self.turn = threading.Lock()
        self.stores: weakref.WeakSet[Forkable] = weakref.WeakSet()
        self.was_quiet = True
        self.has_lost_threads = False

    def before(self) -> None:
        # Threads that fork at once have to do so one after the other.
        self.turn.acquire()
        self.was_quiet = self.calls.pause(_LONGEST_WAIT)
        if self.was_quiet:
            for store in list(self.stores):
                store.before_fork()

    def after_in_parent(self) -> None:
        try:
            if self.was_quiet:
                for store in list(self.stores):
                    store.after_fork_in_parent()
        finally:
            self.calls.resume()
            self.turn.release()

    def after_in_child(self) -> None:
        self.has_lost_threads = "faiss" in sys.modules
        self.turn = threading.Lock()
        self.calls.reset()
        HELD_FILES.reset()
        for store in list(self.stores):
            store.after_fork(was_quiet=self.was_quiet)


_FORKS = _Forks()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_FORKS.before, after_in_parent=_FORKS.after_in_parent, after_in_child=_FORKS.after_in_child
    )


def apart_from_forks(work: Callable[[], T]) -> T:
    """Do something that no fork may cut in two."""
    return _FORKS.calls.read(work)


def tell_of_forks(store: Forkable) -> None:
    """Have a store told of forks, as long as it is there."""
    _FORKS.stores.add(store)


def has_lost_threads() -> bool:
    """Whether this process was forked from one in which OpenMP may have had threads."""
    return _FORKS.has_lost_threads
