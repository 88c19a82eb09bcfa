"""Making another index in the background, while searches and writes go on with the present one.

The work is done in steps of seconds at most. Each step is a call of the store like any other: closing the store and
forks of the process wait for the step, and no step begins after that.
"""

import logging
import threading
from collections.abc import Callable
from typing import TypeVar

from langchain_sentence_window.stores.faiss.database.locks import ClosedError

T = TypeVar("T")

_LOGGER = logging.getLogger(__name__)
_ONLY = "change"
_SECONDS_TO_END = 5.0


class BackgroundChange:
    """A thread that makes a change; at most one at a time."""

    def __init__(self, name: str) -> None:
        """Start without a thread.

        Args:
            name: The name of the store, for the log.
        """
        self._name = name
        self._threads: dict[str, threading.Thread] = {}
        self.has_failed = False

    @property
    def is_running(self) -> bool:
        """Whether a change is being made."""
        return bool(self._threads)

    def start(self, work: Callable[[], None]) -> None:
        """Make a change, unless one is being made already, or one has failed.

        A failure is logged. Another attempt would likely fail too, so there is none until the store is opened again.
        """
        if self.has_failed:
            return
        thread = threading.Thread(target=self._run, args=(work,), name=f"index of {self._name}", daemon=True)
        try:
            if self._threads.setdefault(_ONLY, thread) is thread:
                thread.start()
        except BaseException as error:
            if thread.ident is None and self._threads.get(_ONLY) is thread:
                self._threads.pop(_ONLY, None)
            if not isinstance(error, RuntimeError):  # no more threads can be started, as at the end of the process
                raise

    def wait(self, seconds: float | None = None) -> None:
        """Wait until no change is being made; not within a call of the store, for which the change may wait."""
        thread = self._threads.get(_ONLY)
        if thread is not None and thread is not threading.current_thread() and thread.ident is not None:
            thread.join(seconds)

    def end(self) -> None:
        """Wait for a change whose store was closed."""
        self.wait(_SECONDS_TO_END)

    def after_fork(self) -> None:
        """Forget the thread, which the child process doesn't have."""
        self._threads.clear()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except ClosedError:
            pass
        except Exception:
            self.has_failed = True
            _LOGGER.exception(
                "the index of %s couldn't be changed; searches go on with the present one, and opening the store "
                "again tries again",
                self._name,
            )
        finally:
            self._threads.pop(_ONLY, None)
