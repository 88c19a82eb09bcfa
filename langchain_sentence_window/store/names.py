"""What a store knows of the names in a question; see `langchain_sentence_window.ranking.names`.

For each word, a few of the sentences that hold it show whether most are in one document; only then are more looked at,
and the head of that document is read. So a question that names no document costs little, whatever the store holds.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

import numpy as np

from langchain_sentence_window._primitives import Rows, encodable
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
from langchain_sentence_window.ranking.names_apart import MAX_NAMED, closest, common_words
from langchain_sentence_window.ranking.words import words_of

from .reading import are_in
from .records import read_metadata, read_shared, words_of_names
from .tables import ONE_OF, Snapshot, Version, as_json, as_text
from .words import LexicalSearcher

_FEW, _MANY = 9, 200
"""Sentences of a word that are looked at first, and if most of these are in few documents."""

_MIN_SHARE_OF_FEW = 0.5

_MAX_TELLING = 60
"""Sentences that may hold a word that tells documents apart, unless most are in few documents. A topic is in more."""

_MAX_SENTENCES = 2_000
"""A word that more sentences hold is no name. Under a filter too, all of them count."""

_MAX_DOCUMENTS = 8
"""The most documents whose heads are read: those with the most words."""

_MAX_HEAD_SENTENCES = 60

_MAX_PLACES = 50
"""A word in the names of more documents is too common."""

NO_DOCUMENT = -1
"""Stands for the document of a Document that isn't a sentence."""


class WordSample(NamedTuple):
    """Sentences that hold a word.

    Attributes:
        sentences: How many there are.
        documents: How many of those that were looked at are in each document; none if there are too many.
    """

    sentences: int
    documents: Counter[int]


class Naming:
    """Collects evidence of names; it keeps samples of words until the next write."""

    def __init__(self) -> None:
        """Start empty."""
        # Replaced as a whole and never changed, so they need no lock.
        self._samples: tuple[Version | None, dict[str, WordSample]] = (None, {})
        self._of_keys: tuple[Version, tuple[str, ...], dict[str, list[int]]] | None = None

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
        if not words.all or not _are_several(snapshot, allowed):  # all words of a single document are its own
            return Evidence({}, {})
        in_names = self._documents_named(snapshot, [*words.all, *dict(words.keys)], keys, allowed)
        named = {word: in_names[word] for word in words.all if word in in_names}
        told = self._told(snapshot, searcher, words, in_names, allowed)
        uses: dict[str, tuple[int, Counter[int]]] = {}
        for group in (words.written, words.others):
            # A name has a word that is written as one, if the query writes any word so.
            if group is words.others and words.written and not uses and not named:
                break
            few = self._sampled(snapshot, searcher, group, _FEW, allowed)
            likely = [
                word
                for word, sample in few.items()
                if sample.sentences >= (1 if word in named else MIN_SENTENCES)
                and _are_few(sample.documents, _MIN_SHARE_OF_FEW)
            ]
            more = [word for word in likely if few[word].sentences > _FEW]
            samples = {**few, **self._sampled(snapshot, searcher, more, _MANY, allowed)}
            for word, sample in samples.items():
                if not sample.sentences and word in named and len(named[word]) <= MAX_NAMED:
                    uses[word] = 0, Counter(dict.fromkeys(named[word], 0))
                elif word in likely and _are_few(sample.documents, MIN_SHARE):
                    uses[word] = sample.documents.total(), Counter(dict(sample.documents.most_common(MAX_NAMED)))
        documents = _best_documents(uses, named, told)
        if not documents:
            return Evidence({}, {})
        return _read_evidence(snapshot, documents, uses, named, told, words=words, keys=keys, allowed=allowed)

    def _documents_named(
        self, snapshot: Snapshot, words: Iterable[str], keys: Sequence[str], allowed: Rows | None
    ) -> dict[str, set[int]]:
        """Return the documents of which a name holds a word, by word; words that none or too many have are left out."""
        named: dict[str, set[int]] = {}
        for word in dict.fromkeys(words):
            if keys:
                sources = self._names_of_keys(snapshot, tuple(keys)).get(word, [])
                documents = _documents_of(snapshot, sources, allowed)
            else:
                documents = _documents_with(snapshot, word, _MAX_PLACES + 1, allowed)
            if 0 < len(documents) <= _MAX_PLACES:
                named[word] = documents
        return named

    def _names_of_keys(self, snapshot: Snapshot, keys: tuple[str, ...]) -> dict[str, list[int]]:
        """Return the sources of which a name holds a word, by word, where other keys of metadata hold names, too."""
        kept = self._of_keys
        if kept is None or kept[:2] != (snapshot.version, keys):
            places: dict[str, list[int]] = {}
            found = snapshot.execute("SELECT source_key, metadata FROM sources").fetchall()
            for (key, _), metadata in zip(found, read_metadata([text for _, text in found]), strict=True):
                for word in words_of_names(metadata, keys):
                    places.setdefault(word, []).append(key)
            kept = self._of_keys = snapshot.version, keys, places
        return kept[2]

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
        samples = self._sampled(snapshot, searcher, [*filter(None, keys.values())], _FEW, allowed) if keys else {}
        topics = {
            word
            for word, sample in samples.items()
            if sample.sentences > _MAX_TELLING and not _are_few(sample.documents, _MIN_SHARE_OF_FEW)
        }
        return closest({key: in_names[key] for key, word in keys.items() if word not in topics})

    def _sampled(
        self, snapshot: Snapshot, searcher: LexicalSearcher, words: Sequence[str], size: int, allowed: Rows | None
    ) -> dict[str, WordSample]:
        """Look at some of the sentences that hold each word, spread evenly over the store."""
        is_kept = allowed is None and size == _FEW  # questions repeat words
        version, found = self._samples
        if not is_kept or version != snapshot.version or len(found) > _MAX_SENTENCES:
            found = {}
        missing = {word: searcher.sample(word, size, _MAX_SENTENCES, allowed) for word in words if word not in found}
        if missing:
            rows = np.unique(np.concatenate([rows for _, rows in missing.values()]))
            documents = dict(snapshot.lists(_DOCUMENTS_OF, rows.tolist()))
            found = found | {
                word: WordSample(count, Counter(documents.get(row) or NO_DOCUMENT for row in of_word.tolist()))
                for word, (count, of_word) in missing.items()
            }
            if is_kept:
                self._samples = snapshot.version, found
        return {word: found[word] for word in words}


