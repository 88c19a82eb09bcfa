"""Rows and their positions: whatever the order in which they come, the latest position of each is found."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from langchain_sentence_window.stores.faiss.dense.quantized import NO_POSITION, RowPositions

PARTS = st.lists(st.lists(st.integers(0, 60), max_size=12, unique=True), max_size=12)


@given(first=st.lists(st.integers(0, 60), max_size=20), parts=PARTS)
def test_each_row_is_found_at_its_latest_position(first: list[int], parts: list[list[int]]) -> None:
    rows = RowPositions(np.array(first, dtype=np.int64))
    model = list(first)
    for part in parts:
        rows.append(np.array(part, dtype=np.int64))
        model += part
    latest = {row: position for position, row in enumerate(model)}
    asked = np.arange(65)
    assert rows.positions_of(asked).tolist() == [latest.get(row, NO_POSITION) for row in asked.tolist()]
    assert rows.rows.tolist() == model
    backwards = np.arange(len(model))[::-1]
    assert rows.rows_at(backwards).tolist() == model[::-1]
    assert len(rows) == len(model)


def test_rows_in_rising_order_are_kept_once() -> None:
    rows = RowPositions(np.arange(10))
    for start in range(10, 5_000, 10):
        rows.append(np.arange(start, start + 10))
    (run,) = rows._runs
    assert run.rows is None
    assert len(rows._rows._starts.filled) == 1
    rows.append(np.arange(6_000, 6_010))
    assert len(rows._rows._starts.filled) == 2
    assert rows.positions_of(np.array([6_000, 5_999, 5_000, 4_999])).tolist() == [5_000, -1, -1, 4_999]
    assert rows.positions_of(np.array([4_999, 0])).tolist() == [4_999, 0]


def test_few_runs_are_kept_whatever_the_order() -> None:
    rows, chance = RowPositions(np.empty(0, dtype=np.int64)), np.random.default_rng(0)
    for _ in range(2_000):
        rows.append(chance.choice(100_000, 5, replace=False))
    assert len(rows._runs) <= 15
