"""DOCX as Markdown, and DOCX files that were made to do harm."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import SentenceSplitter
from langchain_sentence_window.errors import DocumentReadError
from langchain_sentence_window.loaders import load_file
from langchain_sentence_window.loaders.files.docx import MAX_PARTS, MAX_XML_BYTES, read_docx
from tests.loaders.files.writing import archive, docx, file, paragraph, run, table

POLICY = docx(
    paragraph("Refund policy", "Titel")
    + paragraph("Fees", "berschrift1")
    + paragraph("You may return a chair. These aren't refunded:")
    + paragraph("gifts", item=0)
    + paragraph("chairs made to order", item=0)
    + paragraph("unless faulty", item=1)
    + paragraph("By hall", "berschrift2")
    + table(("Hall", "Month"), ("South | East", "35"))
    + f"<w:p><w:r><w:rPr><w:b/></w:rPr><w:t>Deadlines</w:t></w:r></w:p><w:p>{run('Within ')}"
    + "<w:del><w:r><w:delText>20</w:delText></w:r></w:del><w:ins><w:r><w:t>30</w:t></w:r></w:ins>"
    + f'{run(" days.")}<w:r><w:footnoteReference w:id="2"/></w:r></w:p>',
    title="Refunds\n 2024",
    footnotes=f'<w:footnote w:id="2">{paragraph("Counted from the delivery.")}</w:footnote>',
)


def failure(data: bytes) -> str:
    with pytest.raises(DocumentReadError) as error:
        read_docx(data, "a.docx")
    assert str(error.value).startswith("a.docx ")
    return str(error.value)


def test_headings_lists_tables_and_notes_are_markdown() -> None:
    page = read_docx(POLICY, "a.docx")
    assert page.title == "Refunds 2024"
    assert page.text.split("\n\n") == [
        "# Refund policy",
        "# Fees",
        "You may return a chair. These aren't refunded:",
        "- gifts\n- chairs made to order\n  1. unless faulty",
        "## By hall",
        "| Hall | Month |\n| --- | --- |\n| South \\| East | 35 |",
        "**Deadlines**",
        "Within 30 days.[1]",
        "1. Counted from the delivery.",
    ]


def test_the_splitter_reads_its_structure(tmp_path: Path) -> None:
    found = SentenceSplitter().split_documents(load_file(file(tmp_path / "a.docx", POLICY)))
    assert {each.metadata["title"] for each in found} == {"Refunds 2024"}
    assert {(each.page_content, each.metadata["heading"], each.metadata.get("kind")) for each in found} >= {
        ("You may return a chair.", "Fees", None),
        ("1. unless faulty", "Fees", "list_item"),
        ("## By hall", "Fees > By hall", "heading"),
        ("| South \\| East | 35 |", "Fees > By hall", "table_row"),
        ("**Deadlines**", "Fees > By hall > Deadlines", "heading"),
        ("Within 30 days.[1]", "Fees > By hall > Deadlines", None),
    }


@given(st.lists(st.text("abc .&<", min_size=1).filter(str.strip), min_size=1, max_size=8))
def test_no_paragraph_is_lost_or_doubled(texts: list[str]) -> None:
    page = read_docx(docx("".join(map(paragraph, texts))), "a.docx")
    assert page.text.replace("\\<", "<").split("\n\n") == [" ".join(text.split()) for text in texts]


def test_pictures_arent_read() -> None:
    drawing = "<w:p><w:r><w:drawing/></w:r></w:p>"
    page = read_docx(docx(paragraph("a") + drawing, more={"word/media/image1.png": b"x" * 1000}), "a.docx")
    assert page.text == "a"


def test_an_archive_that_unpacks_to_too_much_is_refused_before_it_is_unpacked() -> None:
    bomb = docx(paragraph("a"), more={"word/x.xml": b"\0" * (MAX_XML_BYTES + 1)})
    assert len(bomb) < 100_000
    assert "unpacks to more than 67,108,864 bytes of XML" in failure(bomb)
    assert "more than 10,000 parts" in failure(archive({f"{number}.txt": b"" for number in range(MAX_PARTS + 1)}))


def test_very_many_tags_are_refused() -> None:
    assert "more than 2,000,000 tags of XML" in failure(docx(paragraph("a"), more={"word/x.xml": b"<a/>" * 2_000_001}))


def test_an_archive_that_lies_about_its_size_is_refused() -> None:
    bomb = docx(paragraph("a"), more={"word/x.xml": b" " * 1_000_000})
    said = (1_000_000).to_bytes(4, "little")
    assert bomb.count(said) == 2
    assert "BadZipFile" in failure(bomb.replace(said, (1_000).to_bytes(4, "little")))


BOMB = "<!DOCTYPE w [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;'><!ENTITY c '&b;&b;&b;&b;'>]>"


def test_entities_are_refused_in_every_part() -> None:
    assert "'word/document.xml', which no DOCX file has" in failure(docx(paragraph("&c;"), prolog=BOMB))
    for encoding in ("utf-8", "utf-16"):
        core = f"<?xml version='1.0' encoding='{encoding}'?>{BOMB}<a>&c;</a>".encode(encoding)
        assert "docProps/core.xml" in failure(docx(paragraph("a"), more={"docProps/core.xml": core}))
    external = "<!DOCTYPE w [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>"
    assert "document type definition" in failure(docx(paragraph("a"), prolog=external))


def test_damage_is_an_error_that_names_the_file() -> None:
    assert "(RecursionError)" in failure(docx("<w:p>" * 5_000 + "</w:p>" * 5_000))
    assert "(ExpatError)" in failure(docx("<w:p>"))
    assert "(BadZipFile)" in failure(POLICY[:500])
    assert "can't be read as DOCX" in failure(archive({"word/document.xml": b"<a/>"}))


@given(st.integers(0, len(POLICY) - 1), st.integers(0, 255))
def test_any_damaged_byte_is_harmless(at: int, byte: int) -> None:
    with suppress(DocumentReadError):
        read_docx(POLICY[:at] + bytes([byte]) + POLICY[at + 1 :], "a.docx")


def test_a_core_title_that_is_damaged_is_none() -> None:
    data = docx(paragraph("a"), more={"docProps/core.xml": b"<a"})
    assert read_docx(data, "a.docx")[::2] == ("a", "")


def test_a_file_of_another_program_has_no_styles(tmp_path: Path) -> None:
    bare = docx(paragraph("Pay now.", "Heading1"))
    document: Document = load_file(file(tmp_path / "a.docx", bare))[0]
    assert document.page_content == "# Pay now."
    assert "title" not in document.metadata
