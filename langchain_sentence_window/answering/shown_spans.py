"""What of a text has been shown: disjoint spans in order, to which new ones are added."""

from bisect import bisect_left, bisect_right

from langchain_sentence_window._types import Span


class ShownSpans:
    """Spans of one text. Adding ``n`` of them takes ``n log n`` comparisons, in whatever order they come."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, span: Span) -> list[Span]:
        """Add a span.

        Returns:
            The parts of it that weren't there before, in order, none empty.
        """
        start, end = span
        if start >= end:
            return []
        # Those that it overlaps or touches become one with it, so each is looked at once.
        first, last = bisect_left(self._ends, start), bisect_right(self._starts, end)
        starts, ends = self._starts[first:last], self._ends[first:last]
        gaps = zip([start, *ends], [*starts, end], strict=True)
        self._starts[first:last] = [min([start, *starts[:1]])]
        self._ends[first:last] = [max([end, *ends[-1:]])]
        return [(left, right) for left, right in gaps if left < right]
