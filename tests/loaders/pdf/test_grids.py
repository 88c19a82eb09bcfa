"""Grids of ruling lines, and their cells."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.loaders.pdf.grids import MAX_LINES, Grid, find_grids


def across(y: float, x0: float, x1: float) -> list[float]:
    return [x0, y - 0.5, x1, y + 0.5]


def down(x: float, y0: float, y1: float) -> list[float]:
    return [x - 0.5, y0, x + 0.5, y1]


def grids(*rules: list[float]) -> list[Grid]:
    return find_grids(np.array(rules, float).reshape(-1, 4))


FRAME = [across(0, 0, 100), across(50, 0, 100), down(0, 0, 50), down(100, 0, 50)]


def test_lines_that_cross_part_cells() -> None:
    (grid,) = grids(*FRAME, across(25, 0, 100), down(60, 0, 50))
    assert grid.cells.tolist() == [[0, 1], [2, 3]]
    points = np.array([[10, 10], [80, 10], [10, 40], [80, 40], [-5, 10], [10, 60]], float)
    assert grid.cell_at(points).tolist() == [0, 1, 2, 3, -1, -1]
    assert grid.places().tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]


def test_a_cell_may_span_columns_and_rows() -> None:
    (wide,) = grids(*FRAME, across(25, 0, 100), down(60, 25, 50))
    assert wide.cells.tolist() == [[0, 0], [1, 2]]
    (high,) = grids(*FRAME, across(25, 60, 100), down(60, 0, 50))
    assert high.cells.tolist() == [[0, 1], [0, 2]]


def test_the_sides_of_a_table_may_be_open() -> None:
    (grid,) = grids(across(0, 0, 100), across(25, 0, 100), across(50, 0, 100), down(60, 0, 50))
    assert grid.cells.tolist() == [[0, 1], [2, 3]]


def test_a_line_may_be_drawn_in_pieces() -> None:
    pieces = [across(25, start, start + 19) for start in range(0, 100, 20)]
    (grid,) = grids(*FRAME, *pieces, down(60, 0, 24), down(60, 26, 50))
    assert grid.cells.tolist() == [[0, 1], [2, 3]]


def test_grids_that_do_not_touch_are_parted_and_in_order() -> None:
    lower = [[x0, y0 + 200, x1, y1 + 200] for x0, y0, x1, y1 in [*FRAME, down(50, 0, 50)]]
    first, second = grids(*lower, *FRAME, across(25, 0, 100))
    assert (first.cells.shape, second.cells.shape) == ((2, 1), (1, 2))


def test_a_frame_and_an_underline_and_lines_without_crossings_are_no_grids() -> None:
    assert grids() == []
    assert grids(*FRAME) == []
    assert grids(across(10, 0, 50), across(20, 0, 50)) == []
    assert grids(across(10, 0, 50), down(80, 0, 50)) == []


def test_millimeter_paper_is_no_grid() -> None:
    lines = [across(4 * n, 0, 5000) for n in range(MAX_LINES + 1)]
    assert grids(*lines, *(down(4 * n, 0, 5000) for n in range(MAX_LINES + 1))) == []


@given(st.lists(st.tuples(*[st.integers(0, 40)] * 3, st.booleans()), max_size=25))
def test_every_place_is_in_one_cell_and_cells_are_numbered_in_reading_order(
    drawn: list[tuple[int, int, int, bool]],
) -> None:
    rules = [(across if is_across else down)(at, min(one, two), max(one, two)) for at, one, two, is_across in drawn]
    for grid in grids(*rules):
        assert (np.diff(grid.xs) > 0).all()
        assert (np.diff(grid.ys) > 0).all()
        assert grid.cells.shape == (len(grid.ys) - 1, len(grid.xs) - 1)
        firsts = grid.places().tolist()
        assert firsts == sorted(firsts)
        assert set(grid.cells.flat) == set(range(len(firsts)))
