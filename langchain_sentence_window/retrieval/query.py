"""`Query`: search, rank, expand, read, rerank, assemble within the budget, order.

LangChain's own retrievers only pass their callbacks on to a compressor, and most compressors make no run. So a
reranker's run is made here, for any compressor.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.runnables import RunnableConfig, RunnableLambda

from langchain_sentence_window._arguments import not_a_question
from langchain_sentence_window._display import shown
from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import encodable
from langchain_sentence_window._validation import as_number
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.keys import RELEVANCE_SCORE, WINDOW_ID
from langchain_sentence_window.documents.sentence_documents import SentencesByKey, by_key
from langchain_sentence_window.documents.window_documents import window_position
from langchain_sentence_window.documents.window_fields import FIELDS
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.windows.assembly import MAX_JOINED, NEAR, TIGHT_FIRST, WIDENING, Order, arrange
from langchain_sentence_window.windows.geometry import Window, best_windows

from .assembled_documents import AssembledDocuments, Assembling, RankedWindow, assemble_documents
from .expansion import Expansion, ExpansionPolicy, ReadAhead, Sentences, plan_expansion, read_windows
from .search import Found, Search, find_sentences
from .stored_sentences import in_one_state

MAX_QUERY_CHARS = 32_000
"""The most characters of a query, about 8,000 tokens. Common embedders read fewer."""

FULL_SHARE = 0.9
"""The share of a budget from which on no more hits are searched."""

WIDE_TOKENS = 100
"""About the tokens of a window that a budget widened: by these it is guessed how many windows a budget will hold."""


@dataclass(frozen=True, slots=True)
class Request:
    """A query with all its settings.

    Attributes:
        scope: The store, and what may be read of it.
        search: The question, and how sentences are searched.
        k: The number of windows to return.
        fetch_k: The number of sentences to search at first.
        policy: How far hits are expanded.
        max_tokens: The most tokens that all windows may have together; ``None`` for no limit.
        count_tokens: Counts the tokens of a text.
        order: The order in which windows are returned.
        min_score: The lowest similarity of a hit; ``None`` for any.
        name: The name of the retriever; ``None`` if it has none.
        settings: The values of all settings of the query, by name.
    """

    scope: Scope
    search: Search
    k: int
    fetch_k: int
    policy: ExpansionPolicy
    max_tokens: int | None
    count_tokens: Callable[[str], int]
    order: Order
    min_score: float | None
    name: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ahead(self) -> ReadAhead:
        """Return what the windows will probably need around the best hits."""
        likely = self.k + self.k // 2
        if self.max_tokens is None:
            return ReadAhead(self.policy, 0 if self.k > MAX_JOINED else likely)
        near, (before, after) = NEAR + 1, WIDENING
        likely = min(likely, max(2 * TIGHT_FIRST, self.max_tokens // WIDE_TOKENS))
        return ReadAhead(self.policy, likely, before + near, after + near)


@dataclass(eq=False, repr=False)
class Query:
    """A query that runs, or has run: each attribute is what a step of it came to, in the order of the steps.

    Attributes:
        io: Makes the calls.
        request: The question with all its settings.
        reranker: Ranks all windows before the best are taken; ``None`` for none.
        callbacks: Those of the run that the reranker's run is a part of.
        found: The sentences that the search found, ranked.
        expansion: The hits that count, and how far each is expanded.
        windows: Disjoint windows around them, best first.
        sentences: The sentences that were hit or read.
        ranked: The windows in the reranker's order, or in the search's without a reranker.
        assembled: The windows to return, best first, and which windows each of them was made of.
        documents: Their Documents, in the order that was asked for.
        seconds: The time that each stage took, by its name.
    """

    io: IO
    request: Request
    reranker: BaseDocumentCompressor | None = None
    callbacks: Callbacks = None
    found: Found = field(init=False)
    expansion: Expansion = field(init=False)
    windows: Sequence[Window] = field(init=False)
    sentences: SentencesByKey = field(init=False)
    ranked: Sequence[RankedWindow] = field(init=False)
    assembled: AssembledDocuments = field(init=False)
    documents: list[Document] = field(init=False)
    seconds: dict[str, float] = field(init=False, default_factory=dict)
    _fetch_k: int = field(init=False)

    async def run(self) -> None:
        """Run all steps, in one state of the store where it can tell, with more sentences as long as they are too few.

        Raises:
            IncompleteWindowError: The store lacks sentences or metadata that a window is read from.
            InvalidInputError: The budget is too small for any hit.
        """
        self._fetch_k = max(self.request.fetch_k, self.request.k)
        while not await in_one_state(self.request.scope, self.run_in):
            self._fetch_k *= 4

    async def run_in(self, scope: Scope) -> bool:
        """Run all steps in a scope; return whether enough sentences were searched."""
        io, request = self.io, self.request
        with self._timed("search"):
            found = self.found = await find_sentences(io, scope, request.search, self._fetch_k, request.ahead)
        with self._timed("windows"):
            hits, least = found.hits, request.min_score
            if found.relevance is not None and not found.relevance.supported:
                hits = []
            elif least is not None:
                hits = [hit for hit in hits if hit.similarity is None or hit.similarity >= least]
            is_all = len(found.hits) < self._fetch_k or len(hits) < len(found.hits)  # the store has no more that count
            known, wanted, read = by_key(found.sentences), found.wanted, found.read
            if wanted is None or len(hits) < len(found.hits):
                wanted, read = request.ahead.wanted(hits, known), None
            expansion = self.expansion = await plan_expansion(
                io, scope, request.policy, hits, known, wanted=wanted, ahead=read, all_hits=is_all
            )
            sentences = expansion.sentences
            self.windows = best_windows(expansion.hits, None, expansion.window, expansion.widens)
        if self.reranker is None:
            self.ranked = [RankedWindow(window) for window in self.windows]
        elif len(self.windows) < request.k and not is_all:
            return False
        else:
            sentences = sentences | await self._rerank(scope, self.reranker)
        with self._timed("windows"):
            given = Assembling(
                scope, self.ranked, expansion, sentences, request.k, request.max_tokens, request.count_tokens
            )
            assembled = await assemble_documents(io, given)
        # More hits would hardly add anything if there are ``k`` windows, or the budget is spent.
        is_full = len(assembled.documents) >= request.k or (
            request.max_tokens is not None and assembled.assembly.cost >= FULL_SHARE * request.max_tokens
        )
        if self.reranker is None and not is_all and not is_full:
            return False
        if found.relevance is not None:
            if found.relevance.supported < len(found.hits):
                assembled = assembled.supported({hit.key for hit in found.hits[: found.relevance.supported]})
            assembled = assembled.with_relevance(found.relevance.probability)
        self.assembled, self.sentences = assembled, assembled.sentences
        self.documents = arrange(assembled.documents, request.order, window_position)
        return True

    async def _rerank(self, scope: Scope, reranker: BaseDocumentCompressor) -> Sentences:
        """Rank the windows of all hits, as a reranker chooses among them; return the sentences that were read."""
        io, expansion, self.ranked = self.io, self.expansion, []
        with self._timed("windows"):
            documents, read = await read_windows(io, scope, self.windows, expansion.sentences, expansion.read)
        with self._timed("rerank"):
            if documents:
                ranked = await reranked(io, reranker, documents, self.request.search.query, self.callbacks)
                by_id = {each.metadata[WINDOW_ID]: window for each, window in zip(documents, self.windows, strict=True)}
                self.ranked = [RankedWindow(by_id[each.metadata[WINDOW_ID]], each) for each in ranked]
        return read

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        """Add the time of the block to a stage."""
        start = perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + perf_counter() - start


def checked_query(query: object) -> str:
    """Return the query with ``?`` for lone surrogates, which embedders refuse.

    Raises:
        InvalidInputError: The query isn't a string, is blank, or is longer than `MAX_QUERY_CHARS`.
    """
    if not isinstance(query, str):
        raise InvalidInputError(f"the query is {shown(query)}; {not_a_question(query)}")
    if not query.strip():
        raise InvalidInputError(f"the query is {shown(query)}; ask with at least one word")
    if len(query) > MAX_QUERY_CHARS:
        raise InvalidInputError(
            f"the query has {len(query):,} characters, and embedders read no more than about {MAX_QUERY_CHARS:,}; ask "
            "with the question alone"
        )
    return encodable(query)


async def reranked(
    io: IO, reranker: BaseDocumentCompressor, documents: Sequence[Document], query: str, callbacks: Callbacks
) -> list[Document]:
    """Rerank documents in a run with the reranker's name, as a child of the run with the callbacks.

    The run's input is the query and the documents in the order of the search. Its output is the documents in the
    reranker's order, their ranks in the search from 1 as ``search_ranks``, and as ``left_out`` the number of Documents
    that came twice or belong to no window.

    Raises:
        InvalidInputError: The reranker's result can't be read; see `read_ranking`.
    """
    name = type(reranker).__name__

    def rerank(given: Mapping[str, Any], config: RunnableConfig) -> dict[str, Any]:
        copies = copied_documents(given["documents"])
        found = reranker.compress_documents(copies, given["query"], config.get("callbacks"))
        return read_ranking(name, found, documents)

    async def arerank(given: Mapping[str, Any], config: RunnableConfig) -> dict[str, Any]:
        copies = copied_documents(given["documents"])
        found = await reranker.acompress_documents(copies, given["query"], config.get("callbacks"))
        return read_ranking(name, found, documents)

    run = RunnableLambda(rerank, arerank, name=name)
    given = {"query": query, "documents": list(documents)}
    found: dict[str, list[Document]] = await io.call(run.invoke, run.ainvoke, given, {"callbacks": callbacks})
    return found["documents"]


_RERANKED = frozenset(row.key for row in FIELDS if row.is_of_reranker)
_SEARCHED = frozenset(row.key for row in FIELDS) - _RERANKED
"""The keys that say where a window is from. A reranker can't change them."""


