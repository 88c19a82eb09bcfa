r"""Data URIs, such as pictures in base64, which are no text.

=====================================================  ===================================
form                                                   from
=====================================================  ===================================
``![alt](data:…)``, ``[text](data:…)``, ``[x]: data:``  Markdown
``<img src="data:…">``                                 HTML
``url(data:…)``, ``url("data:image/svg+xml,<svg …")``  CSS
``"image/png": "iVBOR…"``                              notebooks, and other JSON
=====================================================  ===================================

What follows the comma is in base64, perhaps over several lines, or percent-encoded, or SVG as it is written. A short
one is an example in a text about data URIs, or a part of a program that makes one, and stays text. So does base64 that
nothing introduces, as it may be a key or a checksum that someone looks for.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from langchain_sentence_window._primitives import Span

from .blocks import LETTER

MIN_DATA_CHARS = 32
"""The fewest characters after the comma of a data URI that is no text."""

MIN_LINE_CHARS = 40
"""The fewest characters of a line of base64 after which another line goes on."""

MAX_TAG_CHARS = 500
"""Characters of a tag before a data URI in it, and after it."""

STAND_IN = "/"
"""What replaces a data URI while a text is split: a character that may be an address anywhere, and begins no block."""

_TYPES = r"(?:application|audio|chemical|font|image|message|model|multipart|text|video)/[\w.+-]{1,100}+"
_PARAMETERS = r"(?:\s?;\s?(?!base64\b)[\w.!#$&^-]{1,50}+(?:=(?:\"[^\"\n]{0,100}+\"|[^;,\s\"]{0,100}+))?){0,9}+"
_HEAD = re.compile(
    rf"(?<![\w-])data:(?:(?P<type>{_TYPES}){_PARAMETERS})?(?P<base64>\s?;\s?base64)?\s?,"
    rf"|\"{_TYPES}\"\s{{0,9}}:\s{{0,9}}(?P<list>\[\s{{0,99}})?\"",
    re.IGNORECASE,
)
_RUN = re.compile(r"(?:[A-Za-z0-9+/_-]++|%(?:2[BF]|3D|0[AD]))*+(?:=|%3D)*+", re.IGNORECASE)
_BETWEEN_RUNS = re.compile(r"(?:\\[rn])++|[ \t]*+\\?\r?\n[ \t>]*+|\"\s{0,99}[+\n]\s{0,99}\"")
_BETWEEN_STRINGS = re.compile(r"(?:\\[rn])*+\",\s{0,99}\"")
_LINE_ENDS_IN_STRING = re.compile(r"(?:\\[rn])*+")
_ENDS_RUN = re.compile(r"[\s\"'`)>\]<\\]|\Z")
_CLOSES = re.compile(r"[\"'`)>\\]")
_WORD = re.compile(r"(?:[A-Za-z]?[a-z]*+|[A-Z]++)\d*+|[\W\d_]++")
_TAG_BEFORE = re.compile(r"<[a-zA-Z][^<>]*+")
_TAG_AFTER = re.compile(r"[^<>]*+>")
_LABEL = re.compile(r"[ ]{0,3}\[[^\[\]\n]++\]:[ \t]*+<?")
_ENCODED = re.compile(r"(?:[^\s()\"'`<>\\]++|\([^\s()\"'`<>\\]*+\))++")
_SVG = re.compile(r"(?:<|%3C)(?:[?!]|svg\b)", re.IGNORECASE)
_MARKED_UP = re.compile(r"<|%3C", re.IGNORECASE)
_BLANK_LINE = r"|(?P<blank>\n[ \t\r]*\n)"


def find_data_uris(text: str) -> list[Span]:
    """Return the spans of the data URIs of a text, in order, each with the tag, the label or the key that it is for."""
    found: list[Span] = []
    unclosed: dict[str, int] = {}
    at = 0
    while head := _HEAD.search(text, at):
        at = head.end()
        if head["type"] is None and head["base64"] is None and head[0][0] != '"':
            continue
        if head["base64"] or head[0][0] == '"':
            end = _base64_end(text, head.start(), at, is_list=head["list"] is not None)
        else:
            end = _encoded_end(text, head.start(), at, unclosed)
        if end - at >= MIN_DATA_CHARS:
            low = max(found[-1][1] if found else 0, head.start() - MAX_TAG_CHARS)
            found.append(_with_markup(text, head.start(), end, low))
            at = found[-1][1]
    return found


def without_data_uris(text: str, stand_in: str = "") -> str:
    """Return a text with something else for each data URI."""
    kept = [0, *(at for uri in find_data_uris(text) for at in uri), len(text)]
    return stand_in.join(text[start:end] for start, end in zip(kept[::2], kept[1::2], strict=True))


class Shortened:
    """A text with a stand-in for each data URI, and where both have what.

    Attributes:
        text: The shortened text.
        stand_ins: Where the stand-ins are in it, each one character, in order.
    """

    def __init__(self, text: str, uris: Sequence[Span]) -> None:
        """Put `STAND_IN` in the place of each URI."""
        lengths = [end - start - 1 for start, end in uris]
        self._uris = uris
        self._removed = list(accumulate(lengths, initial=0))
        self.stand_ins = [start - removed for (start, _), removed in zip(uris, self._removed, strict=False)]
        self.text = without_data_uris(text, STAND_IN)

    def place(self, at: int) -> int:
        """Return the place in the text of a place in the shortened text; one past a stand-in is one past its URI."""
        return at + self._removed[bisect_left(self.stand_ins, at)]

    def short_place(self, at: int) -> int:
        """Return the place in the shortened text of a place in the text; one inside a URI is one past its stand-in."""
        number = bisect_left(self._uris, (at, 0))
        last = self._uris[number - 1][1] if number else 0
        return max(at, last) - self._removed[number]

    def parts(self, start: int, end: int) -> Iterator[Span]:
        """Yield what is around the stand-ins in a span of the shortened text: lines with a word, without brackets."""
        first, stop = bisect_left(self.stand_ins, start), bisect_left(self.stand_ins, end)
        edges = [start - 1, *self.stand_ins[first:stop], end]
        for before, after in pairwise(edges):
            part = self.text[before + 1 : after]
            left, right = 0, len(part)
            letters = [match.start() for match in LETTER.finditer(part)]
            if not letters:
                continue
            if before >= start:
                left = part.rfind("\n", 0, letters[0]) + 1
                left += len(part[left:]) - len(part[left:].lstrip(_CLOSING))
            if after < end:
                line_end = part.find("\n", letters[-1])
                right = len((part if line_end < 0 else part[:line_end]).rstrip(_OPENING))
            yield before + 1 + left, before + 1 + right


_CLOSING = " \t\r\n)\"'`>]};,"
_OPENING = " \t\r\n(\"'`<"


def _with_markup(text: str, start: int, end: int, low: int) -> Span:
    """Return the span of a URI with the tag around it, or the label that it defines, from ``low`` on."""
    tag = text.rfind("<", low, start)
    if (
        tag >= 0
        and _TAG_BEFORE.fullmatch(text, tag, start)
        and (rest := _TAG_AFTER.match(text, end, end + MAX_TAG_CHARS))
    ):
        return tag, rest.end()
    label = _LABEL.fullmatch(text, max(low, text.rfind("\n", low, start) + 1), start)
    return (label.start() if label else start), end


def _base64_end(text: str, start: int, at: int, *, is_list: bool) -> int:
    """Return where base64 ends that begins at a place or in the line after it; the URI begins at ``start``.

    In JSON it may be a list of strings.
    """
    gap = _BETWEEN_STRINGS if is_list else _BETWEEN_RUNS
    run = _RUN.match(text, at)
    end = run.end() if run else at
    length = end - start if end > at else MIN_LINE_CHARS
    while length >= MIN_LINE_CHARS and (between := gap.match(text, end)):
        run = _RUN.match(text, between.end())
        if run is None or not run[0] or not _ENDS_RUN.match(text, run.end()):
            break
        length = len(run[0])
        if length < MIN_LINE_CHARS and not _is_last_line(text, run):
            break
        end = run.end()
    tail = _LINE_ENDS_IN_STRING.match(text, end)
    return tail.end() if tail else end


def _is_last_line(text: str, run: "re.Match[str]") -> bool:
    """Return whether a short run after lines of base64 belongs to them, and is no word."""
    return run[0].endswith("=") or _CLOSES.match(text, run.end()) is not None or not _WORD.fullmatch(run[0])


def _encoded_end(text: str, start: int, at: int, unclosed: dict[str, int]) -> int:
    """Return where data ends that isn't in base64.

    Args:
        text: The text.
        start: Where the URI begins.
        at: Where its data begins.
        unclosed: By what closes data, up to where nothing does, so that it isn't looked for twice.
    """
    if _MARKED_UP.match(text, at):  # it may hold white space
        quote = text[start - 1 : start]
        if quote in ('"', "'"):
            closing = "\\\\" + quote if text[start - 2 : start - 1] == "\\" else quote
            if (end := _closing(text, at, closing, unclosed)) is not None:
                return end[0]
        if _SVG.match(text, at) and (end := _closing(text, at, r"</svg\s*>|%3C/svg\s*%3E", unclosed)) is not None:
            return end[1]
    encoded = _ENCODED.match(text, at)
    return at + len(encoded[0].rstrip(".,;:!?")) if encoded else at


def _closing(text: str, at: int, closing: str, unclosed: dict[str, int]) -> Span | None:
    """Return the span of what closes data before the next blank line."""
    if at < unclosed.get(closing, 0):
        return None
    match = re.compile(closing + _BLANK_LINE, re.IGNORECASE).search(text, at)
    if match is None or match["blank"]:
        unclosed[closing] = len(text) if match is None else match.end()
        return None
    return match.span()
