"""Filters in Python and in SQL match the same, for any metadata and any filter."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore
from langchain_sentence_window._primitives import STORABLE_ID
from langchain_sentence_window.adapters.matchers import matcher
from langchain_sentence_window.documents.keys import SENTENCE_KEYS
from langchain_sentence_window.errors import FilterError
from langchain_sentence_window.store.filters import filter_keys
from tests.filter_model import matches, nested_filters
from tests.properties import examples
from tests.toys import WordEmbeddings

STAND_INS = ("\\x00", "\\ue000")
MANY = [f"none of {number}" for number in range(101)]
"""More values than SQL repeats."""

texts = st.one_of(
    st.sampled_from(["a", "b", "ab", "10", "", "'", "a\0", "a\0b", "a\ue000", "\ue0001", "é", "😀", "\uffff"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
)
# Of floats, those that SQLite reads from JSON to the last bit.
numbers = st.one_of(
    st.integers(-2, 11),
    st.booleans(),
    st.sampled_from([0.5, 10.0, -0.0, 1e300]),
    st.sampled_from([2**53, 2**53 + 1, float(2**53), 2**63 - 1, -(2**63) + 1, 9.3e18]),
)
values = st.one_of(texts, numbers)
stored = st.one_of(
    values,
    st.none(),
    st.sampled_from([2**63, 2**64, -(2**70), 10**400, -(10**400)]),
    st.lists(values | st.none() | st.lists(values, max_size=1), max_size=4),
    st.dictionaries(st.sampled_from("xy"), values, max_size=1),
)
keys = st.sampled_from(["x", "y", "doc_id", "sentence_index", 'a.b"', "k\0", "key with blanks", "_"])


def is_storable(metadata: dict[str, Any]) -> bool:
    doc_id = metadata.get("doc_id")
    return not isinstance(doc_id, str) or STORABLE_ID.fullmatch(doc_id) is not None


metadatas: st.SearchStrategy[dict[str, Any]] = st.dictionaries(keys, stored, max_size=4).filter(is_storable)
operations = st.one_of(
    st.tuples(st.sampled_from(["$eq", "$ne", "$contains", "$not_contains"]), st.one_of(values, st.none())),
    st.tuples(st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), values),
    st.tuples(st.sampled_from(["$in", "$nin"]), st.lists(st.one_of(values, st.none()), max_size=3)),
    st.tuples(st.sampled_from(["$in", "$nin"]), st.lists(values, max_size=3).map(lambda some: [*some, *MANY])),
    st.tuples(st.just("$between"), st.tuples(values, values).map(list)),
    st.tuples(st.just("$exists"), st.booleans()),
)
clauses = st.dictionaries(
    keys, st.one_of(values, st.none(), st.lists(operations, min_size=1, max_size=2).map(dict)), max_size=2
)
filters = nested_filters(clauses)


@examples(400)
@given(st.lists(metadatas, max_size=6), filters)
def test_python_matches_what_sql_matches(given: list[dict[str, Any]], filter: dict[str, Any]) -> None:
    ids = [str(number) for number in range(len(given))]
    with FaissStore(WordEmbeddings()) as store:
        store.add_documents(
            [Document(page_content="page", metadata=each, id=id_) for each, id_ in zip(given, ids, strict=True)]
        )
        in_sql = [found.id for found in store.get_by_ids_within(ids, filter)]
        stored = {found.id: found.metadata for found in store.get_by_ids(ids)}
    holds = matcher(filter)
    assert [id_ for id_ in ids if holds(stored[id_])] == in_sql
    # Lists under keys of the package aren't looked into, and a NUL is stored as another character.
    if SENTENCE_KEYS.isdisjoint(filter_keys(filter)) and not any(odd in repr((given, filter)) for odd in STAND_INS):
        assert [id_ for id_ in ids if matches(stored[id_], filter)] == in_sql


@pytest.mark.parametrize(
    "filter", [{"x": {"$like": "a"}}, {"x": {"$gt": None}}, {"$or": []}, {1: 1}, "x = 1", {"x": {}}]
)
def test_an_invalid_filter_is_refused(filter: Any) -> None:
    with pytest.raises(FilterError):
        matcher(filter)


def test_values_of_other_stores_that_json_cannot_hold_match_nothing() -> None:
    assert not matcher({"x": {"$gt": 0}})({"x": math.nan})
    assert not matcher({"x": 1})({"x": object()})
