"""From a PDF's coordinates to the page as it is shown, and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.loaders.pdf.pdfium import PageFrame

SIDES = st.floats(-2000, 2000, allow_nan=False, width=32)


@pytest.mark.parametrize(
    ("turns", "size", "shown"),
    [
        (0, (100, 50), [5, 20, 15, 40]),
        (1, (50, 100), [10, 5, 30, 15]),
        (2, (100, 50), [85, 10, 95, 30]),
        (3, (50, 100), [20, 85, 40, 95]),
    ],
)
def test_a_box_is_cropped_turned_and_counted_from_the_upper_left(
    turns: int, size: tuple[int, int], shown: list[int]
) -> None:
    frame = PageFrame(200, 300, 300, 350, turns)
    assert (frame.width, frame.height) == size
    assert frame.show([[205, 310, 215, 330]]).tolist() == [shown]


@given(st.tuples(SIDES, SIDES, SIDES, SIDES), st.integers(0, 3), st.lists(st.tuples(SIDES, SIDES, SIDES, SIDES)))
def test_showing_can_be_undone_and_keeps_sizes(
    sides: tuple[float, ...], turns: int, boxes: list[tuple[float, ...]]
) -> None:
    left, right, bottom, top = *sorted(sides[:2]), *sorted(sides[2:])
    frame = PageFrame(left, bottom, right, top, turns)
    ordered = np.array(boxes, float).reshape(-1, 4)
    ordered = np.concatenate(
        [np.minimum(ordered[:, :2], ordered[:, 2:]), np.maximum(ordered[:, :2], ordered[:, 2:])], 1
    )
    shown = frame.show(ordered)
    assert np.allclose(frame.unshow(shown), ordered)
    sizes, shown_sizes = ordered[:, 2:] - ordered[:, :2], shown[:, 2:] - shown[:, :2]
    assert (shown_sizes >= 0).all()
    assert np.allclose(shown_sizes, sizes[:, ::-1] if turns % 2 else sizes)


def test_no_boxes_are_no_boxes() -> None:
    assert PageFrame(0, 0, 1, 1).show([]).shape == (0, 4)
    assert PageFrame(0, 0, 1, 1, 3).unshow(np.zeros((0, 4))).shape == (0, 4)
