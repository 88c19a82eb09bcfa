"""Filters of stores that keep metadata as JSON text: SQL never leaves out what a filter lets through."""

import json
import sqlite3
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.adapters.json_text import necessary_condition
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
    """Whether the condition in SQL lets metadata through."""
    condition = necessary_condition(filter, lambda text: f"instr(:text, {quoted(text)}) > 0")
    with sqlite3.connect(":memory:") as rows:
        ((found,),) = rows.execute(f"SELECT {condition or 1}", {"text": json.dumps(metadata)})
    rows.close()
    return bool(found)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@given(FILTERS, METADATA)
def test_what_a_filter_lets_through_is_in_the_text(filter: dict[str, Any], metadata: dict[str, Any]) -> None:
    if matcher(filter)(metadata):
        assert holds(filter, metadata)


@given(KEYS, TEXTS, METADATA)
def test_a_value_that_metadata_has_is_found(key: str, text: str, metadata: dict[str, Any]) -> None:
    for value in (text, [text], [1, text]):
        assert holds({key: text}, metadata | {key: value})
        assert holds({"$or": [{"absent": "x"}, {key: {"$in": ["y", text]}}]}, metadata | {key: value})


@pytest.mark.parametrize(
    ("filter", "condition"),
    [
        ({"a": "x"}, '(<"a": [> OR <"a": "x">)'),
        ({"a": {"$in": ["x", "y"]}}, '(<"a": [> OR <"a": "x"> OR <"a": "y">)'),
        ({"a": "x", "b": 1}, '(<"a": [> OR <"a": "x">)'),
        ({"$and": [{"a": "x"}, {"b": {"$gt": 1}}]}, '((<"a": [> OR <"a": "x">))'),
        ({"$or": [{"a": "x"}, {"b": {"$gt": 1}}]}, ""),
        ({"$or": [{"a": "x"}, {"b": "y"}]}, '(((<"a": [> OR <"a": "x">)) OR ((<"b": [> OR <"b": "y">)))'),
        ({"$not": {"a": "x"}}, ""),
        ({"a": {"$ne": "x"}}, ""),
        ({"a": {"$in": ["x", 1]}}, ""),
        ({"a": None}, ""),
        ({}, ""),
    ],
)
def test_strings_alone_are_looked_up(filter: dict[str, Any], condition: str) -> None:
    assert necessary_condition(filter, lambda text: f"<{text}>") == condition
