"""Tells documents that are nearly alike apart by their names: "How much notice does an employee in Spain give?".

Letters for several countries or reports of several years say nearly the same. What tells them apart is a word of their
own titles and file names: a country, a company, a period. That word needn't be rare in the collection. Almost all of a
name must stand in the question, as a title is a topic otherwise.

Questions write names in their own way, so words are compared by *keys*. "Australian" and "Australia" share one, "JnJ"
and "Johnson & Johnson", "FY2022" and "2022", "10-K" and "10K", "Q2" and "second quarter".
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeVar

from .placing import CONNECTORS, LEADING
from .words import Token, runs_of, words_of

MAX_NAMED = 3
"""The most documents that a question names, or that share a name, as versions do."""

COMPARES = re.compile(
    r"\b(?:compar\w*|differ\w*|versus|vs|vergl(?:eich|ich)\w*|unterschie\w*|diff[ée]r\w*|diferen\w*|confront\w*)\b",
    re.IGNORECASE,
)
"""Matches a word of a question that compares."""

_PIECE = re.compile(r"\d{1,2}[a-z](?![^\W_])|[a-z]\d{1,2}(?!\d)|\d+|[^\W\d_]+")
_LETTERS = re.compile(r"[^\W\d_]+")
_PERIOD = re.compile(r"\d{1,2}[a-z]|[a-z]\d{1,2}")
_ENDINGS = ("isch", "ian", "ien", "ese", "ish", "an", "en", "ic", "sh", "a", "e", "i", "o", "s", "y")
_MIN_STEM_CHARS, _MAX_STEMMED_CHARS = 4, 40
_GAP = re.compile(r"[\s\-.&'’]*")
_PART_END = re.compile(r"\s-\s|[,;:()]|\.\s")
_QUARTERS = {"first": "q1", "second": "q2", "third": "q3", "fourth": "q4"}
_INITIALS = "^"
_MAX_INITIALS = 4
_MAX_UNIT_CHARS = 2

_Document = TypeVar("_Document")


class NameKey(NamedTuple):
    """A key of a text.

    Attributes:
        key: The key, such as a stem, two words as one, or initials after a mark.
        first: The position of its first word.
        end: One past the position of its last word.
    """

    key: str
    first: int
    end: int


def keys_of(text: str) -> Iterator[NameKey]:
    """Yield the keys of the words in a text, of pairs that may be written as one, and of abbreviations."""
    runs = list(runs_of(text))
    for at, run in enumerate(runs):
        pieces = [piece for piece in _PIECE.findall(run.text.lower()) if len(piece) > 1]
        yield from (NameKey(_stem(piece), at, at + 1) for piece in pieces)
        capitals = "".join(filter(str.isupper, run.text))
        if 1 < len(capitals) <= _MAX_INITIALS:
            yield NameKey(_INITIALS + capitals.lower(), at, at + 1)
    for at, (run, other) in enumerate(pairwise(runs)):
        first, second = run.text.lower(), other.text.lower()
        if second == "quarter" and first in _QUARTERS:
            yield NameKey(_QUARTERS[first], at, at + 2)
        if not _GAP.fullmatch(text, run.end, other.start):
            continue
        if _PERIOD.fullmatch(first + second) or not (
            1 in (len(first), len(second)) or first in CONNECTORS or second in CONNECTORS
        ):
            yield NameKey(_stem(first + second), at, at + 2)
        elif len(first) == len(second) == 1 and run.text.isupper() and other.text.isupper():
            yield NameKey(_INITIALS + first + second, at, at + 2)


def keys_of_name(name: str) -> set[str]:
    """Return the keys of a name, and of the initials that may stand for it."""
    found = {each.key for each in keys_of(name)}
    for part in _PART_END.split(name):
        initials = "".join(word[0] for word in _LETTERS.findall(part.lower()))
        found.update(_INITIALS + initials[:end] for end in range(2, min(len(initials), _MAX_INITIALS) + 1))
    return found


def _stem(word: str) -> str:
    if len(word) > _MAX_STEMMED_CHARS or not word.isalpha():
        return word
    while len(word) > _MIN_STEM_CHARS and word.endswith(_ENDINGS):
        ending = next(each for each in _ENDINGS if word.endswith(each))
        if len(word) - len(ending) < _MIN_STEM_CHARS:
            break
        word = word[: -len(ending)]
    return word


def telling_keys(query: str, tokens: Sequence[Token]) -> dict[str, str]:
    """Return the keys of a question that may tell documents apart: those with a word that is written as a name.

    Args:
        query: The question.
        tokens: Its words.

    Returns:
        The only word of each key; an empty one for a key of several words or of initials.
    """
    if not any(token.is_name for token in tokens):
        return {}
    return {
        each.key: "" if each.end - each.first > 1 or each.key[0] == _INITIALS else tokens[each.first].word
        for each in keys_of(query)
        if any(token.is_name for token in tokens[each.first : each.end])
    }


def closest(places: Mapping[str, Set[_Document]]) -> set[_Document]:
    """Return the documents that hold the most keys of names; for each key, or else for all numbers together.

    Args:
        places: The documents that hold a key of the question in a name.
    """
    letters = {key: of_it for key, of_it in places.items() if not _has_digit(key)}
    by_letters = Counter(document for of_it in letters.values() for document in of_it)
    by_all = Counter(document for of_it in places.values() for document in of_it)
    found: set[_Document] = set()
    for of_it in letters.values():
        best = _most(of_it, by_letters)
        found |= _few(best) or _few(_most(best, by_all))
    if not letters and max(by_all.values(), default=0) > 1:  # a year alone is of many documents
        found = _few(_most(set(by_all), by_all))
    return found


def _most(documents: Set[_Document], counts: Mapping[_Document, int]) -> set[_Document]:
    most = max((counts[each] for each in documents), default=0)
    return {each for each in documents if counts[each] == most}


def _few(documents: set[_Document]) -> set[_Document]:
    return documents if len(documents) <= MAX_NAMED else set()


MIN_SHARE_OF_NAME = 0.75
"""More than this share of a name's words must stand in the question, periods and common words aside."""

