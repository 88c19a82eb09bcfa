"""The windows to return: chosen, joined with those near them, completed, kept within a budget, and put into order."""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, TypeVar

from langchain_sentence_window._primitives import SentenceKey

from .completion import (
    MAX_COMPLETED,
    NO_GROWTH,
    NO_LINE,
    Growth,
    Lookup,
    SectionLines,
    complete,
    ending_well,
    grow,
    is_heading_alone,
    says_something,
    with_structure,
    with_whole_sentences,
)
from .geometry import Hit, Window, in_order, smaller

Order: TypeAlias = Literal["relevance", "document", "edges"]
"""The order of windows in a context.

``relevance``: best first. ``document``: in the order of the documents, the document with the best window first.
``edges``: the best first, the second best last, and so on inward, as models read the middle of a long context
least (Liu et al., "Lost in the Middle", arXiv:2307.03172)."""

ORDERS: tuple[Order, ...] = ("relevance", "document", "edges")

T = TypeVar("T")


def arrange(ranked: Sequence[T], order: Order, position: Callable[[T], tuple[str, int]]) -> list[T]:
    """Sort ranked things into the order in which a model reads them.

    Args:
        ranked: Best first.
        order: The order, see `Order`.
        position: Returns the document of a thing and its position there.
    """
    if order == "document":
        rank = {doc_id: i for i, doc_id in enumerate(dict.fromkeys(position(item)[0] for item in ranked))}
        return sorted(ranked, key=lambda item: (rank[position(item)[0]], position(item)[1]))
    if order == "edges":
        return [*ranked[0::2], *reversed(ranked[1::2])]
    return list(ranked)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A window to assemble.

    Attributes:
        window: The window.
        is_open: Whether it may be joined with windows that it doesn't touch, completed, grown and widened. Others are
            of a size that the user chose; only their sentences are made whole.
        growth: How much of its section it takes in.
    """

    window: Window
    is_open: bool = True
    growth: Growth = NO_GROWTH

    def with_window(self, window: Window) -> "Ranked":
        """Return another window that is assembled in the same way."""
        return Ranked(window, self.is_open, self.growth)

    def without_growth(self) -> "Ranked":
        """Return the same window, which takes in nothing of its section by itself."""
        return Ranked(self.window, self.is_open)


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that all windows may cost together.

    Attributes:
        limit: The highest cost.
        cost: Returns the cost of a window.
        cost_alone: Returns the cost of a sentence alone. A window that holds it costs as much, or more.
    """

    limit: int
    cost: Callable[[Window], int]
    cost_alone: Callable[[SentenceKey], int]


@dataclass(frozen=True, slots=True)
class Equal:
    """A window that is left out, as its text is that of a better one.

    Attributes:
        window: The window, as it would have been returned.
        better: The position of the better one among the ranked windows, from 0.
    """

    window: Window
    better: int


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of windows, as they are compared.

    Attributes:
        key: Returns what equal sentences share; empty for one that equals no other.
        are_equal: Returns whether two windows have the same text.
        known: Windows that are known to be equal to better ones, by their positions.
    """

    key: Callable[[SentenceKey], str]
    are_equal: Callable[[Window, Window], bool]
    known: Mapping[int, Equal]


DIFFERENT = Texts(lambda _: "", lambda _, __: False, {})
"""Texts that aren't compared, so that equal ones may come again."""


NEAR = 2
"""Windows of a section with at most so many sentences between them become one."""

MAX_COMPLETING_SHARE = 0.15
"""The largest share of a budget that opening a window backward, or making its sentences whole, may cost. See the
benchmarks page."""

MAX_TURNS_SHARE = 0.5
"""The same of what completes a window that begins in talk, as a whole turn is worth more than a second one."""

SHARES_OF_GROWTH = (0.75, 0.5, 0.25)
"""How much of its growth a window is given if all of it doesn't fit into what is left of the budget."""

MAX_JOINED = 20
"""The largest ``k`` with which windows are joined. A larger one without a budget asks for candidates to choose from,
such as for a reranker, so windows aren't joined, and equal texts are kept."""

MIN_JOINING = 2
"""With ``k=1``, the two best windows are joined if they are near, as the answer is often in the second one."""

TIGHT_FIRST = 16
"""Tight windows that are taken before a budget widens them. See the benchmarks page."""

WIDENING = (1, 6)
"""Sentences before and after a tight window that a budget adds. See the benchmarks page."""

IS_NEAR = "near"
IS_LABEL = "label"
IS_EQUAL = "equal"
DOES_NOT_FIT = "budget"
IS_BEYOND_K = "k"
IS_UNSUPPORTED = "relevance"


