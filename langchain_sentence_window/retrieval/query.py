"""`Query`: search, expand, read, rerank, assemble within the budget, order."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import IO
from langchain_sentence_window._validation import listed
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.adapters.store_adapter import StoreAdapter
from langchain_sentence_window.documents.keys import WINDOW_ID
from langchain_sentence_window.documents.window_documents import window_position
from langchain_sentence_window.windows.assembly import arrange
from langchain_sentence_window.windows.geometry import Window, best_windows

from .assembled_documents import AssembledDocuments, Assembler, RankedWindow
from .expansion import Expansion, expand_hits, read_expansion
from .hits import Hits
from .named_search import named_search
from .request import Request
from .reranked import reranked
from .stored_sentences import in_one_state
from .telemetry import LOGGER, counted
from .window_reader import WindowReader

FULL_SHARE = 0.9
"""Once windows cost this share of the budget, no more hits are searched."""


async def ask(io: IO, request: Request, callbacks: Callbacks) -> list[Document]:
    """Run a query and return its documents."""
    query = Query(io, request, callbacks)
    await query.run()
    return query.documents


@dataclass(eq=False, repr=False)
class Query:
    """A query, with the result of each step in an attribute, in the order of the steps.

    Attributes:
        io: Makes the calls.
        request: The question with all its settings.
        callbacks: Those of the run that the reranker's run is a part of.
        found: The sentences that the search found, ranked.
        expansion: The hits that count, and how far each is expanded.
        reader: The sentences that were hit or read.
        windows: Disjoint windows around them, best first.
        ranked: The windows in the reranker's order, or in the search's without a reranker.
        assembled: The windows to return, best first, and which windows each of them was made of.
        documents: Their Documents, in the order that was asked for.
        seconds: The time that each stage took, by its name.
    """

    io: IO
    request: Request
    callbacks: Callbacks = None
    found: Hits = field(init=False)
    expansion: Expansion = field(init=False)
    reader: WindowReader = field(init=False)
    windows: Sequence[Window] = field(init=False)
    ranked: Sequence[RankedWindow] = field(init=False)
    assembled: AssembledDocuments = field(init=False)
    documents: list[Document] = field(init=False)
    seconds: dict[str, float] = field(init=False, default_factory=dict)

    async def run(self) -> None:
        """Run all steps in one state of the store, if it can be read so; search more sentences until they are enough.

        Raises:
            IncompleteWindowError: The store lacks sentences or metadata that a window is read from.
            InvalidInputError: The budget is too small for any hit.
            StoreUnavailableError: The store's server doesn't answer.
        """
        fetch_k = max(self.request.fetch_k, self.request.k)
        with self.request.scope.adapter.reached():
            while not await in_one_state(self.request.scope, partial(self.run_in, fetch_k=fetch_k)):
                fetch_k *= 4
        _log(self)

    async def run_in(self, scope: Scope, *, fetch_k: int) -> bool:
        """Run all steps in a scope, with so many sentences at most; return whether they were enough."""
        io, request = self.io, self.request
        with self._timed("search"):
            work = partial(search, scope=scope, request=request, fetch_k=fetch_k)
            has_words = bool(request.lexical_weight)
            self.found, self.expansion, self.reader, are_all = await scope.adapter.in_search(
                io, request.query, work, has_words=has_words
            )
        self.reader.io, self.reader.scope = io, scope  # the search may have had others
        expansion = self.expansion
        with self._timed("windows"):
            self.windows = best_windows(expansion.hits, expansion.window, expansion.widens)
        if request.reranker is None:
            self.ranked = [RankedWindow(window) for window in self.windows]
        elif len(self.windows) < request.k and not are_all:
            return False
        else:
            self.ranked = await self._rerank(request.reranker)
        with self._timed("windows"):
            assembled = await Assembler(request, self.reader, expansion).assemble(self.ranked)
        # More hits would hardly add anything if there are ``k`` windows, or the budget is spent.
        is_full = len(assembled.documents) >= request.k or (
            request.max_tokens is not None and assembled.assembly.cost >= FULL_SHARE * request.max_tokens
        )
        if request.reranker is None and not are_all and not is_full:
            return False
        relevance = self.found.relevance
        if relevance is not None:
            if relevance.supported < len(self.found.hits):
                assembled = assembled.supported({hit.key for hit in self.found.hits[: relevance.supported]})
            assembled = assembled.with_relevance(relevance.probability)
        self.assembled = assembled
        self.documents = arrange(assembled.documents, request.order, window_position)
        return True

    async def _rerank(self, reranker: BaseDocumentCompressor) -> Sequence[RankedWindow]:
        """Rank the windows of all hits, as a reranker chooses among them."""
        with self._timed("windows"):
            documents = await self.reader.documents(self.windows)
        if not documents:
            return []
        with self._timed("rerank"):
            ranked = await reranked(self.io, reranker, documents, self.request.query, self.callbacks)
        by_id = {each.metadata[WINDOW_ID]: window for each, window in zip(documents, self.windows, strict=True)}
        return [RankedWindow(by_id[each.metadata[WINDOW_ID]], each) for each in ranked]

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        """Add the time of the block to a stage."""
        start = perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + perf_counter() - start


async def search(
    io: IO, adapter: StoreAdapter, *, scope: Scope, request: Request, fetch_k: int
) -> tuple[Hits, Expansion, WindowReader, bool]:
    """Search sentences, and read around the best of them, as `StoreAdapter.in_search` lets it do.

    Args:
        io: Makes the calls.
        adapter: That of the state of the store to read.
        scope: Which sentences may be found.
        request: The question.
        fetch_k: The most sentences to find in one search.

    Returns:
        The hits; how far those that count are expanded; what reads sentences around them, and has read those that
        their windows will probably need; and whether the store has no more hits that count.
    """
    within = replace(scope, adapter=adapter)
    found = await named_search(io, within, request, fetch_k)
    hits = found.counting(request.min_score)
    are_all = len(found.hits) < fetch_k or len(hits) < len(found.hits)
    reader = WindowReader(io, within, found.sentences)
    policy = read_expansion(request.window, request.window_key)
    expansion = expand_hits(hits, policy, reader.sentences, request.needs, are_all=are_all)
    expansion = await reader.read_around(expansion, request.k, request.max_tokens)
    return found, expansion, reader, are_all


def _log(query: Query) -> None:
    """Log what a query did."""
    if not LOGGER.isEnabledFor(logging.DEBUG):
        return
    request, named, relevance = query.request, query.found.named, query.found.relevance
    stages = ", ".join(f"{stage} {seconds:.3f}" for stage, seconds in query.seconds.items())
    details = f"in {sum(query.seconds.values()):.3f} s ({stages})"
    if named is not None:
        details += f"; it names {listed([each.doc_id for each in named.documents])}"
    if relevance is not None and relevance.probability is not None:
        details += f"; relevance {relevance.probability:.2f}"
        details += "" if relevance.supported else ", so nothing is returned"
    LOGGER.debug(
        "the query %s%s returned %s, of %s found around %s, %s",
        shown(request.query),
        " under a filter" if request.filter is not None else "",
        counted(len(query.documents), "window"),
        f"{len(query.windows):,}",
        counted(len(query.expansion.hits), "hit"),
        details,
    )
