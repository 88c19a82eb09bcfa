"""The tables of a page: by ruling lines, by columns of figures, and what only looks like one."""

from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph, Table, TableStyle

from app.tests.files.pdf.drawing import both, drawn, lines, turned
from langchain_sentence_window.documents.part_blocks import read_layout
from langchain_sentence_window.splitting.blocks import PROSE, TABLE_ROW
from sentence_window.files import load_pdf
from tests.properties import examples

Draw = Callable[[Canvas], None]


def tables_of(pdf: bytes) -> tuple[list[list[list[str]]], str]:
    """The tables of a page as rows of filled cells, and the text outside of them."""
    (page,) = load_pdf(pdf)
    layout = read_layout(page.metadata["layout"], len(page.page_content))
    assert layout is not None
    blocks = [(block.kind, page.page_content[block.start : block.end]) for block in layout[0]]
    tables = [
        [text.split("\t") for _, text in rows] for kind, rows in groupby(blocks, itemgetter(0)) if kind == TABLE_ROW
    ]
    return tables, " ".join(text for kind, text in blocks if kind != TABLE_ROW)


def rows_of(pdf: bytes) -> list[list[str]]:
    """The rows of the only table."""
    (rows,), _ = tables_of(pdf)
    return rows


def table(
    data: Sequence[Sequence[object]], *style: tuple[object, ...], x: float = 72, y: float = 400, **options: object
) -> Draw:
    """Draw a table; ``y`` is its lower end."""

    def draw(canvas: Canvas) -> None:
        made = Table(data, style=TableStyle(list(style)), **options)
        made.wrapOn(canvas, 450, 700)
        made.drawOn(canvas, x, y)

    return draw


GRID = ("GRID", (0, 0), (-1, -1), 0.5, "black")
PRICES = [["Item", "Price", "Due"], ["Chairs", "120.00", "May 1"], ["Tables and lamps", "75.50", "June 30"]]


RULED = [("BOX", (0, 0), (-1, -1), 0.5, "black"), ("INNERGRID", (0, 0), (-1, -1), 0.5, "black")]


@pytest.mark.parametrize("every", [2, 3, 5])
def test_a_rule_every_few_rows_leaves_a_row_for_each_line(every: int) -> None:
    towns = ["Aachen", "Bad Ems", "Celle", "Dachau", "Emden", "Fulda"]
    rows = [[town, str(10 * number), f"{number}.5"] for number, town in enumerate(towns, 1)]
    blocks = [rows[at : at + every] for at in range(0, len(rows), every)]
    data = [["Town", "Beds", "Rate"], *(["\n".join(column) for column in zip(*block, strict=True)] for block in blocks)]
    assert rows_of(drawn(table(data, *RULED)))[: every + 1] == [["Town", "Beds", "Rate"], *rows[:every]]


def test_lists_of_words_side_by_side_are_rows() -> None:
    states = [["Bavaria", "Munich"], ["Hesse", "Wiesbaden"], ["Saxony", "Dresden"], ["Saarland", "Saarbr."]]
    data = [["State", "Capital"], ["\n".join(column) for column in zip(*states, strict=True)]]
    assert rows_of(drawn(table(data, *RULED, colWidths=[150, 150]))) == [["State", "Capital"], *states]


def test_a_label_of_several_rows_is_in_the_first() -> None:
    data = [["Group", "Town", "Beds"], ["North", "Emden\nKiel\nJever", "10\n20\n30"]]
    assert rows_of(drawn(table(data, *RULED)))[1:] == [
        ["North", "Emden", "10"],
        ["Kiel", "20"],
        ["Jever", "30"],
    ]


@pytest.mark.parametrize(
    "row",
    [
        ["A fee that is due\nin the first month", "Paid by the party\nthat signs the lease"],
        ["Weighted\nAverage\nPrice", "Number\nof\nShares"],
        ["The fee\nfor a year", "120.00"],
        ["Chairs, tables\nand lamps", "120.00\nper year"],
        ["A Three Year\nSpecial Loan", "Home Loan 5.4%\n(Rate 5.53% p.a.)"],
        ["This is a list\n• One\n• Two\n• Three", "Another one\n• One\n• Two\n• Three"],
    ],
)
def test_cells_whose_texts_wrap_are_one_row(row: list[str]) -> None:
    assert rows_of(drawn(table([["Item", "Price"], row], *RULED)))[1:] == [[" ".join(cell.split("\n")) for cell in row]]


