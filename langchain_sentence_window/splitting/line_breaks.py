"""The rules that decide for each newline whether a sentence ends there, or only a line that was too long.

Always joining lines is wrong, and always breaking at them is wrong. This matters more than the full stop, which is
judged by what comes before and after it.

If in doubt, join: two sentences joined lose less than one sentence cut in two.
"""

import functools
import re
from collections.abc import Sequence
from typing import NamedTuple

from .blocks import LINE, MAX_MARKED_HEADING_CHARS, wiki_heading
from .data_uris import STAND_IN
from .joints import ALWAYS_CLOSING, STOPS, has_ideographs, is_ideograph, unspaced_width
from .languages import Language
from .rules import MARKER, last_word

MIN_COLUMN_CHARS = 40
"""Characters of the narrowest column whose lines may be wrapped."""

MIN_WRAPPED_LINES = 5
"""Lines followed by a line in lower case that are enough to measure the width of the column."""

_LINE_START = re.compile(r"[\r\n]\s*|[•⁃‣▪◦]")
_LINE_OR_COLUMN_START = re.compile(r"[\r\n]\s*|[•⁃‣▪◦]|\t\s*|[ ]{4}\s*")
_BULLETS = "•⁃‣▪◦"
_CLOSERS = "\"'”’»)]}*_"
_NEVER_FIRST = ALWAYS_CLOSING + ",;.!?"
_LINE_OPENERS = "\"'“‘«([{*_"
_MARKER_LINE = re.compile(
    r"\\?[\[(]?(?:\d{1,3}(?:[.-]\d{1,3})*\\?[.)\]°ºª]{1,3}"
    r"|\(?(?:[a-zA-Z]|[ivxlIVXL]{1,6}|[a-z]{2})(?:-[a-z]+)?\\?[.)]{1,2}|[—–•*)-])"
)
_LAST_MARKER = re.compile(r"[.:]\s+\(\w{1,3}\)\Z")
_VERSUS = re.compile(r"vs?\.[ \t]*[\r\n]")
_AND_OR = frozenset({"and", "or", "y", "o", "et", "ou", "e", "ed", "und", "oder"})
_MAX_WORD_CHARS = 40
_MIN_IDEOGRAPHS = 10
"""Characters of the narrowest column in a script without spaces; lines of lists and verses are shorter."""

_MIN_FULL = 0.85
"""The part of it that is filled by a full line: some marks may not begin one."""

_UNSPACED_ITEM = re.compile(
    r"[・●○■□◆◇※①-⑳]|[一二三四五六七八九十]{1,3}[、．.]|[（(〔][^）)〕]{1,3}[）)〕]|第\S{1,4}[条條章節节款編编項项]"
)
_NOTES = re.compile(r"[.!?…;:](?:\s*\([^()]{0,150}\)){1,3}\Z")
_MAX_NOTES_CHARS = 500


class Gap(NamedTuple):
    """White space between two lines that aren't blank, or between two columns of one line.

    Attributes:
        line: Where the line before it begins.
        start: Where that line ends.
        end: Where the next line begins.
        is_blank: Whether it holds a blank line.
        is_column: Whether it holds a tab or four spaces instead of a newline.
    """

    line: int
    start: int
    end: int
    is_blank: bool
    is_column: bool = False


def find_gaps(text: str) -> list[Gap]:
    """Find the gaps between the lines of a text, in order. A bullet or a column inside a line counts as a line."""
    gaps: list[Gap] = []
    line = 0
    has_columns = "\t" in text or "    " in text
    for match in (_LINE_OR_COLUMN_START if has_columns else _LINE_START).finditer(text):
        start, end = match.span()
        is_bullet = text[start] in _BULLETS
        if is_bullet:
            end = start
        while start > line and text[start - 1].isspace():
            start -= 1
        if start == end:
            continue
        if start > line and end < len(text):
            newlines = max(text.count("\n", start, end), text.count("\r", start, end))
            is_column = not newlines and not is_bullet
            if is_column and not _parts_columns(text, line, start, end):
                continue
            gaps.append(Gap(line, start, end, newlines > 1, is_column))
        line = end
    return gaps


