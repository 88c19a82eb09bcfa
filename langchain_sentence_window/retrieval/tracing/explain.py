"""Make a trace of a query: run it, then search again by meaning and by words alone, and read around its windows."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.documents import BaseDocumentCompressor

from langchain_sentence_window._display import described, shown
from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.sentence_documents import SentencesByKey, StoredSentence
from langchain_sentence_window.documents.window_documents import shown_text
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError, StoreChangedError
from langchain_sentence_window.ranking.candidates import CANDIDATES
from langchain_sentence_window.ranking.name_spans import Heard
from langchain_sentence_window.ranking.ranking import DEFAULT_RANKING, Ranking
from langchain_sentence_window.retrieval.indexing import fill_bm25_index
from langchain_sentence_window.retrieval.neighbors import fetch_sentences
from langchain_sentence_window.retrieval.observing import observed
from langchain_sentence_window.retrieval.pipeline import Request, Retrieval
from langchain_sentence_window.retrieval.search import find_sentences
from langchain_sentence_window.retrieval.tracing.candidates import (
    Observed,
    Ranks,
    candidate_traces,
    contributions_of,
)
from langchain_sentence_window.retrieval.tracing.hits import Rankings, hit_traces
from langchain_sentence_window.retrieval.tracing.outcomes import Outcomes
from langchain_sentence_window.retrieval.tracing.trace import NameTrace, Trace
from langchain_sentence_window.retrieval.tracing.windows import SURROUNDING_SENTENCES, window_traces


async def explain(io: IO, request: Request, reranker: BaseDocumentCompressor | None) -> Trace:
    """Run a query and return a trace of it."""
    seen = Observed()
    watched = replace(request, search=replace(request.search, observe=seen))

    async def read_more(scope: Scope, retrieval: Retrieval) -> tuple[Ranks, Ranks, SentencesByKey]:
        depth = max(CANDIDATES, len(retrieval.found.expansion.hits))
        try:
            dense, lexical = await _rankings(io, replace(request, scope=scope), depth)
        except StoreChangedError:  # then ranks are of a later state than windows, as no index of theirs is left
            dense, lexical = await _rankings(io, request, depth)
        also = [key for candidates, _ in seen.searches(retrieval.found) for key in candidates.keys]
        return dense, lexical, await _read_around(io, scope, retrieval, list(dict.fromkeys(also)))

    retrieval = await observed(io, watched, reranker, None, read_more)
    searches = seen.searches(retrieval.found)
    dense, lexical, around = retrieval.more
    outcomes = Outcomes.of(retrieval)
    hits = hit_traces(retrieval, outcomes, Rankings(dense, lexical, contributions_of(searches)), around)
    windows = window_traces(retrieval, outcomes, around, request.count_tokens, reranked=reranker is not None)
    candidates = candidate_traces(retrieval.found, searches, dense, lexical, {**around, **retrieval.sentences})
    searched = retrieval.found.searched
    return Trace(
        request.search.query,
        _settings(request, reranker),
        hits,
        windows,
        dict(retrieval.seconds),
        named=[] if searched.heard is None else _named(searched.heard),
        searched_as="" if searched.heard is None else searched.heard.question,
        relevance={} if searched.relevance is None else dict(searched.relevance.numbers),
        candidates=candidates,
        counts={
            "dense": len(dense),
            "lexical": len(lexical),
            "both": len(dense.keys() & lexical.keys()),
            "candidates": len(candidates),
            "hits": len(hits),
            "windows": len(windows),
            "returned": len(retrieval.documents),
        },
        tokens={
            "hits": sum(request.count_tokens(hit.text) for hit in hits),
            "windows": sum(window.tokens for window in windows),
            "returned": sum(request.count_tokens(shown_text(document)) for document in retrieval.documents),
        },
    )


def _settings(request: Request, reranker: BaseDocumentCompressor | None) -> dict[str, Any]:
    """Return all settings of a query, those that a call may give and those of its retriever."""
    search, counter = request.search, request.count_tokens
    return {
        "k": request.k,
        "fetch_k": request.fetch_k,
        "window": _shown(request.policy.describe(), _written),
        "window_key": request.policy.key,
        "lexical_weight": search.lexical_weight,
        "ranking": _weights(search.ranking),
        "names": search.names,
        "min_relevance": search.min_relevance,
        "min_score": request.min_score,
        "max_tokens": request.max_tokens,
        "count_tokens": described(getattr(counter, "__wrapped__", counter)),
        "order": request.order,
        "filter": _shown(request.scope.filter, _written),
        "search_kwargs": {name: _shown(value, described) for name, value in search.settings.items()},
        "bm25_index": None if search.bm25_index is None else described(search.bm25_index),
        "reranker": None if reranker is None else described(reranker),
    }


def _weights(ranking: Ranking | None) -> Any:
    return "default" if ranking == DEFAULT_RANKING else None if ranking is None else dict(ranking.weights)


def _written(value: Any) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - a value in it may raise anything
        return shown(value)


def _shown(value: Any, write: Callable[[Any], str]) -> Any:
    """Return a value if JSON can hold it, else what a function writes of it."""
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return write(value)
    return value


def _named(heard: Heard) -> list[NameTrace]:
    return [NameTrace(each.doc_id, tuple(each.words), each.name) for each in heard.documents]


async def _read_around(
    io: IO, scope: Scope, retrieval: Retrieval, also: Sequence[SentenceKey]
) -> dict[SentenceKey, StoredSentence]:
    """Read the sentences around windows; none if the store can't fetch them by id, or not within the filter."""
    try:
        return await fetch_sentences(io, scope, list(_around(retrieval)), retrieval.sentences, also=also)
    except (IncompleteWindowError, InvalidInputError):
        return {}


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


def _around(retrieval: Retrieval) -> dict[SentenceKey, None]:
    """Return the keys of the sentences around windows, and of the first after each hit's section.

    Where that one doesn't exist, the document ends with the section.
    """
    keys = {
        (window.doc_id, index): None
        for window in retrieval.found.windows
        for index in range(max(0, window.first - SURROUNDING_SENTENCES), window.last + SURROUNDING_SENTENCES + 1)
    }
    return keys | {(hit.doc_id, hit.section_end): None for hit in retrieval.found.expansion.hits}
