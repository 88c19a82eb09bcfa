import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.documents.joining import MIN_OVERLAP, overlap, separator_between

LINES = (
    "The party of the first part agrees that\nit will deliver the goods to the place\n"
    "that the other party has named before\n"
)


@pytest.mark.parametrize(
    ("before", "after", "separator"),
    [
        ("It is payable by the", "party that signs.", " "),
        ("It is payable by the", "Agreement holder.", " "),
        ("It is payable by Acme,", "Inc. on demand.", " "),
        ("It is inter-", "national law.", ""),
        ("It is payable.", "The fee is due.", "\n"),
        ("It is payable.", "ARTICLE V\nThe fee is due.", "\n\n"),
        ("It is payable.", "Section 2.1 Fees\nThe fee is due.", "\n\n"),
        ("These are due:", "(a) the fee", "\n"),
        ("the fee;", "(b) the tax", "\n"),
        ("These are due:", "the fee", "\n"),
        ("| a | b |", "| c | d |", "\n"),
        ("The end of a chapter", "# Fees", "\n\n"),
        (f"{LINES}Schedule A", "The fee is due.", "\n\n"),
        (f"{LINES}and that it will pay for them to Acme", "Corporation on demand.", " "),
        ("The second page ends.\n2", "The third page.", "\n\n"),
    ],
)
def test_a_page_is_joined_to_the_next_as_its_sentence_goes_on(before: str, after: str, separator: str) -> None:
    assert separator_between(before, after) == separator


@given(st.text(min_size=1), st.text(min_size=1))
def test_only_white_space_joins_pages(before: str, after: str) -> None:
    assert separator_between(before.strip() or "a", after.strip() or "b") in ("", " ", "\n", "\n\n")


@given(st.text(st.characters(codec="ascii"), max_size=300), st.integers(0, 300), st.integers(0, 300))
def test_an_overlap_is_text_that_both_chunks_have(text: str, start: int, end: int) -> None:
    before, after = text[: max(start, end)], text[min(start, end) :]
    length = overlap(before, after)
    assert length == 0 or (length >= MIN_OVERLAP and before.endswith(after[:length]))
    if text[min(start, end) : max(start, end)].strip() and min(start, end) + MIN_OVERLAP <= max(start, end) <= len(
        text
    ):
        assert length, "the chunks overlap"


def test_a_repetitive_text_takes_no_long_time() -> None:
    assert overlap("a" * 200_000, "a" * 200_000) == MIN_OVERLAP
    assert overlap("ab" * 200_000, "ab" * 100_000 + "c") == MIN_OVERLAP
