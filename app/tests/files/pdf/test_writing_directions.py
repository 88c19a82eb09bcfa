"""Right-to-left text, drawn from either end, by glyphs or by words, with numbers, Latin words and brackets."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reportlab.pdfbase.pdfmetrics import stringWidth

from app.tests.files.pdf.drawing import mapped, read_back, squeezed
from sentence_window.files import PDFLoader, load_pdf, locate
from tests.properties import examples

WIDE = [each.encode("latin-1") for each in "àáâãäåèéêëðñòóôõöùúûü¢£¥§"]
"""Codes of characters of Helvetica that are all equally wide."""

Drawn = tuple[float, str]
"""Where a text is drawn, and the text."""


def glyphs(line: str, widths: Callable[[str], float]) -> list[Drawn]:
    return [(widths(line[:at]), each) for at, each in enumerate(line)]


def words(line: str, widths: Callable[[str], float]) -> list[Drawn]:
    parts = line.split(" ")
    return [(widths(" ".join(parts[:at]) + " " * bool(at)), each) for at, each in enumerate(parts)]


WAYS: dict[str, Callable[[str, Callable[[str], float]], list[Drawn]]] = {
    "the line at once": lambda line, _: [(0, line)],
    "glyph by glyph": glyphs,
    "glyph by glyph without spaces": lambda line, widths: [each for each in glyphs(line, widths) if each[1] != " "],
    "glyph by glyph from the right": lambda line, widths: glyphs(line, widths)[::-1],
    "word by word": words,
    "word by word from the right": lambda line, widths: words(line, widths)[::-1],
}


def pdf_of(
    lines: Sequence[str], way: str = "the line at once", *, from_left: bool = False, right: float = 540
) -> bytes:
    """A PDF of lines as they are seen, from left to right."""
    placed = []
    for number, line in enumerate(lines):
        left = 72 if from_left else right - width(line)
        placed += [(left + x, 700 - 16 * number, text) for x, text in WAYS[way](line, width)]
    return drawn_at(placed)


def width(text: str) -> float:
    return float(stringWidth("".join(each if each.isascii() else "\xe0" for each in text), "Helvetica", 12))


def drawn_at(placed: Sequence[tuple[float, int, str]]) -> bytes:
    """A PDF of texts at their places, in letters that are all equally wide but for those of ASCII."""
    letters = sorted({each for _, _, text in placed for each in text if not each.isascii()})
    codes = dict(zip(letters, WIDE, strict=False))
    assert len(codes) == len(letters)
    content = b"BT /F 12 Tf\n"
    for x, y, text in placed:
        coded = b"".join(codes.get(each, each.encode("latin-1", "replace")) for each in text)
        escaped = coded.replace(b"(", b"\\(").replace(b")", b"\\)")
        content += b"1 0 0 1 %.3f %d Tm (%b) Tj\n" % (x, y, escaped)
    return mapped(content + b"ET", {code.hex(): each for each, code in codes.items()})


def text_of(pdf: bytes) -> str:
    return load_pdf(pdf)[0].page_content


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("seen", "read"),
    [
        ("הנש ןגה .ןגה תא ונינש", "שנינו את הגן. הגן שנה"),
        ("(דועו) 1,250.50 ריחמה", "המחיר 1,250.50 (ועוד)"),
        ("12/05/2020 םויב", "ביום 12/05/2020"),
        ("םולש Acme Ltd. הרבחה", "החברה Acme Ltd. שלום"),
        ("ןכ Windows 10 הסרג", "גרסה Windows 10 כן"),
        ("25% ריחמה", "המחיר 25%"),
        ("ןכ [ב]-ו (א) 3.2 ףיעס", "סעיף 3.2 (א) ו-[ב] כן"),
        ("%25 غلبم", "مبلغ 25%"),
        ("دقعلا أدبي", "يبدأ العقد"),
        ("۱۲۳ لاير", "ريال ۱۲۳"),
    ],
)
def test_a_line_from_right_to_left_is_read_in_its_order(seen: str, read: str, way: str) -> None:
    more = "אבגד" * 5
    assert text_of(pdf_of([seen, "", "", more], way)) == f"{read}\n\n{more[::-1]}"


@pytest.mark.parametrize("way", WAYS)
def test_words_from_right_to_left_in_a_line_from_left_to_right_are_turned(way: str) -> None:
    lines = ["The word םלוע םולש is a greeting (of peace).", "He paid 20 (םירשע) of them."]
    read = "The word שלום עולם is a greeting (of peace). He paid 20 (עשרים) of them."
    assert text_of(pdf_of(lines, way, from_left=True)) == read


def test_a_bracket_that_closes_on_the_next_line_is_turned_with_it() -> None:
    assert text_of(pdf_of(["ונינש דועו ריחמה (ןגה", "ןגה תא) ונינש"], "the line at once")).count("(") == 1
    assert text_of(pdf_of(["ונינש )ןגה", "ןגה( אבה"], "the line at once")) in (
        "הגן( שנינו הבא )הגן",
        "הגן) שנינו הבא (הגן",
    )


def test_columns_are_read_from_the_right() -> None:
    right = ["ןכאו הלחתהה אוהש רבד הנה ונל", "ןכאו תורוש המכ הב שי םג הפו", "ןכאו ףוסה דעו תחא דוע ול שי"] * 2
    left = ["ןכאו היינש הדומע איה תאז ול", "ןכאו דומעה ףוס דע אב אוה םג", "ןכאו םירבד לע תרפסמש תחא איה"] * 2
    placed = [
        (edge - width(line), 700 - 16 * number, line)
        for number, pair in enumerate(zip(right, left, strict=True))
        for edge, line in zip((540, 300), pair, strict=True)
    ]
    read = text_of(drawn_at(placed))
    assert read == " ".join(line[::-1] for line in right + left)


def test_marks_stay_with_their_letters() -> None:
    """A mark has no place of its own; it is drawn over its letter, before or after it."""
    letters, marks = "םולש", {1: "\u05b9", 3: "\u05b8"}
    placed = []
    for at, letter in enumerate(letters):
        placed += [(200 + 6.7 * at, 700, each) for each in (letter, marks.get(at, "")) if each]
    assert text_of(drawn_at(placed)) == text_of(drawn_at(placed[::-1])) == "שָלוֹם"


def test_a_sentence_is_located() -> None:
    pdf = pdf_of(["הנש ןגה .ןגה תא ונינש"], "the line at once")
    (page,) = PDFLoader(pdf, source="a.pdf").load()
    (place, *_) = locate(page, pdf)
    assert sorted(read_back(pdf, place.boxes)) == sorted(squeezed(place.text))


LETTERS = st.text("אבגדהABC12 .,%()[]-", max_size=30)


@given(st.lists(LETTERS, min_size=1, max_size=3), st.sampled_from(sorted(WAYS)))
@examples(60)
def test_no_letter_is_lost_or_made(lines: list[str], way: str) -> None:
    pages = load_pdf(pdf_of([*lines, "x"], way))
    letters = sorted(each for line in [*lines, "x"] for each in line if each.isalpha())
    assert sorted(each for page in pages for each in page.page_content if each.isalpha()) == letters
