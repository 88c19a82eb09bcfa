"""The reading order of pages in two columns."""

from collections.abc import Callable

from reportlab.pdfgen.canvas import Canvas

from app.tests.files.pdf.drawing import both, drawn, lines
from sentence_window.files import load_pdf

Draw = Callable[[Canvas], None]

LEFT, RIGHT = 60, 320
WORDS = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliett", "kilo", "lima"]
CODE = ["for x in y:", "  f(x)", "", "  g(x)", "", "", "end", "", "stop", "", "begin", "", "loop"]


def prose(name: str, count: int = 12) -> list[str]:
    return [f"the {name} column says the word {WORDS[i % len(WORDS)]} here" for i in range(count)]


def column(name: str, *, x: float, y: float = 700, count: int = 12) -> Draw:
    return lines(*prose(name, count), x=x, y=y, size=10)


def two_columns(number: int) -> Draw:
    return both(column(f"{WORDS[number]} left", x=LEFT), column(f"{WORDS[number]} right", x=RIGHT, y=697))


def texts(*pages: Draw) -> list[str]:
    return [document.page_content for document in load_pdf(drawn(*pages))]


def words(*parts: str) -> list[str]:
    return " ".join(parts).split()


def test_a_hanging_quotation_mark_of_the_right_column_is_not_a_band() -> None:
    right = prose("right")
    hanging = lines(f'"{right[7]}', x=RIGHT - 3, y=700 - 15 * 7, size=10)
    rest = both(*(lines(text, x=RIGHT, y=700 - 15 * i, size=10) for i, text in enumerate(right) if i != 7))
    (text,) = texts(both(column("left", x=LEFT), rest, hanging))
    assert text.split() == words(*prose("left"), *right[:7], f'"{right[7]}', *right[8:])


def test_code_next_to_prose_is_a_column_where_other_pages_have_columns() -> None:
    page = both(lines(*CODE, x=LEFT, y=705), column("right", x=RIGHT))
    assert texts(two_columns(0), two_columns(1), page)[2].split() == words(*CODE, *prose("right"))


def test_code_next_to_prose_is_a_column_if_its_lines_are_at_other_heights() -> None:
    code = [f"  f({word})" for word in WORDS]
    (text,) = texts(both(lines(*code, x=LEFT, y=707), column("right", x=RIGHT)))
    assert text.split() == words(*code, *prose("right"))


def test_contents_next_to_prose_are_a_column_where_other_pages_have_columns() -> None:
    heads = both(*(lines(f"{i}. {word}", x=LEFT, y=707 - 22 * i) for i, word in enumerate(WORDS[:8])))
    numbers = both(*(lines(str(i), x=280, y=707 - 22 * i) for i in range(8)))
    text = texts(two_columns(0), two_columns(1), both(heads, numbers, column("right", x=RIGHT)))[2]
    assert text.split() == words(*(f"{i}. {word} {i}" for i, word in enumerate(WORDS[:8])), *prose("right"))


def test_single_lines_below_a_title_are_columns_where_other_pages_have_columns() -> None:
    title = "This is a line across the whole page, above both columns, which is read before them."
    page = both(lines(title, x=LEFT, y=740), column("left", x=LEFT, count=2), column("right", x=RIGHT, count=1))
    assert texts(two_columns(0), two_columns(1), page)[2].split() == words(title, *prose("left", 2), *prose("right", 1))


def test_a_line_too_long_for_the_left_column_is_not_a_band() -> None:
    left = prose("left")
    long = f"{left[5]} and it runs over the gutter"
    page = both(lines(*left[:5], long, *left[6:], x=LEFT, size=10), column("right", x=RIGHT, y=707))
    text = texts(two_columns(0), two_columns(1), page)[2]
    assert text.split() == words(*left[:5], long, *left[6:], *prose("right"))


def test_a_paragraph_goes_on_in_the_next_column_after_the_notes_below_it() -> None:
    notes = lines("1 This is a note below the left column,", "and it has two lines.", x=LEFT, y=500, size=8, pitch=9)
    (text,) = texts(both(column("left", x=LEFT), notes, column("right", x=RIGHT)))
    assert text.split("\n\n") == [
        "1 This is a note below the left column, and it has two lines.",
        " ".join([*prose("left"), *prose("right")]),
    ]


def table(*xs: float, y: float) -> Draw:
    rows = both(*(lines("1.10", "2.20", "3.30", "4.40", x=x + 0.1, y=y) for x in xs[1:]))
    return both(rows, lines("Rome", "Oslo", "Bonn", "Lima", x=xs[0], y=y))


def test_a_table_in_a_column_next_to_prose_is_found() -> None:
    page = both(table(RIGHT + 40, RIGHT + 140, y=697), column("left", x=LEFT), column("right", x=RIGHT, y=600, count=8))
    text = texts(two_columns(0), two_columns(1), page)[2]
    assert "Rome\t1.10\nOslo\t2.20\nBonn\t3.30\nLima\t4.40" in text
    assert text.split()[: len(words(*prose("left")))] == words(*prose("left"))


def test_a_table_between_rules_across_both_columns_is_read_row_by_row() -> None:
    def rules(canvas: Canvas) -> None:
        canvas.line(LEFT, 720, 560, 720)
        canvas.line(LEFT, 640, 560, 640)

    page = both(
        rules, table(LEFT, 200, 400, 500, y=700), column("left", x=LEFT, y=610), column("right", x=RIGHT, y=607)
    )
    text = texts(two_columns(0), two_columns(1), page)[2]
    assert "Oslo\t2.20\t2.20\t2.20\nBonn" in text
    assert text.split()[-len(words(*prose("left"), *prose("right"))) :] == words(*prose("left"), *prose("right"))


def test_cells_across_the_columns_of_other_pages_are_read_row_by_row() -> None:
    cells = both(*(lines(*WORDS[3 * i : 3 * i + 3], x=x) for i, x in enumerate((100, 220, 370, 480))))
    text = texts(two_columns(0), two_columns(1), cells)[2]
    assert text.split() == [WORDS[3 * i + row] for row in range(3) for i in range(4)]


def test_signatures_side_by_side_are_read_across() -> None:
    body = lines(*(f"This is a line across the whole page, and it says the word {word}." for word in WORDS), x=LEFT)
    names = both(*(lines("By: Some", "Name: Some Body", "Title: Chief", x=x, y=400) for x in (LEFT, RIGHT)))
    (text,) = texts(both(body, names))
    rows = words("By: Some By: Some Name: Some Body Name: Some Body Title: Chief Title: Chief")
    assert text.split()[-len(rows) :] == rows
