"""Rows of CSV and XLSX: their texts, their numbers and headers, and the bounds."""

import io
import zipfile
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from app.tests.files.office_writing import library, saved, xlsx
from app.tests.files.writing import file
from langchain_sentence_window import (
    SentenceSplitter,
    SentenceWindowRetriever,
    describe_location,
    format_context,
    merge_windows,
)
from langchain_sentence_window.errors import DocumentReadError, SentenceWindowWarning
from sentence_window.files import load_bytes, load_file
from tests.toys import WordEmbeddings

PRICES: list[list[object]] = [["Hall", "Euros"], ["Card", 35], ["Seat", 20]]


def indexed(documents: list[Document]) -> SentenceWindowRetriever:
    return SentenceWindowRetriever.from_documents(
        documents, WordEmbeddings(), k=1, fetch_k=1, window=0, lexical_weight=0
    )


def read_csv(text: str) -> list[Document]:
    return load_bytes(text.encode(), "a.csv")


def rows_of(documents: list[Document]) -> list[tuple[int, str]]:
    return [(each.metadata["row"], each.page_content) for each in documents]


def joined(documents: list[Document]) -> str:
    (found,) = indexed(documents).get([documents[0].metadata["source"]])
    return found.page_content


def test_windows_name_their_sheets_and_rows_and_have_the_header_as_lead_in(tmp_path: Path) -> None:
    notes: list[list[object]] = [["Costs of the year"], [], *PRICES]
    path = file(tmp_path / "a.xlsx", xlsx({"Prices": PRICES, "Costs": notes}, title="Halls"))
    documents = load_file(path)
    assert [each.metadata["sheet"] for each in documents] == ["Prices"] * 3 + ["Costs"] * 4
    assert {each.metadata["title"] for each in documents} == {"Halls"}
    retriever = indexed(documents)
    [seat] = retriever.invoke("seat", filter={"sheet": "Costs"})
    assert seat.page_content == "| Seat | 20 |"
    assert seat.metadata["lead_ins"][0]["text"] == "| Hall | Euros |"
    assert seat.metadata["heading"] == "Costs"
    assert describe_location(seat) == f"{path}, sheet Costs, row 5 (Costs)"
    assert f"[1] {path}, sheet Costs, row 5 (Costs)\n" in format_context([seat])
    [card] = retriever.invoke("card", filter={"sheet": "Costs"})
    [both] = merge_windows([card, seat])
    assert describe_location(both) == f"{path}, sheet Costs, rows 4–5 (Costs)"
    assert joined(documents) == (
        "# Prices\n\n| Hall | Euros |\n| --- | --- |\n| Card | 35 |\n| Seat | 20 |\n\n"
        "# Costs\n\nCosts of the year\n\n| Hall | Euros |\n| --- | --- |\n| Card | 35 |\n| Seat | 20 |"
    )


def test_a_file_that_is_added_again_replaces_all_of_its_rows(tmp_path: Path) -> None:
    path = file(tmp_path / "a.csv", "Hall,Euros\nCard,35\nSeat,20\n")
    retriever = indexed(load_file(path))
    [seat] = retriever.invoke("seat")
    assert describe_location(seat) == f"{path}, row 3"
    file(path, "\nHall,Euros\nWest,50\n")
    retriever.add_documents(load_file(path))
    assert rows_of(load_file(path)) == [(2, "| Hall | Euros |\n| --- | --- |"), (3, "| West | 50 |")]
    [found] = retriever.get([str(path)])
    assert found.page_content == "| Hall | Euros |\n| --- | --- |\n| West | 50 |"


def test_rows_that_are_alike_stay_two(tmp_path: Path) -> None:
    long = "The hall is closed on Monday."
    path = file(tmp_path / "a.csv", f"Hall,Note\nSouth,{long}\nSouth,{long}\n")
    assert joined(load_file(path)).count(long) == 2


def test_values_are_written_much_as_a_spreadsheet_shows_them(tmp_path: Path) -> None:
    book = library("openpyxl").Workbook()
    values = [True, 3, 2.0, 0.1 + 0.2, date(2026, 3, 1), datetime(2026, 3, 1, 9, 30), time(9, 30), "a|b\nc", None, "z"]
    book.active.append([f"c{at}" for at in range(len(values))])
    book.active.append(values)
    book.active.append(["share", 0.29])
    book.active["B3"].number_format = "0.00%"
    _, row, share = rows_of(load_file(file(tmp_path / "a.xlsx", saved(book))))
    assert row[1] == "| TRUE | 3 | 2 | 0.3 | 2026-03-01 | 2026-03-01 09:30:00 | 09:30:00 | a\\|b c |  | z |"
    assert share[1].startswith("| share | 29% |")


