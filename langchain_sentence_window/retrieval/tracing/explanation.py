"""`TracedQuery`: a query that makes a `Trace` of what its steps came to, with ranks by meaning and by words alone.

What became of sentences and windows is looked up by key, so that the work for a trace is linear in their number.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.keys import RELEVANCE_SCORE
from langchain_sentence_window.documents.window_documents import shown_text
from langchain_sentence_window.ranking.candidates import CANDIDATES
from langchain_sentence_window.retrieval.candidates import fill_bm25_index
from langchain_sentence_window.retrieval.query import Query
from langchain_sentence_window.retrieval.request import Request
from langchain_sentence_window.retrieval.search import NAME_BONUS
from langchain_sentence_window.retrieval.settings import SETTINGS
from langchain_sentence_window.retrieval.telemetry import observed
from langchain_sentence_window.windows.assembly import IS_UNSUPPORTED, Assembled
from langchain_sentence_window.windows.geometry import Hit, Window

from . import trace as codes
from .trace import LEFT_OUT, NameTrace, SentenceTrace, Trace, WindowTrace

Ranks: TypeAlias = Mapping[SentenceKey, tuple[int | None, float | None]]
"""Ranks, from 1, and scores by sentence."""

UNRANKED = (None, None)
"""The rank and the score of a sentence that isn't ranked."""


async def explain(io: IO, request: Request) -> Trace:
    """Run a query and return a trace of it."""
    query = TracedQuery(io, request)
    with observed(query):
        await query.run()
    return query.trace()


