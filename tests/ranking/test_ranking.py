"""Rankings, their files, and the order they give."""

import copy
import json
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.ranking import (
    DEFAULT_RANKING,
    FORMAT,
    MAX_BYTES,
    SCALE,
    SIGNALS,
    Ranking,
    reorder,
    signals,
)
from tests.ranking.searches import candidates_of, taken

DOCUMENTS = {"a": [["The audit costs much.", "The buyer pays.", "Else nothing."]], "b": [["Audit", "The audit ends."]]}
FOUND = [("a", 0), ("a", 1), ("b", 1), ("b", 0)]
WEIGHTS = {"dense": 0.5, "coverage": 1.5, "place": -1.0}


def test_a_score_is_the_scaled_sum_of_weighted_signals() -> None:
    found = candidates_of(DOCUMENTS, FOUND, [0.4, 0.1, 0.3, 0.2])
    reordered = reorder("Who pays the audit?", found, Ranking(WEIGHTS))
    assert reordered.names == ("dense", "coverage", "place")  # in the order of the signals
    matrix = signals("Who pays the audit?", found, reordered.names)
    by_hand = matrix * [0.5, 1.5, -1.0] / (SCALE * 3.0)
    np.testing.assert_allclose(reordered.contributions, by_hand)
    np.testing.assert_allclose(reordered.scores, by_hand.sum(axis=1))
    assert reordered.order.tolist() == sorted(range(4), key=lambda row: -by_hand.sum(axis=1)[row])


def test_lines_of_a_table_of_contents_come_last_and_leave_the_other_scores() -> None:
    documents = {"a": [["Audit of the buyer 7", "Fees 8"], ["The buyer pays for the audit.", "Else nothing."]]}
    found = [("a", index) for index in range(4)]
    dense = [0.9, 0.1, 0.5, 0.2]
    query = "Who pays for the audit of the buyer?"
    plain = reorder(query, candidates_of(documents, found, dense), DEFAULT_RANKING)
    kinds = {("a", 0): "contents", ("a", 1): "contents"}
    told = reorder(query, candidates_of(documents, found, dense, kinds=kinds), DEFAULT_RANKING)
    assert plain.order[0] == 0
    assert set(told.order[:2].tolist()) == {2, 3}
    np.testing.assert_allclose(told.scores[2:], plain.scores[2:])


def test_words_count_by_their_weight() -> None:
    found = candidates_of(DOCUMENTS, FOUND, [0.4, 0.1, 0.3, 0.2])
    query = "Who pays the audit?"
    without = reorder(query, found, Ranking(WEIGHTS), word_weight=0)
    assert without.names == ("dense", "place")
    # Of the weights that match the query a fourth is left, so that of the others is a fourth, too.
    np.testing.assert_allclose(without.scores, reorder(query, found, Ranking({"dense": 0.5, "place": -0.25})).scores)
    double = reorder(query, found, Ranking(WEIGHTS), word_weight=2)
    np.testing.assert_allclose(double.scores, reorder(query, found, Ranking({**WEIGHTS, "coverage": 3})).scores)
    for wrong in (-1, math.nan, "1", True, None):
        with pytest.raises(InvalidInputError, match="word_weight"):
            reorder(query, found, Ranking(WEIGHTS), wrong)  # type: ignore[arg-type]


def test_equal_scores_are_told_by_dense_scores_then_as_given() -> None:
    found = candidates_of(DOCUMENTS, FOUND, [0.1, 0.3, 0.3, 0.2])
    for ranking in (Ranking({}), Ranking({"coverage": 1.0, "lexical": 1.0})):
        reordered = reorder("no such words", found, ranking)
        assert reordered.order.tolist() == [1, 2, 3, 0]
        assert reordered.scores.tolist() == [0] * 4
    assert reorder("", found, Ranking({"place": 1}), word_weight=0).order.tolist() == [3, 0, 1, 2]


def test_none_and_one() -> None:
    nothing = reorder("q", candidates_of(DOCUMENTS, []), DEFAULT_RANKING)
    assert (nothing.order.shape, nothing.scores.shape) == ((0,), (0,))
    assert nothing.contributions.shape == (0, len(DEFAULT_RANKING.weights))
    one = reorder("q", candidates_of(DOCUMENTS, FOUND[:1], [0.5]), DEFAULT_RANKING)
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
    ranking = Ranking(weights)
    reordered, moved = reorder(query, found, ranking), reorder(query, taken(found, order), ranking)
    assert (np.abs(reordered.scores) <= 1).all()
    assert sorted(reordered.order.tolist()) == [0, 1, 2, 3]
    assert (np.diff(reordered.scores[reordered.order]) <= 0).all()
    np.testing.assert_allclose(moved.scores, reordered.scores[order], atol=1e-6)


