"""Search sentences in any vector store, by meaning and words where that is possible, and reorder what was found.

Documents that the question names are searched by themselves, too. If the question is limited to them, their sentences
come first; if it only mentions them, they get a bonus. A store with a lexical index knows which documents are
named before anything is searched. For another store, names are recognized in what a search found.
"""

import math
import warnings
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, zip_longest
from typing import Any, Literal, TypeAlias

import numpy as np
from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import SentenceKey, Vectors
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.adapters.store_adapter import Scored, StoreAdapter
from langchain_sentence_window.documents.sentence_documents import SentencesByKey, StoredSentence, as_hit, by_key
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError, SentenceWindowWarning
from langchain_sentence_window.ranking.candidates import (
    CANDIDATES,
    LEXICAL_WEIGHT,
    NO_TEXT,
    SPREAD,
    Candidates,
    Numbers,
    fuse,
    spread,
)
from langchain_sentence_window.ranking.names import Heard, hear, query_words
from langchain_sentence_window.ranking.ranking import Evidence, Ranking, Reordered, reorder
from langchain_sentence_window.ranking.relevance import NEEDED, Relevance, Unrelated, judge_relevance
from langchain_sentence_window.splitting.blocks import CODE
from langchain_sentence_window.store.bm25_index import BM25Index
from langchain_sentence_window.store.reading import FoundCandidates
from langchain_sentence_window.store.state import IndexState
from langchain_sentence_window.windows.geometry import Hit

from .expansion import ReadAhead, Wanted
from .stored_sentences import found_evidence

MinRelevance: TypeAlias = Literal["auto"] | None
"""``auto`` leaves out what the question doesn't support, see `langchain_sentence_window.ranking.relevance`."""


@dataclass(frozen=True, slots=True)
class Search:
    """A search of sentences.

    Attributes:
        query: The question.
        lexical_weight: How much words count beside meaning, where the store or ``bm25_index`` can search by words.
        ranking: How candidates are reordered; ``None`` to keep the order of the search.
        settings: Further arguments of the store's search.
        bm25_index: Searches by words if the store can't.
        names: Whether documents that the question names are preferred; keys of metadata that hold names, besides the
            title, the file name and its folder.
        min_relevance: Whether what isn't likely to answer the question is left out.
        unrelated: How close sentences are that have little to do with the question, where the store can say it; see
            `judge_relevance`.
    """

    query: str
    lexical_weight: float
    ranking: Ranking | None
    settings: Mapping[str, Any]
    bm25_index: BM25Index | None = None
    names: bool | Sequence[str] = False
    min_relevance: MinRelevance = None
    unrelated: Unrelated | None = None

    @property
    def needs_candidates(self) -> bool:
        """Whether candidates are looked at before the best are taken."""
        return self.ranking is not None or self.min_relevance is not None

    def rank(self, candidates: Candidates, scores: Numbers) -> tuple[Reordered, Relevance | None]:
        """Rank candidates and judge them; without a ranking by the scores of the search, and if that is asked for."""
        if self.ranking is None:
            order, totals = np.argsort(-scores, kind="stable"), scores
            result = Reordered(order, scores, (), np.empty((len(scores), 0)))
        else:
            result = reorder(self.query, candidates, self.ranking, self.lexical_weight / LEXICAL_WEIGHT)
            totals = result.contributions.sum(axis=1)
        if not self.needs_candidates:
            return result, None
        evidence = result.evidence or Evidence(self.query, candidates)
        relevance = judge_relevance(
            result.order,
            totals,
            candidates.dense,
            evidence.coverage,
            self.unrelated,
            is_code=[kind == CODE for kind in candidates.kinds],
            needed=None if self.min_relevance is None else NEEDED,
        )
        return result, relevance


