"""Making a trace of a query: it is asked, then looked at from all sides, which takes a few more searches."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from langchain_core.documents import BaseDocumentCompressor

from langchain_sentence_window._io import IO
from langchain_sentence_window._types import SentenceKey
from langchain_sentence_window.documents.keys import DOC_ID, RELEVANCE_SCORE, SENTENCES, WINDOW_ID
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from langchain_sentence_window.ranking.fusion import CANDIDATES
from langchain_sentence_window.retrieval.expansion import Expansion
from langchain_sentence_window.retrieval.neighbors import fetch_sentences
from langchain_sentence_window.retrieval.pipeline import Request, Retrieval, retrieve
from langchain_sentence_window.retrieval.search import find_sentences
from langchain_sentence_window.retrieval.tracing.trace import HitTrace, SentenceTrace, Trace, WindowTrace
from langchain_sentence_window.windows.geometry import Hit, Window

SHOWN_AROUND = 4
"""Sentences shown before and after a window."""

Ranking: TypeAlias = Mapping[SentenceKey, tuple[int, float]]


@dataclass(frozen=True, slots=True)
class _LookedUp:
    """What is asked of each hit or window, by its place, so that all of them take work that grows as they do.

    Attributes:
        windows: The number of the window that a sentence stands in, from 1.
        alone: The window of each hit alone.
        best: The places of the windows' best hits.
        merged: The places of all hits that are in windows as such.
        ranks: The rank of each hit, from 1.
        scores: The score of each hit.
        ranked: The rank of each window as the reranker put them, from 1, by its id.
        returned: Of each window by its number: its place in what is returned, from 1, and the sentences that are.
    """

    windows: Mapping[SentenceKey, int]
    alone: Mapping[SentenceKey, Window]
    best: Collection[SentenceKey]
    merged: Collection[SentenceKey]
    ranks: Mapping[SentenceKey, int]
    scores: Mapping[SentenceKey, float]
    ranked: Mapping[str, int]
    returned: Mapping[int, tuple[int, tuple[int, int]]]

    @classmethod
    def of(cls, retrieval: Retrieval) -> "_LookedUp":
        windows, expansion = retrieval.found.windows, retrieval.found.expansion
        numbers = {
            (window.doc_id, index): number
            for number, window in enumerate(windows, 1)
            for index in range(window.first, window.last + 1)
        }
        by_id = {document.metadata[WINDOW_ID]: number for number, document in enumerate(retrieval.found.documents, 1)}
        returned: dict[int, tuple[int, tuple[int, int]]] = {}
        for place, each in enumerate(retrieval.documents, 1):
            first, last = each.metadata.get(SENTENCES, (-1, -1))
            # One that was trimmed has an id of its own.
            number = by_id.get(each.metadata.get(WINDOW_ID)) or numbers.get((str(each.metadata.get(DOC_ID)), first))
            if number is not None:
                returned.setdefault(number, (place, (first, last)))
        ranked: dict[str, int] = {}
        for rank, each in enumerate(retrieval.ranked, 1):
            ranked.setdefault(each.metadata.get(WINDOW_ID, ""), rank)
        return cls(
            windows=numbers,
            alone={_place(hit): expansion.window(hit) for hit in expansion.hits},
            best={_place(window.best) for window in windows},
            merged={_place(hit) for window in windows for hit in window.hits},
            ranks={_place(hit): rank for rank, hit in enumerate(expansion.hits, 1)},
            scores={_place(hit): hit.score for hit in expansion.hits},
            ranked=ranked,
            returned=returned,
        )


async def explain(io: IO, request: Request, reranker: BaseDocumentCompressor | None) -> Trace:
    """Ask a query and say what became of it; what is returned is not changed by it."""
    retrieval = await retrieve(io, request, reranker, None)
    dense, lexical = await _rankings(io, request, len(retrieval.found.expansion.hits))
    try:
        around = await fetch_sentences(io, request.scope, list(_around(retrieval)), retrieval.found.sentences)
    except (IncompleteWindowError, InvalidInputError):
        around = {}  # the store can't fetch by id, or not within the filter, and inline windows reach no farther
    settings = {
        "k": request.k,
        "fetch_k": request.fetch_k,
        "window": request.policy.describe(),
        "lexical_weight": request.lexical_weight,
        "max_tokens": request.max_tokens,
        "order": request.order,
        **({} if request.min_score is None else {"min_score": request.min_score}),
        **request.search,
        **({} if request.scope.filter is None else {"filter": _shown(request.scope.filter)}),
    }
    looked_up = _LookedUp.of(retrieval)
    hits = _hits(retrieval, looked_up, dense, lexical, around)
    windows = [
        _window(number, window, retrieval, request, around, looked_up=looked_up, reranked=reranker is not None)
        for number, window in enumerate(retrieval.found.windows, 1)
    ]
    return Trace(request.query, settings, hits, windows, dict(retrieval.seconds))


def _shown(filter: Any) -> Any:
    """The filter if JSON can hold it, else what describes it."""
    try:
        json.dumps(filter)
    except (TypeError, ValueError):
        return repr(filter)
    return filter


async def _rankings(io: IO, request: Request, fewest: int) -> tuple[Ranking, Ranking]:
    """The ranks and scores of sentences by meaning alone and by words alone."""
    depth, adapter = max(CANDIDATES, fewest), request.scope.adapter
    sentences, hits = await find_sentences(
        io, request.scope, request.query, depth, lexical_weight=0.0, search_kwargs=request.search
    )
    dense = _ranked([(sentence, hit.score) for sentence, hit in zip(sentences, hits, strict=True)])
    lexical: Ranking = {}
    found = await adapter.lexical_search(io, request.query, {"k": depth, **request.scope.search_settings})
    if found is not None:
        lexical = _ranked([(adapter.read(document), score) for document, score in found])
    elif request.bm25_index is not None:
        scores: list[tuple[int, float]] = await io.in_thread(request.bm25_index.scores, request.query, sentences)
        lexical = _ranked([(sentences[place], score) for place, score in scores])
    return dense, lexical


def _ranked(found: Sequence[tuple[StoredSentence, float]]) -> Ranking:
    return {(each.doc_id, each.index): (rank, score) for rank, (each, score) in enumerate(found, 1)}


def _around(retrieval: Retrieval) -> dict[SentenceKey, None]:
    """Where the sentences around windows stand, and the first after each hit's section, by which documents end."""
    places = {
        (window.doc_id, index): None
        for window in retrieval.found.windows
        for index in range(max(0, window.first - SHOWN_AROUND), window.last + SHOWN_AROUND + 1)
    }
    return places | {(hit.doc_id, hit.section_end): None for hit in retrieval.found.expansion.hits}


