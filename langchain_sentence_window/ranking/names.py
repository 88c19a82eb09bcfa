"""The documents that a question names: "In the Zebra contract, who pays for the audit?".

A question names a document by a whole name: a title, a file name with or without its ending, a folder. A long name such
as "Andy Karl - Awards" or "PINEGROVE_2022_10K" is also known by its parts. Documents that share such a part, as letters
for several countries or reports of several years do, are distinguished by the other words of their names.

If it names none so, names in the first lines of documents count, such as the parties of a contract, in a clause that
says where to look: "In the agreement between Zebra Technologies and Motorola Solutions, …". On contracts as PDFs
(CUAD), whose file names say little, recall at 800 characters is 46 with them and 16 without.

Names are compared by *keys*, so that "Pine Grove" names ``PINEGROVE.pdf`` and "Australian" names ``Australia.md``. A
store keeps the keys of its documents' names. Nothing here reads a store.
"""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from .placing import Span, asks_twice, find_places
from .words import Token, separated, tokens_of, words_of

MAX_NAMED = 3
"""The most documents that a question names."""

MAX_SHARED = 50
"""The most documents that a key can identify; a name that more documents share is a topic."""

FIRST_LINES = 1500
"""The characters at the beginning of a document in which names count as its own."""

_MAX_WORDS = 100
"""A longer question is a text, and names nothing."""

_MAX_NAME_WORDS = 9
_MIN_LONG_NAME = 4
_MIN_PLAIN_WORDS = 3
"""The fewest words of a name in a question that writes no word as a name."""

_PART_END = re.compile(r"\s[-–—|]\s|[,:;()]|(?:19|20)\d\d")
_ENDING = re.compile(r"(?<=....)(?:isch|ian|ien|ese|ish|an|en|ic|sh|[aeiosy])++$")
# A year, as in "FY2024", and what follows without a space, as in "2024Q2".
_YEAR = re.compile(r"(?:19|20)\d\d|(?<=(?:19|20)\d\d)[^\W_]+")
_COUNT = re.compile(r"\d{1,3}|(?:19|20)\d\d|.")
_ARTICLES = frozenset({"a", "an", "the"})


@dataclass(frozen=True, slots=True)
class NamedDocument:
    """A document that a question names.

    Attributes:
        doc_id: The document.
        words: The words of the question that name it, in lower case.
        name: The name of the document that they are, or are a part of; of its first lines, all words that the question
            has.
    """

    doc_id: str
    words: tuple[str, ...]
    name: str


@dataclass(frozen=True, slots=True)
class DocumentNames:
    """The names of documents.

    Attributes:
        titles: The titles, file names, folders and values of other keys, by ``doc_id``.
        first_lines: The keys of names in the first lines of their texts, see `keys_in`, by ``doc_id``.
    """

    titles: Mapping[str, Sequence[str]]
    first_lines: Mapping[str, Set[str]]


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


class Phrase(NamedTuple):
    """Words of a question that may be a name.

    Attributes:
        key: Their key.
        first: The position of the first word.
        end: One past the position of the last.
        verbatim: As they are written, in lower case, if a name must be written so, as "tool-use.md" is; else empty.
    """

    key: str
    first: int
    end: int
    verbatim: str


@dataclass(frozen=True, slots=True)
class QuestionPhrases:
    """A question, read for names.

    Attributes:
        text: The question.
        tokens: Its words.
        phrases: Those of its words that may be names.
    """

    text: str
    tokens: Sequence[Token]
    phrases: Sequence[Phrase]

    @property
    def keys(self) -> list[str]:
        """The keys of its phrases, each once."""
        return list(dict.fromkeys([phrase.key for phrase in self.phrases]))

    def span(self, phrase: Phrase) -> Span:
        """Return where a phrase is in the text."""
        return self.tokens[phrase.first].start, self.tokens[phrase.end - 1].end


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
    named = list(filter(None, [words, *parts]))
    # "Best Buy" has no ending, but "BESTBUY" has one.
    return frozenset([*map(_spelling_key, named), *map("".join, named)])


def keys_in(text: str) -> set[str]:
    """Return the keys of names in a text: of each two capitalized words in a row, as in "Zebra Technologies Corp.".

    So a name is also found by a part of it, and a single word never is one. "Bank of Norland" counts as two words.
    """
    keys: set[str] = set()
    before = ""
    for word in separated(text).split():
        if word[0].isupper():
            word = word.lower()
            if before:
                keys.add(before + _stem(word))
            before = word
        else:
            before = before + word if word == "of" and before else ""
    return keys


def read_question(text: str) -> QuestionPhrases:
    """Find the phrases of a question that may be names.

    Such a phrase begins with a capital or a digit and holds a word that is written as a name, or is written as one
    word, as a file name is. If the question writes no word as a name, any longer phrase may be one.
    """
    tokens = tokens_of(text)
    if len(tokens) > _MAX_WORDS:
        return QuestionPhrases(text, tokens, ())
    is_plain = not any(token.is_name for token in tokens)
    stems = [_stem(token.word) for token in tokens]
    phrases: list[Phrase] = []
    for first, token in enumerate(tokens):
        if token.word in _ARTICLES:
            continue
        before, is_name = "", False
        for at, last in enumerate(tokens[first : first + _MAX_NAME_WORDS], first):
            key = before + stems[at]
            before += last.word
            is_name = is_name or last.is_name
            written = text[token.start : last.end]
            is_glued = at > first and " " not in written
            is_large = is_name and not written[0].islower()
            if not (is_large or is_glued or (is_plain and at - first >= _MIN_PLAIN_WORDS - 1)):
                continue
            if _COUNT.fullmatch(key) or (at == first and _is_of_longer_name(text, tokens, at)):
                continue
            phrases.append(Phrase(key, first, at + 1, "" if is_large else written.lower() if is_glued else ""))
    return QuestionPhrases(text, tokens, phrases)


