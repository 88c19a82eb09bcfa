"""Candidates of a question from any store: sentences with scores by meaning and by words, best first.

A store that gives candidates itself, as `FaissStore` does, is asked for them. Any other store is searched as LangChain
does. What its search lacks is added: scores by words, from the store or from a `BM25Index`, and the texts next to each
sentence, as far as they were found too.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.adapters.store_adapter import Scored, SearchedCandidates, StoreAdapter
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError, SentenceWindowWarning
from langchain_sentence_window.ranking.candidates import CANDIDATES, NO_TEXT, SPREAD, Candidates, fuse, spread
from langchain_sentence_window.ranking.relevance import Unrelated
from langchain_sentence_window.store.bm25_index import BM25Index

from .request import Request


async def find_candidates(io: IO, scope: Scope, request: Request, text: str, k: int) -> SearchedCandidates:
    """Search for a text.

    Args:
        io: Makes the calls.
        scope: Where the sentences are, and which of them may be found.
        request: The settings of the search.
        text: The text to search for.
        k: The number of sentences that are enough. More are found if they are to be ranked.
    """
    adapter, weight, spreads = scope.adapter, request.lexical_weight, request.ranking is None
    given = await adapter.candidates(io, text, k, scope.filter, lexical_weight=weight, spreads=spreads)
    if given is not None:
        return given
    index = request.bm25_index if weight else None
    finds_words = bool(weight) and adapter.finds_words
    depth = max(k, CANDIDATES) if request.needs_candidates or index is not None or finds_words else k
    settings = {"k": depth, **request.search_kwargs, **scope.search_settings}
    lexical: Mapping[int, float] = {}
    if finds_words:
        found, scores, lexical = await _by_meaning_and_words(io, scope, text, settings)
    else:
        found, scores = _read(scope, await adapter.search(io, text, settings))
        if index is not None:
            lexical = await _scored_by_index(io, scope, index, text, found)
    candidates = _fused(found, scores, lexical, weight)[: max(k, CANDIDATES) if request.needs_candidates else k]
    taken = [candidate.sentence for candidate in candidates]
    return _ReadCandidates(_columns(candidates, hides_inline=scope.filter is not None), None, taken)


def _read(scope: Scope, scored: Scored) -> tuple[list[StoredSentence], list[float]]:
    """Read what a search found, which must respect the scope's filter."""
    scope.check_found([document for document, _ in scored])
    return [scope.adapter.read(document) for document, _ in scored], [float(score) for _, score in scored]


async def _by_meaning_and_words(
    io: IO, scope: Scope, text: str, settings: Mapping[str, Any]
) -> tuple[list[StoredSentence], list[float], Mapping[int, float]]:
    """Search in a store that gives the scores of both."""
    scored = await scope.adapter.search_both(io, text, settings)
    scope.check_found([document for document, _, _ in scored])
    read = [(scope.adapter.read(document), score, words) for document, score, words in scored]
    read = sorted(read, key=lambda each: (-each[1], each[0].key))  # so that words are added up in one order
    found = [sentence for sentence, _, _ in read]
    bm25 = {number: words for number, (_, _, words) in enumerate(read) if words}
    return found, [score for _, score, _ in read], spread(bm25, _near(found, bm25))


def _near(found: Sequence[StoredSentence], bm25: Mapping[int, float]) -> Iterator[tuple[int, int, int]]:
    """Yield sentences with a BM25 score and the neighbors that were found too, as `spread` takes them."""
    numbers = {sentence.key: number for number, sentence in enumerate(found)}
    for number in bm25:
        sentence = found[number]
        for apart in range(1, len(SPREAD)):
            for index in (sentence.index - apart, sentence.index + apart):
                other = numbers.get((sentence.doc_id, index))
                if other is not None and sentence.section_start <= index < sentence.section_end:
                    yield number, other, apart


async def _scored_by_index(
    io: IO, scope: Scope, index: BM25Index, text: str, found: Sequence[StoredSentence]
) -> Mapping[int, float]:
    await fill_bm25_index(io, scope.adapter, index, found)
    # Under a filter, a sentence that wasn't found may be one that it forbids; a score would tell its words.
    score = partial(index.spread_scores, text, found, found_alone=scope.filter is not None)
    scores: Mapping[int, float] = await io.in_thread(score)
    return scores


