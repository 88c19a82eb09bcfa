"""Windows of equal text come once, with the places of the others."""

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import merge_windows


def window(text: str, doc_id: str = "a", start: int = 0, **metadata: Any) -> Document:
    span = {"start_index": start, "end_index": start + len(text), "sentences": [0, 0]}
    return Document(page_content=text, metadata={"doc_id": doc_id, **span, **metadata})


def place(text: str, doc_id: str, start: int = 0, **more: Any) -> dict[str, Any]:
    return {"doc_id": doc_id, "start_index": start, "end_index": start + len(text), **more}


TEXT = "The fee is due in May."


def test_the_best_window_names_the_places_of_the_others() -> None:
    given_ = [
        window("A seat.", "x"),
        window(TEXT, "b", 7, heading="Fees"),
        window("the fee is\ndue in **May**", "c", 3, heading="Terms > Fees", source="c.pdf", pages=[4, 5], score=0.4),
        window("A card.", "x", 9),
        window(TEXT, "b", 90, source=7, pages="no"),
    ]
    before = copy.deepcopy(given_)
    found = merge_windows(given_)
    others = [
        place(given_[2].page_content, "c", 3, heading="Terms > Fees", source="c.pdf", pages=[4, 5]),
        place(TEXT, "b", 90, source=7),
    ]
    assert found == [
        given_[0],
        window(TEXT, "b", 7, heading="Fees", also_in=others),
        given_[3],
    ]
    assert given_ == before
    assert json.loads(json.dumps(found[1].metadata)) == found[1].metadata
    found[1].metadata["also_in"][0]["pages"].append(6)
    assert given_ == before


def test_places_that_were_known_before_are_kept_once_and_never_name_the_window_itself() -> None:
    best = window(TEXT, "a", also_in=[place(TEXT, "b"), place(TEXT, "c")])
    other = window(TEXT, "c", also_in=[place(TEXT, "a"), place(TEXT, "d")])
    [found] = merge_windows([best, other, window(TEXT, "a")])
    assert found == window(TEXT, "a", also_in=[place(TEXT, each) for each in "bcd"])
    assert merge_windows([found]) == [found]
    assert merge_windows([window(TEXT, "a"), window(TEXT, "a")]) == [window(TEXT, "a")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A fee.", "a  FEE"),
        ("| a | b |", "a b"),
        ("“A fee”", '"A fee"'),
        ("`A` ~~fee~~", "a fee"),
        ("A\u200b fee\x00", "a\u2028fee"),
        ("It is € 5.", "it is €5"),
        ("- 5 fees", "5 fees"),
        ("1, 5.", "1 5"),
        ("\ud800A fee", "a fee"),
        ("这是费用。", "这是费用"),
    ],
)
def test_equal_texts_differ_in_case_white_space_and_punctuation_only(one: str, other: str) -> None:
    assert len(merge_windows([window(one), window(other, "b")])) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A fee.", "A free."),
        ("x < 5", "x > 5"),
        ("In C++.", "In C."),
        ("It costs €5.", "It costs $5."),
        ("-5 °C", "5 °C"),
        ("| 1.5 | 2 |", "| 1 | 5.2 |"),
        ("| -5 | 2 |", "| 5 | 2 |"),
        ("कि", "का"),
        ("---", "***"),
        ("", ""),
        ("...", "..."),
    ],
)
def test_texts_with_other_words_or_symbols_differ(one: str, other: str) -> None:
    given_ = [window(one), window(other, "b")]
    assert merge_windows(given_) == given_


@pytest.mark.parametrize(
    "changed",
    [{"doc_id": None}, {"doc_id": 7}, {"start_index": 1}, {"start_index": None}, {"end_index": "22"}],
    ids=str,
)
def test_other_documents_are_kept_apart(changed: dict[str, Any]) -> None:
    forged = window(TEXT, "b")
    forged.metadata |= changed
    sentence = Document(page_content=TEXT, metadata=place(TEXT, "c"))
    given_ = [window(TEXT), forged, sentence, Document(page_content=TEXT)]
    assert merge_windows(given_) == given_


@given(st.lists(st.tuples(st.sampled_from(["a", "A.", "a b", "A, B", "<", "-", "c"]), st.sampled_from("xyz"))))
def test_every_window_comes_or_is_named_and_uniting_again_changes_nothing(cuts: list[tuple[str, str]]) -> None:
    given_ = [window(text, doc_id, at * 9) for at, (text, doc_id) in enumerate(cuts)]
    found = merge_windows(given_)
    places = [(each.metadata["doc_id"], each.metadata["start_index"]) for each in found]
    named = [(each["doc_id"], each["start_index"]) for one in found for each in one.metadata.get("also_in", [])]
    assert sorted(places + named) == sorted((doc_id, at * 9) for at, (_, doc_id) in enumerate(cuts))
    words = [re.sub(r"\W+", " ", each.page_content.lower()).strip() for each in found]
    assert all(words.count(each) == 1 for each in words if each)
    assert [each for each in given_ if each.page_content in ("-",)] == [
        each for each in found if each.page_content == "-"
    ]
    assert merge_windows(found) == found
