"""Whether a query is answered at all, with numbers worked out by hand."""

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.relevance import (
    COVERAGE_WEIGHT,
    MAX_CLOSENESS,
    MIN_CANDIDATES,
    MIN_SAMPLED,
    MIN_SHARE,
    NEEDED,
    NEEDED_CLOSENESS,
    NEEDED_COVERAGE,
    Relevance,
    judge_relevance,
)

MATCHES = [0.5, 0.7] * 10
"""Closest matches with a mean of .6 and a deviation of .1."""

cosines = st.integers(-1000, 1000).map(lambda number: number / 1000)
rows = st.lists(
    st.tuples(cosines, cosines, st.integers(0, 8).map(lambda eighths: eighths / 8)), min_size=1, max_size=12
)
samples = st.lists(cosines, max_size=30)


def judge(
    scores: Sequence[float], dense: Sequence[float], coverage: Sequence[float], matches: Sequence[float] = MATCHES
) -> Relevance:
    """Judge candidates in the order of their scores."""
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    return judge_relevance(order, scores, dense, coverage, matches)


def columns(found: list[tuple[float, float, float]]) -> tuple[list[float], list[float], list[float]]:
    """Turn rows into scores, scores by meaning and coverages."""
    return [row[0] for row in found], [row[1] for row in found], [row[2] for row in found]


def test_closeness_and_coverage_by_hand() -> None:
    found = judge([3.0, 2.0, 1.0, 0.0], [0.4, 0.3, 0.2, 0.1], [0.5, 0.25, 0.0, 1.0])
    expected = {"best": 0.4, "typical": 0.6, "spread": 0.1, "closeness": -2.0}
    expected |= {"coverage": 0.25, "support": -2 + COVERAGE_WEIGHT / 4, "needed": NEEDED}
    assert found.numbers == pytest.approx(expected)


def test_a_query_of_another_subject_supports_nothing() -> None:
    # Three standard deviations below what sentences have with each other, and none of its words is found.
    assert judge([3.0, 2.0, 1.0], [0.3, 0.2, 0.1], [0.0, 0.0, 0.0]).supported == 0
    assert judge([3.0, 2.0, 1.0], [0.3, 0.2, 0.1], [0.1, 0.1, 0.1]).supported == 0


def test_either_closeness_or_words_are_enough() -> None:
    assert judge([3.0, 2.0, 1.0], [0.61, 0.2, 0.1], [0.0, 0.0, 0.0]).supported > 0
    assert judge([3.0, 2.0, 1.0], [0.3, 0.2, 0.1], [1.0, 1.0, 1.0]).supported > 0


def test_the_best_score_by_meaning_may_be_of_any_candidate() -> None:
    assert judge([3.0, 2.0, 1.0], [0.1, 0.2, 0.61], [0.0, 0.0, 0.0]).numbers["best"] == 0.61


def test_candidates_with_a_small_share_of_the_lead_are_left_out() -> None:
    # The mean is 0 and the best one's lead is 8, so that a candidate needs a lead of 0.8.
    assert MIN_SHARE == 0.1
    scores = [8.0, 1.0, 0.5] + [-9.5 / (MIN_CANDIDATES - 3)] * (MIN_CANDIDATES - 3)
    assert judge(scores, [0.9] * MIN_CANDIDATES, [1.0] * MIN_CANDIDATES).supported == 2
    fewer = scores[: MIN_CANDIDATES - 1]
    assert judge(fewer, [0.9] * len(fewer), [1.0] * len(fewer)).supported == len(fewer)


def test_equal_scores_are_all_supported() -> None:
    assert judge([0.3] * 99, [0.9] * 99, [1.0] * 99).supported == 99


def test_without_a_scale_words_decide() -> None:
    few, equal = MATCHES[: MIN_SAMPLED - 1], [0.6] * 20
    for matches in ([], few, equal):
        for coverage, supported in ((NEEDED_COVERAGE - 0.01, 0), (NEEDED_COVERAGE + 0.01, 1)):
            found = judge([1.0], [0.9], [coverage], matches)
            assert found.supported == supported
            assert found.numbers == pytest.approx(
                {"coverage": coverage, "support": coverage, "needed": NEEDED_COVERAGE}
            )


def test_a_query_without_a_known_word_is_judged_by_closeness() -> None:
    for closeness, supported in ((NEEDED_CLOSENESS - 0.1, 0), (NEEDED_CLOSENESS + 0.1, 2)):
        found = judge([2.0, 1.0], [0.0, 0.6 + 0.1 * closeness], [0.0, 0.0])
        assert found.supported == supported
        assert (found.numbers["support"], found.numbers["needed"]) == pytest.approx((closeness, NEEDED_CLOSENESS))


def test_with_neither_a_scale_nor_a_word_nothing_is_left_out() -> None:
    found = judge([2.0, 1.0], [0.1, 0.2], [0.0, 0.0], [])
    assert (found.supported, found.numbers) == (2, {"coverage": 0.0})