@dataclass(slots=True)
class Assembled:
    """A window to return.

    Attributes:
        window: The window.
        ranks: The positions of the ranked windows that it was made of, from 0, best first.
        cost: Its cost; 0 without a budget.
    """

    window: Window
    ranks: Sequence[int]
    cost: int = 0


@dataclass(frozen=True, slots=True)
class Assembly:
    """The windows to return.

    Attributes:
        windows: The windows, best first.
        left_out: Why each of the other ranked windows was left out, by its position: `IS_NEAR` for one that is near a
            better window, `IS_LABEL`, `IS_EQUAL`, `DOES_NOT_FIT`, or `IS_BEYOND_K`.
        cost: Their cost together; 0 without a budget.
        equal: Those left out for `IS_EQUAL`, by their positions.
    """

    windows: Sequence[Assembled]
    left_out: Mapping[int, str]
    cost: int = 0
    equal: Mapping[int, Equal] = field(default_factory=dict)


def assemble(
    ranked: Sequence[Ranked], k: int, lookup: Lookup, budget: Budget | None = None, texts: Texts = DIFFERENT
) -> Assembly:
    """Choose, join, complete and widen windows.

    Args:
        ranked: Disjoint windows, best first.
        k: The most windows to return, 1 or more.
        lookup: Returns sentences.
        budget: The most they may cost; ``None`` for any cost.
        texts: The texts of windows, of which equal ones come once.

    Returns:
        Disjoint windows, each inside its section, each with the hits of the windows that it was made of. Each holds
        the best hit of each of those.
    """
    found = _GrowingWindows(lookup, budget, math.inf if budget is None else budget.limit)
    equal = _EqualTexts(texts, found)
    left_out = _take_by_count(ranked, k, found, equal) if budget is None else _take_by_cost(ranked, k, found, equal)
    windows = [run for section in found.sections.values() for run in section]
    for run in windows:
        run.ranks = tuple(sorted(set(run.ranks)))
    windows.sort(key=lambda run: run.ranks[0])
    taken = {rank for run in windows for rank in run.ranks}
    left_out |= dict.fromkeys(equal.found, IS_EQUAL)
    reasons = {rank: left_out.get(rank, IS_BEYOND_K) for rank in range(len(ranked)) if rank not in taken}
    return Assembly(windows, reasons, sum(run.cost for run in windows), equal.found)


def _take_by_count(ranked: Sequence[Ranked], k: int, found: "_GrowingWindows", equal: "_EqualTexts") -> dict[int, str]:
    """Take up to ``k`` windows; return why others were left out, by their positions."""
    left_out: dict[int, str] = {}
    is_full = False
    for rank, item in enumerate(ranked):
        if equal.is_known(rank) or found.absorb(item, rank) or is_full or equal.leave_out_equal(item, rank):
            continue
        if k > MAX_JOINED:
            is_full = found.count == k
            if not is_full:
                # With its turns, its answer and what the question needs, but not joined with others near it.
                whole = replace(item.with_window(found.free_part(item)), is_open=False)
                found.put(*found.grown(whole, gap=-1), rank)
                equal.add(item, rank)
            continue
        grown, joined = found.grown(found.ended(item))
        if joined and rank - len(equal.found) >= (MIN_JOINING if k == 1 and _goes_on(item, found) else k):
            left_out[rank] = IS_NEAR
            equal.add(item, rank)
        elif not joined and found.count == k:
            is_full = True
        elif item.is_open and not says_something(grown, found.lines(grown)):
            left_out[rank] = IS_LABEL
        else:
            found.put(grown, joined, rank)
            equal.add(item, rank)
    _fill(found, ranked, left_out, k)
    return left_out


def _goes_on(item: Ranked, found: "_GrowingWindows") -> bool:
    """Return whether a window may go on with what was found next to it: one that asks begins something else."""
    first = found.lines(item.window)[item.window.first]
    return item.is_open and (first.turn is not None or not first.asks)


def _fill(found: "_GrowingWindows", ranked: Sequence[Ranked], left_out: Mapping[int, str], k: int) -> None:
    """Add windows that say little, if there are too few others."""
    for rank, item in _labels(found, ranked, left_out):  # there may be too few others
        if found.count < k and not found.absorb(item, rank):
            found.put(*found.grown(item), rank)
    if not found.count and ranked:  # headings are better than nothing
        found.put(ranked[0].window, [], 0)


