"""Rows of CSV and XLSX files, one Document a row, with the row number that a spreadsheet shows.

The first row with more than one cell is the header of its table; rows above it are text. After empty rows the table
goes on, unless another header follows: a row without numbers above rows with some, or one with other columns. If a row
of a table is too long for one line, the table is written as records, in which each value follows its header.

The stored values are read row by row, so no formula is run, and a sheet with two cells far apart takes little memory.
openpyxl only interprets formats and dates. Its own reader emits many warnings that don't concern the text, and filters
of warnings belong to the whole process.
"""

import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from itertools import groupby, islice
from typing import Any, TypeAlias

from langchain_core.documents import Document
from lxml import etree
from openpyxl.styles import numbers
from openpyxl.utils import datetime as dates
from openpyxl.utils.cell import coordinate_to_tuple

from langchain_sentence_window.documents import ROW, SHEET
from langchain_sentence_window.errors import DocumentReadError, SentenceWindowWarning
from langchain_sentence_window.splitting import HEADING, PROSE, TABLE_ROW
from sentence_window.files.html.block_writer import MAX_ROW_CHARS
from sentence_window.files.html.markdown_text import MarkdownText, WrittenBlock
from sentence_window.files.text_encoding import decode

from .package import CORE, Package, check_type, title_in

MAX_ROWS = 200_000
"""Rows of a file that aren't empty."""

MAX_CELLS = 5_000_000
"""Cells of a file, with empty ones before the last filled cell of a row; an empty row counts as one."""

MAX_CHARS = 50_000_000
"""Characters of all cells of a file; many cells may refer to one long text."""

MAX_SHORT_CHARS = 200
"""Characters of the longest value that shares a line of a record; a longer one is a paragraph."""

Row: TypeAlias = tuple[int, list[str]]
"""The number of a row, and the texts of its cells."""

_BOOK = "xl/workbook.xml"
_DELIMITERS = ",;\t|"
_SAMPLE_CHARS = 64 * 1024
_SAMPLE_ROWS = 50
_NUMBER = re.compile(r"[-+(]?[$€£¥]?\d[\d.,:/() %-]*")
_CHUNK_BYTES = 1 << 20


def read_csv(data: bytes, name: str) -> Iterator[Document]:
    """Read a CSV file. Its delimiter is the one that gives the most columns.

    Raises:
        DocumentReadError: It isn't text, is too large, or a quotation mark isn't closed.
    """
    text = decode(data, name)
    sample = text[:_SAMPLE_CHARS].splitlines()
    delimiter = max(_DELIMITERS, key=lambda each: _columns(sample, each))
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        rows = _filled(enumerate(([cell.strip() for cell in line] for line in lines), 1), name, Counter())
    except csv.Error as error:
        raise DocumentReadError(f"{name} can't be read as CSV ({error}); close its quotation marks") from error
    yield from _documents("", rows)


