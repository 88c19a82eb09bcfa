"""Make a trace of a query: run it, then search again by meaning and by words alone, and read around its windows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from langchain_core.documents import BaseDocumentCompressor

from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.sentence_documents import SentencesByKey, StoredSentence
from langchain_sentence_window.documents.window_documents import shown_text
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError, StoreChangedError
from langchain_sentence_window.ranking.candidates import CANDIDATES, Candidates
from langchain_sentence_window.ranking.names import Heard
from langchain_sentence_window.ranking.ranking import Reordered
from langchain_sentence_window.retrieval.found_sentences import Found
from langchain_sentence_window.retrieval.query import Query, Request
from langchain_sentence_window.retrieval.search import fill_bm25_index, find_sentences
from langchain_sentence_window.retrieval.settings import SETTINGS
from langchain_sentence_window.retrieval.stored_sentences import fetch_sentences
from langchain_sentence_window.retrieval.telemetry import observed
from langchain_sentence_window.retrieval.tracing.outcomes import (
    BELOW_MIN_SCORE,
    BEYOND_FETCH_K,
    LEFT_OUT,
    SURROUNDING_SENTENCES,
    Outcomes,
    Rankings,
    Ranks,
    hit_traces,
    window_traces,
)
from langchain_sentence_window.retrieval.tracing.trace import CandidateTrace, NameTrace, Trace
from langchain_sentence_window.windows.assembly import IS_UNSUPPORTED


async def explain(io: IO, request: Request, reranker: BaseDocumentCompressor | None) -> Trace:
    """Run a query and return a trace of it."""
    query = _ExplainedQuery(io, request, reranker)
    with observed(query):
        await query.run()
    found, dense, lexical, around = query.found, query.dense, query.lexical, query.around
    outcomes = Outcomes.of(query)
    hits = hit_traces(query, outcomes, Rankings(dense, lexical, contributions_of(_searches(found))), around)
    windows = window_traces(query, outcomes, around, request.count_tokens, reranked=reranker is not None)
    candidates = candidate_traces(query, dense, lexical, {**around, **query.sentences})
    return Trace(
        request.search.query,
        {name: row.traced(request.settings[name]) for name, row in SETTINGS.items() if row.traced is not None},
        hits,
        windows,
        dict(query.seconds),
        named=[] if found.named is None else _named(found.named),
        searched_as="" if found.named is None else found.named.question,
        relevance={} if found.relevance is None else dict(found.relevance.numbers),
        candidates=candidates,
        counts={
            "dense": len(dense),
            "lexical": len(lexical),
            "both": len(dense.keys() & lexical.keys()),
            "candidates": len(candidates),
            "hits": len(hits),
            "windows": len(windows),
            "returned": len(query.documents),
        },
        tokens={
            "hits": sum(request.count_tokens(hit.text) for hit in hits),
            "windows": sum(window.tokens for window in windows),
            "returned": sum(request.count_tokens(shown_text(document)) for document in query.documents),
        },
    )


class _ExplainedQuery(Query):
    """A query that reads for its trace, in the same state of the store.

    Attributes:
        dense: The ranks and scores of sentences by meaning alone.
        lexical: Those by words alone.
        around: The candidates and the sentences around windows; none if the store can't fetch them by id, or not
            within the filter.
    """

    dense: Ranks
    lexical: Ranks
    around: SentencesByKey

    async def run_in(self, scope: Scope) -> bool:
        """Run all steps in a scope, then search by meaning and by words alone, and read around windows."""
        if not await super().run_in(scope):
            return False
        depth = max(CANDIDATES, len(self.expansion.hits))
        try:
            self.dense, self.lexical = await _rankings(self._io, replace(self.request, scope=scope), depth)
        except StoreChangedError:  # then ranks are of a later state than windows, as no index of theirs is left
            self.dense, self.lexical = await _rankings(self._io, self.request, depth)
        also = dict.fromkeys(key for candidates, _ in self.found.candidates for key in candidates.keys)
        try:
            self.around = await fetch_sentences(self._io, scope, self._keys_around(), self.sentences, also=list(also))
        except (IncompleteWindowError, InvalidInputError):
            self.around = {}
        return True

    def _keys_around(self) -> list[SentenceKey]:
        """Return the keys of the sentences around windows, and of the first after each hit's section.

        Where that one doesn't exist, the document ends with the section.
        """
        keys = {
            (window.doc_id, index): None
            for window in self.windows
            for index in range(max(0, window.first - SURROUNDING_SENTENCES), window.last + SURROUNDING_SENTENCES + 1)
        }
        return list(keys | {(hit.doc_id, hit.section_end): None for hit in self.expansion.hits})


def _named(named: Heard) -> list[NameTrace]:
    return [NameTrace(each.doc_id, tuple(each.words), each.name) for each in named.documents]


async def _rankings(io: IO, request: Request, depth: int) -> tuple[Ranks, Ranks]:
    """Return the ranks and scores of sentences by meaning alone and by words alone."""
    adapter = request.scope.adapter
    by_meaning = replace(
        request.search, lexical_weight=0.0, ranking=None, bm25_index=None, names=False, min_relevance=None
    )
    searched = await find_sentences(io, request.scope, by_meaning, depth)
    dense = _ranked([(each, hit.score) for each, hit in zip(searched.sentences, searched.hits, strict=True)])
    sentences = searched.sentences
    lexical: Ranks = {}
    found = await adapter.lexical_search(io, request.search.query, {"k": depth, **request.scope.search_settings})
    if found is not None:
        lexical = _ranked([(adapter.read(document), score) for document, score in found])
    elif request.search.bm25_index is not None:
        await fill_bm25_index(io, adapter, request.search.bm25_index, sentences)
        scores: list[tuple[int, float]] = await io.in_thread(
            request.search.bm25_index.scores, request.search.query, sentences
        )
        lexical = _ranked([(sentences[number], score) for number, score in scores])
    return dense, lexical


def _ranked(found: Sequence[tuple[StoredSentence, float]]) -> Ranks:
    return {each.key: (rank, score) for rank, (each, score) in enumerate(found, 1)}


def contributions_of(searches: Sequence[tuple[Candidates, Reordered]]) -> dict[SentenceKey, Mapping[str, float]]:
    """Return the part of each signal in the score of each candidate; of two searches, the first counts."""
    found: dict[SentenceKey, Mapping[str, float]] = {}
    for candidates, result in searches:
        for key, row in zip(candidates.keys, result.contributions.tolist(), strict=True):
            found.setdefault(key, dict(zip(result.names, row, strict=True)))
    return found


def candidate_traces(query: Query, dense: Ranks, lexical: Ranks, known: SentencesByKey) -> list[CandidateTrace]:
    """Return the traces of all candidates, in their new order; of the hits alone if nothing reordered them.

    Args:
        query: The query that found them.
        dense: How sentences rank by meaning alone.
        lexical: How they rank by words alone.
        known: Those of them that could be read.
    """
    found = query.found
    hits = {hit.key: rank for rank, hit in enumerate(query.expansion.hits, 1)}
    dropped = {hit.key for hit in found.hits} - hits.keys()
    is_unsupported = found.relevance is not None and not found.relevance.supported
    reason = IS_UNSUPPORTED if is_unsupported else BELOW_MIN_SCORE
    traces: dict[SentenceKey, CandidateTrace] = {}
    for key, text, score, searched in _in_order(found):
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


def _in_order(found: Found) -> list[tuple[SentenceKey, str, float, int]]:
    """Return the key, the text, the score and the rank in its search of each candidate, in their new order."""
    searches = _searches(found)
    if not searches:
        both = zip(found.sentences, found.hits, strict=True)
        return [(sentence.key, sentence.text, hit.score, rank) for rank, (sentence, hit) in enumerate(both, 1)]
    rows, before = list[tuple[SentenceKey, str, float, int]](), 0
    for candidates, result in searches:
        scores = result.scores.tolist()
        rows += [
            (candidates.keys[at], candidates.texts[at], scores[at], before + at + 1) for at in result.order.tolist()
        ]
        before += len(candidates)
    return rows


def _searches(found: Found) -> Sequence[tuple[Candidates, Reordered]]:
    """Return the searches that the hits came from: in the documents that the question names, then everywhere."""
    named = set() if found.named is None else {each.doc_id for each in found.named.documents}
    return sorted(found.candidates, key=lambda each: not {doc_id for doc_id, _ in each[0].keys} <= named)
