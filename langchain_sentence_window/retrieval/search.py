"""Search a question's sentences in any store: candidates, ranked, and what to read around the best of them."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.adapters.store_adapter import SearchedCandidates, StoreAdapter
from langchain_sentence_window.documents.sentence_documents import as_hit, by_key
from langchain_sentence_window.ranking.candidates import LEXICAL_WEIGHT
from langchain_sentence_window.ranking.ranking import Reordered, reorder
from langchain_sentence_window.ranking.relevance import NEEDED, Relevance, judge_relevance
from langchain_sentence_window.ranking.signals import CandidateFacts
from langchain_sentence_window.splitting.blocks import CODE

from .candidates import find_candidates
from .expansion import Expansion, expand_hits, surroundings
from .named_search import Hits, named_search
from .request import Request
from .window_reader import WindowReader


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, and the sentences around them.

    Attributes:
        found: The hits.
        are_all: Whether the store has no more that count.
        expansion: How far those that count are expanded.
        reader: Reads sentences around them, and has read those that their windows will probably need.
    """

    found: Hits
    are_all: bool
    expansion: Expansion
    reader: WindowReader


async def search(io: IO, scope: Scope, request: Request, fetch_k: int) -> SearchResult:
    """Search sentences, and read around the best of them, in one state of the store if it can do that.

    Args:
        io: Makes the calls.
        scope: Where they are, and which of them may be found.
        request: The question.
        fetch_k: The most sentences to find in one search.
    """

    async def find(io: IO, adapter: StoreAdapter) -> SearchResult:
        within = replace(scope, adapter=adapter)
        found = await find_hits(io, within, request, fetch_k)
        hits = found.counting(request.min_score)
        are_all = len(found.hits) < fetch_k or len(hits) < len(found.hits)
        reader = WindowReader(by_key(found.sentences))
        expansion = expand_hits(hits, request.expansion, reader.sentences, are_all=are_all)
        expansion = await reader.read_around(
            io, within, expansion, surroundings(expansion, request.k, request.max_tokens)
        )
        return SearchResult(found, are_all, expansion, reader)

    return await scope.adapter.in_search(io, request.query, find, has_words=bool(request.lexical_weight))


async def find_hits(io: IO, scope: Scope, request: Request, k: int) -> Hits:
    """Find the best ``k`` sentences, and prefer those of documents that the question names."""
    return await named_search(io, scope, request.query, partial(_find, io, request), k=k, names=request.names)


async def _find(io: IO, request: Request, text: str, scope: Scope, k: int) -> Hits:
    """Make one search, and rank what it found."""
    found = await find_candidates(io, scope, request, text, k)
    if not len(found.candidates):
        return Hits([], [])
    result, relevance = rank(request, text, found)
    order = result.order[:k]
    sentences = found.sentences(order.tolist())
    scores, similarities = result.scores[order].tolist(), found.candidates.dense[order].tolist()
    seen = [(found.candidates, result)] if request.ranking is not None else []
    return Hits(sentences, list(map(as_hit, sentences, scores, similarities)), seen, relevance=relevance)


def rank(request: Request, text: str, found: SearchedCandidates) -> tuple[Reordered, Relevance | None]:
    """Rank candidates by the request's ranking or else by their scores, and judge whether they answer."""
    candidates = found.candidates
    facts = CandidateFacts(text, candidates) if request.needs_candidates else None
    if request.ranking is None or facts is None:
        totals = candidates.dense if candidates.scores is None else candidates.scores
        result = Reordered(np.argsort(-totals, kind="stable"), totals, (), np.empty((len(totals), 0)))
    else:
        result = reorder(facts, request.ranking, request.lexical_weight / LEXICAL_WEIGHT)
        totals = result.contributions.sum(axis=1)
    if facts is None:
        return result, None
    relevance = judge_relevance(
        result.order,
        totals,
        candidates.dense,
        facts.coverage,
        found.unrelated,
        is_code=[kind == CODE for kind in candidates.kinds],
        needed=None if request.min_relevance is None else NEEDED,
    )
    return result, relevance
