"""Ctrl-C that isn't lost.

Python drops an exception that is raised while an object is finalized, that of Ctrl-C too. Work that goes on until
Ctrl-C would go on forever then, so it looks at an event as well.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

from langchain_sentence_window._interrupts import at_interrupt


class InterruptedEvent(Event):
    """An event that Ctrl-C sets, too."""

    def __init__(self) -> None:
        """Start unset."""
        super().__init__()
        # A signal handler can't call set(), whose lock the code that it interrupts may hold.
        self._is_interrupted = False

    def is_set(self) -> bool:
        """Return whether it was set, or Ctrl-C was pressed."""
        return self._is_interrupted or super().is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, or for so many seconds."""
        return super().wait(timeout) or self.is_set()

    @contextmanager
    def set_by_interrupts(self) -> Iterator[None]:
        """Raise `KeyboardInterrupt` at Ctrl-C, at the end of the block at the latest."""

        def interrupt(*_: object) -> None:
            self._is_interrupted = True
            raise KeyboardInterrupt

        with at_interrupt(interrupt):
            yield
        if self._is_interrupted:
            raise KeyboardInterrupt