def _labels(
    found: "_GrowingWindows", ranked: Sequence[Ranked], left_out: Mapping[int, str]
) -> Iterator[tuple[int, Ranked]]:
    """Yield the windows that were left out as they say little, but are more than headings."""
    for rank, reason in left_out.items():
        window = ranked[rank].window
        if reason == IS_LABEL and not is_heading_alone(window, found.lines(window)):
            yield rank, ranked[rank]


def _take_by_cost(ranked: Sequence[Ranked], k: int, found: "_GrowingWindows", equal: "_EqualTexts") -> dict[int, str]:
    """Take up to ``k`` windows, as the budget allows; return why others were left out, by their positions."""
    left_out: dict[int, str] = {}
    tight: list[tuple[Ranked, int]] = []
    for rank, item in enumerate(ranked):
        if equal.is_known(rank):
            continue
        if found.absorb(item, rank):
            equal.add(item, rank)
            continue
        if equal.leave_out_equal(item, rank):
            continue
        item = found.ended(item)
        reason = _take(found, item, rank, k)
        if reason is not None:
            left_out[rank] = reason
            continue
        equal.add(item, rank)
        if item.is_open:
            tight.append((item.without_growth(), rank))  # it was grown as far as the budget allows
            if len(tight) == TIGHT_FIRST:
                _widen(found, tight)
                tight = []
    for rank, item in _labels(found, ranked, left_out):
        if not found.absorb(item, rank):
            _take(found, item, rank, k, may_say_little=True)
    _widen(found, tight)
    return left_out


def _take(found: "_GrowingWindows", item: Ranked, rank: int, k: int, *, may_say_little: bool = False) -> str | None:
    """Add a window, or as much of it as fits; return the reason if nothing of it was added."""
    if not found.affords_sentence(item.window.best.key):  # the quickest check
        return DOES_NOT_FIT
    if found.count == k and (not found.may_join(item.window) or not found.grown(item)[1]):
        return IS_BEYOND_K  # smaller parts are near nothing, either
    reason = DOES_NOT_FIT
    for part, gap in _ways_to_take(found, item):
        grown, joined = found.grown(part, gap)
        if found.count - len(joined) == k:
            reason = IS_BEYOND_K
        elif item.is_open and not may_say_little and not says_something(grown, found.lines(grown)):
            return IS_LABEL  # a smaller part says no more
        elif found.put_if_affordable(grown, joined, rank):
            return None
    return reason


def _ways_to_take(found: "_GrowingWindows", item: Ranked) -> Iterator[tuple[Ranked, int]]:
    """Yield ever smaller forms of a window, and how many sentences may be between it and one that it is joined with."""
    if item.growth is not NO_GROWTH:
        yield item, NEAR
    for share in SHARES_OF_GROWTH if item.growth.min_chars else ():
        yield replace(item, growth=Growth(int(share * item.growth.min_chars))), NEAR
    alone = item.without_growth()
    for part in _window_parts(found, item):
        for gap in (NEAR, 0) if item.is_open else (0,):
            yield alone.with_window(part), gap


def _window_parts(found: "_GrowingWindows", item: Ranked) -> Sequence[Window]:
    """Return a window and ever smaller parts of it. Windows of a size that the user set may be long."""
    parts = [item.window, *smaller(item.window)]

    def fits(number: int) -> bool:
        return found.added_cost(*found.grown(item.with_window(parts[number]))) <= found.left

    return parts if item.is_open else parts[bisect_left(range(len(parts)), 1, key=fits) :]


def _widen(found: "_GrowingWindows", tight: Sequence[tuple[Ranked, int]]) -> None:
    """Widen tight windows, best first, as far as the budget allows."""
    before, after = WIDENING
    for item, rank in tight:
        if found.left < 1:
            return
        window = item.window
        first = max(window.first - before, window.hits[0].section_start, 0)
        last = min(window.last + after, window.hits[0].section_end - 1)
        if found.widen(item, rank, first, last):
            continue
        reached = window.last
        while reached < last and found.widen(item, rank, window.first, reached + 1):
            reached += 1
        if first < window.first:
            found.widen(item, rank, first, reached)


