"""Assembly: from windows in ranked order to the windows that are returned.

Windows of a section that are near each other become one, each is completed so that it reads well, and what they cost
is kept within a budget.

Without a budget, the best windows are taken until there are ``k``. With a budget, tight windows come first, and what is
left of it widens the best of them: the eleventh scrap says less than what stands around the first.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from langchain_sentence_window.windows.completion import (
    Lookup,
    ending_well,
    is_heading_alone,
    says_something,
)
from langchain_sentence_window.windows.equal_texts import Equal, EqualTexts, Texts
from langchain_sentence_window.windows.geometry import Window, smaller
from langchain_sentence_window.windows.growing import NEAR, Budget, GrowingWindows, Ranked, Run

MAX_JOINED = 20
"""The largest ``k`` with which windows are joined. Whoever asks for more, without a budget, wants candidates to choose
from, such as for a reranker; they are returned as they are, those of equal text too."""

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
            better window, `IS_LABEL`, `IS_EQUAL`, `DOES_NOT_FIT`, or `IS_BEYOND_K`.
        cost: Their cost together; 0 without a budget.
        equal: Those left out for `IS_EQUAL`, by their positions.
    """

    windows: Sequence[Assembled]
    left_out: Mapping[int, str]
    cost: int = 0
    equal: Mapping[int, Equal] = field(default_factory=dict)


def is_pool(k: int, limit: int | None) -> bool:
    """Return whether so many windows are wanted that they are candidates to choose from, which are left as they are.

    Args:
        k: The number of windows.
        limit: The most they may cost; ``None`` for any cost.
    """
    return k > MAX_JOINED and limit is None


def assemble(
    ranked: Sequence[Ranked], k: int, lookup: Lookup, budget: Budget | None = None, texts: Texts | None = None
) -> Assembly:
    """Choose, join, complete and widen windows.

    Args:
        ranked: Disjoint windows, best first.
        k: The most windows to return, 1 or more.
        lookup: Returns sentences.
        budget: The most they may cost; ``None`` for any cost.
        texts: The texts of windows, of which equal ones come once; ``None`` if they may come again.

    Returns:
        Disjoint windows, each inside its section, each with the hits of the windows that it was made of. Each holds
        the best hit of each of those.
    """
    lookup = _outside_rewritten(ranked, lookup)
    if budget is None:
        return _assemble_count(ranked, k, lookup, texts)
    return _assemble_cost(ranked, k, lookup, budget, texts)


def _outside_rewritten(ranked: Sequence[Ranked], lookup: Lookup) -> Lookup:
    """Return a lookup that ends windows before those whose text was rewritten, so that they stay disjoint."""
    rewritten = {key for item in ranked if item.fixed_cost is not None for key in item.window.keys}
    if not rewritten:
        return lookup
    rewritten -= {key for item in ranked if item.fixed_cost is None for key in item.window.keys}
    return lambda key: None if key in rewritten else lookup(key)


def _assemble_count(ranked: Sequence[Ranked], k: int, lookup: Lookup, texts: Texts | None) -> Assembly:
    found = GrowingWindows(lookup, None)
    equal = EqualTexts(texts, lambda item: found.alone(_ending_well(item, lookup)))
    left_out: dict[int, str] = {}
    is_full = False
    for rank, item in enumerate(ranked):
        if equal.is_known(rank) or found.holds(item, rank) or is_full:
            continue
        if k > MAX_JOINED or item.fixed_cost is not None:
            is_full = not _put_whole(found, item, rank, k, equal)
            continue
        if equal.leaves_out(item, rank):
            continue
        grown, joined = found.grown(_ending_well(item, lookup))
        if joined and rank - len(equal.found) >= k:
            left_out[rank] = IS_NEAR
            equal.add(item, rank)
        elif not joined and len(found) == k:
            is_full = True
        elif item.is_open and not says_something(grown, lookup):
            left_out[rank] = IS_LABEL
        else:
            found.put(grown, rank, joined)
            equal.add(item, rank)
    _fill(found, ranked, left_out, k)
    return _assembly(found, left_out, len(ranked), equal)


def _put_whole(found: GrowingWindows, item: Ranked, rank: int, k: int, equal: EqualTexts) -> bool:
    """Add a window as it is, unless its text equals another; return whether there was room."""
    if equal.leaves_out(item, rank):
        return True
    if len(found) == k:
        return False
    window, joined = item.window, list[Run]()
    if item.fixed_cost is None:
        # Joined only with windows that hold other pieces of its sentences.
        window, joined = found.grown(replace(item, is_open=False), gap=-1)
    found.put(window, rank, joined, item.fixed_cost)
    equal.add(item, rank)
    return True


