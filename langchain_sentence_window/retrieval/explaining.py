"""Making a trace of a query: it is asked, then looked at from all sides, which takes a few more searches."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from langchain_core.documents import BaseDocumentCompressor, Document

from langchain_sentence_window.calls import Call, Steps, in_thread
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from langchain_sentence_window.fusion import CANDIDATES
from langchain_sentence_window.metadata.keys import DOC_ID, RELEVANCE_SCORE, SENTENCES, WINDOW_ID
from langchain_sentence_window.metadata.sentence_documents import StoredSentence, read_sentence
from langchain_sentence_window.retrieval.neighbours import fetch_sentences
from langchain_sentence_window.retrieval.opening import Opened
from langchain_sentence_window.retrieval.query import Request, Retrieval, retrieve
from langchain_sentence_window.retrieval.search import find_sentences
from langchain_sentence_window.retrieval.trace import HitTrace, SentenceTrace, Trace, WindowTrace
from langchain_sentence_window.windows import Hit, Window

SHOWN_AROUND = 4
"""Sentences shown before and after a window."""

Place: TypeAlias = tuple[str, int]
Ranking: TypeAlias = Mapping[Place, tuple[int, float]]


@runtime_checkable
class LexicalStore(Protocol):
    """A store that can search by words alone, as `FaissStore` can."""

    def lexical_search(self, query: str, k: int, **kwargs: Any) -> Any:
        """Return ``(Document, score)`` pairs, best first."""

    def alexical_search(self, query: str, k: int, **kwargs: Any) -> Any:
        """Do the same, async."""


def explain(request: Request, reranker: BaseDocumentCompressor | None) -> Steps[Trace]:
    """Ask a query and say what became of it; what is returned is not changed by it."""
    retrieval = yield from retrieve(request, reranker, None)
    dense, lexical = yield from _rankings(request, len(retrieval.found.opened.hits))
    try:
        around = yield from fetch_sentences(request.scope, list(_around(retrieval)), retrieval.found.sentences)
    except (IncompleteWindowError, InvalidInputError):
        around = {}  # the store can't fetch by id, or not within the filter, and inline windows reach no farther
    settings = {
        "k": request.k,
        "fetch_k": request.fetch_k,
        "window": request.opening.describe(),
        "lexical_weight": request.lexical_weight,
        "max_tokens": request.max_tokens,
        "order": request.order,
        **({} if request.min_score is None else {"min_score": request.min_score}),
        **request.search,
        **({} if request.scope.filter is None else {"filter": _shown(request.scope.filter)}),
    }
    hits = _hits(retrieval, dense, lexical, around)
    windows = [
        _window(number, window, retrieval, request, around, reranked=reranker is not None)
        for number, window in enumerate(retrieval.found.windows, 1)
    ]
    return Trace(request.query, settings, hits, windows, dict(retrieval.seconds))


def _shown(filter: Any) -> Any:
    """The filter if JSON can hold it, else what describes it."""
    try:
        json.dumps(filter)
    except (TypeError, ValueError):
        return repr(filter)
    return filter


def _rankings(request: Request, fewest: int) -> Steps[tuple[Ranking, Ranking]]:
    """The ranks and scores of sentences by meaning alone and by words alone."""
    depth, store = max(CANDIDATES, fewest), request.scope.store
    sentences, hits = yield from find_sentences(
        request.scope, request.query, depth, lexical_weight=0.0, search_kwargs=request.search
    )
    dense = _ranked([(sentence, hit.score) for sentence, hit in zip(sentences, hits, strict=True)])
    lexical: Ranking = {}
    if isinstance(store, LexicalStore):
        found: list[tuple[Document, float]] = yield Call(
            store.lexical_search, store.alexical_search, (request.query, depth), request.scope.search_settings
        )
        lexical = _ranked([(read_sentence(document), score) for document, score in found])
    elif request.words is not None:
        scores: list[tuple[int, float]] = yield in_thread(request.words.scores, request.query, sentences)
        lexical = _ranked([(sentences[place], score) for place, score in scores])
    return dense, lexical


def _ranked(found: Sequence[tuple[StoredSentence, float]]) -> Ranking:
    return {(each.doc_id, each.index): (rank, score) for rank, (each, score) in enumerate(found, 1)}


def _around(retrieval: Retrieval) -> dict[Place, None]:
    """Where the sentences around windows stand, and the first after each hit's section, by which documents end."""
    places = {
        (window.doc_id, index): None
        for window in retrieval.found.windows
        for index in range(max(0, window.first - SHOWN_AROUND), window.last + SHOWN_AROUND + 1)
    }
    return places | {(hit.doc_id, hit.section_end): None for hit in retrieval.found.opened.hits}


def _hits(
    retrieval: Retrieval, dense: Ranking, lexical: Ranking, around: Mapping[Place, StoredSentence]
) -> list[HitTrace]:
    opened = retrieval.found.opened
    traces = list[HitTrace]()
    for rank, hit in enumerate(opened.hits, 1):
        place = hit.doc_id, hit.index
        sentence = retrieval.found.sentences[place]
        window = opened.window(hit)
        before, after = _cut_by(hit, opened, around)
        dense_rank, dense_score = dense.get(place, (None, None))
        lexical_rank, lexical_score = lexical.get(place, (None, None))
        number, fate = _fate_of_hit(hit, retrieval.found.windows)
        traces.append(
            HitTrace(
                rank,
                hit.doc_id,
                hit.index,
                sentence.start,
                sentence.end,
                sentence.text,
                hit.score,
                dense_rank,
                dense_score,
                lexical_rank,
                lexical_score,
                opened=(window.first, window.last),
                cut_before=before,
                cut_after=after,
                window=number,
                fate=fate,
            )
        )
    return traces


