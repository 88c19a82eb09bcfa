"""Slides, texts, e-books, notebooks, messages and JSON: what their Documents are, and what is refused."""

import io
import json
import zipfile
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from app.tests.files.office_writing import epub, library, msg, odt, saved
from app.tests.files.writing import archive, file
from langchain_sentence_window import SentenceSplitter
from langchain_sentence_window.errors import DocumentReadError, SentenceWindowWarning
from sentence_window.files import load_file

BOMB = b'<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'


def loaded(tmp_path: Path, name: str, data: bytes | str) -> list[Document]:
    return load_file(file(tmp_path / name, data))


def text(tmp_path: Path, name: str, data: bytes | str) -> str:
    (document,) = loaded(tmp_path, name, data)
    return document.page_content


def failure(tmp_path: Path, name: str, data: bytes | str) -> str:
    with pytest.raises(DocumentReadError) as error:
        loaded(tmp_path, name, data)
    assert name in str(error.value)
    return str(error.value)


def lead_ins(document: Document) -> dict[str, str | None]:
    """The lead-in of each sentence of a Document."""
    sentences = SentenceSplitter().split_documents([document])
    texts = [each.page_content for each in sentences]
    leads = [each.metadata.get("lead_in") for each in sentences]
    return {each: None if lead is None else texts[lead] for each, lead in zip(texts, leads, strict=True)}


URI = "data:image/png;base64," + 20 * "iVBORw0KGgoAAAANSUhEUgAA"


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        (
            "a.ipynb",
            json.dumps(
                {
                    "cells": [
                        {"cell_type": "markdown", "source": f"![A plan]({URI})"},
                        {"cell_type": "code", "source": f"logo = '{URI}'"},
                    ]
                }
            ),
            "![A plan]()\n\n```\nlogo = ''\n```",
        ),
        ("a.json", json.dumps({"name": "A plan", "icon": URI}), "- name: A plan\n- icon:"),
        ("a.eml", f"Subject: Plan\n\nLook. {URI} Go on.\n\n{URI}\n\nGo.", "# Plan\n\nLook.  Go on.\n\nGo."),
        (
            "a.html",
            f"<main><p>Look.<pre><code>url({URI})</code></pre><p>{URI}<p>Go.",
            "Look.\n\n```\nurl()\n```\n\nGo.",
        ),
    ],
)
def test_a_data_uri_is_left_out(tmp_path: Path, name: str, data: str, expected: str) -> None:
    assert text(tmp_path, name, data) == expected


def test_a_data_uri_in_a_cell_is_left_out(tmp_path: Path) -> None:
    rows = loaded(tmp_path, "a.csv", f'name,icon\nA plan,"{URI}"\n')
    assert [row.page_content for row in rows] == ["| name | icon |\n| --- | --- |", "| A plan |  |"]


@pytest.fixture
def deck() -> Any:
    return library("pptx").Presentation()


def add_slide(deck: Any, title: str, *items: tuple[int, str]) -> Any:
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = title
    frame = slide.placeholders[1].text_frame
    for at, (level, item) in enumerate(items):
        paragraph = frame.paragraphs[0] if at == 0 else frame.add_paragraph()
        paragraph.text, paragraph.level = item, level
    return slide


def test_each_slide_is_a_document_with_its_title_its_lists_and_its_notes(deck: Any, tmp_path: Path) -> None:
    add_slide(deck, "Refunds", (0, "Paid by card:"), (1, "within a week"), (0, "Paid in cash"))
    deck.slides.add_slide(deck.slide_layouts[6])  # without text
    noted = add_slide(deck, "Seats", (0, "A seat is booked for a day."))
    noted.notes_slide.notes_text_frame.text = "Say who may book."
    deck.core_properties.title = "House rules"
    first, last = loaded(tmp_path, "a.pptx", saved(deck))
    assert first.page_content == "# Refunds\n\n- Paid by card:\n  - within a week\n- Paid in cash"
    assert last.page_content == "# Seats\n\nA seat is booked for a day.\n\nNotes: Say who may book."
    assert [(each.metadata["slide"], each.metadata["total_pages"]) for each in (first, last)] == [(1, 3), (3, 3)]
    assert {each.metadata["title"] for each in (first, last)} == {"House rules"}
    assert lead_ins(first)["- within a week"] == "- Paid by card:"