def copied_documents(documents: Sequence[Document]) -> list[Document]:
    """Return copies of Documents for a reranker, as some rerankers change their input."""
    return [
        Document(id=document.id, page_content=document.page_content, metadata=_copied(document.metadata))
        for document in documents
    ]


def read_ranking(reranker: str, found: object, searched: Sequence[Document]) -> dict[str, Any]:
    """Match the Documents that a reranker returned with the windows that it was given.

    A Document belongs to the window with the same ``window_id``, id or text. It keeps its own text, as compressors
    shorten texts, and metadata that the reranker added. The metadata that says where it is from is the search's. A
    ``relevance_score`` that isn't a finite number is left out.

    Args:
        reranker: The reranker's name.
        found: The reranker's result.
        searched: The windows that it was given, in the order of the search.

    Returns:
        ``documents``: the windows' Documents, best first, each once; ``search_ranks``: the rank of each in the search,
        from 1; ``left_out``: the number of returned Documents that belong to no window or came before.

    Raises:
        InvalidInputError: The result isn't a list of Documents, or none of them belongs to a window.
    """
    given = _checked(reranker, found, searched)
    windows = _Windows(searched)
    ranks: dict[tuple[int, str], Document] = {}
    unknown = 0
    for document in given:
        rank = windows.rank(document)
        unknown += rank is None
        if rank is not None and document.page_content.strip():
            ranks.setdefault((rank, document.page_content), document)
    if unknown == len(given) > 0:
        raise InvalidInputError(
            f"the reranker {reranker} returned {len(given)} Documents, and none is one of the {len(searched)} windows "
            "that it was given; it must return these, or copies that keep window_id in their metadata"
        )
    documents = [_restored(document, searched[rank - 1]) for (rank, _), document in ranks.items()]
    left_out = len(given) - len(documents)
    return {"documents": documents, "search_ranks": [rank for rank, _ in ranks], "left_out": left_out}


