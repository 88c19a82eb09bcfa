"""A lock for many readers or one writer, which is released whatever happens.

An exception may occur between any two instructions: Ctrl-C, a signal handler, a test's tracer. A lock that is taken by
one instruction and recorded by the next stays locked then. Here, a token that is made before a call takes anything
identifies what the call holds. Tokens are in dictionaries, which change by single operations. Each call removes its
token three times, in case exceptions interrupt the first and the second. Waiting calls poll, so no notification can be
missed, and there is no inner lock that a fork could copy while another thread holds it.
"""

import time
from collections.abc import Callable
from threading import get_ident
from typing import TypeVar

T = TypeVar("T")

_MIN_PAUSE_SECONDS = 0.0002
_MAX_PAUSE_SECONDS = 0.01
_ONLY = "writer"


class ClosedError(Exception):
    """The lock was closed permanently."""


class NestedWriteError(Exception):
    """A thread asked to write within a call of its own, which it would wait for."""


class AccessLock:
    """A lock that lets readers in together, and writers one after the other.

    A thread that is in a call already enters a nested read without waiting, as those it would wait for may wait for it.
    """

    def __init__(self, *, writers_exclude_readers: bool = True) -> None:
        """Start unlocked.

        Args:
            writers_exclude_readers: Whether readers and the writer wait for each other.
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
        """Whether the lock was closed."""
        return self._is_closed

    def read(self, work: Callable[[], T]) -> T:
        """Run a function together with other readers.

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
        """Run a function while no other writer is in, and no reader if they exclude each other.

        Raises:
            ClosedError: The lock was closed.
            NestedWriteError: This thread is in another call already, which this one would wait for.
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
        """Let nobody in any more, wait for those that are in, and call a function.

        Args:
            finish: Is called once all are out. If this thread is in a call itself, as in a signal handler, it doesn't
                wait, as others may wait for that call; the last call to end calls the function then.
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
            seconds: The longest time to wait.

        Returns:
            Whether nobody but this thread is in.
        """
        self._paused_by = get_ident()
        deadline = time.monotonic() + seconds
        _wait_until(lambda: not self._others(self._readers) or time.monotonic() > deadline)
        return not self._others(self._readers)

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

    def _begin_reading(self, token: object) -> None:
        def is_in() -> bool:
            # Enter first, then check; those who close, pause or write do it in the opposite order.
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
    pause = _MIN_PAUSE_SECONDS
    while not is_so():
        time.sleep(pause)
        pause = min(pause * 1.5, _MAX_PAUSE_SECONDS)
