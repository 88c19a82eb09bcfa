"""Tables: which row is the header of the rows after it."""

import re
from collections.abc import Iterator, Sequence

from langchain_sentence_window.splitting.blocks import TABLE_ROW, Block

MAX_HEADER_CELL_CHARS = 40
"""Characters of a cell of a header row that no delimiter row marks."""

_LINE_END = re.compile(r"\r\n|\r|\n")


def header_rows(text: str, blocks: Sequence[Block]) -> dict[int, int]:
    """Find the header row of each table.

    In Markdown it is the row above the delimiter row. Elsewhere the first row is a header only if it looks like one:
    its cells are short and hold no digit, and the cells below one of them do.

    Args:
        text: The text.
        blocks: The blocks of a section, in order.

    Returns:
        The position of the header row among the blocks, by the position of each row below it.
    """
    found: dict[int, int] = {}
    for first, stop in _runs(text, blocks):
        rows = blocks[first:stop]
        if is_delimited(text, rows[0]) or _looks_like_header(text, rows):
            found |= dict.fromkeys(range(first + 1, stop), first)
    return found


def is_delimited(text: str, row: Block) -> bool:
    """Return whether a row of Markdown has the delimiter row below it."""
    lines = _LINE_END.split(text[row.start : row.end])[1:]
    return any(set(line) <= set("|:- \t>") and "-" in line for line in lines)


def _runs(text: str, blocks: Sequence[Block]) -> Iterator[tuple[int, int]]:
    """Yield ``(first, one past the last)`` position for the rows of each table; a blank line parts two tables."""
    first = 0
    for at in range(1, len(blocks) + 1):
        goes_on = (
            at < len(blocks)
            and blocks[first].kind == blocks[at].kind == TABLE_ROW
            and not is_delimited(text, blocks[at])
            and len(_LINE_END.findall(text, blocks[at - 1].end, blocks[at].start)) <= 1
        )
        if not goes_on:
            if blocks[first].kind == TABLE_ROW:
                yield first, at
            first = at


def _looks_like_header(text: str, rows: Sequence[Block]) -> bool:
    cells = [_cells(text, row) for row in rows]
    header, below = cells[0], cells[1:]
    if not below or len(header) < 2 or any(len(row) != len(header) for row in below):  # noqa: PLR2004
        return False
    are_titles = all(
        len(cell) <= MAX_HEADER_CELL_CHARS and any(map(str.isalpha, cell)) and not any(map(str.isdigit, cell))
        for cell in header
    )
    columns = zip(*below, strict=True)
    return are_titles and any(all(any(map(str.isdigit, cell)) for cell in column) for column in columns)


def _cells(text: str, row: Block) -> list[str]:
    """Return the cells of a row, which bars or tabs part."""
    line = text[row.start : row.end].strip()
    if "|" in line:
        line = line.removeprefix("|").removesuffix("|")
        return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)]
    return [cell.strip() for cell in line.split("\t")]
