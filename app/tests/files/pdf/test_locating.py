"""Where the sentences of a window stand on the pages of their PDF."""

import copy
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph

from app.tests.files.pdf.drawing import HEIGHT, WIDTH, both, drawn, lines, mapped, read_back, squeezed, turned
from langchain_sentence_window import SentenceSplitter, SentenceWindowRetriever, find_citations
from langchain_sentence_window.errors import DocumentReadError, InvalidInputError
from sentence_window.files import SentencePlace, load_pdf, locate
from tests.properties import examples
from tests.toys import WordEmbeddings


def texts_of(pdf: bytes) -> list[str]:
    return [page.page_content for page in load_pdf(pdf)]


def page_window(text: str, page: int = 0, spans: list[tuple[int, int]] | None = None, **metadata: Any) -> Document:
    """A window of one page: all of its text."""
    found = SentenceSplitter().spans(text) if spans is None else spans
    metadata |= {
        "page": page,
        "start_index": 0,
        "end_index": len(text),
        "sentence_spans": [list(span) for span in found],
    }
    return Document(page_content=text, metadata=metadata)


def located(pdf: bytes) -> list[SentencePlace]:
    """The places of all sentences of a file of one page, whose characters were read back."""
    (text,) = texts_of(pdf)
    places = locate(page_window(text), pdf)
    assert places
    for place in places:
        assert read_back(pdf, place.boxes) == squeezed(place.text)
    return places


def test_a_box_is_where_the_sentence_was_drawn() -> None:
    first, second = located(drawn(lines("The fee is due now. It is one dollar.")))
    assert (first.text, second.text) == ("The fee is due now.", "It is one dollar.")
    (box,) = first.boxes
    assert (box.page, box.page_label) == (0, None)
    assert box.x0 * WIDTH == pytest.approx(72, abs=1)
    assert box.x1 * WIDTH == pytest.approx(72 + stringWidth("The fee is due now.", "Helvetica", 12), abs=2)
    assert 700 - 5 < HEIGHT - box.y1 * HEIGHT < 700
    assert 700 + 8 < HEIGHT - box.y0 * HEIGHT < 700 + 13
    assert second.boxes[0].x0 > box.x1


def test_a_sentence_of_several_lines_has_a_box_for_each() -> None:
    (place,) = located(
        drawn(lines("The fee is due when the goods have", "arrived at the place that the", "buyer named."))
    )
    assert len(place.boxes) == 3
    assert [box.y0 for box in place.boxes] == sorted(box.y0 for box in place.boxes)
    assert all(above.y1 <= below.y0 for above, below in pairwise(place.boxes))


def test_tight_lines_do_not_touch() -> None:
    pdf = drawn(lines("Gypsy jugs (gyp) pry", "quays by gypping (jay)", "and ply (jig) Ägypten.", pitch=10))
    (place,) = located(pdf)
    assert len(place.boxes) == 3


LEFT = ["The buyer shall pay each", "fee on the day on which", "the goods have arrived at", "the place that was named,"]
RIGHT = [
    "unless the seller agrees to",
    "another day in writing and",
    "before the goods were sent",
    "to that place by anyone.",
]


def test_a_box_never_spans_two_columns() -> None:
    pdf = drawn(both(lines(*LEFT, x=72), lines(*RIGHT, x=330)))
    (place,) = located(pdf)
    assert len(place.boxes) == 8
    assert all(box.x1 * WIDTH < 300 or box.x0 * WIDTH > 320 for box in place.boxes)
    assert [box.x0 * WIDTH > 320 for box in place.boxes] == [False] * 4 + [True] * 4


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_a_page_that_is_turned(degrees: int) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.translate(WIDTH / 2, HEIGHT / 2)
        canvas.rotate(degrees)  # so that it is upright when the page is shown
        canvas.drawString(-200, 100, "The page is turned. Its text is upright.")

    width, height = (WIDTH, HEIGHT) if degrees == 180 else (HEIGHT, WIDTH)
    first, second = located(turned(drawn(draw), degrees))
    (box,) = first.boxes
    assert box.x0 * width == pytest.approx(width / 2 - 200, abs=1)
    assert height - box.y1 * height == pytest.approx(height / 2 + 100, abs=4)
    assert (box.x1 - box.x0) * width > 3 * (box.y1 - box.y0) * height
    assert second.boxes[0].x0 > box.x1


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_text_that_runs_across_the_page_has_boxes_along_it(degrees: int) -> None:
    pdf = drawn(lines("The buyer pays the whole", "fee. The seller keeps it."))
    first, second = located(turned(pdf, degrees))
    assert (len(first.boxes), len(second.boxes)) == (2, 1)


def test_a_page_that_is_cropped() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setCropBox((50, 600, 450, 750))
        lines("The page is cropped here.")(canvas)

    (place,) = located(drawn(draw))
    (box,) = place.boxes
    assert box.x0 * 400 == pytest.approx(22, abs=1)
    assert (1 - box.y1) * 150 == pytest.approx(100, abs=5)


def test_the_hyphen_of_a_divided_word_is_in_no_box() -> None:
    pdf = drawn(lines("The seller may raise the compen-", "sation once. The compensation is due."))
    place = located(pdf)[0]
    assert place.text == "The seller may raise the compensation once."
    assert "-" not in read_back(pdf, place.boxes)
    assert len(place.boxes) == 2


