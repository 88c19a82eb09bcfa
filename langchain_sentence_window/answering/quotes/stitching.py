"""Quotations that are put together of stretches that don't stand together, with nothing to show it.

A stretch is of three words or more, or a whole sentence. The longest that stands somewhere is taken first, then the
longest of what is left. A quotation in which a word was changed isn't one of these: after such a stretch, the source
goes on as the quotation does one to three words later.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_sentence_window.answering.quotes.boundaries import cuts_token, is_unspaced
from langchain_sentence_window.answering.quotes.plain_text import PlainText
from langchain_sentence_window.answering.quotes.sources import Found, Passage, Source

MAX_PIECES = 32
"""The most stretches of a quotation; one that would need more isn't made of any."""

_WORD, _LETTER = 2, 1
_MIN_WEIGHT = 6
"""Three words, or six letters of a script without spaces."""

_OUTER = ' .,;:!?…"()[]。，、；：！？'
_ENDS = ".!?…。！？:"
_BETWEEN = "\n\n"
"""Between two texts; no plain text has a line end."""

_MAX_PLACES = 16
_FOLLOWING = 160
_MAX_CHANGED = 3
_TOKEN = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
    "|[^\\s\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_WORDS = re.compile(r"[^\s.,;:!?\"()\[\]…]+")


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Tokens of a quotation ``[first, last)``, and where they stand in the plain text of all sources."""

    first: int
    last: int
    start: int
    end: int


class Stitching:
    """Sources as one plain text, in which stretches of quotations are looked for."""

    def __init__(self, sources: Sequence[Source]) -> None:
        """Join the texts."""
        self._passages: list[tuple[Passage, PlainText]] = [
            (passage, passage.plain()) for source in sources for passage in source.passages
        ]
        self._starts = list[int]()
        at = 0
        for _, plain in self._passages:
            self._starts.append(at)
            at += len(plain.text) + len(_BETWEEN)
        self._text = _BETWEEN.join(plain.text for _, plain in self._passages)
        self._words: frozenset[str] | None = None

    def find(self, quote: str) -> list[Found]:
        """Find the stretches that a plain text is put together of; none if it isn't made of two or more."""
        if self._words is None:
            self._words = frozenset(_WORDS.findall(self._text))
        if any(word not in self._words for word in _WORDS.findall(quote)):
            return []
        tokens = [found.span() for found in _TOKEN.finditer(quote)]
        stretches = _Cover(self._text, quote, tokens).stretches()
        if len(stretches) < 2 or any(_is_change(self._text, quote, tokens, each) for each in stretches[:-1]):  # noqa: PLR2004
            return []
        found = [self._found(each) for each in stretches]
        return [each for each in found if each] if all(found) else []

    def _found(self, stretch: _Stretch) -> Found | None:
        number = bisect_right(self._starts, stretch.start) - 1
        passage, plain = self._passages[number]
        start, end = plain.span(stretch.start - self._starts[number], stretch.end - self._starts[number])
        return None if cuts_token(passage.text, start) or cuts_token(passage.text, end) else Found(passage, start, end)


