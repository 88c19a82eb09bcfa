"""Languages: the words of each one that the splitter needs, their codes, and which one a text is in.

Each language has a data file, ``data/languages/CODE.txt``. To add a language, add its file (the sections are the
fields of `Language`) and a file of golden cases, ``tests/splitting/golden/CODE.txt``. Codes and names of all languages
are in ``data/codes.txt``.

The language of a text is what its metadata says, else what its letters show. Detection is offline: py3langid holds its
model, a naive Bayes classifier over byte n-grams. Lui & Baldwin, "langid.py: An Off-the-shelf Language Identification
Tool", ACL 2012.
"""

import functools
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from langchain_sentence_window._display import shown
from langchain_sentence_window._lazy import of_extra
from langchain_sentence_window.errors import InvalidInputError

from .data_uris import without_data_uris
from .word_lists import read_words

_PACKAGE = "langchain_sentence_window.splitting"
_CODES = read_words(_PACKAGE, "data/codes.txt")
_ROMAN = re.compile(r"[IVX]{2,6}")
_RANGE = re.compile(r"[-–/]")  # "vom 1.-3. Mai"


@dataclass(frozen=True, slots=True)
class Language:
    """Words of a language, in lower case and, if abbreviations, without their last full stop.

    In the data files an underscore represents a space in a word.

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
        hanging: Words in speech after which a dash shows that it broke off, if a starter follows.
        farewells: Phrases that end a letter; the writer's name after their comma is a sentence.
        flags: ``ordinals`` if a number of two digits or a Roman one, with a full stop, is an ordinal unless a starter
            follows; ``careless`` if many sentences begin in lower case after a word of the language, see gold data;
            ``pronoun`` if "I" has its capital everywhere, so it doesn't show that an ellipsis ends a sentence.
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
    hanging: frozenset[str] = frozenset()
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
    files = resources.files(_PACKAGE).joinpath("data/languages").iterdir()
    return tuple(sorted(each.name[:2] for each in files if each.name.endswith(".txt")))


@functools.cache
def language_words(code: str) -> Language:
    """Return the words of any language; without a data file, only its abbreviations that never end a sentence.

    Args:
        code: Its ISO 639 code.
    """
    if code in known_languages():
        words = read_words(_PACKAGE, f"data/languages/{code}.txt")
        return Language(**{name: frozenset(listed) for name, listed in words.items()})
    found = read_words(_PACKAGE, "data/abbreviations.txt")
    return Language(abbreviations=frozenset(found.get(code, ())), numbered=frozenset(found.get(f"{code}_numbered", ())))


AUTO = "auto"
"""The language of a splitter that detects it where the metadata doesn't say."""

FALLBACK = "en"
"""The language of a text that is too short or too mixed to detect."""

MIN_PROBABILITY = 0.5
"""The least probability of a detected language. Titles, names and tables of numbers stay below it."""

SAMPLE_CHARS = 1_000
"""Characters that detection reads of a text's beginning, as many of its middle, and of its end."""

_LANGID = "py3langid.langid", "py3langid", "languages"
_NO_LANGUAGE = "zxx"

# Metadata that names no language: codes of ISO 639-2 for undetermined, several and none, and words of
# loaders, such as LangChain's for web pages.
_SAYS_NOTHING = frozenset(
    {"", "und", "mul", "mis", "zxx", "auto", "none", "null", "n/a", "unknown", "no language found", "x-default"}
)


def language_of(text: str, parts: Iterable[tuple[Mapping[str, Any], int]], language: str, *, doc_id: str = "") -> str:
    """Return the language of a document, by the metadata of its parts.

    ``language`` in the metadata decides: an ISO 639 code, also as loaders write it, such as ``en-US`` or ``deu``, or a
    list of one. Else ``languages`` decides if it is a list of one code, as unstructured writes it.

    Args:
        text: The whole text of the document.
        parts: The metadata of each part, such as the elements of a page, and its characters.
        language: The language if the metadata doesn't say; `AUTO` to detect it.
        doc_id: The document's name, for messages.

    Returns:
        The ISO 639 code in lower case that the metadata gives most of the text; of equals, the first.

    Raises:
        InvalidInputError: The metadata of a part names an unknown language.
        MissingExtraError: The language must be detected, and py3langid isn't installed.
    """
    chars = Counter[str]()
    for metadata, size in parts:
        said, code = _single_value(metadata.get("language")), None
        if said is None:
            element = _single_value(metadata.get("languages"))
            code = plain_code(element) if isinstance(element, str) else None
        elif said == language:  # an engine may support codes that aren't known here
            code = language
        elif not isinstance(said, str) or (code := plain_code(said)) is None:
            raise unknown_code(said, doc_id=doc_id)
        if code is not None:
            chars[code] += size
    if chars:
        return max(chars, key=lambda code: chars[code])
    return language if language != AUTO else detected_language(text) or FALLBACK


