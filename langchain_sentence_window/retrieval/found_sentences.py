"""`Found`: the sentences that a search found, and the documents that its question names, which are searched first.

A store with a lexical index tells names before anything is searched; then what it names is searched alone, with the
question without the names. For another store, names are told by what a search found, and one more search follows.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.sentence_documents import SentencesByKey, StoredSentence
from langchain_sentence_window.documents.source_parts import names_in
from langchain_sentence_window.ranking.candidates import CANDIDATES, Candidates
from langchain_sentence_window.ranking.names import (
    HEAD_CHARS,
    MAX_NAMED,
    DocumentNames,
    Evidence,
    Heard,
    WordUse,
    hear,
    query_words,
)
from langchain_sentence_window.ranking.ranking import Reordered
from langchain_sentence_window.ranking.relevance import Relevance
from langchain_sentence_window.ranking.words import words_of
from langchain_sentence_window.retrieval.expansion import Wanted
from langchain_sentence_window.windows.geometry import Hit


@dataclass(frozen=True, slots=True)
class Found:
    """The sentences that a search found, all of one state of the store.

    Attributes:
        sentences: The sentences, best first: those of the documents that the question names, then others.
        hits: A hit for each.
        candidates: The candidates that they were taken from, and their new order, of each search in the order of the
            searches; none without a ranking.
        named: The documents that the question names, and by which words; ``None`` if it names none.
        relevance: How many of the best hits the question supports; ``None`` if that wasn't judged.
        wanted: The sentences that windows around the hits will probably need; ``None`` if that wasn't asked.
        read: Those of them that were read in the same state; ``None`` if the store can't read them with a search.
    """

    sentences: Sequence[StoredSentence]
    hits: Sequence[Hit]
    candidates: Sequence[tuple[Candidates, Reordered]] = ()
    named: Heard | None = None
    relevance: Relevance | None = None
    wanted: Wanted | None = None
    read: SentencesByKey | None = None

    def supported_hits(self) -> set[SentenceKey]:
        """Return the hits that the question supports: all, if that wasn't judged."""
        supported = len(self.hits) if self.relevance is None else self.relevance.supported
        return {hit.key for hit in self.hits[:supported]}


Find: TypeAlias = Callable[[str, Scope, int], Awaitable[Found]]
"""Searches for a text in a scope, for at most so many sentences."""


async def named_search(
    io: IO, scope: Scope, query: str, find: Find, *, k: int, names: bool | Sequence[str] = True
) -> Found:
    """Search, first in the documents that the query names.

    Args:
        io: Makes the calls.
        scope: Where the sentences are, and which of them may be found. It binds what may be known of names, too.
        query: The question.
        find: Searches for a text. It is called once if the query names nothing, and at most twice.
        k: The number of sentences that are enough.
        names: Whether to look for names; keys of metadata that hold names, beside the title, the file name and its
            folder.

    Returns:
        The sentences that were found. One of another document has at most the score of the last one of those named.
    """
    words = query_words(query)
    if names is False or not words.all:
        return await find(query, scope, k)
    everywhere, keys = None, () if names is True else tuple(names)
    evidence = await scope.adapter.name_evidence(io, words, keys, scope.filter)
    if evidence is None:
        everywhere = await find(query, scope, k)
        # Of what was found, two words tell a document, both written as names; a whole name is told by the names alone.
        telling = () if len(words.written) == 1 else words.all
        evidence = found_evidence(telling, everywhere.sentences, keys)
    named = hear(query, evidence)
    inside = None if named is None else within_named(scope, named)
    if named is None or inside is None:
        found = everywhere or await find(query, scope, k)
        if named is None or everywhere is None:
            return found
        return replace(joined(named, found, found), candidates=found.candidates)
    first = balanced(await find(named.question, inside, named_depth(named, k)), k)
    if everywhere is not None:
        found = joined(named, first, everywhere)
        return replace(found, candidates=[*everywhere.candidates, *first.candidates])
    return joined(named, first, await find(query, scope, k) if len(first.hits) < k else None)


def named_depth(named: Heard, k: int) -> int:
    """Return how many sentences to search in named documents, of each of which some are to be among the best ``k``."""
    return k if len(named.documents) == 1 else max(k, CANDIDATES)