class _Cover:
    """A quotation as stretches of a text."""

    def __init__(self, text: str, quote: str, tokens: Sequence[tuple[int, int]]) -> None:
        self._text, self._quote, self._tokens = text, quote, tokens
        self._weights = [_LETTER if is_unspaced(quote[start]) else _WORD for start, _ in tokens]

    def stretches(self) -> list[_Stretch]:
        """Return the stretches in order; none if some token is in none."""
        found = list[_Stretch]()
        at, count = 0, len(self._tokens)
        while at < count:
            if not self._is_worded(at, at + 1):
                at += 1
                continue
            stretch = self._longest(at)
            if stretch is None or len(found) == MAX_PIECES:
                return []
            if stretch.last < count and (shorter := self._shortened(stretch)):
                return [*found, *shorter]
            found.append(stretch)
            at = stretch.last
        return found

    def _shortened(self, stretch: _Stretch) -> list[_Stretch]:
        """Cut a stretch where a sentence of the quotation begins in it, if a stretch from there is the quotation's last.

        A sentence may begin with the words that follow the stretch in its source too.
        """
        for first in range(stretch.last, max(stretch.first, stretch.last - 4), -1):
            before = self._quote[self._tokens[first - 1][0] : self._tokens[first - 1][1]].rstrip('")')
            if before[-1:] not in _ENDS:
                continue
            rest = self._longest(first) if first < len(self._tokens) else None
            if rest and rest.last == len(self._tokens) and first > stretch.first:
                low, high = self._span(stretch.first, first)
                return [_Stretch(stretch.first, first, stretch.start, stretch.start + high - low), rest]
        return []

    def _longest(self, first: int) -> _Stretch | None:
        least = first
        weight = 0
        while least < len(self._tokens) and weight < _MIN_WEIGHT:
            weight += self._weights[least] if self._is_worded(least, least + 1) else 0
            least += 1
            if self._ends_sentence(least):
                break
        start, end = self._span(first, least)
        needle = self._quote[start:end]
        best: _Stretch | None = None
        at = self._text.find(needle)
        for _ in range(_MAX_PLACES):
            if at < 0:
                break
            last = self._reach(first, least, at)
            if (best is None or last > best.last) and not self._cuts(at, end - start):
                low, high = self._span(first, last)
                if weight >= _MIN_WEIGHT or last > least or self._is_sentence(at, at + high - low):
                    best = _Stretch(first, last, at, at + high - low)
            at = self._text.find(needle, at + 1)
        return best

    def _reach(self, first: int, least: int, at: int) -> int:
        """Return how far the quotation's tokens stand at a place: one past the last."""
        start = self._span(first, least)[0]
        low, high = least, len(self._tokens)
        while low < high:
            middle = (low + high + 1) // 2
            if self._text.startswith(self._quote[start : self._span(first, middle)[1]], at):
                low = middle
            else:
                high = middle - 1
        # No token is cut out of a longer one.
        while low > least and cuts_token(self._text, at + self._span(first, low)[1] - start):
            low -= 1
        return low

    def _cuts(self, at: int, size: int) -> bool:
        return cuts_token(self._text, at) or cuts_token(self._text, at + size)

    def _span(self, first: int, last: int) -> tuple[int, int]:
        """Return the span of tokens in the quotation without the marks around them."""
        start, end = self._tokens[first][0], self._tokens[last - 1][1]
        while start < end and self._quote[start] in _OUTER:
            start += 1
        while end > start and self._quote[end - 1] in _OUTER:
            end -= 1
        return start, end

    def _is_worded(self, first: int, last: int) -> bool:
        start, end = self._span(first, last)
        return start < end

    def _ends_sentence(self, last: int) -> bool:
        start, end = self._tokens[last - 1]
        return self._quote[start:end].rstrip('")')[-1:] in _ENDS

    def _is_sentence(self, start: int, end: int) -> bool:
        before, after = self._text[max(0, start - 3) : start].rstrip(' "('), self._text[end : end + 1]
        return (not before or before[-1] in _ENDS + _BETWEEN) and (not after or after in _ENDS + _BETWEEN)


def _is_change(text: str, quote: str, tokens: Sequence[tuple[int, int]], stretch: _Stretch) -> bool:
    """Return whether a source goes on as the quotation does after some other words."""
    following = text[stretch.end : stretch.end + _FOLLOWING].partition(_BETWEEN)[0]
    for first in range(stretch.last + 1, min(stretch.last + _MAX_CHANGED + 1, len(tokens))):
        last = min(first + 3, len(tokens))
        rest = quote[tokens[first][0] : tokens[last - 1][1]].strip(_OUTER)
        if last - first > 1 and rest and _stands(rest, following):
            with_changed = quote[tokens[stretch.last][0] : tokens[last - 1][1]].strip(_OUTER)
            return not _stands(with_changed, following)
    return False


def _stands(part: str, text: str) -> bool:
    at = text.find(part)
    return at >= 0 and not cuts_token(text, at) and not cuts_token(text, at + len(part))