def test_tables_charts_and_grouped_shapes_of_slides_are_read_and_numbers_of_slides_are_not(
    deck: Any, tmp_path: Path
) -> None:
    library("pptx")
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE

    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Halls"
    table = slide.shapes.add_table(2, 2, 0, 0, 9, 9).table
    for at, cell in enumerate(("Hall", "Euros", "South", "35")):
        table.cell(at // 2, at % 2).text = cell
    inner = slide.shapes.add_group_shape().shapes.add_group_shape().shapes.add_textbox(0, 0, 9, 9)
    inner.text_frame.text = "Ask the porter."
    data = CategoryChartData()
    data.categories = ["May", "June"]
    data.add_series("Guests", (10, 20))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, 9, 9, data)
    page = text(tmp_path, "a.pptx", saved(deck))
    assert page.startswith("# Halls\n\n| Hall | Euros |\n| --- | --- |\n| South | 35 |\n\nAsk the porter.\n\n")
    assert page.endswith("|  | Guests |\n| --- | --- |\n| May | 10 |\n| June | 20 |")


def test_a_slide_that_is_named_twice_is_read_once(deck: Any, tmp_path: Path) -> None:
    add_slide(deck, "Seats")
    data = io.BytesIO(saved(deck))
    with zipfile.ZipFile(data) as read:
        parts = {each: read.read(each) for each in read.namelist()}
    (slide,) = (each for each in (b'<p:sldId id="256"',) if each in parts["ppt/presentation.xml"])
    start = parts["ppt/presentation.xml"].index(slide)
    end = parts["ppt/presentation.xml"].index(b"/>", start) + 2
    named = parts["ppt/presentation.xml"]
    parts["ppt/presentation.xml"] = named[:end] + 1000 * named[start:end] + named[end:]
    assert text(tmp_path, "a.pptx", archive(parts)) == "# Seats"


def test_a_text_of_opendocument_has_headings_lists_tables_and_notes(tmp_path: Path) -> None:
    styles = (
        '<text:list-style style:name="L"><text:list-level-style-number text:level="1"/></text:list-style>'
        '<style:style style:name="P1" style:parent-style-name="Title"/>'
    )
    body = (
        '<text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:p text:style-name="P1">Rules</text:p>'
        '<text:h text:outline-level="2">Seats</text:h><text:p>A<text:s text:c="3"/>seat<text:tab/>is<text:line-break/>'
        "booked<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Online.</text:p>"
        "</text:note-body></text:note>.</text:p>"
        '<text:list text:style-name="L"><text:list-item><text:p>First</text:p><text:list><text:list-item>'
        "<text:p>inner</text:p></text:list-item></text:list></text:list-item></text:list>"
        "<table:table><table:table-row><table:table-cell><text:p>Hall</text:p></table:table-cell><table:table-cell>"
        "<text:p>Euros</text:p></table:table-cell></table:table-row><table:table-row><table:table-cell><text:p>South"
        "</text:p></table:table-cell><table:table-cell><text:p>35</text:p></table:table-cell></table:table-row>"
        "</table:table>"
    )
    assert text(tmp_path, "a.odt", odt(body, styles=styles)) == (
        "# Rules\n\n## Seats\n\nA seat is\nbooked[1].\n\n1. First\n   - inner\n\n"
        "| Hall | Euros |\n| --- | --- |\n| South | 35 |\n\n1. Online."
    )


