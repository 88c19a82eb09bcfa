"""The words of a text, and their form in an index.

A word is a run of letters and digits, with the marks that belong to letters, such as the vowels of Hindi. Some scripts
put no spaces between words: those of Chinese, Japanese, Thai, Lao, Khmer and Burmese. Korean puts none before endings.
There, each pair of neighboring characters is a word, as in Lucene's ``CJKAnalyzer``; a single character is
one, too.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
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
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
"""A run of characters of these scripts, once all that is in no word is left out."""

_RUN = re.compile(f"[{_UNSPACED}]+|[^ {_UNSPACED}]+")
_END_OF_LETTERS = 0x40000
"""The planes from this code point on hold no letters."""

_SENTENCE_END = re.compile(r"[.?!]\s|[\n:]")

_STYLES = frozenset([*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)])
"""Marks that say how the character before is drawn, as in emoji."""


class WordRun(NamedTuple):
    """A run of letters and digits.

    Attributes:
        text: The run.
        start: Where it starts.
        end: Where it ends, exclusive.
    """

    text: str
    start: int
    end: int


def word_runs(text: str) -> Iterator[WordRun]:
    """Yield the runs of letters and digits of a text, each either in scripts with spaces between words or in others."""
    for run in _RUN.finditer(_blanked(text)):
        yield WordRun(run[0], *run.span())


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a question.

    Attributes:
        word: The word in lower case.
        start: Where it starts in the question.
        end: Where it ends, exclusive.
        is_name: Whether it is written as a name: with a capital that isn't the first of a sentence, with one inside,
            all in capitals, with a digit, or in a script without capitals.
    """

    word: str
    start: int
    end: int
    is_name: bool


def tokens_of(query: str) -> list[Token]:
    """Return the words of a question: its runs of letters and digits, those of scripts without spaces as wholes.

    If all letters are capitals, only words with a digit count as written as names.
    """
    tokens: list[Token] = []
    is_shouted = query.isupper()
    end = 0
    for text, start, stop in word_runs(query):
        begins = not tokens or _SENTENCE_END.search(query, end, start) is not None
        end = stop
        is_large = not (is_shouted or is_lower_case(text)) and (
            not begins or (len(text) > 1 and not text[1:].islower())
        )
        tokens.append(Token(text.lower(), start, end, is_large or any(map(str.isdigit, text))))
    return tokens


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, in order."""
    return [run.text.lower() for run in word_runs(text)]


def is_lower_case(word: str) -> bool:
    """Return whether a word is written with a small letter first, and without a capital."""
    return word[0].islower() and not any(map(str.isupper, word))  # "eBay" is written as a name


def separated(text: str) -> str:
    """Return the words of a text with spaces between them, for an index that knows nothing else of words."""
    blanked = _blanked(text)
    return blanked if text.isascii() else _UNSPACED_RUN.sub(_split_into_pairs, blanked)


_COMPOUND = re.compile(r"(?<![\w-])([^\W\d_]{1,30})[-\u2010\u2011]([^\W\d_]{1,30})(?![\w-])")


def indexed(text: str) -> str:
    """Return the words of a text as an index holds them, with spaces between them.

    They are in lower case, letters of Latin and Greek without accents. A word with a hyphen is there in parts and as
    one.
    """
    if "-" in text or not text.isascii():
        text = _COMPOUND.sub(r"\g<0> \1\2", text)
    return plain_words(text)


def plain_words(text: str) -> str:
    """Return the words of a text as `indexed` does, with a compound in parts alone."""
    if text.isascii():
        return text.lower().encode().translate(_ASCII_BLANKS).decode()
    words = separated(text)
    return words.lower() if words.isascii() else words.translate(_PLAIN)


class _Plain(dict[int, str]):
    """Letters in lower case, and without accents, by code points; filled as texts need them."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        is_accent = "\u0300" <= character < "\u0370"
        plain = self[code] = "" if is_accent else _DOUBLE.get(character.lower()) or _plain_letter(character)
        return plain


_DOUBLE = {"ß": "ss", "æ": "ae", "œ": "oe", "þ": "th"}
_SINGLE = {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ı": "i"}
_PLAIN = _Plain()


def in_other_number(word: str) -> str:
    """Return the plural of an English word in lower case, or the singular of one with the ending of a plural."""
    if len(word) > len("fee") and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return f"{word[:-3]}y" if word.endswith("ies") else word[:-1]
    return f"{word[:-1]}ies" if word.endswith("y") and word[-2:-1] not in ("", *"aeou") else f"{word}s"


def _is_of_word(character: str) -> bool:
    """Return whether a character may be in a word: a letter, a digit, or a mark that belongs to a letter."""
    return character.isalnum() or (unicodedata.category(character) in {"Mn", "Mc"} and ord(character) not in _STYLES)


def _blanked(text: str) -> str:
    """Return a text of the same length, with spaces for all that is in no word."""
    if text.isascii():
        return text.encode().translate(_ASCII_BLANKS).decode()  # in a third of the time that ``str.translate`` takes
    return text.translate(_BLANKS)


def _split_into_pairs(run: re.Match[str]) -> str:
    """Return a run of characters as overlapping pairs, with spaces around each."""
    return f" {' '.join(map(''.join, pairwise(run[0]))) or run[0]} "


class _Blanks(dict[int, int]):
    """Code points by themselves, and a space for each that is in no word; filled as texts need them."""

    def __missing__(self, code: int) -> int:
        blank = code if _is_of_word(chr(code)) else ord(" ")
        if code < _END_OF_LETTERS:
            self[code] = blank
        return blank


_BLANKS = _Blanks()
_ASCII_BLANKS = bytes(map(_BLANKS.__getitem__, range(128))).ljust(256)


def _plain_letter(character: str) -> str:
    """Return a letter in lower case, one of Latin or Greek without accents."""
    small = character.lower()[0]
    base = _SINGLE.get(small) or unicodedata.normalize("NFD", small)[0]
    return base if base.isascii() or "\u0370" <= base < "\u0400" else small
