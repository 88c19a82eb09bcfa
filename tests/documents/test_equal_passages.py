"""Windows of equal text come once, with the places of the others."""

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window.documents.window_documents import unite_equal
from langchain_sentence_window.documents.window_fields import places_in, places_outside


def window(text: str, doc_id: str = "a", start: int = 0, **metadata: Any) -> Document:
    span = {"start_index": start, "end_index": start + len(text), "sentences": [0, 0]}
    return Document(page_content=text, metadata={"doc_id": doc_id, **span, **metadata})


def place(text: str, doc_id: str, start: int = 0, **more: Any) -> dict[str, Any]:
    return {"doc_id": doc_id, "start_index": start, "end_index": start + len(text), **more}


TEXT = "The fee is due in May."


def test_the_best_comes_and_names_the_places_of_the_others_in_order_of_rank() -> None:
    given_ = [
        window("A seat.", "x"),
        window(TEXT, "b", 7, heading="Fees"),
        window("the fee is\ndue in **May**", "c", 3, heading="Terms > Fees", source="c.pdf", pages=[4, 5], score=0.4),
        window("A card.", "x", 9),
        window(TEXT, "b", 90, source=7, pages="no"),
    ]
    before = copy.deepcopy(given_)
    found = unite_equal(given_)
    others = [
        place(given_[2].page_content, "c", 3, heading="Terms > Fees", source="c.pdf", pages=[4, 5]),
        place(TEXT, "b", 90, source=7),
    ]
    assert found == [
        given_[0],
        window(TEXT, "b", 7, heading="Fees", also_in=others),
        given_[3],
    ]
    assert found[0] is given_[0]
    assert given_ == before
    assert json.loads(json.dumps(found[1].metadata)) == found[1].metadata
    found[1].metadata["also_in"][0]["pages"].append(6)
    assert given_ == before


def test_places_that_were_known_before_are_kept_once_and_never_name_the_window_itself() -> None:
    best = window(TEXT, "a", also_in=[place(TEXT, "b"), place(TEXT, "c")])
    other = window(TEXT, "c", also_in=[place(TEXT, "a"), place(TEXT, "d")])
    [found] = unite_equal([best, other, window(TEXT, "a")])
    assert found == window(TEXT, "a", also_in=[place(TEXT, each) for each in "bcd"])
    assert unite_equal([found]) == [found]
    assert unite_equal([window(TEXT, "a"), window(TEXT, "a")]) == [window(TEXT, "a")]


def test_places_of_several_windows_are_joined_but_for_those_inside() -> None:
    inside, outside = place(TEXT, "a", 5), place(TEXT, "a", 90)
    forged = [7, {}, {"doc_id": "a"}, place(TEXT, "a") | {"start_index": "0"}, {**place(TEXT, "a"), "doc_id": 7}]
    given_ = [window(TEXT, also_in=[inside, *forged]), window(TEXT, also_in=[outside, inside]), window(TEXT, also_in=7)]
    places = [place for each in given_ for place in places_in(each)]
    assert places_outside(places, "a", 0, 50) == [outside]
    assert places_outside(places, "b", 0, 50) == [inside, outside]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A fee.", "a  FEE"),
        ("- A fee", "A fee."),
        ("| a | b |", "a b"),
        ("“A fee”", '"A fee"'),
        ("`A` ~~fee~~", "a fee"),
        ("A\u200b fee\x00", "a\u2028fee"),
        ("It is € 5.", "it is €5"),
        ("== Fees ==", "Fees"),
        ("- 5 fees", "5 fees"),
        ("1, 5.", "1 5"),
        ("May-5", "may 5"),
        ("\ud800A fee", "a fee"),
        ("这是费用。", "这是费用"),
    ],
)
def test_case_white_space_and_punctuation_make_no_difference(one: str, other: str) -> None:
    assert len(unite_equal([window(one), window(other, "b")])) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A fee.", "A free."),
        ("x < 5", "x > 5"),
        ("In C++.", "In C."),
        ("It costs €5.", "It costs $5."),
        ("A 1.5 fee", "A 15 fee"),
        ("-5 °C", "5 °C"),
        ("| 1.5 | 2 |", "| 1 | 5.2 |"),
        ("| -5 | 2 |", "| 5 | 2 |"),
        ("कि", "का"),
        ("---", "***"),
        ("", ""),
        ("...", "..."),
    ],
)
def test_words_and_symbols_make_a_difference_and_nothing_equals_what_has_neither(one: str, other: str) -> None:
    given_ = [window(one), window(other, "b")]
    assert unite_equal(given_) == given_


@pytest.mark.parametrize(
    "changed",
    [{"doc_id": None}, {"doc_id": 7}, {"start_index": 1}, {"start_index": None}, {"end_index": "22"}],
    ids=str,
)
def test_what_is_no_window_is_kept_apart(changed: dict[str, Any]) -> None:
    forged = window(TEXT, "b")
    forged.metadata |= changed
    sentence = Document(page_content=TEXT, metadata=place(TEXT, "c"))
    given_ = [window(TEXT), forged, sentence, Document(page_content=TEXT), Document(page_content=TEXT)]
    assert unite_equal(given_) == given_


@given(st.lists(st.tuples(st.sampled_from(["a", "A.", "a b", "A, B", "<", "-", "c"]), st.sampled_from("xyz"))))
def test_every_window_comes_or_is_named_and_uniting_again_changes_nothing(cuts: list[tuple[str, str]]) -> None:
    given_ = [window(text, doc_id, at * 9) for at, (text, doc_id) in enumerate(cuts)]
    found = unite_equal(given_)
    places = [(each.metadata["doc_id"], each.metadata["start_index"]) for each in found]
    named = [(each["doc_id"], each["start_index"]) for one in found for each in one.metadata.get("also_in", [])]
    assert sorted(places + named) == sorted((doc_id, at * 9) for at, (_, doc_id) in enumerate(cuts))
    words = [re.sub(r"\W+", " ", each.page_content.lower()).strip() for each in found]
    assert all(words.count(each) == 1 for each in words if each)
    assert [each for each in given_ if each.page_content in ("-",)] == [
        each for each in found if each.page_content == "-"
    ]
    assert unite_equal(found) == found