def test_few_candidates() -> None:
    assert judge_relevance([], [], [], []) == Relevance(0, {})
    assert judge_relevance([], [], [], [], MATCHES).supported == 0
    assert judge([1.0], [0.6], [0.5]).supported == 1
    assert judge([1.0, 0.9], [0.6, 0.6], [0.5, 0.5]).supported == 2
    assert judge([1.0, 0.9], [0.1, 0.1], [0.0, 0.0]).supported == 0


def test_numbers_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        judge([1.0], [0.6], [0.5]).numbers["best"] = 1.0  # type: ignore[index]


def test_far_scores_are_capped() -> None:
    assert judge([1.0], [1e90], [0.0]).numbers["closeness"] == MAX_CLOSENESS
    assert judge([1.0], [-1e90], [0.0]).numbers["closeness"] == -MAX_CLOSENESS


@given(rows, samples, st.integers(-8, 8), st.sampled_from([0.125, 0.5, 2.0, 8.0]))
def test_the_scale_of_scores_does_not_matter(
    found: list[tuple[float, float, float]], matches: list[float], shift: int, factor: float
) -> None:
    scores, dense, coverage = columns(found)
    first = judge(scores, dense, coverage, matches)
    moved = [(cosine + shift) * factor for cosine in dense]
    second = judge(
        [(score - shift) * factor for score in scores], moved, coverage, [(each + shift) * factor for each in matches]
    )
    if "closeness" in first.numbers:
        assert second.numbers["closeness"] == pytest.approx(first.numbers["closeness"], rel=1e-6, abs=1e-6)
    assert second.numbers["coverage"] == first.numbers["coverage"]
    # A tie may be broken by rounding, in the support as in a lead.
    leads = np.sort(np.array(scores) - np.mean(scores))[::-1]
    is_tied = np.isclose(leads, MIN_SHARE * leads[0]).any() or _is_tied(first)
    assert is_tied or second.supported == first.supported


@given(rows, samples, st.randoms())
def test_the_order_in_which_candidates_are_given_does_not_matter(
    found: list[tuple[float, float, float]], matches: list[float], random: Random
) -> None:
    order = sorted(range(len(found)), key=lambda i: -found[i][0])
    places = list(range(len(found)))
    random.shuffle(places)
    moved = [found[place] for place in places]
    back = [places.index(position) for position in order]
    random.shuffle(matches)
    first = judge_relevance(order, *columns(found), matches)
    second = judge_relevance(back, *columns(moved), matches[::-1])
    assert second.numbers == pytest.approx(dict(first.numbers))
    assert second.supported == first.supported or _is_tied(first)


@given(rows, samples)
def test_what_is_supported_leads(found: list[tuple[float, float, float]], matches: list[float]) -> None:
    result = judge(*columns(found), matches)
    assert 0 <= result.supported <= len(found)
    assert (result.supported > 0) == (result.numbers.get("support", 0.0) >= result.numbers.get("needed", 0.0))
    better = judge(*columns([(a, b, 1.0) for a, b, _ in found]), matches)
    assert better.supported >= result.supported or not any(c for *_, c in found)  # more words don't speak against it


def _is_tied(result: Relevance) -> bool:
    """Tell whether rounding may decide."""
    return bool(np.isclose(result.numbers.get("support", np.inf), result.numbers.get("needed", 0.0)))


def test_inputs_are_left_as_they_are() -> None:
    order, scores, dense, coverage = np.array([1, 0]), np.array([1.0, 2.0]), np.array([0.5, 0.6]), np.array([0.1, 0.2])
    matches = np.array(MATCHES)
    for array in (order, scores, dense, coverage, matches):
        array.flags.writeable = False
    judge_relevance(order, scores, dense, coverage, matches)


GOOD: dict[str, object] = {"order": [0], "scores": [1.0], "dense": [0.5], "coverage": [0.5], "matches": MATCHES}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"scores": [float("nan")]}, "scores is"),
        ({"dense": [float("inf")]}, "dense is"),
        ({"dense": ["x"]}, "dense is"),
        ({"dense": [1e200]}, "dense is .* at most 1e\\+100"),
        ({"coverage": [[0.5]]}, "coverage is"),
        ({"coverage": [1.5]}, "coverage is .* from 0 to 1"),
        ({"coverage": [-0.5]}, "coverage is .* from 0 to 1"),
        ({"matches": [None]}, "matches is"),
        ({"matches": 0.5}, "matches is"),
        ({"scores": [1.0, 2.0]}, "scores has 2 numbers for 1 candidates"),
        ({"dense": []}, "dense has 0 numbers"),
        ({"order": [], "scores": [], "dense": []}, "coverage has 1 numbers for 0 candidates"),
        ({"order": [1]}, "order is .* each position"),
        ({"order": [0, 0], "scores": [1.0, 2.0]}, "order is .* each position"),
        ({"order": [0.5]}, "order is .* each position"),
        ({"order": None}, "order is"),
        ({"order": "a\ud800\0"}, "order is"),
    ],
)
def test_bad_numbers_are_named(changed: dict[str, object], told: str) -> None:
    judge_relevance(**GOOD)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=told):
        judge_relevance(**GOOD | changed)  # type: ignore[arg-type]
