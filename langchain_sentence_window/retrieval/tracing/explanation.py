"""Make a trace of a query: run it, then search again by meaning and by words alone, and read around its windows.

What became of its hits and windows is collected by key, which keeps the work for a trace linear.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.adapters.store_adapter import StoreAdapter
from langchain_sentence_window.documents.keys import RELEVANCE_SCORE
from langchain_sentence_window.documents.sentence_documents import SentencesByKey, StoredSentence
from langchain_sentence_window.documents.window_documents import shown_lead_ins, shown_text
from langchain_sentence_window.errors import StoreChangedError
from langchain_sentence_window.ranking.candidates import CANDIDATES, Candidates
from langchain_sentence_window.ranking.ranking import Reordered
from langchain_sentence_window.retrieval.candidates import fill_bm25_index
from langchain_sentence_window.retrieval.expansion import Expansion
from langchain_sentence_window.retrieval.named_search import NAME_BONUS, Hits
from langchain_sentence_window.retrieval.query import Query
from langchain_sentence_window.retrieval.request import Request
from langchain_sentence_window.retrieval.search import find_hits
from langchain_sentence_window.retrieval.settings import SETTINGS
from langchain_sentence_window.retrieval.telemetry import observed
from langchain_sentence_window.retrieval.window_reader import WindowReader
from langchain_sentence_window.windows.assembly import (
    DOES_NOT_FIT,
    IS_BEYOND_K,
    IS_EQUAL,
    IS_LABEL,
    IS_NEAR,
    IS_UNSUPPORTED,
)
from langchain_sentence_window.windows.geometry import Hit, Window

from .trace import TRIMMED, WIDENED, CandidateTrace, HitTrace, NameTrace, SentenceTrace, Trace, WindowEnd, WindowTrace

Ranks: TypeAlias = Mapping[SentenceKey, tuple[int, float]]
"""Ranks, from 1, and scores by sentence."""


async def explain(io: IO, request: Request) -> Trace:
    """Run a query and return a trace of it."""
    query = _ExplainedQuery(io, request)
    with observed(query):
        await query.run()
    found, dense, lexical, outcomes = query.found, query.dense, query.lexical, Outcomes(query)
    hits, candidates = hit_traces(query, outcomes), candidate_traces(query)
    named = [] if found.named is None else found.named.documents
    windows = [_window(query, outcomes, number, window) for number, window in enumerate(query.windows, 1)]
    return Trace(
        request.query,
        {name: row.traced(request.settings[name]) for name, row in SETTINGS.items() if row.traced is not None},
        hits,
        windows,
        dict(query.seconds),
        named=[NameTrace(each.doc_id, tuple(each.words), each.name) for each in named],
        searched_as="" if found.named is None else found.named.question,
        is_limited=found.named is not None and found.named.is_limited,
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

    async def run_in(self, scope: Scope, *, fetch_k: int) -> bool:
        """Run all steps in a scope, then search by meaning and by words alone, and read around windows."""
        if not await super().run_in(scope, fetch_k=fetch_k):
            return False
        depth = max(CANDIDATES, len(self.expansion.hits))
        try:
            self.dense, self.lexical = await _rankings(self.io, replace(self.request, scope=scope), depth)
        except StoreChangedError:  # then ranks are of a later state than windows, as no index of theirs is left
            self.dense, self.lexical = await _rankings(self.io, self.request, depth)
        keys = dict.fromkeys(self._keys_around())
        keys |= dict.fromkeys(key for candidates, _ in self.found.searches for key in candidates.keys)
        reader = WindowReader(self.reader.sentences)
        await reader.fetch(self.io, scope, keys)
        self.around = reader.read
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


async def _rankings(io: IO, request: Request, depth: int) -> tuple[Ranks, Ranks]:
    """Return the ranks and scores of sentences by meaning alone and by words alone."""
    searched = await found_by_meaning(io, request, depth)
    scored, _ = await scored_by_words(io, request, depth, searched.sentences)
    return _ranked([(hit.key, hit.score) for hit in searched.hits]), _ranked(scored)


def _ranked(found: Sequence[tuple[SentenceKey, float]]) -> Ranks:
    return {key: (rank, score) for rank, (key, score) in enumerate(found, 1)}


async def found_by_meaning(io: IO, request: Request, depth: int) -> Hits:
    """Search by meaning alone."""
    alone = replace(request, lexical_weight=0.0, ranking=None, bm25_index=None, names=False, min_relevance=None)

    async def find(io: IO, adapter: StoreAdapter) -> Hits:
        return await find_hits(io, replace(request.scope, adapter=adapter), alone, depth)

    return await request.scope.adapter.in_search(io, request.query, find, has_words=False)


async def scored_by_words(
    io: IO, request: Request, depth: int, known: Sequence[StoredSentence]
) -> tuple[list[tuple[SentenceKey, float]], bool]:
    """Search by words alone: in the store if it can, else among known sentences.

    Returns:
        The sentences with their scores, best first; and whether the store was searched.
    """
    adapter, index = request.scope.adapter, request.bm25_index
    found = await adapter.lexical_search(io, request.query, {"k": depth, **request.scope.search_settings})
    if found is not None:
        return [(adapter.read(document).key, score) for document, score in found], True
    if index is None:
        return [], False
    await fill_bm25_index(io, adapter, index, known)
    scores: list[tuple[int, float]] = await io.in_thread(index.scores, request.query, known)
    return [(known[number].key, score) for number, score in scores], False


def contributions_of(found: Hits) -> dict[SentenceKey, Mapping[str, float]]:
    """Return the part of each signal in the score of each candidate, in the search that its score is from."""
    signals: dict[SentenceKey, Mapping[str, float]] = {}
    is_mentioned = found.named is not None and not found.named.is_limited
    for candidates, result in _searches(found):
        for key, row in zip(candidates.keys, result.contributions.tolist(), strict=True):
            if key not in signals or (is_mentioned and sum(row) > sum(signals[key].values())):
                signals[key] = dict(zip(result.names, row, strict=True))
    return signals


def candidate_traces(query: _ExplainedQuery) -> list[CandidateTrace]:
    """Return the traces of all candidates, in their new order; of the hits alone if nothing reordered them."""
    found, known = query.found, {**query.around, **query.reader.sentences}
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
            dense_rank=query.dense.get(key, (None,))[0],
            lexical_rank=query.lexical.get(key, (None,))[0],
            outcome=f"hit {hits[key]}" if left_out is None else f"left out, as {LEFT_OUT[left_out]}",
            left_out=left_out,
        )
    return list(traces.values())


def _in_order(found: Hits) -> list[tuple[SentenceKey, str, float, int]]:
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
    if found.named is not None and not found.named.is_limited:
        doc_ids = {each.doc_id for each in found.named.documents}
        raised = [(key, text, score + NAME_BONUS * (key[0] in doc_ids), rank) for key, text, score, rank in rows]
        return sorted(raised, key=lambda each: -each[2])
    return rows


def _searches(found: Hits) -> Sequence[tuple[Candidates, Reordered]]:
    """Return the searches that the hits came from: in the documents that the question names, then everywhere."""
    named = set() if found.named is None else {each.doc_id for each in found.named.documents}
    return sorted(found.searches, key=lambda each: not {doc_id for doc_id, _ in each[0].keys} <= named)


BEYOND_FETCH_K = "fetch_k"
BELOW_MIN_SCORE = "score"
BY_RERANKER = "reranker"

LEFT_OUT: Mapping[str, str] = {
    IS_NEAR: "it is near a better window",
    IS_LABEL: "it is no more than a heading",
    IS_EQUAL: "its text is that of a better window",
    DOES_NOT_FIT: "it doesn't fit into max_tokens",
    IS_BEYOND_K: "there were k better ones",
    IS_UNSUPPORTED: "it hardly fits the question",
    BEYOND_FETCH_K: "there were fetch_k better ones",
    BELOW_MIN_SCORE: "its similarity is below min_score",
    BY_RERANKER: "the reranker left it out",
}
"""Why a candidate, a hit or a window was left out, by the codes that traces hold."""


@dataclass(frozen=True, slots=True)
class Returned:
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


class Outcomes:
    """Facts about the hits and windows of a query.

    Attributes:
        windows: The number of the window that a sentence is in, from 1.
        alone: The window of each hit alone.
        best: The windows' best hits.
        merged: All hits that are hits of a window.
        ranks: The rank of each hit, from 1.
        scores: The score of each hit.
        ranked: The rank of each window after reranking, from 1, by its number.
        left_out: Why ranked windows weren't returned, as codes of `LEFT_OUT`, by their numbers.
        equal: The numbers of the better windows that have the text of others, by these.
        returned: The Documents that hold windows, by the windows' numbers.
    """

    def __init__(self, query: Query) -> None:
        """Collect the facts about a query that was run."""
        windows, hits, assembled = query.windows, query.expansion.hits, query.assembled
        self.windows = {key: number for number, window in enumerate(windows, 1) for key in window.keys}
        self.alone = {hit.key: query.expansion.window(hit) for hit in hits}
        self.best = {window.best.key for window in windows}
        self.merged = {hit.key for window in windows for hit in window.hits}
        self.ranks = {hit.key: rank for rank, hit in enumerate(hits, 1)}
        self.scores = {hit.key: hit.score for hit in hits}
        by_place = {(window.doc_id, window.first): number for number, window in enumerate(windows, 1)}
        ranked = [by_place[each.window.doc_id, each.window.first] for each in query.ranked]
        self.ranked: dict[int, int] = {}
        for rank, number in enumerate(ranked, 1):
            self.ranked.setdefault(number, rank)
        left_out = sorted(assembled.assembly.left_out.items(), reverse=True)
        self.left_out = {ranked[rank]: code for rank, code in left_out}
        self.equal = {ranked[rank]: ranked[each.better] for rank, each in assembled.assembly.equal.items()}
        positions = {id(document): position for position, document in enumerate(query.documents, 1)}
        self.returned: dict[int, Returned] = {}
        for each, document in zip(assembled.assembly.windows, assembled.documents, strict=True):
            together = [ranked[rank] for rank in each.ranks]
            for number in together:
                place = Returned(positions[id(document)], (each.window.first, each.window.last), document, together)
                self.returned.setdefault(number, place)

    def reason(self, number: int) -> tuple[str, str]:
        """Return the code and the phrase that say why a window wasn't returned."""
        code = self.left_out.get(number, BY_RERANKER)
        if code == BY_RERANKER:
            return code, "left out by the reranker"
        if code == IS_EQUAL:
            return code, f"left out, as its text is that of window {self.equal[number]}"
        return code, f"left out, as {LEFT_OUT[code]}"


