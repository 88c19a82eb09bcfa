"""The text of drawn pages: reading order, paragraphs, words, lists."""

from collections.abc import Callable
from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas

from app.tests.files.pdf.drawing import both, drawn, lines, mapped, squeezed, turned
from sentence_window.files import load_pdf

LEFT = [
    "The first column of this page has several",
    "lines of text, most of which are as wide",
    "as the column, as they are in a journal or",
    "a newspaper. Its last sentence goes on in",
    "the other column, at the top of the page,",
    "where a reader would look for it when he",
]
RIGHT = [
    "or she comes to the end of this line. The",
    "second column has as many lines as the one",
    "before, and they are as wide. If both were",
    "read line by line across the page, no reader",
    "would understand a word of it, and neither",
    "would a machine that looks for sentences.",
]


def text_of(*pages: Callable[[Canvas], None]) -> str:
    return "\n--\n".join(document.page_content for document in load_pdf(drawn(*pages)))


def across(*rows: tuple[str, str], y: float = 700, x: float = 320) -> Callable[[Canvas], None]:
    """Draw two columns row by row, as some programs do."""

    def draw(canvas: Canvas) -> None:
        for number, (left, right) in enumerate(rows):
            canvas.drawString(60, y - 15 * number, left)
            canvas.drawString(x, y - 15 * number, right)

    return draw


PARAGRAPHS = (Path(__file__).parent / "paragraphs.txt").read_text(encoding="utf-8").split("=====\n")[1:]


@pytest.mark.parametrize("recorded", PARAGRAPHS)
def test_lines_are_read_as_recorded(recorded: str) -> None:
    drawn_lines, _, expected = recorded.partition("-----\n")
    assert text_of(lines(*drawn_lines.splitlines())) == expected.removesuffix("\n")


def test_lines_of_a_paragraph_are_joined_and_paragraphs_are_separated() -> None:
    page = both(lines("One paragraph with", "two lines.", y=700), lines("And another one.", y=650))
    assert text_of(page) == "One paragraph with two lines.\n\nAnd another one."


def test_an_indented_line_begins_a_paragraph() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.drawString(90, 700, "This paragraph begins with an indented line, and")
        canvas.drawString(72, 685, "it ends here, before the right side of the page.")
        canvas.drawString(90, 670, "This is another paragraph, as its line is indented,")
        canvas.drawString(72, 655, "although there is no white space above it.")

    assert text_of(draw).count("\n\n") == 1


@pytest.mark.parametrize("y", [700, 693])
def test_columns_are_read_one_after_the_other(y: int) -> None:
    page = both(lines(*LEFT, x=60), lines(*RIGHT, x=320, y=y))
    assert text_of(page) == " ".join(LEFT + RIGHT)


def test_columns_that_are_drawn_across_are_read_one_after_the_other() -> None:
    assert text_of(across(*zip(LEFT, RIGHT, strict=True))) == " ".join(LEFT + RIGHT)


def test_a_title_across_both_columns_comes_first_and_a_note_below_them_last() -> None:
    title = "This is a line across the whole page, above both columns, which is read before them."
    note = "And this is another line across the whole page, below both of them, to be read last."
    page = both(across(*zip(LEFT, RIGHT, strict=True)), lines(title, y=740, x=60), lines(note, y=560, x=60))
    assert text_of(page) == f"{title}\n\n{' '.join(LEFT + RIGHT)}\n\n{note}"


def test_three_columns() -> None:
    words = [
        "a column with several",
        "lines that are as wide",
        "as they can be in it, and",
        "that all of them fill now.",
    ]

    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        for column in range(3):
            for number, line in enumerate(words):
                canvas.drawString(50 + 170 * column, 700 - 12 * number, f"{line}"[: 26 - column])

    text = text_of(draw)
    assert text.index("column with several") == 2
    assert text.count(" ".join(words[:2])) == 3


def test_a_number_before_a_wide_gap_stays_with_its_paragraph() -> None:
    def draw(canvas: Canvas) -> None:
        for number in range(6):
            canvas.drawString(60, 700 - 40 * number, f"1.{number + 1}")
            canvas.drawString(120, 700 - 40 * number, "The parties agree on this and on that, as they")
            canvas.drawString(120, 685 - 40 * number, "always do when they have nothing to quarrel about.")

    assert text_of(draw).split("\n\n")[3] == (
        "1.4 The parties agree on this and on that, as they always do when they have nothing to quarrel about."
    )