def _cut_by(hit: Hit, opened: Opened, around: Mapping[Place, StoredSentence]) -> tuple[str | None, str | None]:
    """What ends the window of a hit alone, before and after it."""
    window, unbounded = opened.window(hit), opened.unbounded(hit)
    before = ("section" if hit.section_start else "document") if unbounded.first < window.first else None
    ends_document = (hit.doc_id, hit.section_end) not in around
    after = ("document" if ends_document else "section") if unbounded.last > window.last else None
    if before and (hit.doc_id, hit.section_start - 1) in opened.barred:
        before = "filter"
    if after and (hit.doc_id, hit.section_end) in opened.barred:
        after = "filter"
    return before, after


def _fate_of_hit(hit: Hit, windows: Sequence[Window]) -> tuple[int | None, str]:
    for number, window in enumerate(windows, 1):
        if hit == window.best:
            return number, f"opened window {number}"
        if hit in window.hits:
            return number, f"merged into window {number}"
        if window.doc_id == hit.doc_id and window.first <= hit.index <= window.last:
            return number, f"already in window {number}"
    return None, "left out, as there were k windows"


def _window(
    number: int,
    window: Window,
    retrieval: Retrieval,
    request: Request,
    around: Mapping[Place, StoredSentence],
    *,
    reranked: bool,
) -> WindowTrace:
    opened = retrieval.found.opened
    document = retrieval.found.documents[number - 1]
    rank = _rank_in(retrieval.ranked, document)
    place, kept = _returned(window, document, retrieval)
    ranked = {(hit.doc_id, hit.index): i for i, hit in enumerate(opened.hits, 1)}
    hit_ranks = sorted(ranked[hit.doc_id, hit.index] for hit in window.hits)
    first, last = (retrieval.found.sentences[window.doc_id, index] for index in (window.first, window.last))
    # Without a reranker, a document's own metadata may hold such a key.
    score = None if rank is None or not reranked else retrieval.ranked[rank - 1].metadata.get(RELEVANCE_SCORE)
    if rank is None:
        fate = "left out by the reranker"
    elif place is None:
        is_full = len(retrieval.taken) == request.k
        fate = "left out, as there were k better ones" if is_full else "left out, as it doesn't fit into max_tokens"
    else:
        is_whole = kept == (window.first, window.last)
        fate = f"returned as {place}" + ("" if is_whole else ", trimmed to fit into max_tokens")
    return WindowTrace(
        number,
        window.doc_id,
        sentences=(window.first, window.last),
        start=first.start,
        end=last.end,
        heading=retrieval.found.sentences[window.doc_id, window.best.index].heading,
        text=document.page_content,
        score=window.score,
        hits=tuple(hit_ranks),
        reranked=rank if reranked else None,
        relevance_score=None if score is None else float(score),
        cut=_cuts(window, retrieval.found.windows, opened, around),
        returned=place,
        trimmed=kept if kept != (window.first, window.last) else None,
        fate=fate,
        surroundings=_surroundings(window, kept, opened, around),
    )


def _cuts(
    window: Window, windows: Sequence[Window], opened: Opened, around: Mapping[Place, StoredSentence]
) -> tuple[str, ...]:
    """What ends a window: its section or document, or a better window."""
    cuts = list[str]()
    alone = opened.window(window.best)
    for where, is_shorter, end, first_or_last in (
        ("before", window.first > alone.first, window.first - 1, window.first),
        ("after", window.last < alone.last, window.last + 1, window.last),
    ):
        if is_shorter:
            better = (i for i, other in enumerate(windows, 1) if other.doc_id == window.doc_id)
            number = next(i for i in better if windows[i - 1].first <= end <= windows[i - 1].last)
            cuts.append(f"window {number} {where}")
            continue
        ending = (hit for hit in window.hits if _end(opened.window(hit), where) == first_or_last)
        by = {_cut_by(hit, opened, around)[where == "after"] for hit in ending} - {None}
        cuts += [f"{what} {where}" for what in sorted(map(str, by))]
    return tuple(cuts)


def _end(window: Window, where: str) -> int:
    return window.first if where == "before" else window.last


def _rank_in(documents: Sequence[Document], wanted: Document) -> int | None:
    name = wanted.metadata[WINDOW_ID]
    return next((i for i, each in enumerate(documents, 1) if each.metadata.get(WINDOW_ID) == name), None)


def _returned(window: Window, document: Document, retrieval: Retrieval) -> tuple[int | None, tuple[int, int] | None]:
    """The place of a window in what is returned, and the first and last sentence that are."""
    for place, each in enumerate(retrieval.documents, 1):
        first, last = each.metadata.get(SENTENCES, (-1, -1))
        inside = each.metadata.get(DOC_ID) == window.doc_id and window.first <= first and last <= window.last
        if inside or each.metadata.get(WINDOW_ID) == document.metadata[WINDOW_ID]:
            return place, (first, last)
    return None, None


def _surroundings(
    window: Window, kept: tuple[int, int] | None, opened: Opened, around: Mapping[Place, StoredSentence]
) -> tuple[SentenceTrace, ...]:
    scores = {(hit.doc_id, hit.index): hit.score for hit in opened.hits}
    hits = {hit.index for hit in window.hits}
    shown = range(max(0, window.first - SHOWN_AROUND), window.last + SHOWN_AROUND + 1)
    return tuple(
        SentenceTrace(
            index,
            sentence.text + sentence.separator,
            scores.get((window.doc_id, index)),
            in_window=window.first <= index <= window.last,
            is_hit=index in hits,
            returned=kept is not None and kept[0] <= index <= kept[1],
        )
        for index in shown
        for sentence in [around.get((window.doc_id, index))]
        if sentence is not None
    )
