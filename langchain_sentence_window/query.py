"""The query road: search, expand and merge, read, rerank, budget, order."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window.budget import within_budget
from langchain_sentence_window.calls import Call, Steps
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from langchain_sentence_window.ids import window_id
from langchain_sentence_window.metadata import (
    SentencesByPlace,
    StoredSentence,
    by_place,
    document_place,
    window_document,
)
from langchain_sentence_window.neighbours import Neighbours
from langchain_sentence_window.search import find_sentences
from langchain_sentence_window.windows import (
    MOST_FORWARD,
    Hit,
    Order,
    Window,
    arrange,
    best_windows,
    expand,
    open_forward,
    strong_score,
)
from langchain_sentence_window.words import WordIndex

LONGEST_QUERY = 32_000
"""Characters, about 8,000 tokens: more than common embedders read."""

FEWEST_TO_COMPARE = 10
"""Hits from which on a search tells strong from weak ones; with a ``fetch_k`` below it, all are strong."""

TRIES = 3
"""How often a query is made when documents change between its search and the reading of its windows."""


@dataclass(frozen=True, slots=True)
class Request:
    """A query with all its settings.

    Attributes:
        query: What is asked.
        k: How many windows to return.
        fetch_k: How many sentences to search at first.
        window: Sentences before and after each hit; ``None`` to open it forward as far as it needs.
        max_tokens: The most tokens all windows may have together.
        count_tokens: How many tokens a text has.
        order: In what order windows are returned.
        lexical_weight: How much words count beside meaning, where the store can search by words.
        search: What else the store's search is given.
        words: What searches by words where the store can't.
    """

    query: str
    k: int
    fetch_k: int
    window: tuple[int, int] | None
    max_tokens: int | None
    count_tokens: Callable[[str], int]
    order: Order
    lexical_weight: float
    search: Mapping[str, Any]
    words: WordIndex | None = None


def retrieve(
    store: VectorStore, request: Request, reranker: BaseDocumentCompressor | None, callbacks: Callbacks
) -> Steps[list[Document]]:
    """Find the windows for a query.

    Raises:
        IncompleteWindowError: The store lacks sentences or metadata that a window is read from.
    """
    # A reranker chooses among all windows that the hits make, so none is held back from it.
    most = request.k if reranker is None else None
    windows, sentences, documents = yield from _find(store, request, most)
    if reranker is not None and documents:
        documents = yield Call(
            reranker.compress_documents,
            reranker.acompress_documents,
            (documents, request.query),
            {"callbacks": callbacks},
        )
    if request.max_tokens is None:
        taken = documents[: request.k]
    else:
        by_id = {window_id(window.doc_id, window.first, window.last): window for window in windows}
        taken = within_budget(
            documents, request.k, request.max_tokens, request.count_tokens, windows=by_id, sentences=sentences
        )
    return arrange(taken, request.order, document_place)


def checked_query(query: object) -> str:
    """Return the query if it can be asked.

    Raises:
        InvalidInputError: It isn't a string, is blank, or is longer than `LONGEST_QUERY`.
    """
    if not isinstance(query, str) or not query.strip():
        raise InvalidInputError(f"the query is {query!r}; ask with at least one word")
    if len(query) > LONGEST_QUERY:
        raise InvalidInputError(
            f"the query has {len(query):,} characters, and embedders read no more than about {LONGEST_QUERY:,}; ask "
            "with the question alone"
        )
    return query


def _find(
    store: VectorStore, request: Request, most: int | None
) -> Steps[tuple[list[Window], SentencesByPlace, list[Document]]]:
    """Search, read the windows and make their Documents; once more if a document was replaced in between."""
    for tries_left in reversed(range(TRIES)):
        neighbours = Neighbours(store)
        try:
            windows, found = yield from _search(store, neighbours, request, most)
            read = yield from _read(neighbours, windows, found)
            documents = [window_document(window, read) for window in windows]
            _check_unchanged(windows, found, read)
        except IncompleteWindowError:
            if not tries_left:
                raise
        else:
            break
    return windows, read, documents


def _search(
    store: VectorStore, neighbours: Neighbours, request: Request, most: int | None
) -> Steps[tuple[list[Window], SentencesByPlace]]:
    """Search until the hits make ``k`` windows or the store has no more of them.

    Returns:
        The windows, best first, ``most`` of them at most, and the sentences that were found.
    """
    fetch_k = max(request.fetch_k, request.k)
    while True:
        found, hits = yield from find_sentences(
            store,
            request.query,
            fetch_k,
            lexical_weight=request.lexical_weight,
            search_kwargs=request.search,
            words=request.words,
        )
        exhausted = len(hits) < fetch_k
        if request.window is None:
            strong = math.inf  # each hit was opened as far as it needs
        elif exhausted or len(hits) >= FEWEST_TO_COMPARE:
            strong = strong_score(hits)
        else:
            strong = -math.inf  # a few hits that were asked for as such are all meant
        opened = yield from _opening(neighbours, request, found, hits)
        windows = best_windows(hits, request.k, opened, strong)
        if len(windows) >= request.k or exhausted:
            if most != request.k:
                windows = best_windows(hits, most, opened, strong)
            return windows, by_place(found)
        fetch_k *= 4


def _opening(
    neighbours: Neighbours, request: Request, found: Sequence[StoredSentence], hits: Sequence[Hit]
) -> Steps[Callable[[Hit], Window]]:
    """What makes the window of a hit, with the sentences read that it goes by."""
    if request.window is not None:
        before, after = request.window
        return lambda hit: expand(hit, before, after)
    # With the hits themselves, so that their windows need no second round trip.
    forward = {
        (hit.doc_id, index)
        for hit in hits
        for index in range(hit.index, min(hit.index + MOST_FORWARD + 1, hit.section_end))
    }
    known = yield from neighbours.read(sorted(forward), by_place(found))

    def opened(hit: Hit) -> Window:
        return open_forward(hit, lambda index: _text_at(known, hit.doc_id, index))

    return opened


def _text_at(sentences: SentencesByPlace, doc_id: str, index: int) -> str:
    # One that is missing is told when the window is read.
    sentence = sentences.get((doc_id, index))
    return sentence.text if sentence else ""


def _read(neighbours: Neighbours, windows: Sequence[Window], found: SentencesByPlace) -> Steps[SentencesByPlace]:
    """Read the sentences of windows, in one call."""
    places = [(window.doc_id, index) for window in windows for index in range(window.first, window.last + 1)]
    return (yield from neighbours.read(places, found))


def _check_unchanged(windows: Sequence[Window], found: SentencesByPlace, read: SentencesByPlace) -> None:
    """See that the hits that were read are those that were found."""
    for window in windows:
        for hit in window.hits:
            place = hit.doc_id, hit.index
            if found[place].text != read[place].text:
                raise IncompleteWindowError(
                    f"sentence {hit.index} of document {hit.doc_id!r} changed between search and reading; ask again"
                )
