"""Long sentences, which are stored and searched in pieces that end where a clause does."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window import SentenceSplitter
from langchain_sentence_window.errors import InvalidInputError
from tests.toys import document

CLAUSE = "the tenant pays the rent on the first day of the month, "
LONG = f"If {CLAUSE * 4}and the deposit within a week, the landlord hands over the keys."
texts = st.text(st.sampled_from("ab ,;)”—.\n，"), max_size=400)


def pieces_of(text: str, max_chars: int) -> list[str]:
    splitter = SentenceSplitter(max_chars=max_chars, max_piece_chars=None, structure="plain")
    return [text[each.start : each.end] for each in splitter.split_text(text)]


@given(texts, st.integers(20, 90))
def test_pieces_are_short_and_spans_are_whole_sentences(text: str, max_chars: int) -> None:
    splitter = SentenceSplitter(max_piece_chars=max_chars)
    assert splitter.spans(text) == SentenceSplitter(max_piece_chars=None).spans(text)
    pieces = [each for each in splitter.split_text(text) if each.pieces]
    assert all(0 < each.end - each.start <= max_chars for each in pieces)
    assert all(text[one.end : two.start].strip() == "" for one, two in pairwise(pieces) if one.pieces == two.pieces)


def test_pieces_end_where_clauses_do_and_are_about_equally_long() -> None:
    assert pieces_of(LONG, len(LONG)) == [LONG]
    first, second = pieces_of(LONG, len(LONG) - 1)
    assert first.endswith("month,")
    assert second.startswith("the tenant")
    assert abs(len(first) - len(second)) < len(CLAUSE)
    # No piece is a scrap, whatever the limit.
    assert all(min(map(len, pieces_of(LONG, limit))) > limit / 6 for limit in range(60, len(LONG)))


@pytest.mark.parametrize(
    ("max_chars", "expected"),
    [
        (10, ["one two", "three", "four five", "six"]),  # at white space
        (10, ["x" * 10, "x" * 10, "x" * 5]),  # inside a word
        (10, ["一二三四五六，", "七八九十一"]),
        (10, ["(one two)", "three four"]),
        (45, ["The buyer who owes it pays", "(a) the fee (b) the tax"]),  # before the letter of a clause, not after it
        (45, ["It pays within thirty (30) days of the day", "of sale if it can"]),  # not after a bracket around a word
        (45, ["It pays the fee,", "half of it e.g., at once or on the same day"]),
        (45, ["It pays (in whole or in part)", "what is due on the day"]),
        (45, ["It pays (in whole or in part) what is due,", "on the day"]),  # better after a clause
    ],
)
def test_where_a_sentence_is_cut(max_chars: int, expected: list[str]) -> None:
    is_unspaced = expected[0][0] in "x一"
    assert pieces_of(("" if is_unspaced else " ").join(expected), max_chars) == expected


def test_each_piece_knows_the_others() -> None:
    text = f"# Keys\n\nAsk first. {LONG} Then sign."
    found = SentenceSplitter(max_piece_chars=120).split_text(text)
    assert [each.pieces for each in found] == [None, None, (2, 5), (2, 5), (2, 5), None]
    assert {(each.section_start, each.section_end, each.heading) for each in found} == {(0, 6, "Keys")}
    stored = SentenceSplitter(max_piece_chars=120).split_documents([document(text, doc_id=name) for name in "ab"])
    bounds = [(each.metadata.get("pieces_start"), each.metadata.get("pieces_end")) for each in stored]
    assert bounds == 2 * [(None, None), (None, None), (2, 5), (2, 5), (2, 5), (None, None)]


@pytest.mark.parametrize(
    "text",
    [
        f"# {LONG}",
        f"| a | b |\n| - | - |\n| {LONG} | 2 |",
        f"```\n{LONG}\n```",
        LONG[:-1] + ":\n\n- one\n- two",
        f"- {LONG}\n  - It is so.",
    ],
)
def test_headings_rows_code_and_introductions_are_never_cut(text: str) -> None:
    assert all(each.pieces is None for each in SentenceSplitter(max_piece_chars=120).split_text(text))


def test_lead_ins_are_counted_with_the_pieces() -> None:
    text = f"{LONG} These count:\n\n- one\n- {LONG}\n"
    found = SentenceSplitter(max_piece_chars=120).split_text(text)
    assert text[found[3].start : found[3].end] == "These count:"
    assert [(each.lead_in, each.pieces) for each in found[4:]] == [(3, None), (3, (5, 8)), (3, (5, 8)), (3, (5, 8))]


def test_sentences_with_inline_windows_are_not_cut() -> None:
    found = SentenceSplitter(max_piece_chars=120, inline_window=1).split_documents([document(LONG)])
    assert [each.page_content for each in found] == [LONG]


@pytest.mark.parametrize("value", [0, 19, -1, True, "400", 1.5])
def test_an_invalid_length_is_refused(value: object) -> None:
    with pytest.raises(InvalidInputError, match="max_piece_chars is .*; it must be a whole number of characters, 20"):
        SentenceSplitter(max_piece_chars=value)  # type: ignore[arg-type]