_DOCUMENTS_OF = f"SELECT json_group_array(json_array(row, document)) FROM sentences WHERE row {ONE_OF}"


def _are_several(snapshot: Snapshot, allowed: Rows | None) -> bool:
    if allowed is None:
        return len(snapshot.execute("SELECT 1 FROM documents LIMIT 2").fetchall()) > 1
    ends = [*allowed[:1].tolist(), *allowed[-1:].tolist()]
    return len({document for _, document in snapshot.lists(_DOCUMENTS_OF, ends)}) > 1


def _documents_with(snapshot: Snapshot, word: str, most: int, allowed: Rows | None) -> set[int]:
    """Return the documents of which a name holds a word; without a filter, no more than so many."""
    if allowed is None:
        return {document for (document,) in snapshot.execute(_NAMED, [encodable(word), most])}
    sources = snapshot.execute("SELECT source_key FROM names WHERE word = ?", [encodable(word)])
    return _documents_of(snapshot, [key for (key,) in sources], allowed)


def _documents_of(snapshot: Snapshot, sources: Iterable[int], allowed: Rows | None) -> set[int]:
    """Return the documents of sources, of those that have an allowed row."""
    keys, documents, first, last = np.array(snapshot.lists(_SOURCES, sources), dtype=np.int64).reshape(-1, 4).T
    if allowed is None:
        return set(documents.tolist())
    counts = _count_between(first, last, allowed)
    is_whole = counts > last - first
    # Other rows are read only of sources that are allowed in part, among which may be rows of others of the document.
    rows = snapshot.lists(_ROWS_OF, keys[(counts > 0) & ~is_whole].tolist())
    is_allowed = are_in(np.array([row for row, _ in rows], dtype=np.int64), allowed).tolist()
    return {*documents[is_whole].tolist(), *(each for (_, each), may in zip(rows, is_allowed, strict=True) if may)}


def _count_documents(snapshot: Snapshot, allowed: Rows | None) -> int:
    """Return the number of documents, of those that have an allowed row."""
    if allowed is None:
        return int(snapshot.execute("SELECT count(*) FROM documents").fetchone()[0])
    # The rows of a document are consecutive.
    first, last = np.array(snapshot.execute(_ENDS).fetchall(), dtype=np.int64).reshape(-1, 2).T
    return int(np.count_nonzero(_count_between(first, last, allowed)))


def _count_between(first: Rows, last: Rows, allowed: Rows) -> Rows:
    return np.searchsorted(allowed, last, "right") - np.searchsorted(allowed, first)


