"""Rows of a table in a text, told by the same table in HTML, as unstructured writes it beside the text.

The text holds the cells one after the other, with any white space between them. So the rows are known if all other
characters are the same as those of the HTML. Else the table stays one row.

The first row is the header if the HTML says it, or if it holds short names in two cells or more.
"""

import html
import re
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from .blocks import TABLE_ROW, Block
from .lead_ins import MAX_HEADER_CELL_CHARS

_TOKEN = re.compile(r"<(?P<end>/?)(?P<tag>[a-zA-Z][a-zA-Z0-9]{0,20}+)[^<>]*+>|<[^<>]*+>|(?P<text>[^<]++|<)")
_CELLS = ("td", "th")
_MIN_COLUMNS = 2
_MIN_ROWS = 2


@dataclass(slots=True)
class _Row:
    """A row of HTML: whether all of its cells are headers, and the pieces of their texts."""

    is_header: bool
    cells: list[list[str]] = field(default_factory=list)


def table_rows(text: str, table: str) -> list[Block]:
    """Return the rows of a table as blocks.

    Args:
        text: The text of the table.
        table: The same in HTML.

    Returns:
        The rows, in order, with all of the text but white space; none if the HTML doesn't tell them, or only one.
    """
    rows = [(row, chars) for row in _read(table) if (chars := _chars(row))]
    if len(rows) < _MIN_ROWS or "".join(chars for _, chars in rows) != "".join(text.split()):
        return []
    headers = next((number for number, (row, _) in enumerate(rows) if not row.is_header), 0)
    headers = headers or int(_are_names(rows[0][0]))
    at = [place for place, char in enumerate(text) if not char.isspace()]
    ends = accumulate((len(chars) for _, chars in rows), initial=0)
    return [
        # Of several header rows the last one names the columns.
        Block(at[first], at[end - 1] + 1, TABLE_ROW, is_header=number == headers if 0 < headers <= number else None)
        for number, (first, end) in enumerate(pairwise(ends), 1)
    ]


def _read(table: str) -> list[_Row]:
    """Return the rows of a table. The text of a table in a cell belongs to rows of its own."""
    rows: list[_Row] = []
    in_head = False
    for token in _TOKEN.finditer(table):
        tag, ends = (token["tag"] or "").lower(), bool(token["end"])
        if tag in ("thead", "tbody"):
            in_head = tag == "thead" and not ends
        elif tag == "tr" and not ends:
            rows.append(_Row(is_header=True))
        elif tag in _CELLS and not ends and rows:
            rows[-1].is_header = rows[-1].is_header and (in_head or tag == "th")
            rows[-1].cells.append([])
        elif token["text"] and rows and rows[-1].cells:
            rows[-1].cells[-1].append(html.unescape(token["text"]))
    return rows


def _chars(row: _Row) -> str:
    """Return the text of a row without white space."""
    return "".join("".join(piece for cell in row.cells for piece in cell).split())


def _are_names(row: _Row) -> bool:
    """Return whether the cells of a row may name columns."""
    names = [name for cell in row.cells if (name := "".join(cell).strip())]
    are_short = all(len(name) <= MAX_HEADER_CELL_CHARS and any(map(str.isalpha, name)) for name in names)
    return len(names) >= _MIN_COLUMNS and are_short
