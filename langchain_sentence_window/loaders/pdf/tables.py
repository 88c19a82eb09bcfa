"""The tables of a page: rows of cells, from ruling lines and from columns of short texts.

The runs of a table are taken out of the page before its columns and paragraphs are looked for. A cell may have several
lines. A row with a whole paragraph in a cell isn't read across but cell by cell, so it is told apart.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._types import Span
from langchain_sentence_window.loaders.pdf.aligned import aligned_tables
from langchain_sentence_window.loaders.pdf.characters import PageCharacters
from langchain_sentence_window.loaders.pdf.frames import Boxes
from langchain_sentence_window.loaders.pdf.grids import Grid, find_grids
from langchain_sentence_window.loaders.pdf.ink import Ink
from langchain_sentence_window.loaders.pdf.lines import Line, Run, join_lines

MAX_CELL_CHARS = 400
"""Characters without spaces; a longer cell is prose."""

_SAME_PIECE = 0.6
_OUTSIDE = -1


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A row of a table.

    Attributes:
        cells: The lines of each cell, from left to right; none for an empty cell.
    """

    cells: list[list[Line]]

    @property
    def is_prose(self) -> bool:
        """Whether a cell is so long that each should be read as paragraphs of its own."""
        return any(sum(run.letters for line in cell for run in line.runs) > MAX_CELL_CHARS for cell in self.cells)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table of a page.

    Attributes:
        rows: From top to bottom, none without text.
    """

    rows: list[Row]

    @property
    def box(self) -> tuple[float, float, float, float]:
        """The box around its text: left, top, right, bottom."""
        lines = [line for row in self.rows for cell in row.cells for line in cell]
        return (
            min(line.x0 for line in lines),
            min(line.y0 for line in lines),
            max(line.x1 for line in lines),
            max(line.y1 for line in lines),
        )


def find_tables(page: PageCharacters, ink: Ink, runs: Sequence[Run], rules: Boxes) -> tuple[list[Table], list[Run]]:
    """Find the tables of a page.

    Args:
        page: The characters of the page.
        ink: Those that can be seen.
        runs: All runs of the ink.
        rules: The ruling lines, turned as the ink is.

    Returns:
        The tables, from top to bottom, and the runs that are in none, in the order given.
    """
    tables, left = find_ruled_tables(page, ink, runs, rules)
    aligned, left = find_aligned_tables(ink, left)
    return sorted([*tables, *aligned], key=lambda table: table.box[1]), left


def find_ruled_tables(
    page: PageCharacters, ink: Ink, runs: Sequence[Run], rules: Boxes
) -> tuple[list[Table], list[Run]]:
    """Find the tables that ruling lines show; see `find_tables`."""
    tables: list[Table] = []
    left = list(runs)
    for grid in find_grids(rules) if left else ():
        found = _ruled_table(page, ink, left, grid)
        if found is not None:
            tables.append(found[0])
            left = found[1]
    return tables, left


def find_aligned_tables(ink: Ink, runs: Sequence[Run]) -> tuple[list[Table], list[Run]]:
    """Find the tables that only the places of their texts show; see `find_tables`."""
    found, left = aligned_tables(ink, runs)
    return [Table([Row(cells) for cells in rows]) for rows in found], left


def _ruled_table(page: PageCharacters, ink: Ink, runs: Sequence[Run], grid: Grid) -> tuple[Table, list[Run]] | None:
    """Return the table of a grid, and the runs outside; ``None`` if no row of the grid has two texts."""
    if grid.cells.shape[1] == 1:
        return None
    in_grid = [run for run in runs if _meets(run, grid)]
    inside: dict[int, list[Run]] = {}
    rest: list[Run] = []
    for run, cells in zip(in_grid, _cells_of(page, ink, in_grid, grid), strict=True):
        for cell, part in _parted(ink, run, cells):
            inside.setdefault(cell, []).append(part)
    rest = inside.pop(_OUTSIDE, [])
    places = grid.places().tolist()
    rows: dict[int, list[list[Line]]] = {}
    for cell, (row, _) in enumerate(places):
        rows.setdefault(row, []).append(join_lines(ink, inside.get(cell, [])))
    if max(sum(map(bool, cells)) for cells in rows.values()) < 2:  # noqa: PLR2004
        return None
    taken = set(map(id, in_grid))
    left = [run for run in runs if id(run) not in taken] + rest
    return Table([Row(cells) for _, cells in sorted(rows.items()) if any(cells)]), left


def _meets(run: Run, grid: Grid) -> bool:
    x0, x1, y0, y1 = grid.xs[0], grid.xs[-1], grid.ys[0], grid.ys[-1]
    return bool(run.x0 < x1 and run.x1 > x0 and y0 <= (run.y0 + run.y1) / 2 <= y1)


def _cells_of(page: PageCharacters, ink: Ink, runs: Sequence[Run], grid: Grid) -> Iterable[npt.NDArray[np.intp]]:
    """Yield for each run the cell of each of its characters.

    What was drawn at once stays together, as a text may run over the line beside it.
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


def _parted(ink: Ink, run: Run, cells: npt.NDArray[np.intp]) -> list[tuple[int, Run]]:
    """Part a run by the cells of its characters."""
    if (cells == cells[0]).all():
        return [(int(cells[0]), run)]
    start = run.words[0][0]
    edges = [*(start + np.flatnonzero(np.diff(cells)) + 1).tolist(), run.words[-1][1]]
    parts: list[tuple[int, Run]] = []
    for edge in edges:
        words = [(max(low, start), min(high, edge)) for low, high in run.words if low < edge and high > start]
        parts.append((int(cells[start - run.words[0][0]]), _run(ink, words, run)))
        start = edge
    return parts


def _run(ink: Ink, words: list[Span], like: Run) -> Run:
    """Make a run of some characters of another one."""
    start, end = words[0][0], words[-1][1]
    boxes = ink.boxes[start:end]
    (x0, y0), (x1, y1) = boxes[:, :2].min(axis=0).tolist(), boxes[:, 2:].max(axis=0).tolist()
    bold, italic = int(ink.bold[start:end].sum()), int(ink.italic[start:end].sum())
    return Run(words, x0, y0, x1, y1, like.base, like.size, end - start, bold, italic)