_COMMON_SHARE, _MIN_COMMON = 0.1, 3


def common_words(counts: Mapping[str, int], size: int) -> frozenset[str]:
    """Return the words that tell no document from another, such as "letter", as names of many documents hold them.

    Args:
        counts: How many documents hold a word in a name.
        size: How many documents there are.
    """
    return frozenset(word for word, count in counts.items() if count >= max(_MIN_COMMON, _COMMON_SHARE * size))


@dataclass(frozen=True, slots=True)
class NamesToMatch:
    """The names of a document that a question may tell apart.

    Attributes:
        names: Its names.
        common: The words of them that names of many other documents hold.
        small: Words that it writes small; these are topics.
    """

    names: Sequence[str]
    common: Set[str]
    small: Set[str]


@dataclass(frozen=True, slots=True)
class _Match:
    """The positions of the words in a question that match names of a document.

    Attributes:
        letters: Of those that are written as names.
        numbers: Of those with a digit.
        all: Of these and others.
        is_whole: Whether a name stands in the question as a whole.
    """

    letters: Set[int]
    numbers: Set[int]
    all: Set[int]
    is_whole: bool

    def is_behind(self, other: "_Match", *, if_by_a_period: bool) -> bool:
        """Check whether another document has more of the words; the only period of a question counts or not."""
        more = other.all - self.all
        if not (self.letters <= other.letters and self.all < other.all):
            return False
        return if_by_a_period or len(more) > 1 or more != other.numbers


