"""Cut long sentences into pieces where clauses end."""

import math
import re
from collections.abc import Iterator

from langchain_sentence_window._primitives import Span

from .blocks import pieces

_CLAUSE_END = re.compile(
    r"(?<!\be\.g\.)(?<!\bi\.e\.)[,;:—–][\"'”’»]*\s|[，；：、）」』】]"
    r"|\s(?=\((?:[a-zA-Z]|[ivxIVX]{1,5})\)\s)"  # before "(a) the fee"
)
_BRACKET_END = re.compile(r"(?<=\s)[^\s()\[\]]{3,}[)\]][\"'”’»]*\s")
"""The end of a bracket of several words; one around a single word, as in "thirty (30) days", ends nothing."""
_WHITE_SPACE = re.compile(r"\s")


def cut_long(text: str, span: Span, max_chars: int | None) -> list[Span]:
    """Cut a long sentence into pieces of about equal length.

    Args:
        text: The text.
        span: The sentence.
        max_chars: Characters; a longer sentence is cut at ends of clauses, else of brackets, else at white space, else
            inside words. ``None`` for no limit.

    Returns:
        The pieces in order; one for a sentence that isn't cut.
    """
    start, end = span
    if max_chars is None or end - start <= max_chars:
        return [span]
    return pieces(text, start, end, _cut_positions(text, start, end, max_chars))


def _cut_positions(text: str, start: int, end: int, max_chars: int) -> Iterator[int]:
    while end - start > max_chars:
        low, stop = start + max_chars // 3, min(start + max_chars, end - max_chars // 6)
        target = start + (end - start) // math.ceil((end - start) / max_chars)
        start = (
            _nearest_end(_CLAUSE_END, text, low, stop, target)
            or _nearest_end(_BRACKET_END, text, low, stop, target)
            or _nearest_end(_WHITE_SPACE, text, low, stop, stop)
            or stop
        )
        yield start


def _nearest_end(pattern: "re.Pattern[str]", text: str, low: int, stop: int, target: int) -> int | None:
    ends = (match.end() for match in pattern.finditer(text, low, stop))
    return min(ends, key=lambda end: abs(end - target), default=None)
