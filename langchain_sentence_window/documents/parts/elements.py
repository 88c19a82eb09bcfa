"""Elements: Documents that are one block each, as unstructured writes them, and the chunks of docling."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_sentence_window._primitives import trim
from langchain_sentence_window.splitting.blocks import (
    CODE,
    HEADING,
    LIST_ITEM,
    MAX_LEVEL,
    MAX_MARKED_HEADING_CHARS,
    PROSE,
    TABLE_ROW,
    Block,
)

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
