"""Lengths of sentences: short ones are joined, long ones are cut where a clause ends."""

import math
import re
from collections.abc import Iterator, Sequence

from langchain_sentence_window._primitives import Span

from .blocks import pieces

_CLAUSE_END = re.compile(
    r"(?<!\be\.g\.)(?<!\bi\.e\.)[,;:—–][\"'”’»]*\s|[，；：、）」』】]"
    r"|\s(?=\((?:[a-zA-Z]|[ivxIVX]{1,5})\)\s)"  # before "(a) the fee"
)
_BRACKET_END = re.compile(r"(?<=\s)[^\s()\[\]]{3,}[)\]][\"'”’»]*\s")
"""The end of a bracket of several words; one around a single word, as in "thirty (30) days", ends nothing."""
_WHITE_SPACE = re.compile(r"\s")


def fit_lengths(text: str, spans: Sequence[Span], min_chars: int, max_chars: int | None) -> list[Span]:
    """Join short spans of a block to their neighbors, and cut long ones.

    Args:
        text: The text.
        spans: Spans of one block, in order.
        min_chars: Characters; a shorter span is joined to the next one, the last one to the one before it.
        max_chars: Characters; a longer span is cut at the last end of a clause in its second half, else of a bracket
            there, else at the last white space, else inside a word. ``None`` for no limit.

    Returns:
        Spans in order that cover the same text.
    """
    joined: list[Span] = []
    is_short = False  # the last one
    for start, end in spans:
        if is_short:
            start, _ = joined.pop()
        joined.append((start, end))
        is_short = end - start < min_chars
    if is_short and len(joined) > 1:
        _, end = joined.pop()
        joined[-1] = (joined[-1][0], end)
    if max_chars is None:
        return joined
    fitted: list[Span] = []
    for start, end in joined:
        is_long = end - start > max_chars
        fitted += pieces(text, start, end, _cut_positions(text, start, end, max_chars)) if is_long else [(start, end)]
    return fitted


def cut_at_clauses(text: str, span: Span, max_chars: int) -> list[Span]:
    """Cut a long sentence into pieces of about equal length.

    Args:
        text: The text.
        span: The sentence.
        max_chars: Characters; a longer sentence is cut at ends of clauses, else of brackets, else at white space, else
            inside words.

    Returns:
        The pieces in order; one for a sentence that isn't cut.
    """
    start, end = span
    if end - start <= max_chars:
        return [span]
    return pieces(text, start, end, _cut_positions(text, start, end, max_chars, evenly=True))


def _cut_positions(text: str, start: int, end: int, max_chars: int, *, evenly: bool = False) -> Iterator[int]:
    """Yield where to cut a text into pieces of at most ``max_chars``: after clauses, brackets or words if possible."""
    while end - start > max_chars:
        if evenly:
            low, stop = start + max_chars // 3, min(start + max_chars, end - max_chars // 6)
            target = start + (end - start) // math.ceil((end - start) / max_chars)
        else:
            low, stop = start + max_chars // 2, start + max_chars
            target = stop
        start = (
            _nearest_end(_CLAUSE_END, text, low, stop, target)
            or _nearest_end(_BRACKET_END, text, low, stop, target)
            or _nearest_end(_WHITE_SPACE, text, low if evenly else start, stop, stop)
            or stop
        )
        yield start


def _nearest_end(pattern: "re.Pattern[str]", text: str, low: int, stop: int, target: int) -> int | None:
    ends = (match.end() for match in pattern.finditer(text, low, stop))
    return min(ends, key=lambda end: abs(end - target), default=None)
