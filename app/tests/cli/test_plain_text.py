"""Text of documents on a terminal, where nothing in it is interpreted, and values as people type them."""

import json
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from langchain_sentence_window.errors import InvalidInputError
from sentence_window.cli.output import Output, one_line, printable
from sentence_window.cli.typed_values import read_filter, read_range, read_settings, read_value

ANY_TEXT = st.text(st.characters())  # lone surrogates too
DIRECTIONS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, naïve, 東京, e\u0301, 👩‍🚀 [bold] :smile:", "plain, naïve, 東京, e\u0301, 👩‍🚀 [bold] :smile:"),
        ("\x1b[2Jcleared\x1b]0;title\x07", "[2Jcleared]0;title"),
        ("\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\", "]8;;https://evil.example\\link]8;;\\"),
        ("\x9b31mred\x9b0m", "31mred0m"),
        ("abc\rxy\b\b\tNUL\0, DEL\x7f", "abc\nxy    NUL, DEL"),
        ("1\r\n2\r3\u20284\u20295\x0b6\x0c7\x858", "1\n2\n3\n4\n5\n6\n7\n8"),
        ("user\u202egnp.exe\u202c", "usergnp.exe"),
        ("tag\U000e0041\U000e007f, \ufffb, \u206a", "tag, , "),
        ("\udc80\ud800", "\ufffd\ufffd"),
    ],
)
def test_control_characters_are_left_out_and_others_stay(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(ANY_TEXT)
def test_printable_text_cannot_move_the_cursor_or_turn_a_line(text: str) -> None:
    shown = printable(text)
    assert not [each for each in shown if unicodedata.category(each) in ("Cc", "Cs") and each != "\n"]
    assert not set(DIRECTIONS) & set(shown)
    assert printable(shown) == shown
    assert "\n" not in one_line(text)
    shown.encode()


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | ANY_TEXT,
        lambda each: st.lists(each) | st.dictionaries(ANY_TEXT, each),
    )
)
@example("\ud800\udc00")
def test_json_is_the_same_without_what_a_terminal_interprets(value: object) -> None:
    written = written_json(value)
    # Not the value itself: two adjacent surrogates are one character in JSON.
    assert json.loads(written) == json.loads(json.dumps(value))
    assert not [each for each in written if unicodedata.category(each) in ("Cc", "Cs") and each != "\n"]
    assert not set(DIRECTIONS) & set(written)
    written.encode()


def test_json_contains_values_of_any_type() -> None:
    value = {"nan": float("nan"), "inf": [float("inf")], 3: (1, 2), "odd": st, "text": "a"}
    assert json.loads(written_json(value)) == {
        "nan": None,
        "inf": [None],
        "3": [1, 2],
        "odd": str(st),
        "text": "a",
    }


def written_json(value: object) -> str:
    from contextlib import redirect_stdout
    from io import StringIO

    with redirect_stdout(StringIO()) as stream:
        Output(as_json=True).document(value)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("true", True), ("False", False), ("none", None), ("null", None), ("3", 3), ("0.5", 0.5), ("", "")),
        *(("document", "document"), ('["a"]', ["a"]), ('{"place": 1}', {"place": 1}), (" edges ", "edges")),
        *(("1,6", (1, 6)), ("(1, 6)", (1, 6)), ("[0,2]", (0, 2)), ("a,b", "a,b")),
    ],
)
def test_values_are_read_as_people_type_them(text: str, value: object) -> None:
    assert read_value(text) == value
    assert read_settings([f"max-tokens={text}"]) == {"max_tokens": value}


@given(ANY_TEXT)
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in (read_value, lambda each: read_settings([each]), read_range, read_filter):
        try:
            read(text)
        except InvalidInputError as error:
            assert str(error)  # noqa: PT017 - only some texts are refused