def hit_traces(query: _ExplainedQuery, outcomes: Outcomes) -> list[HitTrace]:
    """Return the traces of all hits, best first."""
    expansion, contributions = query.expansion, contributions_of(query.found)
    traces = list[HitTrace]()
    for rank, hit in enumerate(expansion.hits, 1):
        key = hit.key
        sentence = query.reader.sentences[key]
        window = outcomes.alone[key]
        before, after = cut_by(hit, expansion, query.around)
        dense_rank, dense_score = query.dense.get(key, (None, None))
        lexical_rank, lexical_score = query.lexical.get(key, (None, None))
        number, left_out, outcome = _outcome_of_hit(key, outcomes)
        traces.append(
            HitTrace(
                rank,
                *key,
                sentence.start,
                sentence.end,
                sentence.text,
                hit.score,
                dense_rank,
                dense_score,
                lexical_rank,
                lexical_score,
                signals=dict(contributions.get(key, {})),
                opened=(window.first, window.last),
                cut_before=before,
                cut_after=after,
                window=number,
                outcome=outcome,
                left_out=left_out,
            )
        )
    return traces


def cut_by(hit: Hit, expansion: Expansion, around: SentencesByKey) -> tuple[str | None, str | None]:
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


def _outcome_of_hit(key: SentenceKey, outcomes: Outcomes) -> tuple[int | None, str | None, str]:
    number = outcomes.windows.get(key)
    if number is None:
        return None, IS_BEYOND_K, "left out, as there were k windows"
    if key in outcomes.best:
        return number, None, f"opened window {number}"
    return number, None, f"{'merged into' if key in outcomes.merged else 'already in'} window {number}"


