from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reportlab.pdfgen.canvas import Canvas

from app.tests.files.pdf.drawing import both, drawn, lines
from langchain_sentence_window import SentenceSplitter
from sentence_window.files import load_pdf
from sentence_window.files.pdf.running_lines import EdgeLine, running_lines

BODY = ["The {} page begins here and has", "some lines of its {} own, such as", "this {} one and", "the {} last."]
ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"]


def found(*pages: Sequence[str]) -> list[list[str]]:
    """The running lines of pages, each with a body between its head and its feet."""
    edges = [[EdgeLine(text, 20.0 * i) for i, text in enumerate(page)] for page in pages]
    return [[page[i] for i in sorted(kept)] for page, kept in zip(pages, running_lines(edges), strict=True)]


def with_body(heads: Sequence[str], feet: Sequence[str], page: int) -> list[str]:
    return [*heads, *(line.format(ORDINALS[page]) for line in BODY), *feet]


@pytest.mark.parametrize(
    ("heads", "feet"),
    [
        (["Supply Agreement"], []),
        ([], ["Page {} of 8"]),
        ([], ["- {} -"]),
        ([], ["{}"]),
        (["Confidential", "Supply Agreement"], ["Source: AGAPE CORP, 10-K, 12/2/2019", "{}"]),
        (["Supply Agreement, page {}"], []),
        ([], ["A-{}"]),
    ],
)
def test_lines_that_repeat_up_to_page_numbers_are_found(heads: list[str], feet: list[str]) -> None:
    pages = [
        with_body([each.format(n + 1) for each in heads], [each.format(n + 1) for each in feet], n) for n in range(8)
    ]
    expected = [[each.format(n + 1) for each in heads + feet] for n in range(8)]
    assert found(*pages) == expected


RUNNING_FEET = {
    "roman numbers": ["i", "ii", "iii", "iv"],
    "alternating": ["Chapter One", "The Long Book"] * 4,
    "with another part number": [
        f"{n} The Manual of the Staff, 28171" for n in ("2.3.1", "2.3.1.4", "2.3.2", "2.4", "3.1")
    ],
    "alternating with page numbers": [f"{n + 8} THE LONG BOOK" if n % 2 else f"PUZZLES {n + 8}" for n in range(8)],
    "number first": [f"{2 * n + n % 2} The Long Book of All" for n in range(8)],
    "chapter and page": [f"Chapter {n // 4}. The Long Book of All {n + 8}" for n in range(8)],
    "one that differs": [f"{n + 8} THE LONG BOOK" if n != 3 else "Its Chapter Three 11" for n in range(8)],
}
BODY_FEET = {
    "amounts": ["100", "250", "75", "100"],
    "increasing dates": [
        "",
        "",
        *(f"1, {2015 + n}; October 1, {2015 + n}; February 1, {2016 + n}" for n in range(4)),
        "",
        "",
    ],
    "footnotes": [f"{n + 1} See {each.title()} and Sons" for n, each in enumerate(ORDINALS)],
    **{
        head: [head.format(n + 1) for n in range(3)] + [""] * 3
        for head in ("Schedule {}", "SCHEDULE {}", "{}. Definitions", "Section {}")
    },
}


def with_feet(feet: Sequence[str]) -> list[list[str]]:
    return found(*(with_body([], [foot] if foot else [], n) for n, foot in enumerate(feet)))


@pytest.mark.parametrize("name", RUNNING_FEET)
def test_running_feet_are_found(name: str) -> None:
    assert with_feet(RUNNING_FEET[name]) == [[foot] for foot in RUNNING_FEET[name]]


@pytest.mark.parametrize("name", BODY_FEET)
def test_similar_lines_of_the_body_stay(name: str) -> None:
    assert not any(with_feet(BODY_FEET[name]))


def test_the_first_page_may_differ() -> None:
    pages = [with_body(["A Title"], [], 0), *(with_body(["The Head"], [str(n + 1)], n) for n in range(1, 6))]
    assert found(*pages)[0] == []
    assert all(found(*pages)[1:])


def test_a_head_below_a_line_of_one_page_is_found() -> None:
    pages = [with_body(["Exhibit 10", "The Head"], [], 0), *(with_body(["The Head"], [], n) for n in range(1, 6))]
    assert found(*pages)[0] == ["The Head"]


