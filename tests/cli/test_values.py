"""Values as people type them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.apps.cli.opened_index import read_range
from langchain_sentence_window.apps.cli.typed_values import (
    read_filter,
    read_numbers,
    read_settings,
    read_value,
    read_window,
)
from langchain_sentence_window.errors import FilterError, InvalidInputError
from langchain_sentence_window.retrieval.settings import REMEMBERED, SETTINGS


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("auto", "auto"),
        ("2", 2),
        ("1,6", (1, 6)),
        ("(1, 6)", (1, 6)),
        ("[0,2]", (0, 2)),
        ('{"faq": 1}', {"faq": 1}),
        ("", ""),
    ],
)
def test_windows(text: str, window: object) -> None:
    assert read_window(text) == window


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("true", True), ("False", False), ("none", None), ("null", None), ("3", 3), ("0.5", 0.5)),
        *(("document", "document"), ('["a"]', ["a"]), ('{"place": 1}', {"place": 1}), (" edges ", "edges")),
    ],
)
def test_values(text: str, value: object) -> None:
    assert read_value(text) == value


def test_settings_have_names_and_values() -> None:
    assert read_settings(["k=3", "max-tokens=none", "window=1,6", "order=a=b"]) == {
        "k": 3,
        "max_tokens": None,
        "window": (1, 6),
        "order": "a=b",
    }
    for wrong in ("k", "=3", " =3", ""):
        with pytest.raises(InvalidInputError, match="write NAME=VALUE"):
            read_settings([wrong])


def test_every_setting_that_can_be_remembered_says_what_it_takes() -> None:
    assert {name for name, row in SETTINGS.items() if row.typed} == REMEMBERED


def test_filters_are_json_objects() -> None:
    assert read_filter('{"year": {"$gte": 2024}}') == {"year": {"$gte": 2024}}
    assert read_filter(None) is None
    for wrong in ("", "source", "[1]", "3", "{", '"a"', "[" * 100_000):
        with pytest.raises(FilterError, match="isn't a JSON object"):
            read_filter(wrong)


def test_numbers_and_ranges() -> None:
    assert read_numbers("-k", "10, 20") == [10, 20]
    assert read_range("3") == range(3, 4)
    assert list(map(read_range, ("3-5", " 3 – 5 ", "3,5", "3:5"))) == [range(3, 6)] * 4
    for wrong in ("", "a", "1,", "1.5"):
        with pytest.raises(InvalidInputError, match="give whole numbers"):
            read_numbers("-k", wrong)
    for wrong in ("", "5-3", "a-b", "1-2-3", "-1", "9" * 5_000):
        with pytest.raises(InvalidInputError, match="such as 12-15"):
            read_range(wrong)


@given(st.text(st.characters()))
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in (read_value, read_window, lambda each: read_settings([each]), read_range, read_filter):
        try:
            found: Any = read(text)
        except InvalidInputError as error:
            assert str(error)  # noqa: PT017 - only some texts are refused
        else:
            assert found is not NotImplemented