SURROUNDING_SENTENCES = 4
"""The number of sentences shown before and after a window."""


def _window(query: _ExplainedQuery, outcomes: Outcomes, number: int, window: Window) -> WindowTrace:
    expansion, around, count_tokens = query.expansion, query.around, query.request.count_tokens
    reranked = query.request.reranker is not None
    rank, back = outcomes.ranked.get(number), outcomes.returned.get(number)
    kept = None if back is None else back.sentences
    hit_ranks = sorted(outcomes.ranks[hit.key] for hit in window.hits)
    held = _held(window, query, around)
    text = "".join(each.text + each.separator for each in held[:-1]) + held[-1].text
    reranked_as = None if rank is None or not reranked else query.ranked[rank - 1].document
    score = None if reranked_as is None else reranked_as.metadata.get(RELEVANCE_SCORE)
    ends = _ends(window, outcomes, expansion, around)
    joined = () if back is None else tuple(other for other in back.together if other != number)
    change = None if kept is None else _change(window, kept, joined)
    left_out, reason = outcomes.reason(number) if back is None else (None, "")
    return WindowTrace(
        number,
        window.doc_id,
        sentences=(window.first, window.last),
        start=held[0].start,
        end=held[-1].end,
        heading=query.reader.sentences[window.best.key].heading,
        text=text,
        score=window.score,
        hits=tuple(hit_ranks),
        reranked=rank if reranked else None,
        relevance_score=None if score is None else float(score),
        cut=tuple(map(str, ends)),
        returned=None if back is None else back.position,
        kept=kept if kept != (window.first, window.last) else None,
        lead_ins=() if back is None else tuple(text for _, text in shown_lead_ins(back.document)),
        outcome=reason
        if back is None
        else _outcome_of_returned(back.position, joined, change, query.request.max_tokens),
        surroundings=_surroundings(window, kept, outcomes, around),
        tokens=count_tokens(text),
        returned_tokens=None if back is None else count_tokens(shown_text(back.document)),
        ends=ends,
        left_out=left_out,
        joined=joined,
        change=change,
    )


