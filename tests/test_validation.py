"""Numbers that were passed in, as arrays."""

import math
import re

import numpy as np
import pytest

from langchain_sentence_window._validation import finite_numbers
from langchain_sentence_window.errors import InvalidInputError


@pytest.mark.parametrize("values", [[1, 2.5], (1.0, np.float32(2.5)), np.array([1.0, 2.5]), range(2)])
def test_numbers_become_an_array(values: object) -> None:
    found = finite_numbers("scores", values)
    assert (found.dtype, found.tolist()) == (np.float64, [float(each) for each in values])  # type: ignore[attr-defined]
    assert finite_numbers("scores", values, 2).tolist() == found.tolist()


def test_no_numbers_are_an_empty_array() -> None:
    assert finite_numbers("scores", []).shape == (0,)
    assert finite_numbers("scores", [], 0).shape == (0,)


@pytest.mark.parametrize(
    ("values", "count", "message"),
    [
        ([1.0, math.nan], None, "scores is [1.0, nan]; give finite numbers"),
        ([math.inf], None, "scores is [inf]; give finite numbers"),
        (None, None, "scores is None; give finite numbers"),
        (0.5, None, "scores is 0.5; give finite numbers"),
        ([[0.5]], None, "scores is [[0.5]]; give finite numbers"),
        (["x"], None, "scores is ['x']; give finite numbers"),
        ("a\ud800\0", None, "scores is 'a\\ud800\\x00'; give finite numbers"),
        ([10**400], None, "scores is [an int of more than 30 digits]; give finite numbers"),
        ([[0.5], [1, 2]], None, "scores is [[0.5], [1, 2]]; give finite numbers"),
        ([1.0], 2, "scores is [1.0]; give 2 finite numbers"),
        ([1.0, 2.0], 1, "scores is [1.0, 2.0]; give 1 finite number"),
        (1.0, 1, "scores is 1.0; give 1 finite number"),
    ],
)
def test_anything_else_is_named_with_the_cure(values: object, count: int | None, message: str) -> None:
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        finite_numbers("scores", values, count)