@dataclass(frozen=True, slots=True)
class Found:
    """The sentences that a search found, all of one state of the store.

    Attributes:
        sentences: The sentences, best first.
        hits: A hit for each.
        candidates: The candidates that they were taken from, and their new order, of each search: in the documents that
            the question names, then everywhere. None without a ranking.
        named: The documents that the question names, and by which words; ``None`` if it names none.
        relevance: How likely the question is answered, and how many of the best hits to return; ``None`` if no
            candidates were looked at.
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


async def find_sentences(io: IO, scope: Scope, search: Search, k: int, ahead: ReadAhead | None = None) -> Found:
    """Search sentences, and prefer those of documents that the question names.

    Args:
        io: Makes the calls.
        scope: Where they are, and which of them may be found.
        search: What to search for, and how.
        k: The most sentences to find in one search.
        ahead: What to read around the hits, if that costs no further call; ``None`` for nothing.
    """
    adapter = scope.adapter
    if not adapter.reads_index or not (search.needs_candidates or search.lexical_weight):
        find = partial(_find, io, search)
        return await named_search(io, scope, search.query, find, k=k, names=search.names)
    text, read = search.query, _IndexRead(scope, search, k, ahead)
    has_words = bool(search.lexical_weight) or search.names is not False
    while True:
        read.vectors[text] = await adapter.store.embed_query(io, text)
        found = await adapter.read_index(io, read, words=has_words)
        if isinstance(found, Found):
            return found
        text = found


@dataclass(frozen=True, slots=True)
class _IndexRead:
    """Read of an index what a search needs, all in one state: names, candidates, and sentences around the best of them.

    Attributes:
        scope: Which sentences may be found.
        search: What to search for, and how.
        k: The most sentences to find in one search.
        ahead: What to read around the hits; ``None`` for nothing.
        vectors: The vectors of texts.
    """

    scope: Scope
    search: Search
    k: int
    ahead: ReadAhead | None
    vectors: dict[str, Vectors] = field(default_factory=dict)

    def __call__(self, state: IndexState) -> Found | str:
        """Search, rank and read; return a text instead if it has to be embedded first."""
        query, names, words = self.search.query, self.search.names, query_words(self.search.query)
        named = inside = None
        if names is not False and words.all:
            keys = () if names is True else tuple(names)
            named = hear(query, state.name_evidence(words, keys, filter=self.scope.filter))
            inside = None if named is None else within_named(self.scope, named)
        if named is None or inside is None:
            found, source = self._find(state, query, self.scope, self.k)
            sources = [source]
        else:
            if named.question not in self.vectors:
                # A second read finds the same state only if nobody writes.
                kept = state.origin.queries.kept(named.question)
                if kept is None:
                    return named.question
                self.vectors[named.question] = kept
            first, source = self._find(state, named.question, inside, named_depth(named, self.k))
            others, sources = None, [source]
            if needs_others(named, first, self.k):
                others, source = self._find(state, query, self.scope, self.k)
                sources.append(source)
            found = joined(named, first, others, self.k)
        if self.ahead is None:
            return found
        known = by_key(found.sentences)
        wanted = self.ahead.wanted(found.hits, known)
        read = {key: known[key] for key in wanted.asked if key in known}
        for source in sources:
            missing = [key for key in wanted.asked if key not in read]
            read |= source.sentences_at(missing) if missing else {}
        return replace(found, wanted=wanted, read=read)

    def _find(self, state: IndexState, text: str, scope: Scope, k: int) -> tuple[Found, FoundCandidates]:
        """Make one search, and rank what it found."""
        search = replace(self.search, query=text)
        if search.needs_candidates:
            search = replace(search, unrelated=state.unrelated_to(self.vectors[text]))
        source = state.search(
            self.vectors[text],
            text,
            k,
            lexical_weight=search.lexical_weight,
            filter=scope.filter,
            spreads=search.ranking is None,
            **search.settings,
        )
        candidates = source.candidates
        if not len(candidates.keys):
            return Found([], []), source
        result, relevance = search.rank(
            candidates, candidates.dense if candidates.scores is None else candidates.scores
        )
        order = np.argsort(-result.scores, kind="stable")[:k]
        sentences = source.sentences(order)
        scores, similarities = result.scores[order].tolist(), candidates.dense[order].tolist()
        seen = [(candidates, result)] if search.ranking is not None else []
        return Found(sentences, list(map(as_hit, sentences, scores, similarities)), seen, relevance=relevance), source


Find: TypeAlias = Callable[[str, Scope, int], Awaitable[Found]]
"""Searches for a text in a scope, for at most so many sentences."""


async def named_search(
    io: IO, scope: Scope, query: str, find: Find, *, k: int, names: bool | Sequence[str] = True
) -> Found:
    """Search, and prefer sentences of documents that the query names.

    Args:
        io: Makes the calls.
        scope: Where the sentences are, and which of them may be found. It binds what may be known of names, too.
        query: The question.
        find: Searches for a text. It is called once if the query names nothing, and at most twice.
        k: The number of sentences that are enough.
        names: Whether to look for names; keys of metadata that hold names, beside the title, the file name and its
            folder.
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
        evidence = found_evidence(telling, everywhere.sentences, keys, dict(words.keys))
    named = hear(query, evidence)
    inside = None if named is None else within_named(scope, named)
    if named is None or inside is None:
        found = everywhere or await find(query, scope, k)
        if named is None or everywhere is None:
            return found
        return replace(joined(named, found, found, k), candidates=found.candidates)
    first = await find(named.question, inside, named_depth(named, k))
    if everywhere is None and needs_others(named, first, k):
        everywhere = await find(query, scope, k)
    return joined(named, first, everywhere, k)


