"""The documents that a question names: "In the Zebra contract, who pays for the audit?".

A question names a document by a whole name: a title, a file name with or without its ending, a folder. A long name such
as "Andy Karl - Awards" or "PINEGROVE_2022_10K" is also known by its parts. Documents that share such a part, as letters
for several countries or reports of several years do, are told apart by the other words of their names.

Names are compared by *keys*, so that "Pine Grove" names ``PINEGROVE.pdf`` and "Australian" names ``Australia.md``. A
store keeps the keys of its documents' names. Nothing here reads a store.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from .placing import asks_twice, places_of_search
from .words import Token, tokens_of, words_of

MAX_NAMED = 3
"""The most documents that a question names."""

MAX_SHARED = 50
"""The most documents that a key tells anything of; a name that more documents share is a topic."""

_MAX_WORDS = 64
"""A longer question is a text, and names nothing."""

_MAX_NAME_WORDS = 9
_MIN_LONG_NAME = 4
_MIN_KEY_CHARS = 3
_MIN_PLAIN_WORDS = 3
"""The fewest words of a name in a question that writes no word as a name."""

_PART_END = re.compile(r"\s[-–—|]\s|[,:;()]|(?:19|20)\d\d")
_ENDING = re.compile(r"(?<=....)(?:isch|ian|ien|ese|ish|an|en|ic|sh|[aeiosy])++$")
_YEAR = re.compile(r"(?:19|20)\d\d")
_ARTICLES = frozenset({"a", "an", "the"})


@dataclass(frozen=True, slots=True)
class NamedDocument:
    """A document that a question names.

    Attributes:
        doc_id: The document.
        words: The words of the question that name it, in lower case.
        name: The name of the document that they are, or are a part of.
    """

    doc_id: str
    words: tuple[str, ...]
    name: str


@dataclass(frozen=True, slots=True)
class Naming:
    """The documents that a question names, and how.

    Attributes:
        documents: The documents, in the order of the question.
        is_limited: Whether the question asks these documents, as a clause of it only says where to look. Otherwise it
            mentions them, and its answer may be elsewhere.
        asks_twice: Whether the question has two parts, so that the second may ask others.
        question: The question without the words that only say where, as these attract all sentences that repeat the
            name; the question itself if there are none, or too little would be left.
    """

    documents: tuple[NamedDocument, ...]
    is_limited: bool
    asks_twice: bool
    question: str


@dataclass(frozen=True, slots=True)
class _Phrase:
    """Words of a question that may be a name.

    Attributes:
        key: Their key.
        first: The position of the first.
        end: One past the position of the last.
        verbatim: The words as they are written if that is no reason to take them for a name, as in "tool-use.md"; such
            a name must be written in the same way.
    """

    key: str
    first: int
    end: int
    verbatim: str = ""


@lru_cache(10_000)
def name_keys(name: str) -> frozenset[str]:
    """Return the keys by which a name is found.

    They are those of the whole, of its first and its last part, and of a long name without its first or last word,
    which is often that of a company.
    """
    words = _words_of_name(name)
    parts = [_words_of_name(part) for part in (_PART_END.split(name)[0], name.rpartition(" - ")[2])]
    if len(words) >= _MIN_LONG_NAME:
        parts += [words[1:], words[:-1]]
    return frozenset(filter(None, [_key(words), *(_key(part) for part in parts if not all(map(str.isdigit, part)))]))


def query_keys(query: str) -> list[str]:
    """Return the keys of the phrases in a question that may be names."""
    return list(dict.fromkeys(phrase.key for phrase in _phrases(query, tokens_of(query))))


def find_names(query: str, documents: Mapping[str, Sequence[str]]) -> Naming | None:
    """Find the documents that a question names.

    Args:
        query: The question.
        documents: The names of all documents that have one of its keys, or of more, by ``doc_id``.

    Returns:
        ``None`` if it names no document, or more than `MAX_NAMED`.
    """
    tokens = tokens_of(query)
    owners: dict[str, dict[str, str]] = {}
    for doc_id in sorted(documents):
        for name in documents[doc_id]:
            for key in name_keys(name):
                owners.setdefault(key, {}).setdefault(doc_id, name)
    phrases = [
        phrase
        for phrase in _phrases(query, tokens)
        if any(phrase.verbatim in name.lower() for name in owners.get(phrase.key, {}).values())
    ]
    asked = {_key([token.word]) for token in tokens}
    named: dict[str, NamedDocument] = {}
    spans: list[tuple[int, int]] = []
    for phrase in phrases:
        if any(other.first <= phrase.first and phrase.end <= other.end and other != phrase for other in phrases):
            continue  # it is a part of a longer name
        words = tuple(token.word for token in tokens[phrase.first : phrase.end])
        best = _best(phrase.key, owners[phrase.key], asked)
        if len(best) <= MAX_NAMED:
            spans.append((phrase.first, phrase.end))
            for doc_id, name in best.items():
                named.setdefault(doc_id, NamedDocument(doc_id, words, name))
    if not 0 < len(named) <= MAX_NAMED:
        return None
    is_limited, searched = places_of_search(query, tokens, spans)
    return Naming(tuple(named.values()), is_limited, asks_twice(query), searched)


def _phrases(query: str, tokens: Sequence[Token]) -> list[_Phrase]:
    """Return the phrases of a question that may be names, none of which begins with an article."""
    if len({token.word for token in tokens}) > _MAX_WORDS:
        return []
    is_plain = not any(token.is_name for token in tokens)
    found: list[_Phrase] = []
    for first, token in enumerate(tokens):
        if token.word in _ARTICLES:
            continue
        is_name = False
        for end in range(first + 1, min(first + _MAX_NAME_WORDS, len(tokens)) + 1):
            is_name |= tokens[end - 1].is_name
            length = end - first
            key = _key(each.word for each in tokens[first:end])
            written = query[token.start : tokens[end - 1].end].lower()
            is_glued = length > 1 and not any(map(str.isspace, written))
            if not (is_name or is_glued or (is_plain and length >= _MIN_PLAIN_WORDS)):
                continue
            if len(key) < _MIN_KEY_CHARS or _YEAR.fullmatch(key):
                continue
            if length == 1 and _is_of_longer_name(query, tokens, first):
                continue
            found.append(_Phrase(key, first, end, written if is_glued and not is_name else ""))
    return found


def _is_of_longer_name(query: str, tokens: Sequence[Token], at: int) -> bool:
    """Check whether a word stands next to another that is written as a name: "Kenny" of "Kenny Rogers" names no Kenny.

    Without this check, 21 of 100 questions of HotpotQA named a document when the right ones were missing, and 17 of 165
    of FeTaQA; with it 20 and 10.
    """
    for one, other, neighbor in ((at - 1, at, at - 1), (at, at + 1, at + 1)):
        if one >= 0 and other < len(tokens) and tokens[neighbor].is_name:
            word = query[tokens[neighbor].start : tokens[neighbor].end]
            between = query[tokens[one].end : tokens[other].start]
            # "US" and "FY22" may stand next to any name.
            if not between.strip(" -") and word.isalpha() and not word.isupper():
                return True
    return False


def _best(key: str, names: Mapping[str, str], asked: set[str]) -> dict[str, str]:
    """Return the documents of a key whose names have most words of the question, best without others."""
    ranks = {}
    for doc_id, name in names.items():
        words = _words_of_name(name)
        ranks[doc_id] = len(asked.intersection(_key([word]) for word in words)), _key(words) == key
    highest = max(ranks.values())
    return {doc_id: names[doc_id] for doc_id, rank in ranks.items() if rank == highest}


def _words_of_name(name: str) -> list[str]:
    words = words_of(name)
    return words[1:] if len(words) > 1 and words[0] in _ARTICLES else words


def _key(words: Iterable[str]) -> str:
    """Return what words have in common with other ways to write them: they are one word, without its last endings."""
    return _ENDING.sub("", "".join(words))
