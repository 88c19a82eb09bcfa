"""Evidence for hearing names: the uses of a query's words in the store, and the names of its documents.

For each word, a few of the sentences that hold it show whether most are in one document; only then are more looked at,
and the head of that document is read. So a query that names no document costs little, whatever the store holds.
"""

from collections import Counter
from collections.abc import Mapping, Sequence, Set

import numpy as np

from langchain_sentence_window._types import Rows
from langchain_sentence_window.documents.document_names import names_in
from langchain_sentence_window.ranking.name_spans import words_of
from langchain_sentence_window.ranking.names import (
    HEAD_CHARS,
    MAX_NAMED,
    MIN_SENTENCES,
    MIN_SHARE,
    DocumentNames,
    Evidence,
    QueryWords,
    WordUse,
)
from langchain_sentence_window.stores.faiss.conversion import read_metadata
from langchain_sentence_window.stores.faiss.database.document_reads import FirstSentence
from langchain_sentence_window.stores.faiss.database.of_rows import are_in
from langchain_sentence_window.stores.faiss.database.schema import loaded_text
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.lexical.index import LexicalSearcher
from langchain_sentence_window.stores.faiss.name_catalog import NameCatalog
from langchain_sentence_window.stores.faiss.word_samples import NO_DOCUMENT, WordSample, WordSamples, samples

_FEW, _MANY = 9, 200
"""Sentences of a word that are looked at first, and if most of these are in few documents."""

_MIN_SHARE_OF_FEW = 0.5

_MAX_DOCUMENTS = 8
"""The most documents whose heads are read: those with the most words."""

_MAX_HEAD_SENTENCES = 60

_Uses = dict[str, tuple[int, Counter[int]]]
"""The number of sentences that were looked at, and how many of them are in each document, by word."""


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
        if not words.all or not _are_several(snapshot, allowed):
            return Evidence({}, {})
        uses: _Uses = {}
        places = self._catalog.find(snapshot, words.all, keys)
        if allowed is not None:
            places = {word: [each for each in found if _is_in(each.row, allowed)] for word, found in places.items()}
        named = {word: {each.document for each in found} for word, found in places.items() if found}
        for group in (words.written, words.others):
            # A name has a word that is written as one, if the query writes any word so.
            if group is words.others and words.written and not uses and not named:
                break
            few = self._samples.few(snapshot, searcher, group, _FEW, allowed)
            likely = [word for word, sample in few.items() if _is_likely(word, sample, named)]
            more = [word for word in likely if few[word].sentences > _FEW]
            uses |= _uses({**few, **samples(snapshot, searcher, more, _MANY, allowed)}, likely, named)
        return _evidence(snapshot, words, uses, named, keys=keys, allowed=allowed)


def _are_several(snapshot: Snapshot, allowed: Rows | None) -> bool:
    """Check whether there is more than one document, as all words of a single one are its own."""
    if allowed is None:
        return snapshot.has_several_documents()
    if not len(allowed):
        return False
    ends = snapshot.documents_of([int(allowed[0]), int(allowed[-1])])
    return len(set(ends.values())) > 1


def _is_likely(word: str, sample: WordSample, named: Mapping[str, set[int]]) -> bool:
    """Return whether a word may be a name by a few of its sentences."""
    least = 1 if word in named else MIN_SENTENCES
    return sample.sentences >= least and _are_few(sample.documents, _MIN_SHARE_OF_FEW)


def _uses(found: Mapping[str, WordSample], likely: Sequence[str], named: Mapping[str, set[int]]) -> _Uses:
    """Return the uses of words that are in names alone, and of those that most sentences of a few documents hold."""
    uses: _Uses = {
        word: (0, Counter(dict.fromkeys(named[word], 0)))
        for word, sample in found.items()
        if not sample.sentences and word in named and len(named[word]) <= MAX_NAMED
    }
    for word in likely:
        documents = found[word].documents
        if _are_few(documents, MIN_SHARE):
            uses[word] = documents.total(), Counter(dict(documents.most_common(MAX_NAMED)))
    return uses


def _are_few(documents: Counter[int], share: float) -> bool:
    """Check whether a few documents hold that share of the sentences."""
    return 0 < share * documents.total() <= sum(count for _, count in documents.most_common(MAX_NAMED))


def _evidence(
    snapshot: Snapshot,
    words: QueryWords,
    uses: _Uses,
    named: Mapping[str, set[int]],
    *,
    keys: Sequence[str],
    allowed: Rows | None,
) -> Evidence:
    score = Counter(document for _, documents in uses.values() for document in documents)
    score.update(document for documents in named.values() if len(documents) <= MAX_NAMED for document in documents)
    score.update(_in_whole_names(named))
    score.pop(NO_DOCUMENT, None)
    if not score:
        return Evidence({}, {})
    best = sorted(score, key=lambda document: (-score[document], document))[:_MAX_DOCUMENTS]
    sentences = snapshot.beginnings(best, _MAX_HEAD_SENTENCES)
    if allowed is not None:
        sentences = [each for each in sentences if _is_in(each.row, allowed)]
    doc_ids = {each.document: each.doc_id for each in sentences}
    by_document: dict[str, list[FirstSentence]] = {}
    for each in sentences:
        by_document.setdefault(each.doc_id, []).append(each)
    known = {
        word: WordUse(count, {doc_ids[each]: of_it for each, of_it in documents.items() if each in doc_ids})
        for word, (count, documents) in uses.items()
    }
    return Evidence(
        known, {doc_id: _names(of_it, keys, set(words.all), named) for doc_id, of_it in by_document.items()}
    )


def _in_whole_names(named: Mapping[str, set[int]]) -> list[int]:
    """Return the documents of which names hold two words or more, as often as there are words."""
    counts = Counter(document for documents in named.values() for document in documents)
    return [document for document in counts.elements() if counts[document] > 1]


def _names(
    sentences: Sequence[FirstSentence], keys: Sequence[str], words: Set[str], named: Mapping[str, set[int]]
) -> DocumentNames:
    head = "\n".join(loaded_text(each.text) for each in sentences)[:HEAD_CHARS]
    metadata = read_metadata(list(dict.fromkeys(each.source_metadata for each in sentences)))
    names = dict.fromkeys(name for each in metadata for name in names_in(each, keys))
    return DocumentNames(head, tuple(name for name in names if not _is_shared(words_of(name), words, named)))


def _is_shared(name: Sequence[str], words: Set[str], named: Mapping[str, set[int]]) -> bool:
    """Check whether the query holds all words of a name, and more than a few documents may have it."""
    if not set(name) <= words:
        return False
    of_words = [named.get(word) for word in name if len(word) > 1]
    return not all(of_words) or len(set.intersection(*filter(None, of_words))) > MAX_NAMED if of_words else True


def _is_in(row: int, allowed: Rows) -> bool:
    return bool(are_in(np.array([row], dtype=np.int64), allowed)[0])
