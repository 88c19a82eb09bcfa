"""Split texts into blocks and sentences. A parser adds a format: it returns the blocks of a text."""

from typing import TYPE_CHECKING

from langchain_sentence_window._lazy import lazy_names

if TYPE_CHECKING:
    from .blocks import (
        CODE,
        HEADING,
        LIST_ITEM,
        MAX_HEADING_CHARS,
        MAX_LEVEL,
        MAX_MARKED_HEADING_CHARS,
        PROSE,
        TABLE_ROW,
        Block,
        title_key,
        trim,
    )
    from .data_uris import without_data_uris
    from .front_matter import read_front_matter
    from .markdown import is_markdown, parse_markdown
    from .parsers import BLANK, Parser
    from .structure import PAGE_NUMBER

__all__ = [
    "BLANK",
    "CODE",
    "HEADING",
    "LIST_ITEM",
    "MAX_HEADING_CHARS",
    "MAX_LEVEL",
    "MAX_MARKED_HEADING_CHARS",
    "PAGE_NUMBER",
    "PROSE",
    "TABLE_ROW",
    "Block",
    "Parser",
    "is_markdown",
    "parse_markdown",
    "read_front_matter",
    "title_key",
    "trim",
    "without_data_uris",
]

_NAMES = {
    "blocks": [
        "Block",
        "CODE",
        "HEADING",
        "LIST_ITEM",
        "MAX_HEADING_CHARS",
        "MAX_LEVEL",
        "MAX_MARKED_HEADING_CHARS",
        "PROSE",
        "TABLE_ROW",
        "title_key",
        "trim",
    ],
    "data_uris": [
        "without_data_uris",
    ],
    "front_matter": [
        "read_front_matter",
    ],
    "markdown": [
        "is_markdown",
        "parse_markdown",
    ],
    "parsers": [
        "BLANK",
        "Parser",
    ],
    "structure": [
        "PAGE_NUMBER",
    ],
}

__getattr__, __dir__ = lazy_names(__name__, _NAMES)