def test_a_grid_separates_cells() -> None:
    pdf = drawn(both(lines("Before the table.", y=700), table(PRICES, GRID), lines("After the table.", y=300)))
    assert rows_of(pdf) == PRICES
    assert tables_of(pdf)[1] == "Before the table. After the table."


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_a_grid_on_a_page_that_is_turned(degrees: int) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.translate(300, 400)
        canvas.rotate(degrees)
        table(PRICES, GRID, x=-100, y=0)(canvas)

    assert rows_of(turned(drawn(draw), degrees)) == PRICES


def test_a_cell_of_several_lines_is_one_cell() -> None:
    note = Paragraph("This is a note that takes several lines of its narrow cell.", ParagraphStyle("note"))
    rows = rows_of(drawn(table([["Item", "Note"], ["Chairs", note]], GRID, colWidths=[80, 90])))
    assert rows[1] == ["Chairs", note.getPlainText()]


def test_cells_may_be_empty_and_span_columns_and_rows() -> None:
    data = [["Prices", "", ""], ["Chairs", "", "May 1"], ["", "75.50", ""]]
    spans = [("SPAN", (0, 0), (2, 0)), ("SPAN", (0, 1), (0, 2))]
    assert rows_of(drawn(table(data, GRID, *spans))) == [["Prices"], ["Chairs", "May 1"], ["75.50"]]


def test_vertical_rules_between_inner_columns_are_enough() -> None:
    style = [("LINEBELOW", (0, 0), (-1, -1), 0.5, "black"), ("LINEAFTER", (0, 0), (0, -1), 0.5, "black")]
    data = [["Term", "Meaning"], ["Fee", "what the buyer pays"], ["Goods", "what the seller sends"]]
    assert rows_of(drawn(table(data, *style))) == data


def test_rules_that_are_filled_rectangles_or_sides_of_rectangles() -> None:
    def bars(canvas: Canvas) -> None:
        for x in (72, 172, 272):
            canvas.rect(x, 600, 0.8, 60, stroke=0, fill=1)
        path = canvas.beginPath()
        for y in (600, 630, 660):
            path.rect(72, y, 200, 0.8)
        canvas.drawPath(path, stroke=0, fill=1)

    def boxes(canvas: Canvas) -> None:
        for x in (72, 172):
            for y in (600, 630):
                canvas.rect(x, y, 100, 30)

    words = [lines("One", "Three", x=80, y=640, pitch=30), lines("Two", "Four", x=180, y=640, pitch=30)]
    for ruled in (bars, boxes):
        assert rows_of(drawn(both(ruled, *words))) == [["One", "Two"], ["Three", "Four"]]


def test_rules_inside_a_form() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.beginForm("grid")
        table(PRICES, GRID, x=0, y=0)(canvas)
        canvas.endForm()
        canvas.translate(100, 300)
        canvas.scale(0.8, 0.8)
        canvas.doForm("grid")

    assert rows_of(drawn(draw)) == PRICES


def test_a_text_that_crosses_a_ruling_line_stays_in_its_cell() -> None:
    def draw(canvas: Canvas) -> None:
        for x in (72, 132, 300):
            canvas.line(x, 600, x, 660)
        for y in (600, 630, 660):
            canvas.line(72, y, 300, y)
        canvas.drawString(74, 640, "Publications and")
        canvas.drawString(74 + 87, 640, "written consent")
        lines("Term", x=74, y=610)(canvas)
        lines("two years", x=140, y=610)(canvas)

    assert rows_of(drawn(draw)) == [["Publications and", "written consent"], ["Term", "two years"]]


def test_a_row_with_a_long_text_is_read_cell_by_cell() -> None:
    clause = Paragraph(
        "The seller shall not publish any of this before the buyer agrees. " * 8, ParagraphStyle("clause")
    )
    pdf = drawn(
        table([["Provision", "Clause"], ["Publication", clause], ["Term", "two years"]], GRID, colWidths=[80, 300])
    )
    (page,) = load_pdf(pdf)
    layout = read_layout(page.metadata["layout"], len(page.page_content))
    assert layout is not None
    assert [block.kind for block in layout[0]] == [TABLE_ROW, PROSE, PROSE, TABLE_ROW]