@dataclass(frozen=True, slots=True)
class _ReadCandidates:
    """Candidates whose sentences were read with them.

    Attributes:
        candidates: The candidates, best first.
        unrelated: How close sentences are that have little to do with the text; ``None`` if that isn't known.
        found: The sentence of each.
    """

    candidates: Candidates
    unrelated: Unrelated | None
    found: Sequence[StoredSentence]

    def sentences(self, order: Sequence[int]) -> list[StoredSentence]:
        """Return the sentences of some candidates, by position."""
        return [self.found[at] for at in order]


class _Scored(NamedTuple):
    """A sentence with its scores: by meaning, its BM25 score, and both together."""

    sentence: StoredSentence
    dense: float
    lexical: float
    score: float


def _fused(
    found: Sequence[StoredSentence], dense: Sequence[float], lexical: Mapping[int, float], weight: float
) -> list[_Scored]:
    """Fuse the scores of sentences; return them best first, equal ones in the order of document and index.

    Args:
        found: The sentences that a store found.
        dense: The store's score of each.
        lexical: BM25 scores by position; a missing one is 0. None if words weren't searched.
        weight: How much words count.
    """
    in_order = sorted(range(len(found)), key=lambda at: (-dense[at], found[at].key))
    cosines = {rank: dense[at] for rank, at in enumerate(in_order)}
    bm25 = {rank: lexical[at] for rank, at in enumerate(in_order) if at in lexical}
    fused = fuse(cosines, bm25, weight) if bm25 else cosines.items()
    return [_Scored(found[in_order[rank]], cosines[rank], bm25.get(rank, 0.0), score) for rank, score in fused]


def _columns(candidates: Sequence[_Scored], *, hides_inline: bool) -> Candidates:
    """Return candidates as columns.

    The texts next to a sentence are known if they were found too, or if they are in its inline window.

    Args:
        candidates: The candidates.
        hides_inline: Whether inline windows aren't looked at, as they may hold the words of a sentence that a filter
            forbids.
    """
    found = [candidate.sentence for candidate in candidates]
    texts = [sentence.text for sentence in found]
    positions: dict[SentenceKey, int] = {}
    for position, sentence in enumerate(found):
        positions.setdefault(sentence.key, position)
    for sentence in () if hides_inline else found:
        for other in sentence.window:
            if abs(other.index - sentence.index) == 1 and other.key not in positions:
                positions[other.key] = len(texts)
                texts.append(other.text)

    def next_to(sentence: StoredSentence, index: int) -> int:
        if not sentence.section_start <= index < sentence.section_end:
            return NO_TEXT
        return positions.get((sentence.doc_id, index), NO_TEXT)

    return Candidates(
        keys=[sentence.key for sentence in found],
        section_starts=np.array([sentence.section_start for sentence in found], dtype=np.int64),
        section_ends=np.array([sentence.section_end for sentence in found], dtype=np.int64),
        dense=np.array([candidate.dense for candidate in candidates], dtype=np.float64),
        lexical=np.array([candidate.lexical for candidate in candidates], dtype=np.float64),
        texts=texts,
        before=np.array([next_to(sentence, sentence.index - 1) for sentence in found], dtype=np.int64),
        after=np.array([next_to(sentence, sentence.index + 1) for sentence in found], dtype=np.int64),
        headings=[sentence.heading for sentence in found],
        kinds=[sentence.kind for sentence in found],
        scores=np.array([candidate.score for candidate in candidates], dtype=np.float64),
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
        message = f"{bm25_index!r} lacks {len(lacking)} of {len(found)} sentences that were found, and {error}"
        if len(lacking) == len(found):
            raise InvalidInputError(f"{message}; or add the documents again, or leave out bm25_index") from error
        # Another thread may have replaced them since the search.
        warnings.warn(f"{message}; or add the documents again", SentenceWindowWarning, stacklevel=2)
    await io.in_thread(bm25_index.fill, _readable(adapter, stored), lacking)


def _readable(adapter: StoreAdapter, stored: Sequence[Document]) -> Iterator[StoredSentence]:
    for document in stored:
        with suppress(IncompleteWindowError):  # a store may hold other things too
            yield adapter.read(document)
