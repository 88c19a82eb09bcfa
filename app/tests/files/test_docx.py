"""DOCX as Markdown, and DOCX files that were made to do harm."""

import io
import re
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from app.tests.files.writing import OFFICE, RELATIONS, WORD, archive, docx, file, paragraph, run, table
from langchain_sentence_window import SentenceSplitter
from langchain_sentence_window.errors import DocumentReadError, SentenceWindowWarning
from sentence_window.files import load_bytes, load_file

MAX_XML_BYTES, MAX_XML_CHARS, MAX_PARTS = 64 * 1024 * 1024, 1_000_000, 10_000

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


def read(data: bytes) -> Document:
    (document,) = load_bytes(data, "a.docx")
    return document


def failure(data: bytes) -> str:
    with pytest.raises(DocumentReadError) as error:
        read(data)
    assert str(error.value).startswith("a.docx ")
    return str(error.value)


def test_headings_lists_tables_and_notes_are_markdown() -> None:
    page = read(POLICY)
    assert page.metadata["title"] == "Refunds 2024"
    assert page.page_content.split("\n\n") == [
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
    page = read(docx("".join(map(paragraph, texts))))
    assert page.page_content.replace("\\<", "<").split("\n\n") == [" ".join(text.split()) for text in texts]


MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'


EQUATIONS = (Path(__file__).parent / "equations.txt").read_text(encoding="utf-8").splitlines()[1:]


def equation(xml: str) -> str:
    named = re.sub(r" (\w+)=", r" m:\1=", re.sub(r"<(/?)", r"<\1m:", xml))
    return f"<m:oMath {MATH}>{named}</m:oMath>"


@pytest.mark.parametrize(("expected", "xml"), list(zip(EQUATIONS[::2], EQUATIONS[1::2], strict=True)))
def test_equations_are_linear_text_in_their_place(expected: str, xml: str) -> None:
    page = read(docx(f"<w:p>{run('It is ')}{equation(xml)}{run(' here.')}</w:p>"))
    assert page.page_content == f"It is {expected} here."
    alone = read(docx(f"<w:p><m:oMathPara {MATH}><m:oMathParaPr/>{equation(xml)}</m:oMathPara></w:p>"))
    assert alone.page_content == expected


def test_a_space_separates_adjacent_equations() -> None:
    twice = 2 * equation("<r><t>a</t></r>")
    assert read(docx(f"<w:p>{twice}</w:p>")).page_content == "a a"


def test_a_tab_to_the_margin_is_a_space_and_a_carriage_return_breaks_the_line() -> None:
    body = f"<w:p>{run('L. OTHER')}<w:r><w:ptab/></w:r>{run('5-12')}<w:r><w:cr/></w:r>{run('M.')}</w:p>"
    assert read(docx(body)).page_content == "L. OTHER 5-12\nM."


def test_one_warning_names_ignored_elements() -> None:
    odd = "".join(f"<w:r><w:odd{number}/></w:r>" for number in (1, 2, 3, 4, 4))
    with pytest.warns(SentenceWindowWarning) as warned:
        assert read(docx(f"<w:p>{run('a')}{odd}</w:p>")).page_content == "a"
    (message,) = [str(each.message) for each in warned]
    assert message.startswith("a.docx has elements that can't be read: An unrecognised element was ignored: w:odd1; ")
    assert message.endswith("w:odd3; and 1 more; if text is missing, save it again as .docx or as a PDF")


def test_pictures_arent_read() -> None:
    drawing = "<w:p><w:r><w:drawing/></w:r></w:p>"
    page = read(docx(paragraph("a") + drawing, more={"word/media/image1.png": b"x" * 1000}))
    assert page.page_content == "a"


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


def renamed(main: str, more: Mapping[str, bytes] = {}, **parts: str) -> bytes:
    """A file whose main part has a name of its own, and so have others that it refers to."""
    made = {
        name: zipfile.ZipFile(io.BytesIO(POLICY)).read(name) for name in zipfile.ZipFile(io.BytesIO(POLICY)).namelist()
    }
    folder, _, base = main.rpartition("/")
    relations = made.pop("word/_rels/document.xml.rels")
    for kind, target in parts.items():
        old = f"{kind}.xml"
        relations = relations.replace(f'Target="{old}"'.encode(), f'Target="/{target}"'.encode())
        made[target] = made.pop(f"word/{old}")
    made["_rels/.rels"] = RELATIONS.replace("word/document.xml", main).encode()
    made[f"{folder}/_rels/{base}.rels".lstrip("/")] = relations
    made[main] = made.pop("word/document.xml")
    return archive({**made, **more})


NAMES = ["word/document.bin", "document", "WORD/DOCUMENT.PNG", "word/../x.jpeg", "a\\b"]


@pytest.mark.slow
@pytest.mark.parametrize("main", NAMES)
def test_a_part_of_any_name_is_read_and_checked(main: str) -> None:
    page = read(renamed(main, styles="a/s.ttf", footnotes="n.gif"))
    assert page.page_content == read(POLICY).page_content
    for encoding in ("utf-8", "utf-16", "utf-16-be", "utf-32"):
        bomb = f"<?xml version='1.0' encoding='{encoding}'?>{BOMB}<a>&c;</a>".encode(encoding)
        for files in ({main: bomb}, {"a/s.ttf": bomb}, {"n.gif": bomb}):
            failure(renamed(main, files, styles="a/s.ttf", footnotes="n.gif"))
    assert "bytes of XML" in failure(renamed(main, {main: b"<a>" + b" " * MAX_XML_BYTES}))


def test_mammoth_only_gets_checked_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    got: list[bytes] = []
    library = import_module("mammoth")
    convert = library.convert_to_html

    def keep(file: io.BytesIO, **options: object) -> object:
        got.append(file.getvalue())
        return convert(file, **options)

    monkeypatch.setattr(library, "convert_to_html", keep)
    media = {"word/media/a.png": b"\x89PNG<", "word/media/b.svg": f"{BOMB}<svg>&c;</svg>".encode(), "c.bin": b"PK"}
    read(docx(paragraph("a"), more=media))
    assert not media.keys() & set(zipfile.ZipFile(io.BytesIO(got[0])).namelist())


def test_the_last_part_of_a_name_counts() -> None:
    written = io.BytesIO(docx(paragraph("first")))
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(written, "a") as file:
        file.writestr("word/document.xml", f"{BOMB}<a>&c;</a>")
    assert "document type definition" in failure(written.getvalue())


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_unusual_compression_is_refused(packing: int) -> None:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", packing) as file:
        file.writestr("word/document.xml", b"<a/>")
    assert "packs 'word/document.xml' in a way that no DOCX file does" in failure(written.getvalue())


TOO_LONG = "x" * (MAX_XML_CHARS + 1)
TOO_MUCH = {
    "text": (docx(f"<w:p><w:r><w:t>{TOO_LONG}</w:t></w:r></w:p>"), "1,000,000 characters"),
    "very long text": (docx(f"<w:p><w:r><w:t>{TOO_LONG * 60}</w:t></w:r></w:p>"), "1,000,000 characters"),
    "text in pieces": (
        docx(f"<w:p><w:r><w:t>{'&amp;&#97;<!-- -->' * 600_000}</w:t></w:r></w:p>"),
        "1,000,000 characters",
    ),
    "attribute": (docx(f'<w:p a="{TOO_LONG}"/>'), "1,000,000 characters"),
    "attributes": (docx(f"<w:p {' '.join(f'a{number}={chr(34)}{chr(34)}' for number in range(1001))}/>"), "attributes"),
    "elements": (docx("<w:p/>" * 500_001), "500,000 elements"),
    "list styles": (
        docx(
            paragraph("a", item=0) * 4_000,
            more={"word/more.xml": f"<a {WORD}>{'<w:numStyleLink/>' * 4_000}</a>".encode()},
        ),
        "10,000,000 steps",
    ),
}


@pytest.mark.parametrize("kind", TOO_MUCH)
def test_a_file_that_would_take_long_is_refused(kind: str) -> None:
    data, bound = TOO_MUCH[kind]
    message = failure(data)
    assert bound in message
    assert "split it into files, or save it as text" in message


def test_repeated_references_are_written_once() -> None:
    """A link address, a style name and a note are each in the file once, however often they are referred to."""
    long = "x" * 10_000
    begin, code = (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r>',
        f"<w:r><w:instrText>HYPERLINK {long}</w:instrText></w:r>",
    )
    link = f'<w:hyperlink r:id="r9" xmlns:r="{OFFICE}">{run("there")}</w:hyperlink>'
    note = '<w:r><w:footnoteReference w:id="2"/></w:r>'
    data = docx(
        f"<w:p>{begin}{code}{begin.replace('begin', 'separate')}{run('Go ')}{link}{run(' now.')}{note * 50}</w:p>",
        footnotes=f'<w:footnote w:id="2">{paragraph("Counted.")}</w:footnote>',
    )
    assert read(data).page_content == "Go there now.[1]\n\n1. Counted."


def test_damage_is_an_error_that_names_the_file() -> None:
    assert "(RecursionError)" in failure(docx("<w:p>" * 240 + "</w:p>" * 240))
    assert "256 nested elements" in failure(docx("<w:p>" * 5_000 + "</w:p>" * 5_000))
    assert "(ExpatError)" in failure(docx("<w:p>"))
    assert "(BadZipFile)" in failure(POLICY[:500])
    assert "can't be read as DOCX" in failure(archive({"word/document.xml": b"<a/>"}))


@given(st.integers(0, len(POLICY) - 1), st.integers(0, 255))
def test_any_damaged_byte_is_harmless(at: int, byte: int) -> None:
    with suppress(DocumentReadError):
        read(POLICY[:at] + bytes([byte]) + POLICY[at + 1 :])


def test_a_damaged_title_is_ignored() -> None:
    data = docx(paragraph("a"), more={"docProps/core.xml": b"<a"})
    document = read(data)
    assert (document.page_content, document.metadata.get("title")) == ("a", None)


def test_a_file_of_another_program_has_no_styles(tmp_path: Path) -> None:
    bare = docx(paragraph("Pay now.", "Heading1"))
    document: Document = load_file(file(tmp_path / "a.docx", bare))[0]
    assert document.page_content == "# Pay now."
    assert "title" not in document.metadata
