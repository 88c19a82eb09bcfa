"""Quotations that combine pieces from different places without marking the omission.

A stretch has at least three words, or is a whole sentence. From the start of the quotation, the longest stretch that a
source holds is taken, then the longest of the rest. A quotation with a changed word isn't stitched: there the source
continues like the quotation one to three words later.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from .normalized_text import PlainText, cuts_token, is_unspaced
from .quote_search import Found, Source, SourcePassage

MAX_PIECES = 32
"""The most stretches of a stitched quotation."""

_WORD, _LETTER = 2, 1
_MIN_WEIGHT = 6
"""Three words, or six letters of a script without spaces."""

_OUTER = ' .,;:!?…"()[]。，、；：！？'
_ENDS = ".!?…。！？:"
_BETWEEN = "\n\n"
"""Separates two texts; no plain text has a line end."""

_MAX_PLACES = 16
_NEAR = 160
"""Characters next to a stretch in which a source may continue like the quotation."""

_MAX_CHANGED = 3
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]+")
_WORDS = re.compile(rf"[^\s.,;:!?\"()\[\]…{_UNSPACED}]+")


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Tokens of a quotation ``[first, last)``, and their place in the plain text of all sources.

    ``ends_sentence`` says whether a sentence ends there, in the quotation and in the source.
    """

    first: int
    last: int
    start: int
    end: int
    ends_sentence: bool


class Stitching:
    """Sources as one plain text, in which stretches of quotations are looked for."""

    def __init__(self, sources: Sequence[Source]) -> None:
        """Join the texts."""
        self._passages: list[tuple[SourcePassage, PlainText]] = [
            (passage, passage.plain()) for source in sources for passage in source.passages
        ]
        self._starts = list[int]()
        at = 0
        for _, plain in self._passages:
            self._starts.append(at)
            at += len(plain.text) + len(_BETWEEN)
        self._text = _BETWEEN.join(plain.text for _, plain in self._passages)

    def has_words(self, quote: str) -> bool:
        """Return whether the sources contain each word of a plain text, perhaps in a longer word."""
        return all(word in self._text for word in _WORDS.findall(quote))

    def find(self, quote: str) -> list[Found]:
        """Find the stretches that a plain text combines; none if it doesn't combine two or more."""
        tokens = [found.span() for found in _TOKEN.finditer(quote)]
        stretches = _Cover(self._text, quote, tokens).stretches()
        found = [self._found(each) for each in stretches]
        if len(found) < 2 or not all(found):  # noqa: PLR2004
            return []
        places = [each for each in found if each]
        for number, (before, after) in enumerate(pairwise(stretches), 1):
            are_sentences = before.ends_sentence and _begins_sentence(places[number])
            if not are_sentences and _is_change(self._text, quote, tokens, before, after):
                return []
        return places

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
        """Return the stretches in order; none if they don't cover all tokens."""
        found = list[_Stretch]()
        at, count = 0, len(self._tokens)
        while at < count:
            if not self._is_worded(at):
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
        """Cut a stretch where a sentence of the quotation begins in it, if a stretch from there is the last one.

        A sentence may begin with the words that follow the stretch in its source too.
        """
        for first in range(stretch.last, max(stretch.first, stretch.last - 4), -1):
            before = self._quote[self._tokens[first - 1][0] : self._tokens[first - 1][1]].rstrip('")')
            if before[-1:] not in _ENDS:
                continue
            rest = self._longest(first) if first < len(self._tokens) else None
            if rest and rest.last == len(self._tokens) and first > stretch.first:
                return [self._stretch(stretch.first, first, stretch.start), rest]
        return []

    def _longest(self, first: int) -> _Stretch | None:
        """Return the longest stretch that begins with a token; else a short sentence that does."""
        least, short, weight = first, first, 0
        while least < len(self._tokens) and weight < _MIN_WEIGHT:
            weight += self._weights[least] if self._is_worded(least) else 0
            least += 1
            if short == first and self._ends_sentence(least):
                short = least
        found = self._longest_of(first, least) if weight >= _MIN_WEIGHT else None
        return found or (self._short_sentence(first, short) if short > first else None)

    def _longest_of(self, first: int, least: int) -> _Stretch | None:
        best = 0, 0
        for at in self._places(first, least):
            last = self._reach(first, least, at)
            if last > best[0]:
                best = last, at
        return self._stretch(first, *best) if best[0] else None

    def _short_sentence(self, first: int, last: int) -> _Stretch | None:
        start, end = self._span(first, last)
        whole = (at for at in self._places(first, last) if self._is_sentence(at, at + end - start))
        at = next(whole, None)
        return None if at is None else self._stretch(first, last, at)

    def _places(self, first: int, last: int) -> Iterator[int]:
        """Yield the offsets at which the tokens occur as whole words."""
        start, end = self._span(first, last)
        at = -1
        for _ in range(_MAX_PLACES):
            at = self._text.find(self._quote[start:end], at + 1)
            if at < 0:
                return
            if not cuts_token(self._text, at) and not cuts_token(self._text, at + end - start):
                yield at

    def _stretch(self, first: int, last: int, at: int) -> _Stretch:
        start, end = self._span(first, last)
        after = at + end - start
        return _Stretch(first, last, at, after, self._ends_sentence(last) and self._text[after : after + 1] in _ENDS)

    def _reach(self, first: int, least: int, at: int) -> int:
        """Return how far the quotation's tokens match at a place: one past the last."""
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

    def _span(self, first: int, last: int) -> tuple[int, int]:
        """Return the span in the quotation of the tokens ``[first, last)``, without the punctuation around them."""
        start, end = self._tokens[first][0], self._tokens[last - 1][1]
        while start < end and self._quote[start] in _OUTER:
            start += 1
        while end > start and self._quote[end - 1] in _OUTER:
            end -= 1
        return start, end

    def _is_worded(self, token: int) -> bool:
        start, end = self._span(token, token + 1)
        return start < end

    def _ends_sentence(self, last: int) -> bool:
        start, end = self._tokens[last - 1]
        return self._quote[start:end].rstrip('")')[-1:] in _ENDS

    def _is_sentence(self, start: int, end: int) -> bool:
        before, after = self._text[max(0, start - 3) : start].rstrip(' "('), self._text[end : end + 1]
        return (not before or before[-1] in _ENDS + _BETWEEN) and (not after or after in _ENDS + _BETWEEN)


