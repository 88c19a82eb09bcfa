"""Front matter is metadata if it can be read, else text; its values are those of a stranger."""

import json
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore, SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window.documents.keys import CONTRACT_KEYS
from tests.forms import Invoke
from tests.toys import WordEmbeddings

TEXT = """---
title: Terms of Service
date: 2024-01-02
changed: 2024-01-02 10:06:33
words: 12
share: 0.25
draft: false
nothing:
tags: [law, money]
---

A card. A seat.
"""
EXPECTED = {
    "title": "Terms of Service",
    "date": "2024-01-02",
    "changed": "2024-01-02T10:06:33",
    "words": 12,
    "share": 0.25,
    "draft": False,
    "tags": ["law", "money"],
}


def values(yaml: str, newline: str = "\n") -> dict[str, Any]:
    """What of the front matter of a document is metadata of its last sentence."""
    text = f"---\n{yaml}\n---\nA card.".replace("\n", newline)
    retriever = SentenceWindowRetriever.from_documents([Document(text, id="a")], WordEmbeddings())
    [window] = retriever.invoke("card", k=1, fetch_k=1, window=0)
    assert window.page_content == "A card."
    return {key: value for key, value in window.metadata.items() if key not in CONTRACT_KEYS}


@pytest.mark.parametrize(
    ("yaml", "expected"),
    [
        (TEXT.split("---\n")[1].strip(), EXPECTED),
        ("'a b': c", {"a b": "c"}),
        ("# a remark\na: b\n\nc: d", {"a": "b", "c": "d"}),
        ("a: |\n  two\n  lines", {"a": "two\nlines"}),
        ("a: .nan\nb: .inf\nc: 1", {"c": 1}),
        (f"a: {2**70}\nb: 1", {"b": 1}),
        ('a: "\\0"\nb: "\\uD800"\nc: " "\nd: x', {"d": "x"}),
        ('"\\0": a\n1: b\nc: d', {"c": "d"}),
        ("a: {b: c, 1: d, e: .nan}\nf: [g, null, 2024-01-02]", {"a": {"b": "c"}, "f": ["g", "2024-01-02"]}),
    ],
)
def test_values_that_a_store_can_hold_are_metadata(yaml: str, expected: dict[str, Any]) -> None:
    for newline in ("\n", "\r\n", "\r"):
        assert values(yaml, newline) == expected


@pytest.mark.parametrize(
    "yaml",
    [
        *("no colon", "- a\n- b", "a: b: c", "a: [", "a: 2024-13-45", "a: &x 1\nb: *x", "a: !!python/name:os.system"),
        "a: " + "[" * 5_000,
        "a: " + "9" * 5_000,
        "a: b\n" * 2_000,
        "a: &a [x]\n" + "\n".join(f"b{i}: &b{i} [*a, *a]" for i in range(40)),
    ],
    ids=lambda yaml: yaml[:20],
)
def test_unreadable_front_matter_stays_text(yaml: str) -> None:
    text = f"---\n{yaml}\n---\nA card."
    sentences = SentenceSplitter(max_chars=None).split_text(text)
    shown = "".join(text[each.start : each.end] for each in sentences)
    assert all(word in shown for word in text.replace("---", "").split())  # rules are left out
    [*_, made] = SentenceSplitter().split_documents([Document(page_content=text)])
    assert made.metadata.keys() <= CONTRACT_KEYS


@given(st.text(st.characters(codec=None), max_size=80))
def test_any_text_may_be_front_matter(written: str) -> None:
    text = f"---\n{written}\n---\nA card."
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of values that not any store holds
        [*_, made] = SentenceSplitter().split_documents([Document(text)])
    assert "A card." in made.page_content
    assert json.loads(json.dumps(made.metadata)) == made.metadata


async def test_its_keys_are_metadata_of_the_document(words: WordEmbeddings, way: Invoke) -> None:
    given_ = Document(page_content=TEXT, id="a", metadata={"title": "My own", "draft": ["a list"]})
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words, neighbor_weights=(1,)), lexical_weight=0)
    await way(retriever, "add_documents", [given_])
    assert given_.metadata == {"title": "My own", "draft": ["a list"]}
    [found] = await way(retriever, "invoke", "seat", k=1, window=9)
    assert (found.page_content, found.metadata["start_index"]) == ("A card. A seat.", TEXT.index("A card."))
    assert found.metadata["title"] == "My own"
    assert (found.metadata["draft"], found.metadata["tags"]) == (["a list"], ["law", "money"])
    assert (found.metadata["words"], found.metadata["date"]) == (12, "2024-01-02")
    assert found.metadata["heading"] == "Terms of Service"
    assert await way(retriever, "invoke", "seat", filter={"words": 12})
    assert not await way(retriever, "invoke", "seat", filter={"words": 13})
    [read] = await way(retriever, "get", ["a"])
    assert (read.page_content, read.metadata["words"]) == ("A card. A seat.", 12)


def test_a_document_of_front_matter_alone_has_no_sentence() -> None:
    assert SentenceSplitter().split_documents([Document(page_content="---\ntitle: Terms\n---\n")]) == []


def test_text_that_is_not_markdown_has_no_front_matter() -> None:
    [made, *_] = SentenceSplitter(structure="plain").split_documents([Document(page_content=TEXT)])
    assert made.metadata.keys() <= CONTRACT_KEYS
    [element] = SentenceSplitter().split_documents([Document(page_content=TEXT, metadata={"category": "CodeSnippet"})])
    assert element.metadata.keys() <= {*CONTRACT_KEYS, "category"}


@pytest.mark.filterwarnings("ignore:.*a page is missing:UserWarning")
async def test_only_the_beginning_of_a_document_is_front_matter(words: WordEmbeddings, way: Invoke) -> None:
    pages = [
        Document(page_content=text, metadata={"source": "a.pdf", "page": page})
        for page, text in ((0, "---\narea: law\n---\nA card."), (5, "---\npage: 7\n---\nA seat."))
    ]
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words), lexical_weight=0)
    await way(retriever, "add_documents", pages)
    [found] = await way(retriever, "get", ["a.pdf"])
    assert found.page_content.startswith("A card.")
    assert "page: 7" in found.page_content
    [seat] = await way(retriever, "invoke", "seat", k=1, window=0)
    assert (seat.metadata["area"], seat.metadata["pages"]) == ("law", [5])
