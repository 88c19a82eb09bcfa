"""Collects what tells which documents a query names.

For each word, a few of the sentences that hold it show whether most are in one document; only then are more looked at,
and the head of that document is read. So a query that names no document costs little, whatever the store holds.

The names in the metadata of documents, by word, kept in memory and caught up with writes.

Most memory would go to words and lists. So a place is three numbers in arrays, in the order of the words' hashes.
Python draws the key of the hashes for each process, and two words in a billion billion have the same.

Samples of the sentences that hold a word: how many there are, and in which documents some of them stand.

Questions repeat words, so samples are kept until the next write.
"""

import json
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import groupby, islice
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from langchain_sentence_window._primitives import Rows
from langchain_sentence_window.documents.source_parts import names_in
from langchain_sentence_window.ranking.names import (
    HEAD_CHARS,
    MIN_SENTENCES,
    MIN_SHARE,
    DocumentNames,
    Evidence,
    QueryWords,
    WordUse,
)
from langchain_sentence_window.ranking.names_apart import MAX_NAMED, closest, common_words, keys_of_name
from langchain_sentence_window.ranking.words import words_of

from .conversion import read_metadata
from .database.reads import are_in, select_lines
from .database.schema import TEXT, Version
from .database.snapshot import Snapshot
from .lexical_index import LexicalSearcher


class WordSample(NamedTuple):
    """Sentences that hold a word.

    Attributes:
        sentences: How many there are.
        documents: How many of those that were looked at are in each document; none if there are too many.
    """

    sentences: int
    documents: Counter[int]


_FEW, _MANY = 9, 200
"""Sentences of a word that are looked at first, and if most of these are in few documents."""

_MIN_SHARE_OF_FEW = 0.5

_MAX_TELLING = 60
"""Sentences that may hold a word that tells documents apart, unless most are in few documents. A topic is in more."""

_MAX_DOCUMENTS = 8
"""The most documents whose heads are read: those with the most words."""

_MAX_HEAD_SENTENCES = 60

_Uses = dict[str, tuple[int, Counter[int]]]
"""The number of sentences that were looked at, and how many of them are in each document, by word."""


_Common = Callable[[Sequence[str]], Set[str]]
"""Returns the words of names that names of many other documents hold."""


class Naming:
    """Collects evidence; it keeps the names that are in metadata, and what it looked up of words."""

    def __init__(self) -> None:
        """Start without names."""
        self._catalog = NameCatalog()
        self._samples = WordSamples()

    def evidence(
        self,
        snapshot: Snapshot,
        searcher: LexicalSearcher,
        words: QueryWords,
        keys: Sequence[str],
        allowed: Rows | None,
    ) -> Evidence:
        """Collect what is known of the words of a query.

        Args:
            snapshot: The state of the database.
            searcher: The lexical index of that state.
            words: The words.
            keys: Keys of metadata that hold names, beside the title, the file name and its folder.
            allowed: The rows of which anything may be told, in order; ``None`` for all.
        """
        if not words.all:
            return Evidence({}, {})
        # All words of a single document are its own.
        if allowed is None:
            are_several = len(snapshot.execute("SELECT 1 FROM documents LIMIT 2").fetchall()) > 1
        else:
            ends = [*allowed[:1].tolist(), *allowed[-1:].tolist()]
            are_several = len({document for _, document in select_lines(snapshot.execute, _DOCUMENTS_OF, ends)}) > 1
        if not are_several:
            return Evidence({}, {})
        uses: _Uses = {}
        places = self._catalog.find(snapshot, list(dict.fromkeys([*words.all, *dict(words.keys)])), keys)
        if allowed is not None:
            places = {word: [each for each in found if _is_in(each.row, allowed)] for word, found in places.items()}
        in_names = {word: {each.document for each in found} for word, found in places.items() if found}
        named = {word: in_names[word] for word in words.all if word in in_names}
        told = self._told(snapshot, searcher, words, in_names, allowed)
        for group in (words.written, words.others):
            # A name has a word that is written as one, if the query writes any word so.
            if group is words.others and words.written and not uses and not named:
                break
            few = self._samples.find(snapshot, searcher, group, _FEW, allowed)
            likely = [
                word
                for word, sample in few.items()
                if sample.sentences >= (1 if word in named else MIN_SENTENCES)
                and _are_few(sample.documents, _MIN_SHARE_OF_FEW)
            ]
            more = [word for word in likely if few[word].sentences > _FEW]
            samples = {**few, **self._samples.find(snapshot, searcher, more, _MANY, allowed)}
            uses |= {
                word: (0, Counter(dict.fromkeys(named[word], 0)))
                for word, sample in samples.items()
                if not sample.sentences and word in named and len(named[word]) <= MAX_NAMED
            }
            uses |= {
                word: (samples[word].documents.total(), Counter(dict(samples[word].documents.most_common(MAX_NAMED))))
                for word in likely
                if _are_few(samples[word].documents, MIN_SHARE)
            }
        common = dict.fromkeys(told, partial(self._catalog.common, keys=keys))
        return _evidence(snapshot, words, uses, named, common, keys=keys, allowed=allowed)

    def _told(
        self,
        snapshot: Snapshot,
        searcher: LexicalSearcher,
        words: QueryWords,
        in_names: Mapping[str, set[int]],
        allowed: Rows | None,
    ) -> set[int]:
        """Return the documents that names may tell apart; a word that all documents speak of is a topic."""
        keys = {key: word for key, word in words.keys if key in in_names}
        samples = self._samples.find(snapshot, searcher, [*filter(None, keys.values())], _FEW, allowed) if keys else {}
        topics = {
            word
            for word, sample in samples.items()
            if sample.sentences > _MAX_TELLING and not _are_few(sample.documents, _MIN_SHARE_OF_FEW)
        }
        return closest({key: in_names[key] for key, word in keys.items() if word not in topics})


