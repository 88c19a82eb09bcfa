"""A lock for many readers or one writer, which is released whatever happens.

An exception may occur between any two instructions: Ctrl-C, a signal handler, a test's tracer. A lock that is taken by
one instruction and recorded by the next stays locked then. Here, a token that is made before a call takes anything
identifies what the call holds. Tokens are in dictionaries, which change by single operations. Each call removes its
token three times, in case exceptions interrupt the first and the second. Waiting calls poll, so no notification can be
missed, and there is no inner lock that a fork could copy while another thread holds it.

Database files that are kept open beside SQLite's connections, each once in a process.

Closing a file releases all locks that its process has on it, as POSIX demands; those of SQLite's connections too. So
a file is closed with the last store that uses it. While it is open, no other file can get its number, which reveals a
file that replaced it.

Turns of searching threads, of which no more run at once than are of use.

What a search does in Python takes turns at the interpreter's lock, which FAISS, tantivy and SQLite let go of for
moments. Each time, another thread takes it, so many searches at once interrupt each other hundreds of times and all
become slower. Those that wait here interrupt nobody.

Forks of a process with open stores: parent and child go on with new connections.

SQLite's connections must not cross a fork, and neither may a lock that another thread holds at that moment. So a fork
waits until no call is running in any store, and closes connections to files. Both processes open new ones when they
need them. An export resumes if nobody has written meanwhile. OpenMP's threads don't exist in the child, so FAISS uses
one thread there.
"""

import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import get_ident
from typing import BinaryIO, Protocol, TypeAlias, TypeVar

from langchain_sentence_window._io import COMPUTING_THREADS
from langchain_sentence_window.errors import StoreError

from .store_files import Seal, open_regular, seal_of_parts

T = TypeVar("T")

_MIN_PAUSE_SECONDS = 0.0002
_MAX_PAUSE_SECONDS = 0.01
_ONLY = "writer"


class ClosedError(StoreError):
    """The lock was closed permanently."""


class NestedWriteError(StoreError):
    """A thread asked to write within a call of its own, which it would wait for."""


class AccessLock:
    """A lock that lets readers in together, and writers one after the other.

    A thread that is in a call already enters a nested read without waiting, as those it would wait for may wait for it.

    Attributes:
        alone: The gate through which a writer enters; a reader enters through the lock itself. See `within`.
        is_closed: Whether the lock was closed.
    """

    def __init__(self, name: str = "the store", *, writers_exclude_readers: bool = True) -> None:
        """Start unlocked.

        Args:
            name: The name of what is locked, for messages.
            writers_exclude_readers: Whether readers and the writer wait for each other.
        """
        self.alone = _Alone(self)
        self._name = name
        self._excludes = writers_exclude_readers
        self._readers: dict[object, int] = {}
        self._writers: dict[str, tuple[object, int]] = {}
        self._queue: dict[object, None] = {}
        self._paused_by: int | None = None
        self.is_closed = False
        self._at_the_end: Callable[[], None] | None = None
        self._finishers: dict[str, object] = {}

    def read(self, work: Callable[[], T]) -> T:
        """Run a function together with other readers.

        Raises:
            ClosedError: The lock was closed.
        """
        return within((self,), work)

    def write(self, work: Callable[[], T]) -> T:
        """Run a function while no other writer is in, and no reader if they exclude each other.

        Raises:
            ClosedError: The lock was closed.
            NestedWriteError: This thread is in another call already, which this one would wait for.
        """
        return within((self.alone,), work)

    def close(self, finish: Callable[[], None]) -> None:
        """Let nobody in any more, wait for those that are in, and call a function.

        Args:
            finish: Is called once all are out. If this thread is in a call itself, as in a signal handler, it doesn't
                wait, as others may wait for that call; the last call to end calls the function then.
        """
        self.is_closed = True
        if get_ident() in list(self._readers.values()):
            self._at_the_end = finish
            return
        _wait_until(lambda: not self._readers)
        finish()

    def pause(self, seconds: float) -> bool:
        """Let nobody in until `resume`, and wait for those that are in.

        Args:
            seconds: The longest time to wait.

        Returns:
            Whether nobody but this thread is in.
        """
        self._paused_by = get_ident()
        deadline = time.monotonic() + seconds
        _wait_until(lambda: not self._others() or time.monotonic() > deadline)
        return not self._others()

    def resume(self) -> None:
        """Let calls in again."""
        self._paused_by = None

    def reset(self) -> None:
        """Forget the calls of other threads, which don't exist after a fork."""
        self._readers.clear()
        self._writers.clear()
        self._queue.clear()
        self._finishers.clear()
        self._paused_by = None

    # Machinery

    def _begin(self, token: object) -> bool:
        """Let a reader in, if nobody keeps it out; return whether it is in."""
        # Enter first, then check; those who close, pause or write do it in the opposite order.
        me = self._readers[token] = get_ident()
        if self.is_closed:
            raise ClosedError(f"{self._name} is closed; open it again")
        is_barred = self._paused_by not in (None, me) or (self._excludes and bool(self._writers))
        if is_barred and not self._is_in_already(token):
            self._readers.pop(token, None)
            return False
        return True

    def _begin_alone(self, token: object) -> bool:
        """Let a writer in, if it is the next and no reader keeps it out; return whether it is in."""
        if self.is_closed:
            raise ClosedError(f"{self._name} is closed; open it again")
        me = get_ident()
        self._queue.setdefault(token)
        writer = self._writers.get(_ONLY)
        if writer is not None and writer[0] is not token and writer[1] == me:
            raise self._nested("another one")
        if next(iter(list(self._queue)), None) is not token:
            return False
        if self._writers.setdefault(_ONLY, (token, me))[0] is not token:
            return False
        if self._excludes and me in list(self._readers.values()):
            raise self._nested("a read")
        return not (self._excludes and self._readers)

    def _nested(self, outer: str) -> NestedWriteError:
        return NestedWriteError(
            f"{self._name} can't be written: a write was begun within {outer}, by the same thread; let the first call "
            "end"
        )

    def _is_in_already(self, token: object) -> bool:
        me = get_ident()
        others = [thread for held, thread in list(self._readers.items()) if held is not token]
        writer = self._writers.get(_ONLY)
        return me in others or (writer is not None and writer[0] is not token and writer[1] == me)

    def _others(self) -> list[int]:
        me = get_ident()
        return [thread for thread in list(self._readers.values()) if thread != me]

    def _end(self, token: object) -> None:
        self._readers.pop(token, None)
        self._queue.pop(token, None)
        writer = self._writers.get(_ONLY)
        if writer is not None and writer[0] is token:
            self._writers.pop(_ONLY, None)
        finish = self._at_the_end
        if finish is not None and not self._readers and self._finishers.setdefault(_ONLY, token) is token:
            finish()
            self._at_the_end = None