def balanced(found: Found, k: int) -> Found:
    """Take the best ``k`` of named documents.

    Each of several is as likely to hold a part of the answer, as in a comparison, so their best hits count the same.
    """
    best: dict[str, float] = {}
    places: Counter[str] = Counter()
    raised: list[tuple[StoredSentence, Hit, int]] = []
    for sentence, hit in zip(found.sentences, found.hits, strict=True):
        missing = found.hits[0].score - best.setdefault(hit.doc_id, hit.score)
        raised.append((sentence, replace(hit, score=hit.score + missing), places[hit.doc_id]))
        places[hit.doc_id] += 1
    if len(best) > 1:
        raised.sort(key=lambda each: (-each[1].score, each[2]))
    return replace(found, sentences=[each for each, _, _ in raised[:k]], hits=[hit for _, hit, _ in raised[:k]])


def joined(named: Heard, first: Found, others: Found | None = None) -> Found:
    """Put sentences of named documents before others.

    A question that names a document is of the collection's subject, so its relevance isn't judged.
    """
    if others is None:
        return replace(first, named=named, relevance=None)
    doc_ids = {each.doc_id for each in named.documents}
    inside = [pair for pair in zip(first.sentences, first.hits, strict=True) if pair[0].doc_id in doc_ids]
    known = {sentence.key for sentence, _ in inside}
    lowest = min((hit.score for _, hit in inside), default=float("inf"))
    outside = [
        (sentence, replace(hit, score=min(hit.score, lowest)))
        for sentence, hit in zip(others.sentences, others.hits, strict=True)
        if sentence.key not in known
    ]
    both = inside + outside
    candidates = [*first.candidates, *others.candidates]
    return Found([sentence for sentence, _ in both], [hit for _, hit in both], candidates, named)


def within_named(scope: Scope, named: Heard) -> Scope | None:
    """Return the scope with a filter for the named documents; ``None`` if the store has no such filter."""
    of_named = scope.adapter.of_documents([each.doc_id for each in named.documents])
    if of_named is None:
        return None
    filters = [*scope.filters, of_named]
    return replace(scope, filter=scope.adapter.join(filters), filters=filters)


def found_evidence(words: Collection[str], sentences: Iterable[StoredSentence], keys: Sequence[str] = ()) -> Evidence:
    """Collect what sentences that a search found tell about the names of their documents.

    Args:
        words: The words of the question that may tell a document, in lower case; none to collect the names alone.
        sentences: The sentences, in any order.
        keys: Keys of metadata that hold names, beside the title, the file name and its folder.
    """
    uses: dict[str, dict[str, int]] = {}
    heads: dict[str, list[StoredSentence]] = {}
    names: dict[str, dict[str, None]] = {}
    asked = frozenset(words)
    source: Mapping[str, Any] = {}
    for sentence in sorted(sentences, key=lambda each: each.key):
        for word in asked and asked.intersection(words_of(f"{sentence.heading}\n{sentence.text}")):
            of_word = uses.setdefault(word, {})
            of_word[sentence.doc_id] = of_word.get(sentence.doc_id, 0) + 1
        if sentence.start < HEAD_CHARS:
            heads.setdefault(sentence.doc_id, []).append(sentence)
        if sentence.doc_id not in names or sentence.source != source:  # all of a document have the same, as a rule
            names.setdefault(sentence.doc_id, {}).update(dict.fromkeys(names_in(sentence.source, keys)))
            source = sentence.source
    if len(names) <= 1:
        return Evidence({}, {})  # all words of a single document are its own
    in_names: dict[str, dict[str, int]] = {}
    for doc_id, of_it in names.items():
        for word in asked.intersection(word for name in of_it for word in words_of(name)) - uses.keys():
            in_names.setdefault(word, {})[doc_id] = 0
    return Evidence(
        {word: WordUse(sum(of_it.values()), _most_used(of_it)) for word, of_it in uses.items()}
        | {word: WordUse(0, of_it) for word, of_it in in_names.items()},
        {
            doc_id: DocumentNames("\n".join(each.text for each in heads.get(doc_id, ())), tuple(of_it))
            for doc_id, of_it in names.items()
        },
        is_complete=False,
    )


def _most_used(counts: dict[str, int]) -> dict[str, int]:
    """Return the `MAX_NAMED` largest counts, the largest first."""
    if len(counts) == 1:  # the usual case, told quickly
        return counts
    return dict(sorted(counts.items(), key=lambda each: -each[1])[:MAX_NAMED])
