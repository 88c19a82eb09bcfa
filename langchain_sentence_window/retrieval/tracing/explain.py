"""Make a trace of a query: run it, then search again by meaning and by words alone, and read around its windows."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from langchain_core.documents import BaseDocumentCompressor, Document

from langchain_sentence_window._io import IO
from langchain_sentence_window._types import SentenceKey
from langchain_sentence_window.documents.lead_ins import shown_lead_ins
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.documents.window_metadata import RELEVANCE_SCORE
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from langchain_sentence_window.ranking.candidates import Candidates
from langchain_sentence_window.ranking.fusion import CANDIDATES
from langchain_sentence_window.ranking.names import Heard
from langchain_sentence_window.ranking.ranking import Reordered
from langchain_sentence_window.retrieval.expansion import Expansion
from langchain_sentence_window.retrieval.neighbors import fetch_sentences
from langchain_sentence_window.retrieval.pipeline import Request, Retrieval, retrieve
from langchain_sentence_window.retrieval.search import find_sentences
from langchain_sentence_window.retrieval.tracing.trace import HitTrace, NameTrace, SentenceTrace, Trace, WindowTrace
from langchain_sentence_window.windows.assembly import (
    DOES_NOT_FIT,
    IS_BEYOND_K,
    IS_EQUAL,
    IS_LABEL,
    IS_NEAR,
    IS_UNSUPPORTED,
    Assembly,
)
from langchain_sentence_window.windows.geometry import Hit, Window

SURROUNDING_SENTENCES = 4
"""The number of sentences shown before and after a window."""

Ranking: TypeAlias = Mapping[SentenceKey, tuple[int, float]]

Signals: TypeAlias = dict[SentenceKey, Mapping[str, float]]
"""What each signal adds to the score of a sentence, by its name."""


_REASONS = {
    IS_NEAR: "left out, as it is near a better window",
    IS_LABEL: "left out, as it is no more than a heading",
    DOES_NOT_FIT: "left out, as it doesn't fit into max_tokens",
    IS_BEYOND_K: "left out, as there were k better ones",
    IS_UNSUPPORTED: "left out, as the question doesn't support it",
}


@dataclass(frozen=True, slots=True)
class _Returned:
    """A Document that holds a window.

    Attributes:
        position: Its position in the result, from 1.
        sentences: The index of its first and last sentence.
        document: The Document.
        together: The numbers of the windows that it was made of, best first.
    """

    position: int
    sentences: tuple[int, int]
    document: Document
    together: Sequence[int]


@dataclass(frozen=True, slots=True)
class _Lookup:
    """Facts about hits and windows by key, so that the work for a trace grows linearly.

    Attributes:
        windows: The number of the window that a sentence is in, from 1.
        alone: The window of each hit alone.
        best: The windows' best hits.
        merged: All hits that are hits of a window.
        ranks: The rank of each hit, from 1.
        scores: The score of each hit.
        ranked: The rank of each window after reranking, from 1, by its number.
        reasons: Why windows weren't returned, by their numbers.
        returned: What was returned of windows, by their numbers.
    """

    windows: Mapping[SentenceKey, int]
    alone: Mapping[SentenceKey, Window]
    best: Collection[SentenceKey]
    merged: Collection[SentenceKey]
    ranks: Mapping[SentenceKey, int]
    scores: Mapping[SentenceKey, float]
    ranked: Mapping[int, int]
    reasons: Mapping[int, str]
    returned: Mapping[int, _Returned]

    @classmethod
    def of(cls, retrieval: Retrieval) -> "_Lookup":
        windows, expansion = retrieval.found.windows, retrieval.found.expansion
        numbers = {key: number for number, window in enumerate(windows, 1) for key in window.keys}
        by_place = {(window.doc_id, window.first): number for number, window in enumerate(windows, 1)}
        ranked = [by_place[each.window.doc_id, each.window.first] for each in retrieval.ranked]
        positions = {id(document): position for position, document in enumerate(retrieval.documents, 1)}
        returned: dict[int, _Returned] = {}
        assembled = retrieval.assembly
        for each, document in zip(assembled.assembly.windows, assembled.documents, strict=True):
            together = [ranked[rank] for rank in each.ranks]
            for number in together:
                place = _Returned(positions[id(document)], (each.window.first, each.window.last), document, together)
                returned.setdefault(number, place)
        ranks: dict[int, int] = {}
        for rank, number in enumerate(ranked, 1):
            ranks.setdefault(number, rank)
        return cls(
            windows=numbers,
            alone={_key(hit): expansion.window(hit) for hit in expansion.hits},
            best={_key(window.best) for window in windows},
            merged={_key(hit) for window in windows for hit in window.hits},
            ranks={_key(hit): rank for rank, hit in enumerate(expansion.hits, 1)},
            scores={_key(hit): hit.score for hit in expansion.hits},
            ranked=ranks,
            reasons={
                ranked[rank]: _reason(rank, assembled.assembly, ranked)
                for rank in sorted(assembled.assembly.left_out, reverse=True)
            },
            returned=returned,
        )


async def explain(io: IO, request: Request, reranker: BaseDocumentCompressor | None) -> Trace:
    """Run a query and return a trace of it."""
    signals: Signals = {}

    def observe(candidates: Candidates, result: Reordered) -> None:
        named = [dict(zip(result.names, row, strict=True)) for row in result.contributions.tolist()]
        signals.update(zip(candidates.keys, named, strict=True))

    observed = replace(request, search=replace(request.search, observe=observe))
    retrieval = await retrieve(io, observed, reranker, None)
    dense, lexical = await _rankings(io, request, len(retrieval.found.expansion.hits))
    try:
        around = await fetch_sentences(io, request.scope, list(_around(retrieval)), retrieval.sentences)
    except (IncompleteWindowError, InvalidInputError):
        around = {}  # the store can't fetch by id, or not within the filter, and inline windows don't reach so far
    settings = {
        "k": request.k,
        "fetch_k": request.fetch_k,
        "window": request.policy.describe(),
        "lexical_weight": request.search.lexical_weight,
        "max_tokens": request.max_tokens,
        "order": request.order,
        **({} if request.min_score is None else {"min_score": request.min_score}),
        **request.search.settings,
        **({} if request.scope.filter is None else {"filter": _shown(request.scope.filter)}),
    }
    lookup = _Lookup.of(retrieval)
    hits = _hits(retrieval, lookup, _Rankings(dense, lexical, signals), around)
    windows = [
        _window(number, window, retrieval, around, lookup=lookup, reranked=reranker is not None)
        for number, window in enumerate(retrieval.found.windows, 1)
    ]
    searched = retrieval.found.searched
    return Trace(
        request.search.query,
        settings,
        hits,
        windows,
        dict(retrieval.seconds),
        named=[] if searched.heard is None else [NameTrace(*each) for each in _named(searched.heard)],
        searched_as="" if searched.heard is None else searched.heard.question,
        relevance={} if searched.relevance is None else dict(searched.relevance.numbers),
    )


def _named(heard: Heard) -> list[tuple[str, tuple[str, ...], str | None]]:
    return [(each.doc_id, tuple(each.words), each.name) for each in heard.documents]


def _reason(rank: int, assembly: Assembly, ranked: Sequence[int]) -> str:
    """Return why a ranked window was left out."""
    reason = assembly.left_out[rank]
    if reason == IS_EQUAL:
        return f"left out, as its text is that of window {ranked[assembly.equal[rank].better]}"
    return _REASONS[reason]


def _shown(filter: Any) -> Any:
    """Return the filter if JSON can hold it, else its ``repr``."""
    try:
        json.dumps(filter)
    except (TypeError, ValueError):
        return repr(filter)
    return filter


async def _rankings(io: IO, request: Request, min_depth: int) -> tuple[Ranking, Ranking]:
    """Return the ranks and scores of sentences by meaning alone and by words alone."""
    depth, adapter = max(CANDIDATES, min_depth), request.scope.adapter
    by_meaning = replace(
        request.search, lexical_weight=0.0, ranking=None, bm25_index=None, names=False, min_relevance=None
    )
    searched = await find_sentences(io, request.scope, by_meaning, depth)
    dense = _ranked([(each, hit.score) for each, hit in zip(searched.sentences, searched.hits, strict=True)])
    sentences = searched.sentences
    lexical: Ranking = {}
    found = await adapter.lexical_search(io, request.search.query, {"k": depth, **request.scope.search_settings})
    if found is not None:
        lexical = _ranked([(adapter.read(document), score) for document, score in found])
    elif request.search.bm25_index is not None:
        scores: list[tuple[int, float]] = await io.in_thread(
            request.search.bm25_index.scores, request.search.query, sentences
        )
        lexical = _ranked([(sentences[number], score) for number, score in scores])
    return dense, lexical


def _ranked(found: Sequence[tuple[StoredSentence, float]]) -> Ranking:
    return {(each.doc_id, each.index): (rank, score) for rank, (each, score) in enumerate(found, 1)}


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


@dataclass(frozen=True, slots=True)
class _Rankings:
    """How sentences rank by meaning alone and by words alone, and what each signal adds to their scores."""

    dense: Ranking
    lexical: Ranking
    signals: Signals


def _hits(
    retrieval: Retrieval,
    lookup: _Lookup,
    rankings: _Rankings,
    around: Mapping[SentenceKey, StoredSentence],
) -> list[HitTrace]:
    expansion = retrieval.found.expansion
    traces = list[HitTrace]()
    for rank, hit in enumerate(expansion.hits, 1):
        key = _key(hit)
        sentence = retrieval.sentences[key]
        window = lookup.alone[key]
        before, after = _cut_by(hit, expansion, around)
        dense_rank, dense_score = rankings.dense.get(key, (None, None))
        lexical_rank, lexical_score = rankings.lexical.get(key, (None, None))
        number, outcome = _outcome_of_hit(key, lookup)
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
                signals=dict(rankings.signals.get(key, {})),
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
    """Return the reasons why the window of a hit alone ends early, before and after it."""
    window, unbounded = expansion.window(hit), expansion.unbounded(hit)
    before = ("section" if hit.section_start else "document") if unbounded.first < window.first else None
    ends_document = (hit.doc_id, hit.section_end) not in around
    after = ("document" if ends_document else "section") if unbounded.last > window.last else None
    if before and (hit.doc_id, hit.section_start - 1) in expansion.forbidden:
        before = "filter"
    if after and (hit.doc_id, hit.section_end) in expansion.forbidden:
        after = "filter"
    return before, after


def _outcome_of_hit(key: SentenceKey, lookup: _Lookup) -> tuple[int | None, str]:
    number = lookup.windows.get(key)
    if number is None:
        return None, "left out, as there were k windows"
    if key in lookup.best:
        return number, f"opened window {number}"
    return number, f"{'merged into' if key in lookup.merged else 'already in'} window {number}"


def _key(hit: Hit) -> SentenceKey:
    return hit.doc_id, hit.index


def _window(
    number: int,
    window: Window,
    retrieval: Retrieval,
    around: Mapping[SentenceKey, StoredSentence],
    *,
    lookup: _Lookup,
    reranked: bool,
) -> WindowTrace:
    expansion = retrieval.found.expansion
    rank, back = lookup.ranked.get(number), lookup.returned.get(number)
    kept = None if back is None else back.sentences
    hit_ranks = sorted(lookup.ranks[_key(hit)] for hit in window.hits)
    held = _held(window, retrieval, around)
    reranked_as = None if rank is None or not reranked else retrieval.ranked[rank - 1].document
    score = None if reranked_as is None else reranked_as.metadata.get(RELEVANCE_SCORE)
    return WindowTrace(
        number,
        window.doc_id,
        sentences=(window.first, window.last),
        start=held[0].start,
        end=held[-1].end,
        heading=retrieval.sentences[window.doc_id, window.best.index].heading,
        text="".join(each.text + each.separator for each in held[:-1]) + held[-1].text,
        score=window.score,
        hits=tuple(hit_ranks),
        reranked=rank if reranked else None,
        relevance_score=None if score is None else float(score),
        cut=_cuts(window, lookup, expansion, around),
        returned=None if back is None else back.position,
        kept=kept if kept != (window.first, window.last) else None,
        lead_ins=() if back is None else tuple(text for _, text in shown_lead_ins(back.document)),
        outcome=_outcome_of_window(number, window, lookup),
        surroundings=_surroundings(window, kept, lookup, around),
    )


def _held(window: Window, retrieval: Retrieval, around: Mapping[SentenceKey, StoredSentence]) -> list[StoredSentence]:
    """Return the sentences of a window, or its best hit if others can't be read: a window that was left out isn't."""
    found = [retrieval.sentences.get(key) or around.get(key) for key in window.keys]
    held = [each for each in found if each is not None]
    return held if len(held) == len(found) else [retrieval.sentences[_key(window.best)]]


def _outcome_of_window(number: int, window: Window, lookup: _Lookup) -> str:
    back = lookup.returned.get(number)
    if back is None:
        return lookup.reasons.get(number, "left out by the reranker")
    others = [other for other in back.together if other != number]
    joined = f", joined with {', '.join(map(str, others))}" if others else ""
    first, last = back.sentences
    if first > window.first or last < window.last:
        return f"returned as {back.position}, trimmed to fit into max_tokens{joined}"
    is_wider = (first, last) != (window.first, window.last)
    return f"returned as {back.position}{joined}" + (", completed or widened" if is_wider and not others else "")


def _cuts(
    window: Window, lookup: _Lookup, expansion: Expansion, around: Mapping[SentenceKey, StoredSentence]
) -> tuple[str, ...]:
    """Return the reasons why a window ends early: its section or document, the filter, or a better window."""
    cuts = list[str]()
    alone = lookup.alone[_key(window.best)]
    for where, is_shorter, end, first_or_last in (
        ("before", window.first > alone.first, window.first - 1, window.first),
        ("after", window.last < alone.last, window.last + 1, window.last),
    ):
        if is_shorter:
            cuts.append(f"window {lookup.windows[window.doc_id, end]} {where}")
            continue
        ending = (hit for hit in window.hits if _end(lookup.alone[_key(hit)], where) == first_or_last)
        by = {_cut_by(hit, expansion, around)[where == "after"] for hit in ending} - {None}
        cuts += [f"{what} {where}" for what in sorted(map(str, by))]
    return tuple(cuts)


def _end(window: Window, where: str) -> int:
    return window.first if where == "before" else window.last


def _surroundings(
    window: Window, kept: tuple[int, int] | None, lookup: _Lookup, around: Mapping[SentenceKey, StoredSentence]
) -> tuple[SentenceTrace, ...]:
    hits = {hit.index for hit in window.hits}
    shown = range(max(0, window.first - SURROUNDING_SENTENCES), window.last + SURROUNDING_SENTENCES + 1)
    return tuple(
        SentenceTrace(
            index,
            sentence.text + sentence.separator,
            lookup.scores.get((window.doc_id, index)),
            in_window=window.first <= index <= window.last,
            is_hit=index in hits,
            returned=kept is not None and kept[0] <= index <= kept[1],
        )
        for index in shown
        for sentence in [around.get((window.doc_id, index))]
        if sentence is not None
    )
