"""Windows that grow: each is joined with those near it, completed, and kept within a budget."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.windows.completion import (
    MAX_COMPLETED,
    Lookup,
    complete,
    ending_well,
    with_whole_sentences,
)
from langchain_sentence_window.windows.geometry import Hit, Window

NEAR = 2
"""Windows of a section with at most so many sentences between them become one."""

MAX_COMPLETING_SHARE = 0.15
"""The largest share of a budget that opening a window backward, or making its sentences whole, may cost. See the
benchmarks page."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A window that was found, as it is assembled.

    Attributes:
        window: The window.
        is_open: Whether it may be joined with windows that it doesn't touch, completed and widened. The size of other
            windows was chosen by the user; only their sentences are made whole.
        fixed_cost: The cost of a window whose text was rewritten, which is taken as it is or left out; ``None`` for
            others.
    """

    window: Window
    is_open: bool = True
    fixed_cost: int | None = None


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


@dataclass(slots=True)
class Run:
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
class GrowingWindows:
    """The windows that were taken, disjoint, and their cost.

    Attributes:
        lookup: Returns sentences.
        budget: The most they may cost; ``None`` for any cost.
    """

    lookup: Lookup
    budget: Budget | None
    _runs: dict[SentenceKey, list[Run]] = field(default_factory=dict)
    _complete: dict[tuple[bool, str, int, int, int], tuple[int, int]] = field(default_factory=dict)
    _count: int = 0
    _spent: int = 0

    def __len__(self) -> int:
        """Return the number of windows."""
        return self._count

    @property
    def cost(self) -> int:
        """The cost of all windows together; 0 without a budget."""
        return 0 if self.budget is None else self._spent

    def runs(self) -> list[Run]:
        """Return the windows, best first."""
        return sorted((run for section in self._runs.values() for run in section), key=lambda run: min(run.ranks))

    def holds(self, item: Ranked, rank: int) -> bool:
        """Check whether a window that was taken holds the best hit of another; then that one's hits are its own."""
        best = item.window.best
        for run in self._runs.get(item.window.section, []):
            if run.window.first <= best.index <= run.window.last and not run.is_fixed and item.fixed_cost is None:
                inside = [hit for hit in item.window.hits if run.window.first <= hit.index <= run.window.last]
                run.window = replace(run.window, hits=_joined_hits([*run.window.hits, *inside]))
                run.ranks.append(rank)
                return True
        return False

    def may_join(self, window: Window) -> bool:
        """Return whether a window is so near another that it may be joined with it once it is completed."""
        reach = NEAR + MAX_COMPLETED
        runs = (run.window for run in self._runs.get(window.section, []))
        return any(window.first <= other.last + 1 + reach and window.last >= other.first - 1 - reach for other in runs)

    def grown(self, item: Ranked, gap: int = NEAR) -> tuple[Window, list[Run]]:
        """Return a window, joined with those near it and completed, and those that it would replace.

        Args:
            item: The window.
            gap: The most sentences between windows that are joined; negative for those that overlap only.
        """
        gap = gap if item.is_open else min(gap, 0)
        window = self.completed(item)
        if window.section not in self._runs:  # as for most windows
            return window, []
        while True:
            joined = [run for run in self._runs.get(window.section, []) if self._is_near(run, window, gap)]
            if not joined:  # then it is complete already
                return window, joined
            hits = _joined_hits([*window.hits, *(hit for run in joined for hit in run.window.hits)])
            first = min([window.first, *(run.window.first for run in joined)])
            last = max([window.last, *(run.window.last for run in joined)])
            larger = self.completed(replace(item, window=replace(window, first=first, last=last, hits=hits)))
            if (larger.first, larger.last) == (window.first, window.last):
                return larger, joined
            window = larger

    def put(self, window: Window, rank: int, joined: Sequence[Run], cost: int | None = None) -> None:
        """Add a window in place of others."""
        section = self._runs.setdefault(window.section, [])
        ranks = sorted({rank, *(each for run in joined for each in run.ranks)})
        is_fixed = cost is not None
        cost = self._cost(window) if cost is None else cost
        self._spent += cost - sum(run.cost for run in joined)
        self._count += 1 - len(joined)
        section[:] = [run for run in section if all(run is not other for other in joined)]
        section.append(Run(window, ranks, cost, is_fixed))

    def affords(self, cost: int) -> bool:
        """Return whether so much is left of the budget."""
        return self.budget is None or self._spent + cost <= self.budget.limit

    def afford(self, window: Window, rank: int, joined: Sequence[Run]) -> bool:
        """Add a window in place of others, if the budget allows it."""
        if not self.affords_instead(window, joined):
            return False
        self.put(window, rank, joined)
        return True

    def affords_instead(self, window: Window, joined: Sequence[Run]) -> bool:
        """Return whether enough of the budget is left for a window in place of others."""
        return self.affords(self._cost(window) - sum(run.cost for run in joined))

    def affords_sentence(self, key: SentenceKey) -> bool:
        """Return whether enough of the budget is left for a sentence; this is quick."""
        return self.budget is None or self.affords(self.budget.cost_alone(key))

    def widen(self, item: Ranked, rank: int, first: int, last: int) -> bool:
        """Widen a window that was taken, if the budget allows it."""
        window = item.window
        added = [index for index in (first, last) if not window.first <= index <= window.last]
        if not all(self._holds(window, index) or self.affords_sentence((window.doc_id, index)) for index in added):
            return False
        last = self._readable(window, range(window.last + 1, last + 1), window.last)
        first = self._readable(window, range(window.first - 1, first - 1, -1), window.first)
        wider = replace(item, window=ending_well(window.widened(first, last), self.lookup))
        for gap in (NEAR, 0):
            grown, joined = self.grown(wider, gap)
            if self.afford(grown, rank, joined):
                return True
        return False

    def completed(self, item: Ranked) -> Window:
        """Return a window completed, as if there were no others."""
        window = item.window
        place = item.is_open, *window.section, window.first, window.last
        if place not in self._complete:
            completed = self._complete_anew(window) if item.is_open else self._kept_whole(window)
            self._complete[place] = completed.first, completed.last
        return window.widened(*self._complete[place])

    def _complete_anew(self, window: Window) -> Window:
        opened = complete(window, self.lookup)
        if self.budget is None or opened is window:
            return opened
        closed = complete(window, self.lookup, opens_backward=False)
        if opened.first != closed.first and self._is_cheap(opened, closed):
            return opened
        cut = complete(window, self.lookup, opens_backward=False, keeps_sentences_whole=False)
        return closed if self._is_cheap(closed, cut) else cut

    def _kept_whole(self, window: Window) -> Window:
        whole = with_whole_sentences(window, self.lookup)
        return whole if self._is_cheap(whole, window) else window

    def _is_cheap(self, larger: Window, window: Window) -> bool:
        """Return whether what completes a window costs little of the budget."""
        if self.budget is None or (larger.first, larger.last) == (window.first, window.last):
            return True
        return self._cost(larger) - self._cost(window) <= MAX_COMPLETING_SHARE * self.budget.limit

    def _holds(self, window: Window, index: int) -> bool:
        runs = self._runs.get(window.section, [])
        return any(run.window.first <= index <= run.window.last for run in runs)

    def _readable(self, window: Window, indexes: range, reached: int) -> int:
        """Return how far the sentences of a section can be read."""
        for index in indexes:
            if self.lookup((window.doc_id, index)) is None:
                break
            reached = index
        return reached

    def _cost(self, window: Window) -> int:
        return 0 if self.budget is None else self.budget.cost(window)

    def _is_near(self, run: Run, window: Window, gap: int) -> bool:
        other = run.window
        if run.is_fixed or window.first > other.last + 1 + gap or window.last < other.first - 1 - gap:
            return False
        between = range(min(window.last, other.last) + 1, max(window.first, other.first))
        return all(self.lookup((window.doc_id, index)) is not None for index in between)


def _joined_hits(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    return tuple(sorted(dict.fromkeys(hits), key=lambda hit: (hit.index, -hit.score)))
