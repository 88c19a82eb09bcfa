"""A lock that many readers share and one writer has alone."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class ReadersWriterLock:
    """Readers share it; a writer waits until they are done, and new readers wait for the writer.

    So a stream of readers can't keep a writer out. A thread that holds it must not ask for it again.
    """

    def __init__(self) -> None:
        """Begin free."""
        self._changed = threading.Condition()
        self._readers = 0
        self._writers_waiting = 0
        self._is_written = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold the lock together with other readers."""
        with self._changed:
            while self._is_written or self._writers_waiting:
                self._changed.wait()
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                if not self._readers:
                    self._changed.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock alone."""
        with self._changed:
            self._writers_waiting += 1
            try:
                self._changed.wait_for(lambda: not self._is_written and not self._readers)
                self._is_written = True
            finally:
                self._writers_waiting -= 1
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._is_written = False
                self._changed.notify_all()
