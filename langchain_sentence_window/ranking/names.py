"""The documents that a question names: "In the agreement between Zebra and Motorola, who pays for the audit?".

A *name word* of a document stands in its head or in one of its names, and most sentences of the collection that hold
the word are in that document. A question names a document by two of its name words, by one that hardly any other
document holds, or by a whole name such as a title or a file name. At least one of the words must be written as a name,
which topics rarely are.

A question is *limited* to a document if a clause of it only says where to look. Otherwise it *mentions* the document,
and its answer may be elsewhere. Words that only say where are left out of what is searched in the document, as they
attract all sentences that repeat its name.

What is known of words and documents is an `Evidence`, which a store collects for the words of a question; see
`query_words`. Nothing here reads a store.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from .names_apart import COMPARES, MAX_NAMED, NamesToMatch, telling_keys, told_apart
from .placing import (
    CONNECTORS,
    MIN_LEFT,
    asks_twice,
    clauses_that_place,
    is_glued,
    runs_of_name,
    says_where,
    widened,
    without_words,
)
from .words import Token, is_small, runs_of, tokens_of, words_of

HEAD_CHARS = 1_500
"""The characters at the beginning of a document in which its names are looked for."""

MAX_WORDS = 64
"""The most words of a question that are looked up; a longer question is a text, and names nothing by itself."""

MIN_SHARE = 0.8
"""The least share of the sentences with a name word that are in its documents."""

MIN_SENTENCES = 2
"""The least number of sentences of a document that hold a name word."""


@dataclass(frozen=True, slots=True)
class QueryWords:
    """The words of a question in lower case, each once.

    Attributes:
        written: Those that it writes as names; see `Token`.
        others: The others.
        keys: Keys that may tell documents apart, each with its only word; see `telling_keys`.
    """

    written: tuple[str, ...]
    others: tuple[str, ...]
    keys: tuple[tuple[str, str], ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """All words, those written as names first."""
        return self.written + self.others


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
    """The names of a document.

    Attributes:
        head: Its first characters; see `HEAD_CHARS`.
        names: Its title, its file name and folder, and other values of metadata.
        common: The words of them that names of many others hold; ``None`` if the question can't tell it apart by names.
    """

    head: str
    names: Sequence[str] = ()
    common: Set[str] | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """The facts that tell which documents a question names.

    Attributes:
        words: Where the sentences are that hold a word, by the word in lower case. A word that is too common for a
            name is left out. One that no sentence holds has no ``sentences``, and the documents of which a name holds
            it, with 0.
        documents: The names of documents by ``doc_id``: of those in ``words``, and of those with a name that shares
            words with the question.
        is_complete: Whether the sentences are those of the collection, and not only what a search found. Of a few
            sentences, those with a word may be in one document by chance. Then no word names a document alone, and two
            must be written as names.
    """

    words: Mapping[str, WordUse]
    documents: Mapping[str, DocumentNames]
    is_complete: bool = True


@dataclass(frozen=True, slots=True)
class NamedDocument:
    """A document that a question names.

    Attributes:
        doc_id: The document.
        words: The words that name it, in the order of the question, in lower case.
        name: The name that the question holds as a whole, or all of it but its first or last word; ``None`` if it was
            named by words alone.
    """

    doc_id: str
    words: tuple[str, ...]
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Heard:
    """The documents that a question names.

    Attributes:
        documents: The documents, the one with the most words first.
        is_limited: Whether the question asks these documents, as a clause of it only says where to look. Otherwise it
            mentions them.
        asks_twice: Whether the question has two parts, so that the second may ask others.
        question: The question without the words that only say where; the question itself if there are none, or too
            little would be left.
        left_out: Those words, verbatim.
    """

    documents: tuple[NamedDocument, ...]
    is_limited: bool
    asks_twice: bool
    question: str
    left_out: tuple[str, ...]


def query_words(query: str) -> QueryWords:
    """Return the words of a question that may name a document.

    There are none if the question has more than `MAX_WORDS` different words.
    """
    every = tokens_of(query)
    tokens = [token for token in every if len(token.word) > 1]
    written = dict.fromkeys(token.word for token in tokens if token.is_name)
    others = dict.fromkeys(token.word for token in tokens if token.word not in written)
    if len(written) + len(others) > MAX_WORDS:
        return QueryWords((), ())
    return QueryWords(tuple(written), tuple(others), tuple(telling_keys(query, every).items()))


def hear(query: str, evidence: Evidence) -> Heard | None:
    """Find out which documents a question names.

    Args:
        query: The question.
        evidence: Where its words are, and the names of documents.

    Returns:
        The documents that it names; ``None`` if it names no document for sure, or more than `MAX_NAMED`.
    """
    tokens, known = tokens_of(query), _KnownDocuments(evidence.documents)
    is_plain = not any(token.is_name for token in tokens)
    if is_plain:
        # A topic, such as a plan, begins a sentence or stands in a heading too.
        capitals = {word for doc_id in evidence.documents for word in known[doc_id].only_capitals}
        tokens = [replace(token, is_name=token.word in capitals) for token in tokens]
    written = {token.word for token in tokens if token.is_name}
    question = Question(query, tokens, is_plain, evidence, known, written)
    whole = whole_names(question)
    of_whole = {at for each in whole for at in range(each.first, each.end)}
    if whole:
        named = [NamedDocument(doc_id, each.words, each.name) for each in whole for doc_id in each.doc_ids]
        tokens = [token for at, token in enumerate(tokens) if at not in of_whole]
        written = {token.word for token in tokens if token.is_name}
        others = named_alone(replace(question, tokens=tokens, written=written), names_another=True)
        named += [each for each in others if each.doc_id not in {known.doc_id for known in named}]
    else:
        named = named_by_words(question)
    told = {} if is_plain else _told_apart(question, named)
    if told:
        named = [NamedDocument(each, tuple(question.tokens[at].word for at in of_it)) for each, of_it in told.items()]
    named = [each for each in named if not _is_of_another_name(question, each, told)]
    if not 0 < len(named) <= MAX_NAMED:
        return None
    places = [_places_of_name(question, each, of_whole, told) for each in named]
    of_names = set[int]().union(*places)
    clauses, of_asker = clauses_that_place(query, question.tokens, of_names)
    is_limited = all(of_it & (clauses | of_asker) for of_it in places)
    gone = says_where(question.tokens, of_names) | (clauses if is_limited else set())
    without, removed = query, tuple[str, ...]()
    if gone and len(question.tokens) - len(gone) >= MIN_LEFT:
        without, removed = without_words(query, question.tokens, gone)
    return Heard(tuple(named), is_limited, asks_twice(query, question.tokens), without, removed)


MIN_SHARE_ALONE = 0.95
"""`MIN_SHARE` of a word that names a document alone, though none of its names holds it."""

MIN_SENTENCES_ALONE = 5
"""`MIN_SENTENCES` of a word that names a document alone."""

MIN_SHARE_OF_WHOLE = 0.5
"""`MIN_SHARE` of a word that is the whole of a document's name."""

