"""Long sentences, which are stored and searched in pieces that end where a clause does."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window import SentenceSplitter
from langchain_sentence_window.documents.keys import PIECES_END, PIECES_START
from langchain_sentence_window.documents.sentence_documents import read_sentence
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from langchain_sentence_window.splitting.lengths import cut_at_clauses
from tests.toys import document

CLAUSE = "the tenant pays the rent on the first day of the month, "
LONG = f"If {CLAUSE * 4}and the deposit within a week, the landlord hands over the keys."

texts = st.text(st.sampled_from("ab ,;)”—.\n，"), max_size=400)


def pieces_of(text: str, max_chars: int) -> list[str]:
    return [text[start:end] for start, end in cut_at_clauses(text, (0, len(text)), max_chars)]


@given(texts, st.integers(1, 90))
def test_pieces_are_short_and_lose_nothing_but_white_space(text: str, max_chars: int) -> None:
    text = text.strip()
    if not text:
        return
    spans = cut_at_clauses(text, (0, len(text)), max_chars)
    assert all(0 < end - start <= max_chars for start, end in spans)
    assert all(text[end:start].strip() == "" for (_, end), (start, _) in pairwise(spans))
    assert (spans[0][0], spans[-1][1]) == (0, len(text))


def test_pieces_end_where_clauses_do_and_are_about_equally_long() -> None:
    assert pieces_of(LONG, len(LONG)) == [LONG]
    first, second = pieces_of(LONG, len(LONG) - 1)
    assert first.endswith("month,")
    assert second.startswith("the tenant")
    assert abs(len(first) - len(second)) < len(CLAUSE)
    # No piece is a scrap, whatever the limit.
    assert all(min(map(len, pieces_of(LONG, limit))) > limit / 6 for limit in range(60, len(LONG)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one two three four five six", ["one two", "three", "four five", "six"]),  # at white space
        ("x" * 25, ["x" * 10, "x" * 10, "x" * 5]),  # inside a word
        ("一二三四五六，七八九十一", ["一二三四五六，", "七八九十一"]),
        ("(one two) three four", ["(one two)", "three four"]),
    ],
)
def test_where_a_sentence_is_cut(text: str, expected: list[str]) -> None:
    assert pieces_of(text, 10) == expected


@pytest.mark.parametrize(
    "expected",
    [
        ["The buyer who owes it pays", "(a) the fee (b) the tax"],  # before the letter of a clause, not after it
        ["It pays within thirty (30) days of the day", "of sale if it can"],  # after no bracket around a word
        ["It pays the fee of Schedule 2.1(c) and the", "tax on it"],
        ["It pays the fee,", "half of it e.g., at once or on the same day"],
        ["It pays (in whole or in part)", "what is due on the day"],
        ["It pays (in whole or in part) what is due,", "on the day"],  # better after a clause
    ],
    ids=" | ".join,
)
def test_brackets_in_long_sentences(expected: list[str]) -> None:
    assert pieces_of(" ".join(expected), 45) == expected


@given(texts, st.integers(20, 90))
def test_spans_are_whole_sentences_whatever_the_pieces(text: str, max_piece_chars: int) -> None:
    whole = SentenceSplitter(max_piece_chars=None)
    assert SentenceSplitter(max_piece_chars=max_piece_chars).spans(text) == whole.spans(text)


def test_each_piece_knows_the_others() -> None:
    text = f"# Keys\n\nAsk first. {LONG} Then sign."
    found = SentenceSplitter(max_piece_chars=120).split_text(text)
    assert [each.pieces for each in found] == [None, None, (2, 5), (2, 5), (2, 5), None]
    assert {(each.section_start, each.section_end) for each in found} == {(0, 6)}
    assert {each.heading for each in found[2:5]} == {"Keys"}
    # The second document of two parts counts on.
    first, second = document(text, doc_id="a"), document(text, doc_id="b")
    stored = SentenceSplitter(max_piece_chars=120).split_documents([first, second])
    assert [read_sentence(each).pieces for each in stored] == 2 * [None, None, (2, 5), (2, 5), (2, 5), None]
    assert [PIECES_START in each.metadata for each in stored[:6]] == [False, False, True, True, True, False]


@pytest.mark.parametrize(
    "text",
    [
        f"# {LONG}",
        f"| a | b |\n| - | - |\n| {LONG} | 2 |",
        f"```\n{LONG}\n```",
        LONG[:-1] + ":",
        LONG[:-1] + ":\n\n- one\n- two",
        f"- {LONG}\n  - It is so.",
    ],
)
def test_headings_rows_code_and_what_introduces_others_are_never_cut(text: str) -> None:
    assert all(each.pieces is None for each in SentenceSplitter(max_piece_chars=120).split_text(text))


def test_lead_ins_are_counted_with_the_pieces() -> None:
    text = f"{LONG} These count:\n\n- one\n- {LONG}\n"
    found = SentenceSplitter(max_piece_chars=120).split_text(text)
    introduction = next(index for index, each in enumerate(found) if text[each.start : each.end] == "These count:")
    items = found[introduction + 1 :]
    assert introduction == 3
    assert len(items) == 4
    assert {each.lead_in for each in items} == {introduction}
    assert [each.pieces for each in items] == [None, (5, 8), (5, 8), (5, 8)]


def test_sentences_with_windows_of_their_own_are_not_cut() -> None:
    found = SentenceSplitter(max_piece_chars=120, inline_window=1).split_documents([document(LONG)])
    assert [each.page_content for each in found] == [LONG]


@pytest.mark.parametrize("value", [0, 19, -1, True, "400", 1.5])
def test_a_length_that_cannot_be(value: object) -> None:
    with pytest.raises(InvalidInputError, match="max_piece_chars is .*; it must be a whole number of characters, 20"):
        SentenceSplitter(max_piece_chars=value)  # type: ignore[arg-type]


@pytest.mark.parametrize("bounds", [(0, 1), (4, 9), (2, 99), (5, 3), (-1, 5)])
def test_pieces_in_metadata_that_cannot_be_right(bounds: tuple[int, int]) -> None:
    stored = SentenceSplitter(max_piece_chars=120).split_documents([document(f"Ask first. Sign. {LONG}")])
    wrong = stored[3].model_copy(
        update={"metadata": {**stored[3].metadata, PIECES_START: bounds[0], PIECES_END: bounds[1]}}
    )
    with pytest.raises(IncompleteWindowError, match="pieces_"):
        read_sentence(wrong)