def find_names(question: QuestionPhrases, names: DocumentNames) -> Naming | None:
    """Find the documents that a question names by their titles, else by their first lines.

    Args:
        question: The question.
        names: The names of all documents that have one of its keys, or of more.

    Returns:
        ``None`` if it names no document, or more than `MAX_NAMED`.
    """
    owners: dict[str, dict[str, str]] = {}
    for doc_id in sorted(names.titles):
        for name in names.titles[doc_id]:
            for key in name_keys(name):
                owners.setdefault(key, {}).setdefault(doc_id, name)
    return _naming(question, question.phrases, owners) or _by_first_lines(question, names.first_lines)


def _by_first_lines(question: QuestionPhrases, keys: Mapping[str, Set[str]]) -> Naming | None:
    """Find documents by the keys in their first lines, which count only in a clause that says where to look.

    A text mentions many names, so elsewhere in a question, they would name documents that it isn't about.
    """
    known = set[str]().union(*keys.values())
    # "Agreement between" isn't a name, though a text may write "AGREEMENT BETWEEN".
    phrases = [each for each in question.phrases if each.key in known and question.tokens[each.end - 1].is_name]
    placed, _ = find_places(question.text, list(map(question.span, phrases)))
    phrases = [phrase for phrase in phrases if question.span(phrase) in placed]
    owners: dict[str, dict[str, str]] = {}
    for doc_id in sorted(keys):
        own = [phrase for phrase in phrases if phrase.key in keys[doc_id]]
        positions = {at for phrase in own for at in range(phrase.first, phrase.end)}
        # All names together: of several contracts of one party, the one that has the question's other party is meant.
        name = " ".join([question.tokens[at].word for at in sorted(positions)])
        for phrase in own:
            owners.setdefault(phrase.key, {})[doc_id] = name
    return _naming(question, phrases, owners)


def _naming(
    question: QuestionPhrases, candidates: Sequence[Phrase], owners: Mapping[str, Mapping[str, str]]
) -> Naming | None:
    """Find the documents that phrases name, by the names of the documents that have their keys."""
    phrases = [
        phrase
        for phrase in candidates
        if phrase.key in owners and any(phrase.verbatim in name.lower() for name in owners[phrase.key].values())
    ]
    if not phrases:
        return None
    asked = {_stem(token.word) for token in question.tokens} | {*_YEAR.findall(question.text.lower())}
    named: dict[str, NamedDocument] = {}
    spans: list[Span] = []
    for phrase in phrases:
        if any(other.first <= phrase.first and phrase.end <= other.end and other != phrase for other in phrases):
            continue  # it is a part of a longer name
        words = tuple(token.word for token in question.tokens[phrase.first : phrase.end])
        best = _best_documents(phrase.key, owners[phrase.key], asked)
        if len(best) <= MAX_NAMED:
            spans.append(question.span(phrase))
            for doc_id, name in best.items():
                named.setdefault(doc_id, NamedDocument(doc_id, words, name))
    if not 0 < len(named) <= MAX_NAMED:
        return None
    placed, searched = find_places(question.text, spans)
    return Naming(tuple(named.values()), placed.issuperset(spans), asks_twice(question.text), searched)


def _is_of_longer_name(text: str, tokens: Sequence[Token], at: int) -> bool:
    """Check whether a word is next to another that is written as a name: "Kenny" of "Kenny Rogers" names no Kenny.

    Without this check, 27 of 100 questions of HotpotQA name a document when the right ones are missing, and 10 of 165
    of FeTaQA; with it 24 and 6.
    """
    for before, after, other in ((at - 1, at, at - 1), (at, at + 1, at + 1)):
        if before < 0 or after == len(tokens) or text[tokens[before].end : tokens[after].start].strip(" -"):
            continue
        neighbor = tokens[other]
        word = text[neighbor.start : neighbor.end]
        # "US" and "FY22" may precede or follow any name.
        if neighbor.is_name and neighbor.word not in _ARTICLES and word.isalpha() and not word.isupper():
            return True
    return False


def _best_documents(key: str, names: Mapping[str, str], asked: set[str]) -> dict[str, str]:
    """Return the documents of a key whose names have most words of the question, best without others."""
    ranks = {}
    for doc_id, name in names.items():
        words = _words_of_name(name)
        ranks[doc_id] = len(asked & {*map(_stem, words), *_YEAR.findall(name.lower())}), _spelling_key(words) == key
    highest = max(ranks.values())
    return {doc_id: names[doc_id] for doc_id, rank in ranks.items() if rank == highest}


def _words_of_name(name: str) -> list[str]:
    words = words_of(name)
    return words[1:] if len(words) > 1 and words[0] in _ARTICLES else words


def _spelling_key(words: Sequence[str]) -> str:
    """Return what words have in common with other ways to write them: they are one word, without its endings."""
    return "".join([*words[:-1], *map(_stem, words[-1:])])


def _stem(word: str) -> str:
    return _ENDING.sub("", word)
