"""Markup of documentation generators: it is left out by spans, nothing else is, and windows stay slices."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window.splitting.markup import shield_tags, strip_markup
from tests.toys import WordEmbeddings

TEXT = """# Seats { #seats }

!!! tip "Where to sit"
    A seat is free. Take it.

/// note | Refunds

A refund is due.

///

{% include seat.md %}

A card is lost. [Order one](card.md){ .button }
"""


def test_a_window_is_a_slice_of_its_source_with_the_markup_between_its_sentences(words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever.from_documents([Document(TEXT, metadata={"source": "a.md"})], words)
    (window,) = retriever.invoke("refund", k=1, fetch_k=1, window=2)
    start, end = window.metadata["start_index"], window.metadata["end_index"]
    assert window.page_content == TEXT[start:end]
    assert window.page_content.startswith("Take it.\n\n/// note | Refunds\n\nA refund is due.\n\n///\n\n{% include")
    assert window.metadata["heading"] == "Seats"
    (alone,) = retriever.invoke("refund", k=1, fetch_k=1, window=0)
    assert alone.page_content == "A refund is due."


def test_windows_that_are_stored_inline_hold_markup_too(words: WordEmbeddings) -> None:
    splitter = SentenceSplitter(inline_window=1)
    retriever = SentenceWindowRetriever.from_documents([Document(TEXT)], words, splitter=splitter)
    (window,) = retriever.invoke("refund", k=1, fetch_k=1)
    assert "A refund is due.\n\n///\n\n{% include" in window.page_content


@pytest.mark.parametrize(
    "text",
    [
        "A plain text. It has { braces } and <angle> brackets, and 3 < 4.",
        "Wow!!! Really??? Yes === no /// maybe ::: perhaps.",
        "!!! Attention\nThat was it.",
        "/// A comment of Rust that goes on",
        "Set {a=1} and {b}.",
        "{{NAME}}\n\nDear {{NAME}},",
        "import duties\nexport duties",
        "[Status]: approved\n[^1]: See the annex.",
    ],
)
def test_what_can_be_read_as_text_is_text(text: str) -> None:
    assert strip_markup(text).text == text
    assert [SentenceSplitter().spans(text)[0][0], SentenceSplitter().spans(text)[-1][1]] == [0, len(text)]


def test_no_sentence_is_cut_inside_a_tag_in_a_plain_text_either() -> None:
    text = 'The <abbr title="Door. And More">D</abbr> is shut. See <a\nhref="x" title="A! B">it</a>. Go.'
    assert [text[start:end] for start, end in SentenceSplitter().spans(text)] == [
        'The <abbr title="Door. And More">D</abbr> is shut.',
        'See <a\nhref="x" title="A! B">it</a>.',
        "Go.",
    ]
    assert len(shield_tags(text)) == len(text)


MARKS = st.sampled_from(
    [
        *(
            "# ",
            " { #a }",
            "{: .b}",
            '!!! note "',
            '"',
            "!!! tip\n    ",
            "/// tip | ",
            "///",
            ":::note[",
            "]",
            ":::",
            "::: a.b",
        ),
        *("```{note}\n", "```\n", "````{tip} ", "````", '=== "', "{% if x %}", "{% endif %}", "{{< a >}}", "{{ a.b }}"),
        *(
            "<div>",
            "</div>",
            '<p align="c">',
            "</p>",
            "<Tab a={b}>",
            "</Tab>",
            "import A from './b';",
            "export const a = 1",
        ),
        *("--8<-- ", "{* a *}", "[TOC]", "- ", "    ", "> ", "---", "<!-- ", " -->", "<table>", "</table>", "**", "`"),
        *("\n", "\n\n", "\r\n", " ", ". ", "Word. ", "Two words"),
    ]
)


@given(st.lists(MARKS, max_size=25).map("".join), st.sampled_from(["auto", "markdown"]))
def test_all_that_is_left_out_is_markup(text: str, structure: str) -> None:
    splitter = SentenceSplitter(structure=structure)  # type: ignore[arg-type]
    sentences = splitter.split_text(text)
    for one, other in pairwise(sentences):
        assert one.end <= other.start
        assert not any(map(str.isalnum, strip_markup(text).text[one.end : other.start]))
    assert bool(sentences) == bool(text.strip())
    assert all(text[one.start : one.end].strip() == text[one.start : one.end] != "" for one in sentences)


@given(
    st.lists(st.sampled_from(["!!! note\n    ", "/// tip\n\n", ":::tip\n\n", "{% if a %}\n", "<div>\n\n"]), max_size=4)
)
def test_no_word_below_markup_is_lost(marks: list[str]) -> None:
    text = "# Head {#a}\n\n" + "".join(f"{mark}Word {number} is here.\n\n" for number, mark in enumerate(marks))
    found = [text[start:end] for start, end in SentenceSplitter().spans(text)]
    assert found == ["# Head", *(f"Word {number} is here." for number in range(len(marks)))]
