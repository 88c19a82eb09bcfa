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
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any, TypeAlias

from langchain_core.documents import Document

from langchain_sentence_window._lazy import of_extra
from langchain_sentence_window.documents.source_parts import LAYOUT, ROW, SHEET, TITLE, write_layout
from langchain_sentence_window.errors import DocumentReadError, SentenceWindowWarning
from langchain_sentence_window.splitting.blocks import HEADING, PROSE, TABLE_ROW

from .docx import check_type
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
    """Read CSV, whose delimiter is that of the most columns.

    Args:
        text: The text of the file.
        name: Its name in messages.

    Raises:
        DocumentReadError: It is too large, or a quotation mark isn't closed.
    """
    sample = text[:_SAMPLE_CHARS].splitlines()
    delimiter = max(_DELIMITERS, key=lambda each: _columns(sample, each))
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        rows = _Rows(name).filled([cell.strip() for cell in line] for line in lines)
    except csv.Error as error:
        raise DocumentReadError(f"{name} can't be read as CSV ({error}); close its quotation marks") from error
    yield from _documents("", rows, {})


def _columns(sample: Iterable[str], delimiter: str) -> int:
    """Return how many columns most rows have with a delimiter, which is 0 if there is one only."""
    try:
        widths = [len(row) for row in islice(csv.reader(sample, delimiter=delimiter), _SAMPLE_ROWS) if row]
    except csv.Error:
        return 0
    return sorted(widths)[len(widths) // 2] - 1 if widths else 0


def read_xlsx(parts: Mapping[str, bytes], name: str, title: str) -> Iterator[Document]:
    """Read an XLSX file.

    Args:
        parts: The XML of the archive.
        name: Its name in messages.
        title: The title in its properties.

    Raises:
        DocumentReadError: It is too large, or has a document type definition.
        MissingExtraError: openpyxl isn't installed.
    """
    library = of_extra("openpyxl", "openpyxl", "office")
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for part, content in parts.items():
            check_type(content, name, part)
            for strict, usual in STRICT_NAMES:
                content = content.replace(strict, usual)
            archive.writestr(part, content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what openpyxl leaves out, such as rules for what may be typed
        book = library.load_workbook(written, read_only=True, data_only=True, keep_links=False)
        sheets: list[tuple[str, list[Row]]] = []
        reader = _Rows(name)
        for sheet in book.worksheets:
            sheet.reset_dimensions()  # what a file says of them may be wrong
            sheets.append((sheet.title, reader.filled([_shown(cell) for cell in row] for row in sheet.iter_rows())))
    unknown = sum(len(_WITHOUT_RESULT.findall(parts[each])) for each in parts if each.startswith("xl/worksheets/"))
    if unknown:
        warnings.warn(
            f"{name} has formulas without results, {unknown} of them, which aren't read; open it in a spreadsheet "
            "program and save it",
            SentenceWindowWarning,
            stacklevel=2,
        )
    titled = {TITLE: title} if title else {}
    for sheet_name, rows in sheets:
        yield from _documents(sheet_name, rows, titled, heading=sheet_name if len(sheets) > 1 else "")


def _shown(cell: Any) -> str:
    """Return the value of a cell as text, much as a spreadsheet shows it."""
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float):
        is_share = "%" in cell.number_format
        return f"{100 * value:.15g}%" if is_share else f"{value:.15g}" if isinstance(value, float) else str(value)
    if isinstance(value, datetime):
        return value.isoformat(" ").removesuffix(" 00:00:00")
    return str(value).strip()


class _Rows:
    """Reads the rows of a file within its bounds."""

    def __init__(self, name: str) -> None:
        """Begin with no row.

        Args:
            name: The name of the file in messages.
        """
        self._name = name
        self._rows = self._cells = self._chars = 0

    def filled(self, rows: Iterable[list[str]]) -> list[Row]:
        """Return the rows of a sheet that hold something, with their numbers.

        Raises:
            DocumentReadError: They go beyond the bounds.
        """
        found: list[Row] = []
        for number, row in enumerate(rows, 1):
            chars = sum(map(len, row))
            if chars:
                found.append((number, row))
            self._rows += chars > 0
            self._cells += len(row) or 1
            self._chars += chars
            for what, most, count in (
                ("rows", MAX_ROWS, self._rows),
                ("cells", MAX_CELLS, self._cells),
                ("characters", MAX_CHARS, self._chars),
            ):
                if count > most:
                    raise DocumentReadError(f"{self._name} has more than {most:,} {what}; split it into files")
        return found


def _documents(sheet: str, rows: list[Row], metadata: Mapping[str, Any], heading: str = "") -> Iterator[Document]:
    """Yield a Document for each row of a sheet, without the columns that are empty in all of them."""
    columns = sorted({at for _, row in rows for at, cell in enumerate(row) if cell})
    kept = [(number, [row[at] if at < len(row) else "" for at in columns]) for number, row in rows]
    for segment, is_table in _segments(kept, len(columns)):
        are_records = is_table and any(sum(map(len, row)) > MAX_ROW_CHARS for _, row in segment)
        # A table whose first column is numbers from its first row on has none.
        firsts = [next(filter(None, row)) for _, row in segment[:2]]
        has_header = not all(map(_NUMBER.fullmatch, firsts))
        header = segment[0][1] if has_header else [""] * len(columns)
        for at, (number, row) in enumerate(segment):
            text = MarkdownText()
            if heading:
                text.add(WrittenBlock(HEADING, heading, 1))
                heading = ""
            if not is_table:
                blocks = [WrittenBlock(PROSE, paragraph) for cell in row for paragraph in _paragraphs(cell)]
            elif are_records and (at or not has_header):
                blocks = _record(header, row)
            else:
                blocks = [WrittenBlock(TABLE_ROW, _line(row, is_header=not at and has_header and not are_records))]
            for block in blocks:
                text.add(block)
            own = {SHEET: sheet, ROW: number, LAYOUT: write_layout(text.blocks)}
            yield Document(text.text, metadata={**metadata, **own})


def _segments(rows: list[Row], width: int) -> Iterator[tuple[list[Row], bool]]:
    """Yield rows that belong together, and whether they are a table, whose first row is its header."""
    table: list[Row] = []
    for block in _blocks(rows):
        wide = next((at for at, (_, row) in enumerate(block) if sum(map(bool, row)) > 1), None)
        if width > 1 and wide is not None and table and not _has_header(block[wide:], table[0]):
            table += block
            continue
        if table:
            yield table, True
        table = [] if width == 1 or wide is None else block[wide:]
        if len(table) < len(block):
            yield block[: len(block) - len(table)], False
    if table:
        yield table, True


def _blocks(rows: list[Row]) -> Iterator[list[Row]]:
    """Yield the rows between empty ones."""
    begin = 0
    for at in range(1, len(rows) + 1):
        if at == len(rows) or rows[at][0] > rows[at - 1][0] + 1:
            yield rows[begin:at]
            begin = at


def _has_header(block: list[Row], header: Row) -> bool:
    """Return whether rows below empty ones begin with a header of their own."""
    first = block[0][1]
    if len(block) == 1 or any(map(_NUMBER.fullmatch, first)):
        return False
    has_other_columns = any(cell and not title for cell, title in zip(first, header[1], strict=True))
    return has_other_columns or any(_NUMBER.fullmatch(cell) for _, row in block[1:] for cell in row)


def _line(row: list[str], *, is_header: bool) -> str:
    cells = (" ".join(cell.split()).replace("|", "\\|") for cell in row)
    return f"| {' | '.join(cells)} |" + ("\n|" + " --- |" * len(row) if is_header else "")


def _record(header: list[str], row: list[str]) -> list[WrittenBlock]:
    """Return the values of a row with their headers: the short ones on a line, each longer one as paragraphs."""
    values = [(f"{title}: {cell}" if title else cell) for title, cell in zip(header, row, strict=True) if cell]
    short = [" ".join(each.split()) for each in values if len(each) <= MAX_SHORT_CHARS]
    long = (each for each in values if len(each) > MAX_SHORT_CHARS)
    line = [WrittenBlock(TABLE_ROW, " | ".join(short))] if short else []
    return line + [WrittenBlock(PROSE, paragraph) for each in long for paragraph in _paragraphs(each)]


def _paragraphs(text: str) -> list[str]:
    return [paragraph.strip() for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip()]
