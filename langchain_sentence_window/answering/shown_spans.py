"""The parts of a text that have been shown, as disjoint spans in order."""

from bisect import bisect_left, bisect_right

from langchain_sentence_window._types import Span


class ShownSpans:
    """Spans of one text. Adding ``n`` of them takes ``n log n`` comparisons, in any order."""

    def __init__(self) -> None:
        """Start without spans."""
        self._starts: list[int] = []
        self._ends: list[int] = []

    def holds(self, span: Span) -> bool:
        """Return whether all of a span has been added."""
        start, end = span
        number = bisect_left(self._ends, end)
        return start >= end or (number < len(self._starts) and self._starts[number] <= start)

    def add(self, span: Span) -> list[Span]:
        """Add a span.

        Returns:
            The parts of it that are new, in order, none empty.
        """
        start, end = span
        if start >= end:
            return []
        # Spans that it overlaps or touches are merged with it, so each is visited once.
        first, last = bisect_left(self._ends, start), bisect_right(self._starts, end)
        starts, ends = self._starts[first:last], self._ends[first:last]
        gaps = zip([start, *ends], [*starts, end], strict=True)
        self._starts[first:last] = [min([start, *starts[:1]])]
        self._ends[first:last] = [max([end, *ends[-1:]])]
        return [(left, right) for left, right in gaps if left < right]
