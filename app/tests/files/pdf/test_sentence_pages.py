"""On which pages the sentences of a window stand."""

import copy
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window.errors import InvalidInputError
from sentence_window.files.pdf.page_documents import sentences_on_pages

PAGES = ["One ends. Two begins and", "goes on. Three is here."]
TEXT = " ".join(PAGES)
WINDOW: dict[str, Any] = {
    "start_index": 0,
    "end_index": len(TEXT),
    "hits": [{"sentence_index": 1, "start_index": 10, "end_index": 33, "score": 0.5}],
    "parts": [
        {"page": 6, "start_index": 0, "end_index": 24, "span": [0, 24]},
        {"page": 7, "start_index": 0, "end_index": 23, "span": [25, 48]},
    ],
    "sentence_spans": [[0, 9], [10, 33], [34, 48]],
}


def window(text: str = TEXT, **changed: Any) -> Document:
    kept = {key: value for key, value in (WINDOW | changed).items() if value is not None}
    return Document(page_content=text, metadata=copy.deepcopy(kept))


def test_a_sentence_over_a_page_break_has_a_piece_on_each_page() -> None:
    document = window()
    one, two, three = sentences_on_pages(document)
    assert [each.text for each in (one, two, three)] == ["One ends.", "Two begins and goes on.", "Three is here."]
    assert [each.is_hit for each in (one, two, three)] == [False, True, False]
    assert [(each.page, each.start, each.end, each.text) for each in two.pieces] == [
        (6, 10, 24, "Two begins and"),
        (7, 0, 8, "goes on."),
    ]
    assert [(each.page, each.start, each.end) for each in three.pieces] == [(7, 9, 23)]
    assert document == window()


def test_without_spans_all_of_the_text_is_one_sentence() -> None:
    (whole,) = sentences_on_pages(window(sentence_spans=None))
    assert (whole.text, whole.is_hit) == (TEXT, False)


def test_a_page_and_a_window_of_one_page_need_no_parts() -> None:
    (whole,) = sentences_on_pages(Document(page_content="A page.", metadata={"page": 3}))
    assert [(each.page, each.start, each.end) for each in whole.pieces] == [(3, 0, 7)]
    metadata = {"page": 3, "start_index": 20, "end_index": 34, "sentence_spans": [[20, 26], [27, 34]]}
    found = sentences_on_pages(Document(page_content="First. Second.", metadata=metadata))
    assert [(each.pieces[0].start, each.pieces[0].text) for each in found] == [(20, "First."), (27, "Second.")]


def test_pages_are_named_as_the_file_names_them() -> None:
    first, second = WINDOW["parts"]
    _, two, _ = sentences_on_pages(window(parts=[first | {"page_label": "iv"}, second | {"page_label": 5}]))
    assert [each.label for each in two.pieces] == ["iv", None]
    (whole,) = sentences_on_pages(Document(page_content="A page.", metadata={"page": 3, "page_label": "A-1"}))
    assert whole.pieces[0].label == "A-1"


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"parts": 7}, "parts"),
        ({"parts": [7]}, "parts"),
        ({"parts": [{"page": "6", "start_index": 0, "end_index": 4, "span": [0, 4]}]}, "page"),
        ({"parts": [{"page": 6, "start_index": 0, "end_index": 4, "span": "0:4"}]}, "parts"),
        ({"parts": [{"page": 6, "start_index": 0, "end_index": 4}]}, "parts"),
        ({"sentence_spans": "0:9"}, "sentence_spans"),
        ({"sentence_spans": [[0, 900]]}, "sentence_spans"),
        ({"sentence_spans": [[9, 0]]}, "sentence_spans"),
        ({"sentence_spans": [[0, 1, 2]]}, "sentence_spans"),
    ],
)
def test_invalid_metadata_is_named(changed: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInputError, match=rf"^{named} of the metadata is .*; search for the window again$"):
        sentences_on_pages(window(**changed))


def test_a_document_of_no_page_says_how_to_load_one() -> None:
    with pytest.raises(InvalidInputError, match="PDFLoader"):
        sentences_on_pages(Document(page_content="Text.", metadata={"source": "a.md"}))


@given(st.lists(st.lists(st.sampled_from(["a.", "bb.", "c"]), min_size=1), min_size=1, max_size=4), st.integers(0, 99))
def test_pieces_are_slices_of_their_pages_and_make_up_their_sentence(pages: list[list[str]], start: int) -> None:
    texts = [" ".join(page) for page in pages]
    text, parts, at = "", [], 0
    for number, page in enumerate(texts):
        text += " " * (number > 0)
        at = len(text)
        parts.append(
            {"page": number, "start_index": 5, "end_index": 5 + len(page), "span": [start + at, start + at + len(page)]}
        )
        text += page
    cuts = sorted({0, len(text), *(i + 2 for i in range(len(text)) if text[i : i + 2] == ". ")})
    spans = [[start + low, start + high] for low, high in pairwise(cuts)]
    metadata = {"start_index": start, "parts": parts, "sentence_spans": spans}
    for each in sentences_on_pages(Document(page_content=text, metadata=metadata)):
        assert text[each.start - start : each.end - start] == each.text
        assert "".join(piece.text for piece in each.pieces).replace(" ", "") == each.text.replace(" ", "")
        for piece in each.pieces:
            assert texts[piece.page][piece.start - 5 : piece.end - 5] == piece.text