def columns(*rows: tuple[str, ...], xs: Sequence[float] = (72, 250, 400), y: float = 600, pitch: float = 15) -> Draw:
    """Draw texts in columns, without rules."""

    def draw(canvas: Canvas) -> None:
        for number, row in enumerate(rows):
            for x, text in zip(xs, row, strict=False):
                canvas.drawString(x, y - number * pitch, text)

    return draw


YEARS = (("Year", "Minimum", "Paid in"), ("One", "$1,500,000", "May"), ("Two", "$2,000,000", "June"))


def test_columns_of_figures_are_a_table() -> None:
    pdf = drawn(both(lines("The fees are these, and they are due as follows.", y=640), columns(*YEARS)))
    assert rows_of(pdf) == [list(row) for row in YEARS]
    assert tables_of(pdf)[1] == "The fees are these, and they are due as follows."
    two = [(name, amount) for name, amount, _ in YEARS]
    assert rows_of(drawn(columns(*two))) == [list(row) for row in two]


def test_the_head_of_a_column_may_be_missing_or_on_two_lines() -> None:
    rows = (("", "Minimum", "Paid"), ("Year", "amount", "in"), *YEARS[1:])
    assert rows_of(drawn(columns(*rows))) == [[cell for cell in row if cell] for row in rows]


def test_a_text_below_a_table_makes_no_column() -> None:
    pdf = drawn(both(columns(*(row[:2] for row in YEARS)), lines("alone", x=500, y=540)))
    assert rows_of(pdf) == [list(row[:2]) for row in YEARS]
    assert tables_of(pdf)[1] == "alone"


def test_a_line_without_a_first_text_goes_on_with_the_row_above() -> None:
    rows = (*YEARS[:2], ("", "", "and July"), YEARS[2], ("", "", "or later"))
    assert [row[2] for row in rows_of(drawn(columns(*rows)))] == ["Paid in", "May and July", "June or later"]


def test_a_currency_sign_stays_with_its_number() -> None:
    rows = (
        ("Land", "$", "5,683", "$", "4,734"),
        ("Chairs", "", "6,246", "", "5,860"),
        ("Total", "$", "11,929", "$", "10,594"),
    )
    pdf = drawn(columns(*rows, xs=(72, 250, 300, 345, 400)))
    assert rows_of(pdf) == [
        ["Land", "$ 5,683", "$ 4,734"],
        ["Chairs", "6,246", "5,860"],
        ["Total", "$ 11,929", "$ 10,594"],
    ]


def test_names_across_several_columns_do_not_join_them() -> None:
    rows = (
        ("in millions", "Value", "Losses", "Value", "Losses"),
        ("Bonds", "77", "(5)", "391", "(19)"),
        ("Shares", "257", "(7)", "412", "(34)"),
    )
    names = both(lines("The twelve months before", x=250, y=615), lines("The twelve months after", x=420, y=615))
    found, outside = tables_of(drawn(both(names, columns(*rows, xs=(72, 250, 340, 420, 510)))))
    assert found == [[list(row) for row in rows]]
    assert outside == "The twelve months before The twelve months after"


def test_a_title_between_two_tables_is_in_neither() -> None:
    above, below = columns(*YEARS, xs=(72, 300, 450), y=640), columns(*YEARS, xs=(72, 300, 450), y=560)
    found, outside = tables_of(drawn(both(above, lines("Later", x=180, y=580), below)))
    assert [len(rows) for rows in found] == [3, 3]
    assert outside == "Later"


def test_a_text_that_is_too_long_for_its_column_stays_in_its_row() -> None:
    rows = [[*row, mark] for row, mark in zip(YEARS, ("Mark", "A", "B"), strict=True)]
    long = ["Three, or a part of a longer year", "$3,000,000", "July", "C"]
    above = columns(*map(tuple, rows), xs=(72, 220, 360, 450))
    below = columns(tuple(long), xs=(72, 272, 360, 450), y=555)
    assert rows_of(drawn(both(above, below))) == [*rows, long]