def _hits(
    retrieval: Retrieval,
    looked_up: _LookedUp,
    dense: Ranking,
    lexical: Ranking,
    around: Mapping[SentenceKey, StoredSentence],
) -> list[HitTrace]:
    expansion = retrieval.found.expansion
    traces = list[HitTrace]()
    for rank, hit in enumerate(expansion.hits, 1):
        place = _place(hit)
        sentence = retrieval.found.sentences[place]
        window = looked_up.alone[place]
        before, after = _cut_by(hit, expansion, around)
        dense_rank, dense_score = dense.get(place, (None, None))
        lexical_rank, lexical_score = lexical.get(place, (None, None))
        number, outcome = _outcome_of_hit(place, looked_up)
        traces.append(
            HitTrace(
                rank,
                hit.doc_id,
                hit.index,
                sentence.start,
                sentence.end,
                sentence.text,
                hit.score,
                dense_rank,
                dense_score,
                lexical_rank,
                lexical_score,
                opened=(window.first, window.last),
                cut_before=before,
                cut_after=after,
                window=number,
                outcome=outcome,
            )
        )
    return traces


def _cut_by(
    hit: Hit, expansion: Expansion, around: Mapping[SentenceKey, StoredSentence]
) -> tuple[str | None, str | None]:
    """What ends the window of a hit alone, before and after it."""
    window, unbounded = expansion.window(hit), expansion.unbounded(hit)
    before = ("section" if hit.section_start else "document") if unbounded.first < window.first else None
    ends_document = (hit.doc_id, hit.section_end) not in around
    after = ("document" if ends_document else "section") if unbounded.last > window.last else None
    if before and (hit.doc_id, hit.section_start - 1) in expansion.barred:
        before = "filter"
    if after and (hit.doc_id, hit.section_end) in expansion.barred:
        after = "filter"
    return before, after


