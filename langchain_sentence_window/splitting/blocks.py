"""The structure layer: a text as headings, paragraphs, list items, table rows and code.

A block is a run of whole lines. Every line that isn't blank is in exactly one block, so no character is lost.
"""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from langchain_sentence_window.splitting.headings import MAX_HEADING_CHARS, MAX_LEVEL, wiki_heading
from langchain_sentence_window.splitting.spans import trim
from langchain_sentence_window.splitting.speakers import speaker_end

PROSE = "prose"
HEADING = "heading"
LIST_ITEM = "list_item"
TABLE_ROW = "table_row"
CODE = "code"
HTML = "html"
FRONT_MATTER = "front_matter"
MESSAGE = "message"
CONTENTS = "contents"

Structure: TypeAlias = Literal["auto", "markdown", "plain"]
"""The structure of a text; ``auto`` looks for Markdown's marks."""

_BULLET_LINE = re.compile(r"[-*+•▪◦‣][ \t]+\S")
_NUMBERED_HEADING = re.compile(r"(?:\d{1,2}(?:\.\d{1,2}){0,4}\.?|[IVX]{1,5}\.|[A-Z]\.)[ \t]+(?=[A-ZÀ-Þ])")
_MIN_CAPITALS = 3


@dataclass(frozen=True, slots=True)
class Block:
    """A span of whole lines, trimmed.

    Attributes:
        start: First code point of the block in the text.
        end: One past its last code point.
        kind: ``prose``, ``heading``, ``list_item``, ``table_row``, ``code``, ``html``,
            ``front_matter``, ``message`` or ``contents``, a line of a table of contents.
        level: 1 to 6 for a heading that begins a section, else 0.
    """

    start: int
    end: int
    kind: str = PROSE
    level: int = 0


def lead_in_part(kind: str, lead_in: str) -> tuple[str, int]:
    """Return what of a lead-in gives meaning to a sentence.

    Args:
        kind: The kind of the block of the sentence that is led in.
        lead_in: The text of the lead-in.

    Returns:
        ``("header", end)`` for a row of a table, ``("speaker", end)`` for a message, else ``("list", end)``; the text
        up to ``end``, which may be 0, is the part.
    """
    if kind == TABLE_ROW and "|" in lead_in:
        return "header", len(lead_in.splitlines()[0].rstrip())  # without the delimiter row
    if kind == MESSAGE:
        return "speaker", speaker_end(lead_in)
    return ("header" if kind == TABLE_ROW else "list"), len(lead_in)


def plain_block(text: str, start: int, end: int, *, may_be_heading: bool) -> Block:
    """Make a block of lines of plain text that belong together.

    Args:
        text: The text.
        start: Where the lines begin.
        end: Where they end.
        may_be_heading: Whether there are blank lines before and after them, as around a heading.
    """
    start, end = trim(text, start, end)
    if text.startswith("|", start) and text.endswith("|", start, end):
        return Block(start, end, TABLE_ROW)
    if _BULLET_LINE.match(text, start, end):
        return Block(start, end, LIST_ITEM)
    if match := wiki_heading(text, start, end):
        return Block(start, end, HEADING, match[1].count("="))
    if (
        may_be_heading
        and end - start <= MAX_HEADING_CHARS
        and text[end - 1] not in ".!?;:,"
        and "\n" not in text[start:end]
    ):
        if match := _NUMBERED_HEADING.match(text, start, end):
            return Block(start, end, HEADING, min(MAX_LEVEL, 2 + match[0].strip(" .").count(".")))
        if text[start:end].isupper() and sum(map(str.isalpha, text[start:end])) > _MIN_CAPITALS:
            return Block(start, end, HEADING, 1)
    return Block(start, end)
