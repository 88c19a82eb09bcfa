r"""Data URIs, such as pictures in base64, which aren't text.

=====================================================  ===================================
form                                                   from
=====================================================  ===================================
``![alt](data:…)``, ``[text](data:…)``, ``[x]: data:``  Markdown
``<img src="data:…">``                                 HTML
``url(data:…)``                                        CSS
``"image/png": "iVBOR…"``                              notebooks, and other JSON
=====================================================  ===================================

The data after the comma is in base64, perhaps over several lines, or percent-encoded. A short URI is an example in a
text about data URIs, or a part of a program that makes one, and stays text. So does base64 that nothing introduces: it
may be a key or a checksum that someone looks for.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter

from langchain_sentence_window._primitives import Span

from .blocks import has_word

MIN_DATA_CHARS = 32
"""The fewest characters after the comma of a data URI; a shorter one is text."""

MIN_LINE_CHARS = 40
"""The fewest characters of a line of base64 that may continue in the next line."""

MAX_TAG_CHARS = 500
"""Characters of a tag before a data URI in it, and after it."""

STAND_IN = "\ufdd0"
"""Replaces a data URI: a noncharacter, which isn't in texts, isn't markup, and is allowed in addresses."""

_TYPES = r"(?:application|audio|chemical|font|image|message|model|multipart|text|video)/[\w.+-]{1,100}+"
_PARAMETERS = r"(?:\s?;\s?(?!base64\b)[\w.!#$&^-]{1,50}+(?:=(?:\"[^\"\n]{0,100}+\"|[^;,\s\"]{0,100}+))?){0,9}+"
_HEAD = re.compile(
    rf"(?<![\w-])data:(?:{_TYPES}{_PARAMETERS}|(?=\s?;\s?base64))(?P<base64>\s?;\s?base64)?\s?,"
    rf"|\"{_TYPES}\"\s{{0,9}}:\s{{0,9}}(?P<list>\[\s{{0,99}})?\"",
    re.IGNORECASE,
)
_RUN = r"(?:[A-Za-z0-9+/_-]++|%(?i:2[BF]|3D|0[AD]))*+(?:=|%3[Dd])*+"
_WORD = r"(?:[A-Za-z]?[a-z]*+|[A-Z]++)\d*+|[\d+/%=_-]++"
_ENDS_RUN = r"(?=[\s\"'`)>\]<\\]|\Z)"


def _base64(gap: str) -> "re.Pattern[str]":
    """Compile a pattern of lines of base64 with gaps between them, the last of which may be short, but is no word."""
    long = rf"(?:{gap})(?=[A-Za-z0-9+/_%=-]{{{MIN_LINE_CHARS}}}){_RUN}{_ENDS_RUN}"
    last = rf"(?:{gap})(?=[A-Za-z0-9+/_%=-])(?:(?!(?:{_WORD})(?=[\s\]<]|\Z)){_RUN}|{_RUN}(?<==)){_ENDS_RUN}"
    is_long = rf"(?:(?<=[,\"])|(?<=\S{{{MIN_LINE_CHARS}}}))"  # so is an empty first line
    return re.compile(rf"{_RUN}(?:{is_long}(?:{long})*+(?:{last})?+)?+(?:\\[rn])*+")


_LINES = _base64(r"(?:\\[rn])++|[ \t]*+\\?\r?\n[ \t>]*+|\"\s{0,99}[+\n]\s{0,99}\"")
_LIST_OF_LINES = _base64(r"(?:\\[rn])*+\",\s{0,99}\"")  # strings of JSON
_TAG_BEFORE = re.compile(r"<[a-zA-Z][^<>]*+")
_TAG_AFTER = re.compile(r"[^<>]*+>")
_LABEL = re.compile(r"[ ]{0,3}\[[^\[\]\n]++\]:[ \t]*+<?")
_ENCODED = re.compile(r"(?:[^\s()\"'`<>\\]++|\([^\s()\"'`<>\\]*+\))++")


def find_data_uris(text: str) -> list[Span]:
    """Return the spans of the data URIs of a text, in order, each with the tag, the label or the key that it is for."""
    found: list[Span] = []
    at = 0
    while head := _HEAD.search(text, at):
        at = head.end()
        if head["base64"] or head[0][0] == '"':
            data = (_LIST_OF_LINES if head["list"] else _LINES).match(text, at)
        else:
            data = _ENCODED.match(text, at)
        end = at + len(data[0].rstrip(".,;:!?")) if data else at
        if end - at >= MIN_DATA_CHARS:
            low = max(found[-1][1] if found else 0, head.start() - MAX_TAG_CHARS)
            found.append(_with_markup(text, head.start(), end, low))
            at = found[-1][1]
    return found


def without_data_uris(text: str) -> str:
    """Return a text without its data URIs."""
    kept = [0, *(at for uri in find_data_uris(text) for at in uri), len(text)]
    return "".join(text[start:end] for start, end in zip(kept[::2], kept[1::2], strict=True))


def hide_data_uris(text: str, uris: Sequence[Span]) -> str:
    """Return a text, as long as before, in which each data URI reads as a single word that begins no block."""
    made: list[str] = []
    at = 0
    for start, end in uris:
        made += [text[at:start], STAND_IN * (end - start)]
        at = end
    return "".join((*made, text[at:]))


def around_data_uris(text: str, start: int, end: int, uris: Sequence[Span]) -> Iterator[Span]:
    """Yield the lines with a word around data URIs in ``[start, end)``, without brackets next to a URI."""
    inside = uris[bisect_right(uris, start, key=_end) : bisect_left(uris, end, key=_start)]
    edges = [start, *(edge for uri in inside for edge in uri), end]
    for low, high in zip(edges[::2], edges[1::2], strict=True):
        if not has_word(text, low, high):
            continue
        if low > start and (after := _AFTER_URI.match(text, low, high)):
            low = after.end()
        if high < end:
            line = _LAST_LINE.search(text, low, high)
            high = line.end() if line else low + len(text[low:high].rstrip(_OPENING))
        yield low, high


_start, _end = itemgetter(0), itemgetter(1)
# Lines without a word, and what closes the brackets around the URI.
_AFTER_URI = re.compile(r"(?:[\W_]*\n)?[\s)\"'`>\]};,.]*")
_OPENING = " \t\r\n(\"'`<"
# From its last word to its end, if lines without a word follow it.
_LAST_LINE = re.compile(r"(?<=[^\W_])(?:[^\w\n]|_)*+(?=\n[\W_]*+\Z)")


def _with_markup(text: str, start: int, end: int, low: int) -> Span:
    """Return the span of a URI with the tag around it, or with the label that it defines, from ``low`` on."""
    tag = text.rfind("<", low, start)
    is_in_tag = tag >= 0 and _TAG_BEFORE.fullmatch(text, tag, start)
    if is_in_tag and (rest := _TAG_AFTER.match(text, end, end + MAX_TAG_CHARS)):
        return tag, rest.end()
    label = _LABEL.fullmatch(text, max(low, text.rfind("\n", low, start) + 1), start)
    return (label.start() if label else start), end
