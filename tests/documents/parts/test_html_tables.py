"""Tables of unstructured: their rows, and the header, by `text_as_html`."""

from html import escape
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore, SentenceSplitter, SentenceWindowRetriever
from tests.toys import WordEmbeddings

TEXT = "Hall Rate & tax South hall 35 North 1 < 2"
HEAD = (
    "<table><thead><tr><th>Hall</th><th>Rate &amp; tax</th></tr></thead><tbody><tr><td>South <b>hall</b></td>"
    "<td>35</td></tr><tr><td>North</td><td>1 &lt; 2</td></tr></tbody></table>"
)
ROWS = ["Hall Rate & tax", "South hall 35", "North 1 < 2"]


def elements(text: str = TEXT, html: Any = HEAD, **metadata: Any) -> list[Document]:
    """Return what UnstructuredLoader does of a page with a title, a table and a paragraph."""
    given = [
        ("Title", "Prices", {}),
        ("Table", text, {} if html is None else {"text_as_html": html}),
        ("NarrativeText", "A refund.", {}),
    ]
    return [
        Document(each, metadata={"source": "a.pdf", "category": kind, "element_id": kind, **more, **metadata})
        for kind, each, more in given
    ]


def rows(documents: list[Document]) -> list[tuple[str, str | None]]:
    """The rows of tables, each with its header."""
    made = SentenceSplitter().split_documents(documents)
    return [
        (each.page_content, None if (lead := each.metadata.get("lead_in")) is None else made[lead].page_content)
        for each in made
        if each.metadata.get("kind") == "table_row"
    ]


@pytest.mark.parametrize(
    "html",
    [
        HEAD,
        HEAD.replace("td>", "TD>").replace("tr>", "TR>"),
        HEAD.replace("thead", "tbody").replace("th>", "td>"),
        "<table border=1><tr><td>Hall<td>Rate &amp; tax<tr><td>South hall<td>35<tr><td>North<td>1 < 2</table>",
        "<!-- a table -->" + HEAD.replace("<tr>", '\n<tr class="a">\n').replace("</table>", "<tr><td></td></tr>"),
        HEAD.replace("th>", "td>"),
    ],
)
def test_each_row_is_led_in_by_the_header(html: str) -> None:
    assert rows(elements(html=html)) == [(ROWS[0], None), (ROWS[1], ROWS[0]), (ROWS[2], ROWS[0])]


@pytest.mark.parametrize(
    ("text", "html"),
    [
        (TEXT, None),
        (TEXT, 7),
        (TEXT, ""),
        (TEXT, "South hall"),
        (TEXT, f"<table><tr><td>{TEXT}</td></tr></table>"),
        (TEXT, HEAD.replace("35", "36")),
        (TEXT, HEAD.replace("North", "")),
        ("Rate & tax Hall South hall 35 North 1 < 2", HEAD),
    ],
)
def test_a_table_whose_rows_arent_known_is_one_row(text: str, html: Any) -> None:
    assert rows(elements(text, html)) == [(text, None)]


@pytest.mark.parametrize(
    ("html", "headers"),
    [
        ("<tr><td>South</td><td>35</td></tr><tr><td>North</td><td>20</td></tr>", [None, None]),
        ("<tr><td>Seats</td></tr><tr><td>Halls</td></tr>", [None, None]),
        (
            "<tr><th>Prices</th></tr><tr><th>Hall</th><th>Euros</th></tr><tr><td>South</td><td>35</td></tr>",
            [None, None, 1],
        ),
        ("<tr><th>2024</th><th>2025</th></tr><tr><td>35</td><td>40</td></tr>", [None, 0]),
    ],
)
def test_the_header_is_the_last_row_that_is_one(html: str, headers: list[int | None]) -> None:
    text = " ".join(html.replace("<", " <").replace(">", "> ").split())
    text = " ".join(each for each in text.split() if not each.startswith("<"))
    found = rows(elements(text, f"<table>{html}</table>"))
    assert [lead for _, lead in found] == [None if at is None else found[at][0] for at in headers]


def test_rows_do_not_carry_the_table_and_others_do() -> None:
    made = SentenceSplitter().split_documents(elements())
    assert not any("text_as_html" in each.metadata for each in made)
    made = SentenceSplitter().split_documents(elements("Hall"))
    assert [each.page_content for each in made if "text_as_html" in each.metadata] == ["Hall"]


def test_a_table_keeps_its_header_when_another_element_is_replaced() -> None:
    retriever = SentenceWindowRetriever(
        vectorstore=FaissStore(WordEmbeddings()), k=1, fetch_k=1, window=0, lexical_weight=0
    )
    retriever.add_documents(elements(TEXT.replace("North", "Seat"), HEAD.replace("North", "Seat")))
    paragraph = elements()[2]
    retriever.add_documents([Document("A card.", metadata=paragraph.metadata)])
    [window] = retriever.invoke("seat")
    assert window.page_content == "Seat 1 < 2"
    assert [each["text"] for each in window.metadata["lead_ins"]] == [ROWS[0]]
    assert retriever.invoke("card")[0].page_content == "A card."


CELLS = st.lists(st.lists(st.text(st.sampled_from("ab 1|-<&\n"), max_size=4), max_size=3), max_size=4)


@given(CELLS, st.sampled_from(["td", "th"]))
def test_rows_hold_all_of_the_text(cells: list[list[str]], tag: str) -> None:
    text = "ab " + " ".join(cell for row in cells for cell in row)
    written = [[f"<{tag}>{escape(cell)}</{tag}>" for cell in row] for row in (["ab"], *cells)]
    found = rows(elements(text, "".join(f"<tr>{''.join(row)}</tr>" for row in written)))
    whole = ["ab", *(chars for row in cells if (chars := "".join("".join(row).split())))]
    assert ["".join(each.split()) for each, _ in found] == whole


def test_hostile_html_is_read_quickly() -> None:
    for unit in ("<", "<td ", "&lt;", "<tr><td>", "<!--"):
        assert rows(elements("a b", "<tr><td>a<tr><td>b" + unit * 50_000))
