"""Which documents does a question name?  "In the agreement between Zebra and Motorola, who pays for the audit?"

A *name word* of a document stands in its head or in one of its names, and most sentences of the collection that hold
the word are in that document. A question names a document by two of its name words, by one that hardly any other
document holds, or by a whole name such as a title or a file name. At least one of the words must be written as a name,
which topics rarely are. A name is left out of the question, as it attracts all sentences that repeat it.

What is known of words and documents is an `Evidence`, which a store collects for the words of a question; see
`query_words`. Nothing here reads a store.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

from langchain_sentence_window.ranking.name_spans import (
    Token,
    as_names,
    capitalized,
    is_glued,
    left_out,
    tokens_of,
    words_of,
)

HEAD_CHARS = 1_500
"""The characters at the beginning of a document in which its names are looked for."""

MAX_WORDS = 64
"""The most words of a question that are looked up; a longer question is a text, and names nothing by itself."""

MAX_NAMED = 3
"""The most documents that a question names, or that share a name, as versions do."""

MIN_SHARE = 0.8
"""The least share of the sentences with a name word that are in its documents."""

MIN_SHARE_ALONE = 0.95
"""The same for a word that names a document alone."""

MIN_SENTENCES = 2
"""The least number of sentences of a document that hold a name word."""

MIN_SENTENCES_ALONE = 5
"""The same for a word that names a document alone."""

MIN_LIKENESS = 0.6
"""The least share of the words in two documents' heads and names that both have, for the two to share a name."""

MAX_RIVAL_SHARE = 1 / 3
"""The largest share of its name words that a document may have which isn't named."""


@dataclass(frozen=True, slots=True)
class WordUse:
    """Where the sentences are that hold a word.

    Attributes:
        sentences: The number of sentences that hold it, or of a sample of them.
        documents: How many of these are in a document, by ``doc_id``, for the documents with the most of them.
    """

    sentences: int
    documents: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class DocumentNames:
    """What a document is called.

    Attributes:
        head: Its first characters; see `HEAD_CHARS`.
        names: Its title, its file name, and other values of metadata.
    """

    head: str
    names: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of the words of a question.

    Attributes:
        words: Where the sentences are that hold a word, by the word in lower case. A word that is too common for a
            name is left out. One that no sentence holds has no ``sentences``, and the documents of which a name holds
            it, with 0.
        documents: What documents are called, by ``doc_id``: those of ``words``, and those of which a name shares words
            with the question.
    """

    words: Mapping[str, WordUse]
    documents: Mapping[str, DocumentNames]


@dataclass(frozen=True, slots=True)
class NamedDocument:
    """A document that a question names.

    Attributes:
        doc_id: The document.
        words: The words that name it, in the order of the question, in lower case.
        name: The name that the question holds as a whole; ``None`` if it was named by words alone.
    """

    doc_id: str
    words: tuple[str, ...]
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Heard:
    """What a question names.

    Attributes:
        documents: The documents, the one with the most words first.
        question: The question without their names; the question itself if nothing could be left out.
        left_out: The parts of the question that were left out, verbatim.
    """

    documents: tuple[NamedDocument, ...]
    question: str
    left_out: tuple[str, ...]


def query_words(query: str) -> list[str]:
    """Return the words of a question that may name a document, in lower case, each once.

    Words written as names come first. There are none if the question has more than `MAX_WORDS` different words.
    """
    tokens = sorted(tokens_of(query), key=lambda token: not token.is_name)
    words = [word for word in dict.fromkeys(token.word for token in tokens) if len(word) > 1]
    return words if len(words) <= MAX_WORDS else []


def hear(query: str, evidence: Evidence) -> Heard | None:
    """Find out which documents a question names.

    Args:
        query: The question.
        evidence: What is known of its words.

    Returns:
        What it names; ``None`` if it names no document for sure, or more than `MAX_NAMED`.
    """
    tokens = tokens_of(query)
    known = {doc_id: _Known.of(names) for doc_id, names in evidence.documents.items()}
    is_plain = not any(token.is_name for token in tokens)
    if is_plain:
        tokens = as_names(tokens, reduce(set.union, (each.capitals for each in known.values()), set()))
    written = {token.word for token in tokens if token.is_name}
    whole = _whole_names(query, tokens, evidence)
    named = [NamedDocument(doc_id, each.words, each.name) for each in whole for doc_id in each.doc_ids]
    if not named:
        by_words = (
            _named_by_words(tokens, evidence, known, written, sharing, is_plain) for sharing in range(1, MAX_NAMED + 1)
        )
        named = next(filter(None, by_words), None) or []
    if not named or len(named) > MAX_NAMED:
        return None
    of_whole = {at for each in whole for at in range(each.first, each.end)}
    naming = [(known[each.doc_id].words, frozenset(each.words)) for each in named]
    question, removed = left_out(query, tokens, naming, of_whole)
    return Heard(tuple(named), question, removed)


@dataclass(frozen=True, slots=True)
class _Known:
    """The words that stand in a document's head and names, and those of them that begin with a capital there."""

    words: Set[str]
    capitals: Set[str]

    @classmethod
    def of(cls, names: DocumentNames) -> "_Known":
        texts = names.head[:HEAD_CHARS], *names.names
        return cls({word for text in texts for word in words_of(text)}, set().union(*map(capitalized, texts)))


