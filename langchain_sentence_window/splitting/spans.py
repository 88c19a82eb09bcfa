"""Half-open character spans ``[start, end)``: cut first, trim, slice last."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

from langchain_sentence_window._types import Span

"""``(start, end)`` in code points of the text; ``start`` is in the span, ``end`` is not."""


def trim(text: str, start: int, end: int) -> Span:
    """Move the ends of ``[start, end)`` inward past white space.

    Returns:
        The trimmed span; ``(end, end)`` if there is nothing but white space.
    """
    body = text[start:end]
    lead = len(body) - len(body.lstrip())
    return start + lead, start + max(lead, len(body.rstrip()))


def pieces(text: str, start: int, end: int, cuts: Iterable[int]) -> Iterator[Span]:
    """Cut ``[start, end)`` at positions and yield what is left after trimming.

    As spans come from cuts, not from an engine's own spans, they are in order and disjoint, and no
    character but white space can get lost between them.

    Args:
        text: The text the positions refer to.
        start: Where the first piece begins.
        end: Where the last piece ends.
        cuts: Positions at which a new piece begins, in any order; those outside are ignored.

    Yields:
        Trimmed spans that aren't empty, in order.
    """
    edges = [start, *sorted({cut for cut in cuts if start < cut < end}), end]
    for left, right in pairwise(edges):
        span = trim(text, left, right)
        if span[0] < span[1]:
            yield span
