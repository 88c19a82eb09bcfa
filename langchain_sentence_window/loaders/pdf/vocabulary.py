"""The words of a file, which tell a hyphen that only parts a word from one that belongs to it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*")
_PREFIXES = frozenset(
    {
        "all",
        "anti",
        "co",
        "cross",
        "ex",
        "half",
        "multi",
        "non",
        "post",
        "pre",
        "quasi",
        "self",
        "semi",
        "third",
        "well",
    }
)
SOFT_HYPHEN = "\xad"
HYPHENS = "-\xad\u2010"


@dataclass(slots=True)
class Vocabulary:
    """Words of a file in lower case.

    Attributes:
        words: Words without hyphens.
        compounds: Words with a hyphen inside a line.
    """

    words: set[str] = field(default_factory=set)
    compounds: set[str] = field(default_factory=set)

    def add(self, lines: Iterable[str]) -> None:
        """Add the words of the lines of a page, but not the two parts of a word at a line's end."""
        was_parted = False
        for line in lines:
            text = line.lower()
            text = text.partition(" ")[2] if was_parted else text
            was_parted = line[-1:] in HYPHENS
            text = text.rpartition(" ")[0] if was_parted else text
            for word in _WORD.findall(text):
                (self.compounds if "-" in word or "\u2010" in word else self.words).add(word)

    def drops_hyphen(self, word: str, following: str) -> bool:
        """Return whether the hyphen at the end of a line only parts a word.

        Args:
            word: The last word of the line, which ends with a hyphen.
            following: The first word of the next line.
        """
        if word.endswith(SOFT_HYPHEN):
            return True
        left, right = _last_letters(word[:-1]), _first_letters(following)
        if not left or not right or not left[-1].islower() or not right[0].islower():
            return False
        left, right = left.lower(), right.lower()
        if f"{left}-{right}" in self.compounds:
            return False
        if left + right in self.words:
            return True
        return left not in _PREFIXES and not (left in self.words and right in self.words)


def rejoins(word: str, following: str) -> bool:
    """Return whether the last word of a line goes on in the next line, with no space between the two parts."""
    return word[-1:] in HYPHENS and word[-2:-1].isalnum() and following[:1].isalnum() if word else False


def _last_letters(word: str) -> str:
    at = len(word)
    while at and word[at - 1].isalpha():
        at -= 1
    return word[at:]


def _first_letters(word: str) -> str:
    at = 0
    while at < len(word) and word[at].isalpha():
        at += 1
    return word[:at]
