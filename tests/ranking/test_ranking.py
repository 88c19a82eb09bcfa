"""Rankings, and the order they give."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.ranking import DEFAULT_RANKING, SCALE, Ranking, reorder
from langchain_sentence_window.ranking.signals import SIGNALS, CandidateFacts, signals
from tests.ranking.searches import candidates_of, taken

DOCUMENTS = {"a": [["The audit costs much.", "The buyer pays.", "Else nothing."]], "b": [["Audit", "The audit ends."]]}
FOUND = [("a", 0), ("a", 1), ("b", 1), ("b", 0)]
WEIGHTS = {"document": 0.5, "coverage": 1.5, "place": -1.0}
DENSE = [0.4, 0.1, 0.3, 0.2]


def facts_of(dense: list[float], query: str = "Who pays the audit?") -> CandidateFacts:
    return CandidateFacts(query, candidates_of(DOCUMENTS, FOUND, dense))


def test_a_score_is_the_scaled_sum_of_weighted_signals() -> None:
    facts = facts_of(DENSE)
    reordered = reorder(facts, Ranking(WEIGHTS))
    assert reordered.names == ("document", "coverage", "place")  # in the order of the signals
    matrix = signals(facts, reordered.names)
    by_hand = matrix * [0.5, 1.5, -1.0] / (SCALE * 3.0)
    np.testing.assert_allclose(reordered.contributions, by_hand)
    np.testing.assert_allclose(reordered.scores, by_hand.sum(axis=1))
    assert reordered.order.tolist() == sorted(range(4), key=lambda row: -by_hand.sum(axis=1)[row])


def test_lines_of_a_table_of_contents_come_last_and_leave_the_other_scores() -> None:
    documents = {"a": [["Audit of the buyer 7", "Fees 8"], ["The buyer pays for the audit.", "Else nothing."]]}
    found = [("a", index) for index in range(4)]
    dense = [0.9, 0.1, 0.5, 0.2]
    query = "Who pays for the audit of the buyer?"
    plain = reorder(CandidateFacts(query, candidates_of(documents, found, dense)), DEFAULT_RANKING)
    kinds = {("a", 0): "contents", ("a", 1): "contents"}
    marked = reorder(CandidateFacts(query, candidates_of(documents, found, dense, kinds=kinds)), DEFAULT_RANKING)
    assert plain.order[0] == 0
    assert set(marked.order[:2].tolist()) == {2, 3}
    np.testing.assert_allclose(marked.scores[2:], plain.scores[2:])


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
    nothing = reorder(CandidateFacts("q", candidates_of(DOCUMENTS, [])), DEFAULT_RANKING)
    assert (nothing.order.shape, nothing.scores.shape) == ((0,), (0,))
    assert nothing.contributions.shape == (0, len(DEFAULT_RANKING.weights))
    one = reorder(CandidateFacts("q", candidates_of(DOCUMENTS, FOUND[:1], [0.5])), DEFAULT_RANKING)
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
    reordered, moved = (reorder(CandidateFacts(query, each), Ranking(weights)) for each in (found, taken(found, order)))
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
    reorder(CandidateFacts("Who pays?", found), Ranking(dict.fromkeys(SIGNALS, 1.0)))
    for name, before in zip(("dense", "lexical", "texts", "before", "after"), columns, strict=True):
        np.testing.assert_array_equal(getattr(found, name), before)


def test_copies_are_equal() -> None:
    ranking = Ranking({"place": 0.25, "document": 1, "coverage": float(np.float32(0.5)), "label": 0.0})
    assert dict(ranking.weights) == {"document": 1.0, "coverage": 0.5, "place": 0.25}
    for twin in (copy.copy(ranking), copy.deepcopy(ranking), pickle.loads(pickle.dumps(ranking))):  # noqa: S301
        assert twin == ranking
        assert hash(twin) == hash(ranking)
    assert ranking != DEFAULT_RANKING
    assert set(DEFAULT_RANKING.weights) == set(SIGNALS)


BAD_WEIGHTS: list[object] = [None, "place", ["place"], {"cosine": 1.0}, {3: 1.0}]
BAD_WEIGHTS += [{"place": weight} for weight in ("1", None, True, math.nan, math.inf, 1e300, [1.0], 10**400)]


@pytest.mark.parametrize("weights", BAD_WEIGHTS, ids=repr)
def test_invalid_weights_are_refused(weights: object) -> None:
    with pytest.raises(InvalidInputError, match="; give "):
        Ranking(weights)  # type: ignore[arg-type]