def _begins_sentence(place: Found) -> bool:
    before = place.passage.text[max(0, place.start - 8) : place.start].rstrip(" \t*_\"'“„«‘(")
    return not before or before[-1] in _ENDS + "\n"


def _is_change(text: str, quote: str, tokens: Sequence[tuple[int, int]], before: _Stretch, after: _Stretch) -> bool:
    """Return whether a source has the quotation's words on both sides of a few others, where two stretches meet."""

    def words(first: int, last: int) -> str:
        return quote[tokens[first][0] : tokens[last - 1][1]].strip(_OUTER)

    following = text[before.end : before.end + _NEAR].partition(_BETWEEN)[0]
    for first in range(before.last + 1, min(before.last + _MAX_CHANGED + 1, len(tokens) - 1)):
        last = min(first + 3, len(tokens))
        if _stands(words(first, last), following):
            if not _stands(words(before.last, last), following):
                return True
            break
    preceding = text[max(0, after.start - _NEAR) : after.start].rpartition(_BETWEEN)[2]
    for last in range(after.first - 1, max(after.first - _MAX_CHANGED - 1, 1), -1):
        first = max(0, last - 3)
        if _stands(words(first, last), preceding):
            return not _stands(words(first, after.first), preceding)
    return False


def _stands(part: str, text: str) -> bool:
    at = text.find(part)
    return at >= 0 and bool(part) and not cuts_token(text, at) and not cuts_token(text, at + len(part))