def _outcome_of_hit(place: SentenceKey, looked_up: _LookedUp) -> tuple[int | None, str]:
    number = looked_up.windows.get(place)
    if number is None:
        return None, "left out, as there were k windows"
    if place in looked_up.best:
        return number, f"opened window {number}"
    return number, f"{'merged into' if place in looked_up.merged else 'already in'} window {number}"


def _place(hit: Hit) -> SentenceKey:
    return hit.doc_id, hit.index


def _window(
    number: int,
    window: Window,
    retrieval: Retrieval,
    request: Request,
    around: Mapping[SentenceKey, StoredSentence],
    *,
    looked_up: _LookedUp,
    reranked: bool,
) -> WindowTrace:
    expansion = retrieval.found.expansion
    document = retrieval.found.documents[number - 1]
    rank = looked_up.ranked.get(document.metadata[WINDOW_ID])
    place, kept = looked_up.returned.get(number, (None, None))
    hit_ranks = sorted(looked_up.ranks[_place(hit)] for hit in window.hits)
    first, last = (retrieval.found.sentences[window.doc_id, index] for index in (window.first, window.last))
    # Without a reranker, a document's own metadata may hold such a key.
    score = None if rank is None or not reranked else retrieval.ranked[rank - 1].metadata.get(RELEVANCE_SCORE)
    if rank is None:
        outcome = "left out by the reranker"
    elif place is None:
        is_full = len(retrieval.taken) == request.k
        outcome = "left out, as there were k better ones" if is_full else "left out, as it doesn't fit into max_tokens"
    else:
        is_whole = kept == (window.first, window.last)
        outcome = f"returned as {place}" + ("" if is_whole else ", trimmed to fit into max_tokens")
    return WindowTrace(
        number,
        window.doc_id,
        sentences=(window.first, window.last),
        start=first.start,
        end=last.end,
        heading=retrieval.found.sentences[window.doc_id, window.best.index].heading,
        text=document.page_content,
        score=window.score,
        hits=tuple(hit_ranks),
        reranked=rank if reranked else None,
        relevance_score=None if score is None else float(score),
        cut=_cuts(window, looked_up, expansion, around),
        returned=place,
        trimmed=kept if kept != (window.first, window.last) else None,
        outcome=outcome,
        surroundings=_surroundings(window, kept, looked_up, around),
    )


def _cuts(
    window: Window, looked_up: _LookedUp, expansion: Expansion, around: Mapping[SentenceKey, StoredSentence]
) -> tuple[str, ...]:
    """What ends a window: its section or document, or a better window."""
    cuts = list[str]()
    alone = looked_up.alone[_place(window.best)]
    for where, is_shorter, end, first_or_last in (
        ("before", window.first > alone.first, window.first - 1, window.first),
        ("after", window.last < alone.last, window.last + 1, window.last),
    ):
        if is_shorter:
            cuts.append(f"window {looked_up.windows[window.doc_id, end]} {where}")
            continue
        ending = (hit for hit in window.hits if _end(looked_up.alone[_place(hit)], where) == first_or_last)
        by = {_cut_by(hit, expansion, around)[where == "after"] for hit in ending} - {None}
        cuts += [f"{what} {where}" for what in sorted(map(str, by))]
    return tuple(cuts)


def _end(window: Window, where: str) -> int:
    return window.first if where == "before" else window.last


def _surroundings(
    window: Window, kept: tuple[int, int] | None, looked_up: _LookedUp, around: Mapping[SentenceKey, StoredSentence]
) -> tuple[SentenceTrace, ...]:
    hits = {hit.index for hit in window.hits}
    shown = range(max(0, window.first - SHOWN_AROUND), window.last + SHOWN_AROUND + 1)
    return tuple(
        SentenceTrace(
            index,
            sentence.text + sentence.separator,
            looked_up.scores.get((window.doc_id, index)),
            in_window=window.first <= index <= window.last,
            is_hit=index in hits,
            returned=kept is not None and kept[0] <= index <= kept[1],
        )
        for index in shown
        for sentence in [around.get((window.doc_id, index))]
        if sentence is not None
    )