def test_ligatures_and_characters_beyond_the_basic_plane() -> None:
    pdf = mapped(
        b"BT /F 12 Tf 72 700 Td (One A two B three. Next C one D here.) Tj ET",
        {"41": "\U0001d400", "42": "ffi", "43": "\ufb01", "44": "\U0001f600\U0001f600"},
    )
    first, second = located(pdf)
    assert first.text == "One \U0001d400 two ffi three."
    assert second.text == "Next fi one \U0001f600\U0001f600 here."
    assert (len(first.boxes), len(second.boxes)) == (1, 1)
    assert first.boxes[0].x1 < second.boxes[0].x0


@pytest.mark.parametrize("last", ["when the page of the", "when the page of the mar-"])
def test_windows_of_a_retriever_are_found_on_their_pages(tmp_path: Path, last: str) -> None:
    path = tmp_path / "contract.pdf"
    first = lines("A seat has a card. The annual refund of each seat is sent", "in the evening, when the page of the")
    path.write_bytes(
        drawn(first, lines("market is closed. A trial is no backup for", "a replica. It fell in the morning."))
    )
    settings: dict[str, Any] = {"window": 1, "k": 1, "fetch_k": 1}
    retriever = SentenceWindowRetriever.from_documents(load_pdf(path), WordEmbeddings(), **settings)
    (window,) = retriever.invoke("annual refund")
    before = copy.deepcopy(window)
    places = locate(window)
    assert window == before
    assert [place.text for place in places if place.is_hit] == [
        "The annual refund of each seat is sent in the evening, when the page of the market is closed."
    ]
    assert [[box.page for box in place.boxes] for place in places] == [[0], [0, 0, 1], [1, 1]]
    for place in places:
        assert window.page_content[place.start_index - window.metadata["start_index"] :].startswith(place.text)
        assert read_back(path.read_bytes(), place.boxes) == squeezed(place.text)


def test_the_file_is_where_the_metadata_says_or_where_the_caller_says(tmp_path: Path) -> None:
    pdf = drawn(lines("One line."))
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf)
    document = page_window("One line.", source=str(path))
    found = locate(document)
    assert found[0].boxes
    assert found == locate(document, path) == locate(document, str(path)) == locate(document, pdf)
    (citation,) = find_citations("So it is [1].", [document])
    assert locate(citation) == found


def test_a_file_that_changed_is_refused(tmp_path: Path) -> None:
    document = page_window("One line.", source="a.pdf")
    with pytest.raises(InvalidInputError, match="page 1 of the PDF doesn't have the text of the window; the file has"):
        locate(document, drawn(lines("Another line.")))
    with pytest.raises(InvalidInputError, match="page 4 of the PDF"):
        locate(page_window("One line.", page=3), drawn(lines("One line.")))


def test_anything_but_a_window_of_a_pdf_is_refused(tmp_path: Path) -> None:
    pdf = drawn(lines("One line."))
    with pytest.raises(DocumentReadError, match=r"gone.pdf can't be read .*check the path"):
        locate(page_window("One line.", source=str(tmp_path / "gone.pdf")))
    with pytest.raises(InvalidInputError, match="the file is None; give its path or its bytes"):
        locate(page_window("One line."))
    with pytest.raises(InvalidInputError, match="the file is 7"):
        locate(page_window("One line."), 7)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="the window is 'One line.'; give a Document"):
        locate("One line.", pdf)
    with pytest.raises(InvalidInputError, match="PDFLoader"):
        locate(Document(page_content="One line.", metadata={"source": "a.md"}), pdf)


WORDS = st.text(st.sampled_from("abdefgijkmnopqrstuwyzABEFGJQTVWYÄÉçñöß.,:()'\"&%07"), min_size=1, max_size=9)


@examples(40)
@given(
    words=st.lists(WORDS.filter(lambda word: any(map(str.isalpha, word))), min_size=1, max_size=60),
    width=st.integers(120, 400),
    size=st.integers(6, 20),
    leading=st.sampled_from([0.95, 1.0, 1.2, 1.5]),
    alignment=st.integers(0, 2) | st.just(4),
    font=st.sampled_from(["Helvetica", "Times-Roman", "Times-Italic", "Courier-Bold"]),
    data=st.data(),
)
def test_the_characters_in_the_boxes_are_the_text(  # noqa: PLR0917
    words: list[str], width: int, size: int, leading: float, alignment: int, font: str, data: st.DataObject
) -> None:
    style = ParagraphStyle("body", fontName=font, fontSize=size, leading=leading * size, alignment=alignment)
    escaped = " ".join(words).replace("&", "&amp;")
    paragraph = Paragraph(escaped, style)
    _, height = paragraph.wrap(width, 10_000)
    pdf = drawn(lambda canvas: paragraph.drawOn(canvas, 100, 60), size=(700, height + 120))
    (text,) = texts_of(pdf)
    assert squeezed(text) == squeezed("".join(words))
    starts = [0, *(index + 1 for index, each in enumerate(text) if each.isspace()), len(text) + 1]
    cuts = sorted({0, len(text) + 1, *data.draw(st.lists(st.sampled_from(starts), max_size=4))})
    spans = [(low, high - 1) for low, high in pairwise(cuts) if low < high - 1]
    for place in locate(page_window(text, spans=spans), pdf):
        assert read_back(pdf, place.boxes) == squeezed(place.text)
