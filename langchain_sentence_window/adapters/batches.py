"""Batches, for stores that take only so many items in one call."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield items in slices of a size."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
