"""The hits of one search: candidates of a store, ranked, and how likely they answer the question."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.adapters.store_adapter import SearchedCandidates
from langchain_sentence_window.documents.sentence_documents import SentencesByKey, as_hit, by_key
from langchain_sentence_window.ranking.candidates import LEXICAL_WEIGHT, Candidates
from langchain_sentence_window.ranking.names import Naming
from langchain_sentence_window.ranking.ranking import Reordered, reorder
from langchain_sentence_window.ranking.relevance import NEEDED, Relevance, judge_relevance
from langchain_sentence_window.ranking.signals import CandidateFacts
from langchain_sentence_window.splitting.blocks import CODE
from langchain_sentence_window.windows.geometry import Hit

from .candidates import find_candidates
from .request import Request


@dataclass(frozen=True, slots=True)
class Hits:
    """The sentences that a search found, all of one state of the store.

    Attributes:
        hits: The hits, best first.
        sentences: The sentence of each, by document and index.
        searches: The candidates that they were taken from, and their new order, of each search: in the documents that
            the question names, then everywhere. None without a ranking.
        named: The documents that the question names, and by which words; ``None`` if it names none.
        relevance: How likely the question is answered, and how many of the best hits to return; ``None`` if no
            candidates were looked at.
    """

    hits: Sequence[Hit]
    sentences: SentencesByKey
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
        return [hit for hit in self.hits if hit.similarity is not None and hit.similarity >= min_score]


async def find_hits(io: IO, scope: Scope, request: Request, text: str, k: int) -> Hits:
    """Make one search, and take the best ``k`` of what it found."""
    found = await find_candidates(io, scope, request, text, k)
    if not len(found.candidates):
        return Hits([], {})
    result, relevance = _ranked(request, text, found)
    order = result.order
    if request.min_score is not None:
        # First those that count: a ranking, or words, may put sentences of a low similarity before them.
        order = order[np.argsort(found.candidates.dense[order] < request.min_score, kind="stable")]
    order = order[:k]
    sentences = found.sentences(order.tolist())
    scores, similarities = result.scores[order].tolist(), found.candidates.dense[order].tolist()
    searches = [] if request.ranking is None else [(found.candidates, result)]
    return Hits(list(map(as_hit, sentences, scores, similarities)), by_key(sentences), searches, relevance=relevance)


def _ranked(request: Request, text: str, found: SearchedCandidates) -> tuple[Reordered, Relevance | None]:
    """Rank candidates by the request's ranking or else by their scores, and judge whether they answer."""
    candidates = found.candidates
    facts = CandidateFacts(text, candidates, request.needs) if request.needs_candidates else None
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
        needed=NEEDED if request.min_relevance == "auto" else request.min_relevance,
    )
    return result, relevance
