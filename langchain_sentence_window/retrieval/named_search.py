"""Search the documents that a question names by themselves, and join what is found with what is found everywhere.

If the question is limited to them, their sentences come first; if it only mentions them, they get a bonus. A store
that keeps names knows which documents are named before anything is searched. For another store, names are recognized
in what a search found.
"""

import math
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import TypeAlias

from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.documents.source_metadata import names_in
from langchain_sentence_window.ranking.candidates import CANDIDATES, Candidates
from langchain_sentence_window.ranking.names import (
    FIRST_LINES,
    DocumentNames,
    Naming,
    find_names,
    keys_in,
    read_question,
)
from langchain_sentence_window.ranking.ranking import Reordered
from langchain_sentence_window.ranking.relevance import Relevance
from langchain_sentence_window.windows.geometry import Hit


@dataclass(frozen=True, slots=True)
class Hits:
    """The sentences that a search found, all of one state of the store.

    Attributes:
        sentences: The sentences, best first.
        hits: A hit for each.
        searches: The candidates that they were taken from, and their new order, of each search: in the documents that
            the question names, then everywhere. None without a ranking.
        named: The documents that the question names, and by which words; ``None`` if it names none.
        relevance: How likely the question is answered, and how many of the best hits to return; ``None`` if no
            candidates were looked at.
    """

    sentences: Sequence[StoredSentence]
    hits: Sequence[Hit]
    searches: Sequence[tuple[Candidates, Reordered]] = ()
    named: Naming | None = None
    relevance: Relevance | None = None

    def counting(self, min_score: float | None) -> Sequence[Hit]:
        """Return the hits that count: none if the question isn't likely to be answered, else those that are similar.

        Args:
            min_score: The lowest similarity; ``None`` for any.
        """
        if self.relevance is not None and not self.relevance.supported:
            return []
        if min_score is None:
            return self.hits
        return [hit for hit in self.hits if hit.similarity is None or hit.similarity >= min_score]


Find: TypeAlias = Callable[[str, Scope, int], Awaitable[Hits]]
"""Searches for a text in a scope, for at most so many sentences."""


async def named_search(
    io: IO, scope: Scope, query: str, find: Find, *, k: int, names: bool | Sequence[str] = True
) -> Hits:
    """Search, and prefer sentences of documents that the query names.

    Args:
        io: Makes the calls.
        scope: Where the sentences are, and which of them may be found. It binds what may be known of names, too.
        query: The question.
        find: Searches for a text. It is called once if the query names nothing, and at most twice.
        k: The number of sentences that are enough.
        names: Whether to look for names; keys of metadata that hold names, besides the title, the file name and its
            folder.
    """
    if names is False or not (question := read_question(query)).phrases:
        return await find(query, scope, k)
    everywhere, metadata_keys = None, () if names is True else tuple(names)
    documents = await scope.adapter.document_names(io, question.keys, metadata_keys, scope.filter)
    if documents is None:
        everywhere = await find(query, scope, k)
        documents = names_of_documents(everywhere.sentences, metadata_keys)
    named = find_names(question, documents)
    inside = None if named is None else within_named(scope, named)
    if named is None or inside is None:
        found = everywhere or await find(query, scope, k)
        if named is None or everywhere is None:
            return found
        return replace(joined(named, found, found, k), searches=found.searches)
    first = await find(named.question, inside, named_depth(named, k))
    if everywhere is None and needs_others(named, first, k):
        everywhere = await find(query, scope, k)
    return joined(named, first, everywhere, k)


def needs_others(named: Naming, first: Hits, k: int) -> bool:
    """Return whether sentences of other documents are wanted, too."""
    return not named.is_limited or named.asks_twice or len(first.hits) < k


def named_depth(named: Naming, k: int) -> int:
    """Return how many sentences to search in named documents, of each of which some are to be among the best ``k``."""
    return k if len(named.documents) == 1 else max(k, CANDIDATES)


def balanced(found: Hits, k: int, named: Naming) -> Hits:
    """Take the best ``k`` of named documents.

    Each of several is as likely to hold a part of the answer, as in a comparison, so their best hits count the same.
    But where no word names a document that doesn't name another too, as a company names its reports, its hits don't.
    """
    words = {each.doc_id: frozenset(each.words) for each in named.documents}
    like_others = {
        doc_id
        for doc_id, own in words.items()
        if any(own <= of_it for other, of_it in words.items() if other != doc_id)
    }
    best: dict[str, float] = {}
    places: Counter[str] = Counter()
    raised: list[tuple[StoredSentence, Hit, int]] = []
    for sentence, hit in zip(found.sentences, found.hits, strict=True):
        behind = found.hits[0].score - best.setdefault(hit.doc_id, hit.score)
        missing = 0.0 if hit.doc_id in like_others else behind
        raised.append((sentence, replace(hit, score=hit.score + missing), places[hit.doc_id]))
        places[hit.doc_id] += 1
    if len(best) > 1:
        raised.sort(key=lambda each: (-each[1].score, each[2]))
    return replace(found, sentences=[each for each, _, _ in raised[:k]], hits=[hit for _, hit, _ in raised[:k]])


