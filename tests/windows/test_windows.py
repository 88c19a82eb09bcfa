"""Windows as theorems: whatever the hits, what holds for the windows they make."""

import math
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.windows.assembly import arrange
from langchain_sentence_window.windows.completion import clear_best, expand_forward, strong_score
from langchain_sentence_window.windows.geometry import (
    Hit,
    Window,
    best_windows,
    expand,
    smaller,
    window_size,
)

SECTIONS = ((0, 4), (4, 5), (5, 30))
sides = st.integers(0, 6)


@st.composite
def hits(draw: st.DrawFn) -> list[Hit]:
    """Hits in two documents of 30 sentences and three sections each, every sentence at most once."""
    places = draw(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 29)), unique=True, max_size=25))
    return [hit(index, doc_id, draw(st.integers(0, 5)) / 5) for doc_id, index in places]


def hit(index: int, doc_id: str = "a", score: float = 1.0) -> Hit:
    start, end = next(section for section in SECTIONS if section[0] <= index < section[1])
    return Hit(doc_id, index, start, end, score)


def at_least(score: float) -> Callable[[Hit], bool]:
    return lambda hit: hit.score >= score


ALL = at_least(-math.inf)


def opening(before: int, after: int) -> Callable[[Hit], Window]:
    return lambda hit: expand(hit, before, after)


def run_of(window: Window) -> tuple[str, int, int]:
    return window.doc_id, window.first, window.last


@given(hits(), sides, sides, st.integers(1, 20))
def test_a_smaller_window_keeps_the_best_hit_and_loses_neighbors_first(
    found: list[Hit], before: int, after: int, most: int
) -> None:
    for window in best_windows(found, opening(before, after), ALL):
        small = next(part for part in [window, *smaller(window)] if part.last - part.first < most)
        assert window.first <= small.first <= small.last <= window.last
        assert window.best in small.hits
        assert small.hits == tuple(each for each in window.hits if small.first <= each.index <= small.last)
        core = window.hits[-1].index - window.hits[0].index + 1
        assert core > most or small.hits == window.hits


def test_a_window_gets_smaller_by_a_sentence_down_to_its_best_hit() -> None:
    parts = [run_of(part) for part in smaller(expand(hit(10), 2, 2))]
    assert parts == [("a", 9, 12), ("a", 9, 11), ("a", 10, 11), ("a", 10, 10)]


def test_weak_hits_make_windows_but_do_not_widen_them() -> None:
    found = [hit(10, score=0.9), hit(12, score=0.8), hit(14, score=0.3), hit(20, score=0.2), hit(16, score=0.1)]
    assert strong_score(found) == pytest.approx(0.7)
    assert [run_of(window) for window in best_windows(found, opening(1, 1), at_least(0.7))] == [
        ("a", 9, 13),
        ("a", 14, 15),
        ("a", 19, 21),
        ("a", 16, 17),
    ]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("relevance", ["b7", "a5", "b2", "a1", "c3"]),
        ("document", ["b2", "b7", "a1", "a5", "c3"]),
        ("edges", ["b7", "b2", "c3", "a1", "a5"]),
    ],
)
def test_orders(order: str, expected: list[str]) -> None:
    ranked = ["b7", "a5", "b2", "a1", "c3"]
    assert arrange(ranked, order, lambda name: (name[0], int(name[1]))) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(("given_size", "expected"), [(0, (0, 0)), (2, (2, 2)), ((1, 3), (1, 3)), ([0, 5], (0, 5))])
def test_window_sizes(given_size: object, expected: tuple[int, int]) -> None:
    assert window_size(given_size) == expected


@pytest.mark.parametrize("bad", [-1, (1, -1), (1, 2, 3), "2", 1.5, True, None, (True, 1)])
def test_a_bad_window_size_is_refused_by_its_value(bad: object) -> None:
    with pytest.raises(InvalidInputError, match="window is "):
        window_size(bad)


@pytest.mark.parametrize(
    ("texts", "last"),
    [
        (["x" * 99 + "."], 5),  # long enough alone
        (["x" * 98 + ".", "y"], 6),  # one short of it
        (["No.", "x" * 96], 6),  # 3 + 1 + 96 characters
        (["No.", "x" * 95, "Yes."], 7),
        (["No.", "Yes.", "No.", "Yes."], 7),  # never more than two
        (["Fees", "x" * 200 + "."], 7),  # a label
        (["年费", "退" * 200 + "。"], 7),  # a label
        (["退" * 99 + "。"], 5),  # none, as it ends with a mark
        (["“" + "x" * 98 + ".”"], 5),
        (["x" * 99 + "؟"], 5),
    ],
)
def test_a_hit_opens_forward_as_far_as_it_needs(texts: list[str], last: int) -> None:
    assert run_of(expand_forward(hit(5), dict(enumerate([*texts, "", "", ""], 5)).__getitem__)) == ("a", 5, last)


def test_a_hit_opens_forward_within_its_section_alone() -> None:
    assert run_of(expand_forward(hit(2), lambda _: "No.")) == ("a", 2, 3)
    assert run_of(expand_forward(hit(4), lambda _: "Fees")) == ("a", 4, 4)