def _are_few(documents: Counter[int], share: float) -> bool:
    """Check whether a few documents hold that share of the sentences."""
    return 0 < share * documents.total() <= sum(count for _, count in documents.most_common(MAX_NAMED))


_BEGINNINGS = """
    SELECT documents.document, doc_id, row, text, ifnull(sources.metadata, '{}')
    FROM json_each(?) AS given
    CROSS JOIN documents ON documents.document = given.value
    CROSS JOIN sentences ON sentences.document = documents.document AND sentence_index BETWEEN 0 AND ?
    LEFT JOIN sources ON sources.source_key = sentences.source_key
    ORDER BY documents.document, sentence_index
"""


class _FirstSentence(NamedTuple):
    """One of the first sentences of a document.

    Attributes:
        document: The number of the document.
        doc_id: Its name.
        row: The row of the sentence.
        text: Its text as it is stored.
        source_metadata: What it shares with others of its document, as JSON.
    """

    document: int
    doc_id: str
    row: int
    text: bytes
    source_metadata: str


def _evidence(
    snapshot: Snapshot,
    words: QueryWords,
    uses: _Uses,
    named: Mapping[str, set[int]],
    common: Mapping[int, _Common],
    *,
    keys: Sequence[str],
    allowed: Rows | None,
) -> Evidence:
    score = Counter(document for _, documents in uses.values() for document in documents)
    score.update(document for documents in named.values() if len(documents) <= MAX_NAMED for document in documents)
    # For a document of which names hold two words or more, each counts once more.
    counts = Counter(document for documents in named.values() for document in documents)
    score.update({document: count for document, count in counts.items() if count > 1})
    score.update(dict.fromkeys(common, _MAX_DOCUMENTS))
    score.pop(NO_DOCUMENT, None)
    if not score:
        return Evidence({}, {})
    best = sorted(score, key=lambda document: (-score[document], document))[:_MAX_DOCUMENTS]
    read = snapshot.execute(_BEGINNINGS, [json.dumps(best), _MAX_HEAD_SENTENCES - 1])
    sentences = list(map(_FirstSentence._make, read))
    if allowed is not None:
        sentences = [each for each in sentences if _is_in(each.row, allowed)]
    doc_ids = {each.document: each.doc_id for each in sentences}
    by_document: dict[str, list[_FirstSentence]] = {}
    for each in sentences:
        by_document.setdefault(each.doc_id, []).append(each)
    known = {
        word: WordUse(count, {doc_ids[each]: of_it for each, of_it in documents.items() if each in doc_ids})
        for word, (count, documents) in uses.items()
    }
    every = {doc_id: _names(of_it, keys, set(words.all), named) for doc_id, of_it in by_document.items()}
    for document, find in common.items():
        if doc_id := doc_ids.get(document):
            every[doc_id] = replace(every[doc_id], common=find(every[doc_id].names))
    return Evidence(known, every)


