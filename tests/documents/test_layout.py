"""Layouts: the blocks of a part, as JSON in its metadata."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.documents.part_blocks import Continuation, read_layout, write_layout
from langchain_sentence_window.splitting import Block


@st.composite
def layouts(draw: st.DrawFn) -> tuple[list[Block], Continuation]:
    ends = sorted(draw(st.sets(st.integers(0, 500), max_size=20)))
    blocks = []
    for start, end in zip(ends[::2], ends[1::2], strict=False):
        kind = draw(
            st.sampled_from(["prose", "heading", "list_item", "table_row", "code", "x", " ", "\n", "\u2003", "😀"])
        )
        level = draw(st.integers(1, 6)) if kind == "heading" else 0
        is_header = draw(st.sampled_from([None, True, False])) if kind == "table_row" else None
        body = draw(st.none() | st.integers(start, end - 1)) if kind == "list_item" else None
        blocks.append(Block(start, end, kind, level, is_header, body))
    signs: list[Continuation] = ["", "+", "~"]
    return blocks, draw(st.sampled_from(signs)) if blocks else ""


@given(layouts())
def test_a_layout_is_read_as_it_was_written(layout: tuple[list[Block], Continuation]) -> None:
    blocks, continues = layout
    assert read_layout(write_layout(blocks, continues), 500) == (blocks, continues)


def test_a_layout_is_readable() -> None:
    blocks = [Block(0, 23, "heading", 2), Block(25, 400)]
    assert write_layout(blocks, "~") == '["~", [0, 23, "heading", 2, null, null], [25, 400, "prose", 0, null, null]]'


@pytest.mark.parametrize(
    "layout",
    [
        None,
        "",
        "prose",
        "[]",
        '[[0, 5, "prose"]]',
        '["-", [0, 5, "prose"]]',
        '["", 5]',
        '["", {"start": 0, "end": 5}]',
        '["", [0.0, 5]]',
        '["", [-1, 5]]',
        '["", [0, 0]]',
        '["", [5, 3]]',
        '["", [0, 11]]',
        '["", [0, 5], [4, 6]]',
        '["", [0, 5, "prose", 1]]',
        '["", [0, 5, "list_item", 0, null, 5]]',
        '["", [0, 3, "x"], [2, 5, "x"]]',
        '["", [0, 5, "heading", 7]]',
        '["", [0, 5, "image"]]',
        '["", [0, 5, []]]',
        "[" * 100_000,
        "\ud800",
    ],
)
def test_anything_else_is_not_a_layout(layout: Any) -> None:
    assert read_layout(layout, 10) is None


@given(
    st.one_of(st.text(), st.from_regex(r'\["[+~]?"(, \[[0-9]{1,2}, [0-9]{1,2}(, "(heading|prose|x)")?\]){0,3}\]')),
    st.integers(0, 20),
)
def test_any_string_is_read_or_refused(layout: str, length: int) -> None:
    read = read_layout(layout, length)
    if read is not None:
        assert read_layout(write_layout(*read), length) == read
        assert all(block.end <= length for block in read[0])