@dataclass(eq=False, repr=False)
class TracedQuery(Query):
    """A query that also ranks by meaning and by words alone, and reads what its trace shows.

    Attributes:
        depth: How many sentences to rank by meaning and by words alone.
        dense: The ranks and scores of sentences by meaning alone.
        lexical: Those by words alone; empty if nothing can search by words.
    """

    depth: int = CANDIDATES
    dense: Ranks = field(init=False)
    lexical: Ranks = field(init=False)

    async def run_in(self, scope: Scope, *, fetch_k: int) -> bool:
        """Run all steps in a scope, then read what only the trace shows."""
        if not await super().run_in(scope, fetch_k=fetch_k):
            return False
        hits = self.expansion.hits
        # Not in the scope: of an earlier state of the store, there is no index of words to search.
        self.dense, self.lexical = await _rankings(self.io, self.request, max(self.depth, len(hits)))
        keys = [key for candidates, _ in self.found.searches for key in candidates.keys]
        keys += [key for window in self.windows for key in window.keys]
        # The sentences around sections tell whether a document goes on there.
        keys += [(hit.doc_id, index) for hit in hits for index in (hit.section_start - 1, hit.section_end)]
        await self.reader.fetch(self.io, scope, keys)
        return True

    def trace(self) -> Trace:
        """Return the trace of the query, after its run."""
        request, named, relevance = self.request, self.found.named, self.found.relevance
        candidates, windows, count_tokens = [*self.sentences.values()], self._windows(), request.count_tokens
        hits = [each for each in candidates if each.left_out is None]
        return Trace(
            request.query,
            {name: row.traced(request.settings[name]) for name, row in SETTINGS.items() if row.traced is not None},
            hits,
            windows,
            dict(self.seconds),
            [NameTrace(each.doc_id, tuple(each.words), each.name) for each in (named.documents if named else ())],
            named.question if named else "",
            named is not None and named.is_limited,
            dict(relevance.numbers) if relevance else {},
            candidates,
            counts={
                "dense": len(self.dense),
                "lexical": len(self.lexical),
                "both": len(self.dense.keys() & self.lexical.keys()),
                "candidates": len(candidates),
                "hits": len(hits),
                "windows": len(windows),
                "returned": len(self.documents),
            },
            tokens={
                "hits": sum(count_tokens(hit.text) for hit in hits),
                "windows": sum(count_tokens(window.text) for window in windows),
                "returned": sum(count_tokens(shown_text(document)) for document in self.documents),
            },
        )

    @cached_property
    def _numbers(self) -> Mapping[SentenceKey, int]:
        """The number of the window that a sentence is in, from 1."""
        return {key: number for number, window in enumerate(self.windows, 1) for key in window.keys}

    @cached_property
    def sentences(self) -> Mapping[SentenceKey, SentenceTrace]:
        """The hits, then the candidates that were left out, best first."""
        found, named, expansion = self.found, self.found.named, self.expansion
        searched: dict[SentenceKey, tuple[str, float, int, Mapping[str, float]]] = {}
        mentioned = {each.doc_id for each in named.documents} if named and not named.is_limited else set()
        for candidates, result in found.searches:
            before = len(searched)
            for at in result.order.tolist():
                key, score = candidates.keys[at], float(result.scores[at])
                # In a mentioned document, a sentence has the better of its two scores; else the first search counts.
                if key not in searched or (mentioned and score > searched[key][1]):
                    signals = dict(zip(result.names, result.contributions[at].tolist(), strict=True))
                    searched[key] = candidates.texts[at], score, before + at + 1, signals
        hits = {hit.key: hit for hit in expansion.hits}
        others = {key: score + NAME_BONUS * (key[0] in mentioned) for key, (_, score, *_) in searched.items()}
        if mentioned:
            others = dict(sorted(others.items(), key=lambda each: -each[1]))
        scores = {hit.key: hit.score for hit in (*expansion.hits, *found.hits)}
        is_unsupported = found.relevance is not None and not found.relevance.supported
        left_out = dict.fromkeys(others, codes.BEYOND_FETCH_K)
        left_out |= dict.fromkeys(scores, IS_UNSUPPORTED if is_unsupported else codes.BELOW_MIN_SCORE)
        best = {window.best.key for window in self.windows}
        merged = {hit.key for window in self.windows for hit in window.hits}
        traces: dict[SentenceKey, SentenceTrace] = {}
        for rank, (key, score) in enumerate((scores | others | scores).items(), 1):
            sentence, hit, window = self.reader.sentences.get(key), hits.get(key), self._numbers.get(key)
            text, _, searched_rank, signals = searched.get(key) or (sentence.text if sentence else "", score, rank, {})
            how = "opened" if key in best else "merged into" if key in merged else "already in"
            opened = expansion.window(hit) if hit else None
            traces[key] = SentenceTrace(
                rank,
                searched_rank,
                *key,
                sentence.start if sentence else None,
                sentence.end if sentence else None,
                text,
                score,
                *self.dense.get(key, UNRANKED),
                *self.lexical.get(key, UNRANKED),
                signals,
                window,
                (opened.first, opened.last) if opened else (),
                self._ends_of_hit(hit, opened) if hit and opened else {},
                f"{how} window {window}" if hit else f"left out, as {LEFT_OUT[left_out[key]]}",
                None if hit else left_out[key],
            )
        return traces

    def _ends_of_hit(self, hit: Hit, opened: Window) -> Mapping[str, str]:
        """Return what ended the window of a hit alone early, by side."""
        unbounded, beyond = self.expansion.unbounded(hit), dict[str, int]()
        if unbounded.first < opened.first:
            beyond["before"] = hit.section_start - 1
        if unbounded.last > opened.last:
            beyond["after"] = hit.section_end
        ends: dict[str, str] = {}
        for side, index in beyond.items():
            key = hit.doc_id, index
            has_more = key in self.reader.sentences or 0 <= index < hit.index
            ends[side] = "filter" if key in self.expansion.forbidden else "section" if has_more else "document"
        return ends

    def _ends_of_window(self, window: Window) -> Mapping[str, str]:
        """Return what ended a window early, by side: a better window, or what ended that of a hit."""
        hits, opened = [self.sentences[hit.key] for hit in window.hits], self.sentences[window.best.key].opened
        ends: dict[str, str] = {}
        for at, (side, index, beyond) in enumerate(
            (("before", window.first, window.first - 1), ("after", window.last, window.last + 1))
        ):
            if opened[0] <= beyond <= opened[1]:
                ends[side] = f"window {self._numbers[window.doc_id, beyond]}"
            else:
                whats = [hit.ends[side] for hit in hits if hit.opened[at] == index and side in hit.ends]
                ends |= {side: whats[0]} if whats else {}
        return ends

    def _windows(self) -> list[WindowTrace]:
        """Return the traces of the windows, best first."""
        assembled, numbers = self.assembled, [self._numbers[each.window.best.key] for each in self.ranked]
        # A reranker may return a window several times, with different parts of its text. The best one counts.
        ranks = {number: rank for rank, number in reversed([*enumerate(numbers)])}
        positions = {id(document): position for position, document in enumerate(self.documents, 1)}
        returned: dict[int, tuple[int, Assembled]] = {}
        for each, document in zip(assembled.assembly.windows, assembled.documents, strict=True):
            for rank in each.ranks:
                returned.setdefault(numbers[rank], (positions[id(document)], each))
        traces = list[WindowTrace]()
        for number, window in enumerate(self.windows, 1):
            at = ranks.get(number)
            trace = self._window(number, window, at)
            if number in returned:
                position, each = returned[number]
                trace = _returned(trace, position, each.window, [numbers[rank] for rank in each.ranks])
            else:
                code = codes.BY_RERANKER if at is None else assembled.assembly.left_out[at]
                trace = replace(trace, left_out=code, outcome=f"left out, as {LEFT_OUT[code]}")
            traces.append(trace)
        return traces

    def _window(self, number: int, window: Window, at: int | None) -> WindowTrace:
        """Return the trace of a window and its rank, without what became of it."""
        sentences = self.reader.sentences
        # Those that can be read: a window that was left out may have others.
        held = [sentences[key] for key in window.keys if key in sentences]
        reranked = None if at is None else self.ranked[at].document
        relevance = None if reranked is None else reranked.metadata.get(RELEVANCE_SCORE)
        return WindowTrace(
            number,
            window.doc_id,
            (window.first, window.last),
            held[0].start,
            held[-1].end,
            sentences[window.best.key].heading,
            "".join(each.text + each.separator for each in held[:-1]) + held[-1].text,
            window.score,
            tuple(sorted(self.sentences[hit.key].rank for hit in window.hits)),
            None if at is None or reranked is None else at + 1,
            None if relevance is None else float(relevance),
            self._ends_of_window(window),
        )


