"""Advice on what would return a sentence. Each setting is tried first, so none is named that doesn't help."""

import math
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.documents import BaseDocumentCompressor

from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.errors import SentenceWindowError
from langchain_sentence_window.retrieval.expansion import read_expansion
from langchain_sentence_window.retrieval.pipeline import Request, Retrieval, retrieve
from langchain_sentence_window.retrieval.tracing.fate import AdvisedSettings, Outcome
from langchain_sentence_window.retrieval.tracing.own_ranks import OwnRanks
from langchain_sentence_window.windows.geometry import Window

LARGEST_K, LARGEST_FETCH_K = 100, 800
"""The largest ``k`` and ``fetch_k`` that are tried."""

MAX_REACH = 20
"""The most sentences beside a hit for which a larger window is tried."""

MAX_ADVICE = 2
"""The most settings that are named, each of which would do alone."""


@dataclass(frozen=True, slots=True)
class Advice:
    """Settings that would return a sentence.

    Attributes:
        text: A sentence of English.
        tried: The settings that were tried, as they would be written in a call.
        advised: Those that returned the sentence.
    """

    text: str
    tried: tuple[str, ...] = ()
    advised: tuple[AdvisedSettings, ...] = ()


@dataclass(frozen=True, slots=True)
class _Trial:
    """A change of a query.

    Attributes:
        settings: The settings by name.
        request: The query with them.
        smaller: Makes the same trial with a smaller number, the position at which this one returned the sentence;
            ``None`` if there is none.
        more_than: The number that is set now, below which none is tried.
    """

    settings: Mapping[str, Any]
    request: Request
    smaller: "Callable[[int], _Trial] | None" = None
    more_than: int = 0

    @property
    def kind(self) -> str:
        """The name of the setting; of several, the first."""
        return next(iter(self.settings))

    @property
    def written(self) -> str:
        """The settings as they would be written in a call."""
        return ", ".join(
            f"{name}={f'{value:g}' if isinstance(value, float) else repr(value)}"
            for name, value in self.settings.items()
        )


def returned_window(retrieval: Retrieval, key: SentenceKey) -> tuple[int, Window] | None:
    """Return the position, from 1, of the returned window that holds a sentence, and the window."""
    doc_id, index = key
    for each, document in zip(retrieval.assembly.assembly.windows, retrieval.assembly.documents, strict=True):
        if each.window.doc_id == doc_id and each.window.first <= index <= each.window.last:
            return next(at for at, other in enumerate(retrieval.documents, 1) if other is document), each.window
    return None


async def advise(
    io: IO,
    request: Request,
    reranker: BaseDocumentCompressor | None,
    key: SentenceKey,
    *,
    outcome: Outcome,
    ranks: OwnRanks,
    retrieval: Retrieval | None = None,
) -> Advice:
    """Try settings that may return a sentence, and name those that do.

    Args:
        io: Makes the calls.
        request: The query that didn't return it; if the call's filter left it out, the query without that filter.
        reranker: Ranks the windows; ``None`` for no reranking.
        key: The document and the index of the sentence.
        outcome: What became of it.
        ranks: How it ranks.
        retrieval: The query's results; ``None`` if the query wasn't run.
    """
    trials = _Trials(io, reranker, key)
    if retrieval is None:
        if await trials.returns(request) is not None:
            without = AdvisedSettings("no filter", {"filter": None})
            return Advice("Without the filter of this call it is returned.", advised=(without,))
        return Advice("Without the filter of this call it isn't returned, either: ask why without it.")
    good = [trial async for trial in trials.successful(_trials(request, key, outcome, ranks, retrieval))]
    if good:
        advised = tuple(AdvisedSettings(each.written, each.settings) for each in good)
        text = f"With {' or '.join(each.written for each in good)} it is returned."
        return Advice(text, tuple(trials.tried), advised)
    tried = f" None of these returns it: {'; '.join(trials.tried)}." if trials.tried else ""
    return Advice(f"{_without_settings(ranks)}{tried}".strip(), tuple(trials.tried))


