"""The blocks of a part's text: as its loader found them, of elements of unstructured, and of chunks of docling.

A layout holds the blocks that a loader found, and whether the first one goes on::

heading:0:23:2 prose:25:400 list_item:402:455

Each item is ``KIND:START:END``, and ``heading:START:END:LEVEL`` for a heading; the ends count code points of the part's
text. Markup that isn't text is masked: the kind of a mask is the number of the character that the stretch reads as, see
`langchain_sentence_window.splitting.parsers`. A list item whose marker isn't text says where its text begins, and a row
of a table, by ``1`` or ``0``, whether it is the header. A sign before the first item says that its block began in the
part before: ``+`` if it goes on, ``~`` if even a word does. A string, because many stores hold only flat metadata.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, cast

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

_ITEM = re.compile(r"([a-z_]{1,20}|[0-9]{1,6}):([0-9]{1,12}):([0-9]{1,12})(?::([0-9]{1,12}))?")
_SIGNS = ("+", "~")


def write_layout(blocks: Sequence[Block], continues: Continuation = "") -> str:
    """Write the blocks of a part as a string.

    Args:
        blocks: In order and disjoint, but for masks.
        continues: How the first block begins.

    Returns:
        The string; an empty one if there are no blocks.
    """
    items = [_item(block) for block in blocks]
    return continues + " ".join(items) if items else ""


def read_layout(layout: object, length: int) -> tuple[list[Block], Continuation] | None:
    """Read the blocks of a part.

    Args:
        layout: The value in the part's metadata; it may be anything.
        length: Code points of the part's text.

    Returns:
        The blocks, in order, disjoint but for masks, none empty, within the text; and how the first one begins.
        ``None`` if the string isn't one that `write_layout` makes.
    """
    if not isinstance(layout, str):
        return None
    if not layout:
        return [], ""
    sign = layout[0] if layout.startswith(_SIGNS) else ""
    blocks: list[Block] = []
    for item in layout[len(sign) :].split(" "):
        match = _ITEM.fullmatch(item)
        block = match and _block(match)
        if block is None:
            return None
        blocks.append(block)
    return None if find_fault(blocks, length) else (blocks, cast("Continuation", sign))


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


def _item(block: Block) -> str:
    detail = block.body
    if block.kind == HEADING:
        detail = block.level
    elif block.kind == TABLE_ROW and block.is_header is not None:
        detail = int(block.is_header)
    kind = str(ord(block.kind)) if is_mask(block) else block.kind
    return f"{kind}:{block.start}:{block.end}" + ("" if detail is None else f":{detail}")


def _block(match: "re.Match[str]") -> Block | None:
    """Return the block of an item of a layout; ``None`` if there is none of that kind."""
    kind, start, end, detail = match[1], int(match[2]), int(match[3]), None if match[4] is None else int(match[4])
    if kind.isdecimal():
        return Block(start, end, chr(int(kind))) if detail is None else None
    if kind == HEADING:
        return Block(start, end, kind, detail) if detail else None
    if kind == TABLE_ROW:
        return Block(start, end, kind, is_header=None if detail is None else bool(detail))
    return Block(start, end, kind, body=detail)