MIN_LIKENESS = 0.6
"""The least share of the words in two documents' heads and names that both have, for the two to share a name."""

MAX_RIVAL_SHARE = 1 / 3
"""The largest share of its name words that a document may have which isn't named."""

_MIN_WORDS = 2
_MIN_WORDS_OF_PART = 3
_MIN_PLAIN_WORDS = 3  # of a whole name in a question that writes no word as a name
_MIN_WORD_CHARS = 2
_MIN_CHARS_ALONE = 3
_MIN_PLURAL_CHARS = 4


@dataclass(frozen=True, slots=True)
class WholeName:
    """A name that stands in the question as a whole, from its word ``first`` to the one before ``end``."""

    name: str
    words: tuple[str, ...]
    doc_ids: tuple[str, ...]
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """The words by which a document can be named.

    Attributes:
        words: The words of its head and its names, in lower case.
        capitals: Those of them that begin with a capital or a digit somewhere.
        only_capitals: Those that begin so wherever they stand in the head.
        of_names: The words of its names.
        small: Those of its head that it writes small.
    """

    words: Set[str]
    capitals: Set[str]
    only_capitals: Set[str]
    of_names: Set[str]
    small: Set[str]


@dataclass(eq=False, repr=False)
class _KnownDocuments(dict[str, KnownDocument]):
    """Known documents by ``doc_id``, each looked at when it is first asked for, as most questions ask for none.

    Attributes:
        names: The names of documents.
    """

    names: Mapping[str, DocumentNames]

    def __missing__(self, doc_id: str) -> KnownDocument:
        head = [run.text for run in runs_of(self.names[doc_id].head[:HEAD_CHARS])]
        of_names = [run.text for name in self.names[doc_id].names for run in runs_of(name)]
        capitals = {word.lower() for word in (*head, *of_names) if not is_small(word)}
        small = {word.lower() for word in head if is_small(word)}
        own = frozenset(map(str.lower, of_names))
        known = self[doc_id] = KnownDocument(own.union(map(str.lower, head)), capitals, capitals - small, own, small)
        return known


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and what is known of its words.

    Attributes:
        query: The question.
        tokens: Its words. If it writes none as a name, those are that a known document always writes with a capital.
        is_plain: Whether it writes none as a name.
        evidence: Where its words are, and the names of documents.
        known: The words of the known documents' heads and names, by ``doc_id``.
        written: The words of ``tokens`` that are written as names.
    """

    query: str
    tokens: Sequence[Token]
    is_plain: bool
    evidence: Evidence
    known: _KnownDocuments
    written: Set[str]


def _is_of_another_name(question: Question, named: NamedDocument, told: Mapping[str, Sequence[int]]) -> bool:
    """Check whether the words that name a document are of a longer name, of something else.

    "Kenny Rogers" doesn't name the page of Kenny Garrett. Without this check, 21 of 100 questions of HotpotQA named a
    document when the right ones were missing, and 17 of 165 of FeTaQA; with it 20 and 10.
    """
    tokens, own = question.tokens, _words_that_name(question, named, told)
    is_whole = named.name is not None and len(words_of(named.name)) <= len(named.words) > 1
    if is_whole or max(own) - min(own) >= len(own):  # all of a name is there, or words apart from each other agree
        return False
    for at, other in ((at, at + step) for at in own for step in (-1, 1)):
        if other in own or not 0 <= other < len(tokens):
            continue
        between = question.query[tokens[min(at, other)].end : tokens[max(at, other)].start]
        word = question.query[tokens[other].start : tokens[other].end]
        # "US" and "FY22" may stand next to any name.
        is_name = tokens[other].is_name and word.isalpha() and not word.isupper()
        if is_name and not between.strip(" -") and tokens[other].word not in question.known[named.doc_id].words:
            return True
    return False


def _words_that_name(question: Question, named: NamedDocument, told: Mapping[str, Sequence[int]]) -> set[int]:
    """Return the positions of the words that name a document."""
    naming = set(named.words)
    return set(told.get(named.doc_id, ())) or {at for at, each in enumerate(question.tokens) if each.word in naming}


def _places_of_name(
    question: Question, named: NamedDocument, of_whole: Set[int], told: Mapping[str, Sequence[int]]
) -> set[int]:
    """Return the positions of the words that name a document, and of those that are written as one name with them."""
    query, tokens = question.query, question.tokens
    own = _words_that_name(question, named, told)
    if told or of_whole & own:
        runs = [(at, at) for at in own]
    else:
        runs = [
            run
            for run in runs_of_name(query, tokens, question.known[named.doc_id].words)
            if own.intersection(range(run[0], run[1] + 1))
        ]
    return own.union(*(range(*widened(query, tokens, first, last + 1)) for first, last in runs))


def _told_apart(question: Question, named: Sequence[NamedDocument]) -> dict[str, list[int]]:
    """Return the documents that are told apart by names, unless others are named by more words."""
    names = {
        doc_id: NamesToMatch(document.names, document.common, question.known[doc_id].small)
        for doc_id, document in question.evidence.documents.items()
        if document.common is not None
    }
    told = told_apart(question.query, question.tokens, names) if names else {}
    words = {question.tokens[at].word for of_it in told.values() for at in of_it}
    is_known = {each.doc_id for each in named} == told.keys() and any(len(each.words) > 1 for each in named)
    return {} if is_known or any(not words.issuperset(each.words) for each in named) else told


def named_by_words(question: Question) -> list[NamedDocument]:
    """Return the documents that a question names by single words, most words first; none if that isn't sure."""
    for sharing in range(1, MAX_NAMED + 1):
        words = _name_words(question, sharing)
        named = _named_by_several(question, words) if words else []
        if sharing == 1 and not named and (alone := named_alone(question, words)):
            return alone
        if sharing > 1 and len(named) == 1:
            continue  # shared words say nothing of one of those that share them
        if named:
            return [NamedDocument(doc_id, tuple(words[doc_id])) for doc_id in named]
    return []


