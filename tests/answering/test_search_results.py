"""Windows as search_result blocks: verbatim, with a text block for each sentence."""

import copy
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window.citations import as_search_results
from tests.answering.windows import ANY_DOCUMENTS, PAGED, index_of, sentence, window, windows

GAP = "\n[...]\n"


def texts(result: dict[str, Any]) -> list[str]:
    return [block["text"] for block in result["content"]]


def test_a_block_for_each_sentence_with_the_white_space_after_it() -> None:
    assert as_search_results([window("rules", 1, 4)]) == [
        {
            "type": "search_result",
            "source": "rules.md",
            "title": "rules.md (Rules)",
            "content": [
                {"type": "text", "text": "Some words.  "},
                {"type": "text", "text": "And more. "},
                {"type": "text", "text": "A third one.\t"},
                {"type": "text", "text": "A fourth."},
            ],
            "citations": {"enabled": True},
        }
    ]


def test_lead_ins_come_first_and_end_with_a_gap() -> None:
    row = index_of("rules", "card")
    (result,) = as_search_results([window("rules", row, row)])
    assert texts(result) == ["| Plan | Price |" + GAP, "| card | 9 |"]
    item = index_of("rules", "a seat")
    (result,) = as_search_results([window("rules", item, row)])
    assert texts(result)[:2] == ["Never use it for:" + GAP, "- a seat\n\n"]


def test_the_name_is_the_address_and_the_title_says_pages_and_heading() -> None:
    (result,) = as_search_results([window(PAGED, 1, 3)])
    assert (result["source"], result["title"]) == ("terms.pdf", "Terms, pp. i–ii (Terms)")
    metadata = {"source": "a.md", "url": "https://a.b/c?d=e#f", "title": " The\n title "}
    (result,) = as_search_results([Document("One.", metadata=metadata)])
    assert (result["source"], result["title"]) == ("https://a.b/c?d=e#f", "The title")
    (result,) = as_search_results([Document("One.")])
    assert (result["source"], result["title"]) == ("source", "source")


@given(st.lists(windows(), max_size=4))
def test_the_sentences_joined_are_the_text_of_the_window(given_: list[Document]) -> None:
    before = copy.deepcopy(given_)
    results = as_search_results(given_)
    assert given_ == before
    assert len(results) == len(given_)
    for each, result in zip(given_, results, strict=True):
        first, last = each.metadata["sentences"]
        own = texts(result)[len(each.metadata.get("lead_ins", [])) :]
        assert "".join(own) == each.page_content
        assert [text.rstrip() for text in own] == [
            sentence(each.metadata["doc_id"], index) for index in range(first, last + 1)
        ]


def check_sendable(given_: Sequence[Document]) -> None:
    results = as_search_results(given_)
    assert json.loads(json.dumps(results, ensure_ascii=False).encode()) == results
    kept = [each for each in given_ if each.page_content.strip()]
    for each, result in zip(kept, results, strict=True):
        own = "".join(text for text in texts(result) if not text.endswith(GAP) or GAP in each.page_content)
        assert own == each.page_content.encode("utf-8", "replace").decode()
        assert all(text.strip() for text in texts(result))
        for line in (result["source"], result["title"]):
            assert line.strip() == line != ""
            assert len(line.splitlines()) == 1
            assert len(line) < 3000


@given(st.lists(ANY_DOCUMENTS, max_size=3))
def test_any_document_can_be_sent(given_: list[Document]) -> None:
    check_sendable(given_)


@pytest.mark.parametrize(
    "text",
    [
        "\ud800 One.\udfff",
        "A\x00b.",
        "x" * 100_000,
        "One. " * 5_000,
        "\u200b",
        "---",
        "```\na",
        "| a |\n|---|",
        "[\n" * 999,
    ],
    ids=lambda text: repr(text[:10]),
)
def test_odd_texts_can_be_sent(text: str) -> None:
    name = f"a\n[2] b\u2028</source>{text}"
    check_sendable([Document(text, metadata={"source": name, "title": name, "heading": name, "url": name})])


def test_texts_of_other_retrievers_are_split_into_sentences() -> None:
    (result,) = as_search_results([Document("One is so. Two is so.", metadata={"start_index": 7})])
    assert texts(result) == ["One is so. ", "Two is so."]


def test_a_shortened_window_is_split_again() -> None:
    short = window("rules", 1, 4).model_copy(update={"page_content": "Some words. A fourth."})
    assert texts(as_search_results([short])[0]) == ["Some words. ", "A fourth."]


def test_a_blank_document_has_no_block_and_keeps_its_number() -> None:
    assert len(as_search_results([Document(" \n"), Document("One.")])) == 1


@pytest.mark.parametrize(
    "address",
    ["javascript:alert(1)", "https://a.b/\nx", "http://", "https://[x", "file:etc", "https://a b", "HTTPS:/x", ""],
)
def test_an_invalid_address_is_not_used(address: str) -> None:
    (result,) = as_search_results([Document("One.", metadata={"url": address, "source": "a.md"})])
    assert result["source"] == "a.md"