def _fill(found: GrowingWindows, ranked: Sequence[Ranked], left_out: Mapping[int, str], k: int) -> None:
    """Add windows that say little if there are too few others."""
    for rank, item in _labels(ranked, left_out, found.lookup):
        if len(found) < k and not found.holds(item, rank):
            grown, joined = found.grown(item)
            found.put(grown, rank, joined)
    if not len(found) and ranked:  # headings are better than nothing
        found.put(ranked[0].window, 0, [])


def _labels(ranked: Sequence[Ranked], left_out: Mapping[int, str], lookup: Lookup) -> Iterator[tuple[int, Ranked]]:
    """Yield windows that were left out as they say little, but are more than headings, by their positions."""
    for rank, reason in left_out.items():
        if reason == IS_LABEL and not is_heading_alone(ranked[rank].window, lookup):
            yield rank, ranked[rank]


def _ending_well(item: Ranked, lookup: Lookup) -> Ranked:
    if not item.is_open:
        return item
    window = ending_well(item.window, lookup)
    return item if window is item.window else replace(item, window=window)


def _assemble_cost(ranked: Sequence[Ranked], k: int, lookup: Lookup, budget: Budget, texts: Texts | None) -> Assembly:
    found = GrowingWindows(lookup, budget)
    equal = EqualTexts(texts, lambda item: found.alone(_ending_well(item, lookup)))
    left_out: dict[int, str] = {}
    tight: list[tuple[Ranked, int]] = []
    for rank, item in enumerate(ranked):
        if equal.is_known(rank):
            continue
        if found.holds(item, rank):
            equal.add(item, rank)
            continue
        if equal.leaves_out(item, rank):
            continue
        item = _ending_well(item, lookup)
        reason = _take(found, item, rank, k)
        if reason is not None:
            left_out[rank] = reason
            continue
        equal.add(item, rank)
        if item.is_open:
            tight.append((item, rank))
            if len(tight) == TIGHT_FIRST:
                _widen(found, tight)
                tight = []
    for rank, item in _labels(ranked, left_out, lookup):
        if not found.holds(item, rank):
            _take(found, item, rank, k, may_say_little=True)
    _widen(found, tight)
    return _assembly(found, left_out, len(ranked), equal)


def _take(found: GrowingWindows, item: Ranked, rank: int, k: int, *, may_say_little: bool = False) -> str | None:
    """Add a window, or as much of it as fits; return the reason if nothing of it was added."""
    if item.fixed_cost is not None:
        return _take_whole(found, item, rank, k)
    if not found.affords_sentence(item.window.best.key):  # told quickly
        return DOES_NOT_FIT
    if len(found) == k and (not found.may_join(item.window) or not found.grown(item)[1]):
        return IS_BEYOND_K  # smaller parts are near nothing, either
    reason = DOES_NOT_FIT
    for part in _parts(found, item):
        for gap in (NEAR, 0) if item.is_open else (0,):
            grown, joined = found.grown(replace(item, window=part), gap)
            if len(found) - len(joined) == k:
                reason = IS_BEYOND_K
            elif item.is_open and not may_say_little and not says_something(grown, found.lookup):
                return IS_LABEL  # a smaller part says no more
            elif found.afford(grown, rank, joined):
                return None
    return reason


def _parts(found: GrowingWindows, item: Ranked) -> Sequence[Window]:
    """Return a window and ever smaller parts of it. Windows of a size that the user set may be long."""
    parts = [item.window, *smaller(item.window)]

    def fits(number: int) -> bool:
        return found.affords_instead(*found.grown(replace(item, window=parts[number])))

    return parts if item.is_open else parts[bisect_left(range(len(parts)), 1, key=fits) :]


def _take_whole(found: GrowingWindows, item: Ranked, rank: int, k: int) -> str | None:
    if len(found) == k:
        return IS_BEYOND_K
    if item.fixed_cost is None or not found.affords(item.fixed_cost):
        return DOES_NOT_FIT
    found.put(item.window, rank, [], item.fixed_cost)
    return None


def _widen(found: GrowingWindows, tight: Sequence[tuple[Ranked, int]]) -> None:
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
        if first < window.first:
            found.widen(item, rank, first, reached)


def _assembly(found: GrowingWindows, left_out: Mapping[int, str], ranked: int, equal: EqualTexts) -> Assembly:
    """Return what was taken, and why the others weren't."""
    runs = found.runs()
    taken = {rank for run in runs for rank in run.ranks}
    known = {**left_out, **dict.fromkeys(equal.found, IS_EQUAL)}
    reasons = {rank: known.get(rank, IS_BEYOND_K) for rank in range(ranked) if rank not in taken}
    windows = [Assembled(run.window, tuple(sorted(set(run.ranks)))) for run in runs]
    return Assembly(windows, reasons, found.cost, equal.found)