def test_a_workbook_without_styles_is_read(tmp_path: Path) -> None:
    whole, written = zipfile.ZipFile(io.BytesIO(xlsx({"a": [["Hall", "Seats"], ["South", 120]]}))), io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name in whole.namelist():
            if name != "xl/styles.xml":
                content = whole.read(name)
                archive.writestr(name, content.replace(b"<c ", b'<c s="0" ') if "worksheets/sheet" in name else content)
    assert "South | 120" in joined(load_file(file(tmp_path / "a.xlsx", written.getvalue())))


def test_formulas_are_not_run_and_missing_results_are_warned_of(tmp_path: Path) -> None:
    path = file(tmp_path / "a.xlsx", xlsx({"a": [["Hall", "Euros"], ["South", "=1+1"]]}))
    with pytest.warns(SentenceWindowWarning, match=r"formulas without stored results \(1\)"):
        assert rows_of(load_file(path))[1] == (2, "| South |  |")


def test_a_second_table_has_a_header_of_its_own_and_a_gap_has_none(tmp_path: Path) -> None:
    text = "Hall,Euros,\nSouth,35,\n,,\nNorth,20,\n,,\nRoom,,Seats\nRed,,12\n,,\nAsk the porter.,,\n"
    documents = load_file(file(tmp_path / "a.csv", text))
    assert joined(documents) == (
        "| Hall | Euros |  |\n| --- | --- | --- |\n| South | 35 |  |\n| North | 20 |  |\n\n"
        "| Room |  | Seats |\n| --- | --- | --- |\n| Red |  | 12 |\n\nAsk the porter."
    )
    assert [row for row, _ in rows_of(documents)] == [1, 2, 4, 6, 7, 9]


def test_a_table_that_begins_with_numbers_has_no_header(tmp_path: Path) -> None:
    assert rows_of(load_file(file(tmp_path / "a.csv", "1,South\n2,North\n"))) == [
        (1, "| 1 | South |"),
        (2, "| 2 | North |"),
    ]


def test_long_rows_are_records_whose_sentences_are_split(tmp_path: Path) -> None:
    plot = "The hall burns down. " * 120
    documents = load_file(file(tmp_path / "a.csv", f'Title,Year,Plot\nSouth,1901,"{plot}"\n'))
    assert documents[1].page_content == f"Title: South | Year: 1901\n\nPlot: {plot.strip()}"
    sentences = SentenceSplitter().split_documents(documents)
    assert [each.page_content for each in sentences[1:4]] == [
        "Title: South | Year: 1901", "Plot: The hall burns down.", "The hall burns down.",
    ]  # fmt: skip
    assert sentences[3].metadata["row"] == 2


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_that_of_the_most_columns(delimiter: str) -> None:
    text = "\n".join(delimiter.join(row) for row in (["Hall", "Euros", "Note"], ["South", "35", '"large; old, red"']))
    assert [each.page_content for each in read_csv(text)][1] == "| South | 35 | large; old, red |"


def test_one_column_is_text_without_bars() -> None:
    documents = list(read_csv("Note\nThe hall is large. It has windows.\n"))
    assert [each.page_content for each in documents] == ["Note", "The hall is large. It has windows."]


def test_a_quotation_mark_that_isnt_closed_is_an_error_with_a_cure() -> None:
    with pytest.raises(DocumentReadError, match="close its quotation marks"):
        list(read_csv('a,b\n"' + "x" * 200_000))


def test_what_is_beyond_the_bounds_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = library("openpyxl").Workbook()
    for row in range(1, 400):
        book.active.cell(row, 16_384, "x")
    with pytest.raises(DocumentReadError, match="more than 5,000,000 cells; split it into files"):
        load_file(file(tmp_path / "a.xlsx", saved(book)))
    for name, most in {"MAX_ROWS": "2 rows", "MAX_CHARS": "7 characters"}.items():
        with monkeypatch.context() as patched:
            patched.setattr(f"sentence_window.files.office.sheets.{name}", int(most[0]))
            with pytest.raises(DocumentReadError, match=f"more than {most}"):
                list(read_csv("a,b\nc,d\nabc,d\n"))


def test_two_cells_far_apart_take_no_room(tmp_path: Path) -> None:
    book = library("openpyxl").Workbook()
    book.active["A1"], book.active["XFD1048576"] = "first", "last"
    assert rows_of(load_file(file(tmp_path / "a.xlsx", saved(book)))) == [(1, "first"), (1_048_576, "last")]


