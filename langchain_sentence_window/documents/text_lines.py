"""Lines of text files: where sentences start in them, and the lines that windows touch.

Lines count from 1, as editors show them. Only the text of a file that is text itself has lines that a reader finds
again: those of a page, a slide or a table are made by its loader.
"""

import re
from collections.abc import Mapping
from typing import Any

from langchain_sentence_window._primitives import Span
from langchain_sentence_window._validation import as_integer
from langchain_sentence_window.splitting.light_markup import FORMATS, format_of
from langchain_sentence_window.splitting.source_code import name_of_file, syntax_of_source

from .keys import LINES, SOURCE
from .source_parts import CONTENT_TYPE

_BREAKS = re.compile(r"\r\n?|\n")
_SUFFIXES = (".md", ".markdown", ".txt", ".text", ".log", ".srt", ".vtt")
_CONTENT_TYPES = frozenset({"application/x-subrip", *(each.content_type for each in FORMATS)})
_TABLES_AND_PAGES = frozenset({"text/html", "text/csv", "text/tab-separated-values"})


def is_text_file(metadata: Mapping[str, Any]) -> bool:
    """Return whether a document is the text of a file, by what its loader says it is, else by the file's name."""
    source, content_type = metadata.get(SOURCE), metadata.get(CONTENT_TYPE)
    if isinstance(content_type, str) and content_type:
        kind = content_type.partition(";")[0].strip().lower()
        return kind in _CONTENT_TYPES or (kind.startswith("text/") and kind not in _TABLES_AND_PAGES)
    if not isinstance(source, str):
        return False
    is_known = format_of(source) is not None or syntax_of_source(source) is not None
    return is_known or name_of_file(source).endswith(_SUFFIXES)


def line_breaks(text: str, start: int, end: int) -> int:
    """Return the number of line breaks in a stretch of a text; a carriage return and a line feed are one."""
    return sum(1 for _ in _BREAKS.finditer(text, start, end))


def lines_of(metadata: Mapping[str, Any]) -> Span | None:
    """Return the first and the last line that a window touches, from 1; ``None`` if they aren't known."""
    given = metadata.get(LINES)
    first, last = map(as_integer, given) if isinstance(given, list | tuple) and len(given) == 2 else (None, None)  # noqa: PLR2004
    return (first, last) if first is not None and last is not None and 1 <= first <= last else None
