"""Boxes around a text: one a line, around its characters and no others."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sentence_window.files.pdf.line_boxes import line_boxes
from sentence_window.files.pdf.pdfium import Boxes


def row(start: float, y: float, count: int, width: float = 5.0, height: float = 10) -> list[list[float]]:
    return [[start + i * width, y, start + (i + 1) * width, y + height] for i in range(count)]


def boxes_of(chosen: list[int], tight: list[list[float]], ink: list[int] | None = None) -> list[list[float]]:
    page = np.array(tight, float).reshape(-1, 4)
    is_ink = np.isin(np.arange(len(page)), ink if ink is not None else np.arange(len(page)))
    found: list[list[float]] = line_boxes(np.array(chosen, np.intp), page, page[chosen], is_ink).tolist()
    return found


def test_each_line_has_a_box() -> None:
    page = row(10, 100, 4) + row(10, 115, 3)
    assert boxes_of([*range(7)], page) == [[10, 100, 30, 110], [10, 115, 25, 125]]
    assert boxes_of([2, 3, 4], page) == [[20.02, 100, 30, 110], [10, 115, 14.98, 125]]  # clear of its neighbors
    assert boxes_of([], page) == []


def test_a_box_never_spans_another_text_on_its_line() -> None:
    left, between, right = row(0, 0, 2), row(20, 0, 2), row(40, 0, 2)
    assert boxes_of([0, 1, 4, 5], left + between + right) == [[0, 0, 10, 10], [40, 0, 50, 10]]
    assert boxes_of([0, 1, 2, 3], left + right) == [[0, 0, 50, 10]]
    assert boxes_of([0, 1, 2, 3], left + row(200, 0, 2)) == [[0, 0, 10, 10], [200, 0, 210, 10]]
    assert boxes_of([0, 1, 4, 5], left + between + right, ink=[0, 1, 4, 5]) == [[0, 0, 50, 10]]


def test_the_next_column_has_boxes_of_its_own() -> None:
    page = row(0, 500, 10) + row(90, 20, 10)
    assert boxes_of([*range(20)], page) == [[0, 500, 50, 510], [90, 20, 140, 30]]


def test_a_box_gives_way_to_a_tight_line_above_and_below() -> None:
    page = row(0, 0, 6) + row(0, 9, 6) + row(0, 18, 6)
    (box,) = boxes_of([*range(6, 12)], page)
    assert (box[0], box[2]) == (0, 30)
    assert 10 < box[1] < 10.1
    assert 17.9 < box[3] < 18


def test_a_box_gives_way_to_a_neighbor_that_leans_over() -> None:
    page = [*row(0, 0, 3), [14.5, 0, 19.5, 10]]
    (box,) = boxes_of([0, 1, 2], page)
    assert 14.4 < box[2] < 14.5


def test_what_is_printed_twice_stays_in_one_box() -> None:
    page = row(0, 0, 4) + row(0.3, 0, 4)
    assert boxes_of([0, 1, 2, 3], page) == [[0, 0, 20, 10]]


def test_a_raised_figure_is_on_the_line() -> None:
    page = [*row(0, 0, 3), [15.0, -3, 18, 4], *row(18, 0, 3)]
    assert boxes_of([*range(7)], page) == [[0, -3, 33, 10]]


def test_text_that_runs_up_the_page_has_a_box_a_line() -> None:
    up = [[100.0, 200 - 5 * i, 110, 205 - 5 * i] for i in range(8)]
    next_line = [[115.0, 200 - 5 * i, 125, 205 - 5 * i] for i in range(3)]
    assert boxes_of([*range(11)], up + next_line) == [[100, 165, 110, 205], [115, 190, 125, 205]]


def test_text_from_right_to_left_has_a_box_a_line() -> None:
    assert boxes_of([0, 1, 2, 3, 4], row(0, 0, 4)[::-1] + row(10, 20, 1)) == [[0, 0, 20, 10], [10, 20, 15, 30]]


def test_parts_of_a_line_that_are_drawn_in_another_order_have_boxes_of_their_own() -> None:
    assert boxes_of([3, 4, 0, 1, 2], row(10, 0, 3) + row(0, 0, 2)) == [[0, 0, 9.98, 10], [10.02, 0, 25, 10]]


def test_boxes_without_a_size_or_a_place_do_no_harm() -> None:
    page = np.array([*row(0, 0, 2), [np.nan] * 4, [3, 3, 3, 3], [np.inf, 0, 1, 1]])
    chosen = np.array([0, 2, 1, 3], np.intp)
    assert line_boxes(chosen, page, page[chosen], np.ones(5, np.bool_))[:, :2].tolist() == [[0, 0]]
    nothing = np.full((1, 4), np.nan)
    assert line_boxes(np.array([0]), nothing, nothing, np.ones(1, np.bool_)).shape == (0, 4)


COORDINATES = st.integers(0, 60)
BOX = st.tuples(COORDINATES, COORDINATES, st.integers(1, 12), st.integers(1, 12))


@given(st.lists(BOX, min_size=1, max_size=40), st.data())
def test_centers_of_the_text_are_in_its_boxes_and_no_others_unless_they_lie_on_it(
    drawn: list[tuple[int, ...]], data: st.DataObject
) -> None:
    page = np.array([[x, y, x + width, y + height] for x, y, width, height in drawn], float)
    chosen = np.array(data.draw(st.lists(st.integers(0, len(page) - 1), unique=True, min_size=1)), np.intp)
    boxes = line_boxes(chosen, page, page[chosen], np.ones(len(page), np.bool_))
    centers = (page[:, :2] + page[:, 2:]) / 2
    inside = [within(center, boxes) for center in centers]
    assert all(inside[index] for index in chosen)
    for index in set(range(len(page))) - set(chosen.tolist()):
        if inside[index]:
            own = page[chosen]
            over = ((own[:, :2] <= page[index, 2:]) & (page[index, :2] <= own[:, 2:])).all(axis=1)
            assert over.any()


def within(center: Boxes, boxes: Boxes) -> bool:
    return bool(((boxes[:, :2] - 1e-9 <= center) & (center <= boxes[:, 2:] + 1e-9)).all(axis=1).any())