def test_the_words_of_the_file_decide_whether_a_hyphen_stays() -> None:
    other = lines("Their long-term goals", "and their longterm goals", "are brick-layer goals.", y=600)
    assert "a brick-layer is" in text_of(both(lines("They say that a brick-", "layer is rich."), other))


def test_the_halves_of_words_in_columns_are_joined() -> None:
    left = ["We find that it is nec-", "essary to set two col-", "umns of text on a page", "of the proceedings of it."]
    right = ["The other column has re-", "dundancy in its num-", "bers and in its hori-", "zontal lines as well."]
    text = text_of(both(lines(*left), lines(*right, x=320)))
    assert text.split("\n\n") == [
        "We find that it is necessary to set two columns of text on a page of the proceedings of it.",
        "The other column has redundancy in its numbers and in its horizontal lines as well.",
    ]


def test_ligatures_are_written_out_and_spaces_are_plain() -> None:
    data = mapped(b"BT /F 12 Tf 72 700 Td (a b1ce 2x) Tj ET", {"31": "\ufb03", "32": "\xa0"})
    (document,) = load_pdf(data)
    assert document.page_content == "a bffice x"


def test_soft_hyphens_are_dropped() -> None:
    data = mapped(b"BT /F 12 Tf 72 700 Td (agree1ment) Tj ET", {"31": "\xad"})
    assert load_pdf(data)[0].page_content == "agreement"


def test_spaces_that_take_no_place_do_not_part_characters_of_scripts_without_spaces() -> None:
    def text(gap: float) -> str:
        content = b"BT /F 12 Tf 72 700 Td (A) Tj ET BT /F 12 Tf 72 700 Td ( ) Tj ET BT /F 12 Tf %f 700 Td (B) Tj ET"
        return load_pdf(mapped(content % (80 + gap), {"41": "\u76ee", "42": "\u5f55"}))[0].page_content

    assert (text(0.2), text(9)) == ("\u76ee\u5f55", "\u76ee \u5f55")


def test_lines_of_a_script_without_spaces_are_joined_without_one() -> None:
    content = b"BT /F 12 Tf 72 700 Td (AAAAAA) Tj ET BT /F 12 Tf 72 684 Td (AAAA) Tj ET"
    assert load_pdf(mapped(content, {"41": "\u76ee"}))[0].page_content == 10 * "\u76ee"


def test_a_part_in_wider_lines_than_the_file_has_paragraphs() -> None:
    narrow = lines(*(f"and {each} of the lines that the file has most of its text in" for each in range(30)), pitch=13)
    wide = lines(
        "One of the parts of it is set",
        "in lines that are farther",
        "from each other, and it is",
        "one paragraph.",
        pitch=24,
    )
    assert text_of(narrow, wide).endswith(
        "One of the parts of it is set in lines that are farther from each other, and it is one paragraph."
    )


def test_a_bold_title_above_other_text_begins_a_paragraph() -> None:
    def draw(canvas: Canvas) -> None:
        lines("A line that is as wide as the column, with many words", y=730)(canvas)
        canvas.setFont("Helvetica-Bold", 12)
        canvas.drawString(72, 700, "The Fox and the Goose")
        canvas.setFont("Helvetica", 12)
        canvas.drawString(72, 685, "By a Friend of Both")

    assert text_of(draw).split("\n\n")[1:] == ["The Fox and the Goose", "By a Friend of Both"]


def test_a_turned_page_is_read_as_it_is_shown() -> None:
    data = drawn(lines(*LEFT))
    assert {load_pdf(turned(data, degrees))[0].page_content for degrees in (0, 90, 180, 270)} == {" ".join(LEFT)}


def test_text_that_runs_upwards_is_read_too() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.rotate(90)
        for number, line in enumerate(LEFT):
            canvas.drawString(100, -200 - 15 * number, line)

    assert text_of(draw) == " ".join(LEFT)


