"""How pages and chunks are joined: white space between pages, and overlaps of chunks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.documents.joining import MIN_OVERLAP, in_overlap_order, overlap
from tests.toys import WordEmbeddings

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
        ("The end of a chapter", "# Fees", "\n\n"),
        (f"{LINES}Schedule A", "The fee is due.", "\n\n"),
        (f"{LINES}and that it will pay for them to Acme", "Corporation on demand.", " "),
        ("The second page ends.\n2", "The third page.", "\n\n"),
    ],
)
def test_a_page_is_joined_to_the_next_as_its_sentence_goes_on(before: str, after: str, separator: str) -> None:
    pages = [Document(text, metadata={"source": "a", "page": page}) for page, text in enumerate((before, after))]
    retriever = SentenceWindowRetriever.from_documents(pages, WordEmbeddings())
    assert retriever.get(["a"])[0].page_content == f"{before}{separator}{after}"


@given(st.text(st.characters(codec="ascii"), max_size=300), st.integers(0, 300), st.integers(0, 300))
def test_an_overlap_is_text_that_both_chunks_have(text: str, start: int, end: int) -> None:
    before, after = text[: max(start, end)], text[min(start, end) :]
    length = overlap(before, after)
    assert before.endswith(after[:length].rstrip())
    assert length == 0 or length >= MIN_OVERLAP or after[0] == "#"
    follows_a_mark = before[: min(start, end)].rstrip(" \t").endswith(tuple("#-*+|>`~.)"))
    if follows_a_mark:
        return
    if text[min(start, end) : max(start, end)].strip() and min(start, end) + MIN_OVERLAP <= max(start, end) <= len(
        text
    ):
        assert length, "the chunks overlap"


@pytest.mark.parametrize(
    ("before", "after", "length"),
    [
        ("Seats are free.\n\n## Plans", "## Plans\n\nThere are two.", 8),
        ("Seats are free.\n\n## Our Plans", "## Plans\n\nThere are two.", 0),
        ("Seats are free.\n\nPlans", "Plans\n\nThere are two.", 0),
        ("# Rules\n\n### Checks in the background", "Checks in the background are slow.", 0),
        ("These are slow:\n- checks in the background", "checks in the background are slow.", 0),
        ("These are slow: checks in the background", "checks in the background are slow.", 24),
    ],
)
def test_a_short_heading_is_an_overlap_and_its_title_alone_isnt(before: str, after: str, length: int) -> None:
    assert overlap(before, after) == length


WORDS = " ".join(f"word{number}" for number in range(150))


@given(st.lists(st.tuples(st.integers(30, 80), st.integers(MIN_OVERLAP + 2, 29)), max_size=12), st.data())
def test_overlaps_say_the_order_of_chunks_in_any_order(sizes: list[tuple[int, int]], data: st.DataObject) -> None:
    chunks, start = [WORDS[:40]], 40
    for size, shared in sizes:
        chunks.append(WORDS[start - shared : start + size])
        start += size
    order = data.draw(st.permutations(range(len(chunks))))
    assert [order[each] for each in in_overlap_order([chunks[each] for each in order])] == list(range(len(chunks)))


def test_texts_that_no_overlap_places_stay_where_they_are() -> None:
    assert in_overlap_order(["A card.", "A seat.", "A page that is long enough.", "long enough. Or so"]) == [0, 1, 2, 3]
    chance = "### Monthly plans"  # which stands twice in the text
    texts = [f"Two plans.\n\n{chance}", "There are two.", chance, "Ask within a week."]
    assert in_overlap_order(texts) == [0, 1, 2, 3]


def test_a_repetitive_text_is_joined_quickly() -> None:
    assert len(in_overlap_order(["a" * 2_000] * 200)) == 200
    assert overlap("a" * 200_000, "a" * 200_000) == MIN_OVERLAP
    assert overlap("ab" * 200_000, "ab" * 100_000 + "c") == MIN_OVERLAP
