import io
from collections.abc import Callable
from pathlib import Path

import pypdf
import pytest
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.pdfmetrics import registerFont
from reportlab.pdfgen.canvas import Canvas

from app.tests.files.pdf.drawing import both, drawn, lines
from langchain_sentence_window.documents.part_blocks import read_layout
from sentence_window.files import load_pdf

BODY = "The parties agree on the text of this paragraph, which has a few words."


def page(*lines: str | tuple[str, str, float], gap: float = 30) -> Callable[[Canvas], None]:
    """Draw paragraphs of one line; a tuple has its text, font and size."""

    def draw(canvas: Canvas) -> None:
        for number, line in enumerate(lines):
            text, font, size = line if isinstance(line, tuple) else (line, "Helvetica", 11.0)
            canvas.setFont(font, size)
            canvas.drawString(72, 740 - gap * number, text)

    return draw


def headings(data: bytes) -> list[tuple[int, str]]:
    found = []
    for document in load_pdf(data):
        read = read_layout(document.metadata["layout"], len(document.page_content))
        assert read is not None
        found += [
            (block.level, document.page_content[block.start : block.end])
            for block in read[0]
            if block.kind == "heading"
        ]
    return found


def test_larger_type_is_a_heading_and_the_largest_on_the_first_page_is_the_title() -> None:
    pages = page(("The Agreement", "Helvetica", 20), BODY, ("Its terms", "Helvetica", 15), BODY, BODY)
    assert headings(drawn(pages)) == [(1, "The Agreement"), (3, "Its terms")]


def test_the_name_of_a_filing_is_neither_a_heading_nor_the_title() -> None:
    pages = page("Exhibit 10.1", "SUPPLY AGREEMENT", BODY, "BETWEEN", BODY)
    assert headings(drawn(pages)) == [(1, "SUPPLY AGREEMENT")]


def test_bold_lines_are_headings() -> None:
    pages = page(BODY, ("Governing law", "Helvetica-Bold", 11), BODY)
    assert headings(drawn(page(BODY), pages)) == [(3, "Governing law")]


def test_bold_lines_of_a_bold_file_are_not_headings() -> None:
    bold = [(text, "Helvetica-Bold", 11.0) for text in (BODY, "Governing law", BODY)]
    assert headings(drawn(page(BODY), page(*bold))) == []


LINES = (Path(__file__).parent / "headings.txt").read_text(encoding="utf-8").splitlines()[1:]


@pytest.mark.parametrize("line", LINES)
def test_a_line_between_paragraphs_is_a_heading_of_the_recorded_level(line: str) -> None:
    level, text = line.split(" ", 1)
    assert headings(drawn(page(BODY), page(BODY, text, BODY))) == ([(int(level), text)] if level != "0" else [])


@pytest.mark.parametrize(
    "line",
    [
        ("September 26, 2018", "Helvetica-Bold", 11.0),
        ("3. Mai 2021", "Helvetica-Bold", 14.0),
        ("For the year that ends in May, or", "Helvetica-Bold", 11.0),
        ("Small company ☑", "HeiseiMin-W3", 16.0),
        ("QuickLinks -- Click here to see the whole document", "Helvetica", 16.0),
    ],
)
def test_dates_checkboxes_and_open_ends_in_bold_or_large_type_are_not_headings(line: tuple[str, str, float]) -> None:
    registerFont(UnicodeCIDFont("HeiseiMin-W3"))
    assert headings(drawn(page(BODY), page(BODY, line, BODY))) == []


def test_a_label_is_joined_to_the_title_below_it() -> None:
    assert headings(drawn(page(BODY), page("ARTICLE IV", "TERM AND TERMINATION", BODY))) == [
        (2, "ARTICLE IV TERM AND TERMINATION")
    ]


def test_a_title_that_begins_a_clause_is_a_heading_on_its_line() -> None:
    data = drawn(page(BODY), page(f"2.1 Term. {BODY}", BODY))
    assert headings(data) == [(4, "2.1 Term.")]
    assert load_pdf(data)[1].page_content == f"2.1 Term. {BODY}\n\n{BODY}"


def test_a_title_that_is_drawn_after_its_clause_is_separated_from_it() -> None:
    clause = both(lines(BODY, x=130, y=704), lines("2.1 Term.", y=700), lines(BODY, y=684))
    assert headings(drawn(clause)) == [(4, "2.1 Term.")]
    assert load_pdf(drawn(clause))[0].page_content == f"2.1 Term. {BODY}\n\n{BODY}"


@pytest.mark.parametrize(
    "clause",
    [
        "2.1 The fees are due. They are paid in cash.",
        "Term. The agreement ends.",
        "2.1 E.g. a fee.",
        "4.4 In the Case of a Sale, the Sum of: All Cash.",
        "2.1 Fees.",
        "2. No. 5 is alive.",
        "5 Ibid. See the other case.",
    ],
)
def test_a_sentence_that_begins_a_clause_is_not_a_heading_on_its_line(clause: str) -> None:
    texts = [text for _, text in headings(drawn(page(BODY), page(clause, BODY)))]
    assert texts in ([], [clause])


