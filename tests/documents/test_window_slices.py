"""Stretches of a window: its sentences, its best hit, and parts of it as Documents."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window.documents.window_documents import window_slice
from langchain_sentence_window.documents.window_runs import (
    best_hit,
    parts_of_window,
    sentence_numbers,
    source_span,
    spans_of_sentences,
)
from tests.answering.windows import ANY_DOCUMENTS, PAGED, PAGES, sentence, source_slice, window, windows


@given(windows(), st.data())
def test_a_slice_says_where_it_stands(whole: Document, data: st.DataObject) -> None:
    before = copy.deepcopy(whole)
    low = data.draw(st.integers(0, len(whole.page_content) - 1))
    high = data.draw(st.integers(low + 1, len(whole.page_content)))
    part = window_slice(whole, low, high)
    assert whole == before
    assert part.page_content == whole.page_content[low:high]
    metadata = part.metadata
    assert source_slice(metadata["doc_id"], metadata["start_index"], metadata["end_index"]) == part.page_content
    assert not metadata.keys() & {"hits", "sentences", "window_id"}
    for start, end in metadata.get("sentence_spans", []):
        assert metadata["start_index"] <= start < end <= metadata["end_index"]
    for each in parts_of_window(metadata) or ():
        own = PAGES[int(each.identity["page"])][each.start : each.end]
        start = each.source_start - metadata["start_index"]
        assert part.page_content[start : start + len(own)] == own != ""
        assert each.identity["page"] in metadata["pages"]


def test_a_slice_is_on_its_own_pages() -> None:
    whole = window(PAGED, 1, 4)
    assert whole.metadata["pages"] == [0, 1]
    low = whole.page_content.index("A seat")
    part = window_slice(whole, low, low + 6)
    assert (part.metadata["pages"], part.metadata["page_labels"]) == ([1], ["ii"])
    assert window_slice(whole, 0, 9).metadata["pages"] == [0]
    shortened = Document("A seat.", metadata={**whole.metadata, "pages": [4], "page_labels": ["v"]})
    assert window_slice(shortened, 0, 6).metadata.items() >= {"pages": [4], "page_labels": ["v"]}.items()
    assert window_slice(shortened, 0, 6).metadata.keys().isdisjoint({"start_index", "parts"})


@given(windows())
def test_sentences_and_the_best_hit_are_those_that_were_stored(whole: Document) -> None:
    first, last = sentence_numbers(whole) or (0, -1)
    found = [whole.page_content[low:high] for low, high in spans_of_sentences(whole)]
    assert found == [sentence(whole.metadata["doc_id"], index) for index in range(first, last + 1)]
    hit = best_hit(whole)
    assert hit is not None
    index = max(whole.metadata["hits"], key=lambda each: each["score"])["sentence_index"]
    assert whole.page_content[slice(*hit)] == sentence(whole.metadata["doc_id"], index)


def test_the_best_hit_has_the_highest_score() -> None:
    whole = window("rules", 1, 4, s1=0.2, s3=0.9, s4=0.4)
    assert whole.page_content[slice(*(best_hit(whole) or ()))] == "A third one."


WRONG: list[dict[str, Any]] = [
    {"sentence_spans": None},
    {"sentence_spans": "9:20"},
    {"sentence_spans": []},
    {"sentence_spans": [[9, 20], [22, 99]]},
    {"sentence_spans": [[22, 31], [9, 20]]},
    {"sentence_spans": [[9, 22], [20, 31]]},
    {"sentence_spans": [[9, 20], [22, 31.0]]},
    {"sentence_spans": [[9, 9], [9, 31]]},
    {"end_index": 30},
    {"start_index": "9"},
]


@pytest.mark.parametrize("changed", WRONG, ids=str)
def test_spans_that_cannot_be_right_are_not_told(changed: dict[str, Any]) -> None:
    whole = window("rules", 1, 2)
    assert spans_of_sentences(whole) == [(0, 11), (13, 22)]
    assert spans_of_sentences(Document(whole.page_content, metadata=whole.metadata | changed)) == []


@given(ANY_DOCUMENTS)
def test_any_document_can_be_asked(document: Document) -> None:
    text = document.page_content
    own = source_span(document)
    assert own is None or own[1] - own[0] == len(text)
    spans = [*spans_of_sentences(document), *filter(None, [best_hit(document)])]
    assert all(0 <= low < high <= len(text) for low, high in spans)
    assert window_slice(document, 0, len(text)).page_content == text
