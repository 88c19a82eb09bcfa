"""The words of a text: what a search by words compares, and what a question shares with a sentence.

A word is a run of letters and digits, with the marks that belong to letters, such as the vowels of Hindi. Some scripts
put no spaces between words: those of Chinese, Japanese, Thai, Lao, Khmer and Burmese. Korean puts none before endings.
There, each pair of neighboring characters is a word, as in Lucene's ``CJKAnalyzer``; a character that stands alone is
one, too.
"""

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

_UNSPACED = (
    # All but their digits, which are words as other digits are.
    "\u0e00-\u0e4f\u0e5a-\u0ecf\u0eda-\u0eff\u1780-\u17df\u17ea-\u17ff"  # Thai, Lao, Khmer
    "\u1000-\u103f\u104a-\u108f\u109a-\u109f\ua9e0-\ua9ef\ua9fa-\ua9ff\uaa60-\uaa7f"  # Burmese
    "\u3000-\u30ff\u31f0-\u31ff\uff66-\uff9f\U0001aff0-\U0001b16f"  # Japanese
    "\u3400-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # ideographs
    "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff\uffa0-\uffdf"  # Korean
)
UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
"""A run of characters of these scripts, once all that is in no word is left out."""

_RUN = re.compile(f"(?P<unspaced>[{_UNSPACED}]+)|[^ {_UNSPACED}]+")
END_OF_LETTERS = 0x40000
"""The planes from this code point on hold no letters."""

_STYLES = frozenset([*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)])
"""Marks that say how the character before is drawn, as in emoji."""


class Run(NamedTuple):
    """A run of letters and digits.

    Attributes:
        text: The run.
        start: Where it starts.
        end: Where it ends, exclusive.
        is_unspaced: Whether it is of a script without spaces between words.
    """

    text: str
    start: int
    end: int
    is_unspaced: bool


def runs_of(text: str) -> Iterator[Run]:
    """Yield the runs of letters and digits of a text, each either in scripts with spaces between words or in others."""
    for run in _RUN.finditer(_blanked(text)):
        yield Run(run[0], *run.span(), run["unspaced"] is not None)


def words_of(text: str) -> Iterator[str]:
    """Yield the words of a text as they are written, in order."""
    return filter(None, separated(text).split(" "))


def separated(text: str) -> str:
    """Return the words of a text with spaces between them, for an index that knows nothing else of words."""
    blanked = _blanked(text)
    return blanked if text.isascii() else UNSPACED_RUN.sub(_pairs, blanked)


def is_of_word(character: str) -> bool:
    """Return whether a character may be in a word: a letter, a digit, or a mark that belongs to a letter."""
    return character.isalnum() or (unicodedata.category(character) in {"Mn", "Mc"} and ord(character) not in _STYLES)


def _blanked(text: str) -> str:
    """Return a text of the same length, with spaces for all that is in no word."""
    if text.isascii():
        return text.encode().translate(_ASCII_BLANKS).decode()  # in a third of the time that ``str.translate`` takes
    return text.translate(_BLANKS)


def _pairs(run: re.Match[str]) -> str:
    return f" {' '.join(map(''.join, pairwise(run[0]))) or run[0]} "


class _Blanks(dict[int, int]):
    """Code points by themselves, and a space for each that is in no word; filled as texts need them."""

    def __missing__(self, code: int) -> int:
        blank = code if is_of_word(chr(code)) else ord(" ")
        if code < END_OF_LETTERS:
            self[code] = blank
        return blank


_BLANKS = _Blanks()
_ASCII_BLANKS = bytes(map(_BLANKS.__getitem__, range(128))).ljust(256)
