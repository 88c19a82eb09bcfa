"""The stages of a query: search, expand, rerank, assemble within the budget, order."""

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, TypeAlias

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document

from langchain_sentence_window._arguments import not_a_question
from langchain_sentence_window._display import shown
from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import SentenceKey, encodable
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.keys import WINDOW_ID
from langchain_sentence_window.documents.sentence_documents import SentencesByKey, StoredSentence, by_key
from langchain_sentence_window.documents.window_documents import window_position
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.retrieval.assembled_documents import (
    AssembledDocuments,
    Assembling,
    RankedWindow,
    assemble_documents,
)
from langchain_sentence_window.retrieval.expansion import (
    Expansion,
    ExpansionPolicy,
    Margin,
    Sentences,
    Wanted,
    plan_expansion,
    read_windows,
    wanted_beside,
)
from langchain_sentence_window.retrieval.reranked import reranked
from langchain_sentence_window.retrieval.search import Search, Searched, find_sentences
from langchain_sentence_window.retrieval.stored_sentences import in_one_state
from langchain_sentence_window.windows.assembly import TIGHT_FIRST, WIDENING, Order, arrange, is_pool
from langchain_sentence_window.windows.geometry import Hit, Window
from langchain_sentence_window.windows.growth import NEAR

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


@dataclass(frozen=True, slots=True)
class Found:
    """The windows that a search led to.

    Attributes:
        windows: Disjoint windows, best first.
        sentences: The sentences that were hit or read.
        expansion: The hits, and how far each was expanded.
        is_all: Whether the store has no more hits.
        searched: What the search found.
    """

    windows: Sequence[Window]
    sentences: Sentences
    expansion: Expansion
    is_all: bool
    searched: Searched


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The results of each stage of a query.

    Attributes:
        found: The windows that were found.
        ranked: The windows in the reranker's order, or in the search's without a reranker.
        assembly: Which of them each returned window was made of, best first.
        documents: The Documents to return, in the order that was asked for.
        seconds: The time that each stage took, by its name.
        more: What was read beside it, in the same state of the store.
    """

    found: Found
    ranked: Sequence[RankedWindow]
    assembly: AssembledDocuments
    documents: list[Document]
    seconds: Mapping[str, float]
    more: Any = None

    @property
    def sentences(self) -> SentencesByKey:
        """The sentences that were hit or read."""
        return self.assembly.sentences


ReadMore: TypeAlias = Callable[[Scope, Retrieval], Awaitable[Any]]
"""Reads more in the state of the store that a query was answered from."""


async def retrieve(
    io: IO,
    request: Request,
    reranker: BaseDocumentCompressor | None,
    callbacks: Callbacks,
    read_more: ReadMore | None = None,
) -> Retrieval:
    """Run all stages of a query, in one state of the store where it can tell.

    Raises:
        IncompleteWindowError: The store lacks sentences or metadata that a window is read from.
        InvalidInputError: The budget is too small for any hit.
    """
    seconds: dict[str, float] = {}
    fetch_k = max(request.fetch_k, request.k)

    async def read(scope: Scope) -> Retrieval | None:
        given = replace(request, scope=scope)
        retrieval = await _retrieve(io, given, reranker, callbacks, fetch_k=fetch_k, seconds=seconds)
        if retrieval is None or read_more is None:
            return retrieval
        return replace(retrieval, more=await read_more(scope, retrieval))

    while (retrieval := await in_one_state(request.scope, read)) is None:
        fetch_k *= 4
    return retrieval


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


async def _retrieve(
    io: IO,
    request: Request,
    reranker: BaseDocumentCompressor | None,
    callbacks: Callbacks,
    *,
    fetch_k: int,
    seconds: dict[str, float],
) -> Retrieval | None:
    """Run all stages with so many sentences; return ``None`` if more have to be searched."""
    found = await _find(io, request, fetch_k, seconds)
    if reranker is not None:
        if len(found.windows) < request.k and not found.is_all:
            return None
        found, documents = await _documents(io, request, found, seconds)
        with _timed(seconds, "rerank"):
            windows = list(zip(found.windows, documents, strict=True))
            ranked = await _reranked(io, reranker, request.search.query, windows, callbacks)
    else:
        ranked = [RankedWindow(window) for window in found.windows]
    with _timed(seconds, "windows"):
        assembled = await assemble_documents(io, _assembling(request, found, ranked))
    if reranker is None and not found.is_all and not _is_full(assembled, request):
        return None
    assembled = assembled.supported(_supported(found))
    documents = arrange(assembled.documents, request.order, window_position)
    return Retrieval(found, ranked, assembled, documents, seconds)


async def _find(io: IO, request: Request, fetch_k: int, seconds: dict[str, float]) -> Found:
    """Search, and expand each hit into its window."""
    planned: list[tuple[Sequence[Hit], Wanted]] = []

    def want(sentences: Sequence[StoredSentence], hits: Sequence[Hit]) -> Sequence[SentenceKey]:
        planned.append((hits, wanted_beside(request.policy, hits, by_key(sentences), _margin(request))))
        return planned[-1][1].asked

    with _timed(seconds, "search"):
        searched = await find_sentences(io, request.scope, replace(request.search, beside=want), fetch_k)
    sentences, hits = searched.sentences, searched.hits
    is_all = len(hits) < fetch_k
    if searched.relevance is not None and not searched.relevance.supported:
        is_all, hits = True, []
    if request.min_score is not None:
        similar = [hit for hit in hits if hit.similarity is None or hit.similarity >= request.min_score]
        is_all = is_all or len(similar) < len(hits)
        hits = similar
    with _timed(seconds, "windows"):
        known = by_key(sentences)
        wanted = next((each for of_hits, each in planned if of_hits is hits), None)
        beside = None if wanted is None else searched.beside
        if wanted is None:
            wanted = wanted_beside(request.policy, hits, known, _margin(request))
        expansion = await plan_expansion(
            io, request.scope, request.policy, hits, known, wanted=wanted, beside=beside, all_hits=is_all
        )
    return Found(expansion.windows(), expansion.sentences, expansion, is_all, searched)


def _margin(request: Request) -> Margin:
    """Return what the windows of a request will probably need around the best hits."""
    if is_pool(request.k, request.max_tokens):
        return Margin(0)
    likely = request.k + request.k // 2
    if request.max_tokens is None:
        return Margin(likely)
    near, (before, after) = NEAR + 1, WIDENING
    return Margin(min(likely, max(2 * TIGHT_FIRST, request.max_tokens // WIDE_TOKENS)), before + near, after + near)


async def _documents(io: IO, request: Request, found: Found, seconds: dict[str, float]) -> tuple[Found, list[Document]]:
    """Read the windows of all hits, as a reranker chooses among them."""
    with _timed(seconds, "windows"):
        documents, read = await read_windows(io, request.scope, found.windows, found.sentences, found.expansion.read)
    return replace(found, sentences=found.sentences | read), documents


async def _reranked(
    io: IO,
    reranker: BaseDocumentCompressor,
    query: str,
    windows: Sequence[tuple[Window, Document]],
    callbacks: Callbacks,
) -> list[RankedWindow]:
    """Return windows in the order of a reranker."""
    if not windows:
        return []
    ranked = await reranked(io, reranker, [document for _, document in windows], query, callbacks)
    by_id = {document.metadata[WINDOW_ID]: window for window, document in windows}
    return [RankedWindow(by_id[document.metadata[WINDOW_ID]], document) for document in ranked]


def _assembling(request: Request, found: Found, ranked: Sequence[RankedWindow]) -> Assembling:
    return Assembling(
        request.scope,
        ranked,
        found.expansion,
        found.sentences,
        request.k,
        request.max_tokens,
        request.count_tokens,
    )


def _supported(found: Found) -> Collection[SentenceKey] | None:
    """Return the hits that the question supports; ``None`` for all."""
    relevance = found.searched.relevance
    if relevance is None:
        return None
    return {(hit.doc_id, hit.index) for hit in found.searched.hits[: relevance.supported]}


def _is_full(assembled: AssembledDocuments, request: Request) -> bool:
    """Return whether more hits would hardly add anything: there are ``k`` windows, or the budget is spent."""
    if len(assembled.documents) >= request.k:
        return True
    return request.max_tokens is not None and assembled.assembly.cost >= FULL_SHARE * request.max_tokens


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Add the time of the block to a stage."""
    start = perf_counter()
    try:
        yield
    finally:
        seconds[stage] = seconds.get(stage, 0.0) + perf_counter() - start
