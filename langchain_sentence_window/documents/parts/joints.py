"""Joints: how the text of a part goes on in the next one.

A page ends where it is full, often within a sentence, and its text doesn't say what stood there: a space, the end of a
paragraph, or a heading. When in doubt, the sentence goes on.
"""

import re

from langchain_sentence_window.splitting.blocks import MAX_HEADING_CHARS
from langchain_sentence_window.splitting.newlines import MARKER

MIN_OVERLAP = 16
"""Characters of the shortest end of a chunk that, repeated at the beginning of the next, shows that they overlap."""

_MAX_TRIES = 50
_MARKDOWN = re.compile(r"#{1,6}[ \t]|[-*+][ \t]|[|>]|```|~~~|\d{1,3}[.)][ \t]")
_NUMBERED = re.compile(
    r"(?i:article|section|schedule|exhibit|annex|appendix|chapter|part)\s+[\w.]+|\d{1,3}(?:\.\d{1,3})*\.?\s+[A-ZÀ-Þ]"
)
_CLOSERS = "\"'”’»)]}*_"
_MIN_LINES = 4
_SHORT = 0.6


def separator_between(before: str, after: str) -> str:
    """Return the white space that joins a page to the next one.

    Args:
        before: The text of the page; it ends in no white space.
        after: The text of the next page; it begins with no white space.

    Returns:
        A space if a sentence goes on, nothing if a hyphenated word does, a newline or a blank line if not.
    """
    line = before[before.rfind("\n") + 1 :].strip()
    following = after.partition("\n")[0].strip()
    if _MARKDOWN.match(after):
        return "\n\n" if after.startswith("#") else "\n"
    last = line.rstrip(_CLOSERS)[-1:] or line[-1:]
    first = following.lstrip("\"'“‘«([{*_")[:1]
    is_heading = len(following) <= MAX_HEADING_CHARS and (following.isupper() or bool(_NUMBERED.match(following)))
    if MARKER.match(after):
        return "\n"
    if last in ".!?…:。！？":
        return " " if first.islower() and last != ":" else "\n\n" if is_heading else "\n"
    if first.islower():
        return "" if re.search(r"[^\W\d_]-\Z", line) else " "
    is_number = not any(map(str.isalpha, line))
    if is_heading or is_number or (last not in ",;" and _is_short(before, line)):
        return "\n\n"
    return " "


def overlap(before: str, after: str) -> int:
    """Return how many characters at the beginning of a chunk are the end of the chunk before; 0 if none are.

    Of several numbers the lowest is returned, as text that stands twice does less harm than text that is lost.

    Args:
        before: The text of the chunk before.
        after: The text of the chunk.
    """
    probe = after[:MIN_OVERLAP]
    if len(probe) < MIN_OVERLAP:
        return 0
    at = before.rfind(probe)
    for _ in range(_MAX_TRIES):
        if at < 0 or len(before) - at > len(after):
            return 0
        if after.startswith(before[at:]):
            return len(before) - at
        at = before.rfind(probe, 0, at + len(probe) - 1)
    return 0


def _is_short(page: str, line: str) -> bool:
    """Return whether the last line of a page is much shorter than its lines are, as a heading or a signature is."""
    lengths = sorted(map(len, page.split("\n")))
    return len(lengths) >= _MIN_LINES and len(line) < _SHORT * lengths[3 * len(lengths) // 4]
