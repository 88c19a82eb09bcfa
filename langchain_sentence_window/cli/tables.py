"""Tables for a terminal: columns that are aligned in any script, and fit its width."""

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from langchain_sentence_window.cli.plain_text import one_line

_GAP = "  "
_NARROWEST = 8
"""The fewest columns that a cell is cut to."""


def laid_out(
    rows: Sequence[Sequence[str]], numbers: frozenset[int], shrink: Sequence[int], columns: int | None = None
) -> list[str]:
    """Return the lines of a table.

    Args:
        rows: The cells by rows, all of one length.
        numbers: The columns that are aligned on the right.
        shrink: The columns that are cut where the table is too wide, the first one first.
        columns: The width of the terminal; ``None`` cuts nothing.
    """
    table = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*table, strict=True)]
    if columns is not None:
        for column in shrink:
            excess = sum(widths) + len(_GAP) * (len(widths) - 1) - columns
            widths[column] = max(min(_NARROWEST, widths[column]), widths[column] - max(0, excess))
    return [
        _GAP.join(_cell(cell, widths[i], is_number=i in numbers) for i, cell in enumerate(row)).rstrip()
        for row in table
    ]


def shortened(text: str, width: int) -> str:
    """Return a text that takes at most so many columns, the last of them an ellipsis if it was cut."""
    return text if cell_len(text) <= width else set_cell_size(text, max(0, width - 1)).rstrip() + "…"


def _cell(text: str, width: int, *, is_number: bool) -> str:
    text = shortened(text, width)
    padding = " " * (width - cell_len(text))
    return padding + text if is_number else text + padding