def _columns(sample: Iterable[str], delimiter: str) -> int:
    """Return how many delimiters a typical row has."""
    widths = [1]
    with suppress(csv.Error):
        widths = [len(row) for row in islice(csv.reader(sample, delimiter=delimiter), _SAMPLE_ROWS) if row] or widths
    return sorted(widths)[len(widths) // 2] - 1


def read_xlsx(data: bytes, name: str) -> Iterator[Document]:
    """Read an XLSX file.

    Raises:
        DocumentReadError: It is encrypted, damaged, too large, or has a document type definition.
    """
    package = Package(data, name)
    book = _Workbook(package)
    title = title_in(package.xml(CORE))
    counts: Counter[str] = Counter()
    sheets = [(sheet, _filled(rows, name, counts)) for sheet, rows in book.sheets()]
    if book.without_result:
        warnings.warn(
            f"{name} has formulas without stored results ({book.without_result}), which aren't read; open it in a "
            "spreadsheet program and save it",
            SentenceWindowWarning,
            stacklevel=2,
        )
    for sheet, rows in sheets:
        yield from _documents(sheet, rows, title, sheet if len(sheets) > 1 else "")


class _Workbook:
    """An XLSX file, in its transitional or its strict namespaces.

    Attributes:
        without_result: The number of formulas, in the sheets read so far, whose results aren't stored.
    """

    def __init__(self, package: Package) -> None:
        """Read everything except the rows."""
        self._package, self.without_result = package, 0
        book = next(iter(package.related("", "officeDocument").values()), _BOOK)
        root = package.needed(book)
        parts = package.related(book, "worksheet", "sharedStrings", "styles")
        listed = [(each.get("name", ""), _part_id(each)) for each in root.iter("{*}sheet")]
        self._sheets = [(name, parts.pop(each)) for name, each in listed if each in parts]
        roots = [each for part in parts.values() if (each := package.xml(part)) is not None]
        self._strings = [_text_of(item) for each in roots for item in each.iterfind("{*}si")]
        self._formats = self._read_formats(roots)
        properties = next(root.iter("{*}workbookPr"), None)
        is_of_1904 = properties is not None and properties.get("date1904") in ("1", "true")
        self._epoch = dates.CALENDAR_MAC_1904 if is_of_1904 else dates.CALENDAR_WINDOWS_1900

    def _read_formats(self, roots: Iterable[Any]) -> list[str]:
        """Return the number format of each cell style."""
        formats = dict(numbers.BUILTIN_FORMATS)
        found: list[str] = []
        for root in roots:
            for each in root.iterfind("{*}numFmts/{*}numFmt"):
                formats[int(each.get("numFmtId"))] = each.get("formatCode", "")
            found += [
                formats.get(int(each.get("numFmtId", 0)), "General") for each in root.iterfind("{*}cellXfs/{*}xf")
            ]
        return found

    def sheets(self) -> Iterator[tuple[str, Iterator[Row]]]:
        """Yield the name of each sheet, and its rows."""
        for name, part in self._sheets:
            yield name, self._rows(part)

    def _rows(self, part: str) -> Iterator[Row]:
        content = self._package.parts.pop(part, b"")
        check_type(content, self._package.name, part)
        parser: Any = etree.XMLPullParser(("end",), tag="{*}row", resolve_entities=False, no_network=True)
        number = 0
        for start in range(0, len(content), _CHUNK_BYTES):
            parser.feed(content[start : start + _CHUNK_BYTES])
            for _, row in parser.read_events():
                given = int(float(row.get("r", number + 1)))
                if given > number:
                    number = given
                    yield number, self._texts(row)
                row.clear()
                while row.getprevious() is not None:  # or all rows would stay in memory
                    del row.getparent()[0]
        parser.close()

    def _texts(self, row: Any) -> list[str]:
        texts: list[str] = []
        column = 0
        for cell in row.iterfind("{*}c"):
            place = cell.get("r")
            column = coordinate_to_tuple(place)[1] if place else column + 1
            texts += [""] * (column - len(texts))
            texts[column - 1] = self._shown(cell)
        return texts

    def _shown(self, cell: Any) -> str:
        """Return the value of a cell as text, roughly as a spreadsheet shows it."""
        kind, value = cell.get("t", "n"), cell.findtext("{*}v") or ""
        if not value.strip() and cell.find("{*}f") is not None:
            self.without_result += 1
        if kind == "inlineStr":
            value = "".join(map(_text_of, cell.iterfind("{*}is")))
        elif not value:
            pass
        elif kind == "s":
            value = self._strings[int(value)]
        elif kind == "b":
            value = str(bool(int(value))).upper()
        elif kind == "d":
            value = _shown_date(dates.from_ISO8601(value))
        elif kind == "n":
            value = self._shown_number(float(value) if set(value) & set(".eE") else int(value), cell.get("s"))
        return value.strip()

    def _shown_number(self, value: float, style: str | None) -> str:
        at = int(style) if style else len(self._formats)
        number_format = self._formats[at] if at < len(self._formats) else ""  # the file may lack its styles
        if numbers.is_date_format(number_format):
            is_duration = numbers.is_timedelta_format(number_format)
            with suppress(OverflowError, ValueError):  # a number outside the range of dates stays a number
                return _shown_date(dates.from_excel(value, self._epoch, timedelta=is_duration))
        if "%" in number_format:
            return f"{100 * value:.15g}%"
        return f"{value:.15g}" if isinstance(value, float) else str(value)


def _part_id(element: Any) -> str:
    """Return the id of the part to which an element refers; empty if there is none."""
    return next((value for key, value in element.items() if key.endswith("}id")), "")


def _text_of(item: Any) -> str:
    """Return the text of a cell without its formats and its phonetic hints."""
    parts = item.xpath("*[local-name()='t'] | *[local-name()='r']/*[local-name()='t']")
    return "".join(each.text or "" for each in parts).replace("x005F_", "")


def _shown_date(value: Any) -> str:
    return value.isoformat(" ").removesuffix(" 00:00:00") if isinstance(value, datetime) else str(value)


def _filled(rows: Iterable[Row], name: str, counts: Counter[str]) -> list[Row]:
    """Return the rows of a sheet that aren't empty, and add them to the counts of the file."""
    limits = {"rows": MAX_ROWS, "cells": MAX_CELLS, "characters": MAX_CHARS}
    found: list[Row] = []
    for number, row in rows:
        chars = sum(map(len, row))
        if chars:
            found.append((number, row))
        counts["rows"] += chars > 0
        counts["cells"] += len(row) or 1
        counts["characters"] += chars
        for what, most in limits.items():
            if counts[what] > most:
                raise DocumentReadError(f"{name} has more than {most:,} {what}; split it into files")
    return found


def _documents(sheet: str, rows: list[Row], title: str = "", heading: str = "") -> Iterator[Document]:
    """Yield a Document for each row of a sheet, without columns that are always empty."""
    columns = sorted({at for _, row in rows for at, cell in enumerate(row) if cell})
    kept = [(number, [row[at] if at < len(row) else "" for at in columns]) for number, row in rows]
    headings = [WrittenBlock(HEADING, heading, 1)] if heading else []
    for segment, is_table in _segments(kept):
        for number, blocks in _blocks(segment, is_table=is_table):
            text = MarkdownText()
            for block in (*headings, *blocks):
                text.add(block)
            headings = []
            yield text.document(title, **{SHEET: sheet, ROW: number})


def _segments(rows: list[Row]) -> Iterator[tuple[list[Row], bool]]:
    """Yield rows that belong together, and whether they are a table with its header as the first row."""
    table: list[Row] = []
    for block in _between_gaps(rows):
        wide = next((at for at, (_, row) in enumerate(block) if sum(map(bool, row)) > 1), len(block))
        if table and wide < len(block) and not _has_header(block[wide:], table[0]):
            table += block
            continue
        yield table, True
        yield block[:wide], False
        table = block[wide:]
    yield table, True


def _between_gaps(rows: list[Row]) -> Iterator[list[Row]]:
    """Yield the rows between empty ones."""
    for _, block in groupby(enumerate(rows), key=lambda each: each[1][0] - each[0]):
        yield [row for _, row in block]


def _has_header(block: list[Row], header: Row) -> bool:
    """Return whether rows below empty ones begin with a header of their own."""
    first = block[0][1]
    if len(block) == 1 or any(map(_NUMBER.fullmatch, first)):
        return False
    has_other_columns = any(cell and not title for cell, title in zip(first, header[1], strict=True))
    return has_other_columns or any(_NUMBER.fullmatch(cell) for _, row in block[1:] for cell in row)


def _blocks(rows: list[Row], *, is_table: bool) -> Iterator[tuple[int, list[WrittenBlock]]]:
    """Yield the number and the blocks of each row. A table with a row too long for one line becomes records."""
    # If the first two rows begin with numbers, the table has no header.
    has_header = not all(_NUMBER.fullmatch(next(filter(None, row))) for _, row in rows[:2])
    are_records = is_table and any(sum(map(len, row)) > MAX_ROW_CHARS for _, row in rows)
    for at, (number, row) in enumerate(rows):
        is_header = has_header and not at
        if not is_table:
            yield number, [WrittenBlock(PROSE, each) for cell in row for each in _paragraphs(cell)]
        elif are_records and not is_header:
            yield number, _record(rows[0][1] if has_header else [""] * len(row), row)
        else:
            line = " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in row)
            delimiters = "\n|" + " --- |" * len(row) if is_header and not are_records else ""
            yield number, [WrittenBlock(TABLE_ROW, f"| {line} |{delimiters}")]


def _record(header: list[str], row: list[str]) -> list[WrittenBlock]:
    """Return the values of a row with their headers: short ones on one line, and each longer one as paragraphs."""
    values = [(f"{title}: {cell}" if title else cell) for title, cell in zip(header, row, strict=True) if cell]
    short = [" ".join(each.split()) for each in values if len(each) <= MAX_SHORT_CHARS]
    long = (each for each in values if len(each) > MAX_SHORT_CHARS)
    line = [WrittenBlock(TABLE_ROW, " | ".join(short))] if short else []
    return line + [WrittenBlock(PROSE, paragraph) for each in long for paragraph in _paragraphs(each)]


def _paragraphs(text: str) -> list[str]:
    return [paragraph.strip() for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip()]
