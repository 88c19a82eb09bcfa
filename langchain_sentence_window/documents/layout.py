"""A part's layout as a string of its metadata: the blocks that a loader found, and whether the first one goes on.

    heading:0:23:2 prose:25:400 list_item:402:455

Each item is ``KIND:START:END``, and ``heading:START:END:LEVEL`` for a heading; the ends count code points of the part's
text. A sign before the first item says that its block began in the part before: ``+`` if it goes on, ``~`` if even a
word does. A string, because many stores hold only flat metadata.
"""

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias, cast

from langchain_sentence_window._display import shown
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.splitting.blocks import (
    CODE,
    FRONT_MATTER,
    HEADING,
    HTML,
    LIST_ITEM,
    MAX_LEVEL,
    PROSE,
    TABLE_ROW,
    Block,
)

Continuation: TypeAlias = Literal["", "+", "~"]
"""How the first block of a part begins: ``""`` anew; ``"+"`` in the part before; ``"~"`` inside a word of it."""

_KINDS = frozenset({PROSE, HEADING, LIST_ITEM, TABLE_ROW, CODE, HTML, FRONT_MATTER})
_ITEM = re.compile(r"([a-z_]{1,20}):([0-9]{1,12}):([0-9]{1,12})(?::([1-6]))?")
_SIGNS = ("+", "~")


def write_layout(blocks: Sequence[Block], continues: Continuation = "") -> str:
    """Write the blocks of a part as a string.

    Args:
        blocks: In order and disjoint; of a heading the level is written too.
        continues: How the first block begins.

    Returns:
        The string; an empty one if there are no blocks.

    Raises:
        InvalidInputError: `read_layout` couldn't read it: blocks overlap or are empty, or a kind or level is unknown.
    """
    items = [
        f"{block.kind}:{block.start}:{block.end}" + (f":{block.level}" if block.kind == HEADING else "")
        for block in blocks
    ]
    layout = continues + " ".join(items) if items else ""
    end = blocks[-1].end if blocks else 0
    if read_layout(layout, end) is None:
        raise InvalidInputError(
            f"the blocks are {shown(blocks)} and continues is {shown(continues)}; they must be in order, disjoint and "
            f"not empty, headings must have levels from 1 to {MAX_LEVEL}, and continues must be '', '+' or '~'"
        )
    return layout


def read_layout(layout: object, length: int) -> tuple[list[Block], Continuation] | None:
    """Read the blocks of a part.

    Args:
        layout: The value in the part's metadata; it may be anything.
        length: Code points of the part's text.

    Returns:
        The blocks, in order, disjoint, none empty, within the text; and how the first one begins. ``None`` if the
        string isn't one that `write_layout` makes.
    """
    if not isinstance(layout, str):
        return None
    if not layout:
        return [], ""
    sign = layout[0] if layout.startswith(_SIGNS) else ""
    blocks: list[Block] = []
    low = 0
    for item in layout[len(sign) :].split(" "):
        match = _ITEM.fullmatch(item)
        if match is None or match[1] not in _KINDS or (match[1] == HEADING) != (match[4] is not None):
            return None
        start, end = int(match[2]), int(match[3])
        if not low <= start < end <= length:
            return None
        blocks.append(Block(start, end, match[1], int(match[4] or 0)))
        low = end
    return blocks, cast("Continuation", sign)