def _names(
    sentences: Sequence[_FirstSentence], keys: Sequence[str], words: set[str], named: Mapping[str, set[int]]
) -> DocumentNames:
    """Return the head of a document, and its names; those that the query holds and many documents may have aren't."""
    head = "\n".join(each.text.decode(*TEXT) for each in sentences)[:HEAD_CHARS]
    metadata = read_metadata(list(dict.fromkeys(each.source_metadata for each in sentences)))
    names: list[str] = []
    for name in dict.fromkeys(name for each in metadata for name in names_in(each, keys)):
        of_name = words_of(name)
        if words.issuperset(of_name):
            of_words = [named.get(word) for word in of_name if len(word) > 1]
            if not of_words or not all(of_words) or len(set.intersection(*filter(None, of_words))) > MAX_NAMED:
                continue
        names.append(name)
    return DocumentNames(head, tuple(names))


def _is_in(row: int, allowed: Rows) -> bool:
    return bool(are_in(np.array([row], dtype=np.int64), allowed)[0])


MAX_SOURCES = 100_000
"""The most documents whose names are kept; with more, a document is known by the words in its text alone."""

_MAX_PLACES = 50
"""A word in the names of more documents is too common."""

_MAX_CHANGED = 1_000
"""The most documents that are kept apart; then all are read again."""

_MAX_KINDS = 4
"""The most choices of keys that are kept."""

_BATCH_SIZE = 1_000
"""Documents whose metadata is read at once."""


class NamePlace(NamedTuple):
    """A document of which a name holds a word.

    Attributes:
        document: Its number.
        row: A row with that name in its metadata, which a filter must allow.
    """

    document: int
    row: int


class _ByWord(NamedTuple):
    """Where words and their keys stand in names: the hash of one, in order, and a document and a row for it.

    Those of a document are together. ``size`` documents have names.
    """

    hashes: Rows
    documents: Rows
    rows: Rows
    size: int

    def places(self, word: str) -> list[NamePlace]:
        """Return the places of a word, each document once, unless its parts stand apart."""
        first, last = np.searchsorted(self.hashes, hash(word)), np.searchsorted(self.hashes, hash(word), "right")
        found = map(NamePlace, self.documents[first:last].tolist(), self.rows[first:last].tolist())
        return [next(of_document) for _, of_document in groupby(found, attrgetter("document"))]

    def count(self, word: str) -> int:
        """Count the documents with a word."""
        first, last = np.searchsorted(self.hashes, hash(word)), np.searchsorted(self.hashes, hash(word), "right")
        return len(np.unique(self.documents[first:last]))


@dataclass(frozen=True, slots=True)
class _Kept:
    """Names at one write.

    Attributes:
        version: The write.
        all: Names of all documents at an earlier write.
        changed: Documents that were changed since.
        of_changed: The names of those now.
    """

    version: Version
    all: _ByWord
    changed: frozenset[int]
    of_changed: _ByWord


class NameCatalog:
    """The documents of which a name holds a word."""

    def __init__(self) -> None:
        """Start empty; the first question reads the metadata of all documents."""
        # Replaced as a whole and never changed, so it needs no lock.
        self._kept: dict[tuple[str, ...], _Kept] = {}

    def find(self, snapshot: Snapshot, words: Sequence[str], keys: Sequence[str]) -> dict[str, list[NamePlace]]:
        """Find the documents with some words in their titles, file names, folders, or values of some keys.

        Returns:
            The documents by word; words that none or too many have are left out.
        """
        version, of_keys = snapshot.version, tuple(keys)
        kept = self._kept.get(of_keys)
        if kept is None or kept.version != version:
            changes = None if kept is None else snapshot.changes_since(*kept.version)
            changed = frozenset[int]() if kept is None or changes is None else kept.changed.union(changes.documents)
            if kept is None or changes is None or len(changed) > _MAX_CHANGED:
                every = _source_metadata(snapshot, None)
                kept = _Kept(version, _by_word(every, keys), frozenset(), _by_word(iter(()), keys))
            else:  # only what was changed since is read
                of_changed = _by_word(_source_metadata(snapshot, sorted(changed)), keys)
                kept = _Kept(version, kept.all, changed, of_changed)
            others = [(other, each) for other, each in self._kept.items() if other != of_keys]
            self._kept = dict([*others[1 - _MAX_KINDS :], (of_keys, kept)])
        found = {
            word: [
                *(each for each in kept.all.places(word) if each.document not in kept.changed),
                *kept.of_changed.places(word),
            ]
            for word in words
        }
        return {word: places for word, places in found.items() if 0 < len(places) <= _MAX_PLACES}

    def common(self, names: Sequence[str], keys: Sequence[str]) -> frozenset[str]:
        """Return the words of names that names of many documents hold."""
        kept = self._kept[tuple(keys)].all
        return common_words({word: kept.count(word) for name in names for word in words_of(name)}, kept.size)


