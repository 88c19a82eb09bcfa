"""Values converted to what JSON holds."""

import json
from collections import UserDict
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.documents.metadata_values import MAX_LEVELS, MAX_VALUES, as_json
from tests.toys import nested_list

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
any_values = st.recursive(
    st.one_of(
        *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(st.characters()), st.binary(), st.dates()),
        *(st.datetimes(), st.timedeltas(), st.decimals(), st.uuids(), st.just(object())),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=2) | st.integers(0, 2) | st.booleans() | st.dates(), inner, max_size=3),
    ),
    max_leaves=10,
)


class Color(Enum):
    RED = "red"
    BOTH = ("red", 1)
    NONE = object()


class Word(StrEnum):
    A = "a"


class Old(str, Enum):  # noqa: UP042 - prints as Old.A
    A = "a"


class Number(IntEnum):
    ONE = 1


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "another"


class Endless(list[int]):
    def __iter__(self) -> Iterator[int]:
        while True:
            yield 1


CIRCULAR: dict[str, Any] = {}
CIRCULAR["itself"] = [CIRCULAR, CIRCULAR]


def laughs() -> list[Any]:
    """A list of 2**60 values, made of 60 lists."""
    made: list[Any] = []
    for _ in range(60):
        made = [made, made]
    return made


@given(json_values)
def test_values_of_json_are_copied(value: Any) -> None:
    converted = as_json(value)
    assert json.dumps(converted) == json.dumps(value)
    assert not isinstance(value, list | dict) or converted is not value


@given(any_values)
def test_a_converted_value_comes_back_from_json(value: Any) -> None:
    try:
        converted = as_json(value)
    except ValueError:
        return
    assert json.loads(json.dumps(converted, allow_nan=False)) == converted
    assert as_json(converted) == converted


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (date(2024, 5, 1), "2024-05-01"),
        (datetime(2024, 5, 1, 12, 30, tzinfo=UTC), "2024-05-01T12:30:00+00:00"),
        (time(12, 30), "12:30:00"),
        (Decimal("1.10"), "1.10"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("a/b.md"), "a/b.md"),
        ((1, ("a",)), [1, ["a"]]),
        ({"b", "a", 2, 10, None}, [2, 10, None, "a", "b"]),
        (frozenset({(1, 2)}), [[1, 2]]),
        (MappingProxyType({1: {"x": ()}}), {"1": {"x": []}}),
        (UserDict(a=1), {"a": 1}),
        ({Word.A: Old.A}, {"a": "a"}),
        (Color.RED, "red"),
        (Color.BOTH, ["red", 1]),
        (Number.ONE, 1),
        (Text("a"), "a"),
        ("\ud800\udc00\udc00", "\U00010000\udc00"),
        ({"\ud800\udc00": 1}, {"\U00010000": 1}),
        (True, True),
        (2**70, 2**70),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (np.datetime64("2024-05-01T12:30"), "2024-05-01T12:30"),
        (nested_list(MAX_LEVELS - 1), nested_list(MAX_LEVELS - 1)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_becomes_its_nearest_in_json(value: Any, expected: Any) -> None:
    converted = as_json(value)
    assert converted == expected
    assert type(converted) is type(expected)


@pytest.mark.parametrize(
    "value",
    [
        object(),
        b"a",
        float("nan"),
        [1, float("inf")],
        timedelta(1),
        Color.NONE,
        10**5_000,
        {1: "a", "1": "b"},
        {True: 1},
        {None: 1},
        np.array([1, 2]),
        np.datetime64("NaT", "s"),
        np.float64("nan"),
        CIRCULAR,
        Endless(),
        laughs(),
        [0] * MAX_VALUES,
        nested_list(MAX_LEVELS),
        nested_list(100_000),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_values_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        as_json(value)