def test_rich_text_has_paragraphs_and_tables_in_its_encoding(tmp_path: Path) -> None:
    library("striprtf.striprtf")
    cells = rb"\trowd Hall\cell Euros\cell\row\trowd S\'fcd\cell 35\cell\row "
    written = rb"{\rtf1\ansi\ansicpg1252 A seat is booked.\par \u-10179 ?\u-8694 ? for a day.\par " + cells + b"}"
    assert text(tmp_path, "a.rtf", written) == (
        "A seat is booked.\n\n😊 for a day.\n\n| Hall | Euros |\n| --- | --- |\n| Süd | 35 |"
    )
    assert "isn't in Rich Text Format" in failure(tmp_path, "b.rtf", "Pay now.")
    fonts = b"{\\rtf1{\\fonttbl" + b"{\\f1 a" * 20_000 + b"}" * 20_000 + b"}Pay now.}"
    assert "too large a font table" in failure(tmp_path, "c.rtf", fonts)


def test_a_book_is_its_chapters_in_the_order_of_its_spine(tmp_path: Path) -> None:
    (book,) = loaded(tmp_path, "a.epub", epub({"b": "<h1>One</h1><p>Pay&nbsp;now.</p>", "a": "<h1>Two</h1><p>Later."}))
    assert book.page_content == "# One\n\nPay now.\n\n# Two\n\nLater."
    assert book.metadata["title"] == "House rules"
    headings = [each.metadata["heading"] for each in SentenceSplitter().split_documents([book])]
    assert headings == ["One", "One", "Two", "Two"]
    damaged = epub({"a": "<p>Pay now."}, more={"in/a.xhtml": b"\x8f\x11"})
    assert "'in/a.xhtml' can't be read" in failure(tmp_path, "b.epub", damaged)


def test_a_notebook_is_its_texts_its_code_and_what_that_wrote(tmp_path: Path) -> None:
    outputs = [
        {"output_type": "stream", "text": ["\x1b[1;31m3\x1b[0m\n", "4"]},
        {"output_type": "display_data", "data": {"image/png": "iVBOR", "text/plain": "<Figure>"}},
        {"output_type": "execute_result", "data": {"text/plain": "5", "text/markdown": "*five*"}},
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# Sums\n", "Add them."]},
        {"cell_type": "code", "source": "print(`3`)\n```", "outputs": outputs},
    ]
    book = {"cells": cells, "metadata": {"language_info": {"name": "python"}}}
    assert text(tmp_path, "a.ipynb", json.dumps(book)) == (
        "# Sums\nAdd them.\n\n````python\nprint(`3`)\n```\n````\n\n```\n3\n4\n```\n\n*five*"
    )
    assert "no cells" in failure(tmp_path, "b.ipynb", "[]")
    assert "isn't JSON" in failure(tmp_path, "c.ipynb", "{")


def message(**fields: str) -> EmailMessage:
    written = EmailMessage()
    for key, value in fields.items():
        written[key] = value
    return written


def test_a_message_is_its_subject_its_people_and_its_richest_text(tmp_path: Path) -> None:
    mail = message(Subject="Größe der Säle", From="Anna <a@example.org>", To="b@example.org")
    mail.set_content("plain")
    mail.add_alternative("<p>The hall is <b>large</b>.</p><ul><li>It has windows.</li></ul>", subtype="html")
    (found,) = loaded(tmp_path, "a.eml", bytes(mail))
    assert found.page_content == (
        "# Größe der Säle\n\n- From: Anna <a@example.org>\n- To: b@example.org\n\n"
        "The hall is large.\n\n- It has windows."
    )
    assert found.metadata["title"] == "Größe der Säle"


def test_a_forwarded_message_is_read_and_attachments_are_named_in_a_warning(tmp_path: Path) -> None:
    inner = message(Subject="Seats")
    inner.set_content("A seat is booked.\n\nFor a day.")
    mail = message(Subject="Fwd")
    mail.set_content("See below.")
    mail.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="plan.pdf")
    mail.add_attachment(inner)
    with pytest.warns(SentenceWindowWarning, match="attachments, which aren't read: 'plan.pdf'"):
        assert text(tmp_path, "a.eml", bytes(mail)) == (
            "# Fwd\n\nSee below.\n\n# Seats\n\nA seat is booked.\n\nFor a day."
        )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be"])