def test_what_was_given_stays_as_it_was() -> None:
    weights = dict(WEIGHTS)
    ranking = Ranking(weights)
    weights["dense"] = 9.0
    assert ranking.weights["dense"] == 0.5
    with pytest.raises(TypeError):
        ranking.weights["dense"] = 9.0  # type: ignore[index]
    found = candidates_of(DOCUMENTS, FOUND, [0.4, 0.1, 0.3, 0.2])
    columns = [copy.deepcopy(getattr(found, name)) for name in ("dense", "lexical", "texts", "before", "after")]
    reorder("Who pays?", found, Ranking(dict.fromkeys(SIGNALS, 1.0)))
    for name, before in zip(("dense", "lexical", "texts", "before", "after"), columns, strict=True):
        np.testing.assert_array_equal(getattr(found, name), before)


def test_files_hold_what_a_reader_can_read(tmp_path: Path) -> None:
    ranking = Ranking({"place": 0.25, "dense": 1, "coverage": float(np.float32(0.5)), "digit": 0.0}, "Fitted on É.")
    path = tmp_path / "ranking.json"
    ranking.save(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content == {
        "format": FORMAT,
        "version": 1,
        "description": "Fitted on É.",
        "weights": {"dense": 1.0, "coverage": 0.5, "place": 0.25},
    }
    assert Ranking.read(path) == Ranking.read(str(path)) == Ranking.from_json(ranking.to_json()) == ranking
    assert Ranking.from_json(DEFAULT_RANKING.to_json()) == DEFAULT_RANKING
    for twin in (copy.copy(ranking), copy.deepcopy(ranking), pickle.loads(pickle.dumps(ranking))):  # noqa: S301
        assert twin == ranking
        assert hash(twin) == hash(ranking)
    assert ranking != DEFAULT_RANKING


BAD_WEIGHTS: list[object] = [None, "dense", ["dense"], {"cosine": 1.0}, {3: 1.0}]
BAD_WEIGHTS += [{"dense": weight} for weight in ("1", None, True, math.nan, math.inf, 1e300, [1.0], 10**400)]


@pytest.mark.parametrize("weights", BAD_WEIGHTS, ids=repr)
def test_weights_that_can_not_be_used(weights: object) -> None:
    with pytest.raises(InvalidInputError, match="; give "):
        Ranking(weights)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="description is 3; give a string"):
        Ranking({}, 3)  # type: ignore[arg-type]


def written(**changes: object) -> str:
    content = {"format": FORMAT, "version": 1, "weights": {"dense": 1.0}, **changes}
    return json.dumps({key: value for key, value in content.items() if value is not ...})


BAD_TEXTS = {
    "empty": ("", "isn't JSON"),
    "no JSON": ("dense = 1", "isn't JSON"),
    "no object": ("[1]", "isn't a ranking"),
    "deep": ("[" * 50_000, "isn't JSON"),
    "huge number": ('{"version": ' + "9" * 5_000 + "}", "isn't JSON"),
    "large": (" " * (MAX_BYTES + 1), "at most 100,000"),
    "another format": (written(format="pickle"), "isn't a ranking"),
    "no format": (written(format=...), "isn't a ranking"),
    "version 2": (written(version=2), "version 2, and this version reads 1; upgrade"),
    "version true": (written(version=True), "version True"),
    "no version": (written(version=...), "version None"),
    "unknown key": (written(scale=2), "unknown key 'scale'"),
    "no weights": (written(weights=...), "no weights"),
    "weights of a list": (written(weights=[1]), r"weights is \[1\]"),
    "unknown signal": (written(weights={"cosine": 1}), "'cosine' isn't the name of a signal"),
    "number as text": (written(weights={"dense": "1"}), "the weight of dense is '1'"),
    "boolean": (written(weights={"dense": False}), "the weight of dense is False"),
    "NaN": (written(weights={"dense": math.nan}), "NaN isn't a finite number"),
    "overflow": (written().replace("1.0", "1e999"), "the weight of dense is inf"),
    "twice": (written().replace('{"dense": 1.0}', '{"dense": 1.0, "dense": 2.0}'), "a key occurs twice"),
    "description": (written(description=["x"]), "description is"),
}


@pytest.mark.parametrize("name", BAD_TEXTS)
def test_files_that_can_not_be_read(name: str, tmp_path: Path) -> None:
    text, message = BAD_TEXTS[name]
    with pytest.raises(InvalidInputError, match=message):
        Ranking.from_json(text)
    path = tmp_path / "ranking.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError, match=message) as caught:
        Ranking.read(path)
    assert "ranking.json" in str(caught.value)


def test_paths_that_can_not_be_used(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"\xff\xfe\xfa")
    for path in (tmp_path, tmp_path / "none.json", "a\0b", "\ud800", tmp_path / "latin", 3, None, b"x"):
        with pytest.raises(InvalidInputError, match="; give the path of a file"):
            Ranking.read(path)  # type: ignore[arg-type]
    for path in (tmp_path, tmp_path / "none" / "x.json", "a\0b", "\ud800", 3, None):
        with pytest.raises(InvalidInputError, match="; choose another path|; give the path"):
            DEFAULT_RANKING.save(path)  # type: ignore[arg-type]
    for text in (None, 3, b"{}"):
        with pytest.raises(InvalidInputError, match="give JSON"):
            Ranking.from_json(text)  # type: ignore[arg-type]