LOOKALIKES: dict[str, Draw] = {
    "two columns of prose": columns(
        ("The buyer shall pay the fee", "and the seller shall send"),
        ("of $100 on May 1 of each", "the 20 goods within 30 days"),
        ("year in which goods have", "of each payment, unless they"),
        ("arrived at the named place", "agree on another day before."),
    ),
    "contents": columns(("1. Fees", "", "3"), ("2. Goods", "", "12"), ("3. Term", "", "14"), ("4. End", "", "15")),
    "contents with leaders": lines("Fees ............ 3", "Goods ........... 12", "Term ............ 14", "End ... 15"),
    "contents in roman": columns(("Preface", "iv"), ("Fees", "v"), ("Goods", "ix"), ("Term", "x")),
    "signatures": columns(
        ("SELLER INC.", "BUYER LLC"), ("By: /s/ A", "By: /s/ B"), ("Date: 5/11/2016", "Date: 5/4/2016")
    ),
    "addresses": columns(
        ("Seller Inc.", "Buyer LLC"), ("2600 Tenth Street", "20 Richmond St."), ("Berkeley, CA", "Toronto")
    ),
    "numbered clauses": columns(("1.1", "The fee is $100."), ("1.2", "It is due on May 1."), ("1.3", "2% later.")),
    "list items": columns(("(a)", "12 chairs;"), ("(b)", "30 tables;"), ("(c)", "4 lamps.")),
    "bullets": columns(("\u2022", "12 chairs"), ("\u2022", "30 tables"), ("\u2022", "4 lamps"), xs=(72, 100)),
    "definitions": columns(
        ('"Fee"', "means the amount of $100 that is due"),
        ('"Goods"', "means the 20 chairs that the seller sends"),
        ('"Term"', "means the 5 years that begin on May 1"),
    ),
    "two rows": columns(*YEARS[:2]),
    "justified prose": columns(
        ("The fee is", "$100 and is", "due"),
        ("on the first day", "of May in each", "year"),
        ("until the term", "has ended,", "in 2025"),
        xs=(72, 180, 300),
    ),
    "an underlined title": both(lines("TITLE"), lambda canvas: canvas.line(72, 697, 110, 697)),
    "a frame": both(lines("Framed text.", "More of it."), lambda canvas: canvas.rect(60, 600, 300, 150)),
    "a form with one column": both(
        lines("Territory:", "Developer:", x=80, y=640, pitch=30),
        lambda canvas: canvas.rect(72, 600, 300, 30),
        lambda canvas: canvas.rect(72, 630, 300, 30),
    ),
}


@pytest.mark.parametrize("name", LOOKALIKES)
def test_texts_that_only_look_like_a_table(name: str) -> None:
    assert "\t" not in load_pdf(drawn(LOOKALIKES[name]))[0].page_content


def test_a_drawing_of_many_lines_is_not_a_table() -> None:
    def draw(canvas: Canvas) -> None:
        lines("A map.", "Another line.")(canvas)
        path = canvas.beginPath()
        for number in range(6_000):
            path.moveTo(number % 600, 0)
            path.lineTo(number % 600, 700)
            path.moveTo(0, number % 800)
            path.lineTo(500, number % 800)
        canvas.drawPath(path)

    assert tables_of(drawn(draw)) == ([], "A map. Another line.")


WORD = st.text(st.sampled_from("abcdefgh0123456789$%."), min_size=1, max_size=8)


@examples(30)
@given(st.integers(1, 4), st.integers(2, 5), st.data())
def test_the_cells_of_any_grid_are_found(height: int, width: int, data: st.DataObject) -> None:
    cells = data.draw(st.lists(st.lists(WORD, min_size=width, max_size=width), min_size=height, max_size=height))
    assert rows_of(drawn(table(cells, GRID))) == cells


@examples(30)
@given(
    st.lists(st.tuples(*[st.integers(50, 550)] * 4), max_size=12),
    st.lists(st.tuples(st.integers(50, 250), WORD.map("${}".format)), max_size=30),
)
def test_no_letter_is_lost(strokes: list[tuple[int, ...]], words: list[tuple[int, str]]) -> None:
    def draw(canvas: Canvas) -> None:
        for x0, y0, x1, y1 in strokes:
            canvas.line(x0, y0, x1 if abs(x1 - x0) > abs(y1 - y0) else x0, y1 if abs(x1 - x0) <= abs(y1 - y0) else y0)
        canvas.drawString(50, 570, "words:")
        for number, (x, word) in enumerate(words):
            canvas.drawString(x + number % 2 * 260, 560 - number // 2 * 15, word)  # two a line, apart

    (page,) = load_pdf(drawn(draw))
    assert sorted("".join(page.page_content.split())) == sorted("words:" + "".join(word for _, word in words))
