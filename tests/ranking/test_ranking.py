"""Rankings, and the order they give."""

import copy
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.candidates import fused_scores, spread
from langchain_sentence_window.ranking.ranking import DEFAULT_RANKING, SCALE, Ranking, reorder
from langchain_sentence_window.ranking.signals import SIGNALS, CandidateFacts, signals
from tests.ranking.searches import candidates_of, taken
from tests.ranking.searches import facts as candidate_facts

DOCUMENTS = {"a": [["The audit costs much.", "The buyer pays.", "Else nothing."]], "b": [["Audit", "The audit ends."]]}
FOUND = [("a", 0), ("a", 1), ("b", 1), ("b", 0)]
WEIGHTS = {"document": 0.5, "coverage": 1.5, "place": -1.0}
DENSE = [0.4, 0.1, 0.3, 0.2]


def facts_of(dense: list[float], query: str = "Who pays the audit?") -> CandidateFacts:
    return candidate_facts(query, candidates_of(DOCUMENTS, FOUND, dense))


def test_a_score_is_the_scaled_sum_of_weighted_signals() -> None:
    facts = facts_of(DENSE)
    reordered = reorder(facts, Ranking(WEIGHTS))
    assert reordered.names == ("document", "coverage", "place")  # in the order of the signals
    matrix = signals(facts, reordered.names)
    by_hand = matrix * [0.5, 1.5, -1.0] / (SCALE * 3.0)
    np.testing.assert_allclose(reordered.contributions, by_hand)
    np.testing.assert_allclose(reordered.scores, by_hand.sum(axis=1))
    assert reordered.order.tolist() == sorted(range(4), key=lambda row: -by_hand.sum(axis=1)[row])


def test_words_count_by_their_weight() -> None:
    facts = facts_of(DENSE)
    without = reorder(facts, Ranking(WEIGHTS), word_weight=0)
    assert without.names == ("document", "place")
    # Of the weights that match the query a fourth is left, so that of the others is a fourth, too.
    np.testing.assert_allclose(without.scores, reorder(facts, Ranking({"document": 0.5, "place": -0.25})).scores)
    double = reorder(facts, Ranking(WEIGHTS), word_weight=2)
    np.testing.assert_allclose(double.scores, reorder(facts, Ranking({**WEIGHTS, "coverage": 3})).scores)
    assert reorder(facts, Ranking({"coverage": 1, "place": 1}), word_weight=0).names == ()


def test_equal_scores_are_ordered_by_dense_scores_then_as_given() -> None:
    facts = facts_of([0.1, 0.3, 0.3, 0.2], "no such words")
    for ranking in (Ranking({}), Ranking({"coverage": 1.0, "bigrams": 1.0})):
        reordered = reorder(facts, ranking)
        assert reordered.order.tolist() == [1, 2, 3, 0]
        assert reordered.scores.tolist() == [0] * 4
    assert reorder(facts, Ranking({"place": 1}), word_weight=0).order.tolist() == [3, 0, 1, 2]


def test_none_and_one() -> None:
    nothing = reorder(candidate_facts("q", candidates_of(DOCUMENTS, [])), DEFAULT_RANKING)
    assert (nothing.order.shape, nothing.scores.shape) == ((0,), (0,))
    assert nothing.contributions.shape == (0, len(DEFAULT_RANKING.weights))
    one = reorder(candidate_facts("q", candidates_of(DOCUMENTS, FOUND[:1], [0.5])), DEFAULT_RANKING)
    assert one.order.tolist() == [0]
    assert np.isfinite(one.scores).all()


@given(
    st.dictionaries(st.sampled_from(sorted(SIGNALS)), st.floats(-10, 10)),
    st.lists(st.floats(-1, 1), min_size=4, max_size=4),
    st.permutations(range(4)),
    st.sampled_from(["", "Who pays the audit?", "audit 12"]),
)
def test_scores_stay_in_range_and_do_not_depend_on_the_order(
    weights: dict[str, float], dense: list[float], order: list[int], query: str
) -> None:
    found = candidates_of(DOCUMENTS, FOUND, dense, [0, 1, 0, 2])
    reordered, moved = (
        reorder(candidate_facts(query, each), Ranking(weights)) for each in (found, taken(found, order))
    )
    assert (np.abs(reordered.scores) <= 1).all()
    assert sorted(reordered.order.tolist()) == [0, 1, 2, 3]
    assert (np.diff(reordered.scores[reordered.order]) <= 0).all()
    np.testing.assert_allclose(moved.scores, reordered.scores[order], atol=1e-6)


def test_arguments_are_not_modified() -> None:
    weights = dict(WEIGHTS)
    ranking = Ranking(weights)
    weights["document"] = 9.0
    assert ranking.weights["document"] == 0.5
    with pytest.raises(TypeError):
        ranking.weights["document"] = 9.0  # type: ignore[index]
    found = candidates_of(DOCUMENTS, FOUND, DENSE)
    columns = [copy.deepcopy(getattr(found, name)) for name in ("dense", "lexical", "texts", "before", "after")]
    reorder(candidate_facts("Who pays?", found), Ranking(dict.fromkeys(SIGNALS, 1.0)))
    for name, before in zip(("dense", "lexical", "texts", "before", "after"), columns, strict=True):
        np.testing.assert_array_equal(getattr(found, name), before)


BAD_WEIGHTS: list[object] = [None, "place", ["place"], {"cosine": 1.0}, {3: 1.0}]
BAD_WEIGHTS += [{"place": weight} for weight in ("1", None, True, math.nan, math.inf, 1e300, [1.0], 10**400)]


@pytest.mark.parametrize("weights", BAD_WEIGHTS, ids=repr)
def test_invalid_weights_are_refused(weights: object) -> None:
    with pytest.raises(InvalidInputError, match="; give "):
        Ranking(weights)  # type: ignore[arg-type]


def test_scores_are_spread_over_neighbors() -> None:
    # Rows 1 to 4 of one section; 2 and 4 were hit.
    neighbors = [(2, 1, 1), (2, 3, 1), (2, 4, 2), (4, 3, 1), (4, 2, 2)]
    assert spread({2: 10.0, 4: 2.0}, neighbors) == pytest.approx({1: 3, 2: 10.3, 3: 3.6, 4: 3.5})


def test_words_add_to_cosines_by_their_deviation() -> None:
    cosines, lexical = np.array([0.2, 0.4, 0.6]), np.array([0.0, 3.0, 0.0])
    deviation = np.sqrt(2 / 75)
    expected = cosines + 0.5 * deviation * np.array([-1, 2, -1]) / np.sqrt(2)
    np.testing.assert_allclose(fused_scores(cosines, lexical, 0.5), expected)
    np.testing.assert_allclose(fused_scores(cosines, lexical, 0), cosines)