def needs_others(named: Heard, first: Found, k: int) -> bool:
    """Return whether sentences of other documents are wanted, too."""
    return not named.is_limited or named.asks_twice or len(first.hits) < k


def named_depth(named: Heard, k: int) -> int:
    """Return how many sentences to search in named documents, of each of which some are to be among the best ``k``."""
    return k if len(named.documents) == 1 else max(k, CANDIDATES)


def balanced(found: Found, k: int, named: Heard) -> Found:
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


def joined(named: Heard, first: Found, others: Found | None, k: int) -> Found:
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
        highest = 1.0 if others.candidates else max((abs(hit.score) for hit in others.hits), default=1.0)
        both = _with_bonus(doc_ids, inside, everywhere, NAME_BONUS * highest)[:k]
    elif named.asks_twice:
        both = _in_turns(inside, [pair for pair in everywhere if pair[0].doc_id not in doc_ids])[:k]
    else:
        both = _in_this_order([*inside, *everywhere])
    candidates = [*first.candidates, *others.candidates]
    return Found([sentence for sentence, _ in both], [hit for _, hit in both], candidates, named, relevance)


_Pairs: TypeAlias = list[tuple[StoredSentence, Hit]]


def _pairs(found: Found) -> _Pairs:
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


def _likelier(first: Found, others: Found | None) -> Relevance | None:
    """Return the relevance of what more likely answers, by which no hit is left out."""
    given = [found.relevance for found in (first, others) if found is not None and found.relevance is not None]
    if not given:
        return None
    best = max(given, key=lambda each: each.probability or 0.0)
    count = sum(len(found.hits) for found in (first, others) if found is not None)
    return Relevance(best.probability, count, {key: each for key, each in best.numbers.items() if key != "needed"})


def within_named(scope: Scope, named: Heard) -> Scope | None:
    """Return the scope with a filter for the named documents; ``None`` if the store has no such filter."""
    of_named = scope.adapter.of_documents([each.doc_id for each in named.documents])
    if of_named is None:
        return None
    filters = [*scope.filters, of_named]
    return replace(scope, filter=scope.adapter.join(filters), filters=filters)


async def _find(io: IO, search: Search, text: str, scope: Scope, k: int) -> Found:
    """Make one search, and reorder what it found."""
    adapter, search = scope.adapter, replace(search, query=text)
    if search.needs_candidates:
        search = replace(search, unrelated=await adapter.unrelated_to(io, text))
    if adapter.ranks_candidates or (adapter.is_hybrid and not search.needs_candidates):
        return await _in_hybrid_store(io, scope, search, k)
    has_words = search.bm25_index is not None and search.lexical_weight > 0
    depth = max(k, CANDIDATES) if has_words or search.needs_candidates or adapter.finds_words else k
    settings = {"k": depth, **search.settings, **scope.search_settings}
    if adapter.finds_words and search.lexical_weight:
        return await _by_both(io, scope, search, settings, k)
    if adapter.is_hybrid and search.lexical_weight:
        scored = await adapter.hybrid_search(io, search.query, settings | {"lexical_weight": search.lexical_weight})
        found, scores = _checked(scope, scored)
    else:
        found, scores = _checked(scope, await adapter.search(io, search.query, settings))
    # Under a filter, a sentence that wasn't found may be one that it forbids; a score would tell its words.
    lexical: Mapping[int, float] = {}
    if search.bm25_index is not None and has_words:
        await fill_bm25_index(io, adapter, search.bm25_index, found)
        lexical = await io.in_thread(
            partial(search.bm25_index.spread_scores, search.query, found, found_alone=scope.filter is not None)
        )
    if scope.filter is None or not any(sentence.window for sentence in found):
        return await io.compute(rank_found, search, found, scores, lexical, k)
    # An inline window may hold the words of a sentence that the filter forbids.
    alone = [replace(sentence, window=()) for sentence in found]
    best = await io.compute(rank_found, search, alone, scores, lexical, k)
    whole = by_key(found)
    return replace(best, sentences=[whole[sentence.key] for sentence in best.sentences])