def test_a_note_on_the_side_comes_last() -> None:
    def note(canvas: Canvas) -> None:
        canvas.saveState()
        canvas.rotate(90)
        canvas.drawString(300, -30, "A note on the side")
        canvas.restoreState()

    assert text_of(both(note, lines("The text of the page."))) == "The text of the page.\n\nA note on the side"


def test_text_that_cannot_be_seen_is_left_out() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.drawString(72, 700, "Seen.")
        canvas.drawString(72, 900, "Above the page.")
        canvas.drawString(-400, 600, "Left of it.")
        canvas.setFont("Helvetica", 0.01)
        canvas.drawString(72, 500, "A dot.")
        canvas.setFont("Helvetica", 60)
        canvas.rotate(45)
        canvas.drawString(300, 100, "DRAFT")

    assert text_of(draw) == "Seen."


def test_notes_do_not_part_a_paragraph_that_goes_on() -> None:
    body = lines(
        "The parties agree that this sentence does not end", "on this page, as a note is below it and the", y=700
    )
    notes = lines("1 A note in small type.", y=100, size=8)
    first, second = load_pdf(drawn(both(body, notes), lines("sentence goes on here.")))
    assert first.page_content.endswith("a note is below it and the")
    assert first.page_content.startswith("1 A note")
    assert second.metadata["layout"].startswith('["+", ')


def test_a_page_number_in_the_middle_of_a_page_does_not_part_a_sentence() -> None:
    def page(number: int, what: str) -> Callable[[Canvas], None]:
        return both(
            lines(f"This printed page {what} ends before the end of its", y=700),
            lines(str(2 * number - 1), x=300, y=660),
            lines(f"last {what} sentence, which ends here.", y=640),
            lines(
                "Another paragraph.",
                f"Its {what} lines.",
                f"Its {what} end.",
                f"This {what} one ends late because its",
                y=600,
            ),
            lines(str(2 * number), x=300, y=500),
            lines(f"words {what} go on below.", y=460),
        )

    assert text_of(page(1, "here"), page(2, "there")).split("\n--\n")[0] == (
        "This printed page here ends before the end of its last here sentence, which ends here.\n\n"
        "Another paragraph.\n\nIts here lines.\n\nIts here end.\n\n"
        "This here one ends late because its words here go on below."
    )


def test_lines_drawn_with_hyphens_are_left_out() -> None:
    assert (
        text_of(lines("The title of it", "---------------", "And its text.", pitch=40))
        == "The title of it\n\nAnd its text."
    )
    assert "____" in text_of(lines("Signed:", "_______________"))


def test_letters_that_are_set_tight_are_all_read() -> None:
    def draw(canvas: Canvas) -> None:
        text = canvas.beginText(72, 700)
        text.setFont("Helvetica", 12)
        text.setCharSpace(-1.8)
        text.textOut("viii")
        canvas.drawText(text)

    assert text_of(draw) == "viii"


@pytest.mark.parametrize("line", ["." * 20_000 + "x", "_" * 20_000 + "x", "(a" * 10_000, "1." * 10_000, "a " * 10_000])
def test_long_lines_are_read(line: str) -> None:
    assert squeezed(line)[:100] in squeezed(text_of(lines(line, size=0.7, x=1)))


def test_a_page_of_many_lines_is_read() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 1)
        for number in range(8000):
            canvas.drawString(10 + 140 * (number % 4), 790 - 0.35 * (number // 4), f"goes on and on {number}")

    assert "goes on and on 7999" in text_of(draw)


def test_a_unit_above_a_table_in_small_type_stays_above_it() -> None:
    def draw(canvas: Canvas) -> None:
        lines(*LEFT, y=780)(canvas)
        canvas.setFont("Helvetica-Bold", 12)
        canvas.drawString(72, 640, "(In millions)")
        canvas.setFont("Helvetica", 8)
        for number, row in enumerate(
            (("Town", "2023", "2022"), ("Kiel", "12.5", "11.5"), ("Jever", "7.5", "9.5"), ("Emden", "8.1", "2.2"))
        ):
            for x, cell in zip((72, 250, 400), row, strict=True):
                canvas.drawString(x, 615 - 12 * number, cell)

    assert text_of(draw, lines(*RIGHT)).index("(In millions)") < text_of(draw, lines(*RIGHT)).index("Town")
