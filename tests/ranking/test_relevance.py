"""Whether a query is answered at all, with numbers worked out by hand."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.ranking.relevance import (
    CLOSENESS_WEIGHT,
    CODE_WEIGHT,
    COVERAGE_ALONE_WEIGHT,
    COVERAGE_WEIGHT,
    MAX_UNRELATED,
    MIN_CANDIDATES,
    MIN_SAMPLED,
    MIN_SHARE,
    NEEDED,
    SIZE_WEIGHT,
    START,
    START_ALONE,
    Relevance,
    Unrelated,
    judge_relevance,
    unrelated_to,
)

UNRELATED = Unrelated(0.2, 1_000)
BASE = START + SIZE_WEIGHT * math.log(1_000)

cosines = st.integers(-1000, 1000).map(lambda number: number / 1000)
rows = st.lists(
    st.tuples(cosines, cosines, st.integers(0, 8).map(lambda eighths: eighths / 8)), min_size=1, max_size=12
)
unrelated = st.one_of(
    st.none(), st.builds(Unrelated, st.integers(-1000, 900).map(lambda number: number / 1000), st.integers(1, 10**7))
)


def judge(
    scores: Sequence[float],
    dense: Sequence[float],
    coverage: Sequence[float],
    unrelated: Unrelated | None = UNRELATED,
    **given: Any,
) -> Relevance:
    """Judge candidates in the order of their scores."""
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    return judge_in(order, scores, dense, coverage, unrelated, **given)


def judge_in(order: Sequence[int], *columns: Any, **given: Any) -> Relevance:
    """Judge candidates in any order."""
    scores, dense, coverage = (np.array(column, dtype=np.float64) for column in columns[:3])
    return judge_relevance(np.array(order, dtype=np.int64), scores, dense, coverage, *columns[3:], **given)


def logit(found: Relevance) -> float:
    """Return the logit of a probability, which is a sum that can be worked out by hand."""
    assert found.probability is not None
    return math.log(found.probability / (1 - found.probability))


def columns(found: list[tuple[float, float, float]]) -> tuple[list[float], list[float], list[float]]:
    """Turn rows into scores, scores by meaning and coverages."""
    return [row[0] for row in found], [row[1] for row in found], [row[2] for row in found]


def test_closeness_and_coverage_by_hand() -> None:
    found = judge([3.0, 2.0, 1.0, 0.0], [0.6, 0.3, 0.2, 0.1], [0.5, 0.25, 0.0, 1.0])
    # .4 above .2, and .8 from there to 1; a mean of .25 in the first three.
    assert logit(found) == pytest.approx(BASE + CLOSENESS_WEIGHT * 0.5 + COVERAGE_WEIGHT * 0.25)
    assert found.probability is not None
    expected = {"best": 0.6, "unrelated": 0.2, "closeness": 0.5, "coverage": 0.25, "needed": NEEDED}
    assert found.numbers == pytest.approx(expected | {"relevance": found.probability})


def test_code_is_farther_from_questions() -> None:
    given = [3.0, 2.0, 1.0], [0.5, 0.3, 0.2], [0.5, 0.25, 0.0]
    plain, code = judge(*given), judge(*given, is_code=[True, False, True])
    assert logit(code) == pytest.approx(logit(plain) + CODE_WEIGHT * 2 / 3)


def test_a_query_of_another_subject_supports_nothing() -> None:
    assert judge([3.0, 2.0, 1.0], [0.3, 0.2, 0.1], [0.0, 0.0, 0.0]).supported == 0
    assert judge([3.0, 2.0, 1.0], [0.3, 0.2, 0.1], [0.1, 0.1, 0.1]).supported == 0
    left = judge([3.0, 2.0, 1.0], [0.3, 0.2, 0.1], [0.1, 0.1, 0.1], needed=None)
    assert left.supported == 3
    assert left.probability is not None
    assert left.probability < NEEDED
    assert "needed" not in left.numbers


def test_candidates_with_a_small_share_of_the_lead_are_left_out() -> None:
    # The mean is 0 and the best one's lead is 8, so that a candidate needs a lead of 0.8.
    assert MIN_SHARE == 0.1
    scores = [8.0, 1.0, 0.5] + [-9.5 / (MIN_CANDIDATES - 3)] * (MIN_CANDIDATES - 3)
    assert judge(scores, [0.9] * MIN_CANDIDATES, [1.0] * MIN_CANDIDATES).supported == 2
    assert judge(scores, [0.9] * MIN_CANDIDATES, [1.0] * MIN_CANDIDATES, needed=None).supported == len(scores)
    fewer = scores[: MIN_CANDIDATES - 1]
    assert judge(fewer, [0.9] * len(fewer), [1.0] * len(fewer)).supported == len(fewer)


def test_where_the_cosine_of_unrelated_sentences_is_not_known_words_decide() -> None:
    for coverage, supported in ((0.01, 0), (0.5, 1)):
        found = judge([1.0], [0.9], [coverage], None)
        assert found.supported == supported
        assert logit(found) == pytest.approx(START_ALONE + COVERAGE_ALONE_WEIGHT * coverage)


def test_with_neither_cosines_nor_a_word_nothing_is_left_out() -> None:
    found = judge([2.0, 1.0], [0.1, 0.2], [0.0, 0.0], None)
    assert (found.probability, found.supported, found.numbers) == (None, 2, {"coverage": 0.0, "needed": NEEDED})


def test_the_cosine_of_unrelated_sentences_is_a_low_one() -> None:
    query = np.array([0.6, 0.8, 0.0], dtype=np.float32)
    alike = np.tile(query, (38, 1))
    sample = np.vstack([alike, [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]).astype(np.float32)
    assert unrelated_to(query, sample, 900) == pytest.approx((0.8, 900))  # the third of 41
    assert unrelated_to(query, sample[-8:], 8) == pytest.approx((0.0, 8))
    assert unrelated_to(query, sample[: MIN_SAMPLED - 1], 7) is None
    assert unrelated_to(query, alike, 38) == (MAX_UNRELATED, 38)


@given(rows, unrelated, st.integers(-8, 8), st.sampled_from([0.125, 0.5, 2.0, 8.0]))
def test_the_scale_of_scores_does_not_matter(
    found: list[tuple[float, float, float]], unrelated: Unrelated | None, shift: int, factor: float
) -> None:
    scores, dense, coverage = columns(found)
    first = judge(scores, dense, coverage, unrelated)
    second = judge([(score - shift) * factor for score in scores], dense, coverage, unrelated)
    assert second.probability == first.probability
    # A tie may be broken by rounding.
    leads = np.sort(np.array(scores) - np.mean(scores))[::-1]
    assert np.isclose(leads, MIN_SHARE * leads[0]).any() or second.supported == first.supported


@given(rows, unrelated)
def test_a_probability_grows_with_words_and_decides(
    found: list[tuple[float, float, float]], unrelated: Unrelated | None
) -> None:
    result = judge(*columns(found), unrelated)
    assert 0 <= result.supported <= len(found)
    assert (result.supported > 0) == (result.probability is None or result.probability >= NEEDED)
    better = judge(*columns([(a, b, 1.0) for a, b, _ in found]), unrelated)
    assert better.probability is not None
    assert 0 <= (result.probability or 0.0) <= better.probability <= 1