@pytest.mark.parametrize(
    ("lengths", "last"),
    [
        ([350, 80], 5),
        ([120, 140, 88, 90], 7),  # 120 + 1 + 140 + 1 + 88 are enough
        ([120, 140, 87, 90], 8),  # 349 are not
        ([20] * 10, 13),  # eight further, not more
    ],
)
def test_the_answer_is_expanded_farther(lengths: list[int], last: int) -> None:
    texts = dict(enumerate(["a" * (length - 1) + "." for length in lengths] + ["b."] * 9, 5))
    assert run_of(expand_forward(Hit("a", 5, 0, 99, 1.0), texts.__getitem__, is_answer=True)) == ("a", 5, last)
    assert run_of(expand_forward(Hit("a", 5, 0, 7, 1.0), texts.__getitem__, is_answer=True)) == ("a", 5, min(last, 6))


@pytest.mark.parametrize(
    ("scores", "clear"),
    [
        ([], False),
        ([0.3], True),
        ([0.3, 0.3], False),
        ([0.9, 0.5], True),
        ([0.9, 0.8, 0.4], False),  # a lead of exactly a fifth of the range
        ([0.9, 0.79, 0.4], True),
        ([-1.0, -2.0, -3.0], True),
    ],
)
def test_the_best_hit_is_clear_if_it_leads_by_more_than_a_fifth_of_the_range(scores: list[float], clear: bool) -> None:
    found = [Hit("a", 20 * number, 0, 99, score) for number, score in enumerate(scores)]
    assert clear_best(found) == (found[0] if clear else None)


@pytest.mark.parametrize(
    ("second", "clear"),
    [
        (Hit("a", 19, 10, 99, 0.8), True),  # they touch
        (Hit("a", 18, 10, 99, 0.8), False),
        (Hit("a", 29, 10, 99, 0.8), True),  # after eight sentences
        (Hit("a", 30, 10, 99, 0.8), False),
        (Hit("a", 19, 10, 20, 0.8), False),  # of another section
        (Hit("b", 21, 10, 99, 0.8), False),  # of another document
    ],
)
def test_a_hit_in_or_next_to_the_answer_is_not_a_rival(second: Hit, clear: bool) -> None:
    best, last = Hit("a", 20, 20 if second.section_end == 20 else 10, 99, 0.9), Hit("c", 0, 0, 9, 0.3)
    assert clear_best([best, second, last]) == (best if clear else None)
    assert clear_best([best, replace(second, score=0.9)]) == (best if clear else None)


@pytest.mark.parametrize(("score", "clear"), [(0.8, False), (0.79, True)])
def test_the_best_hit_leads_all_hits_elsewhere_by_more_than_a_fourth_of_the_range(score: float, clear: bool) -> None:
    found = [
        Hit("a", 20, 0, 99, 0.9),
        Hit("a", 21, 0, 99, 0.89),
        Hit("a", 50, 0, 99, score),
        Hit("a", 60, 0, 99, 0.5),
    ]
    assert clear_best(found) == (found[0] if clear else None)


def _pairwise(hits: list[Hit], opened: Callable[[Hit], Window], widens: Callable[[Hit], bool]) -> list[Window]:
    """Do the work of `best_windows` by comparing each window with each."""
    windows: list[Window] = []
    for hit in sorted(hits, key=lambda hit: (-hit.score, hit.doc_id, hit.index)):
        window = opened(hit)
        section = window.hits[0].section_start
        touching = [
            old
            for old in windows
            if (old.doc_id, old.hits[0].section_start) == (window.doc_id, section)
            and old.first <= window.last + 1
            and window.first <= old.last + 1
        ]
        if touching and not widens(hit):
            if any(old.first <= hit.index <= old.last for old in touching):
                continue
            first = max([window.first, *(old.last + 1 for old in touching if old.last < hit.index)])
            last = min([window.last, *(old.first - 1 for old in touching if old.first > hit.index)])
            window, touching = Window(window.doc_id, first, last, window.hits), []
        together = [*touching, window]
        every = {each for old in together for each in old.hits}
        windows = [old for old in windows if old not in touching]
        windows.append(
            Window(
                window.doc_id,
                min(old.first for old in together),
                max(old.last for old in together),
                tuple(sorted(every, key=lambda each: (each.index, -each.score))),
            )
        )
    return sorted(windows, key=lambda window: (-window.score, window.doc_id, window.first))


@given(st.randoms(use_true_random=False), st.integers(0, 3), st.integers(0, 3))
def test_the_best_windows_are_those_of_comparing_each_with_each(chance: random.Random, before: int, after: int) -> None:
    hits = [
        Hit(doc_id, index, index // 10 * 10, index // 10 * 10 + 10, chance.randrange(20) / 10)
        for doc_id in "ab"
        for index in chance.sample(range(30), chance.randrange(1, 25))
    ]

    def opened(hit: Hit) -> Window:
        return expand(hit, before, after)

    def widens(hit: Hit) -> bool:
        return hit.score > 1

    assert best_windows(hits, opened, widens) == _pairwise(hits, opened, widens)
