"""Which quotations and claims an answer has, and which sources each of them cites."""

from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import verify_quotes
from tests.answering.golden import rows

SOURCES = [Document("")] * 4


def found_in(answer: str) -> list[list[Any]]:
    """Kind, text and cited numbers of what is in an answer; each must be at its span."""
    found = verify_quotes(answer, SOURCES)
    for each in found:
        if "\n" not in each.text and "[" not in answer[each.start : each.end]:
            assert answer[each.start : each.end] == each.text
    return [[each.kind, each.text, list(each.cited)] for each in found]


@pytest.mark.parametrize("marks", rows("quotation_marks"))
def test_the_quotation_marks_of_any_language_are_recognized(marks: str) -> None:
    for text in ("The fee is due", "word", "The owner's fee. It's 5%.", "Ça été dû", "Übung macht müde!"):
        assert found_in(f"It says {marks.format(text)} [2].") == [["quotation", text, [2]]]
        assert found_in(f"({marks.format(text)})[2] Then more.") == [["quotation", text, [2]]]


@pytest.mark.parametrize(("answer", "expected"), rows("quotes_in_answers"))
def test_quotations_and_claims_cite_the_sources_next_to_them(answer: str, expected: list[list[Any]]) -> None:
    assert found_in(answer) == expected
