"""A terminal, or the pipe or file that stands for one, and tables that fit its width."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NoReturn

from rich.cells import cell_len, set_cell_size
from rich.console import Console

from langchain_sentence_window.apps.cli.plain_text import CUT, printable


class _PlainConsole(Console):
    """A console that takes text as it is, and doesn't end the program by itself."""

    def on_broken_pipe(self) -> NoReturn:
        """Say that the reader is gone."""
        raise BrokenPipeError


def plain_console(*, is_error: bool = False) -> Console:
    """Return the console of stdout, or of stderr."""
    return _PlainConsole(markup=False, highlight=False, emoji=False, stderr=is_error)


Cut = Callable[[str, int], str]
"""Takes a text and a number of columns, and returns the text cut to them."""

_GAP = "  "
_NARROWEST = 8
"""The fewest columns that a cell is cut to."""


def laid_out(
    rows: Sequence[Sequence[str]],
    numbers: frozenset[int],
    shrink: Sequence[int],
    columns: int | None = None,
    cuts: Mapping[int, Cut] = MappingProxyType({}),
) -> list[str]:
    """Return the lines of a table.

    Args:
        rows: The cells by rows, all of one length and each on one line.
        numbers: The columns that are aligned on the right.
        shrink: The columns that are cut where the table is too wide, the first one first.
        columns: The width of the terminal; ``None`` cuts nothing.
        cuts: Cut the cells of a column in another way than `shortened`. What they return may be wider than asked for.
    """
    table = [[" ".join(printable(cell).split("\n")) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*table, strict=True)]
    for column in shrink if columns is not None else ():
        excess = sum(widths) + len(_GAP) * (len(widths) - 1) - (columns or 0)
        widths[column] = max(min(_NARROWEST, widths[column]), widths[column] - max(0, excess))
        for row in table:
            if cell_len(row[column]) > widths[column]:
                row[column] = cuts.get(column, shortened)(row[column], widths[column])
    return [
        _GAP.join(_cell(cell, widths[i], is_number=i in numbers) for i, cell in enumerate(row)).rstrip()
        for row in table
    ]


def shortened(text: str, width: int) -> str:
    """Return a text that takes at most so many columns, the last of them an ellipsis if it was cut."""
    return text if cell_len(text) <= width else set_cell_size(text, max(0, width - 1)).rstrip() + CUT


def ending(text: str, width: int) -> str:
    """Return a text that takes at most so many columns, the first of them an ellipsis if it was cut."""
    if cell_len(text) <= width:
        return text
    start = len(text)
    while start and cell_len(text[start - 1 :]) < width:
        start -= 1
    return CUT + text[start:].lstrip()


def _cell(text: str, width: int, *, is_number: bool) -> str:
    padding = " " * (width - cell_len(text))
    return padding + text if is_number else text + padding