def test_page_numbers_in_the_middle_of_a_page_are_found() -> None:
    pages = [
        [
            f"The {each} text",
            str(2 * n + 1),
            *(f"{more} {each} text" for more in "abcd"),
            str(2 * n + 2),
            f"Its {each} end",
        ]
        for n, each in enumerate(ORDINALS[:4])
    ]
    assert found(*pages)[1] == ["3", "4"]


def test_two_pages_must_have_the_line_at_the_same_place() -> None:
    assert found(with_body(["The Head"], [], 0), with_body(["The Head"], [], 1)) == [["The Head"]] * 2
    assert found(with_body(["The Head"], [], 0), with_body(["Other", "The Head"], [], 1)) == [[], []]


@given(st.lists(st.lists(st.text("ab1 #-", min_size=1, max_size=3), max_size=8), max_size=8))
def test_any_lines_are_read(pages: list[list[str]]) -> None:
    for page, kept in zip(
        pages, running_lines([[EdgeLine(text, 1.0) for text in page] for page in pages]), strict=True
    ):
        assert kept <= set(range(len(page)))


@given(st.lists(st.lists(st.integers(), max_size=9), max_size=9))
def test_lines_that_do_not_repeat_stay(pages: list[list[int]]) -> None:
    said = [[f"{'abcdefghi'[n]}{'klmnopqrs'[i]} says" for i, _ in enumerate(page)] for n, page in enumerate(pages)]
    assert found(*said) == [[]] * len(pages)


def test_heads_and_feet_are_left_out_of_the_text() -> None:
    pages = [
        both(
            lines("Supply Agreement", y=770),
            lines(*(line.format(ORDINALS[n]) for line in BODY)),
            lines(f"Page {n + 1} of 4", x=250, y=40),
        )
        for n in range(4)
    ]
    assert [document.page_content for document in load_pdf(drawn(*pages))] == [
        " ".join(BODY).format(*[ORDINALS[n]] * 4) for n in range(4)
    ]


def test_copies_of_a_page_keep_their_text() -> None:
    form = ["Invoice", "Dear customer,", "please pay 10 euros.", "Yours"]
    assert found(*[form] * 6) == [[]] * 6
    letters = [with_body(["The Head"], [], n) for n in range(4)]
    assert found(*letters, *letters, *letters) == [["The Head"]] * 12


@pytest.mark.parametrize(
    "heads",
    [
        ["The Long Title", "A. Author", "The Long Title", "A. Author", "The Long Title"],
        ["2 A. Author", "The Long Title 3", "4 A. Author", "The Long Title 5", "6 A. Author"],
        ["The Title, June 3 to 5", "A. Author", "The Title, June 3 to 5", "A. Author", "The Title, June 3 to 5"],
    ],
)
def test_heads_that_alternate_in_a_short_paper_are_found(heads: list[str]) -> None:
    pages = [with_body(["The Long Title of It All"], [], 0)]
    pages += [with_body([head], [], n) for n, head in enumerate(heads, 1)]
    assert found(*pages) == [[], *([head] for head in heads)]


def test_feet_that_alternate_in_a_short_paper_are_found() -> None:
    feet = ["2 / Draft", "Journal of Heat / 3", "4 / Draft", "Journal of Heat / 5"]
    edges = [
        [*(EdgeLine(text, 20.0 * i) for i, text in enumerate(with_body([], [], n))), EdgeLine(foot, 700.0)]
        for n, foot in enumerate(feet)
    ]
    edges.insert(0, [EdgeLine("A Title", 0.0), EdgeLine("Some text", 300.0)])
    assert running_lines(edges) == [frozenset(), *[frozenset({4})] * 4]


@pytest.mark.parametrize(
    "heads",
    [
        ["Clause and Date", "Clause and Date", "", "", "", "", ""],
        ["Exhibit 1", "Exhibit 2", "", "", "", "", ""],
        ["Exhibit 1", "Exhibit 4", "Annex 2", "Annex 9", "Form 1", "Form 7", "Form 8"],
    ],
)
def test_lines_that_two_pages_share_are_kept_unless_most_pages_have_such_heads(heads: list[str]) -> None:
    assert not any(found(*(with_body([head] if head else [], [], n) for n, head in enumerate(heads))))


