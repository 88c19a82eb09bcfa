"""The geometry of windows, as integer arithmetic: hits in, disjoint runs of sentences out.

For all hits, in any order:

- Windows are disjoint.
- Each window lies inside one section of one document.
- Each window covers every hit that it holds.
- The order of the hits changes nothing.
- A smaller window keeps its best hit.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar, cast

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import SentenceKey, Span
from langchain_sentence_window._validation import checked_function, checked_list, gathered, optional_count
from langchain_sentence_window.errors import InvalidInputError

WindowSize: TypeAlias = int | tuple[int, int]
"""Sentences on each side of a hit, or ``(before, after)``."""

_MAX_MEANT = 100

T = TypeVar("T")


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
    """

    doc_id: str
    index: int
    section_start: int
    section_end: int
    score: float
    similarity: float | None = None
    pieces: Span | None = None

    @property
    def key(self) -> SentenceKey:
        """The key of the sentence."""
        return self.doc_id, self.index


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
        if len(self.hits) == 1:  # as most are; it is asked for often
            return self.hits[0]
        return max(self.hits, key=lambda hit: (hit.score, -hit.index))

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
        return self if (first, last) == (self.first, self.last) else replace(self, first=first, last=last)


def window_size(value: object) -> tuple[int, int]:
    """Read a window size as ``(before, after)``.

    Raises:
        InvalidInputError: It is neither a number of sentences nor a pair of them, or is negative.
    """
    given = gathered(value) if isinstance(value, tuple | list) else []
    before, after = cast("tuple[int, int]", given if len(given) == 2 else (value, value))  # noqa: PLR2004
    for side in (before, after):
        if not isinstance(side, int) or isinstance(side, bool) or side < 0:
            raise InvalidInputError(
                f"window is {shown(value)}; it must be a number of sentences, 0 or more, a pair (before, after), or "
                f"'auto'{_meant(value)}"
            )
    return before, after


def _meant(value: object) -> str:
    """Suggest the whole number that a string or a float stands for."""
    if type(value) not in (str, float):
        return ""
    likely = [f". Write window={number}" for number in range(_MAX_MEANT) if value in (float(number), str(number))]
    return "".join(likely)


def expand(hit: Hit, before: int, after: int) -> Window:
    """Expand a hit into its window, without leaving its section.

    Args:
        hit: The hit to expand.
        before: Sentences before the hit, 0 or more. If the hit is a piece of a long sentence, they count from that.
        after: Sentences after the hit, 0 or more, likewise.

    Raises:
        InvalidInputError: ``hit`` isn't a `Hit`, or a number isn't a whole number of 0 or more.
    """
    check_kind(hit, Hit)
    before, after = window_size((before, after))
    first, end = hit.pieces or (hit.index, hit.index + 1)
    return Window(
        hit.doc_id,
        max(first - before, hit.section_start),
        min(end - 1 + after, hit.section_end - 1),
        (hit,),
    )


def best_windows(
    hits: Iterable[Hit],
    k: int | None,
    expansion: Callable[[Hit], Window],
    widens: Callable[[Hit], bool] | None = None,
) -> list[Window]:
    """Expand hits into windows, best hit first, until one more would make window ``k + 1``.

    Some hits, such as strong ones, widen a window that they touch. Any other hit makes a separate window of the
    sentences that no better window holds. In a small corpus a search returns nearly every sentence: if all of them
    widened windows, each window would grow to its whole section.

    Args:
        hits: In any order.
        k: The number of windows, 1 or more; ``None`` for as many as the hits make.
        expansion: Returns the window of a hit, such as `expand` does.
        widens: Returns whether a hit widens a window that it touches; ``None`` if all do.

    Returns:
        Disjoint windows, best first. Windows of equal scores are in the order of document and index.

    Raises:
        InvalidInputError: One isn't a `Hit`, ``k`` is below 1, or a function can't be called.
    """
    optional_count("k", k)
    checked_function("expansion", expansion)
    runs: dict[tuple[str, int], _Runs] = {}
    count = 0
    for hit in sorted(each_of(hits, Hit), key=lambda hit: (-hit.score, hit.doc_id, hit.index)):
        window = expansion(hit)
        around = runs.setdefault(window.section, _Runs())
        touching = around.touching(window)
        if touching and widens is not None and not widens(hit):
            if any(old.first <= hit.index <= old.last for old in touching):
                continue
            window, touching = _clipped(window, touching), []
        if not touching and count == k:
            break
        count += 1 - len(touching)
        around.put(window, touching)
    windows = [run.window() for around in runs.values() for run in around.runs]
    return sorted(windows, key=lambda window: (-window.score, window.doc_id, window.first))


