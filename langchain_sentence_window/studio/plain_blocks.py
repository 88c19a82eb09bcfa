"""A text without marks as blocks, by what the index says of its sentences: headings, items, rows, paragraphs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from langchain_sentence_window.splitting import blocks as splitting
from langchain_sentence_window.studio.document_blocks import (
    CODE,
    HEADING,
    ITEM,
    PARAGRAPH,
    TABLE,
    Block,
    Row,
    Run,
    tiled,
)

_CODE = frozenset({splitting.CODE, splitting.HTML, splitting.FRONT_MATTER})
_OF_A_LINE = frozenset(
    {splitting.HEADING, splitting.LIST_ITEM, splitting.TABLE_ROW, splitting.MESSAGE, splitting.CONTENTS}
)
_KINDS = {splitting.HEADING: HEADING, splitting.LIST_ITEM: ITEM, splitting.TABLE_ROW: TABLE}


@dataclass(frozen=True, slots=True)
class PlainSentence:
    """The facts known of a sentence.

    Attributes:
        start: Its first code point in the text.
        end: One past its last code point.
        kind: The kind of its block in the splitter; empty if it isn't known.
        level: The level of a heading; 0 if it isn't known.
        is_header: Whether it is the row of a table that names the columns.
    """

    start: int
    end: int
    kind: str = ""
    level: int = 0
    is_header: bool = False


def plain_blocks(text: str, sentences: Sequence[PlainSentence]) -> list[Block]:
    """Cut a text into blocks.

    Args:
        text: Any string.
        sentences: Its sentences, in order and disjoint. White space between them is kept with the one before.

    Returns:
        Blocks whose runs tile the text; none for an empty text.
    """
    if not text:
        return []
    found: list[Block] = []
    for first, start, end in _stretches(text, sentences):
        kind = CODE if first.kind in _CODE else _KINDS.get(first.kind, PARAGRAPH)
        if kind == TABLE:
            if not found or found[-1].kind != TABLE or first.is_header:
                found.append(Block(TABLE))
            found[-1].rows.append(Row(_cells(text, start, end), first.is_header))
        else:
            level = (first.level or 1) if kind == HEADING else int(kind == ITEM)
            found.append(Block(kind, _trimmed(text, start, end), level=level))
    return found


def _stretches(text: str, sentences: Sequence[PlainSentence]) -> Iterator[tuple[PlainSentence, int, int]]:
    """Yield the first sentence of each block or row, and the span of the text that belongs to it."""
    first = PlainSentence(0, 0) if not sentences else sentences[0]
    start, last = 0, first
    for each in sentences[1:]:
        if _begins(text[last.end : each.start], last, each):
            yield first, start, each.start
            first, start = each, each.start
        last = each
    yield first, start, len(text)


def _begins(space: str, last: PlainSentence, sentence: PlainSentence) -> bool:
    lines = space.count("\n") or space.count("\r")
    if last.kind != sentence.kind:
        return lines > 0 or bool({last.kind, sentence.kind} & (_OF_A_LINE | _CODE))
    return lines > (0 if sentence.kind in _OF_A_LINE else 1)


def _cells(text: str, start: int, end: int) -> list[list[Run]]:
    """Return a cell for each tab; the tab belongs to the cell before it."""
    cells: list[list[Run]] = []
    while start < end:
        tab = text.find("\t", start, end)
        stop = end if tab < 0 or tab + 1 >= end or text[tab:end].isspace() else tab + 1
        cells.append(_trimmed(text, start, stop))
        start = stop
    return cells


def _trimmed(text: str, start: int, end: int) -> list[Run]:
    """Return a stretch whose white space at the end isn't shown."""
    close = start + len(text[start:end].rstrip())
    return tiled(start, end, [(start, close, "")] if start < close else [])