def test_the_strict_form_of_a_workbook_is_read(tmp_path: Path) -> None:
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(xlsx({"a": PRICES}))) as usual, zipfile.ZipFile(written, "w") as strict:
        for name in usual.namelist():
            data = usual.read(name)
            for kind, last in (("spreadsheetml", "main"), ("officeDocument", "relationships")):
                data = data.replace(
                    f"http://schemas.openxmlformats.org/{kind}/2006/{last}".encode(),
                    f"http://purl.oclc.org/ooxml/{kind}/{last}".encode(),
                )
            strict.writestr(name, data)
    assert rows_of(load_file(file(tmp_path / "a.xlsx", written.getvalue())))[2] == (3, "| Seat | 20 |")


def changed(data: bytes, changes: Mapping[str, tuple[str, str]]) -> bytes:
    """Replace a text in parts of an archive."""
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(written, "w") as after:
        for name in before.namelist():
            old, new = changes.get(name, ("", ""))
            content = before.read(name).decode()
            assert old in content
            after.writestr(name, content.replace(old, new, 1) if old else content)
    return written.getvalue()


def test_what_no_text_depends_on_is_not_warned_of(tmp_path: Path) -> None:
    book = library("openpyxl").Workbook()
    book.active.append(["Day", "Hours"])
    book.active.append([date(2026, 3, 1), timedelta(hours=30)])
    footer = "<headerFooter><oddFooter>&amp;&amp;</oddFooter></headerFooter>"
    extension = '<extLst><ext uri="{CCE6A557-97BC-4b89-ADB6-D9C93CAAB3DF}"/></extLst>'
    names = '<definedNames><definedName name="_xlnm.Print_Area" localSheetId="7">Sheet!A1</definedName></definedNames>'
    data = changed(
        saved(book),
        {
            "xl/worksheets/sheet1.xml": ("</worksheet>", footer + extension + "</worksheet>"),
            "xl/workbook.xml": ("<definedNames/>", names),
            "xl/styles.xml": ('<cellStyle name="Normal"', '<cellStyle name="Other"'),
        },
    )
    assert rows_of(load_file(file(tmp_path / "a.xlsx", data)))[1] == (2, "| 2026-03-01 | 1 day, 6:00:00 |")


def test_a_date_beyond_all_dates_stays_a_number(tmp_path: Path) -> None:
    book = library("openpyxl").Workbook()
    book.active.append(["Day", -99_999_999])
    book.active["B1"].number_format = "yyyy-mm-dd"
    assert rows_of(load_file(file(tmp_path / "a.xlsx", saved(book)))) == [(1, "| Day | -99999999 |\n| --- | --- |")]


def test_days_are_counted_from_1904_where_the_workbook_says_so(tmp_path: Path) -> None:
    book = library("openpyxl").Workbook()
    book.epoch = library("openpyxl.utils.datetime").MAC_EPOCH
    book.active.append(["Day", date(2026, 3, 1)])
    data = saved(book)
    assert b'date1904="1"' in zipfile.ZipFile(io.BytesIO(data)).read("xl/workbook.xml")
    assert rows_of(load_file(file(tmp_path / "a.xlsx", data))) == [(1, "| Day | 2026-03-01 |\n| --- | --- |")]


def test_texts_in_parts_and_cells_without_places_are_read(tmp_path: Path) -> None:
    rich = '<si><r><t>The </t></r><r><rPr><b/></rPr><t xml:space="preserve">hall</t></r><rPh><t>x</t></rPh></si>'
    cells = '<row><c t="inlineStr"><is><t>Fee</t></is></c><c t="b"><v>1</v></c><c t="str"><v>due</v></c></row>'
    data = changed(
        xlsx({"a": [["The hall"]]}),
        {
            "xl/sharedStrings.xml": ("<si><t>The hall</t></si>", rich),
            "xl/worksheets/sheet1.xml": ("</sheetData>", f"{cells}</sheetData>"),
        },
    )
    assert rows_of(load_file(file(tmp_path / "a.xlsx", data))) == [
        (1, "The hall"),
        (2, "| Fee | TRUE | due |\n| --- | --- | --- |"),
    ]


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\ud800"), max_size=8)


@given(
    st.lists(st.lists(CELLS, min_size=2, max_size=4), min_size=1, max_size=6).filter(
        lambda rows: "".join(map("".join, rows)).strip()
    )
)
def test_no_word_of_any_table_is_lost(rows: list[list[str]]) -> None:
    text = "\n".join(",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows)
    found = " ".join(each.page_content for each in read_csv(text)).replace("\\", "")
    for word in {word.replace("\\", "") for row in rows for cell in row for word in cell.split()}:
        assert "".join(found.split()).count("".join(word.split())) > 0