def _checked(reranker: str, found: object, searched: Sequence[Document]) -> list[Document]:
    if not isinstance(found, Iterable) or isinstance(found, str | bytes | Mapping | Document):
        raise InvalidInputError(
            f"the reranker {reranker} returned {shown(found)}; it must return a list of the Documents it was given"
        )
    given: list[Document] = []
    # Some generators never end.
    limit = 100 * len(searched) + 100
    for position, document in enumerate(found):
        if not isinstance(document, Document) or not isinstance(document.page_content, str):
            raise InvalidInputError(
                f"the reranker {reranker} returned {shown(document)} at position {position}; it must return Documents, "
                f"each with its score in metadata[{RELEVANCE_SCORE!r}]"
            )
        if position == limit:
            raise InvalidInputError(
                f"the reranker {reranker} returned more than {limit} Documents for {len(searched)} windows; it must "
                "return each once"
            )
        given.append(document)
    return given


class _Windows:
    """Finds the window that a Document belongs to."""

    def __init__(self, searched: Sequence[Document]) -> None:
        ranked = list(enumerate(searched, 1))
        self._by_id = {document.metadata[WINDOW_ID]: rank for rank, document in ranked}
        self._by_text: dict[str, int | None] = {}
        for rank, document in ranked:
            # A text that two windows share identifies neither.
            self._by_text[document.page_content] = None if document.page_content in self._by_text else rank

    def rank(self, document: Document) -> int | None:
        metadata = document.metadata if isinstance(document.metadata, Mapping) else {}
        for name in (metadata.get(WINDOW_ID), document.id):
            if isinstance(name, str) and name in self._by_id:
                return self._by_id[name]
        return self._by_text.get(document.page_content)


def _restored(document: Document, window: Document) -> Document:
    """Return a reranker's Document with the window's own metadata restored."""
    given = document.metadata if isinstance(document.metadata, Mapping) else {}
    score = as_number(given.get(RELEVANCE_SCORE))
    own = {key: value for key, value in window.metadata.items() if key not in _RERANKED}
    added = {key: value for key, value in given.items() if isinstance(key, str) and key not in _SEARCHED}
    metadata = own | added | {RELEVANCE_SCORE: score}
    if not math.isfinite(score):
        del metadata[RELEVANCE_SCORE]
    return Document(id=window.id, page_content=document.page_content, metadata=metadata)


def _copied(metadata: dict[str, Any]) -> dict[str, Any]:
    try:
        return deepcopy(metadata)
    except Exception:  # noqa: BLE001 - metadata may hold anything, such as a lock; then the dict alone is copied
        return dict(metadata)