_NAMED = "SELECT DISTINCT document FROM names JOIN sources USING (source_key) WHERE word = ? LIMIT ?"
_SOURCES = f"""
    SELECT json_group_array(json_array(source_key, document,
        (SELECT min(row) FROM sentences WHERE sentences.source_key = sources.source_key),
        (SELECT max(row) FROM sentences WHERE sentences.source_key = sources.source_key)))
    FROM sources WHERE source_key {ONE_OF}
"""
_ROWS_OF = f"SELECT json_group_array(json_array(row, document)) FROM sentences WHERE source_key {ONE_OF}"
_ENDS = "SELECT min(row), max(row) FROM sentences WHERE document >= 0 AND sentence_index >= 0 GROUP BY document"


def _are_few(documents: Counter[int], share: float) -> bool:
    """Check whether a few documents hold that share of the sentences."""
    return 0 < share * documents.total() <= sum(count for _, count in documents.most_common(MAX_NAMED))


def _best_documents(
    uses: Mapping[str, tuple[int, Counter[int]]], named: Mapping[str, set[int]], told: Set[int]
) -> list[int]:
    """Return the documents with the most words of the query."""
    score = Counter(document for _, documents in uses.values() for document in documents)
    score.update(document for documents in named.values() if len(documents) <= MAX_NAMED for document in documents)
    # For a document of which names hold two words or more, each counts once more.
    counts = Counter(document for documents in named.values() for document in documents)
    score.update({document: count for document, count in counts.items() if count > 1})
    score.update(dict.fromkeys(told, _MAX_DOCUMENTS))
    score.pop(NO_DOCUMENT, None)
    return sorted(score, key=lambda document: (-score[document], document))[:_MAX_DOCUMENTS]


def _read_evidence(
    snapshot: Snapshot,
    documents: Sequence[int],
    uses: Mapping[str, tuple[int, Counter[int]]],
    named: Mapping[str, set[int]],
    told: Set[int],
    *,
    words: QueryWords,
    keys: Sequence[str],
    allowed: Rows | None,
) -> Evidence:
    """Read the beginnings and the names of documents."""
    read = snapshot.execute(_BEGINNINGS, [as_json(documents), _MAX_HEAD_SENTENCES - 1]).fetchall()
    if allowed is not None:
        is_allowed = are_in(np.array([row for _, _, row, *_ in read], dtype=np.int64), allowed)
        read = [each for each, may in zip(read, is_allowed.tolist(), strict=True) if may]
    doc_ids = {document: doc_id for document, doc_id, *_ in read}
    sources = read_shared(snapshot, "sources", {key for *_, key in read if key is not None})
    every: dict[str, DocumentNames] = {}
    for document, doc_id in doc_ids.items():
        of_it = [(text, key) for each, _, _, text, key in read if each == document]
        head = "\n".join(as_text(text) for text, _ in of_it)[:HEAD_CHARS]
        metadata = [sources[key] for key in dict.fromkeys(key for _, key in of_it) if key is not None]
        own = dict.fromkeys(name for each in metadata for name in names_in(each, keys))
        telling = tuple(name for name in own if not _is_shared(name, frozenset(words.all), named))
        common = None
        if document in told:
            of_words = {word for name in telling for word in words_of(name)}
            counts = {word: len(_documents_with(snapshot, word, -1, allowed)) for word in of_words}
            common = common_words(counts, _count_documents(snapshot, allowed))
        every[doc_id] = DocumentNames(head, telling, common)
    known = {
        word: WordUse(count, {doc_ids[each]: of_it for each, of_it in found.items() if each in doc_ids})
        for word, (count, found) in uses.items()
    }
    return Evidence(known, every)


_BEGINNINGS = """
    SELECT documents.document, doc_id, row, text, source_key
    FROM json_each(?) AS given CROSS JOIN documents ON documents.document = given.value
    CROSS JOIN sentences ON sentences.document = documents.document AND sentence_index BETWEEN 0 AND ?
    ORDER BY documents.document, sentence_index
"""


def _is_shared(name: str, words: frozenset[str], named: Mapping[str, set[int]]) -> bool:
    """Return whether the query holds a name that many documents may have."""
    of_name = words_of(name)
    if not words.issuperset(of_name):
        return False
    of_words = [named.get(word) for word in of_name if len(word) > 1]
    return not of_words or not all(of_words) or len(set.intersection(*filter(None, of_words))) > MAX_NAMED
