"""The blocks of a part's text as its loader says them: layouts, elements of unstructured, and chunks of docling.

A layout holds the blocks that a loader found, and whether the first one goes on::

heading:0:23:2 prose:25:400 list_item:402:455

Each item is ``KIND:START:END``, and ``heading:START:END:LEVEL`` for a heading; the ends count code points of the part's
text. A sign before the first item says that its block began in the part before: ``+`` if it goes on, ``~`` if even a
word does. A string, because many stores hold only flat metadata.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import trim
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.splitting.blocks import (
    CODE,
    FRONT_MATTER,
    HEADING,
    HTML,
    LIST_ITEM,
    MAX_LEVEL,
    MAX_MARKED_HEADING_CHARS,
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


CATEGORY = "category"
CATEGORY_DEPTH = "category_depth"
DOCLING = "dl_meta"

ELEMENT_KINDS = {
    "Title": HEADING,
    "NarrativeText": PROSE,
    "UncategorizedText": PROSE,
    "ListItem": LIST_ITEM,
    "Table": TABLE_ROW,
    "CodeSnippet": CODE,
}
"""Block kinds of the elements of unstructured, by their ``category``."""

PAGE_FURNITURE = frozenset({"Header", "Footer", "PageNumber", "PageBreak"})
"""Categories of what is printed around the text of a page, which no sentence holds."""

_OTHER_CATEGORIES = frozenset(
    {"Address", "CheckBox", "EmailAddress", "FigureCaption", "Footnote", "Form", "Formula", "Image", "Text"}
)
_MARKS = frozenset({"element_id", "parent_id", "coordinates", "filetype", "page_number"})
"""Keys of which unstructured writes one at least; a user's own ``category`` comes without them."""


def is_element(metadata: Mapping[str, Any]) -> bool:
    """Return whether a Document is an element of unstructured."""
    category = metadata.get(CATEGORY)
    if not isinstance(category, str):
        return False
    is_other = category in PAGE_FURNITURE or category in _OTHER_CATEGORIES
    return category in ELEMENT_KINDS or (is_other and not _MARKS.isdisjoint(metadata))


def is_page_furniture(metadata: Mapping[str, Any]) -> bool:
    """Return whether a Document is a running head, a foot, a page number or a page break."""
    return is_element(metadata) and metadata[CATEGORY] in PAGE_FURNITURE


def element_blocks(text: str, metadata: Mapping[str, Any]) -> tuple[Block, ...]:
    """Return an element as a block, or nothing if it has no text."""
    kind = ELEMENT_KINDS.get(metadata.get(CATEGORY, ""), PROSE)
    start, end = trim(text, 0, len(text))
    if start == end:
        return ()
    if kind != HEADING:
        return (Block(start, end, kind),)
    depth = metadata.get(CATEGORY_DEPTH)
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


def docling_page(metadata: Mapping[str, Any]) -> int | None:
    """Return the first page, from 0, that a chunk of docling is from; ``None`` if it doesn't say."""
    numbers = [
        place.get("page_no")
        for item in _listed(metadata.get(DOCLING), "doc_items")
        for place in _listed(item, "prov")
        if isinstance(place, Mapping)
    ]
    pages = [number - 1 for number in numbers if isinstance(number, int) and number > 0]
    return min(pages, default=None)


def docling_headings(metadata: Mapping[str, Any]) -> list[str]:
    """Return the headings, outermost first, that docling writes above the text of a chunk."""
    return [each for each in _listed(metadata.get(DOCLING), "headings") if isinstance(each, str)]


def _listed(value: object, key: str) -> Sequence[Any]:
    found = value.get(key) if isinstance(value, Mapping) else None
    return found if isinstance(found, list | tuple) else ()