NAME_BONUS = 0.1
"""What sentences of a document that a question mentions gain; scores of a ranking are in ``[-1, 1]``.

Putting them before all others lost up to 15 points of recall where the answer is in two documents (HotpotQA). The
number was chosen there: recall at 800 characters is 71.7 without names, 72.0 with .05, 73.8 with .1 and 72.6 with .2.
"""


def joined(named: Naming, first: Hits, others: Hits | None, k: int) -> Hits:
    """Join what was found in the documents that a question names with what was found everywhere.

    A question that names a document is of the collection's subject, so nothing is left out by its relevance.

    Args:
        named: The documents that the question names.
        first: The result of a search in them.
        others: The result of a search everywhere; ``None`` if ``first`` is enough.
        k: The most sentences of both, unless documents that the question is limited to come first.
    """
    relevance = _likelier(first, others)
    if named.is_limited:
        first = balanced(first, k, named)
    if others is None:
        return replace(first, named=named, relevance=relevance)
    doc_ids = {each.doc_id for each in named.documents}
    inside, everywhere = [pair for pair in _pairs(first) if pair[0].doc_id in doc_ids], _pairs(others)
    if not named.is_limited:
        # Scores that a store gave by itself may be on any scale.
        highest = 1.0 if others.searches else max((abs(hit.score) for hit in others.hits), default=1.0)
        both = _with_bonus(doc_ids, inside, everywhere, NAME_BONUS * highest)[:k]
    elif named.asks_twice:
        both = _in_turns(inside, [pair for pair in everywhere if pair[0].doc_id not in doc_ids])[:k]
    else:
        both = _in_this_order([*inside, *everywhere])
    searches = [*first.searches, *others.searches]
    return Hits([sentence for sentence, _ in both], [hit for _, hit in both], searches, named, relevance)


_Pairs: TypeAlias = list[tuple[StoredSentence, Hit]]


def _pairs(found: Hits) -> _Pairs:
    return list(zip(found.sentences, found.hits, strict=True))


def _with_bonus(doc_ids: Set[str], inside: _Pairs, everywhere: _Pairs, bonus: float) -> _Pairs:
    """Order sentences by the better of their two scores, with a bonus for those of documents that are mentioned."""
    best: dict[SentenceKey, tuple[StoredSentence, Hit]] = {}
    for sentence, hit in (*everywhere, *inside):
        known = best.get(sentence.key)
        if known is None or known[1].score < hit.score:
            best[sentence.key] = sentence, hit
    raised = [
        (sentence, replace(hit, score=hit.score + bonus) if hit.doc_id in doc_ids else hit)
        for sentence, hit in best.values()
    ]
    return sorted(raised, key=lambda each: -each[1].score)


def _in_turns(inside: _Pairs, outside: _Pairs) -> _Pairs:
    """Take sentences of both in turns, as the second part of a question may be answered by another document."""
    turns = chain.from_iterable(zip_longest(inside, outside))
    return _in_this_order([pair for pair in turns if pair is not None])


def _in_this_order(pairs: _Pairs) -> _Pairs:
    """Take each sentence once, and lower scores so that they fall."""
    found: dict[SentenceKey, tuple[StoredSentence, Hit]] = {}
    lowest = math.inf
    for sentence, hit in pairs:
        if sentence.key not in found:
            # Strictly below, so that of equal texts the first is returned.
            lowest = min(hit.score, math.nextafter(lowest, -math.inf))
            found[sentence.key] = sentence, replace(hit, score=lowest)
    return list(found.values())


def _likelier(first: Hits, others: Hits | None) -> Relevance | None:
    """Return the relevance of what more likely answers, by which no hit is left out."""
    given = [found.relevance for found in (first, others) if found is not None and found.relevance is not None]
    if not given:
        return None
    best = max(given, key=lambda each: each.probability or 0.0)
    count = sum(len(found.hits) for found in (first, others) if found is not None)
    return Relevance(best.probability, count, {key: each for key, each in best.numbers.items() if key != "needed"})


def within_named(scope: Scope, named: Naming) -> Scope | None:
    """Return the scope with a filter for the named documents; ``None`` if the store has no such filter."""
    of_named = scope.adapter.of_documents([each.doc_id for each in named.documents])
    if of_named is None:
        return None
    filters = [each for each in (scope.filter, of_named) if each is not None]
    return replace(scope, filter=scope.adapter.join(filters))


def names_of_documents(sentences: Sequence[StoredSentence], metadata_keys: Sequence[str]) -> DocumentNames:
    """Return the names of the documents of some sentences, as far as these hold them.

    Args:
        sentences: The sentences, in any order.
        metadata_keys: Keys of metadata that hold names, besides the title, the file name and its folder.
    """
    # All sentences of a document have the same source, as a rule, and often so as one object.
    sources = {(each.doc_id, id(each.source)): each.source for each in sentences}
    names: dict[str, list[str]] = {}
    for (doc_id, _), source in sources.items():
        names.setdefault(doc_id, []).extend(names_in(source, metadata_keys))
    first_lines: dict[str, set[str]] = {}
    for each in sentences:
        if each.start < FIRST_LINES:
            first_lines.setdefault(each.doc_id, set()).update(keys_in(each.text))
    return DocumentNames(names, first_lines)
