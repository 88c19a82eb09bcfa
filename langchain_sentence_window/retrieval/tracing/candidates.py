"""The candidates of a search, as a trace shows them: how they were reordered, and why some are no hits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.documents.sentence_documents import SentencesByKey
from langchain_sentence_window.ranking.candidates import Candidates
from langchain_sentence_window.ranking.ranking import Reordered
from langchain_sentence_window.retrieval.pipeline import Found
from langchain_sentence_window.retrieval.tracing.outcomes import BELOW_MIN_SCORE, BEYOND_FETCH_K, LEFT_OUT
from langchain_sentence_window.windows.assembly import IS_UNSUPPORTED

Ranks: TypeAlias = Mapping[SentenceKey, tuple[int, float]]
"""Ranks, from 1, and scores by sentence."""


@dataclass(frozen=True, slots=True)
class CandidateTrace:
    """A sentence that a search found, before the hits were taken.

    Attributes:
        rank: Its rank after reordering, from 1.
        searched_rank: Its rank in the search, before reordering, from 1; the same as ``rank`` without a ranking.
        doc_id: Its document.
        index: Its index among the document's sentences, from 0.
        start: Its first code point in the source; ``None`` if the store can't read it.
        end: One past its last code point, likewise.
        text: The sentence.
        score: The score that it was ranked by.
        dense_rank: Its rank by meaning alone, from 1; ``None`` if it isn't among the best.
        lexical_rank: Its rank by words alone, from 1; ``None`` if it isn't among the best, or there is no such search.
        outcome: A phrase that says what became of it: ``hit 3``, or why it is none.
        left_out: Why it is no hit, as a code of `LEFT_OUT`; ``None`` if it is one.
    """

    rank: int
    searched_rank: int
    doc_id: str
    index: int
    start: int | None
    end: int | None
    text: str
    score: float
    dense_rank: int | None
    lexical_rank: int | None
    outcome: str
    left_out: str | None = None


@dataclass(slots=True)
class Observed:
    """The candidates seen in a query's searches: each call has the candidates and their new order."""

    _calls: list[tuple[Candidates, Reordered]] = field(default_factory=list)

    def __call__(self, candidates: Candidates, result: Reordered) -> None:
        """Note the candidates of a search; see `langchain_sentence_window.retrieval.search.Search`."""
        self._calls.append((candidates, result))

    def searches(self, found: Found) -> list[tuple[Candidates, Reordered]]:
        """Return the searches that the hits came from: in the documents that the question names, and everywhere.

        Others were repeated with a larger ``fetch_k``, or because a document had changed.
        """
        heard = found.searched.heard
        named = set() if heard is None else {each.doc_id for each in heard.documents}
        inside = [each for each in self._calls if named and {doc_id for doc_id, _ in each[0].keys} <= named]
        outside = [each for each in self._calls if not any(each is other for other in inside)]
        return inside[-1:] + outside[-1:]


def contributions_of(searches: Sequence[tuple[Candidates, Reordered]]) -> dict[SentenceKey, Mapping[str, float]]:
    """Return the part of each signal in the score of each candidate; of two searches, the first counts."""
    found: dict[SentenceKey, Mapping[str, float]] = {}
    for candidates, result in searches:
        for key, row in zip(candidates.keys, result.contributions.tolist(), strict=True):
            found.setdefault(key, dict(zip(result.names, row, strict=True)))
    return found


def candidate_traces(
    found: Found,
    searches: Sequence[tuple[Candidates, Reordered]],
    dense: Ranks,
    lexical: Ranks,
    known: SentencesByKey,
) -> list[CandidateTrace]:
    """Return the traces of all candidates, in their new order; of the hits alone if nothing reordered them.

    Args:
        found: What the query found.
        searches: Its searches; see `Observed`.
        dense: How sentences rank by meaning alone.
        lexical: How they rank by words alone.
        known: Those of them that could be read.
    """
    hits = {hit.key: rank for rank, hit in enumerate(found.expansion.hits, 1)}
    dropped = {(hit.doc_id, hit.index) for hit in found.searched.hits} - hits.keys()
    relevance = found.searched.relevance
    reason = IS_UNSUPPORTED if relevance is not None and not relevance.supported else BELOW_MIN_SCORE
    traces: dict[SentenceKey, CandidateTrace] = {}
    for key, text, score, searched in _in_order(found, searches):
        if key in traces:
            continue
        read = known.get(key)
        left_out = None if key in hits else reason if key in dropped else BEYOND_FETCH_K
        traces[key] = CandidateTrace(
            len(traces) + 1,
            searched,
            *key,
            start=None if read is None else read.start,
            end=None if read is None else read.end,
            text=text,
            score=score,
            dense_rank=dense.get(key, (None,))[0],
            lexical_rank=lexical.get(key, (None,))[0],
            outcome=f"hit {hits[key]}" if left_out is None else f"left out, as {LEFT_OUT[left_out]}",
            left_out=left_out,
        )
    return list(traces.values())


def road(counts: Mapping[str, int], tokens: Mapping[str, int]) -> str:
    """Return how many sentences and windows there were at each stage of a query, with their tokens, on a line."""
    searched = f"{counts['dense']} by meaning, {counts['lexical']} by words, {counts['both']} by both"
    stages = [f"{counts[stage]} {stage} ({tokens[stage]} tokens)" for stage in ("hits", "windows", "returned")]
    return " -> ".join([searched, f"{counts['candidates']} candidates", *stages])


def _in_order(
    found: Found, searches: Sequence[tuple[Candidates, Reordered]]
) -> list[tuple[SentenceKey, str, float, int]]:
    """Return the key, the text, the score and the rank in its search of each candidate, in their new order."""
    if not searches:
        both = zip(found.searched.sentences, found.searched.hits, strict=True)
        return [(sentence.key, sentence.text, hit.score, rank) for rank, (sentence, hit) in enumerate(both, 1)]
    rows, before = list[tuple[SentenceKey, str, float, int]](), 0
    for candidates, result in searches:
        scores = result.scores.tolist()
        rows += [
            (candidates.keys[at], candidates.texts[at], scores[at], before + at + 1) for at in result.order.tolist()
        ]
        before += len(candidates)
    return rows
