"""Counts the texts that a call embeds, however deep within it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class EmbeddedTexts:
    """The texts that were embedded so far.

    Attributes:
        count: Their number.
    """

    count: int = 0


_counting: ContextVar[EmbeddedTexts | None] = ContextVar("embedded_texts", default=None)
_listener: ContextVar[Callable[[int], None] | None] = ContextVar("listener_to_texts", default=None)


@contextmanager
def counted_texts() -> Iterator[EmbeddedTexts]:
    """Count the texts that are embedded within the block, in this thread or task."""
    texts = EmbeddedTexts()
    token = _counting.set(texts)
    try:
        yield texts
    finally:
        _counting.reset(token)


@contextmanager
def heard_texts(listener: Callable[[int], None]) -> Iterator[None]:
    """Call a function whenever texts are embedded within the block, in this thread or task.

    Args:
        listener: Is given the number of the texts. An error that it raises ends the call that embeds.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def heard_texts_too(listener: Callable[[int], object]) -> Iterator[None]:
    """Call a function beside the listener of the block around this one, as `heard_texts` does."""
    outer = _listener.get()

    def both(count: int) -> None:
        listener(count)
        if outer is not None:
            outer(count)

    with heard_texts(both):
        yield


def count_texts(count: int) -> None:
    """Add to the count of the block that this is within, if there is one, and tell who listens."""
    texts = _counting.get()
    if texts is not None:
        texts.count += count
    listener = _listener.get()
    if listener is not None:
        listener(count)
