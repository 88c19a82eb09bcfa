from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.documents.part_blocks import Continuation, read_layout, write_layout
from langchain_sentence_window.splitting.blocks import Block


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
    blocks = [Block(0, 23, "heading", 2), Block(25, 400), Block(402, 455, "list_item")]
    assert write_layout(blocks) == "heading:0:23:2 prose:25:400 list_item:402:455"
    assert write_layout(blocks[1:], "~") == "~prose:25:400 list_item:402:455"
    assert write_layout([]) == ""
    item = Block(0, 9, "list_item", body=6)
    assert write_layout([item, Block(0, 1, "-"), Block(1, 6, "\u2003")]) == "list_item:0:9:6 45:0:1 8195:1:6"
    assert write_layout([Block(0, 3, "table_row", is_header=True)]) == "table_row:0:3:1"


@pytest.mark.parametrize(
    "layout",
    [
        None,
        7,
        b"prose:0:5",
        " ",
        "+",
        "~ ",
        "prose",
        "prose:0",
        "prose:0:5 ",
        " prose:0:5",
        "prose:0:5  prose:6:7",
        "prose:0:5\n",
        "prose:-1:5",
        "prose:0:0",
        "prose:5:3",
        "prose:0:11",
        "prose:0:5 prose:4:6",
        "prose:6:8 prose:0:5",
        "prose:0:5:1",
        "list_item:0:5:5",
        "120:0:5:1",
        "120:0:3 120:2:5",
        "999999999:0:5",
        "heading:0:5",
        "heading:0:5:0",
        "heading:0:5:7",
        "image:0:5",
        "++prose:0:5",
        "prose:0:5 +prose:6:7",
        "prose:٠:٥",
        "prose:0:" + "9" * 5000,
        "\ud800",
    ],
)
def test_anything_else_is_no_layout(layout: Any) -> None:
    assert read_layout(layout, 10) is None


@given(
    st.one_of(st.text(), st.from_regex(r"[+~]?(prose|heading)(:[0-9]{1,2}){2,3}( prose:[0-9]:[0-9])?")),
    st.integers(0, 20),
)
def test_any_string_is_read_or_refused(layout: str, length: int) -> None:
    read = read_layout(layout, length)
    if read is not None:
        assert read_layout(write_layout(*read), length) == read
        assert all(block.end <= length for block in read[0])