def _returned(trace: WindowTrace, position: int, window: Window, together: Sequence[int]) -> WindowTrace:
    """Add what was returned of a window, together with others."""
    (first, last), kept = trace.sentences, (window.first, window.last)
    joined = tuple(number for number in together if number != trace.number)
    is_cut = window.first > first or window.last < last
    change = codes.TRIMMED if is_cut else codes.WIDENED if kept != (first, last) and not joined else None
    outcome = [f"returned as {position}"]
    outcome += [change] if change else []
    outcome += [f"joined with {', '.join(map(str, joined))}"] if joined else []
    return replace(
        trace,
        returned=position,
        kept=None if kept == (first, last) else kept,
        outcome=", ".join(outcome),
        joined=joined,
        change=change,
    )


async def _rankings(io: IO, request: Request, depth: int) -> tuple[Ranks, Ranks]:
    """Rank sentences by meaning alone and by words alone.

    Words are searched in the store if it can, else among what was found by meaning if there is a `BM25Index`.
    """
    scope, query, index = request.scope, request.query, request.bm25_index
    adapter, settings = scope.adapter, {"k": depth, **scope.search_settings}
    documents = await adapter.search(io, query, {**request.search_kwargs, **settings})
    found = [(adapter.read(document), score) for document, score in documents]
    dense = _ranks((sentence.key, score) for sentence, score in found)
    scored = await adapter.lexical_search(io, query, settings)
    if scored is not None:
        return dense, _ranks((adapter.read(each).key, score) for each, score in scored)
    if index is None:
        return dense, {}
    known = [sentence for sentence, _ in found]
    await fill_bm25_index(io, adapter, index, known)
    scores: list[tuple[int, float]] = await io.in_thread(index.scores, query, known)
    return dense, _ranks((known[at].key, score) for at, score in scores)


def _ranks(scored: Iterable[tuple[SentenceKey, float]]) -> Ranks:
    in_order = sorted(scored, key=lambda each: (-each[1], each[0]))
    return {key: (rank, float(score)) for rank, (key, score) in enumerate(in_order, 1)}
