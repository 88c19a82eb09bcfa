"""The geometry of windows, as integer arithmetic: hits in, disjoint runs of sentences out.

For all hits, in any order:

- Windows are disjoint.
- Each window lies inside one section of one document.
- Each window covers every hit that it holds.
- The order of the hits changes nothing.
- A smaller window keeps its best hit.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TypeAlias, cast

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import SentenceKey, Span
from langchain_sentence_window.errors import InvalidInputError

WindowSize: TypeAlias = int | tuple[int, int]
"""Sentences on each side of a hit, or ``(before, after)``."""

_SCORE, _INDEX, _KEY = attrgetter("score"), attrgetter("index"), attrgetter("key")


@dataclass(frozen=True, slots=True)
class Hit:
    """One sentence that a search returned.

    Attributes:
        doc_id: The document it belongs to.
        index: Its index among the document's sentences, from 0.
        section_start: Index of the first sentence of its section.
        section_end: One past the index of the section's last sentence.
        score: The score that it was ranked by; higher is better.
        similarity: The score that the store gave it, such as a cosine; ``None`` if it isn't known.
        pieces: Indexes ``[start, end)`` of all pieces of the sentence that this is a piece of; ``None`` if it is whole.
        key: The key of the sentence, its document and its index.
    """

    doc_id: str
    index: int
    section_start: int
    section_end: int
    score: float
    similarity: float | None = None
    pieces: Span | None = None
    key: SentenceKey = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Make the key once, as it is asked for often."""
        object.__setattr__(self, "key", (self.doc_id, self.index))


@dataclass(frozen=True, slots=True)
class Window:
    """An unbroken run of sentences of one section around its hits.

    Attributes:
        doc_id: The document it belongs to.
        first: Index of its first sentence.
        last: Index of its last sentence, which is in the window.
        hits: At least one, in the order of their indexes.
    """

    doc_id: str
    first: int
    last: int
    hits: tuple[Hit, ...]

    @property
    def score(self) -> float:
        """The score of the best hit."""
        return self.best.score

    @property
    def best(self) -> Hit:
        """The best hit, the first of them among equals."""
        best = self.hits[0]
        for hit in self.hits[1:]:
            if hit.score > best.score:
                best = hit
        return best

    @property
    def section(self) -> SentenceKey:
        """The key of the first sentence of its section."""
        return self.doc_id, self.hits[0].section_start

    @property
    def keys(self) -> list[SentenceKey]:
        """The keys of its sentences, in order."""
        return [(self.doc_id, index) for index in range(self.first, self.last + 1)]

    def widened(self, first: int, last: int) -> "Window":
        """Return the window with another first and last sentence; no hit may be outside."""
        return self if (first, last) == (self.first, self.last) else Window(self.doc_id, first, last, self.hits)


def window_size(value: object) -> tuple[int, int]:
    """Read a window size as ``(before, after)``.

    Raises:
        InvalidInputError: It is neither a number of sentences nor a pair of them, or is negative.
    """
    given = list(value) if isinstance(value, tuple | list) else []
    before, after = cast("tuple[int, int]", given if len(given) == 2 else (value, value))  # noqa: PLR2004
    for side in (before, after):
        if not isinstance(side, int) or isinstance(side, bool) or side < 0:
            raise InvalidInputError(
                f"window is {shown(value)}; it must be a number of sentences, 0 or more, a pair (before, after), or "
                "'auto'"
            )
    return before, after


def expand(hit: Hit, before: int, after: int) -> Window:
    """Expand a hit into its window, without leaving its section.

    Args:
        hit: The hit to expand.
        before: Sentences before the hit, 0 or more. If the hit is a piece of a long sentence, they count from that.
        after: Sentences after the hit, 0 or more, likewise.
    """
    first, end = hit.pieces or (hit.index, hit.index + 1)
    return Window(
        hit.doc_id,
        max(first - before, hit.section_start),
        min(end - 1 + after, hit.section_end - 1),
        (hit,),
    )


def best_windows(
    hits: Iterable[Hit], expansion: Callable[[Hit], Window], widens: Callable[[Hit], bool]
) -> list[Window]:
    """Expand hits into windows, and merge those that touch.

    Some hits, such as strong ones, widen a window that they touch. Any other hit makes a separate window of the
    sentences that no better window holds. In a small corpus a search returns nearly every sentence: if all of them
    widened windows, each window would grow to its whole section.

    Args:
        hits: In any order.
        expansion: Returns the window of a hit, such as `expand` does.
        widens: Returns whether a hit widens a window that it touches.

    Returns:
        Disjoint windows, best first. Windows of equal scores are in the order of document and index.
    """
    sections: dict[SentenceKey, list[Window]] = {}
    in_place = sorted(hits, key=_KEY)
    for hit in sorted(in_place, key=_SCORE, reverse=True):
        window = expansion(hit)
        first, last = window.first, window.last
        runs = sections.setdefault(window.section, [])
        # Those from ``low`` on, before ``high``, overlap or touch the window.
        low = bisect_left(runs, first - 1, key=lambda run: run.last)
        high = bisect_right(runs, last + 1, key=lambda run: run.first)
        if low < high and not widens(hit):
            at = bisect_right(runs, hit.index, low, high, key=lambda run: run.first)
            if at > low and runs[at - 1].last >= hit.index:
                continue
            # What no other window holds: it may touch one now.
            first = max(first, runs[at - 1].last + 1) if at > low else first
            last = min(last, runs[at].first - 1) if at < high else last
            low = high = at
        joined, found = runs[low:high], window.hits
        if joined:
            first, last = min(first, joined[0].first), max(last, joined[-1].last)
            for run in joined:
                found = run.hits + found
        runs[low:high] = [Window(window.doc_id, first, last, found)]
    windows = [
        # Few have more than one hit.
        run if len(run.hits) == 1 else Window(run.doc_id, run.first, run.last, tuple(in_order(run.hits)))
        for runs in sections.values()
        for run in runs
    ]
    return sorted(windows, key=lambda window: (-window.best.score, window.doc_id, window.first))


def smaller(window: Window) -> Iterator[Window]:
    """Yield ever smaller parts of a window, down to its best hit: each loses one of its two ends.

    A neighbor goes before a hit, then the one farther from the best hit. Of two equally far, the earlier one goes, as
    conditions and limits usually follow a sentence.
    """
    best, found = window.best.index, {hit.index for hit in window.hits}
    first, last = window.first, window.last
    while first < last:
        ends = [end for end in (first, last) if end != best]
        end = min(ends, key=lambda end: (end in found, -abs(end - best), end))
        first, last = (end + 1, last) if end == first else (first, end - 1)
        yield Window(window.doc_id, first, last, tuple(hit for hit in window.hits if first <= hit.index <= last))


def in_order(hits: Iterable[Hit]) -> list[Hit]:
    """Return different hits in the order of a window: by index, the best of a sentence first."""
    best_first = sorted(hits, key=_SCORE, reverse=True)
    ordered = sorted(best_first, key=_INDEX)
    # Windows that are joined often have the same hits, which are next to each other now.
    return [hit for at, hit in enumerate(ordered) if not at or (hit is not ordered[at - 1] and hit != ordered[at - 1])]
