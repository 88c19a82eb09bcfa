"""Counts the texts that a call embeds, however deep within it."""

from collections.abc import Iterator
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


@contextmanager
def counted_texts() -> Iterator[EmbeddedTexts]:
    """Count the texts that are embedded within the block, in this thread or task."""
    texts = EmbeddedTexts()
    token = _counting.set(texts)
    try:
        yield texts
    finally:
        _counting.reset(token)


def count_texts(count: int) -> None:
    """Add to the count of the block that this is within, if there is one."""
    texts = _counting.get()
    if texts is not None:
        texts.count += count
