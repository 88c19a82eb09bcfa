"""Forks of a process with open stores: parent and child go on with new connections.

SQLite's connections must not cross a fork, and neither may a lock that another thread holds at that moment. So a fork
waits until no call is running in any store, and closes connections to files. Both processes open new ones when they
need them. An export resumes if nobody has written meanwhile. OpenMP's threads don't exist in the child, so FAISS uses
one thread there.
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

_MAX_WAIT_SECONDS = 10.0  # seconds


class Forkable(Protocol):
    """An object with connections."""

    def before_fork(self) -> None:
        """Close everything that must not cross a fork; no call is running."""

    def after_fork_in_parent(self) -> None:
        """Resume what was closed; no call is running yet."""

    def after_fork(self, *, was_quiet: bool) -> None:
        """Start afresh in the child process.

        Args:
            was_quiet: Whether `before_fork` was called; it isn't if a call didn't end in time.
        """


class _Forks:
    def __init__(self) -> None:
        self.calls = AccessLock()
        self.turn = threading.Lock()
        self.stores: weakref.WeakSet[Forkable] = weakref.WeakSet()
        self.was_quiet = True
        self.has_lost_threads = False

    def before(self) -> None:
        # Several threads may fork at the same time; they take turns.
        self.turn.acquire()
        self.was_quiet = self.calls.pause(_MAX_WAIT_SECONDS)
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


def hold_off_forks(work: Callable[[], T]) -> T:
    """Run a function that forks wait for."""
    return _FORKS.calls.read(work)


def register_for_forks(store: Forkable) -> None:
    """Register a store for forks, for as long as it exists."""
    _FORKS.stores.add(store)


def has_lost_threads() -> bool:
    """Return whether this process was forked from one in which OpenMP may have had threads."""
    return _FORKS.has_lost_threads
