"""Markup of documentation generators is in no sentence, everything else is, and windows stay slices."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import SentenceSplitter, SentenceWindowRetriever
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
    assert window.page_content == TEXT[window.metadata["start_index"] : window.metadata["end_index"]]
    assert window.page_content.startswith("Take it.\n\n/// note | Refunds\n\nA refund is due.\n\n///\n\n{% include")
    assert window.metadata["heading"] == "Seats"
    (alone,) = retriever.invoke("refund", k=1, fetch_k=1, window=0)
    assert alone.page_content == "A refund is due."
    inline = SentenceWindowRetriever.from_documents([Document(TEXT)], words, splitter=SentenceSplitter(inline_window=1))
    (window,) = inline.invoke("refund", k=1, fetch_k=1)
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
def test_ambiguous_markup_is_text(text: str) -> None:
    spans = SentenceSplitter().spans(text)
    assert "".join("".join(text[start:end].split()) for start, end in spans) == "".join(text.split())


def test_no_sentence_ends_inside_a_tag() -> None:
    text = 'The <abbr title="Door. And More">D</abbr> is shut. See <a\nhref="x" title="A! B">it</a>. Go.'
    assert [text[start:end] for start, end in SentenceSplitter().spans(text)] == [
        'The <abbr title="Door. And More">D</abbr> is shut.',
        'See <a\nhref="x" title="A! B">it</a>.',
        "Go.",
    ]


MARKS = (
    '# ¦ { #a }¦{: .b}¦!!! note "¦"¦!!! tip\n    ¦/// tip | ¦///¦:::note[¦]¦:::¦::: a.b¦```{note}\n¦```\n¦````¦=== "¦'
    "{% if x %}¦{% endif %}¦{{< a >}}¦{{ a.b }}¦<div>¦</div>¦<p align='c'>¦</p>¦<Tab a={b}>¦</Tab>¦--8<-- ¦{* a *}¦"
    "import A from './b';¦export const a = 1¦[TOC]¦- ¦    ¦> ¦---¦<!-- ¦ -->¦<table>¦</table>¦**¦`¦\n¦\n\n¦\r\n¦ ¦. "
    "¦Word. ¦Two words"
)


@given(st.lists(st.sampled_from(MARKS.split("¦")), max_size=25).map("".join), st.sampled_from(["auto", "markdown"]))
def test_sentences_are_in_order_for_any_markup(text: str, structure: str) -> None:
    sentences = SentenceSplitter(structure=structure).spans(text)  # type: ignore[arg-type]
    assert all(end <= start for (_, end), (start, _) in pairwise(sentences))
    assert bool(sentences) == bool(text.strip())
    assert all(text[start:end].strip() == text[start:end] != "" for start, end in sentences)


@given(
    st.lists(st.sampled_from(["!!! note\n    ", "/// tip\n\n", ":::tip\n\n", "{% if a %}\n", "<div>\n\n"]), max_size=4)
)
def test_no_word_below_markup_is_lost(marks: list[str]) -> None:
    text = "# Head {#a}\n\n" + "".join(f"{mark}Word {number} is here.\n\n" for number, mark in enumerate(marks))
    found = [text[start:end] for start, end in SentenceSplitter().spans(text)]
    assert found == ["# Head", *(f"Word {number} is here." for number in range(len(marks)))]
