"""Front matter is read as data of a stranger: as metadata where it can be, and else as text."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore, SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window.documents.keys import CONTRACT_KEYS
from langchain_sentence_window.splitting.front_matter import MAX_FRONT_MATTER_CHARS, read_front_matter
from tests.conftest import Invoke
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


def values(yaml: str) -> dict[str, Any] | None:
    found = read_front_matter(f"---\n{yaml}\n---\nA card.")
    return None if found is None else dict(found.values)


def test_scalars_are_read_and_dates_are_written_as_iso_8601() -> None:
    found = read_front_matter(TEXT)
    assert found is not None
    assert TEXT[found.end :] == "\n\nA card. A seat.\n"
    assert dict(found.values) == {
        "title": "Terms of Service",
        "date": "2024-01-02",
        "changed": "2024-01-02T10:06:33",
        "words": 12,
        "share": 0.25,
        "draft": False,
        "tags": ["law", "money"],
    }


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("before", ["", "\ufeff"])
def test_any_line_end_will_do_and_a_byte_order_mark_too(newline: str, before: str) -> None:
    text = before + TEXT.replace("\n", newline)
    found = read_front_matter(text)
    assert found is not None
    assert (found.title, text[found.end :].strip()) == ("Terms of Service", "A card. A seat.")


@pytest.mark.parametrize(
    ("yaml", "expected"),
    [
        ("a: b", {"a": "b"}),
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
def test_what_a_store_could_not_hold_is_left_out(yaml: str, expected: dict[str, Any]) -> None:
    assert values(yaml) == expected


@pytest.mark.parametrize(
    "yaml",
    [
        *(
            "",
            "no colon",
            "- a\n- b",
            "a: b: c",
            "a: [",
            "a: 2024-13-45",
            "a: &x 1\nb: *x",
            "a: !!python/name:os.system",
        ),
        "a: " + "[" * 5_000,
        "a: " + "9" * 5_000,
        "a: b\n" * (MAX_FRONT_MATTER_CHARS // 5),
        "a: &a [x]\n" + "\n".join(f"b{i}: &b{i} [*a, *a]" for i in range(40)),
    ],
    ids=lambda yaml: yaml[:20],
)
def test_what_cannot_be_read_stays_text(yaml: str) -> None:
    assert values(yaml) is None
    text = f"---\n{yaml}\n---\nA card."
    sentences = SentenceSplitter(max_chars=None).split_text(text)
    shown = "".join(text[each.start : each.end] for each in sentences)
    assert all(word in shown for word in text.replace("---", "").split())  # rules are left out
    [*_, made] = SentenceSplitter().split_documents([Document(page_content=text)])
    assert made.metadata.keys() <= CONTRACT_KEYS


@given(st.text(st.characters(codec=None), max_size=80))
def test_any_text_may_stand_there(written: str) -> None:
    text = f"---\n{written}\n---\nA card."
    found = read_front_matter(text)
    if found is not None:
        assert text[: found.end].endswith("---")
        assert json.loads(json.dumps(dict(found.values))) == dict(found.values)
    spans = SentenceSplitter().spans(text)
    assert "A card." in text[spans[-1][0] : spans[-1][1]]


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


async def test_its_keys_never_pass_for_those_of_the_contract(words: WordEmbeddings, way: Invoke) -> None:
    forged = "\n".join(f"{key}: 7" for key in sorted(CONTRACT_KEYS))
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words), lexical_weight=0)
    await way(retriever, "add_documents", [Document(page_content=f"---\n{forged}\n---\nA card. A seat.", id="a")])
    [found] = await way(retriever, "invoke", "seat", k=1, window=9)
    assert (found.page_content, found.metadata["doc_id"], found.metadata["sentences"]) == (
        "A card. A seat.",
        "a",
        [0, 1],
    )
    assert {key: found.metadata[f"source_{key}"] for key in CONTRACT_KEYS} == dict.fromkeys(CONTRACT_KEYS, 7)
    assert "relevance_score" not in found.metadata


def test_a_document_of_front_matter_alone_has_no_sentence() -> None:
    assert SentenceSplitter().split_documents([Document(page_content="---\ntitle: Terms\n---\n")]) == []


def test_text_that_is_not_markdown_has_none() -> None:
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
