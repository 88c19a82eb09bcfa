"""Inline markup as it is shown, and what only looks like it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.answering.quotes.inline_markup import markup, rendered
from tests.properties import examples


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**a** __b__ *c* _d_ ***e*** ~~f~~ ==g==", "a b c d e f g"),
        ("**a _b_ c** and *a **b** c*", "a b c and a b c"),
        ("im**por**tant 请付**费用**到期 (_a_)", "important 请付费用到期 (a)"),
        ("*a\nb* and **Note:** c", "a\nb and Note: c"),
        ("[a](b) [a b](<c> 'd') [a](b_(c) \"d\") [a][1] [a][]", "a a b a a a"),
        ("[a *b*](c) and [[Page|label]] and [[Page]]", "a b and label and Page"),
        ("![logo](a.png)a <https://a.b> <a href='x'>c</a>", "a https://a.b c"),
        ("a\\_b \\* \\[c] \\\\", "a_b * [c] \\"),
        ("a &amp; b&nbsp;c &lt;d&gt; &#233;&#xe9;", "a & b\u00a0c <d> éé"),
        ("<b>a</b> <span class='x'>b</span>c<br>d<br />e<p>f</p>", "a bc d e f "),
        ("<!-- no -->a<img src='x'>b<wbr>c\\\nd", "abc\nd"),
        ("a.[^1] b.[12] c.² d[^note] \n[^1]: e", "a. b. c. d \n e"),
        ("m<sup>2</sup> H<sub>2</sub>O", "m² H₂O"),
        ("> a\n> b\n>> c\n   > d", "a\nb\nc\n   d"),
        ("> 5 of them\n> 6 of them", "5 of them\n6 of them"),
    ],
)
def test_markup_is_shown(text: str, shown: str) -> None:
    assert "".join(rendered(text)) == shown


@pytest.mark.parametrize(
    "text",
    [
        "a * b * c, 2*3*4, 2**3 ** 3, a*b*c",
        "snake_case_name, _private, __b",
        "*.txt and *.md, *a\n\nb*",
        "List<A> and Map<K, V>, a < b and c > d, <b without an end",
        "x[i][j] and a[1](b), [1][2], [a] [b]",
        "a&b; &unknownname; &; AT&T",
        "p\n> 5 and 3 > 2",
        "a ~ b ~~ c, a == b == c",
        "see [12] and [a](b c) and ](x)",
        "m² and a¹b",
        "C:\\new \\n",
    ],
)
def test_what_only_looks_like_markup_stays(text: str) -> None:
    assert "".join(rendered(text)) == text


@given(st.text(st.sampled_from("ab1 \n*_~=[](){}<>&;\\!^|>./\"'²"), max_size=60))
@examples(500)
def test_changes_are_in_order_and_disjoint(text: str) -> None:
    at = 0
    for start, end, shown in markup(text):
        assert at <= start < end <= len(text)
        assert shown != text[start:end]
        at = end


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        *(
            "[",
            "](",
            "[a](b",
            "[a](",
            "*a",
            "**a ",
            "_",
            "<b>",
            "<a ",
            "&a",
            "<!--",
            "\\",
            "~~a",
            "> a\n",
            "![",
            "[[a|",
        ),
        *("]]", "[a][b]", "[^a", "a.[1", "<sup>", "<https://a", "==a", "***a", "\n\n*", "[a\n\n"),
    ],
)
def test_shapes_that_nearly_match_are_read_to_the_end(piece: str) -> None:
    # 100,000 pieces: with anything worse than linear work this doesn't end.
    assert isinstance(markup(piece * 100_000), list)