def smaller(window: Window) -> Iterator[Window]:
    """Yield ever smaller parts of a window, down to its best hit: each loses one of its two ends.

    A neighbor goes before a hit, then the one farther from the best hit. Of two equally far, the earlier one goes, as
    conditions and limits usually follow a sentence.

    Raises:
        InvalidInputError: ``window`` isn't a `Window`.
    """
    check_kind(window, Window)
    best, found = window.best.index, {hit.index for hit in window.hits}
    first, last = window.first, window.last
    while first < last:
        ends = [end for end in (first, last) if end != best]
        end = min(ends, key=lambda end: (end in found, -abs(end - best), end))
        first, last = (end + 1, last) if end == first else (first, end - 1)
        yield Window(window.doc_id, first, last, tuple(hit for hit in window.hits if first <= hit.index <= last))


def check_kind(value: object, kind: type) -> None:
    """Check that a value is an instance of a class.

    Raises:
        InvalidInputError: It isn't.
    """
    if not isinstance(value, kind):
        raise InvalidInputError(f"{shown(value)} isn't a {kind.__name__}; give an instance of that class")


def each_of(values: Iterable[T], kind: type[T]) -> list[T]:
    """Return values as a list, and check that all are instances of a class.

    Raises:
        InvalidInputError: One isn't.
    """
    found = cast("list[T]", checked_list("what is given", values))
    for value in found:
        check_kind(value, kind)
    return found


@dataclass(slots=True)
class _Run:
    """A window that grows. Its hits are sorted once, at the end, so ``n`` hits take ``n log n``."""

    doc_id: str
    first: int
    last: int
    hits: list[Hit]

    def window(self) -> Window:
        hits = self.hits
        if len(hits) > 1:  # few have more than one
            hits = sorted(set(hits), key=lambda hit: (hit.index, -hit.score))
        return Window(self.doc_id, self.first, self.last, tuple(hits))


class _Runs:
    """The windows of one section: disjoint and in order. Two touch only if one of them was clipped."""

    def __init__(self) -> None:
        self.runs: list[_Run] = []

    def touching(self, window: Window) -> list[_Run]:
        """Return the windows that overlap or touch another."""
        low = bisect_left(self.runs, window.first - 1, key=lambda run: run.last)
        high = bisect_right(self.runs, window.last + 1, key=lambda run: run.first)
        return self.runs[low:high]

    def put(self, window: Window, instead: Sequence[_Run]) -> None:
        """Add a window, merged with those that it replaces."""
        merged = _Run(window.doc_id, window.first, window.last, list(window.hits))
        at = bisect_left(self.runs, window.first, key=lambda run: run.first)
        if instead:
            at = bisect_left(self.runs, instead[0].first, key=lambda run: run.first)
            # The longest list absorbs the others, so few hits are copied.
            longest = max(instead, key=lambda run: len(run.hits))
            for run in instead:
                if run is not longest:
                    longest.hits += run.hits
            longest.hits += window.hits
            merged.hits = longest.hits
            merged.first = min(window.first, instead[0].first)
            merged.last = max(window.last, instead[-1].last)
        self.runs[at : at + len(instead)] = [merged]


def _clipped(window: Window, others: Iterable[_Run]) -> Window:
    """Cut a window of one hit to the sentences that no other window of its section holds; none holds the hit."""
    hit = window.hits[0].index
    first = max([window.first, *(other.last + 1 for other in others if other.last < hit)])
    last = min([window.last, *(other.first - 1 for other in others if other.first > hit)])
    return Window(window.doc_id, first, last, window.hits)