def _checked(scope: Scope, scored: Scored) -> tuple[list[StoredSentence], list[float]]:
    """Read what a search found, which must respect the scope's filter."""
    scope.check_found([document for document, _ in scored])
    return [scope.adapter.read(document) for document, _ in scored], [float(score) for _, score in scored]


async def _by_both(io: IO, scope: Scope, search: Search, settings: Mapping[str, Any], k: int) -> Found:
    """Search by meaning and words in a store that gives the scores of both."""
    scored = await scope.adapter.search_both(io, search.query, settings)
    scope.check_found([document for document, _, _ in scored])
    read = [(scope.adapter.read(document), score, words) for document, score, words in scored]
    read = sorted(read, key=lambda each: (-each[1], each[0].key))  # so that words are added up in one order
    found = [sentence for sentence, _, _ in read]
    bm25 = {number: words for number, (_, _, words) in enumerate(read) if words}
    lexical = spread(bm25, _near(found, bm25))
    return await io.compute(rank_found, search, found, [score for _, score, _ in read], lexical, k)


def _near(found: Sequence[StoredSentence], bm25: Mapping[int, float]) -> Iterator[tuple[int, int, int]]:
    """Yield sentences with a BM25 score and others beside them that were found, as `spread` takes them."""
    numbers = {sentence.key: number for number, sentence in enumerate(found)}
    for number in bm25:
        sentence = found[number]
        for apart in range(1, len(SPREAD)):
            for index in (sentence.index - apart, sentence.index + apart):
                other = numbers.get((sentence.doc_id, index))
                if other is not None and sentence.section_start <= index < sentence.section_end:
                    yield number, other, apart


async def _in_hybrid_store(io: IO, scope: Scope, search: Search, k: int) -> Found:
    """Search by meaning and words in a store that does both, and ranks candidates itself if it can."""
    adapter = scope.adapter
    settings: dict[str, Any] = {"k": k, **search.settings, **scope.search_settings}
    if not (search.needs_candidates or search.lexical_weight):
        found, scores = _checked(scope, await adapter.search(io, search.query, settings))
        return Found(found, list(map(as_hit, found, scores, scores)))
    settings |= {"lexical_weight": search.lexical_weight, "spreads": search.ranking is None}
    rank = _StoreRank(search)
    found, scores = _checked(scope, await adapter.hybrid_search(io, search.query, settings | {"rank": rank}))
    similarities = [rank.similarities.get(each.key, score) for each, score in zip(found, scores, strict=True)]
    return Found(found, list(map(as_hit, found, scores, similarities)), rank.seen, relevance=rank.relevance)