class _Trials:
    """Runs a query with other settings, and keeps which."""

    def __init__(self, io: IO, reranker: BaseDocumentCompressor | None, key: SentenceKey) -> None:
        self._io, self._reranker, self._key = io, reranker, key
        self.tried: list[str] = []

    async def successful(self, trials: Iterator[_Trial]) -> AsyncIterator[_Trial]:
        """Yield the first trials that return the sentence, with the smallest number that was found to do."""
        found = set[str]()
        for trial in trials:
            if trial.kind in found:
                continue
            self.tried.append(trial.written)
            position = await self.returns(trial.request)
            if position is None:
                continue
            less = None if trial.smaller is None or position <= trial.more_than else trial.smaller(position)
            if less is not None and less.settings != trial.settings and await self.returns(less.request) is not None:
                trial = less
            yield trial
            found.add(trial.kind)
            if len(found) == MAX_ADVICE:
                return

    async def returns(self, request: Request) -> int | None:
        """Return the position at which a query returns the sentence, best first; ``None`` if it doesn't."""
        try:
            retrieval = await retrieve(self._io, replace(request, order="relevance"), self._reranker, None)
        except SentenceWindowError:  # such as a budget that is too small
            return None
        held = returned_window(retrieval, self._key)
        return None if held is None else held[0]


def _trials(
    request: Request, key: SentenceKey, outcome: Outcome, ranks: OwnRanks, retrieval: Retrieval
) -> Iterator[_Trial]:
    """Yield what may return a sentence, the most likely first."""
    search = request.search
    if outcome == "min_relevance":
        yield _Trial({"min_relevance": None}, replace(request, search=replace(search, min_relevance=None)))
    if outcome == "min_score":
        hits = {hit.key: hit for hit in retrieval.found.searched.hits}
        lower = math.floor(1_000 * (hits[key].similarity or 0.0)) / 1_000
        yield _Trial({"min_score": lower}, replace(request, min_score=lower))
    yield from _wider(request, key, retrieval)
    if request.max_tokens is not None:
        for times in (2, 4, 8):
            budget = times * request.max_tokens
            yield _Trial({"max_tokens": budget}, replace(request, max_tokens=budget))
    if outcome in ("min_relevance", "min_score"):
        return
    yield from _more(request)
    if retrieval.found.searched.heard is not None:
        yield _Trial({"names": False}, replace(request, search=replace(search, names=False)))
    yield from _other_weights(request, ranks)
    if search.ranking is not None:
        yield _Trial({"ranking": None}, replace(request, search=replace(search, ranking=None)))


def _wider(request: Request, key: SentenceKey, retrieval: Retrieval) -> Iterator[_Trial]:
    """Yield a window around a returned hit of the same section that reaches the sentence."""
    doc_id, index = key
    reaches = [
        hit.index - index
        for each in retrieval.assembly.assembly.windows
        for hit in each.window.hits
        if hit.doc_id == doc_id and hit.section_start <= index < hit.section_end
    ]
    nearest = min(reaches, key=abs, default=0)
    if 0 < abs(nearest) <= MAX_REACH:
        size = (max(nearest, 0), max(-nearest, 0))
        yield _Trial({"window": size}, replace(request, policy=read_expansion(size)))


def _more(request: Request) -> Iterator[_Trial]:
    """Yield larger ``k``, then with it a larger ``fetch_k``."""

    def with_k(k: int) -> _Trial:
        return _Trial({"k": k}, replace(request, k=k))

    for k in (2 * request.k, LARGEST_K):
        if request.k < k <= LARGEST_K:
            yield replace(with_k(k), smaller=with_k, more_than=request.k)
    fetch_k = next((each for each in (200, LARGEST_FETCH_K) if each > request.fetch_k), None)
    if fetch_k is None or request.k >= LARGEST_K:
        return

    def with_both(k: int) -> _Trial:
        return _Trial({"k": k, "fetch_k": fetch_k}, replace(request, k=k, fetch_k=fetch_k))

    yield replace(with_both(LARGEST_K), smaller=with_both, more_than=request.k)


def _other_weights(request: Request, ranks: OwnRanks) -> Iterator[_Trial]:
    """Yield more weight for words or less, as the sentence ranks better by words or by meaning."""
    if ranks.lexical_score is None:
        return
    weight, dense, lexical = request.search.lexical_weight, ranks.dense_rank, ranks.lexical_rank
    is_of_words = lexical is not None and (dense is None or lexical < dense)
    weights = (2 * weight, 4 * weight) if is_of_words else (0.0,)
    for each in weights:
        if each != weight:
            changed = replace(request.search, lexical_weight=each)
            yield _Trial({"lexical_weight": each}, replace(request, search=changed))


def _without_settings(ranks: OwnRanks) -> str:
    """Say what may help where no setting does."""
    if ranks.lexical_score == 0:
        return "Ask with words that it holds."
    return "Ask more closely to what it says."