def named_alone(
    question: Question, words: Mapping[str, Sequence[str]] | None = None, *, names_another: bool = False
) -> list[NamedDocument]:
    """Return the documents that a question names by a single word each; none if that isn't sure.

    Args:
        question: The question.
        words: Its name words by document; ``None`` to look for them.
        names_another: Whether it names another document too. Then a word that is the whole of a name is one for sure.
    """
    if question.is_plain or not question.evidence.is_complete:
        return []
    words = _name_words(question, 1) if words is None else words
    if not all(_count(of_it) == 1 and _names_alone(of_it[0], doc_id, question) for doc_id, of_it in words.items()):
        return []
    named = {doc_id: of_it[0] for doc_id, of_it in words.items()}
    whole = _one_word_names(question)
    if names_another or named or any(_is_sure_of_whole(doc_id, word, question) for doc_id, word in whole.items()):
        named |= whole  # what a question names next to a name is a name more likely than a topic
    if len(named) == 1 and not names_another and COMPARES.search(question.query):
        (known,) = (question.known[doc_id] for doc_id in named)
        if not question.written <= known.words:
            return []  # the other side would be found nowhere
    return [NamedDocument(doc_id, (word,)) for doc_id, word in sorted(named.items())]


def whole_names(question: Question) -> list[WholeName]:
    """Find the names that stand in the question, without those that are a part of a longer one.

    A name of several words may lack its first or its last one, such as that of a company.
    """
    owners: dict[tuple[str, ...], dict[str, str]] = {}
    of_parts: dict[tuple[str, ...], dict[str, str]] = {}
    for doc_id, document in question.evidence.documents.items():
        for name in document.names:
            words = tuple(words_of(name))
            owners.setdefault(words, {}).setdefault(doc_id, name)
            for part in (words[1:], words[:-1]) if len(words) > _MIN_WORDS_OF_PART else ():
                of_parts.setdefault(part, {}).setdefault(doc_id, name)
    asked = [token.word for token in question.tokens]
    found = [
        WholeName(min(of_documents.values()), name, tuple(sorted(of_documents)), first, first + len(name))
        for name, of_documents in {**of_parts, **owners}.items()
        if len(name) > 1 and len(of_documents) <= MAX_NAMED
        for first in range(len(asked) - len(name) + 1)
        if asked[first] == name[0] and tuple(asked[first : first + len(name)]) == name
        for tokens in [question.tokens[first : first + len(name)]]
        if _is_written_as_name(question, tokens, of_documents.values())
        if name in owners or sum(token.is_name for token in tokens) >= _MIN_WORDS
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


def _is_written_as_name(question: Question, tokens: Sequence[Token], names: Iterable[str]) -> bool:
    """Check whether a word is written as a name, or all stand there verbatim and as one, as a file name does."""
    if any(token.is_name for token in tokens) and (not question.is_plain or len(tokens) >= _MIN_PLAIN_WORDS):
        return True
    written = question.query[tokens[0].start : tokens[-1].end]
    # "tool_use" of a program isn't the page tool-use.md.
    return is_glued(written) and any(written.lower() in name.lower() for name in names)


def _name_words(question: Question, sharing: int) -> dict[str, list[str]]:
    """Return the name words that the question holds, by document, where up to ``sharing`` documents share a name."""
    found: dict[str, list[str]] = {}
    for word in dict.fromkeys(token.word for token in question.tokens if token.word in question.evidence.words):
        for doc_id in _documents_of(word, question, sharing):
            found.setdefault(doc_id, []).append(word)
    return found


def _documents_of(word: str, question: Question, sharing: int) -> list[str]:
    """Return the documents of which a word is a name word."""
    use, known = question.evidence.words[word], question.known
    if len(word) < _MIN_WORD_CHARS:
        return []
    if not use.sentences:  # in names alone
        return sorted(use.documents) if len(use.documents) <= sharing else []
    most = sorted(use.documents.items(), key=lambda each: (-each[1], each[0]))
    inside = 0
    for number, (doc_id, count) in enumerate(most[:sharing], 1):
        inside += count
        document = known[doc_id] if doc_id in question.evidence.documents else None
        if document is None or word not in document.words or (count < MIN_SENTENCES and word not in document.of_names):
            return []
        best = known[most[0][0]].words
        if number > 1 and len(best & document.words) < MIN_LIKENESS * len(best | document.words):
            return []
        if inside >= MIN_SHARE * use.sentences:
            return [each for each, _ in most[:number]]
    return []


def _named_by_several(question: Question, words: Mapping[str, Sequence[str]]) -> list[str]:
    counts = {doc_id: _count(of_it) for doc_id, of_it in words.items()}
    least = 1 if question.evidence.is_complete else _MIN_WORDS  # written as names
    named = [
        doc_id
        for doc_id in sorted(counts, key=lambda each: (-counts[each], each))
        if counts[doc_id] >= _MIN_WORDS and _written(question, words, doc_id) >= least
    ]
    if not named or len(named) > MAX_NAMED:
        return []
    # Neither a topic that only another document has makes a name less sure, nor a word of the named ones' own heads.
    own = frozenset().union(*(question.known[doc_id].words for doc_id in named))
    others = {doc_id: [word for word in of_it if word not in own] for doc_id, of_it in words.items()}
    rivals = [_written(question, others, doc_id) for doc_id in words if doc_id not in named]
    return [] if max(rivals, default=0) > MAX_RIVAL_SHARE * counts[named[0]] else named


def _written(question: Question, words: Mapping[str, Sequence[str]], doc_id: str) -> int:
    """Count the name words of a document that are written as names: in the question, or else in that document."""
    written = set(question.written).intersection(words[doc_id])
    return _count(written & question.known[doc_id].only_capitals if question.is_plain else written)


def _names_alone(word: str, doc_id: str, question: Question) -> bool:
    use, known = question.evidence.words[word], question.known[doc_id]
    inside, least = use.documents[doc_id], MIN_SHARE if word in known.of_names else MIN_SHARE_ALONE
    is_everywhere_there = inside >= max(MIN_SENTENCES_ALONE, least * use.sentences) and word in known.capitals
    is_long = len(word) >= _MIN_CHARS_ALONE or word in known.of_names  # "IP" is a topic
    return word in question.written and is_long and (not use.sentences or is_everywhere_there)


def _one_word_names(question: Question) -> dict[str, str]:
    """Return the documents of which a word of the question is a whole name, written as one, and no other's."""
    owners: dict[str, list[str]] = {}
    for doc_id, document in question.evidence.documents.items():
        for word in {words[0] for name in document.names if len(words := words_of(name)) == 1}:
            owners.setdefault(word, []).append(doc_id)
    return {
        of_word[0]: word
        for word, of_word in owners.items()
        if len(of_word) == 1 and word in question.written and len(word) >= _MIN_WORD_CHARS
    }


def _is_sure_of_whole(doc_id: str, word: str, question: Question) -> bool:
    """Check whether a word that is the whole of a name is mostly there, or the other names are in the question, too."""
    names = {each: question.known[each].of_names for each in question.evidence.documents}
    others = [set(map(_singular, names[each])) for each in names if each != doc_id]
    own = set(map(_singular, names[doc_id] - CONNECTORS)) - {_singular(word)}
    named = own.intersection(_singular(token.word) for token in question.tokens)
    if any(not others or any(each not in of_it for of_it in others) for each in named):  # a folder may hold all of them
        return True
    use = question.evidence.words.get(word)
    return use is not None and use.documents.get(doc_id, 0) >= max(MIN_SENTENCES, MIN_SHARE_OF_WHOLE * use.sentences)


def _count(words: Iterable[str]) -> int:
    """Count words; the singular and the plural of a word are one."""
    return len(set(map(_singular, words)))


def _singular(word: str) -> str:
    is_plural = len(word) >= _MIN_PLURAL_CHARS and word.endswith("s") and not word.endswith("ss")
    return word[:-1] if is_plural else word
