"""Markdown inside a paragraph: every character is there once, in order, and looks as CommonMark says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.apps.studio.document_blocks import styled

MARKS = st.text(st.sampled_from("*_`[]()!<>\\\n ab:\"'~é\0\U0001f600\ud800"), max_size=60)


def shown(text: str) -> list[tuple[str, str]]:
    """The text that is shown, with its styles."""
    return [(text[start:end], style) for start, end, style in styled(text, 0, len(text)) if "m" not in style]


@given(st.one_of(st.text(), MARKS))
def test_stretches_tile_any_text(text: str) -> None:
    found = styled(text, 0, len(text))
    assert "".join(text[start:end] for start, end, _ in found) == text
    assert all(start < end for start, end, _ in found)
    assert [start for start, _, _ in found[1:]] == [end for _, end, _ in found[:-1]]
    assert all("".join(sorted(set(style))) == style for _, _, style in found)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("plain, 2 * 3 and a_b_c", [("plain, 2 ", ""), ("* 3 and a", ""), ("_", ""), ("b", ""), ("_", ""), ("c", "")]),
        ("**bold**", [("bold", "b")]),
        ("*it* and __strong__", [("it", "i"), (" and ", ""), ("strong", "b")]),
        ("***both***", [("both", "bi")]),
        ("**a *b* c**", [("a ", "b"), ("b", "bi"), (" c", "b")]),
        ("`a*b*` ``x`y``", [("a*b*", "c"), (" ", ""), ("x`y", "c")]),
        ("`a", [("`a", "")]),
        ("[text](https://a.b/c(d) 'title') end", [("text", "l"), (" end", "")]),
        ("![alt](x.png)", [("alt", "g")]),
        ("[a] (b)", [("[a] (b)", "")]),
        ("<https://a.b>", [("https://a.b", "l")]),
        (r"\*no\*", [("*no", ""), ("*", "")]),
        ("one\\\ntwo  \nthree", [("one", ""), ("\n", "n"), ("two", ""), ("  \n", "n"), ("three", "")]),
        ("<script>alert(1)</script>", [("<script>alert(1)</script>", "")]),
        ("[x](javascript:alert(1))", [("x", "l")]),
    ],
)
def test_marks_are_told_from_text(text: str, wanted: list[tuple[str, str]]) -> None:
    joined: list[tuple[str, str]] = []
    for part, style in shown(text):
        joined.append((part, style))
    squeezed = [each for each in joined if each[0]]
    assert merged(squeezed) == merged(wanted)


def merged(found: list[tuple[str, str]]) -> list[tuple[str, str]]:
    made: list[tuple[str, str]] = []
    for text, style in found:
        if made and made[-1][1] == style:
            made[-1] = made[-1][0] + text, style
        else:
            made.append((text, style))
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        "[",
        "[](",
        "* a",
        "*a ",
        "_*",
        "`" * 7 + " `",
        "<a",
        "<ab:",
        "\\",
        "**",
        "a**b",
        "[x](a '",
        "[x](a",
        "* ",
        "](",
        "  ",
    ],
)
def test_long_runs_of_marks_are_read(unit: str) -> None:
    text = unit * 20_000 + "*_" * 5_000  # more than quadratic work could finish
    found = styled(text, 0, len(text))
    assert found[-1][1] == len(text)