class _Alone:
    """The gate of a lock through which a writer enters."""

    def __init__(self, lock: AccessLock) -> None:
        self._begin, self._end = lock._begin_alone, lock._end


class Gate(Protocol):
    """Let a call in and out: a lock that it reads under, or is alone under; or turns."""

    @property
    def _begin(self) -> Callable[[object], bool]:
        """Lets a call in, if nobody keeps it out; returns whether it is in."""

    @property
    def _end(self) -> Callable[[object], None]:
        """Lets a call out, whether or not it is in."""


def within(gates: Sequence[Gate], work: Callable[[], T]) -> T:
    """Run a function under several locks, entered one after the other.

    Raises:
        ClosedError: A lock was closed.
        NestedWriteError: This thread is in another call already, which this one would wait for.
    """
    token, inside_out = object(), gates[::-1]
    try:
        try:
            try:
                # Waiting isn't a loop here: in Python 3.13, an exception at its jumps would pass by `finally`.
                for gate in gates:
                    _wait_until(partial(gate._begin, token))
                return work()
            finally:
                for gate in inside_out:
                    gate._end(token)
        finally:
            for gate in inside_out:
                gate._end(token)
    finally:
        for gate in inside_out:
            gate._end(token)


def _wait_until(is_so: Callable[[], bool]) -> None:
    pause = _MIN_PAUSE_SECONDS
    while not is_so():
        time.sleep(pause)
        pause = min(pause * 1.5, _MAX_PAUSE_SECONDS)


MAX_WAIT_SECONDS = 1.0
"""The longest time to wait for a turn. Turns are for speed, so nothing may depend on one that doesn't end."""


class Turns:
    """Lets so many threads run at once, and others wait for them; a thread that has a turn needs no other."""

    def __init__(self, at_once: int) -> None:
        """Start with nobody in.

        Args:
            at_once: The number of threads that run at once.
        """
        self._at_once = at_once
        self._taken: dict[object, tuple[int, SimpleQueue[object]]] = {}
        self.reset()

    def reset(self) -> None:
        """Forget the threads that are in. After a fork they don't exist."""
        # Unlike a semaphore, a simple queue may be used again by a signal handler that interrupts its use.
        free: SimpleQueue[object] = SimpleQueue()
        for _ in range(self._at_once):
            free.put(object())
        self._free = free

    def _begin(self, token: object) -> bool:
        me, free = get_ident(), self._free
        if any(thread == me for thread, _ in list(self._taken.values())):
            return True
        try:
            free.get(timeout=MAX_WAIT_SECONDS)
        except Empty:
            # Many wait, or an exception such as Ctrl-C came just between taking a turn and giving it back.
            if self._free is free:
                self.reset()
            return False
        self._taken[token] = me, free
        return True

    def _end(self, token: object) -> None:
        taken = self._taken.pop(token, None)
        if taken is not None:
            taken[1].put(object())


SEARCHES = Turns(COMPUTING_THREADS)
"""The turns of all searches in this process, as all stores share its cores."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=SEARCHES.reset)


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
FORKS = _FORKS.calls
"""The lock that each call of a store reads under, and that a fork waits for."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_FORKS.before, after_in_parent=_FORKS.after_in_parent, after_in_child=_FORKS.after_in_child
    )


def register_for_forks(store: Forkable) -> None:
    """Register a store for forks, for as long as it exists."""
    _FORKS.stores.add(store)


def has_lost_threads() -> bool:
    """Return whether this process was forked from one in which OpenMP may have had threads."""
    return _FORKS.has_lost_threads