@dataclass(slots=True)
class _GrowingWindows:
    """The windows that were taken, disjoint.

    Attributes:
        lookup: Returns sentences.
        budget: The most they may cost; ``None`` for any cost.
        left: What is left of the budget.
        count: The number of windows.
        sections: The windows by the first sentence of their section.
    """

    lookup: Lookup
    budget: Budget | None
    left: float
    count: int = 0
    sections: dict[SentenceKey, list[Assembled]] = field(default_factory=dict)
    _lines: dict[tuple[str, int, int], SectionLines] = field(default_factory=dict)

    def lines(self, window: Window) -> SectionLines:
        """Return the sentences of the section of a window."""
        hit = window.hits[0]
        place = hit.doc_id, hit.section_start, hit.section_end
        if place not in self._lines:
            self._lines[place] = SectionLines(*place, self.lookup)
        return self._lines[place]

    def ended(self, item: Ranked) -> Ranked:
        """Return an open window without an end that points to what isn't in it, see `ending_well`."""
        if not item.is_open or item.window.last == item.window.best.index:
            return item
        window = ending_well(item.window, self.lines(item.window))
        return item if window is item.window else item.with_window(window)

    def absorb(self, item: Ranked, rank: int) -> bool:
        """Check whether a window that was taken holds the best hit of another; then that one's hits are its own."""
        best = item.window.best
        for run in self.sections.get(item.window.section, []):
            window = run.window
            if window.first <= best.index <= window.last:
                inside = [hit for hit in item.window.hits if window.first <= hit.index <= window.last]
                hits = tuple(in_order([*window.hits, *inside]))
                run.window = Window(window.doc_id, window.first, window.last, hits)
                run.ranks = [*run.ranks, rank]
                return True
        return False

    def may_join(self, window: Window) -> bool:
        """Return whether a window is so near another that it may be joined with it once it is completed."""
        reach = NEAR + MAX_COMPLETED
        for run in self.sections.get(window.section, ()):
            if window.first <= run.window.last + 1 + reach and window.last >= run.window.first - 1 - reach:
                return True
        return False

    def grown(self, item: Ranked, gap: int = NEAR) -> tuple[Window, list[Assembled]]:
        """Return a window, joined with those near it and completed, and those that it would replace.

        Args:
            item: The window.
            gap: The most sentences between windows that are joined; negative for those that overlap only.
        """
        gap = gap if item.is_open else min(gap, 0)
        window = self.completed(item)
        runs = self.sections.get(window.section)
        if not runs:  # as for most windows
            return window, []
        lines = self.lines(window)
        while joined := [run for run in runs if _are_near(window, run.window, gap, lines)]:
            hits = in_order([*window.hits, *[hit for run in joined for hit in run.window.hits]])
            first = min([window.first, *[run.window.first for run in joined]])
            last = max([window.last, *[run.window.last for run in joined]])
            larger = self.completed(item.with_window(Window(window.doc_id, first, last, tuple(hits))))
            if (larger.first, larger.last) == (window.first, window.last):
                return larger, joined
            window = larger
        return window, joined  # it is complete already

    def free_part(self, item: Ranked) -> Window:
        """Return an open window with its structure, as far as no other window holds it."""
        window = item.window
        if not item.is_open:
            return window
        lines = self.lines(window)
        larger = with_structure(window, lines, item.growth)
        if larger is window:
            return window
        others = [run.window for run in self.sections.get(window.section, ())]
        first = max([larger.first, *[other.last + 1 for other in others if other.last < window.first]])
        last = min([larger.last, *[other.first - 1 for other in others if other.first > window.last]])
        return window.widened(min(first, window.first), max(last, window.last))

    def completed(self, item: Ranked) -> Window:
        """Return a window completed, as if there were no others."""
        window, lines = item.window, self.lines(item.window)
        if not item.is_open:
            completed = with_whole_sentences(window, lines)
            return completed if self._is_cheap(completed, window) else window
        core = grow(window, lines, item.growth)
        completed = complete(core, lines)
        if self.budget is None or completed is core:
            return completed
        return self._completed_cheaply(completed, core)

    def _completed_cheaply(self, opened: Window, window: Window) -> Window:
        """Return as much of a completed window as costs little of the budget."""
        lines = self.lines(window)
        closed = complete(window, lines, opens_backward=False)
        if opened.first != closed.first and self._is_cheap(opened, closed):
            return opened
        cut = complete(window, lines, opens_backward=False, keeps_sentences_whole=False)
        return closed if self._is_cheap(closed, cut) else cut

    def _is_cheap(self, larger: Window, window: Window) -> bool:
        """Return whether what completes a window costs little of the budget."""
        if self.budget is None or (larger.first, larger.last) == (window.first, window.last):
            return True
        is_talk = self.lines(window)[window.first].turn is not None
        share = MAX_TURNS_SHARE if is_talk else MAX_COMPLETING_SHARE
        return self.budget.cost(larger) - self.budget.cost(window) <= share * self.budget.limit

    def put(self, window: Window, joined: Sequence[Assembled], rank: int, added_cost: int = 0) -> None:
        """Add a window in place of the joined ones, whose cost it exceeds by ``added_cost``."""
        section = self.sections.setdefault(window.section, [])
        self.left -= added_cost
        self.count += 1 - len(joined)
        ranks = [rank, *[each for run in joined for each in run.ranks]]
        section[:] = [run for run in section if run not in joined]
        section.append(Assembled(window, ranks, added_cost + sum([run.cost for run in joined])))

    def added_cost(self, window: Window, joined: Sequence[Assembled]) -> int:
        """Return what a window in place of others adds to the cost."""
        if self.budget is None:
            return 0
        return self.budget.cost(window) - sum([run.cost for run in joined]) if joined else self.budget.cost(window)

    def put_if_affordable(self, window: Window, joined: Sequence[Assembled], rank: int) -> bool:
        """Add a window in place of others, if the budget allows it."""
        added_cost = self.added_cost(window, joined)
        if added_cost > self.left:
            return False
        self.put(window, joined, rank, added_cost)
        return True

    def affords_sentence(self, key: SentenceKey) -> bool:
        """Return whether enough of the budget is left for a sentence; this is quick."""
        return self.budget is None or self.budget.cost_alone(key) <= self.left

    def widen(self, item: Ranked, rank: int, first: int, last: int) -> bool:
        """Widen a window that was taken, if the budget allows it."""
        window = item.window
        held = [window, *[run.window for run in self.sections.get(window.section, ())]]
        for index in (first, last):
            is_held = [other for other in held if other.first <= index <= other.last]
            if not is_held and not self.affords_sentence((window.doc_id, index)):
                return False
        last = self._readable(window, range(window.last + 1, last + 1), window.last)
        first = self._readable(window, range(window.first - 1, first - 1, -1), window.first)
        wider = item.with_window(ending_well(window.widened(first, last), self.lines(window)))
        return self.put_if_affordable(*self.grown(wider, NEAR), rank) or self.put_if_affordable(
            *self.grown(wider, 0), rank
        )

    def _readable(self, window: Window, indexes: range, reached: int) -> int:
        """Return how far the sentences of a section can be read."""
        lines = self.lines(window)
        for index in indexes:
            if lines[index] is NO_LINE:
                break
            reached = index
        return reached