@dataclass(frozen=True, slots=True)
class _Whole:
    """A name that stands in the question as a whole, from its word ``first`` to the one before ``end``."""

    name: str
    words: tuple[str, ...]
    doc_ids: tuple[str, ...]
    first: int
    end: int


def _whole_names(query: str, tokens: Sequence[Token], evidence: Evidence) -> list[_Whole]:
    """Find the names that stand in the question, without those that are a part of a longer one."""
    owners: dict[tuple[str, ...], dict[str, str]] = {}
    for doc_id, document in evidence.documents.items():
        for name in document.names:
            owners.setdefault(tuple(words_of(name)), {}).setdefault(doc_id, name)
    words = [token.word for token in tokens]
    found = [
        _Whole(min(of_documents.values()), name, tuple(sorted(of_documents)), first, first + len(name))
        for name, of_documents in owners.items()
        if len(name) > 1 and len(of_documents) <= MAX_NAMED
        for first in _places(name, words)
        if _is_written_as_name(query, tokens[first : first + len(name)])
    ]
    longest = [
        each
        for each in found
        if not any(
            other.first <= each.first and each.end <= other.end and len(other.words) > len(each.words)
            for other in found
        )
    ]
    firsts = {each.doc_ids: each for each in reversed(longest)}
    return sorted(firsts.values(), key=lambda each: each.first)


def _places(name: tuple[str, ...], words: Sequence[str]) -> Iterator[int]:
    for first in range(len(words) - len(name) + 1):
        if words[first] == name[0] and tuple(words[first : first + len(name)]) == name:
            yield first


def _is_written_as_name(query: str, tokens: Sequence[Token]) -> bool:
    """Check whether a word is written as a name, or all are written as one, as in a file name."""
    return any(token.is_name for token in tokens) or all(
        is_glued(query[token.end : following.start]) for token, following in pairwise(tokens)
    )


def _named_by_words(
    tokens: Sequence[Token],
    evidence: Evidence,
    known: Mapping[str, _Known],
    written: Set[str],
    sharing: int,
    is_plain: bool,
) -> list[NamedDocument] | None:
    """Return the documents with the words that name them, most words first; ``None`` if none is named for sure."""
    found: dict[str, list[str]] = {}
    for word in dict.fromkeys(token.word for token in tokens):
        for doc_id in _documents_of(word, evidence, known, sharing):
            found.setdefault(doc_id, []).append(word)
    counted = sorted(((_count(words), doc_id) for doc_id, words in found.items()), key=lambda each: (-each[0], each[1]))
    if not counted:
        return None
    most = counted[0][0]
    if most == 1:
        named = [doc_id for _, doc_id in counted]
        is_sure = (
            not is_plain
            and sharing == 1
            and all(_names_alone(found[each][0], each, evidence, known, written) for each in named)
        )
    else:
        named = [doc_id for count, doc_id in counted if count >= 2 and not written.isdisjoint(found[doc_id])]
        # A topic that only another document has doesn't make a name less sure.
        rest = [_count(written.intersection(found[doc_id])) for _, doc_id in counted if doc_id not in named]
        is_sure = bool(named) and max(rest, default=0) <= MAX_RIVAL_SHARE * most
    if not is_sure or len(named) > MAX_NAMED:
        return None
    return [NamedDocument(doc_id, tuple(found[doc_id])) for doc_id in named]


def _documents_of(word: str, evidence: Evidence, known: Mapping[str, _Known], sharing: int) -> list[str]:
    """Return the documents of which a word is a name word, ``sharing`` of them at most."""
    use = evidence.words.get(word)
    if use is None or len(word) < 2:
        return []
    if not use.sentences:  # in names alone
        return sorted(use.documents) if len(use.documents) <= sharing else []
    most = sorted(use.documents.items(), key=lambda each: (-each[1], each[0]))
    inside = 0
    for number, (doc_id, count) in enumerate(most[:sharing], 1):
        inside += count
        if count < MIN_SENTENCES or doc_id not in known or word not in known[doc_id].words:
            return []
        if number > 1 and not _are_alike(known[most[0][0]].words, known[doc_id].words):
            return []
        if inside >= MIN_SHARE * use.sentences:
            return [each for each, _ in most[:number]]
    return []


def _are_alike(words: Set[str], others: Set[str]) -> bool:
    return len(words & others) >= MIN_LIKENESS * len(words | others)


def _names_alone(word: str, doc_id: str, evidence: Evidence, known: Mapping[str, _Known], written: Set[str]) -> bool:
    use = evidence.words[word]
    inside = use.documents[doc_id]
    if not use.sentences:
        return word in written
    return (
        word in written
        and word in known[doc_id].capitals
        and inside >= MIN_SENTENCES_ALONE
        and inside >= MIN_SHARE_ALONE * use.sentences
    )


def _count(words: Iterable[str]) -> int:
    """Count words; the singular and the plural of a word are one."""
    return len(
        {word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in words}
    )
