"""The names in the metadata of documents, by word, kept in memory and caught up with writes.

Most memory would go to words and lists. So a place is three numbers in arrays, in the order of the words' hashes.
Python draws the key of the hashes for each process, and two words in a billion billion have the same.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from langchain_sentence_window._types import Rows
from langchain_sentence_window.documents.document_names import names_in
from langchain_sentence_window.ranking.name_spans import words_of
from langchain_sentence_window.stores.faiss.conversion import read_metadata
from langchain_sentence_window.stores.faiss.database.document_reads import SourceMetadata
from langchain_sentence_window.stores.faiss.database.schema import Version
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot

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


class _ByWord:
    """Where words stand in names."""

    def __init__(self, hashes: Rows, documents: Rows, rows: Rows) -> None:
        """Keep places: the hash of a word, and a document and a row for it; those of a document are together."""
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._documents, self._rows = hashes[order], documents[order], rows[order]

    def places(self, word: str) -> list[NamePlace]:
        """Return the places of a word, each document once, unless its parts stand apart."""
        first, last = np.searchsorted(self._hashes, hash(word)), np.searchsorted(self._hashes, hash(word), "right")
        found = map(NamePlace, self._documents[first:last].tolist(), self._rows[first:last].tolist())
        return [next(of_document) for _, of_document in groupby(found, attrgetter("document"))]


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
        kept = self._at(snapshot, tuple(keys))
        found = {
            word: [
                *(each for each in kept.all.places(word) if each.document not in kept.changed),
                *kept.of_changed.places(word),
            ]
            for word in words
        }
        return {word: places for word, places in found.items() if 0 < len(places) <= _MAX_PLACES}

    def _at(self, snapshot: Snapshot, keys: tuple[str, ...]) -> _Kept:
        version, kept = snapshot.version, self._kept.get(keys)
        if kept is not None and kept.version == version:
            return kept
        caught_up = None if kept is None else _caught_up(kept, version, snapshot, keys)
        if caught_up is None:
            every = snapshot.source_metadata(None, MAX_SOURCES + 1)
            caught_up = _Kept(version, _by_word(every, keys), frozenset(), _by_word(iter(()), keys))
        others = [(other, each) for other, each in self._kept.items() if other != keys]
        self._kept = dict([*others[1 - _MAX_KINDS :], (keys, caught_up)])
        return caught_up


def _caught_up(kept: _Kept, version: Version, snapshot: Snapshot, keys: tuple[str, ...]) -> _Kept | None:
    """Read the documents that were changed since; return ``None`` if these are many, or aren't known."""
    changes = snapshot.changes_since(*kept.version)
    if changes is None:
        return None
    changed = kept.changed.union(changes.documents)
    if len(changed) > _MAX_CHANGED:
        return None
    of_changed = _by_word(snapshot.source_metadata(sorted(changed), MAX_SOURCES + 1), keys)
    return _Kept(version, kept.all, changed, of_changed)


def _by_word(sources: Iterator[SourceMetadata], keys: Sequence[str]) -> _ByWord:
    hashes, documents, rows, count = array("q"), array("q"), array("q"), 0
    while found := list(islice(sources, _BATCH_SIZE)):
        count += len(found)
        if count > MAX_SOURCES:
            return _by_word(iter(()), keys)
        for source, metadata in zip(found, read_metadata([each.metadata for each in found]), strict=True):
            words = {word for name in names_in(metadata, keys) for word in words_of(name)}
            hashes.extend(map(hash, words))
            documents.extend([source.document] * len(words))
            rows.extend([source.row] * len(words))
    return _ByWord(*(np.array(each, dtype=np.int64) for each in (hashes, documents, rows)))