def _are_near(one: Window, other: Window, gap: int, lines: SectionLines) -> bool:
    """Return whether at most so many sentences are between two windows, all of which can be read."""
    if one.first > other.last + 1 + gap or one.last < other.first - 1 - gap:
        return False
    between = range(one.last + 1, other.first) if one.last < other.first else range(other.last + 1, one.first)
    return NO_LINE not in [lines[index] for index in between]


@dataclass(slots=True)
class _EqualTexts:
    """The texts of windows that were taken, and the windows that equal them.

    Attributes:
        texts: How texts are compared.
        windows: Completes windows, as they are returned if they aren't joined with others.
        found: The windows that were left out, by their positions.
    """

    texts: Texts
    windows: _GrowingWindows
    found: dict[int, Equal] = field(default_factory=dict)
    _taken: dict[str, list[tuple[Ranked, int]]] = field(default_factory=dict)
    _left_out: dict[str, list[Equal]] = field(default_factory=dict)
    _keys: dict[int, str] = field(default_factory=dict)

    def is_known(self, rank: int) -> bool:
        """Leave a window out if it is known to be equal to a better one."""
        if rank not in self.texts.known:
            return False
        self.leave_out(rank, self.texts.known[rank])
        return True

    def leave_out_equal(self, item: Ranked, rank: int) -> bool:
        """Leave a window out if it equals one that was taken, or is part of one that was left out."""
        best = item.window.best
        for equal in self._left_out.get(best.doc_id, ()):
            if equal.window.first <= best.index <= equal.window.last:
                self.found[rank] = equal
                return True
        taken = self._taken.get(self._key(best, rank))
        if not taken:  # as for most
            return False
        window = self.windows.completed(self.windows.ended(item))
        for other, better in taken:
            if self.texts.are_equal(self.windows.completed(self.windows.ended(other)), window):
                self.leave_out(rank, Equal(window, better))
                return True
        return False

    def add(self, item: Ranked, rank: int) -> None:
        """Note a window that was taken."""
        if key := self._key(item.window.best, rank):
            self._taken.setdefault(key, []).append((item, rank))

    def _key(self, best: Hit, rank: int) -> str:
        if rank not in self._keys:
            self._keys[rank] = self.texts.key(best.key)
        return self._keys[rank]

    def leave_out(self, rank: int, equal: Equal) -> None:
        """Leave a window out that equals a better one."""
        self.found[rank] = equal
        self._left_out.setdefault(equal.window.doc_id, []).append(equal)