class _StoreRank:
    """Ranks candidates for a subclass of a store that searches in its own way, and notes them."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self.similarities: dict[SentenceKey, float] = {}
        self.seen: list[tuple[Candidates, Reordered]] = []
        self.relevance: Relevance | None = None

    def __call__(self, candidates: Candidates) -> Numbers:
        scores = candidates.dense if candidates.scores is None else candidates.scores
        result, self.relevance = self._search.rank(candidates, scores)
        self.similarities = dict(zip(candidates.keys, candidates.dense.tolist(), strict=True))
        self.seen = [] if self._search.ranking is None else [(candidates, result)]
        return result.scores


def rank_found(
    search: Search, found: Sequence[StoredSentence], scores: Sequence[float], lexical: Mapping[int, float], k: int
) -> Found:
    """Rank what a store found by its scores, and by words if it has BM25 scores; equal ones by document and index."""
    in_order = sorted(range(len(found)), key=lambda number: (-scores[number], found[number].key))
    lexical = {at: lexical[number] for at, number in enumerate(in_order) if number in lexical}
    found, scores = [found[number] for number in in_order], [scores[number] for number in in_order]
    by_number = dict(enumerate(scores))
    fused = fuse(by_number, lexical, search.lexical_weight) if lexical else list(by_number.items())
    seen, relevance = list[tuple[Candidates, Reordered]](), None
    if search.needs_candidates and fused:
        numbers, ordered = zip(*fused[: max(k, CANDIDATES)], strict=True)
        candidates = candidates_of([found[i] for i in numbers], [scores[i] for i in numbers], lexical, numbers)
        result, relevance = search.rank(candidates, np.array(ordered))
        if search.ranking is not None:
            seen = [(candidates, result)]
            fused = [(numbers[at], float(result.scores[at])) for at in result.order.tolist()]
    best = fused[:k]
    hits = [as_hit(found[i], score, scores[i]) for i, score in best]
    return Found([found[i] for i, _ in best], hits, seen, relevance=relevance)


def candidates_of(
    found: Sequence[StoredSentence], scores: Sequence[float], lexical: Mapping[int, float], numbers: Sequence[int]
) -> Candidates:
    """Make candidates of sentences that a store found.

    The texts beside a sentence are known if they were found too, or if they are in its inline window.

    Args:
        found: The sentences.
        scores: The store's score of each.
        lexical: BM25 scores by number; a missing one is 0.
        numbers: The number of each sentence.
    """
    texts = [sentence.text for sentence in found]
    positions: dict[SentenceKey, int] = {}
    for position, sentence in enumerate(found):
        positions.setdefault(sentence.key, position)
    for sentence in found:
        for other in sentence.window:
            key = other.key
            if abs(other.index - sentence.index) == 1 and key not in positions:
                positions[key] = len(texts)
                texts.append(other.text)

    def beside(sentence: StoredSentence, index: int) -> int:
        if not sentence.section_start <= index < sentence.section_end:
            return NO_TEXT
        return positions.get((sentence.doc_id, index), NO_TEXT)

    return Candidates(
        keys=[sentence.key for sentence in found],
        section_starts=np.array([sentence.section_start for sentence in found], dtype=np.int64),
        section_ends=np.array([sentence.section_end for sentence in found], dtype=np.int64),
        dense=np.array(scores, dtype=np.float64),
        lexical=np.array([lexical.get(number, 0.0) for number in numbers], dtype=np.float64),
        texts=texts,
        before=np.array([beside(sentence, sentence.index - 1) for sentence in found], dtype=np.int64),
        after=np.array([beside(sentence, sentence.index + 1) for sentence in found], dtype=np.int64),
        headings=[sentence.heading for sentence in found],
        kinds=[sentence.kind for sentence in found],
    )


async def fill_bm25_index(
    io: IO, adapter: StoreAdapter, bm25_index: BM25Index, found: Sequence[StoredSentence]
) -> None:
    """Fill a lexical index from the store, if it lacks some of the sentences that a search has found.

    All of the store is read, whatever the filter, so that scores don't depend on who asks first.

    Raises:
        InvalidInputError: It lacks them all, and the store can't list what it holds.
        StoreError: The index can't be written.
    """
    lacking = await io.in_thread(bm25_index.lacking, found)
    if not lacking:
        return
    try:
        stored = await adapter.list_sentences(io, None)
    except InvalidInputError as error:
        stored = []
        told = f"{bm25_index!r} lacks {len(lacking)} of {len(found)} sentences that were found, and {error}"
        if len(lacking) == len(found):
            raise InvalidInputError(f"{told}; or add the documents again, or leave out bm25_index") from error
        # Another thread may have replaced them meanwhile.
        warnings.warn(f"{told}; or add the documents again", SentenceWindowWarning, stacklevel=2)
    await io.in_thread(bm25_index.fill, _readable(adapter, stored), lacking)


def _readable(adapter: StoreAdapter, stored: Sequence[Document]) -> Iterator[StoredSentence]:
    for document in stored:
        with suppress(IncompleteWindowError):  # a store may hold other things too
            yield adapter.read(document)
