"""Half-open character spans ``[start, end)``: cut first, trim, slice last."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

from langchain_sentence_window._types import Span


def trim(text: str, start: int, end: int) -> Span:
    """Move the ends of ``[start, end)`` inward past white space.

    Returns:
        The trimmed span; ``(end, end)`` if there is nothing but white space.
    """
    body = text[start:end]
    lead = len(body) - len(body.lstrip())
    return start + lead, start + max(lead, len(body.rstrip()))


def pieces(text: str, start: int, end: int, cuts: Iterable[int]) -> Iterator[Span]:
    """Cut ``[start, end)`` at positions and yield the trimmed pieces.

    Spans are made from cuts, so they are in order and disjoint, and no character but white space is lost between them.

    Args:
        text: The text.
        start: Where the first piece begins.
        end: Where the last piece ends.
        cuts: Positions where a new piece begins, in any order; those outside ``[start, end)`` are ignored.

    Yields:
        Trimmed spans that aren't empty, in order.
    """
    edges = [start, *sorted({cut for cut in cuts if start < cut < end}), end]
    for left, right in pairwise(edges):
        span = trim(text, left, right)
        if span[0] < span[1]:
            yield span
