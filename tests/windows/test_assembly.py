"""Windows that are returned: theorems over made-up sections, and each rule by hand."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.windows.assembly import (
    DOES_NOT_FIT,
    IS_BEYOND_K,
    IS_LABEL,
    IS_NEAR,
    MAX_COMPLETING_SHARE,
    MAX_JOINED,
    NEAR,
    TIGHT_FIRST,
    WIDENING,
    Assembly,
    Budget,
    Ranked,
    assemble,
)
from langchain_sentence_window.windows.completion import NO_GROWTH, Growth, Line
from langchain_sentence_window.windows.geometry import Hit, Window
from tests.windows.sections import (
    ANSWER,
    ASKS,
    BACK,
    COLON,
    HEADING,
    KINDS,
    LABEL,
    LED_ITEM,
    REST,
    SAYS,
    Lines,
    run_of,
    searches,
    window,
)


def opened(windows: Sequence[Window]) -> list[Ranked]:
    return [Ranked(each) for each in windows]


def sized(windows: Sequence[Window]) -> list[Ranked]:
    return [Ranked(each, is_open=False) for each in windows]


def counted(lines: Lines, limit: int) -> Budget:
    """A budget by the number of sentences."""
    return Budget(limit, lambda each: each.last - each.first + 1, lambda key: 1)


def by_length(lines: Lines, cost: Any, limit: int) -> Budget:
    return Budget(limit, cost, lambda key: len(getattr(lines(key), "text", "")))


def runs(assembly: Assembly) -> list[tuple[int, int]]:
    return [run_of(each.window) for each in assembly.windows]


def held(assembly: Assembly) -> list[tuple[str, int]]:
    windows = [each.window for each in assembly.windows]
    return [(each.doc_id, index) for each in windows for index in range(each.first, each.last + 1)]


def check(assembly: Assembly, ranked: Sequence[Ranked], lines: Lines, k: int) -> None:
    """Check what holds with and without a budget."""
    assert len(assembly.windows) <= k
    assert len(held(assembly)) == len(set(held(assembly)))  # disjoint
    assert all(lines(key) is not None for key in held(assembly))
    ranks = [rank for each in assembly.windows for rank in each.ranks]
    assert sorted([*ranks, *assembly.left_out]) == list(range(len(ranked)))
    assert [each.ranks[0] for each in assembly.windows] == sorted(each.ranks[0] for each in assembly.windows)
    for each in assembly.windows:
        assert each.ranks == tuple(sorted(each.ranks))
        for hit in each.window.hits:
            assert hit.section_start <= each.window.first <= hit.index <= each.window.last < hit.section_end
        for rank in each.ranks:
            assert ranked[rank].window.best in each.window.hits
        assert set(each.window.hits) <= {hit for rank in each.ranks for hit in ranked[rank].window.hits}
        assert list(each.window.hits) == sorted(each.window.hits, key=lambda hit: (hit.index, -hit.score))
    assert set(assembly.left_out.values()) <= {IS_NEAR, IS_LABEL, DOES_NOT_FIT, IS_BEYOND_K}


def is_heading_alone(each: Window, lines: Lines) -> bool:
    return all(lines((each.doc_id, index)) is HEADING for index in range(each.first, each.last + 1))


@given(searches((*KINDS, None)), st.integers(1, MAX_JOINED))
def test_without_a_budget(search: Any, k: int) -> None:
    lines, windows, _ = search
    ranked = opened(windows)
    assembly = assemble(ranked, k, lines)
    check(assembly, ranked, lines, k)
    assert assembly.cost == 0
    assert bool(assembly.windows) == bool(ranked)
    # Of the best k, all are there, but those that say nothing.
    assert {rank for rank in assembly.left_out if rank < k} <= {
        rank for rank, why in assembly.left_out.items() if why == IS_LABEL
    }
    ordered = sorted((each.window for each in assembly.windows), key=lambda each: (each.doc_id, each.first))
    for one, other in pairwise(ordered):
        if one.doc_id == other.doc_id and one.best.section_start == other.best.section_start:
            between = [lines((one.doc_id, index)) for index in range(one.last + 1, other.first)]
            assert len(between) > NEAR or None in between
    if len(ordered) > 1:
        assert not any(is_heading_alone(each, lines) for each in ordered)


@given(searches(in_pieces=True), st.integers(1, 40), st.booleans())
def test_no_window_begins_or_ends_inside_a_sentence(search: Any, k: int, is_open: bool) -> None:
    lines, windows, _ = search
    ranked = [Ranked(each, is_open=is_open) for each in windows]
    assembly = assemble(ranked, k, lines)
    check(assembly, ranked, lines, k)
    for each in assembly.windows:
        for index in range(each.window.first, each.window.last + 1):
            first, end = lines((each.window.doc_id, index)).pieces or (index, index + 1)
            assert each.window.first <= first < end <= each.window.last + 1


@pytest.mark.parametrize(("limit", "expected"), [(21, (4, 6)), (13, (5, 5))])
def test_making_a_sentence_whole_costs_a_share_of_the_budget_at_most(limit: int, expected: tuple[int, int]) -> None:
    piece = Line("as the tenant pays the rent,", pieces=(4, 7))
    lines = Lines(a=[SAYS] * 4 + [piece] * 3 + [SAYS], b=[SAYS] * 300)
    others = [window(20 * number, section=(0, 300), doc_id="b") for number in range(TIGHT_FIRST - 1)]
    for is_open in (True, False):
        ranked = [Ranked(window(5, section=(4, 7)), is_open), *opened(others)]
        found = assemble(ranked, 99, lines, counted(lines, limit))
        assert run_of(found.windows[0].window) == expected
    assert run_of(assemble(ranked, 1, lines).windows[0].window) == (4, 6)


@given(searches((*KINDS, None)), st.integers(1, 30))
def test_of_windows_whose_size_the_user_set_only_those_that_touch_are_joined(search: Any, k: int) -> None:
    lines, windows, _ = search
    ranked = sized(windows)
    assembly = assemble(ranked, k, lines)
    check(assembly, ranked, lines, k)
    given_keys = {(each.doc_id, index) for each in windows for index in range(each.first, each.last + 1)}
    assert set(held(assembly)) <= given_keys  # nothing is added
    assert len(assembly.windows) == k or k > len(assembly.windows)
    if k > len(windows):
        assert set(held(assembly)) == given_keys
    if k > MAX_JOINED:
        assert [each.window for each in assembly.windows] == windows[:k]


@given(searches((*KINDS, None)), st.integers(MAX_JOINED + 1, 40))
def test_many_windows_are_returned_unchanged(search: Any, k: int) -> None:
    lines, windows, _ = search
    assert [each.window for each in assemble(opened(windows), k, lines).windows] == windows[:k]


@given(searches((*KINDS, None)), st.integers(1, 25), st.integers(1, 900), st.booleans())
def test_with_a_budget(search: Any, k: int, limit: int, is_open: bool) -> None:
    lines, windows, cost = search
    ranked = [Ranked(each, is_open=is_open) for each in windows]
    assembly = assemble(ranked, k, lines, by_length(lines, cost, limit))
    check(assembly, ranked, lines, k)
    spent = sum(cost(each.window) for each in assembly.windows)
    assert assembly.cost == spent <= limit
    if assembly.windows and is_open:
        # No two touch, whatever the budget.
        ordered = sorted((each.window for each in assembly.windows), key=lambda each: (each.doc_id, each.first))
        for one, other in pairwise(ordered):
            if one.doc_id == other.doc_id and one.best.section_start == other.best.section_start:
                assert other.first > one.last + 1
    if not assembly.windows and not is_open:
        assert all(cost(Window(each.doc_id, each.best.index, each.best.index, ())) > limit for each in windows)


TALK = (SAYS, SAYS, COLON, BACK, ASKS, ANSWER, None)
GROWTHS = st.sampled_from([NO_GROWTH, Growth(min_chars=150), Growth(max_section_chars=200), Growth(80, 200)])


@given(
    searches(TALK, is_talk=True), st.integers(1, 40), st.none() | st.integers(1, 900), st.lists(GROWTHS, min_size=14)
)
def test_talk_and_windows_that_grow(search: Any, k: int, limit: int | None, growths: Sequence[Growth]) -> None:
    lines, windows, cost = search
    ranked = [Ranked(each, growth=growth) for each, growth in zip(windows, growths, strict=False)]
    assembly = assemble(ranked, k, lines, None if limit is None else by_length(lines, cost, limit))
    check(assembly, ranked, lines, k)
    assert assembly.cost == (0 if limit is None else sum(cost(each.window) for each in assembly.windows))
    assert limit is None or assembly.cost <= limit


@given(searches((*KINDS, None)), st.integers(1, MAX_JOINED), st.none() | st.integers(1, 900))
def test_hits_alone_decide_and_nothing_that_was_handed_in_changes(search: Any, k: int, limit: int | None) -> None:
    lines, windows, cost = search
    ranked = opened(windows)
    budget = None if limit is None else by_length(lines, cost, limit)
    before = list(ranked)
    first, second = assemble(ranked, k, lines, budget), assemble(ranked, k, lines, budget)
    assert first == second
    assert ranked == before


# By hand


@pytest.mark.parametrize(
    ("firsts", "expected"),
    [
        ((3, 6), [(3, 6)]),  # two sentences between them
        ((3, 7), [(3, 3), (7, 7)]),  # three
        ((6, 3), [(3, 6)]),
        ((3, 9, 6), [(3, 9)]),  # what comes later joins two
        ((3, 4), [(3, 4)]),
    ],
)
def test_gaps_of_a_sentence_or_two_are_filled(firsts: Sequence[int], expected: list[tuple[int, int]]) -> None:
    lines = Lines(a=[SAYS] * 20)
    windows = [window(first, section=(0, 20), score=1 - number / 10) for number, first in enumerate(firsts)]
    assert runs(assemble(opened(windows), 9, lines)) == expected
    touching = assemble(sized(windows), 9, lines)
    assert runs(touching) == ([(3, 4)] if firsts == (3, 4) else [(first, first) for first in firsts])


def test_a_window_never_joins_one_of_another_section_or_beyond_what_cannot_be_read() -> None:
    lines = Lines(a=[SAYS, SAYS, SAYS, SAYS])
    windows = [window(1, section=(0, 2)), window(2, section=(2, 4))]
    assert runs(assemble(opened(windows), 9, lines)) == [(1, 1), (2, 2)]
    unread = Lines(a=[SAYS, None, SAYS])
    assert runs(assemble(opened([window(0), window(2)]), 9, unread)) == [(0, 0), (2, 2)]


def test_k_counts_what_comes_back_and_those_near_better_ones_are_left_out() -> None:
    lines = Lines(a=[SAYS] * 60)
    windows = [window(first, section=(0, 60)) for first in (10, 12, 30, 33, 50)]
    assembly = assemble(opened(windows), 2, lines)
    assert runs(assembly) == [(10, 12), (30, 30)]
    assert [each.ranks for each in assembly.windows] == [(0, 1), (2,)]
    assert assembly.left_out == {3: IS_NEAR, 4: IS_BEYOND_K}
    assert runs(assemble(opened(windows), 3, lines)) == [(10, 12), (30, 30), (50, 50)]
    assert runs(assemble(opened(windows), 4, lines)) == [(10, 12), (30, 33), (50, 50)]


def test_windows_are_completed() -> None:
    lines = Lines(a=[HEADING, SAYS, COLON, LED_ITEM, REST, SAYS, BACK, SAYS])
    end = (0, 8)
    assert runs(assemble(opened([window(0, section=end)]), 1, lines)) == [(0, 1)]
    assert runs(assemble(opened([window(2, section=end)]), 1, lines)) == [(2, 4)]
    assert runs(assemble(opened([window(6, section=end)]), 1, lines)) == [(5, 6)]
    assert runs(assemble(sized([window(6, section=end)]), 1, lines)) == [(6, 6)]


def test_labels_are_left_out_if_there_are_other_windows() -> None:
    lines = Lines(a=[SAYS, SAYS, SAYS, SAYS, LABEL], b=[HEADING], c=[SAYS, COLON])
    label, heading = window(4, section=(0, 5)), window(0, section=(0, 1), doc_id="b")
    says, colon = window(0, section=(0, 5)), window(1, section=(0, 2), doc_id="c")
    assembly = assemble(opened([label, heading, colon, says]), 1, lines)
    assert (runs(assembly), assembly.windows[0].ranks) == ([(0, 0)], (3,))
    assert assembly.left_out == {0: IS_LABEL, 1: IS_LABEL, 2: IS_LABEL}
    # If there are too few, short lines come back in their order, and headings alone don't.
    more = assemble(opened([label, heading, colon, says]), 4, lines)
    assert [each.ranks for each in more.windows] == [(0,), (2,), (3,)]
    assert more.left_out == {1: IS_LABEL}
    # Unless there is nothing else.
    only = assemble(opened([heading]), 4, lines)
    assert [each.ranks for each in only.windows] == [(0,)]
    budget = counted(lines, 9)
    assert assemble(opened([heading]), 4, lines, budget).left_out == {0: IS_LABEL}
    assert assemble(opened([label, heading, colon, says]), 1, lines, budget).left_out == {
        0: IS_LABEL,
        1: IS_LABEL,
        2: IS_LABEL,
    }


def test_a_sentence_before_an_announcement_of_nothing_is_kept() -> None:
    lines = Lines(a=[SAYS, COLON, SAYS])
    tight = Window("a", 0, 1, (Hit("a", 0, 0, 2, 1.0),))
    for budget in (None, counted(lines, 9)):
        assert runs(assemble(opened([tight]), 1, lines, budget)) == [(0, 0)]
    assert runs(assemble(sized([tight]), 1, lines)) == [(0, 1)]
    goes_on = Window("a", 0, 1, (Hit("a", 0, 0, 3, 1.0),))
    assert runs(assemble(opened([goes_on]), 1, lines)) == [(0, 2)]


def test_the_rest_of_a_budget_widens_the_best_windows() -> None:
    lines = Lines(a=[SAYS] * 100)
    before, after = WIDENING
    windows = [window(20, section=(0, 100)), window(60, section=(0, 100))]
    whole = before + 1 + after
    assert runs(assemble(opened(windows), 9, lines, counted(lines, 2))) == [(20, 20), (60, 60)]
    assert runs(assemble(opened(windows), 9, lines, counted(lines, 1))) == [(20, 20)]
    rich = assemble(opened(windows), 9, lines, counted(lines, 99))
    assert runs(rich) == [(20 - before, 20 + after), (60 - before, 60 + after)]
    assert rich.cost == 2 * whole
    # As far as it goes, after the sentence first.
    assert runs(assemble(opened(windows), 9, lines, counted(lines, 5))) == [(20, 23), (60, 60)]
    assert runs(assemble(opened(windows), 9, lines, counted(lines, 1 + whole + 2))) == [
        (20 - before, 20 + after),
        (60, 62),
    ]
    assert runs(assemble(sized(windows), 9, lines, counted(lines, 99))) == [(20, 20), (60, 60)]


@pytest.mark.parametrize(("limit", "first"), [(70, 19), (65, 20)])
def test_opening_backward_costs_a_share_of_the_budget_at_most(limit: int, first: int) -> None:
    lines = Lines(a=[SAYS] * 20 + [BACK], b=[SAYS] * 300)
    there = window(20, section=(0, 21))
    others = [window(20 * number, section=(0, 300), doc_id="b") for number in range(TIGHT_FIRST - 1)]

    def cost(each: Window) -> int:
        return 5 if each.doc_id == "b" else 10 * (21 - each.first)

    # Opening costs 10, which is a seventh of 70 and more than that of 65; the others take what is left.
    assert 10 / 70 < MAX_COMPLETING_SHARE < 10 / 65
    found = assemble(opened([there, *others]), 99, lines, Budget(limit, cost, lambda key: 1))
    assert found.windows[0].window.first == first
    assert found.cost == limit


def test_a_window_that_does_not_fit_is_cut_around_its_best_hit() -> None:
    lines = Lines(a=[SAYS] * 30)
    long = Window("a", 5, 14, (Hit("a", 8, 0, 30, 0.5), Hit("a", 10, 0, 30, 0.9)))
    for is_open in (True, False):
        ranked = [Ranked(long, is_open)]
        found = assemble(ranked, 1, lines, counted(lines, 4)).windows[0].window
        assert found.last - found.first == 3
        assert [hit.index for hit in found.hits] == [8, 10]
        (one,) = assemble(ranked, 1, lines, counted(lines, 1)).windows
        assert (run_of(one.window), [hit.index for hit in one.window.hits]) == ((10, 10), [10])
        assert assemble(ranked, 1, lines, counted(lines, 0)) == Assembly([], {0: DOES_NOT_FIT}, 0)


def test_a_window_grows_as_far_as_it_is_to_and_the_rest_of_the_budget_allows() -> None:
    lines = Lines(a=[SAYS] * 40, b=[SAYS] * 40)
    grows = Growth(min_chars=6 * (len(SAYS.text) + 1))
    one = Ranked(window(20, section=(0, 40)), growth=grows)
    for k in (1, MAX_JOINED + 1):
        assert runs(assemble([one], k, lines)) == [(19, 24)]  # two after it for one before it
    at_start, at_end = (Ranked(window(at, section=(0, 40)), growth=grows) for at in (0, 39))
    assert runs(assemble([at_start], 1, lines)) == [(0, 5)]
    assert runs(assemble([at_end], 1, lines)) == [(34, 39)]
    other = Ranked(window(20, section=(0, 40), doc_id="b"), growth=grows)
    assert runs(assemble([one, other], 9, lines, counted(lines, 9))) == [(19, 24), (20, 22)]
    assert runs(assemble([one, other], 9, lines, counted(lines, 7))) == [(19, 24), (20, 20)]


def test_windows_that_grow_and_are_not_joined_take_what_no_other_holds() -> None:
    lines = Lines(a=[SAYS] * 40)
    grows = Growth(min_chars=6 * (len(SAYS.text) + 1))
    ranked = [Ranked(window(at, section=(0, 40)), growth=grows) for at in (20, 26, 18)]
    found = assemble(ranked, MAX_JOINED + 1, lines)
    assert runs(found) == [(19, 24), (25, 30), (17, 18)]


def test_a_short_section_is_whole() -> None:
    lines = Lines(a=[SAYS] * 5 + [LABEL] * 40)
    grows = Growth(max_section_chars=5 * (len(SAYS.text) + 1))
    for k in (1, MAX_JOINED + 1):
        assert runs(assemble([Ranked(window(3, section=(0, 5)), growth=grows)], k, lines)) == [(0, 4)]
        assert runs(assemble([Ranked(window(3, section=(0, 6)), growth=grows)], k, lines)) == [(3, 3)]  # too long
    short = Ranked(window(3, section=(0, 5)), growth=grows)
    assert runs(assemble([short], 1, lines, counted(lines, 4))) == [(2, 4)]  # it is widened as any other
    before = lines.looks
    assemble([Ranked(window(3, section=(0, 45)), growth=grows)], 1, lines)
    assert lines.looks - before < 5  # so many sentences aren't short


# Work