def test_lines_of_a_list_are_not_headings() -> None:
    names = ["1. Lily Tomas", "2. Bernd Friedlander", "3. Markus Eistert", "4. Ed Smith"]
    assert headings(drawn(page(BODY), page(BODY, *names, BODY))) in ([], [(3, names[0])])


@pytest.mark.parametrize("below", ["By: /s/ A. Smith", "Attn: the president", "____________", "i2"])
def test_names_above_a_signature_or_hardly_any_text_are_not_headings(below: str) -> None:
    assert headings(drawn(page(BODY), page(BODY, ("Smith and Sons", "Helvetica-Bold", 11.0), below, BODY))) == []


@pytest.mark.parametrize(("title", "first"), [("TERMS OF SALE", "1. Goods"), ("6. RIGHTS", "A. Data of Clients")])
def test_a_heading_right_above_the_first_of_several_is_kept(title: str, first: str) -> None:
    assert headings(drawn(page(BODY), page(BODY, title, first, BODY))) == [(3, title), (3, first)]


def test_lines_that_appear_twice_on_a_page_are_not_headings() -> None:
    assert headings(drawn(page(BODY), page(BODY, "MULTIPLIED BY", BODY, "MULTIPLIED BY", BODY))) == []


def test_entries_of_the_outline_are_headings() -> None:
    writer = pypdf.PdfWriter(io.BytesIO(drawn(page(BODY, "about our fees", BODY), page(BODY, "and when to pay", BODY))))
    parent = writer.add_outline_item(title="About our fees", page_number=0)
    writer.add_outline_item(title="And  when to pay", page_number=1, parent=parent)
    writer.add_outline_item(title="which isn't there", page_number=1)
    written = io.BytesIO()
    writer.write(written)
    assert headings(written.getvalue()) == [(2, "about our fees"), (3, "and when to pay")]


def test_a_centered_title_right_above_its_text_is_a_heading() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 11)
        canvas.drawCentredString(72 + canvas.stringWidth(BODY) / 2, 740, "SUPPLY AGREEMENT")
        canvas.drawString(72, 726, BODY)
        canvas.drawString(72, 712, BODY)

    assert headings(drawn(draw)) == [(1, "SUPPLY AGREEMENT")]


@pytest.mark.parametrize(
    "note",
    [
        ("5 Ibid, Same.", "Helvetica", 11.0),
        ("6. See David G.", "Helvetica", 8.0),
        ("7. Copyright Law Revision: Hearings before the House", "Helvetica", 8.0),
        ("3. How Did You Hear of Us? (Select One)", "Helvetica-Bold", 11.0),
        ("(In Millions)", "Helvetica-Bold", 11.0),
    ],
)
def test_footnotes_and_questions_are_not_headings(note: tuple[str, str, float]) -> None:
    assert headings(drawn(page(BODY), page(BODY, BODY, note, BODY))) == []


def test_a_long_title_in_large_type_is_the_title() -> None:
    def draw(canvas: Canvas) -> None:
        page(("Working Papers", "Helvetica-Bold", 14.0))(canvas)
        lines(
            "Overview of the Acceptance Model of Techniques:",
            "its origins, its limits and what comes",
            y=700,
            pitch=22,
            size=18,
        )(canvas)
        lines("Jane Doe", y=640)(canvas)
        lines(BODY, BODY, BODY, y=600)(canvas)

    assert headings(drawn(draw, page(BODY)))[0] == (
        1,
        "Overview of the Acceptance Model of Techniques: its origins, its limits and what comes",
    )


def test_the_title_is_above_the_first_paragraph() -> None:
    def draw(canvas: Canvas) -> None:
        page(("The History of the Word", "Helvetica-Bold", 11.0))(canvas)
        lines(BODY, BODY, BODY, y=710)(canvas)
        page("", "", "", "", ("The First Years", "Helvetica-Bold", 13.0), BODY)(canvas)

    assert headings(drawn(draw)) == [(1, "The History of the Word"), (3, "The First Years")]


def test_items_of_an_agenda_are_headings() -> None:
    agenda = page("1. Call to order", BODY, "2. Approval of the last minutes", BODY, "3. Other business", BODY)
    assert headings(drawn(page(BODY), agenda)) == [
        (3, "1. Call to order"),
        (3, "2. Approval of the last minutes"),
        (3, "3. Other business"),
    ]


def test_items_of_a_list_and_single_items_are_not_headings() -> None:
    items = ["1. Bread and milk", "2. Some old cheese", "3. Apples of this year"]
    assert headings(drawn(page(BODY), page(BODY, *items, BODY))) in ([], [(3, items[-1])])
    assert headings(drawn(page(BODY), page(BODY, "4. Some old cheese", BODY))) == []
