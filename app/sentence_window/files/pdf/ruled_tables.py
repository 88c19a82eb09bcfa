"""Tables whose ruling lines form a grid of cells.

The runs of a table are removed from the page before its columns and paragraphs are searched for. A cell may have
several lines. A row with a long text in a cell is read cell by cell as paragraphs, not across.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from .aligned_tables import find_aligned_tables
from .characters import PageCharacters
from .grids import Grid, find_grids
from .inks import Ink
from .lines import Run, TextLine, cut_run, join_lines
from .paragraphs import BULLETS
from .pdfium import Boxes
from .tables import FIGURES_SHARE, MIN_FIGURES, GridRow, Table, has_figures, runs_on

_SAME_PIECE = 0.6
_OUTSIDE = -1


def find_tables(page: PageCharacters, ink: Ink, runs: Sequence[Run], rules: Boxes) -> tuple[list[Table], list[Run]]:
    """Find the tables of a page.

    Args:
        page: The characters of the page.
        ink: The visible characters.
        runs: All runs of the ink.
        rules: The ruling lines, rotated as the ink is.

    Returns:
        The tables, from top to bottom, and the runs outside of them, in the given order.
    """
    tables, left = find_ruled_tables(page, ink, runs, rules)
    aligned, left = find_aligned_tables(ink, left)
    return sorted([*tables, *aligned], key=lambda table: table.box[1]), left


def find_ruled_tables(
    page: PageCharacters, ink: Ink, runs: Sequence[Run], rules: Boxes
) -> tuple[list[Table], list[Run]]:
    """Find the tables with ruling lines; see `find_tables`."""
    tables: list[Table] = []
    left = list(runs)
    for grid in find_grids(rules) if left else ():
        found = _ruled_table(page, ink, left, grid)
        if found is not None:
            tables.append(found[0])
            left = found[1]
    return tables, left


def _ruled_table(page: PageCharacters, ink: Ink, runs: Sequence[Run], grid: Grid) -> tuple[Table, list[Run]] | None:
    """Return the table of a grid, and the runs outside; ``None`` if no row of the grid has two texts."""
    if grid.cells.shape[1] == 1:
        return None
    in_grid = [run for run in runs if _meets(run, grid)]
    inside: dict[int, list[Run]] = {}
    for run, cells in zip(in_grid, _cells_of(page, ink, in_grid, grid), strict=True):
        for cell, part in _divided(ink, run, cells):
            inside.setdefault(cell, []).append(part)
    rest = inside.pop(_OUTSIDE, [])
    places = grid.places().tolist()
    rows: dict[int, list[list[TextLine]]] = {}
    for cell, (row, _) in enumerate(places):
        rows.setdefault(row, []).append(join_lines(ink, inside.get(cell, [])))
    if max(sum(map(bool, cells)) for cells in rows.values()) < 2:  # noqa: PLR2004
        return None
    taken = set(map(id, in_grid))
    left = [run for run in runs if id(run) not in taken] + rest
    divided = [each for _, cells in sorted(rows.items()) if any(cells) for each in _rows_between_rules(cells, grid)]
    return Table([GridRow(cells) for cells in divided]), left


_SAME_LEVEL = 0.3
_MIN_LEVELS = 4
_MIN_FULL = 0.8


def _rows_between_rules(cells: list[list[TextLine]], grid: Grid) -> list[list[list[TextLine]]]:
    """Return the rows between two rules: one per line if the cells are lists side by side.

    Some tables have a rule only every few rows. Cells whose texts wrap form a single row.
    """
    lists = [cell for cell in cells if len(cell) > 1]
    levels = _levels(line for cell in lists for line in cell)
    places = {id(line): _nearest(levels, line) for cell in cells for line in cell} if lists else {}
    shared = Counter(at for cell in lists for at in {places[id(line)] for line in cell})
    if sum(count > 1 for count in shared.values()) < max(2, _MIN_FULL * len(levels)):
        return [cells]
    if any(runs_on([line.text for line in cell]) or cell[-1].text[0] in BULLETS for cell in lists):
        return [cells]
    is_sure = any(len(cell) == len(levels) and _lists_figures(cell) for cell in lists)
    if not is_sure and (len(levels) < _MIN_LEVELS or any(_wraps(cell, grid) for cell in lists)):
        return [cells]
    rows: list[list[list[TextLine]]] = [[[] for _ in cells] for _ in levels]
    for number, cell in enumerate(cells):
        for line in cell:
            is_for_all = number == 0 and len(cell) == 1
            rows[0 if is_for_all else places[id(line)]][number].append(line)
    return rows


def _levels(lines: Iterable[TextLine]) -> list[float]:
    """Return the distinct baselines of lines."""
    levels: list[float] = []
    for line in sorted(lines, key=lambda line: line.base):
        if not levels or line.base - levels[-1] > _SAME_LEVEL * line.size:
            levels.append(line.base)
    return levels


def _nearest(levels: list[float], line: TextLine) -> int:
    at = bisect_left(levels, line.base)
    return min(
        (each for each in (at - 1, at) if 0 <= each < len(levels)), key=lambda each: abs(levels[each] - line.base)
    )


def _lists_figures(cell: list[TextLine]) -> bool:
    return sum(has_figures(line.text) for line in cell) >= max(MIN_FIGURES, FIGURES_SHARE * len(cell))


def _wraps(cell: list[TextLine], grid: Grid) -> bool:
    """Return whether the lines of a cell may be one wrapped text: a line is as wide as the cell."""
    at = int(np.searchsorted(grid.xs, max(line.x0 for line in cell), side="right"))
    right = float(grid.xs[min(at, len(grid.xs) - 1)])
    return any(above.x1 + below.first_width + above.size > right for above, below in pairwise(cell))


def _meets(run: Run, grid: Grid) -> bool:
    x0, x1, y0, y1 = grid.xs[0], grid.xs[-1], grid.ys[0], grid.ys[-1]
    return bool(run.x0 < x1 and run.x1 > x0 and y0 <= (run.y0 + run.y1) / 2 <= y1)


def _cells_of(page: PageCharacters, ink: Ink, runs: Sequence[Run], grid: Grid) -> Iterable[npt.NDArray[np.intp]]:
    """Yield for each run the cells of its characters.

    Characters of one text object stay together, as a text may extend over the ruling line.
    """
    for run in runs:
        start, end = run.words[0][0], run.words[-1][1]
        boxes = ink.boxes[start:end]
        cells = grid.cell_at((boxes[:, :2] + boxes[:, 2:]).astype(np.float64) / 2)
        if (cells != cells[0]).any():
            origins = page.origins[ink.index[start:end]]
            gaps = boxes[1:, 0] - boxes[:-1, 2] > _SAME_PIECE * ink.sizes[start + 1 : end]
            cuts = np.flatnonzero(gaps | (origins[1:] != origins[:-1]).any(axis=1)) + 1
            for piece in np.split(np.arange(end - start), cuts):
                cells[piece] = Counter(cells[piece].tolist()).most_common(1)[0][0]
        yield cells


def _divided(ink: Ink, run: Run, cells: npt.NDArray[np.intp]) -> list[tuple[int, Run]]:
    """Divide a run by the cells of its characters."""
    if (cells == cells[0]).all():
        return [(int(cells[0]), run)]
    start = run.words[0][0]
    edges = [*(start + np.flatnonzero(np.diff(cells)) + 1).tolist(), run.words[-1][1]]
    parts: list[tuple[int, Run]] = []
    for edge in edges:
        words = [(max(low, start), min(high, edge)) for low, high in run.words if low < edge and high > start]
        parts.append((int(cells[start - run.words[0][0]]), cut_run(ink, run, words)))
        start = edge
    return parts
