"""The order of windows in a context."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, TypeVar

from langchain_sentence_window._display import shown
from langchain_sentence_window._validation import checked_function
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.windows.completion import Lookup, ending_well, is_heading_alone, says_something
from langchain_sentence_window.windows.geometry import Hit, Window, smaller
from langchain_sentence_window.windows.growth import NEAR, Budget, GrowingWindows, Ranked, Run

Order: TypeAlias = Literal["relevance", "document", "edges"]
"""The order of windows in a context.

``relevance``: best first. ``document``: as they stand in the documents, the document with the best window first.
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

    Raises:
        InvalidInputError: There is no such order, or ``ranked`` isn't a sequence.
    """
    checked_function("position", position)
    if not isinstance(ranked, Sequence) or not (isinstance(order, str) and order in ORDERS):
        raise InvalidInputError(
            f"{shown(ranked)} can't be sorted in the order {shown(order)}; give a list, and one of {', '.join(ORDERS)}"
        )
    if order == "document":
        documents = list(dict.fromkeys(position(item)[0] for item in ranked))
        rank = {doc_id: i for i, doc_id in enumerate(documents)}
        return sorted(ranked, key=lambda item: (rank[position(item)[0]], position(item)[1]))
    if order == "edges":
        return [*ranked[0::2], *reversed(ranked[1::2])]
    return list(ranked)


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

    key: Callable[[Hit], str]
    are_equal: Callable[[Window, Window], bool]
    known: Mapping[int, Equal]


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
    equal = EqualTexts(texts, lambda item: found.completed(_ending_well(item, lookup)))
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


@dataclass(slots=True)
class EqualTexts:
    """The texts of windows that were taken, and the windows that equal them.

    Attributes:
        texts: How texts are compared; ``None`` if they aren't.
        completed: Returns a window as it is returned if it isn't joined with others.
        found: The windows that were left out, by their positions.
    """

    texts: Texts | None
    completed: Callable[[Ranked], Window]
    found: dict[int, Equal] = field(default_factory=dict)
    _taken: dict[str, list[tuple[Ranked, int]]] = field(default_factory=dict)
    _left_out: dict[str, list[Equal]] = field(default_factory=dict)

    def is_known(self, rank: int) -> bool:
        """Leave a window out if it was known before to equal a better one; return whether it was."""
        equal = None if self.texts is None else self.texts.known.get(rank)
        return equal is not None and self._leave_out(rank, equal)

    def leaves_out(self, item: Ranked, rank: int) -> bool:
        """Leave a window out if it equals one that was taken, or is part of one that was left out."""
        if self.texts is None or item.fixed_cost is not None:
            return False
        best = item.window.best
        for equal in self._left_out.get(best.doc_id, []):
            if equal.window.first <= best.index <= equal.window.last:
                self.found[rank] = equal
                return True
        for taken, better in self._taken.get(self.texts.key(best), []):
            window = self.completed(item)
            if self.texts.are_equal(self.completed(taken), window):
                return self._leave_out(rank, Equal(window, better))
        return False

    def add(self, item: Ranked, rank: int) -> None:
        """Note a window that was taken."""
        if self.texts is not None and item.fixed_cost is None and (key := self.texts.key(item.window.best)):
            self._taken.setdefault(key, []).append((item, rank))

    def _leave_out(self, rank: int, equal: Equal) -> bool:
        self.found[rank] = equal
        self._left_out.setdefault(equal.window.doc_id, []).append(equal)
        return True


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
    equal = EqualTexts(texts, lambda item: found.completed(_ending_well(item, lookup)))
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
