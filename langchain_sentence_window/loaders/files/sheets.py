"""Rows of CSV and of XLSX, one Document a row, with the number that a spreadsheet shows beside it.

The first row with more than one cell is the header of its table, and what stands above it is text. After empty rows the
table goes on, unless another header follows: a row without numbers above rows with some, or of other columns. A table
whose rows are too long for one line each is written as records, in which each value has its header before it.

openpyxl reads what was stored, row after row, so no formula is run and a sheet with two cells far apart takes no room.
"""

import csv
import io
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from itertools import groupby, islice
from typing import Any, TypeAlias

from langchain_core.documents import Document

from langchain_sentence_window._lazy import of_extra
from langchain_sentence_window.documents.source_parts import LAYOUT, ROW, SHEET, TITLE, write_layout
from langchain_sentence_window.errors import DocumentReadError, SentenceWindowWarning
from langchain_sentence_window.splitting.blocks import HEADING, PROSE, TABLE_ROW

from .docx import CORE, Package, check_type, parsed_xml, title_in
from .html_elements import MarkdownText, WrittenBlock
from .html_pages import MAX_ROW_CHARS

MAX_ROWS = 200_000
"""Rows of a file that hold something."""

MAX_CELLS = 5_000_000
"""Cells of a file, with the empty ones before the last of a row; an empty row counts as one."""

MAX_CHARS = 50_000_000
"""Characters of all cells of a file, as many cells may refer to one long text."""

MAX_SHORT_CHARS = 200
"""Characters of a value that stands beside others in a record; a longer one is a paragraph."""

_OPEN_XML = "http://schemas.openxmlformats.org"
STRICT_NAMES = tuple(
    (f"http://purl.oclc.org/ooxml/{kind}/{name}".encode(), f"{_OPEN_XML}/{kind}/2006/{name}".encode())
    for kind, name in (("spreadsheetml", "main"), ("officeDocument", "relationships"))
)
"""Names of the strict form of workbooks, which openpyxl doesn't know, and of the usual one."""

Row: TypeAlias = tuple[int, list[str]]
"""The number of a row, and the texts of its cells."""

_DELIMITERS = ",;\t|"
_SAMPLE_CHARS = 64 * 1024
_SAMPLE_ROWS = 50
_NUMBER = re.compile(r"[-+(]?[$€£¥]?\d[\d.,:/() %-]*")
_WITHOUT_RESULT = re.compile(rb"(?:</f>|<f(?:\s[^<>]*)?/>)\s*(?:<v>\s*</v>|<v\s*/>)?\s*</c>")


def read_csv(text: str, name: str) -> Iterator[Document]:
    """Read the text of a CSV file, whose delimiter is that of the most columns.

    Raises:
        DocumentReadError: It is too large, or a quotation mark isn't closed.
    """
    sample = text[:_SAMPLE_CHARS].splitlines()
    delimiter = max(_DELIMITERS, key=lambda each: _columns(sample, each))
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        rows = _filled(([cell.strip() for cell in line] for line in lines), name, Counter())
    except csv.Error as error:
        raise DocumentReadError(f"{name} can't be read as CSV ({error}); close its quotation marks") from error
    yield from _documents("", rows, {})


