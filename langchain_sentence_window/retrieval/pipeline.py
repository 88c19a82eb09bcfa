"""The stages of a query: search, expand and merge, read, rerank, fit the budget, order."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document

from langchain_sentence_window._arguments import not_a_question
from langchain_sentence_window._io import IO
from langchain_sentence_window._showing import shown
from langchain_sentence_window._text import encodable
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.ids import window_id
from langchain_sentence_window.documents.sentence_documents import SentencesByKey, by_key
from langchain_sentence_window.documents.window_documents import window_position
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from langchain_sentence_window.ranking.bm25_index import BM25Index
from langchain_sentence_window.retrieval.budget import fit_budget
from langchain_sentence_window.retrieval.callback_runs import reranked
from langchain_sentence_window.retrieval.expansion import Expansion, ExpansionPolicy, plan_expansion, read_windows
from langchain_sentence_window.retrieval.search import find_sentences
from langchain_sentence_window.windows.geometry import Order, Window, arrange

MAX_QUERY_CHARS = 32_000
"""The most characters of a query, about 8,000 tokens. Common embedders read fewer."""

MAX_ATTEMPTS = 3
"""The most attempts at a query while documents change between its search and the reading of its windows."""


@dataclass(frozen=True, slots=True)
class Request:
    """A query with all its settings.

    Attributes:
        scope: The store, and what may be read of it.
        query: The question.
        k: The number of windows to return.
        fetch_k: The number of sentences to search at first.
        policy: How far hits are expanded.
        max_tokens: The most tokens that all windows may have together; ``None`` for no limit.
        count_tokens: Counts the tokens of a text.
        order: The order in which windows are returned.
        lexical_weight: How much words count compared with meaning.
        min_score: The lowest score of a hit; ``None`` for any.
        search: More arguments for the store's search.
        bm25_index: A lexical index for a store that can't search by words.
    """

    scope: Scope
    query: str
    k: int
    fetch_k: int
    policy: ExpansionPolicy
    max_tokens: int | None
    count_tokens: Callable[[str], int]
    order: Order
    lexical_weight: float
    min_score: float | None
    search: Mapping[str, Any]
    bm25_index: BM25Index | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The windows that a search led to.

    Attributes:
        windows: The windows, best first.
        documents: One Document for each window.
        sentences: The sentences of the hits and of the windows.
        expansion: The hits, and how far each was expanded.
    """

    windows: Sequence[Window]
    documents: Sequence[Document]
    sentences: SentencesByKey
    expansion: Expansion


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The results of each stage of a query.

    Attributes:
        found: The windows that were found.
        ranked: The windows' Documents in the reranker's order, or in the search's without a reranker.
        taken: The Documents to return, best first.
        documents: The Documents to return, in the order that was asked for.
        seconds: The time that each stage took, by its name.
    """

    found: Found
    ranked: Sequence[Document]
    taken: Sequence[Document]
    documents: list[Document]
    seconds: Mapping[str, float]


async def retrieve(
    io: IO, request: Request, reranker: BaseDocumentCompressor | None, callbacks: Callbacks
) -> Retrieval:
    """Run all stages of a query.

    Raises:
        IncompleteWindowError: The store lacks sentences or metadata that a window is read from.
    """
    seconds: dict[str, float] = {}
    # A reranker chooses among all windows of the hits.
    found = await _find(io, request, request.k if reranker is None else None, seconds)
    ranked: Sequence[Document] = found.documents
    if reranker is not None and ranked:
        with _timed(seconds, "rerank"):
            ranked = await reranked(io, reranker, ranked, request.query, callbacks)
    with _timed(seconds, "budget"):
        taken = _fit_budget(ranked, request, found)
    return Retrieval(found, ranked, taken, arrange(taken, request.order, window_position), seconds)


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


async def _find(io: IO, request: Request, limit: int | None, seconds: dict[str, float]) -> Found:
    """Search until the hits make ``k`` windows or the store has no more, and read the windows.

    Args:
        io: Makes the calls.
        request: The query with its settings.
        limit: The most windows to read; ``None`` for all.
        seconds: Gets the time of each stage.
    """
    fetch_k, tries_left = max(request.fetch_k, request.k), MAX_ATTEMPTS
    while True:
        with _timed(seconds, "search"):
            sentences, hits = await find_sentences(
                io,
                request.scope,
                request.query,
                fetch_k,
                lexical_weight=request.lexical_weight,
                search_kwargs=request.search,
                bm25_index=request.bm25_index,
            )
        exhausted = len(hits) < fetch_k
        if request.min_score is not None and hits and hits[-1].score < request.min_score:
            exhausted = True
            hits = [hit for hit in hits if hit.score >= request.min_score]
        with _timed(seconds, "windows"):
            known = by_key(sentences)
            try:
                expansion = await plan_expansion(
                    io, request.scope, request.policy, hits, known, k=limit, all_hits=exhausted
                )
                windows = expansion.best(request.k)
                if len(windows) < request.k and not exhausted:
                    fetch_k *= 4
                    continue
                if limit is None:
                    windows = expansion.best(None)
                documents, read = await read_windows(io, request.scope, windows, known, expansion.read)
            except IncompleteWindowError:
                # A document was replaced between the search and the reading.
                tries_left -= 1
                if not tries_left:
                    raise
                continue
        return Found(windows, documents, known | read, expansion)


def _fit_budget(ranked: Sequence[Document], request: Request, found: Found) -> list[Document]:
    if request.max_tokens is None:
        return list(ranked[: request.k])
    by_id = {window_id(window.doc_id, window.first, window.last): window for window in found.windows}
    return fit_budget(
        ranked, request.k, request.max_tokens, request.count_tokens, windows=by_id, sentences=found.sentences
    )


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Add the time of the block to a stage."""
    start = perf_counter()
    try:
        yield
    finally:
        seconds[stage] = seconds.get(stage, 0.0) + perf_counter() - start
