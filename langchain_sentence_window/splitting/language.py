"""Words of a language that the splitter needs: one data file each, ``data/languages/CODE.txt``.

To add a language, add its file (the sections are the fields of `Language`) and a file of golden
cases, ``tests/splitting/golden/CODE.txt``.
"""

import functools
import re
from dataclasses import dataclass, fields
from importlib import resources
from importlib.resources.abc import Traversable

from langchain_sentence_window.errors import InvalidInputError

_SECTION = re.compile(r"\[(\w+)\]")
_ROMAN = re.compile(r"[IVX]{2,6}")
_RANGE = re.compile(r"[-–/]")  # "vom 1.-3. Mai"


@dataclass(frozen=True, slots=True)
class Language:
    """Words of a language, in lower case and, if abbreviations, without their last full stop.

    In the data files an underscore stands for a space in a word.

    Attributes:
        abbreviations: Never end a sentence.
        closing: Abbreviations that end a sentence if a starter follows.
        capitalized: Like ``closing``, but abbreviations only when written with a capital letter.
        numbered: Abbreviations only before a number, a letter or a bracket.
        times: Abbreviations that end a sentence before a capital letter, see ``fronts``.
        zones: Words that belong to the time before them, such as "EST" and "Monday".
        soft: Abbreviations that end a sentence before a capitalized word that isn't an abbreviation.
        endings: Ends of longer words that are abbreviated, such as the German "Hauptstr."; abbreviations themselves.
        counted: Words with an ordinal of any size before them, if ``flags`` has ``ordinals``.
        starters: Words that begin a sentence if they follow an abbreviation and have a capital letter.
        fronts: Words that begin a phrase before a sentence, such as "At 5 a.m."; a time doesn't end that phrase.
        farewells: Phrases that end a letter; the writer's name after their comma is a sentence.
        flags: ``ordinals`` if a number of two digits or a Roman one, with a full stop, is an ordinal unless a starter
            follows.
        leads: Words that don't end a sentence: if a line ends with one, the sentence continues.
    """

    abbreviations: frozenset[str] = frozenset()
    closing: frozenset[str] = frozenset()
    capitalized: frozenset[str] = frozenset()
    numbered: frozenset[str] = frozenset()
    times: frozenset[str] = frozenset()
    zones: frozenset[str] = frozenset()
    soft: frozenset[str] = frozenset()
    endings: frozenset[str] = frozenset()
    counted: frozenset[str] = frozenset()
    starters: frozenset[str] = frozenset()
    leads: frozenset[str] = frozenset()
    fronts: frozenset[str] = frozenset()
    farewells: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()

    def abbreviates(self, word: str) -> bool:
        """Return whether a word, given without its full stop, is an abbreviation of any kind."""
        lower = word.lower()
        known = lower in self.abbreviations or lower in self.closing or lower in self.numbered or lower in self.soft
        return known or (word[:1].isupper() and lower in self.capitalized)

    def counts(self, word: str, following: str) -> bool:
        """Return whether a number with a full stop is an ordinal: "31. Mai", "Ludwig XIV. König", "100. Geburtstag".

        Args:
            word: The word before the full stop.
            following: The word after it.
        """
        if "ordinals" not in self.flags:
            return False
        lower = following.lower()
        word = _RANGE.split(word)[-1]
        is_small = len(word) <= 2 if word.isdigit() else _ROMAN.fullmatch(word) is not None  # noqa: PLR2004
        return (is_small and lower not in self.starters) or (word.isdigit() and lower in self.counted)

    def core(self, word: str) -> str:
        """Return the part of a word that a list may hold: "Ing" of "Dipl.-Ing", "str" of "Hauptstr"; else the word."""
        tail = word.rpartition("-")[2]
        if tail != word and len(tail) > 1 and self.abbreviates(tail) and not self.abbreviates(word):
            return tail
        return next((ending for ending in self.endings if word.endswith(ending)), word)


@functools.cache
def known_languages() -> tuple[str, ...]:
    """Return the ISO 639-1 codes of the languages that have a data file."""
    return tuple(sorted(entry.name[:2] for entry in _folder().iterdir() if entry.name.endswith(".txt")))


@functools.cache
def load_language(code: str) -> Language:
    """Load the words of a language.

    Args:
        code: Its ISO 639-1 code, such as ``en``.

    Raises:
        InvalidInputError: There is no data file for it.
    """
    if code not in known_languages():
        raise InvalidInputError(
            f"language is {code!r}, and there are word lists for {', '.join(known_languages())}; for others use "
            'engine="sentencex"'
        )
    words: dict[str, set[str]] = {field.name: set() for field in fields(Language)}
    section = ""
    for line in (_folder() / f"{code}.txt").read_text(encoding="utf-8").splitlines():
        content = line.partition("#")[0].strip()
        if match := _SECTION.fullmatch(content):
            section = match[1]
        elif content:
            words[section].update(word.replace("_", " ") for word in content.split())
    return Language(**{name: frozenset(found) for name, found in words.items()})


def _folder() -> Traversable:
    return resources.files(__package__) / "data" / "languages"
