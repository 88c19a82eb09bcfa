"""Replace what Ctrl-C does for a while."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def at_interrupt(handle: Callable[..., object]) -> Iterator[None]:
    """Call a function at Ctrl-C in place of what else would be called; only in the main thread, which alone may."""
    try:
        before = signal.signal(signal.SIGINT, handle)
    except ValueError:  # not in the main thread, so Ctrl-C is someone else's
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