def _columns(sample: Iterable[str], delimiter: str) -> int:
    """Return how many columns most rows have with a delimiter, which is 0 if there is one only."""
    widths = [1]
    with suppress(csv.Error):
        widths = [len(row) for row in islice(csv.reader(sample, delimiter=delimiter), _SAMPLE_ROWS) if row] or widths
    return sorted(widths)[len(widths) // 2] - 1


def read_xlsx(package: Package) -> Iterator[Document]:
    """Read an XLSX file.

    Raises:
        DocumentReadError: It is too large, or has a document type definition.
        MissingExtraError: openpyxl isn't installed.
    """
    library = of_extra("openpyxl", "openpyxl", "files")
    name, written = package.name, io.BytesIO()
    title = title_in(parsed_xml(package.parts.get(CORE, b""), name, CORE))
    with zipfile.ZipFile(written, "w") as archive:
        for part, content in package.parts.items():
            check_type(content, name, part)
            for strict, usual in STRICT_NAMES:
                content = content.replace(strict, usual)
            archive.writestr(part, content)
    sheets: list[tuple[str, list[Row]]] = []
    counts: Counter[str] = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what openpyxl leaves out, such as rules for what may be typed
        book = library.load_workbook(written, read_only=True, data_only=True, keep_links=False)
        for sheet in book.worksheets:
            sheet.reset_dimensions()  # what a file says of them may be wrong
            filled = _filled((list(map(_shown, row)) for row in sheet.iter_rows()), name, counts)
            sheets.append((sheet.title, filled))
    cells = (content for part, content in package.parts.items() if part.startswith("xl/worksheets/"))
    unknown = sum(len(_WITHOUT_RESULT.findall(each)) for each in cells)
    if unknown:
        warnings.warn(
            f"{name} has formulas without results ({unknown}), which aren't read; open it in a spreadsheet program "
            "and save it",
            SentenceWindowWarning,
            stacklevel=2,
        )
    for sheet_name, rows in sheets:
        heading = sheet_name if len(sheets) > 1 else ""
        yield from _documents(sheet_name, rows, {TITLE: title} if title else {}, heading)


def _shown(cell: Any) -> str:
    """Return the value of a cell as text, much as a spreadsheet shows it."""
    value = cell.value
    match value:
        case None:
            return ""
        case bool():
            return str(value).upper()
        case int() | float() if "%" in cell.number_format:
            return f"{100 * value:.15g}%"
        case float():
            return f"{value:.15g}"
        case datetime():
            return value.isoformat(" ").removesuffix(" 00:00:00")
        case _:
            return str(value).strip()


def _filled(rows: Iterable[list[str]], name: str, counts: Counter[str]) -> list[Row]:
    """Return the rows of a sheet that hold something, with their numbers; count what the file holds."""
    bounds = {"rows": MAX_ROWS, "cells": MAX_CELLS, "characters": MAX_CHARS}
    found: list[Row] = []
    for number, row in enumerate(rows, 1):
        chars = sum(map(len, row))
        if chars:
            found.append((number, row))
        counts["rows"] += chars > 0
        counts["cells"] += len(row) or 1
        counts["characters"] += chars
        for what, most in bounds.items():
            if counts[what] > most:
                raise DocumentReadError(f"{name} has more than {most:,} {what}; split it into files")
    return found


def _documents(sheet: str, rows: list[Row], metadata: Mapping[str, Any], heading: str = "") -> Iterator[Document]:
    """Yield a Document for each row of a sheet, without the columns that are empty in all of them."""
    columns = sorted({at for _, row in rows for at, cell in enumerate(row) if cell})
    kept = [(number, [row[at] if at < len(row) else "" for at in columns]) for number, row in rows]
    headings = [WrittenBlock(HEADING, heading, 1)] if heading else []
    for segment, is_table in _segments(kept):
        for number, blocks in _blocks(segment, is_table=is_table):
            text = MarkdownText()
            for block in (*headings, *blocks):
                text.add(block)
            headings = []
            own = {SHEET: sheet, ROW: number, LAYOUT: write_layout(text.blocks)}
            yield Document(text.text, metadata={**metadata, **own})


def _segments(rows: list[Row]) -> Iterator[tuple[list[Row], bool]]:
    """Yield rows that belong together, and whether they are a table, whose first row is its header."""
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
    """Yield the number and the blocks of each row; those of a table are records if one is too long for a line."""
    # A table whose first column is numbers from its first row on has no header.
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
    """Return the values of a row with their headers: the short ones on a line, each longer one as paragraphs."""
    values = [(f"{title}: {cell}" if title else cell) for title, cell in zip(header, row, strict=True) if cell]
    short = [" ".join(each.split()) for each in values if len(each) <= MAX_SHORT_CHARS]
    long = (each for each in values if len(each) > MAX_SHORT_CHARS)
    line = [WrittenBlock(TABLE_ROW, " | ".join(short))] if short else []
    return line + [WrittenBlock(PROSE, paragraph) for each in long for paragraph in _paragraphs(each)]


def _paragraphs(text: str) -> list[str]:
    return [paragraph.strip() for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip()]
