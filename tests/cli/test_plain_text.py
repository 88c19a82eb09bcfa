"""Text of documents on a terminal: nothing in it is interpreted."""

import json
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from langchain_sentence_window.apps.cli.output import escaped, laid_out, one_line, plain, printable, shortened

ANY_TEXT = st.text(st.characters())  # lone surrogates too
TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, naïve, 東京, e\u0301, 👩‍🚀", "plain, naïve, 東京, e\u0301, 👩‍🚀"),
        ("[bold]not bold[/bold] :smile:", "[bold]not bold[/bold] :smile:"),
        ("\x1b[2Jcleared", "[2Jcleared"),
        ("\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\", "]8;;https://evil.example\\link]8;;\\"),
        ("\x1b]0;title\x07", "]0;title"),
        ("\x9b31mred\x9b0m", "31mred0m"),
        ("abc\rxy\b\b", "abc\nxy"),
        (
            "one\r\ntwo\rthree\u2028four\u2029five\x0bsix\x0cseven\x85eight",
            "\n".join(["one", "two", "three", "four", "five", "six", "seven", "eight"]),
        ),
        ("a\tb", "a    b"),
        ("NUL\0, DEL\x7f", "NUL, DEL"),
        ("user\u202egnp.exe\u202c", "usergnp.exe"),
        ("tag\U000e0041\U000e007f, \ufffb, \u206a", "tag, , "),
        ("\udc80\ud800", "\ufffd\ufffd"),
        ("", ""),
    ],
)
def test_controls_are_left_out_and_everything_else_stays(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(ANY_TEXT)
def test_what_is_shown_holds_nothing_that_moves_the_cursor_or_turns_a_line(text: str) -> None:
    shown = printable(text)
    assert not [each for each in shown if unicodedata.category(each) in ("Cc", "Cs") and each != "\n"]
    assert not set(TURNING) & set(shown)
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
def test_json_says_the_same_without_what_a_terminal_interprets(value: object) -> None:
    written = escaped(json.dumps(value, ensure_ascii=False))
    # Not the value itself: two surrogates side by side are one character in JSON.
    assert json.loads(written) == json.loads(json.dumps(value))
    assert not [each for each in written if unicodedata.category(each) in ("Cc", "Cs")]
    assert not set(TURNING) & set(written)
    written.encode()


def test_json_holds_values_of_any_type() -> None:
    class Odd:
        def __str__(self) -> str:
            return "odd"

    given = {"nan": float("nan"), "inf": [float("inf")], 3: (1, 2), "odd": Odd(), "text": "a"}
    assert plain(given) == {"nan": None, "inf": [None], "3": [1, 2], "odd": "odd", "text": "a"}


@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT, ANY_TEXT), min_size=1, max_size=4), st.integers(30, 80))
def test_tables_fit_the_terminal_in_any_script(rows: list[tuple[str, str, str]], columns: int) -> None:
    lines = laid_out([(*row[:2], row[2][:5]) for row in rows], frozenset({2}), (1, 0), columns)
    assert len(lines) == len(rows)
    assert all(cell_len(line) <= columns for line in lines)


def test_wide_and_combining_characters_are_aligned() -> None:
    lines = laid_out([["name", "n"], ["東京", "1"], ["e\u0301te\u0301", "22"], ["plain", "333"]], frozenset({1}), (0,))
    assert lines == ["name     n", "東京     1", "e\u0301te\u0301     22", "plain  333"]
    assert shortened("東京都庁", 5) == "東京…"
    assert shortened("plain", 5) == "plain"
