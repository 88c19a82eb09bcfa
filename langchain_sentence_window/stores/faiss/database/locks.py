"""A lock that many readers share and one writer has alone, which nothing can leave behind.

An exception may come between any two instructions: Ctrl-C, a signal's handler, a test's tracer. A lock that is
taken by one instruction and noted by the next is lost then. Here what a call holds is told by a token made before
the call takes anything. Tokens are kept in dictionaries, which change by single operations, and each call takes
its token back three times, in case the first is cut short, and the second by another exception. Who has to wait
asks again after a moment, so no notification can be missed, and there is no lock inside that a fork could copy
while another thread holds it.
"""

import time
from collections.abc import Callable
from threading import get_ident
from typing import TypeVar

T = TypeVar("T")

_FIRST_PAUSE = 0.0002
_LONGEST_PAUSE = 0.01
_ONLY = "writer"


class ClosedError(Exception):
    """The lock was closed for good."""


class NestedWriteError(Exception):
    """A thread asks to write while it is at work already, so that it would wait for itself."""


class AccessLock:
    """Calls that share something: readers together, writers one after the other.

    A thread that is in a call already is let into another one without waiting, as what it waited for might wait
    for it.
    """

    def __init__(self, *, writers_exclude_readers: bool = True) -> None:
        """Begin free.

        Args:
            writers_exclude_readers: Whether readers wait for the writer, and it for them.
        """
        self._excludes = writers_exclude_readers
        self._readers: dict[object, int] = {}
        self._writers: dict[str, tuple[object, int]] = {}
        self._queue: dict[object, None] = {}
        self._paused_by: int | None = None
        self._is_closed = False
        self._at_the_end: Callable[[], None] | None = None
        self._finishers: dict[str, object] = {}

    @property
    def is_closed(self) -> bool:
        """Whether nobody is let in any more."""
        return self._is_closed

    def read(self, work: Callable[[], T]) -> T:
        """Do something together with other readers.

        Raises:
            ClosedError: The lock was closed.
        """
        token = object()
        try:
            try:
                try:
                    self._begin_reading(token)
                    return work()
                finally:
                    self._end(token)
            finally:
                self._end(token)
        finally:
            self._end(token)

    def write(self, work: Callable[[], T]) -> T:
        """Do something while no other writer is at work, and no reader if they exclude each other.

        Raises:
            ClosedError: The lock was closed.
            NestedWriteError: This thread is in a call already, which this one would wait for.
        """
        token = object()
        try:
            try:
                try:
                    self._begin_writing(token)
                    return work()
                finally:
                    self._end(token)
            finally:
                self._end(token)
        finally:
            self._end(token)

    def close(self, finish: Callable[[], None]) -> None:
        """Let nobody in any more, wait for those that are in, and then do the last thing.

        Args:
            finish: Is called once all are out. If this thread is in a call itself, as a signal's handler may be,
                nothing is waited for, as others may wait for that call; the last one to end calls it.
        """
        self._is_closed = True
        if get_ident() in list(self._readers.values()):
            self._at_the_end = finish
            return
        _wait_until(lambda: not self._readers)
        finish()

    def pause(self, seconds: float) -> bool:
        """Let nobody in until `resume`, and wait for those that are in.

        Args:
            seconds: How long to wait at most.

        Returns:
            Whether nobody but this thread is in.
        """
        self._paused_by = get_ident()
        deadline = time.monotonic() + seconds
        _wait_until(lambda: not self._others(self._readers) or time.monotonic() > deadline)
        return not self._others(self._readers)

    def resume(self) -> None:
        """Let callers in again."""
        self._paused_by = None

    def reset(self) -> None:
        """Forget who is in: after a fork, the other threads are in the other process."""
        self._readers.clear()
        self._writers.clear()
        self._queue.clear()
        self._finishers.clear()
        self._paused_by = None

    # Machinery

    def _begin_reading(self, token: object) -> None:
        def is_in() -> bool:
            # First in, then a look around: whoever closes, pauses or writes looks the other way round.
            self._readers[token] = get_ident()
            if self._is_closed:
                raise ClosedError
            if not self._is_barred() or self._is_in_already(token):
                return True
            self._readers.pop(token, None)
            return False

        _wait_until(is_in)

    def _begin_writing(self, token: object) -> None:
        me = get_ident()
        self._queue[token] = None

        def has_turn() -> bool:
            if self._is_closed:
                raise ClosedError
            writer = self._writers.get(_ONLY)
            if writer is not None and writer[1] == me:
                raise NestedWriteError("a write was begun within another one, by the same thread")
            is_next = next(iter(list(self._queue)), None) is token
            return is_next and self._writers.setdefault(_ONLY, (token, me))[0] is token

        _wait_until(has_turn)
        if self._excludes:
            if self._is_in_already(token):
                raise NestedWriteError("a write was begun within a read, by the same thread")
            _wait_until(lambda: not self._readers)

    def _is_barred(self) -> bool:
        return self._paused_by not in (None, get_ident()) or (self._excludes and bool(self._writers))

    def _is_in_already(self, token: object) -> bool:
        me = get_ident()
        others = [thread for held, thread in list(self._readers.items()) if held is not token]
        writer = self._writers.get(_ONLY)
        return me in others or (writer is not None and writer[0] is not token and writer[1] == me)

    def _others(self, held: dict[object, int]) -> list[int]:
        me = get_ident()
        return [thread for thread in list(held.values()) if thread != me]

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


def _wait_until(is_so: Callable[[], bool]) -> None:
    pause = _FIRST_PAUSE
    while not is_so():
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)
