"""Filters of stores that keep metadata as JSON text: SQL finds all that a filter matches."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.adapters.json_text import required_texts
from langchain_sentence_window.adapters.matchers import matcher

TEXTS = st.text("ab\"\\[]:, é\0😀'%_", max_size=4)
SCALARS = st.none() | st.booleans() | st.integers(-2, 2) | st.floats(-1, 1) | TEXTS
KEYS = st.sampled_from(["a", "b", 'a"', "a: [", "doc_id", "é'"])
METADATA = st.dictionaries(KEYS, SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(KEYS, SCALARS, max_size=2))
ORDERED = st.integers(-2, 2) | TEXTS
CONDITIONS = st.one_of(
    SCALARS,
    st.fixed_dictionaries({"$eq": SCALARS}),
    st.fixed_dictionaries({"$ne": SCALARS}),
    st.fixed_dictionaries({"$in": st.lists(SCALARS, max_size=3)}),
    st.fixed_dictionaries({"$nin": st.lists(SCALARS, max_size=3)}),
    st.fixed_dictionaries({"$gt": ORDERED}),
    st.fixed_dictionaries({"$contains": SCALARS}),
    st.fixed_dictionaries({"$exists": st.booleans()}),
    st.fixed_dictionaries({"$eq": TEXTS, "$in": st.lists(TEXTS, min_size=1, max_size=3)}),
)
FILTERS: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.dictionaries(KEYS, CONDITIONS, min_size=1, max_size=2),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"$and": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"$or": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"$not": inner}),
    ),
    max_leaves=4,
)


def holds(filter: dict[str, Any], metadata: dict[str, Any]) -> bool:
    """Whether metadata has the texts that a filter requires."""
    text = json.dumps(metadata)
    return all(any(each in text for each in texts) for texts in required_texts(filter))


@given(FILTERS, METADATA)
def test_matching_metadata_has_the_required_texts(filter: dict[str, Any], metadata: dict[str, Any]) -> None:
    if matcher(filter)(metadata):
        assert holds(filter, metadata)


@given(KEYS, TEXTS, METADATA)
def test_a_value_of_metadata_is_found(key: str, text: str, metadata: dict[str, Any]) -> None:
    for value in (text, [text], [1, text]):
        assert holds({key: text}, metadata | {key: value})
        assert holds({"$or": [{"absent": "x"}, {key: {"$in": ["y", text]}}]}, metadata | {key: value})


@pytest.mark.parametrize(
    ("filter", "texts"),
    [
        ({"a": {"$in": ["x", "y"]}, "b": 1}, [['"a": [', '"a": "x"', '"a": "y"']]),
        ({"$and": [{"a": "x"}, {"b": {"$gt": 1}}, {"b": "y"}]}, [['"a": [', '"a": "x"'], ['"b": [', '"b": "y"']]),
        ({"$or": [{"a": "x"}], "$not": {"a": "x"}, "a": {"$ne": "x"}, "b": {"$in": ["x", 1]}, "c": None}, []),
    ],
)
def test_only_strings_are_required(filter: dict[str, Any], texts: list[list[str]]) -> None:
    assert list(required_texts(filter)) == texts
