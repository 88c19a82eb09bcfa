"""Grids of ruling lines, and their cells.

Lines that meet belong to one grid. Its rows and columns are between neighboring lines; two positions of the grid are
one cell if no line separates them. So cells may span rows and columns, and a side without a line is open.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .pdfium import Boxes, Indexes, Mask

TOLERANCE = 3.0
"""Points by which lines that meet may miss each other."""

MAX_LINES = 500
"""Horizontal or vertical lines of a page with tables; a page with more is graph paper."""

MAX_PLACES = 20_000
"""Rows times columns of the largest grid that is read as a table."""

_Lines: TypeAlias = npt.NDArray[np.float64]
"""``(n, 3)``: the position of each line across its direction, its start and its end."""


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Rows and columns of cells.

    Attributes:
        xs: The sides of the columns in points, one more than there are columns.
        ys: The sides of the rows in points, one more than there are rows.
        cells: ``(rows, columns)``, the number of the cell at each position, from 0, numbered by row, then column.
    """

    xs: npt.NDArray[np.float64]
    ys: npt.NDArray[np.float64]
    cells: npt.NDArray[np.intp]

    def cell_at(self, points: npt.NDArray[np.float64]) -> Indexes:
        """Return the cell of each point ``(x, y)``; -1 for a point outside."""
        columns = np.searchsorted(self.xs, points[:, 0], side="right") - 1
        rows = np.searchsorted(self.ys, points[:, 1], side="right") - 1
        height, width = self.cells.shape
        inside = (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height)
        return np.where(inside, self.cells[rows.clip(0, height - 1), columns.clip(0, width - 1)], -1)

    def places(self) -> npt.NDArray[np.intp]:
        """Return the first row and column of each cell, of shape ``(cells, 2)``."""
        _, first = np.unique(self.cells, return_index=True)
        return np.stack(np.divmod(first, self.cells.shape[1]), axis=1)


def find_grids(rules: Boxes) -> list[Grid]:
    """Find the grids of at least two cells that the ruling lines of a page form.

    Args:
        rules: ``(n, 4)``, thin boxes.

    Returns:
        The grids, from top to bottom.
    """
    width, height = rules[:, 2] - rules[:, 0], rules[:, 3] - rules[:, 1]
    across = _joined(_lines(rules[width >= height], axis=0))
    down = _joined(_lines(rules[width < height], axis=1))
    if not (0 < len(down) <= MAX_LINES and 0 < len(across) <= MAX_LINES):
        return []
    groups = _groups(_crossings(across, down))
    grids = [_grid(across[rows], down[columns]) for rows, columns in groups if len(rows) * len(columns) <= MAX_PLACES]
    return sorted((grid for grid in grids if grid.cells.max(initial=0) > 0), key=lambda grid: float(grid.ys[0]))


def _lines(rules: Boxes, axis: int) -> _Lines:
    """Return lines along an axis: 0 for lines across, 1 for lines down."""
    other = 1 - axis
    return np.stack([(rules[:, other] + rules[:, other + 2]) / 2, rules[:, axis], rules[:, axis + 2]], axis=1)


def _joined(lines: _Lines) -> _Lines:
    """Join the pieces of one line."""
    if not len(lines):
        return lines
    levels = _clustered(lines[:, 0])
    joined: list[list[float]] = []
    for index in np.lexsort((lines[:, 1], levels)):
        at, (_, start, end) = levels[index], lines[index]
        if joined and joined[-1][0] == at and start <= joined[-1][2] + TOLERANCE:
            joined[-1][2] = max(joined[-1][2], end)
        else:
            joined.append([at, start, end])
    return np.array(joined)


def _clustered(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return for each value the middle of its cluster of close values."""
    order = np.argsort(values, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(values[order]) > TOLERANCE / 2) + 1)
    middles = np.empty(len(values))
    for group in groups:
        middles[group] = (values[group].min() + values[group].max()) / 2
    return middles


def _crossings(across: _Lines, down: _Lines) -> Mask:
    """Return which horizontal lines meet which vertical ones, of shape ``(across, down)``."""
    x, y = down[None, :, 0], across[:, None, 0]
    in_x = (across[:, None, 1] - TOLERANCE <= x) & (x <= across[:, None, 2] + TOLERANCE)
    in_y = (down[None, :, 1] - TOLERANCE <= y) & (y <= down[None, :, 2] + TOLERANCE)
    meets: Mask = in_x & in_y
    return meets


def _groups(meets: Mask) -> Iterator[tuple[Indexes, Indexes]]:
    """Yield the horizontal and the vertical lines of each connected group."""
    left: Mask = np.any(meets, axis=1)
    while left.any():
        rows = np.zeros(len(left), np.bool_)
        rows[np.argmax(left)] = True
        while True:
            columns: Mask = np.any(meets[rows], axis=0)
            grown: Mask = np.any(meets[:, columns], axis=1)
            if (grown == rows).all():
                break
            rows = grown
        left &= ~rows
        yield np.flatnonzero(rows), np.flatnonzero(columns)


def _grid(across: _Lines, down: _Lines) -> Grid:
    xs = np.unique(_clustered(np.append(down[:, 0], [across[:, 1].min(), across[:, 2].max()])))
    ys = np.unique(_clustered(np.append(across[:, 0], [down[:, 1].min(), down[:, 2].max()])))
    columns, rows = (xs[:-1] + xs[1:]) / 2, (ys[:-1] + ys[1:]) / 2
    walls = _between(down, xs[1:-1], rows).T
    floors = _between(across, ys[1:-1], columns)
    return Grid(xs, ys, _cells(walls, floors, (len(rows), len(columns))))


def _between(lines: _Lines, levels: npt.NDArray[np.float64], middles: npt.NDArray[np.float64]) -> Mask:
    """Return whether a line at each level crosses each middle, of shape ``(levels, middles)``."""
    found = np.zeros((len(levels), len(middles)), np.bool_)
    for at, start, end in lines:
        found[np.abs(levels - at) <= TOLERANCE] |= (start <= middles) & (middles <= end)
    return found


def _cells(walls: Mask, floors: Mask, shape: tuple[int, int]) -> npt.NDArray[np.intp]:
    """Number the cells: positions that no wall and no floor separates share a number."""
    height, width = shape
    cells = np.full(shape, -1, np.intp)
    number = 0
    for start in range(height * width):
        row, column = divmod(start, width)
        if cells[row, column] >= 0:
            continue
        cells[row, column] = number
        todo = [(row, column)]
        while todo:
            row, column = todo.pop()
            neighbors = [
                (row, column + 1, column + 1 < width and not walls[row, column]),
                (row, column - 1, column > 0 and not walls[row, column - 1]),
                (row + 1, column, row + 1 < height and not floors[row, column]),
                (row - 1, column, row > 0 and not floors[row - 1, column]),
            ]
            for y, x, is_open in neighbors:
                if is_open and cells[y, x] < 0:
                    cells[y, x] = number
                    todo.append((y, x))
        number += 1
    return cells
