"""Assembly: from windows in ranked order to the windows that are returned.

Windows of a section that are near each other become one, each is completed so that it reads well, and what they cost
is kept within a budget.

Without a budget, the best windows are taken until there are ``k``. With a budget, tight windows come first, and what is
left of it widens the best of them: the eleventh scrap says less than what stands around the first.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TypeAlias

from langchain_sentence_window.windows.completion import Lookup, complete, says_something
from langchain_sentence_window.windows.geometry import Hit, Window, smaller

NEAR = 2
"""Windows of a section with at most so many sentences between them become one."""

MAX_JOINED = 20
"""The largest ``k`` with which windows are joined. Whoever asks for more, without a budget, wants candidates to choose
from, such as for a reranker; they are returned as they are."""

TIGHT_FIRST = 12
"""Tight windows that are taken before a budget widens them. See the benchmarks page."""

WIDENING = (1, 6)
"""Sentences before and after a tight window that a budget adds. See the benchmarks page."""

MAX_OPENING_SHARE = 0.15
"""The largest share of a budget that opening one window backward may cost. See the benchmarks page."""

IS_NEAR = "near"
IS_LABEL = "label"
DOES_NOT_FIT = "budget"
IS_BEYOND_K = "k"


@dataclass(frozen=True, slots=True)
class Ranked:
    """A window that was found, as it is assembled.

    Attributes:
        window: The window.
        is_open: Whether it may be joined with windows that it doesn't touch, completed and widened. The size of other
            windows was chosen by the user.
        fixed_cost: The cost of a window whose text was rewritten, which is taken as it is or left out; ``None`` for
            others.
    """

    window: Window
    is_open: bool = True
    fixed_cost: int | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """What all windows may cost together.

    Attributes:
        limit: The highest cost.
        cost: Returns the cost of a window.
    """

    limit: int
    cost: Callable[[Window], int]


@dataclass(frozen=True, slots=True)
class Assembled:
    """A window to return.

    Attributes:
        window: The window.
        ranks: The positions of the ranked windows that it was made of, from 0, best first.
    """

    window: Window
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Assembly:
    """The windows to return.

    Attributes:
        windows: The windows, best first.
        left_out: Why each of the other ranked windows was left out, by its position: `IS_NEAR` for one that is near a
            better window, `IS_LABEL`, `DOES_NOT_FIT`, or `IS_BEYOND_K`.
        cost: What they cost together; 0 without a budget.
    """

    windows: Sequence[Assembled]
    left_out: Mapping[int, str]
    cost: int = 0


def assemble(ranked: Sequence[Ranked], k: int, lookup: Lookup, budget: Budget | None = None) -> Assembly:
    """Choose, join, complete and widen windows.

    Args:
        ranked: Disjoint windows, best first.
        k: The most windows to return, 1 or more.
        lookup: Returns sentences.
        budget: What they may cost; ``None`` for any cost.

    Returns:
        Disjoint windows, each inside its section, each with the hits of the windows that it was made of. Each holds
        the best hit of each of those.
    """
    if budget is None:
        return _assemble_count(ranked, k, lookup)
    return _assemble_cost(ranked, k, lookup, budget)


def _assemble_count(ranked: Sequence[Ranked], k: int, lookup: Lookup) -> Assembly:
    found = _Windows(lookup, None)
    left_out = _LeftOut()
    for rank, item in enumerate(ranked):
        if found.holds(item, rank):
            continue
        if k > MAX_JOINED or item.fixed_cost is not None:
            if len(found) == k:
                break
            found.put(item.window, rank, [])
            continue
        grown, joined = found.grown(item, rank)
        if joined and rank >= k:
            left_out[rank] = IS_NEAR
        elif not joined and len(found) == k:
            break
        elif item.is_open and not says_something(grown, lookup):
            left_out[rank] = IS_LABEL
        else:
            found.put(grown, rank, joined)
    if not len(found) and ranked:  # headings are better than nothing
        found.put(ranked[0].window, 0, [])
        left_out.pop(0, None)
    return found.assembly(left_out, len(ranked), IS_BEYOND_K)


def _assemble_cost(ranked: Sequence[Ranked], k: int, lookup: Lookup, budget: Budget) -> Assembly:
    found = _Windows(lookup, budget)
    left_out = _LeftOut()
    tight: list[tuple[Ranked, int]] = []
    for rank, item in enumerate(ranked):
        if found.holds(item, rank):
            continue
        reason = _take(found, item, rank, k)
        if reason is not None:
            left_out[rank] = reason
        elif item.is_open:
            tight.append((item, rank))
            if len(tight) == TIGHT_FIRST:
                _widen(found, tight)
                tight = []
    _widen(found, tight)
    return found.assembly(left_out, len(ranked), IS_BEYOND_K)


def _take(found: "_Windows", item: Ranked, rank: int, k: int) -> str | None:
    """Add a window, or as much of it as fits; return the reason if nothing of it was added."""
    reason = DOES_NOT_FIT
    if item.fixed_cost is not None:
        if len(found) == k or not found.affords(item.fixed_cost):
            return DOES_NOT_FIT if len(found) < k else IS_BEYOND_K
        found.put(item.window, rank, [], item.fixed_cost)
        return None

    def fits(part: Window) -> bool:
        nonlocal reason
        for gap in (NEAR, 0) if item.is_open else (0,):
            grown, joined = found.grown(replace(item, window=part), rank, gap)
            if len(found) - len(joined) == k:
                reason = IS_BEYOND_K
            elif item.is_open and not says_something(grown, found.lookup):
                reason = IS_LABEL
            elif found.afford(grown, rank, joined):
                return True
        return False

    for part in chain([item.window], smaller(item.window)):
        if fits(part):
            return None
    return reason


def _widen(found: "_Windows", tight: Sequence[tuple[Ranked, int]]) -> None:
    """Widen tight windows, best first, as far as the budget allows."""
    before, after = WIDENING
    for item, rank in tight:
        window = item.window
        first = max(window.first - before, *(hit.section_start for hit in window.hits), 0)
        last = min(window.last + after, *(hit.section_end - 1 for hit in window.hits))
        if found.widen(item, rank, first, last):
            continue
        reached = window.last
        while reached < last and found.widen(item, rank, window.first, reached + 1):
            reached += 1
        found.widen(item, rank, first, reached)


_LeftOut: TypeAlias = dict[int, str]


@dataclass(slots=True)
class _Run:
    """A window that grows.

    Attributes:
        window: The window so far.
        ranks: The positions of the ranked windows in it.
        cost: Its cost.
        is_fixed: Whether it is never joined.
    """

    window: Window
    ranks: list[int]
    cost: int = 0
    is_fixed: bool = False


@dataclass(slots=True)
class _Windows:
    """The windows that were taken, disjoint, and what they cost."""

    lookup: Lookup
    budget: Budget | None
    _runs: dict[tuple[str, int], list[_Run]] = field(default_factory=dict)
    _count: int = 0
    _spent: int = 0

    def __len__(self) -> int:
        return self._count

    def holds(self, item: Ranked, rank: int) -> bool:
        """Check whether a window that was taken holds the best hit of another; then that one's hits are its own."""
        best = item.window.best
        for run in self._runs.get(_section(item.window), []):
            if run.window.first <= best.index <= run.window.last and not run.is_fixed and item.fixed_cost is None:
                inside = [hit for hit in item.window.hits if run.window.first <= hit.index <= run.window.last]
                run.window = replace(run.window, hits=_joined_hits([*run.window.hits, *inside]))
                run.ranks.append(rank)
                return True
        return False

    def grown(self, item: Ranked, rank: int, gap: int = NEAR) -> tuple[Window, list[_Run]]:
        """Return a window, joined with those near it and completed, and those that it would replace."""
        gap = gap if item.is_open else 0
        window = self._completed(item, item.window)
        while True:
            joined = [run for run in self._runs.get(_section(window), []) if self._is_near(run, window, gap)]
            hits = _joined_hits([*window.hits, *(hit for run in joined for hit in run.window.hits)])
            first = min([window.first, *(run.window.first for run in joined)])
            last = max([window.last, *(run.window.last for run in joined)])
            larger = self._completed(item, replace(window, first=first, last=last, hits=hits))
            if (larger.first, larger.last) == (window.first, window.last):
                return larger, joined
            window = larger

    def put(self, window: Window, rank: int, joined: Sequence[_Run], cost: int | None = None) -> None:
        """Add a window in place of others."""
        section = self._runs.setdefault(_section(window), [])
        ranks = sorted({rank, *(each for run in joined for each in run.ranks)})
        is_fixed = cost is not None
        cost = self._cost(window) if cost is None else cost
        self._spent += cost - sum(run.cost for run in joined)
        self._count += 1 - len(joined)
        section[:] = [run for run in section if all(run is not other for other in joined)]
        section.append(_Run(window, ranks, cost, is_fixed))

    def affords(self, cost: int) -> bool:
        """Return whether so much is left of the budget."""
        return self.budget is None or self._spent + cost <= self.budget.limit

    def afford(self, window: Window, rank: int, joined: Sequence[_Run]) -> bool:
        """Add a window in place of others, if the budget allows it."""
        if not self.affords(self._cost(window) - sum(run.cost for run in joined)):
            return False
        self.put(window, rank, joined)
        return True

    def widen(self, item: Ranked, rank: int, first: int, last: int) -> bool:
        """Widen a window that was taken, if the budget allows it."""
        window = item.window
        last = self._readable(window, range(window.last + 1, last + 1), window.last)
        first = self._readable(window, range(window.first - 1, first - 1, -1), window.first)
        for gap in (NEAR, 0):
            grown, joined = self.grown(replace(item, window=window.widened(first, last)), rank, gap)
            if self.afford(grown, rank, joined):
                return True
        return False

    def assembly(self, left_out: dict[int, str], ranked: int, otherwise: str) -> Assembly:
        """Return what was taken, and why the others weren't."""
        runs = sorted((run for section in self._runs.values() for run in section), key=lambda run: run.ranks[0])
        taken = {rank for run in runs for rank in run.ranks}
        reasons = {rank: left_out.get(rank, otherwise) for rank in range(ranked) if rank not in taken}
        return Assembly([Assembled(run.window, tuple(sorted(set(run.ranks)))) for run in runs], reasons, self._spent)

    def _completed(self, item: Ranked, window: Window) -> Window:
        if not item.is_open:
            return window
        opened = complete(window, self.lookup)
        if self.budget is None:
            return opened
        closed = complete(window, self.lookup, opens_backward=False)
        extra = self._cost(opened) - self._cost(closed)
        return opened if extra <= MAX_OPENING_SHARE * self.budget.limit else closed

    def _readable(self, window: Window, indexes: range, reached: int) -> int:
        """Return how far the sentences of a section can be read."""
        for index in indexes:
            if self.lookup((window.doc_id, index)) is None:
                break
            reached = index
        return reached

    def _cost(self, window: Window) -> int:
        return 0 if self.budget is None else self.budget.cost(window)

    def _is_near(self, run: _Run, window: Window, gap: int) -> bool:
        other = run.window
        if run.is_fixed or window.first > other.last + 1 + gap or window.last < other.first - 1 - gap:
            return False
        between = range(min(window.last, other.last) + 1, max(window.first, other.first))
        return all(self.lookup((window.doc_id, index)) is not None for index in between)


def _section(window: Window) -> tuple[str, int]:
    return window.doc_id, window.hits[0].section_start


def _joined_hits(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    return tuple(sorted(dict.fromkeys(hits), key=lambda hit: (hit.index, -hit.score)))
