"""Spans of a text, half-open in code points, as sets of characters."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]


def union(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order, with those that touch or overlap joined."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def without(gold: Sequence[Span], read: Sequence[Span]) -> list[Span]:
    """Return the parts of spans that aren't in others; both are sorted and disjoint."""
    left: list[Span] = []
    for first, last in gold:
        at = first
        for start, end in read:
            if end <= at or start >= last:
                continue
            if start > at:
                left.append((at, start))
            at = max(at, end)
        if at < last:
            left.append((at, last))
    return left
