"""`TracedQuery`: a query that makes a `Trace` of its steps, with ranks by meaning and by words alone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.keys import RELEVANCE_SCORE
from langchain_sentence_window.documents.window_documents import shown_text
from langchain_sentence_window.ranking.candidates import CANDIDATES
from langchain_sentence_window.retrieval.candidates import fill_bm25_index
from langchain_sentence_window.retrieval.named_search import NAME_BONUS
from langchain_sentence_window.retrieval.query import Query
from langchain_sentence_window.retrieval.request import Request
from langchain_sentence_window.retrieval.settings import SETTINGS
from langchain_sentence_window.windows.assembly import IS_UNSUPPORTED
from langchain_sentence_window.windows.geometry import Window

from . import trace as codes
from .trace import LEFT_OUT, NameTrace, SentenceTrace, Trace, WindowTrace

Ranks: TypeAlias = Mapping[SentenceKey, tuple[int | None, float | None]]
"""Ranks, from 1, and scores by sentence."""

UNRANKED = (None, None)
"""The rank and the score of a sentence that isn't ranked."""


async def explain(io: IO, request: Request) -> Trace:
    """Run a query and return a trace of it."""
    query = TracedQuery(io, request)
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
        await self.reader.fetch(keys)
        return True

    def trace(self) -> Trace:
        """Return the trace of the query, after its run."""
        request, named, relevance = self.request, self.found.named, self.found.relevance
        candidates, windows, count_tokens = [*self.sentences.values()], self._windows(), request.count_tokens
        hits = [each for each in candidates if each.left_out is None]
        return Trace(
            request.query,
            {name: row.traced(getattr(request, name)) for name, row in SETTINGS.items() if row.traced is not None},
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
        """The hits, then the candidates that were left out, best first. Those that can't be read are missing."""
        found, searched, hits = self.found, self._searched(), {hit.key: hit for hit in self.expansion.hits}
        scores = {hit.key: hit.score for hit in (*self.expansion.hits, *found.hits)}
        is_unsupported = found.relevance is not None and not found.relevance.supported
        left_out = dict.fromkeys(searched, codes.BEYOND_FETCH_K)
        left_out |= dict.fromkeys(scores, IS_UNSUPPORTED if is_unsupported else codes.BELOW_MIN_SCORE)
        scores |= {key: score for key, (score, _, _) in searched.items() if key not in scores}
        best = {window.best.key for window in self.windows}
        merged = {hit.key for window in self.windows for hit in window.hits}
        traces: dict[SentenceKey, SentenceTrace] = {}
        for rank, key in enumerate((key for key in scores if key in self.reader.sentences), 1):
            sentence, window, hit = self.reader.sentences[key], self._numbers.get(key), hits.get(key)
            _, searched_rank, signals = searched.get(key, (0.0, rank, {}))
            how = "opened" if key in best else "merged into" if key in merged else "already in"
            traces[key] = SentenceTrace(
                rank,
                searched_rank,
                *key,
                sentence.start,
                sentence.end,
                sentence.text,
                scores[key],
                *self.dense.get(key, UNRANKED),
                *self.lexical.get(key, UNRANKED),
                signals,
                window,
                outcome=f"{how} window {window}" if hit else f"left out, as {LEFT_OUT[left_out[key]]}",
                left_out=None if hit else left_out[key],
            )
        return traces

    def _searched(self) -> Mapping[SentenceKey, tuple[float, int, Mapping[str, float]]]:
        """Return the score, rank in the search and signals of the candidates that were ranked, in their new order."""
        named, searched = self.found.named, dict[SentenceKey, tuple[float, int, Mapping[str, float]]]()
        mentioned = {each.doc_id for each in named.documents} if named and not named.is_limited else set()
        ranks: dict[SentenceKey, int] = {}
        for candidates, result in self.found.searches:
            for key in candidates.keys:
                ranks.setdefault(key, len(ranks) + 1)
            for at in result.order.tolist():
                key = candidates.keys[at]
                score = float(result.scores[at]) + NAME_BONUS * (key[0] in mentioned)
                # Of a mentioned document, the better of two scores counts; else that of the first search.
                if key not in searched or (mentioned and score > searched[key][0]):
                    signals = dict(zip(result.names, result.contributions[at].tolist(), strict=True))
                    searched[key] = score, ranks[key], signals
        return dict(sorted(searched.items(), key=lambda each: -each[1][0])) if mentioned else searched

    def _windows(self) -> list[WindowTrace]:
        """Return the traces of the windows, best first."""
        numbers = [self._numbers[each.window.best.key] for each in self.ranked]
        places = {number: at for at, number in enumerate(numbers)}
        positions = {id(document): position for position, document in enumerate(self.documents, 1)}
        returned: dict[int, tuple[int, Window, list[int]]] = {}
        for each, document in zip(self.assembled.assembly.windows, self.assembled.documents, strict=True):
            together = [numbers[at] for at in each.ranks]
            for number in together:
                returned.setdefault(number, (positions[id(document)], each.window, together))
        return [
            self._window(number, window, places.get(number), returned.get(number))
            for number, window in enumerate(self.windows, 1)
        ]

    def _window(
        self, number: int, window: Window, at: int | None, back: tuple[int, Window, Sequence[int]] | None
    ) -> WindowTrace:
        """Return the trace of a window.

        Args:
            number: Its rank in the search, from 1.
            window: The window.
            at: Its place in the reranker's order, from 0; ``None`` if the reranker left it out.
            back: The position of the returned window that holds it, that window, and the numbers of all windows in it;
                ``None`` if it wasn't returned.
        """
        own = kept = window.first, window.last
        position = change = left_out = None
        joined: tuple[int, ...] = ()
        assembly = self.assembled.assembly
        if back is None:
            left_out = codes.BY_RERANKER if at is None else assembly.left_out[at]
            outcome = f"left out, as {LEFT_OUT[left_out]}"
            if at is not None and at in assembly.equal:
                better = self.ranked[assembly.equal[at].better].window
                outcome = f"left out, as its text is that of window {self._numbers[better.best.key]}"
        else:
            position, returned, together = back
            kept, joined = (returned.first, returned.last), tuple(each for each in together if each != number)
            if kept[0] > own[0] or kept[1] < own[1]:
                change = codes.TRIMMED
            elif kept != own and not joined:
                change = codes.WIDENED
            others = f"joined with {', '.join(map(str, joined))}" if joined else None
            outcome = ", ".join(filter(None, [f"returned as {position}", change, others]))
        # Those that can be read: a window that was left out may have others.
        held = [self.reader.sentences[key] for key in window.keys if key in self.reader.sentences]
        reranked = None if at is None else self.ranked[at].document
        return WindowTrace(
            number,
            window.doc_id,
            own,
            held[0].start,
            held[-1].end,
            self.reader.sentences[window.best.key].heading,
            "".join(each.text + each.separator for each in held[:-1]) + held[-1].text,
            window.score,
            tuple(sorted(self.sentences[hit.key].rank for hit in window.hits)),
            reranked=at + 1 if reranked and at is not None else None,
            relevance_score=reranked.metadata.get(RELEVANCE_SCORE) if reranked else None,
            outcome=outcome,
            left_out=left_out,
            returned=position,
            kept=kept if kept != own else None,
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
    in_order = sorted(scored, key=lambda each: (-each[1], each[0]))  # as ties are ordered in any search
    return {key: (rank, float(score)) for rank, (key, score) in enumerate(in_order, 1)}
