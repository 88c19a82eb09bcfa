"""`find_said`: the sentences that say what an answer says."""

import pytest
from langchain_core.documents import Document

from langchain_sentence_window.answering.quotes.verification import find_said
from langchain_sentence_window.errors import InvalidInputError

ONE = "A refund is quick. It takes five days, or ten by bank transfer. Nobody pays twice."
TWO = "The office opens at nine. A refund takes a year."


def window(text: str, doc_id: str, start: int = 0) -> Document:
    return Document(text, metadata={"doc_id": doc_id, "start_index": start, "end_index": start + len(text)})


WINDOWS = [window(TWO, "two", 100), window(ONE, "one", 1000)]


def said(answer: str) -> tuple[str, list[str], bool] | None:
    found = find_said(answer, WINDOWS)
    if found is None:
        return None
    text, base = (ONE, 1000) if found.doc_id == "one" else (TWO, 100)
    return found.doc_id, [text[start - base : end - base] for start, end in found.spans], found.is_exact


@pytest.mark.parametrize(
    ("answer", "doc_id", "sentences", "is_exact"),
    [
        ("Nobody pays twice.", "one", ["Nobody pays twice."], True),
        ("five days", "one", ["It takes five days, or ten by bank transfer."], True),  # the whole sentence
        ("IT TAKES FIVE DAYS", "one", ["It takes five days, or ten by bank transfer."], True),
        (
            "A refund is quick. Nobody pays twice.",
            "one",
            ["A refund is quick.", "Nobody pays twice."],
            True,
        ),
        (
            "A refund is quick. The office opens at nine. Nobody pays twice.",
            "one",
            ["A refund is quick.", "Nobody pays twice."],
            False,
        ),
        ("The office opens early, at nine.", "two", ["The office opens at nine."], False),
    ],
)
def test_sentences_that_say_an_answer_are_found(answer: str, doc_id: str, sentences: list[str], is_exact: bool) -> None:
    assert said(answer) == (doc_id, sentences, is_exact)


@pytest.mark.parametrize("answer", ["Cats eat fish.", "Yes.", "", "?!", "A"])
def test_what_nothing_says_is_not_found(answer: str) -> None:
    assert said(answer) is None


def test_no_windows_say_nothing_and_something_else_is_refused() -> None:
    assert find_said("Nobody pays twice.", []) is None
    with pytest.raises(InvalidInputError):
        find_said("Nobody pays twice.", "windows")  # type: ignore[arg-type]