def test_odd_messages_are_read(tmp_path: Path, encoding: str) -> None:
    head = "Subject: =?nowhere?q?a?=\nContent-Type: text/plain; charset=nowhere\n\n"
    assert text(tmp_path, "a.eml", (head + "Pay now.").encode(encoding)).endswith("Pay now.")


def test_a_file_without_a_header_is_not_a_message(tmp_path: Path) -> None:
    assert "no header" in failure(tmp_path, "a.eml", "\nPay now.")
    assert "(RecursionError" in failure(tmp_path, "b.eml", "Content-Type: message/rfc822\n\n" * 2_000)


def test_a_message_of_outlook_is_read(tmp_path: Path) -> None:
    library("oxmsg")
    with pytest.warns(SentenceWindowWarning, match=r"aren't read: 'plan\.pdf'"):
        found = text(tmp_path, "a.msg", msg("seats"))
    assert found == "# Seats\n\n- Date: 1602-01-02 00:00:00+00:00\n\nA seat is booked.\n\nFor a day."


def test_json_is_a_list_of_keys_and_values(tmp_path: Path) -> None:
    given = {"name": "Hall", "open": True, "size": 1.50, "notes": ["It is large.\n\nAsk first.", None], "none": []}
    written = json.dumps(given).replace("1.5", "1.50")
    assert text(tmp_path, "a.json", written) == (
        "- name: Hall\n- open: true\n- size: 1.50\n- notes:\n  - It is large.\n\n    Ask first.\n  - null\n- none:"
    )
    assert "isn't JSON" in failure(tmp_path, "b.json", "[" * 100_000)


def test_records_of_json_are_rows_if_they_are_alike_and_numbered_items_if_not(tmp_path: Path) -> None:
    rows = [{"hall": "South", "euros": 35}, {"hall": "North", "euros": 20}]
    assert text(tmp_path, "a.json", json.dumps(rows)) == (
        "| hall | euros |\n| --- | --- |\n| South | 35 |\n| North | 20 |"
    )
    (other,) = loaded(tmp_path, "b.json", json.dumps([{"hall": "South", "at": [1]}, {"hall": "North"}]))
    assert other.page_content == "1. hall: South\n   - at:\n     - 1\n2. hall: North"
    assert lead_ins(other)["- 1"] == "- at:"


@pytest.mark.parametrize("suffix", [".pptx", ".xlsx", ".odt", ".epub"])
def test_archives_that_arent_what_they_say_are_refused(tmp_path: Path, suffix: str) -> None:
    library("openpyxl")
    name = f"a{suffix}"
    assert "File is not a zip file" in failure(tmp_path, name, "Pay now.")
    assert "is encrypted, or a file of an old version" in failure(tmp_path, name, b"\xd0\xcf\x11\xe0" + b"x" * 99)
    assert "can't be read" in failure(tmp_path, name, archive({"a.xml": b"<a/>"}))
    assert "unpacks to more than" in failure(tmp_path, name, archive({"a.xml": b"<a>" + b" " * (1 << 26)}))
    needed = {".pptx": "ppt/presentation.xml", ".odt": "content.xml", ".epub": "META-INF/container.xml"}
    typed = archive({needed.get(suffix, "xl/workbook.xml"): BOMB + b"<a>&b;</a>"})
    assert f"which no {suffix[1:].upper()} file has" in failure(tmp_path, name, typed)


def test_an_encrypted_text_of_opendocument_says_so(tmp_path: Path) -> None:
    manifest = b"<m:manifest><m:encryption-data/></m:manifest>"
    data = odt("<text:p>a</text:p>", more={"META-INF/manifest.xml": manifest})
    assert failure(tmp_path, "a.odt", data).endswith("is encrypted; save it again without a password")
    assert "isn't an OpenDocument text" in failure(tmp_path, "b.odt", archive({"content.xml": b"<a/>"}))