def told_apart(query: str, tokens: Sequence[Token], documents: Mapping[str, NamesToMatch]) -> dict[str, list[int]]:
    """Find the documents that a question tells apart.

    A report of another year may answer too. So where only a period tells two apart, both are returned if they aren't
    too many.

    Returns:
        The positions of the words that name it, by document; none if there are more than `MAX_NAMED`.
    """
    asked = [each for each in keys_of(query) if tokens[each.first].word not in CONNECTORS]
    matches = {doc_id: _match(tokens, asked, document) for doc_id, document in documents.items()}
    found = {doc_id: match for doc_id, match in matches.items() if match is not None}
    if any(each.letters for each in found.values()):
        found = {doc_id: each for doc_id, each in found.items() if each.letters}
    best: dict[str, _Match] = {}
    for counts in (False, True):
        best = {
            doc_id: each
            for doc_id, each in found.items()
            if not any(each.is_behind(other, if_by_a_period=counts) for other in found.values())
        }
        whole = [each for each in best.values() if each.is_whole]
        best = {
            doc_id: each for doc_id, each in best.items() if each.is_whole or not any(w.all >= each.all for w in whole)
        }
        if len(best) <= MAX_NAMED:
            break
    told = {doc_id: sorted(each.letters | each.numbers) for doc_id, each in best.items()}
    is_one = len(told) == 1 or (told and set.intersection(*map(set, told.values())))
    # Of "works on A, B and C", not all are documents.
    is_sure = is_one or COMPARES.search(query) or all(_is_led_to(tokens, of_it) for of_it in told.values())
    return told if len(told) <= MAX_NAMED and is_sure else {}


def _is_led_to(tokens: Sequence[Token], name: Sequence[int]) -> bool:
    """Check whether a preposition or an article stands before a word of a name that isn't a number."""
    before = (tokens[at - 1].word for at in name if at and not _has_digit(tokens[at].word))
    return any(word in LEADING for word in before)


def _match(tokens: Sequence[Token], asked: Sequence[NameKey], document: NamesToMatch) -> _Match | None:
    letters, numbers, every = set[int](), set[int](), set[int]()
    is_sure = is_whole = False
    for name in document.names:
        of_name = keys_of_name(name)
        hits = [each for each in asked if each.key in of_name]
        for each in hits:
            places = range(each.first, each.end)
            every.update(places)
            if not any(tokens[at].is_name for at in places):
                continue
            if _has_digit(each.key):
                numbers.update(places)
            elif _is_name(tokens, each, document.small):
                letters.update(places)
        missing, share = _missing(name, {each.key for each in hits}, document.common) if hits else (1, 0.0)
        is_whole |= not missing
        is_sure |= share > MIN_SHARE_OF_NAME
    if is_sure if letters else len(numbers) > 1:
        return _Match(letters, numbers, every, is_whole)
    return None


def _is_name(tokens: Sequence[Token], key: NameKey, small: Set[str]) -> bool:
    """Check whether a key without a digit may be of a name: no part of a period as "FY", and nothing that is small."""
    token, following = tokens[key.first], tokens[key.end : key.end + 1]
    if len(key.key) <= _MAX_UNIT_CHARS or _has_digit(token.word):
        return False
    if len(token.word) <= _MAX_UNIT_CHARS and following and following[0].word[0].isdigit():
        return False
    return key.end - key.first > 1 or token.word not in small


def _missing(name: str, held: Set[str], common: Set[str]) -> tuple[int, float]:
    """Return how many words of a name before its first digit a question lacks, and the share that it has."""
    before = re.split(r"\d", name, maxsplit=1)[0]
    of_name = words_of(before if _LETTERS.search(before) else name)
    words = [word for word in of_name if word not in CONNECTORS and word.isalpha()]
    initials = _INITIALS + "".join(word[0] for word in words)
    has = set(range(max((len(key) - 1 for key in held if initials.startswith(key)), default=0)))
    has.update(at for at, word in enumerate(words) if any(each.key in held for each in keys_of(word)))
    has.update(at + more for at, both in enumerate(pairwise(words)) if _stem("".join(both)) in held for more in (0, 1))
    counted = sum(at in has or word not in common for at, word in enumerate(words))
    return len(words) - len(has), len(has) / max(1, counted)


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))
