"""Markers of items and clauses: "2.", "(a)", "§ 12."; each belongs to the sentence after it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from langchain_sentence_window._types import Span
from langchain_sentence_window.splitting.blocks import LIST_ITEM, PROSE, Block
from langchain_sentence_window.splitting.spans import trim

# "2.", "(a)", "[7]", "iv)", "-", "•", "§ 12.", "[...]", "[!NOTE]", nestings ("1. (a)"), Markdown's "36\." "**2.1**".
_NUMBER = r"(?:\d{1,4}(?:\.\d{1,3})*|[a-zA-Z]|[ivxlcIVXLC]{1,6})"
_MARKER = re.compile(
    r"(?:[>•*+–—-]|§+|\[(?:\.\.\.|…|![A-Z]{3,9})\]"
    rf"|(?P<bold>\*\*|__)?\\?[\[(]?{_NUMBER}\\?[\])º°ª.]{{1,2}}"
    r"(?(bold)(?P=bold))"
    r"|(?P<strong>\*\*|__)\d{1,3}(?:\.\d{1,3})+(?P=strong))(?:\s+|\Z)"
)
# What opens a title: "**15." and "**Art. 3.", whose emphasis goes on, and "Section 3."
_NUMBER_OF_TITLE = re.compile(
    rf"(?:\*{{1,3}}|_{{1,3}})(?:[^\W\d_]{{3,10}}\.?\s+{_NUMBER}\.|\(?{_NUMBER}[.)]{{1,2}})"
    rf"|sec(?:tion|\.)\s+{_NUMBER}\.",
    re.IGNORECASE,
)
_BULLETS = ">•+–—-"
_MAX_NUMBER_CHARS = 40
_ELLIPSES = ("[...]", "[…]")


def is_marker(text: str, start: int, end: int) -> bool:
    """Return whether a span holds nothing but markers."""
    at = start
    while at < end and (match := _MARKER.match(text, at, end)):
        at = match.end()
    return at >= end


def join_markers(text: str, spans: Sequence[Span]) -> list[Span]:
    """Join markers to the sentence after them, and spans without a word to the sentence before.

    Args:
        text: The text.
        spans: Spans of one block, in order.

    Returns:
        Spans in order that cover the same text.
    """
    joined: list[Span] = []
    marker: int | None = None
    for start, end in spans:
        only_marks = is_marker(text, start, end) or _NUMBER_OF_TITLE.fullmatch(text, start, end) is not None
        has_word = only_marks or any(map(str.isalnum, text[start:end]))
        if marker is None and joined and not has_word:
            joined[-1] = (joined[-1][0], end)
            continue
        start = start if marker is None else marker
        if has_word and not only_marks:
            joined.append((start, end))
            marker = None
        else:
            marker = start
    if marker is not None:
        last = spans[-1][1]
        joined = [*joined[:-1], (joined[-1][0], last)] if joined else [trim(text, marker, last)]
    return joined


def join_marker_blocks(text: str, blocks: Iterable[Block]) -> Iterator[Block]:
    """Join blocks that are nothing but a number or a letter of a clause to the paragraph or list item after them.

    Args:
        text: The text.
        blocks: Its blocks, in order.

    Yields:
        Blocks in order that cover the same lines.
    """
    waiting: Block | None = None
    for block in blocks:
        is_short = block.kind == PROSE and block.end - block.start <= _MAX_NUMBER_CHARS
        is_open = is_short and _is_clause_number(text, block)
        if waiting is not None:
            if block.kind in (PROSE, LIST_ITEM):
                block = replace(block, start=waiting.start)
            else:
                yield waiting
        waiting = block if is_open else None
        if not is_open:
            yield block
    if waiting is not None:
        yield waiting


def _is_clause_number(text: str, block: Block) -> bool:
    """Return whether a block is a marker with a number or letter, not a bullet or an ellipsis."""
    return (
        text[block.start] not in _BULLETS
        and not text.startswith(_ELLIPSES, block.start)
        and is_marker(text, block.start, block.end)
    )
