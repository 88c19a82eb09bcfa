"""Rows of a table in a text, by the same table in HTML, which unstructured writes into the metadata.

The text holds the cells one after the other, with any white space between them. So the rows are known if all other
characters are the same as those of the HTML. Else the table stays one row.

The first row is the header if the HTML says so, or if it holds short names in two cells or more.
"""

import html
import re
from collections.abc import Iterator
from itertools import accumulate, pairwise

from .blocks import TABLE_ROW, Block
from .lead_ins import MAX_HEADER_CELL_CHARS

_ROW = re.compile(r"<(?:(?P<head>thead)|/thead|/?tbody|(?P<row>tr))\b[^<>]*+>", re.IGNORECASE)
_CELL = re.compile(r"<(t[dh])\b[^<>]*+>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*+>")
_MIN_COLUMNS = 2
_MIN_ROWS = 2


def table_rows(text: str, table: str) -> list[Block]:
    """Return the rows of a table as blocks.

    Args:
        text: The text of the table.
        table: The same in HTML.

    Returns:
        The rows, in order, with all of the text but white space; none if the HTML doesn't match, or has only one row.
    """
    rows = [(cells, is_header) for cells, is_header in _parse_table_rows(table) if "".join(cells).strip()]
    row_chars = ["".join("".join(cells).split()) for cells, _ in rows]
    if len(rows) < _MIN_ROWS or "".join(row_chars) != "".join(text.split()):
        return []
    headers = next((number for number, (_, is_header) in enumerate(rows) if not is_header), 0)
    headers = headers or int(_are_names(rows[0][0]))
    at = [place for place, char in enumerate(text) if not char.isspace()]
    ends = accumulate(map(len, row_chars), initial=0)
    return [
        # Of several header rows the last one names the columns.
        Block(at[first], at[end - 1] + 1, TABLE_ROW, is_header=number == headers if 0 < headers <= number else None)
        for number, (first, end) in enumerate(pairwise(ends), 1)
    ]


def _parse_table_rows(table: str) -> Iterator[tuple[list[str], bool]]:
    """Yield the cells of each row, and whether all of them are headers. A table in a cell has rows of its own."""
    marks = list(_ROW.finditer(table))
    in_head = False
    ends = [*(mark.start() for mark in marks[1:]), len(table)]
    for mark, end in zip(marks, ends, strict=False):
        if not mark["row"]:
            in_head = mark["head"] is not None
            continue
        _, *parts = _CELL.split(table[mark.end() : end])
        tags, cells = parts[::2], [html.unescape(_TAG.sub("", cell)) for cell in parts[1::2]]
        yield cells, in_head or all(tag.lower() == "th" for tag in tags)


def _are_names(cells: list[str]) -> bool:
    """Return whether the cells of a row may name columns."""
    names = [name for cell in cells if (name := cell.strip())]
    are_short = all(len(name) <= MAX_HEADER_CELL_CHARS and any(map(str.isalpha, name)) for name in names)
    return len(names) >= _MIN_COLUMNS and are_short