class LineBreaks:
    """The gaps of a text, and which of them end a sentence.

    Attributes:
        gaps: All gaps, in order.
    """

    def __init__(self, text: str, language: Language, *, is_casual: bool) -> None:
        """Find the gaps, and estimate the length of a full line.

        Args:
            text: The text.
            language: The words of its language.
            is_casual: Whether sentences of the text begin in lower case too.
        """
        self.gaps = find_gaps(text)
        self._text, self._language, self._is_casual = text, language, is_casual

    @functools.cached_property
    def _column(self) -> float:
        """Characters of a full line."""
        return _full_line(self._text, self.gaps)

    @functools.cached_property
    def _ideographs(self) -> float:
        """Characters of a full line of a script without spaces, such as Japanese; 0 if there is no such line."""
        return _full_unspaced_line(self._text, self.gaps)

    def breaks_among(self, gaps: Sequence[Gap]) -> list[Gap]:
        """Return those of some gaps that end a sentence."""
        return [gap for gap in gaps if not self._goes_on(gap)]

    def _goes_on(self, gap: Gap) -> bool:
        """Return whether the sentence before a gap continues after it."""
        text, language, (line, end, start, is_blank, is_column) = self._text, self._language, gap
        opening, ending = text[start], text[end - 1]
        if is_column or opening in _BULLETS:
            return False
        if text[line] == "=" and wiki_heading(text, line, end):
            return False
        if opening == "=" and wiki_heading(text, start, _line_end(text, start)):
            return False
        if opening == "v" and not is_blank and _VERSUS.match(text, start):
            return True
        if opening.isupper() and (text.startswith("  ", end) or ending == "\\"):
            return False  # a hard line break of Markdown
        if opening in "»”" and not is_blank and not text[start + 1 : start + 2].isalnum():
            return True
        first = opening
        if first in _LINE_OPENERS:
            first = next((text[at] for at in range(start, len(text)) if text[at] not in _LINE_OPENERS), "")
        closers = _NEVER_FIRST if is_blank else _NEVER_FIRST + ":"
        if ending in "([{\u00ad" or (first and first in closers and opening not in "([{.…"):
            return True
        if _MARKER_LINE.fullmatch(text, line, end):
            return True
        if ending == ")" and _LAST_MARKER.search(text[max(line, end - 12) : end]):
            return True
        if self._ideographs and _is_unspaced(text, gap):
            return _is_wrapped(text, gap, self._ideographs)
        noted = _end_before_notes(text, line, end) if ending == ")" else end
        last = text[noted - 1]
        if last in _CLOSERS:
            last = (text[line:noted].rstrip(_CLOSERS) or last)[-1]
        is_item = MARKER.match(text, start) is not None
        if last == ";":
            return not is_blank or is_item or text.startswith("[...]", start)
        if last == ",":
            if text[line : end - 1].strip().lower() in language.farewells and first.isupper():
                return False
            goes_in_capitals = text[start : start + 2].isupper() and not text[start + 2 : start + 3].islower()
            return not is_blank or goes_in_capitals or (first.islower() and not self._is_casual)
        if last in ".!?…":
            if noted < end:
                return first.islower() and not self._is_casual
            return (last == "." and not is_item and _ends_abbreviation(text, gap, language, first)) or (
                "ordinals" in language.flags and first.isupper() and not is_blank and _is_ordinal(text, gap, language)
            )
        if last == ":":
            return not is_blank and first.islower() and not is_item and opening not in '"“«„'
        before = last_word(text, line, end)
        if is_item:
            if opening in "-*+":
                return False
            return before.lower() in _AND_OR or not (is_blank or self._fits(gap))
        is_led = before.lower() in language.leads
        if first.islower():
            # A blank line ends a sentence, unless a word on either side shows that it continues.
            following = text[start : start + _word_length(text, start)]
            return not is_blank or is_led or following in _AND_OR
        if last in "-–—":
            return first.isdigit() and text[line:end].strip("-–— \t") != ""  # else it is a rule
        if first.isdigit() and before.islower() and text[start + _word_length(text, start) - 1] == ",":
            return True  # "claim\n\n4, characterised …"
        if is_blank or is_led:
            return is_led
        return text.rfind("(", line, end) > text.rfind(")", line, end) or not self._fits(gap)

    def _fits(self, gap: Gap) -> bool:
        """Return whether the next line's first word would have fit into the line before."""
        return gap.start - gap.line + 1 + _word_length(self._text, gap.end) <= self._column