def test_lines_that_two_pages_share_are_kept_at_other_heights() -> None:
    heads = ["The Head", "Clause and Date", "The Head", "Clause and Date", "The Head", "The Head"]
    pages = [with_body([head], [], n) for n, head in enumerate(heads)]
    edges = [
        [EdgeLine(text, 20.0 * i + 2 * (page[0] == "Clause and Date")) for i, text in enumerate(page)] for page in pages
    ]
    assert [len(each) for each in running_lines(edges)] == [1, 0, 1, 0, 1, 1]


def table_page(head: str, title: str, first: int, *, gap: float) -> Callable[[Canvas], None]:
    """Draw a running head, and a table with its title below it."""

    def draw(canvas: Canvas) -> None:
        canvas.drawString(72, 770, head)
        canvas.drawString(72, 730, title)
        for row, cells in enumerate(
            [
                ("Town", "Beds", "%"),
                *((f"Town {ORDINALS[n % 8]} {n}", str(7 * n), f"{n}.5") for n in range(first, first + 12)),
            ]
        ):
            for x, cell in zip((72, 250, 400), cells, strict=True):
                canvas.drawString(x, 715 - gap * row, cell)

    return draw


@pytest.mark.parametrize("gap", [15, 22])
def test_the_header_and_title_of_a_continued_table_are_kept_on_the_first_page(gap: float) -> None:
    pages = load_pdf(drawn(*(table_page("The Yearbook", "Table 3. Towns", 12 * n, gap=gap) for n in range(4))))
    texts = [page.page_content for page in pages]
    assert texts[0].startswith("Table 3. Towns\n\nTown\tBeds\t%\nTown first 0\t0\t0.5")
    assert [text.split("\n")[0].split("\t")[1] for text in texts[1:]] == ["84", "168", "252"]
    assert not any("Yearbook" in text for text in texts)
    rows = [each for each in SentenceSplitter().split_documents(pages) if each.page_content.startswith("Town ")]
    assert len(rows) == 48
    assert {each.metadata["lead_in"] for each in rows} == {1}


def test_body_lines_that_repeat_are_kept_on_the_first_page() -> None:
    pages = [["The same rule holds here.", *(line.format(ORDINALS[n]) for line in BODY)] for n in range(5)]
    edges = [[EdgeLine(text, 15.0 * i) for i, text in enumerate(page)] for page in pages]
    assert [sorted(each) for each in running_lines(edges)] == [[], [0], [0], [0], [0]]


def test_body_lines_that_come_again_later_are_kept_again() -> None:
    pages = [
        [*(["The same rule holds."] if n not in (3, 4) else []), *(line.format(ORDINALS[n]) for line in BODY)]
        for n in range(8)
    ]
    edges = [[EdgeLine(text, 15.0 * i) for i, text in enumerate(page)] for page in pages]
    assert [sorted(each) for each in running_lines(edges)] == [[], [0], [0], [], [], [], [0], [0]]


def test_a_page_number_close_to_the_body_is_left_out_of_all_pages() -> None:
    pages = [[*(line.format(ORDINALS[n]) for line in BODY), f"Page {n + 1} of 5"] for n in range(5)]
    edges = [[EdgeLine(text, 15.0 * i) for i, text in enumerate(page)] for page in pages]
    assert all(running_lines(edges))


def test_pages_that_hold_only_numbers_have_text() -> None:
    assert [page.page_content for page in load_pdf(drawn(*(lines(str(n)) for n in range(1, 6))))] == list("12345")
    column = [str(n) for n in range(40, 80, 2)]
    pages = load_pdf(drawn(lines(*BODY), lines(*column), lines(*BODY)))
    assert pages[1].page_content == " ".join(column)


def test_a_page_with_nothing_but_its_number_has_no_text() -> None:
    numbered = [
        both(lines(*(line.format(each) for line in BODY)), lines(str(n), y=30))
        for n, each in enumerate(ORDINALS[:5], 1)
    ]
    pages = load_pdf(drawn(*numbered, lines("6", y=30)))
    assert [page.metadata["page"] for page in pages] == [0, 1, 2, 3, 4]
