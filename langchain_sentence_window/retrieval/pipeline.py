"""The query road: search, expand and merge, read, rerank, budget, order."""

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
from langchain_sentence_window.retrieval.budget import within_budget
from langchain_sentence_window.retrieval.callback_runs import reranked
from langchain_sentence_window.retrieval.expansion import Expansion, ExpansionPolicy, plan_expansion, read_windows
from langchain_sentence_window.retrieval.search import find_sentences
from langchain_sentence_window.windows.geometry import (
    Order,
    Window,
    arrange,
)

LONGEST_QUERY = 32_000
"""Characters, about 8,000 tokens: more than common embedders read."""

MAX_ATTEMPTS = 3
"""How often a query is made when documents change between its search and the reading of its windows."""


@dataclass(frozen=True, slots=True)
class Request:
    """A query with all its settings.

    Attributes:
        scope: Where to search, and what may be read of it.
        query: What is asked.
        k: How many windows to return.
        fetch_k: How many sentences to search at first.
        policy: How far hits are opened.
        max_tokens: The most tokens all windows may have together.
        count_tokens: How many tokens a text has.
        order: In what order windows are returned.
        lexical_weight: How much words count beside meaning, where the store can search by words.
        min_score: The lowest score of a hit that counts; ``None`` for any.
        search: What else the store's search is given.
        bm25_index: What searches by words where the store can't.
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
    """What a search found, opened into windows and read.

    Attributes:
        windows: Best first.
        documents: One for each window.
        sentences: The hits' and the windows'.
        expansion: The hits, and how far each was opened.
    """

    windows: Sequence[Window]
    documents: Sequence[Document]
    sentences: SentencesByKey
    expansion: Expansion


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What became of a query, stage by stage.

    Attributes:
        found: What was found.
        ranked: The windows' Documents as a reranker put them; as they were found without one.
        taken: Those that are returned, best first.
        documents: Those that are returned, in the order that was asked for.
        seconds: How long each stage took, by its name.
    """

    found: Found
    ranked: Sequence[Document]
    taken: Sequence[Document]
    documents: list[Document]
    seconds: Mapping[str, float]


async def retrieve(
    io: IO, request: Request, reranker: BaseDocumentCompressor | None, callbacks: Callbacks
) -> Retrieval:
    """Find the windows for a query.

    Raises:
        IncompleteWindowError: The store lacks sentences or metadata that a window is read from.
    """
    seconds: dict[str, float] = {}
    # A reranker chooses among all windows that the hits make, so none is held back from it.
    found = await _find(io, request, request.k if reranker is None else None, seconds)
    ranked: Sequence[Document] = found.documents
    if reranker is not None and ranked:
        with _timed(seconds, "rerank"):
            ranked = await reranked(io, reranker, ranked, request.query, callbacks)
    with _timed(seconds, "budget"):
        taken = _within_budget(ranked, request, found)
    return Retrieval(found, ranked, taken, arrange(taken, request.order, window_position), seconds)


def checked_query(query: object) -> str:
    """Return the query if it can be asked, with ``?`` for lone surrogates, which embedders refuse.

    Raises:
        InvalidInputError: It isn't a string, is blank, or is longer than `LONGEST_QUERY`.
    """
    if not isinstance(query, str):
        raise InvalidInputError(f"the query is {shown(query)}; {not_a_question(query)}")
    if not query.strip():
        raise InvalidInputError(f"the query is {shown(query)}; ask with at least one word")
    if len(query) > LONGEST_QUERY:
        raise InvalidInputError(
            f"the query has {len(query):,} characters, and embedders read no more than about {LONGEST_QUERY:,}; ask "
            "with the question alone"
        )
    return encodable(query)


async def _find(io: IO, request: Request, most: int | None, seconds: dict[str, float]) -> Found:
    """Search until the hits make ``k`` windows or the store has no more, and read the windows.

    Returns:
        What was found; ``most`` windows at most.
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
                    io, request.scope, request.policy, hits, known, k=most, all_hits=exhausted
                )
                windows = expansion.best(request.k)
                if len(windows) < request.k and not exhausted:
                    fetch_k *= 4
                    continue
                if most is None:
                    windows = expansion.best(None)
                documents, read = await read_windows(io, request.scope, windows, known, expansion.read)
            except IncompleteWindowError:
                # A document was replaced between the search and the reading.
                tries_left -= 1
                if not tries_left:
                    raise
                continue
        return Found(windows, documents, known | read, expansion)


def _within_budget(ranked: Sequence[Document], request: Request, found: Found) -> list[Document]:
    if request.max_tokens is None:
        return list(ranked[: request.k])
    by_id = {window_id(window.doc_id, window.first, window.last): window for window in found.windows}
    return within_budget(
        ranked, request.k, request.max_tokens, request.count_tokens, windows=by_id, sentences=found.sentences
    )


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Add to the time of a stage."""
    start = perf_counter()
    try:
        yield
    finally:
        seconds[stage] = seconds.get(stage, 0.0) + perf_counter() - start
