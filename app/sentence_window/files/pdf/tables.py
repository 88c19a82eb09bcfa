"""Tables of a page as rows of cells, and what their texts show about columns."""

from dataclasses import dataclass

from .lines import TextLine

MAX_CELL_CHARS = 400
"""Characters without spaces of the longest cell that is read as a cell; a longer one is prose."""

FIGURES_SHARE = 0.5
"""The least share of texts with figures in a column of figures."""

MIN_FIGURES = 2
"""The least number of such texts."""

_MAX_LOWER = 0.4


@dataclass(frozen=True, slots=True, eq=False)
class GridRow:
    """A row of a table.

    Attributes:
        cells: The lines of each cell, from left to right; none for an empty cell.
    """

    cells: list[list[TextLine]]

    @property
    def is_prose(self) -> bool:
        """Whether a cell is so long that each cell should be read as paragraphs."""
        return any(sum(run.letters for line in cell for run in line.runs) > MAX_CELL_CHARS for cell in self.cells)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table of a page.

    Attributes:
        rows: From top to bottom; each has text.
    """

    rows: list[GridRow]

    @property
    def box(self) -> tuple[float, float, float, float]:
        """The box around its text: left, top, right, bottom."""
        lines = [line for row in self.rows for cell in row.cells for line in cell]
        x0, y0, x1, y1 = zip(*((line.x0, line.y0, line.x1, line.y1) for line in lines), strict=True)
        return min(x0), min(y0), max(x1), max(y1)


def runs_on(column: list[str]) -> bool:
    """Return whether the lines of a column go on from one to the next, as in prose."""
    return sum(text[0].islower() for text in column) > _MAX_LOWER * len(column)


def has_figures(text: str) -> bool:
    """Return whether a text has at least as many digits as letters."""
    figures = sum(map(str.isnumeric, text))
    return figures > 0 and figures >= sum(map(str.isalpha, text))
