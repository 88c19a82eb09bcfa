"""The query road: search, expand and merge, read, rerank, budget, order."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window.calls import Call, Steps
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from langchain_sentence_window.ids import sentence_id, window_id
from langchain_sentence_window.metadata import (
    WINDOW_ID,
    SentencesByPlace,
    StoredSentence,
    as_hit,
    by_place,
    document_place,
    read_sentence,
    window_document,
    window_text,
)
from langchain_sentence_window.callback_runs import reranked
from langchain_sentence_window.windows import (
    MOST_FORWARD,
    Hit,
    Order,
    Window,
    arrange,
    best_windows,
    expand,
    open_forward,
    shrink,
    strong_score,
)

LONGEST_QUERY = 32_000
"""Characters, about 8,000 tokens: more than common embedders read."""

FEWEST_TO_COMPARE = 10
"""Hits from which on a search tells strong from weak ones; with a ``fetch_k`` below it, all are strong."""

TRIES = 3
"""How often a query is made when documents change between its search and the reading of its windows."""


@runtime_checkable
class HybridStore(Protocol):
    """A store that can search by meaning and words together, as `FaissStore` can."""

    def hybrid_search(self, query: str, k: int, *, lexical_weight: float, **kwargs: Any) -> Any:
        """Return ``(Document, score)`` pairs, best first."""

    def ahybrid_search(self, query: str, k: int, *, lexical_weight: float, **kwargs: Any) -> Any:
        """Do the same, async."""


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
        documents = yield from reranked(reranker, documents, request.query, callbacks)
    return arrange(_within_budget(documents, request, windows, sentences), request.order, document_place)


def estimate_tokens(text: str) -> int:
    """Estimate how many tokens a text has: one for every four characters, rounded up.

    A rule of thumb for English prose; where it matters, pass your model's own counter as
    ``count_tokens``.
    """
    return math.ceil(len(text) / 4)


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
        windows, found = yield from _search(store, request, most)
        read = yield from _read(store, windows)
        try:
            documents = [window_document(window, read) for window in windows]
            _check_unchanged(windows, found, read)
        except IncompleteWindowError:
            if not tries_left:
                raise
        else:
            break
    return windows, read, documents


def _search(store: VectorStore, request: Request, most: int | None) -> Steps[tuple[list[Window], SentencesByPlace]]:
    """Search until the hits make ``k`` windows or the store has no more of them.

    Returns:
        The windows, best first, ``most`` of them at most, and the sentences that were found.
    """
    fetch_k = max(request.fetch_k, request.k)
    while True:
        scored = yield from _scored(store, request, fetch_k)
        found = [read_sentence(document) for document, _ in scored]
        hits = _hits(found, [score for _, score in scored])
        exhausted = len(scored) < fetch_k
        if request.window is None:
            strong = math.inf  # each hit was opened as far as it needs
        elif exhausted or len(hits) >= FEWEST_TO_COMPARE:
            strong = strong_score(hits)
        else:
            strong = -math.inf  # a few hits that were asked for as such are all meant
        opened = yield from _opening(store, request, found, hits)
        windows = best_windows(hits, request.k, opened, strong)
        if len(windows) >= request.k or exhausted:
            if most != request.k:
                windows = best_windows(hits, most, opened, strong)
            return windows, by_place(found)
        fetch_k *= 4


def _opening(
    store: VectorStore, request: Request, found: Sequence[StoredSentence], hits: Sequence[Hit]
) -> Steps[Callable[[Hit], Window]]:
    """What makes the window of a hit, with the sentences read that it goes by."""
    if request.window is not None:
        before, after = request.window
        return lambda hit: expand(hit, before, after)
    known = by_place(found)
    ahead = {
        (hit.doc_id, index)
        for hit in hits
        for index in range(hit.index + 1, min(hit.index + MOST_FORWARD + 1, hit.section_end))
    }
    known |= yield from _fetch(store, sorted(ahead - known.keys()))

    def opened(hit: Hit) -> Window:
        return open_forward(hit, lambda index: _text_at(known, hit.doc_id, index))

    return opened


def _text_at(sentences: SentencesByPlace, doc_id: str, index: int) -> str:
    # One that is missing is told when the window is read.
    sentence = sentences.get((doc_id, index))
    return sentence.text if sentence else ""


def _scored(store: VectorStore, request: Request, fetch_k: int) -> Steps[list[tuple[Document, float]]]:
    """Search sentences: by meaning and words where the store can, else by meaning."""
    settings: dict[str, Any] = {"k": fetch_k, **request.search}
    scored: list[tuple[Document, float]]
    if request.lexical_weight and isinstance(store, HybridStore):
        settings["lexical_weight"] = request.lexical_weight
        scored = yield Call(store.hybrid_search, store.ahybrid_search, (request.query,), settings)
    else:
        search, asearch = store.similarity_search_with_score, store.asimilarity_search_with_score
        scored = yield Call(search, asearch, (request.query,), settings)
    return scored


def _hits(found: Sequence[StoredSentence], scores: Sequence[float]) -> list[Hit]:
    """Pair sentences and scores, both best first, as hits whose higher score is better.

    Some stores score by distance; they are told by scores that rise.
    """
    sign = -1.0 if scores and scores[0] < scores[-1] else 1.0
    return [as_hit(sentence, sign * float(score)) for sentence, score in zip(found, scores, strict=True)]


def _read(store: VectorStore, windows: Sequence[Window]) -> Steps[SentencesByPlace]:
    """Fetch the sentences of windows in one call."""
    places = [(window.doc_id, index) for window in windows for index in range(window.first, window.last + 1)]
    return (yield from _fetch(store, places))


def _fetch(store: VectorStore, places: Sequence[tuple[str, int]]) -> Steps[dict[tuple[str, int], StoredSentence]]:
    if not places:
        return {}
    ids = [sentence_id(doc_id, index) for doc_id, index in places]
    try:
        documents: list[Document] = yield Call(store.get_by_ids, store.aget_by_ids, (ids,))
    except NotImplementedError as error:
        raise IncompleteWindowError(
            f"{type(store).__name__} can't fetch documents by id, and windows are read so; use a store with get_by_ids"
        ) from error
    return by_place(map(read_sentence, documents))


def _check_unchanged(windows: Sequence[Window], found: SentencesByPlace, read: SentencesByPlace) -> None:
    """See that the hits that were read are those that were found."""
    for window in windows:
        for hit in window.hits:
            place = hit.doc_id, hit.index
            if found[place].text != read[place].text:
                raise IncompleteWindowError(
                    f"sentence {hit.index} of document {hit.doc_id!r} changed between search and reading; ask again"
                )


def _within_budget(
    ranked: Sequence[Document], request: Request, windows: Sequence[Window], sentences: SentencesByPlace
) -> list[Document]:
    """Take the best ``k`` that fit into ``max_tokens``, trimmed where they must be."""
    if request.max_tokens is None:
        return list(ranked[: request.k])
    by_id = {window_id(window.doc_id, window.first, window.last): window for window in windows}
    left, taken = request.max_tokens, list[Document]()
    for document in ranked:
        if len(taken) == request.k:
            break
        window = by_id.get(document.metadata.get(WINDOW_ID, ""))
        fitting = _fitted(document, left, request.count_tokens, window, sentences)
        if fitting is not None:
            taken.append(fitting)
            left -= request.count_tokens(fitting.page_content)
    return taken


def _fitted(
    document: Document,
    budget: int,
    count_tokens: Callable[[str], int],
    window: Window | None,
    sentences: SentencesByPlace,
) -> Document | None:
    """The document, or what of its window fits, or ``None`` if not even the best hit does."""
    if count_tokens(document.page_content) <= budget:
        return document
    # What a reranker rewrote has no sentences to trim.
    if window is None or document.page_content != window_text(window, sentences):
        return None
    smaller = shrink(window, lambda part: count_tokens(window_text(part, sentences)) <= budget)
    if smaller is None:
        return None
    trimmed = window_document(smaller, sentences)
    return trimmed.model_copy(update={"metadata": document.metadata | trimmed.metadata})