_SOURCES = "SELECT document, source_key, metadata FROM sources"


def _source_metadata(snapshot: Snapshot, documents: Sequence[int] | None) -> Iterator[tuple[int, int, str]]:
    """Yield the document, the row of the first sentence and the metadata as JSON of sources: of documents, or all."""
    if documents is None:
        return snapshot.execute(f"{_SOURCES} LIMIT ?", [MAX_SOURCES + 1])
    of_these = "WHERE document IN (SELECT value FROM json_each(?))"
    return snapshot.execute(f"{_SOURCES} {of_these} LIMIT ?", [json.dumps(documents), MAX_SOURCES + 1])


def _by_word(sources: Iterator[tuple[int, int, str]], keys: Sequence[str]) -> _ByWord:
    hashes, documents, rows, count = array("q"), array("q"), array("q"), 0
    known = set[int]()
    while found := list(islice(sources, _BATCH_SIZE)):
        count += len(found)
        if count > MAX_SOURCES:
            return _by_word(iter(()), keys)
        for (document, row, _), metadata in zip(found, read_metadata([each for _, _, each in found]), strict=True):
            words = set[str]().union(*map(_words_and_keys, names_in(metadata, keys)))
            known.add(document)
            hashes.extend(map(hash, words))
            documents.extend([document] * len(words))
            rows.extend([row] * len(words))
    columns = [np.array(each, dtype=np.int64) for each in (hashes, documents, rows)]
    order = np.argsort(columns[0], kind="stable")
    in_order = [column[order] for column in columns]
    return _ByWord(in_order[0], in_order[1], in_order[2], len(known))


@lru_cache(_BATCH_SIZE)
def _words_and_keys(name: str) -> frozenset[str]:
    """Return the words of a name and their keys; folders repeat."""
    return frozenset(keys_of_name(name).union(words_of(name)))


NO_DOCUMENT = -1
"""Stands for the document of a Document that isn't a sentence."""

_MAX_SENTENCES = 2_000
"""A word that more sentences hold is no name. Under a filter too, all of them count."""

_MAX_KEPT = 5_000


class WordSamples:
    """Samples of words in one state of the store after the other."""

    def __init__(self) -> None:
        """Start empty."""
        # Both are replaced together and nothing is taken out, so a search of the state before keeps what is its own.
        self._kept: tuple[Version | None, dict[str, WordSample]] = (None, {})

    def find(
        self, snapshot: Snapshot, searcher: LexicalSearcher, words: Sequence[str], size: int, allowed: Rows | None
    ) -> dict[str, WordSample]:
        """Look at some of the sentences that hold each word, spread evenly over the store.

        Args:
            snapshot: The state of the database.
            searcher: The lexical index of that state.
            words: Words as the lexical index has them.
            size: The most sentences of each to look at. Samples of `_FEW` are kept.
            allowed: The rows to look at, in order; ``None`` for all.
        """
        found: dict[str, WordSample] = {}
        if allowed is None and size == _FEW:
            version, (kept_at, found) = snapshot.version, self._kept
            if kept_at != version or len(found) > _MAX_KEPT:
                found = {}
                self._kept = version, found
        missing = {word: searcher.sample(word, size, _MAX_SENTENCES, allowed) for word in words if word not in found}
        if missing:
            rows = np.unique(np.concatenate([rows for _, rows in missing.values()]))
            documents: dict[int, int | None] = dict(select_lines(snapshot.execute, _DOCUMENTS_OF, rows.tolist()))
            found |= {
                word: WordSample(count, Counter(documents.get(row) or NO_DOCUMENT for row in of_word.tolist()))
                for word, (count, of_word) in missing.items()
            }
        return {word: found[word] for word in words}


_DOCUMENTS_OF = "SELECT json_group_array(json_array(row, document)) FROM sentences WHERE row IN ({})"