def _held(window: Window, query: Query, around: SentencesByKey) -> list[StoredSentence]:
    """Return the sentences of a window, or its best hit if others can't be read: a window that was left out isn't."""
    found = [query.reader.sentences.get(key) or around.get(key) for key in window.keys]
    held = [each for each in found if each is not None]
    return held if len(held) == len(found) else [query.reader.sentences[window.best.key]]


def _change(window: Window, kept: tuple[int, int], joined: Sequence[int]) -> str | None:
    """Return how a window that is returned differs from the one that was found, apart from those joined with it."""
    first, last = kept
    if first > window.first or last < window.last:
        return TRIMMED
    return WIDENED if kept != (window.first, window.last) and not joined else None


def _outcome_of_returned(position: int, joined: Sequence[int], change: str | None, max_tokens: int | None) -> str:
    why = "as a better window holds its hit" if max_tokens is None else "to fit into max_tokens"
    trimmed = f", trimmed {why}" if change == TRIMMED else ""
    others = f", joined with {', '.join(map(str, joined))}" if joined else ""
    return f"returned as {position}{trimmed}{others}{', completed or widened' if change == WIDENED else ''}"


def _ends(window: Window, outcomes: Outcomes, expansion: Expansion, around: SentencesByKey) -> tuple[WindowEnd, ...]:
    """Return what ended a window early: its section or document, the filter, or a better window."""
    ends = list[WindowEnd]()
    alone = outcomes.alone[window.best.key]
    for where, is_shorter, end, first_or_last in (
        ("before", window.first > alone.first, window.first - 1, window.first),
        ("after", window.last < alone.last, window.last + 1, window.last),
    ):
        if is_shorter:
            ends.append(WindowEnd(where, "window", outcomes.windows[window.doc_id, end]))
            continue
        ending = (hit for hit in window.hits if _end(outcomes.alone[hit.key], where) == first_or_last)
        by = {cut_by(hit, expansion, around)[where == "after"] for hit in ending} - {None}
        ends += [WindowEnd(where, what) for what in sorted(map(str, by))]
    return tuple(ends)


def _end(window: Window, where: str) -> int:
    return window.first if where == "before" else window.last


def _surroundings(
    window: Window, kept: tuple[int, int] | None, outcomes: Outcomes, around: SentencesByKey
) -> tuple[SentenceTrace, ...]:
    hits = {hit.index for hit in window.hits}
    shown = range(max(0, window.first - SURROUNDING_SENTENCES), window.last + SURROUNDING_SENTENCES + 1)
    return tuple(
        SentenceTrace(
            index,
            sentence.text + sentence.separator,
            outcomes.scores.get((window.doc_id, index)),
            in_window=window.first <= index <= window.last,
            is_hit=index in hits,
            returned=kept is not None and kept[0] <= index <= kept[1],
        )
        for index in shown
        for sentence in [around.get((window.doc_id, index))]
        if sentence is not None
    )
