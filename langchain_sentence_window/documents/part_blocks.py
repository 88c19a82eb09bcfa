"""The blocks of a part's text: as its loader found them, of elements of unstructured, and of chunks of docling.

A layout holds how the first block begins, and the blocks that a loader found, as JSON::

    ["", [0, 23, "heading", 2, null, null], [25, 400, "prose", 0, null, null]]

Each block is a list of the fields of `Block`, which count code points of the part's text. Markup that isn't text is
masked: the kind of a mask is the character that the stretch reads as, see
`langchain_sentence_window.splitting.parsers`. A layout is a string, because many stores hold only flat metadata.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from typing import Any, Literal, TypeAlias, get_args

from langchain_sentence_window.splitting.blocks import (
    CODE,
    HEADING,
    LIST_ITEM,
    MAX_LEVEL,
    MAX_MARKED_HEADING_CHARS,
    PROSE,
    TABLE_ROW,
    Block,
    trim,
)
from langchain_sentence_window.splitting.html_tables import table_rows
from langchain_sentence_window.splitting.parsers import find_fault, is_mask, read_masks

from .source_metadata import docling_headings

LAYOUT = "layout"
CATEGORY = "category"
TEXT_AS_HTML = "text_as_html"
_CATEGORY_DEPTH = "category_depth"

Continuation: TypeAlias = Literal["", "+", "~"]
"""How the first block of a part begins: ``""`` in it; ``"+"`` in the part before; ``"~"`` inside a word of it."""

ELEMENT_KINDS = {
    "Title": HEADING,
    "NarrativeText": PROSE,
    "UncategorizedText": PROSE,
    "ListItem": LIST_ITEM,
    "Table": TABLE_ROW,
    "TableChunk": TABLE_ROW,
    "CodeSnippet": CODE,
}
"""Block kinds of the elements of unstructured, by their ``category``."""


def write_layout(blocks: Sequence[Block], continues: Continuation = "") -> str:
    """Write the blocks of a part as a string.

    Args:
        blocks: In order and disjoint, but for masks.
        continues: How the first block begins.
    """
    return json.dumps([continues, *map(astuple, blocks)])


def read_layout(layout: object, length: int) -> tuple[list[Block], Continuation] | None:
    """Read the blocks of a part.

    Args:
        layout: The value in the part's metadata; it may be anything.
        length: Code points of the part's text.

    Returns:
        The blocks, in order, disjoint but for masks, none empty, within the text; and how the first one begins.
        ``None`` if the value isn't what `write_layout` makes.
    """
    if not isinstance(layout, str):
        return None
    try:
        continues, *items = json.loads(layout)
        blocks = [Block(*item) for item in items]
        is_sound = continues in get_args(Continuation) and not find_fault(blocks, length)
    except (ValueError, TypeError, RecursionError):  # a user's own value under this key
        return None
    return (blocks, continues) if is_sound else None


def fitting_layout(text: str, layout: object) -> tuple[tuple[Block, ...], Continuation] | None:
    """Return the blocks that a loader found; ``None`` if it found none, or if the text has changed since."""
    read = read_layout(layout, len(text))
    if read is None:
        return None
    blocks = tuple(
        block if is_mask(block) else replace(block, start=start, end=end)
        for block in read[0]
        for start, end in [trim(text, block.start, block.end)]
    )
    reading, plain = read_masks(text, blocks)
    edges = [0, *(edge for block in plain for edge in (block.start, block.end)), len(text)]
    are_apart = all(not reading[end:start].strip() for end, start in zip(edges[::2], edges[1::2], strict=True))
    return (blocks, read[1]) if are_apart and all(block.start < block.end for block in blocks) else None


def element_blocks(text: str, metadata: Mapping[str, Any]) -> tuple[Block, ...]:
    """Return an element as a block, a table as one for each recognized row, or nothing if it has no text."""
    kind = ELEMENT_KINDS.get(metadata.get(CATEGORY, ""), PROSE)
    start, end = trim(text, 0, len(text))
    if start == end:
        return ()
    table = metadata.get(TEXT_AS_HTML) if kind == TABLE_ROW else None
    if isinstance(table, str) and (rows := table_rows(text, table)):
        return tuple(rows)
    if kind != HEADING:
        return (Block(start, end, kind),)
    depth = metadata.get(_CATEGORY_DEPTH)
    level = depth + 1 if isinstance(depth, int) and depth >= 0 else 1
    is_short = end - start <= MAX_MARKED_HEADING_CHARS
    return (Block(start, end, HEADING, min(level, MAX_LEVEL)) if is_short else Block(start, end),)


def docling_blocks(text: str, metadata: Mapping[str, Any]) -> tuple[Block, ...] | None:
    """Return the headings above the text of a chunk of docling, and the rest as a paragraph.

    Returns:
        The blocks; ``None`` if the text doesn't begin with headings.
    """
    at, blocks = 0, list[Block]()
    for level, heading in enumerate(docling_headings(metadata), 1):
        start, end = trim(text, at, len(text))
        if not heading.strip() or not text.startswith(heading.strip(), start):
            break
        at = start + len(heading.strip())
        blocks.append(Block(start, at, HEADING, min(level, MAX_LEVEL)))
    start, end = trim(text, at, len(text))
    return (*blocks, *([Block(start, end)] if start < end else [])) if blocks else None