def _full_line(text: str, gaps: Sequence[Gap]) -> float:
    wrapped = sorted(
        gap.start - gap.line + 1 + _word_length(text, gap.end)
        for gap in gaps
        if not gap.is_blank and text[gap.end].islower() and text[gap.start - 1] not in ".!?;:,"
    )
    if len(wrapped) >= MIN_WRAPPED_LINES:
        return max(MIN_COLUMN_CHARS, 0.9 * wrapped[len(wrapped) // 10])
    lengths = sorted(gap.start - gap.line - text.count(STAND_IN, gap.line, gap.start) for gap in gaps)
    lengths = sorted([*lengths, len(text.rstrip()) - gaps[-1].end]) if gaps else []
    return max(MIN_COLUMN_CHARS, 0.9 * lengths[int(len(lengths) * 0.9)]) if lengths else MIN_COLUMN_CHARS


def _full_unspaced_line(text: str, gaps: Sequence[Gap]) -> float:
    if not has_ideographs(text) or not any(_is_unspaced(text, gap) for gap in gaps):
        return 0
    ends = [*((gap.line, gap.start) for gap in gaps), (gaps[-1].end, len(text.rstrip()))]
    widths = sorted(unspaced_width(text, line, end) for line, end in ends)
    return widths[int(len(widths) * 0.9)]


def _is_unspaced(text: str, gap: Gap) -> bool:
    return not gap.is_blank and is_ideograph(text[gap.end]) and is_ideograph(text[gap.start - 1])


def _parts_columns(text: str, line: int, start: int, end: int) -> bool:
    """Return whether wide white space separates two columns, rather than following a mark or being in a sentence."""
    return text[start - 1] not in ".,;:([" and not text[end].islower() and not _MARKER_LINE.fullmatch(text, line, start)


def _ends_abbreviation(text: str, gap: Gap, language: Language, first: str) -> bool:
    """Return whether the full stop at the end of a line only ends an abbreviation; ``first`` is what follows."""
    end = gap.start
    while end > gap.line and text[end - 1] in _CLOSERS:
        end -= 1
    word = last_word(text, gap.line, end - 1)
    lower = word.lower()
    if lower in ("v", "vs"):
        return True
    if lower in language.closing and not gap.is_blank and (first.isdigit() or first.islower()):
        return True
    is_initial = len(word) == 1 and word.isupper() and word != "I"
    never_ends = lower in language.abbreviations or lower in language.numbered
    return (is_initial or never_ends) and not (gap.is_blank and first.isupper())


def _end_before_notes(text: str, line: int, end: int) -> int:
    """Return where a line ends before the notes in brackets after its last mark: "… by law. (Added in 1998)"."""
    notes = _NOTES.search(text, max(line, end - _MAX_NOTES_CHARS), end)
    return notes.start() + 1 if notes else end


def _is_ordinal(text: str, gap: Gap, language: Language) -> bool:
    """Return whether a line ends with an ordinal, as in "am 31." before "Dezember"."""
    following = text[gap.end : gap.end + _word_length(text, gap.end)].rstrip(".,;:!?")
    return language.counts(last_word(text, gap.line, gap.start - 1), following)


def _is_wrapped(text: str, gap: Gap, column: float) -> bool:
    """Return whether a line of a script without spaces is full, and it or the next one has marks as prose has."""
    if _UNSPACED_ITEM.match(text, gap.end):
        return False
    if text[gap.start - 1] in "、，":
        return True
    is_full = column >= _MIN_IDEOGRAPHS and unspaced_width(text, gap.line, gap.start) >= _MIN_FULL * column - 1
    end = min(len(text), gap.end + int(2 * column))
    is_prose = any(mark in text[at:stop] for mark in "、，。" for at, stop in ((gap.line, gap.start), (gap.end, end)))
    return is_full and is_prose and text[gap.start - 1] not in STOPS + "：；:;"


def _line_end(text: str, start: int) -> int:
    """Return where a line ends, without the white space after it; cut if it is too long for a heading."""
    line = LINE.match(text, start, start + MAX_MARKED_HEADING_CHARS + 1)
    return start + len(line[0].rstrip()) if line else start


def _word_length(text: str, start: int) -> int:
    words = text[start : start + _MAX_WORD_CHARS].split(None, 1)
    return len(words[0]) if words else 0
