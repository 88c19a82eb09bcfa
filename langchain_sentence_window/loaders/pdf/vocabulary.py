"""The words of a file, which tell a hyphen that only parts a word from one that belongs to it."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
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
        words: How often each word without hyphens stands in the file.
        compounds: How often each word with a hyphen inside a line does; its hyphens are written as ``-``.
        first_parts: What stands before a hyphen in compounds.
        last_parts: What stands after one.
        parted: The letters of two parts of a word, one at the end of a line and one at the beginning of the next.
        lines: The number of lines that could have ended with a hyphen.
    """

    words: Counter[str] = field(default_factory=Counter)
    compounds: Counter[str] = field(default_factory=Counter)
    first_parts: set[str] = field(default_factory=set)
    last_parts: set[str] = field(default_factory=set)
    parted: list[tuple[str, str]] = field(default_factory=list)
    lines: int = 0
    _told: tuple[int, int] | None = None

    def add(self, pieces: Iterable[Piece]) -> None:
        """Add the words of a page, but not the two parts of a word at a line's end.

        Args:
            pieces: The runs of the page, from top to bottom. In columns, those of one line stand side by side, so a
                word that is parted goes on in the next run below it.
        """
        self._told = None
        waiting: list[Piece] = []
        for text, left, right in pieces:
            words = text.lower().split(" ")
            self.lines += len(words) > 1
            for at, (_, other_left, other_right) in enumerate(waiting):
                if other_left < right and left < other_right:
                    self.parted.append((last_letters(waiting.pop(at)[0]), first_letters(words.pop(0))))
                    break
            if words and words[-1][-1:] in HYPHENS and words[-1][-2:-1].isalpha():
                waiting = [*waiting[1 - _MAX_OPEN :], (words.pop()[:-1], left, right)]
            self._count(" ".join(words))

    def told(self) -> tuple[int, int]:
        """Return how many parted words stand elsewhere in the file without the hyphen, and how many with it."""
        if self._told is None:
            joined = kept = 0
            for left, right in self.parted:
                without, hyphenated = self.words[left + right], self.compounds[f"{left}-{right}"]
                joined += without > hyphenated
                kept += 0 < hyphenated >= without
            self._told = joined, kept
        return self._told

    def _count(self, text: str) -> None:
        for word in _WORD.findall(text):
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
    at = len(word)
    while at and word[at - 1].isalpha():
        at -= 1
    return word[at:]


def first_letters(word: str) -> str:
    """Return the letters at the beginning of a word."""
    at = 0
    while at < len(word) and word[at].isalpha():
        at += 1
    return word[:at]
