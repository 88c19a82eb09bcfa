"""Running heads, feet and page numbers are left out of the text of pages."""

from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.documents.running_lines import body_spans


def bodies(pages: list[str]) -> list[str]:
    return [page[start:end] for page, (start, end) in zip(pages, body_spans(pages), strict=True)]


BODIES = ["The fee is due.", "It is payable by the\nparty that signs.", "The law of Kenya applies.", "Signed by all."]
MORE_BODIES = [
    *BODIES,
    "Notice is in writing.",
    "Either party may end it.",
    "Costs are shared.",
    "No waiver is implied.",
]


def test_heads_feet_and_page_numbers_are_left_out() -> None:
    pages = [
        f"Acme Corp. – Agreement 2020\n\n{body}\nPage {n} of 4\nConfidential\n" for n, body in enumerate(BODIES, 1)
    ]
    assert bodies(pages) == BODIES


def test_heads_of_left_and_right_pages_differ() -> None:
    heads = ["{} Annual Report", "Acme Corp. {}"]
    pages = [f"{heads[n % 2].format(n + 7)}\n{body}" for n, body in enumerate(MORE_BODIES)]
    assert bodies(pages) == MORE_BODIES


def test_numbers_that_do_not_count_pages_stay() -> None:
    pages = [f"{body}\n{number}" for body, number in zip(BODIES, (40, 7, 7, 12), strict=True)]
    assert bodies(pages) == pages


def test_only_one_line_at_an_edge_is_a_page_number() -> None:
    pages = [f"{body}\n30\n{n}" for n, body in enumerate(BODIES, 1)]
    assert bodies(pages) == [f"{body}\n30" for body in BODIES]


def test_numbers_of_paragraphs_stay() -> None:
    pages = [f"{n}.\n{body}" for n, body in enumerate(BODIES, 1)]
    assert bodies(pages) == pages


def test_two_pages_are_too_few_to_tell() -> None:
    pages = [f"Acme\n{body}" for body in BODIES[:2]]
    assert bodies(pages) == pages


def test_a_title_inside_a_page_stays() -> None:
    pages = [f"Acme\n{body}\nAcme\n{body}" for body in BODIES]
    assert bodies(pages) == [f"{body}\nAcme\n{body}" for body in BODIES]


def test_pages_that_differ_in_digits_alone_keep_their_text() -> None:
    pages = [f"Form 7\nThe fee for item {n} is due." for n in range(1, 6)]
    assert bodies(pages) == pages


def test_a_line_whose_number_rises_and_falls_stays() -> None:
    pages = [f"{body}\nThe fee is {fee} euros." for body, fee in zip(BODIES, (30, 12, 45, 20), strict=True)]
    assert bodies(pages) == pages


def test_a_head_with_the_number_of_its_chapter_is_left_out() -> None:
    pages = [f"Chapter {n} – Fees\n{body}" for body, n in zip(MORE_BODIES, (1, 1, 1, 2, 2, 3, 3, 3), strict=True)]
    assert bodies(pages) == MORE_BODIES


@given(st.lists(st.text(st.sampled_from("ab1\n .\t-"), max_size=30), max_size=8))
def test_only_whole_lines_at_the_edges_are_left_out(pages: list[str]) -> None:
    for page, (start, end) in zip(pages, body_spans(pages), strict=True):
        assert 0 <= start <= end <= len(page)
        assert page[start:end] == page[start:end].strip()
        assert start == end or ("\n" in page[:start].strip(" \t") or not page[:start].strip())