def detected_language(text: str) -> str | None:
    """Detect the language of a text from a sample of its beginning, middle and end.

    Args:
        text: Any string.

    Returns:
        Its code of ISO 639-1; ``None`` if the text is too short, too mixed or no natural language.

    Raises:
        MissingExtraError: py3langid isn't installed.
    """
    code, probability = _classifier().classify(_sample(without_data_uris(text)))
    return None if code == _NO_LANGUAGE or probability < MIN_PROBABILITY else str(code)


def check_detection() -> None:
    """Check that languages can be detected here.

    Raises:
        MissingExtraError: py3langid isn't installed.
    """
    of_extra(*_LANGID)


def _single_value(value: object) -> object:
    """Return what a value of metadata says, without the list around it; ``None`` if it says nothing, or several."""
    if isinstance(value, list | tuple | set | frozenset):
        value = next(iter(value)) if len(value) == 1 else None
    if isinstance(value, str):
        word = value.strip().lower().rstrip(".")
        return None if word in _SAYS_NOTHING or word in _PROGRAMMING else value
    is_nan = isinstance(value, float) and math.isnan(value)  # pandas writes it for nothing
    return None if is_nan else value


def _sample(text: str) -> str:
    if len(text) <= 3 * SAMPLE_CHARS:
        return text
    middle = (len(text) - SAMPLE_CHARS) // 2
    return "\n".join((text[:SAMPLE_CHARS], text[middle : middle + SAMPLE_CHARS], text[-SAMPLE_CHARS:]))


@functools.cache
def _classifier() -> Any:
    """Make a classifier of the languages with a code of two letters; others are hard to distinguish from them."""
    langid = of_extra(*_LANGID)
    classifier = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
    classifier.set_languages({_NO_LANGUAGE, *ISO_639_1}.intersection(classifier.nb_classes))
    return classifier


_SHAPE = re.compile(r"[a-z]{2,3}")
_LOCALE = re.compile(r"([a-z]{2,3})(?:[-_.@][\w.@-]*)?")

ISO_639_1, _OTHER_CODES, _OTHER_NAMES = (
    dict(pair.split(":") for pair in _CODES[section]) for section in ("names", "other_codes", "other_names")
)
_PROGRAMMING, _SENTENCEX_CODES = (frozenset(_CODES[name]) for name in ("programming", "sentencex"))


def check_code(code: object) -> str:
    """Return the code of a language if it has the form of one.

    Raises:
        InvalidInputError: It isn't two or three lowercase letters.
    """
    if not isinstance(code, str) or not _SHAPE.fullmatch(code):
        raise unknown_code(code)
    return code


def is_known(code: str) -> bool:
    """Return whether this package or sentencex has rules for a language, or for one near to it."""
    return code in ISO_639_1 or code in _SENTENCEX_CODES


def plain_code(text: str) -> str | None:
    """Reduce a code as loaders write it to the code by which this package knows the language.

    Args:
        text: Such as ``en-US``, ``pt_BR``, ``EN``, ``deu``, ``zho_Hans``.

    Returns:
        Two letters, or three if ISO 639-1 lacks the language; ``None`` if it isn't a code, or none that is known.
    """
    match = _LOCALE.fullmatch(text.strip().lower())
    if match is None:
        return None
    code = _OTHER_CODES.get(match[1], match[1])
    return code if is_known(code) else None


def unknown_code(code: object, *, doc_id: str | None = None) -> InvalidInputError:
    """Make the error for an unknown code. It lists codes and suggests the one that was likely meant.

    Args:
        code: The value that was given.
        doc_id: The document whose metadata gives it, empty if it has no name; ``None`` if it is the splitter's setting.
    """
    likely = _likely_code(code) if isinstance(code, str) else None
    meant = f', likely "{likely}" here' if likely else ""
    of, cure = "language", "for any other language, give a callable as engine"
    if doc_id is not None:
        of = f'metadata["language"] of document {doc_id!r:.80}' if doc_id else 'metadata["language"]'
        cure = "leave the key out to take the splitter's language. Nothing was stored"
    return InvalidInputError(
        f"{of} is {shown(code)}; it must be an ISO 639 code{meant}. There are word lists for "
        f'{", ".join(known_languages())}, and sentencex knows others, such as "hi" and "ja"; {cure}'
    )


def _likely_code(text: str) -> str | None:
    """Return the code of a language's name, or of a code in capitals or with a region; ``None`` for anything else."""
    base = re.split(r"[-_.@\s]", text.strip().casefold(), maxsplit=1)[0]
    names = {name.casefold(): code for code, name in ISO_639_1.items()} | _OTHER_NAMES | _OTHER_CODES
    return base if base in ISO_639_1 else names.get(base)
