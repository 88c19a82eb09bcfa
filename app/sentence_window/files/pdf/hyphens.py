"""Whether a hyphen at the end of a line only divides a word, or belongs to a compound, as the file's words show."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import takewhile
from math import log
from typing import TypeAlias

Piece: TypeAlias = tuple[str, float, float]
"""The text of a run, and its left and right side in points."""

SOFT_HYPHEN = "\xad"
HYPHENS = "-\xad\u2010"

_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*")
_MAX_OPEN = 8


@dataclass(slots=True)
class Vocabulary:
    """Words of a file in lower case.

    Attributes:
        words: How often each word without hyphens appears in the file.
        compounds: How often each word with a hyphen appears inside a line; its hyphens are written as ``-``.
        first_parts: The parts before a hyphen in compounds.
        last_parts: The parts after a hyphen in compounds.
        divided: The letters before and after each hyphen at the end of a line.
        lines: The number of lines that could have ended with a hyphen.
    """

    words: Counter[str] = field(default_factory=Counter)
    compounds: Counter[str] = field(default_factory=Counter)
    first_parts: set[str] = field(default_factory=set)
    last_parts: set[str] = field(default_factory=set)
    divided: list[tuple[str, str]] = field(default_factory=list)
    lines: int = 0
    _counts: tuple[int, int] | None = None

    def add(self, pieces: Iterable[Piece]) -> None:
        """Add the words of a page, except for words divided at the end of a line.

        Args:
            pieces: The runs of the page, from top to bottom. In columns, the runs of a line are side by side, so a
                divided word goes on in the next run below its first part.
        """
        self._counts = None
        waiting: list[Piece] = []
        for text, left, right in pieces:
            words = text.lower().split(" ")
            self.lines += len(words) > 1
            for at, (_, other_left, other_right) in enumerate(waiting):
                if other_left < right and left < other_right:
                    self.divided.append((last_letters(waiting.pop(at)[0]), first_letters(words.pop(0))))
                    break
            if words and words[-1][-1:] in HYPHENS and words[-1][-2:-1].isalpha():
                waiting = [*waiting[1 - _MAX_OPEN :], (words.pop()[:-1], left, right)]
            self._count(" ".join(words))

    def count_divided(self) -> tuple[int, int]:
        """Return how many divided words appear elsewhere in the file without the hyphen, and how many with it."""
        if self._counts is None:
            joined = kept = 0
            for left, right in self.divided:
                without, hyphenated = self.words[left + right], self.compounds[f"{left}-{right}"]
                joined += without > hyphenated
                kept += 0 < hyphenated >= without
            self._counts = joined, kept
        return self._counts

    def _count(self, text: str) -> None:
        words = _WORD.findall(text)
        if "-" not in text and "\u2010" not in text:
            self.words.update(words)
            return
        for word in words:
            if "-" not in word and "\u2010" not in word:
                self.words[word] += 1
                continue
            compound = word.replace("\u2010", "-")
            self.compounds[compound] += 1
            parts = compound.split("-")
            self.first_parts.update(parts[:-1])
            self.last_parts.update(parts[1:])


def last_letters(word: str) -> str:
    """Return the letters at the end of a word."""
    return first_letters(word[::-1])[::-1]


def first_letters(word: str) -> str:
    """Return the letters at the beginning of a word."""
    return "".join(takewhile(str.isalpha, word))


_COMPOUND_PARTS = frozenset(
    {"cross", "half", "non", "quasi", "self", "third", "well", "two", "three"}
    | {"halb", "nicht", "selbst", "deux", "trois", "quatre", "demi"}
)
"""First parts of compounds that are rarely the first syllable of another word."""

_PREFIXES = frozenset(
    ["all", "anti", "co", "ex", "multi", "post", "pre", "semi", "vice", "four", "five", "six", "seven", "eight", "nine"]
)
"""First parts of compounds that are common first syllables too."""

_CONJUNCTIONS = frozenset(["and", "or", "und", "oder", "bzw.", "sowie", "et", "ou", "y", "e", "o", "u"])
"""Words before which a hyphen replaces the rest of a compound, as in "pre- and post-war"."""

_SYLLABLES = 2.0
_MIN_LINES = 100
_HARDLY_EVER = 0.015
_SURE = 4
_MAX_HABIT = 2.5
_MIN_STEM = 4
_MAX_STEM = 40
_LONG = 4
_INSIDE = ("-", "\u2010")


def rejoins(word: str, following: str) -> bool:
    """Return whether the last word of a line goes on in the next line without a space."""
    if not word or word[-1] not in HYPHENS or not word[-2:-1].isalnum() or not following[:1].isalnum():
        return False
    return word[-1] == SOFT_HYPHEN or following.partition(" ")[0] not in _CONJUNCTIONS


def drops_hyphen(word: str, following: str, vocabulary: Vocabulary) -> bool:
    """Return whether the hyphen at the end of a line only divides a word, so that it isn't part of the text.

    Args:
        word: The last word of the line, which ends with a hyphen.
        following: The first word of the next line; more may come after it.
        vocabulary: The words of the file.
    """
    if word.endswith(SOFT_HYPHEN):
        return True
    left, right = last_letters(word[:-1]), first_letters(following)
    if not left or not right or _is_address(word):
        return False
    in_capitals = len(left) > 1 and left.isupper() and right.isupper()
    if not in_capitals and not (left[-1].islower() and right[0].islower()):
        return False
    if in_capitals and (left + right).lower() not in vocabulary.words:  # abbreviations may look like syllables
        return False
    has_more = word[: -len(left) - 1][-1:] in _INSIDE or following[len(right) : len(right) + 1] in _INSIDE
    return _only_divides(left.lower(), right.lower(), vocabulary, has_more=has_more)


def _only_divides(left: str, right: str, vocabulary: Vocabulary, *, has_more: bool) -> bool:
    """Return whether the joined word is more likely than the hyphenated one.

    Args:
        left: The letters before the hyphen, in lower case.
        right: The letters after it.
        vocabulary: The words of the file.
        has_more: Whether the word has another hyphen.
    """
    joined, compounds = vocabulary.words[left + right], vocabulary.compounds[f"{left}-{right}"]
    habit = _habit(vocabulary)
    if joined or compounds:
        return joined > compounds and (habit > 0 or not compounds)
    if len(left) == 1:
        return False
    # Weights of a logistic regression, fitted to line ends of scientific papers and rounded.
    known_left, known_right = left in vocabulary.words, right in vocabulary.words
    evidence = (
        -1.4 * known_left,
        -1.4 * known_right,
        -1.5 * (known_left and known_right and min(len(left), len(right)) >= _LONG),
        -9.0 * (left in _COMPOUND_PARTS),
        -1.2 * (left in _PREFIXES),
        -1.5 * (left in vocabulary.first_parts),
        -3.5 * (right in vocabulary.last_parts),
        -1.8 * has_more,
        2.0 * _has_stem(left, right, vocabulary),
    )
    return habit + _SYLLABLES + sum(evidence) > 0


def _habit(vocabulary: Vocabulary) -> float:
    """Return the log ratio of divided words to compounds at line ends of this file."""
    dropped, kept = vocabulary.count_divided()
    if vocabulary.lines >= _MIN_LINES and len(vocabulary.divided) < _HARDLY_EVER * vocabulary.lines:
        kept += _SURE
    return min(_MAX_HABIT, log((1 + dropped) / (1 + kept)))


def _has_stem(left: str, right: str, vocabulary: Vocabulary) -> bool:
    """Return whether the joined word is an inflected form: without some last letters it is a word of the file."""
    word = left + right
    ends = range(max(len(left) + 2, _MIN_STEM), min(len(word), _MAX_STEM))
    return any(word[:end] in vocabulary.words for end in ends)


def _is_address(word: str) -> bool:
    """Return whether a word is a web address, whose hyphens belong to it."""
    return "://" in word or "www." in word
