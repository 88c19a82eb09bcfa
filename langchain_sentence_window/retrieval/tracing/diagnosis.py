"""Find out what became of one sentence in a query, and what would have returned it.

Each setting is tried before it is advised, so none is named that doesn't help.
"""

import math
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import SentenceKey, Span
from langchain_sentence_window._validation import as_integer
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.keys import DOC_ID, WINDOW_ID
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.documents.window_documents import read_lead_ins
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowError
from langchain_sentence_window.ranking.ranking import Reordered
from langchain_sentence_window.retrieval.expansion import read_expansion
from langchain_sentence_window.retrieval.query import Query
from langchain_sentence_window.retrieval.request import Request
from langchain_sentence_window.retrieval.telemetry import observed
from langchain_sentence_window.windows.assembly import IS_EQUAL, IS_UNSUPPORTED
from langchain_sentence_window.windows.geometry import Window

from .explanation import Outcomes
from .sentence_outcome import AdvisedSettings, Outcome, OwnRanks, RankedSentence, SentenceFate, ordinal, own_ranks

_MISSING = "there is no such sentence in what the retriever's filter lets through"


async def why(io: IO, request: Request, allowed: Scope, key: SentenceKey) -> SentenceFate:
    """Return what became of a sentence.

    Args:
        io: Makes the calls.
        request: The query.
        allowed: What the retriever's own filter lets through; of nothing else anything is told.
        key: The document and the index of the sentence.
    """
    query, (doc_id, index) = request.query, key
    sentence = await _read(io, allowed, key, query)
    if sentence is None:
        cure = "Look for its name with documents(), and for its sentences with explain()."
        return SentenceFate(query, doc_id, index, "missing", _MISSING, cure)
    found = SentenceFate(
        query,
        doc_id,
        index,
        "missing",
        "",
        "",
        start=sentence.start,
        end=sentence.end,
        text=sentence.text,
        heading=sentence.heading,
    )
    if await _read(io, request.scope, key, query) is None:
        found = replace(found, outcome="filtered", reason="the filter of this call doesn't let it through")
        if await _Trials(io, key).returns(replace(request, scope=allowed)) is None:
            advice = "Without the filter of this call it isn't returned, either: ask why without it."
            return replace(found, advice=advice)
        without = AdvisedSettings("no filter", {"filter": None})
        return replace(found, advice="Without the filter of this call it is returned.", advised=(without,))
    asked = Query(io, request)
    with observed(asked):
        await asked.run()
    ranks = await own_ranks(io, request, sentence)
    found = _with_outcome(_ranked(found, asked, ranks), asked, sentence)
    if found.is_shown:
        return replace(found, advice=ranks.sentence(found.rank, found.candidates))
    return await _advised(found, asked, ranks)


async def _read(io: IO, scope: Scope, key: SentenceKey, query: str) -> StoredSentence | None:
    """Read a sentence within a scope; ``None`` if it isn't there.

    Raises:
        InvalidInputError: The store can neither fetch by id nor search a single sentence.
    """
    found = await scope.fetch(io, [key])
    if found is None:
        found = await scope.find(io, [key], query)
    return scope.adapter.read(found[0]) if found else None


def _ranked(found: SentenceFate, query: Query, ranks: OwnRanks) -> SentenceFate:
    """Add how the sentence ranked, and the candidates to compare it with: the hits if nothing reordered them."""
    key, hits, searches = (found.doc_id, found.index), list(query.found.hits), query.found.searches
    signals: dict[str, tuple[float, float]] = {}
    if searches:
        candidates, result = next((each for each in reversed(searches) if key in each[0].keys), searches[-1])
        order, taken = result.order.tolist(), {hit.key for hit in hits}
        ranked = [
            RankedSentence(doc_id, index, rank, float(result.scores[at]), float(candidates.dense[at]))
            for rank, at in enumerate(order, 1)
            for doc_id, index in [candidates.keys[at]]
        ]
        last = next((each for each in reversed(ranked) if (each.doc_id, each.index) in taken), None)
    else:
        ranked = [RankedSentence(*hit.key, rank, hit.score, hit.similarity) for rank, hit in enumerate(hits, 1)]
        last = ranked[-1] if ranked else None
    own = next((each for each in ranked if (each.doc_id, each.index) == key), None)
    if searches and own is not None and last is not None:
        signals = _lower(result, order[own.rank - 1], order[last.rank - 1])
    return replace(
        found,
        dense_rank=ranks.dense_rank,
        cosine=ranks.cosine,
        lexical_rank=ranks.lexical_rank,
        lexical_score=ranks.lexical_score,
        candidates=len(ranked),
        rank=None if own is None else own.rank,
        score=None if own is None else own.score,
        hits=len(hits),
        best=ranked[0] if ranked else None,
        last_hit=last,
        last_candidate=ranked[-1] if ranked else None,
        signals=signals,
    )


def _lower(result: Reordered, own: int, last: int) -> dict[str, tuple[float, float]]:
    """Return the signals that scored one candidate lower than another, with both parts, largest difference first."""
    if own == last:
        return {}
    pairs = zip(result.names, result.contributions[own].tolist(), result.contributions[last].tolist(), strict=True)
    lower = [(name, (mine, other)) for name, mine, other in pairs if mine < other]
    return dict(sorted(lower, key=lambda each: each[1][0] - each[1][1]))


def _with_outcome(found: SentenceFate, query: Query, sentence: StoredSentence) -> SentenceFate:
    """Add what became of the sentence, and why."""
    held = returned_window(query, sentence.key)
    if held is not None:
        position, window = held
        is_hit = sentence.key in {hit.key for hit in window.hits}
        how = "as one of its hits" if is_hit else "beside its hits"
        document = query.documents[position - 1]
        return replace(
            found,
            outcome="returned",
            reason=f"returned in window {position}, {how}",
            window=position,
            window_id=str(document.metadata[WINDOW_ID]),
        )
    for position, document in enumerate(query.documents, 1):
        same = document.metadata[DOC_ID] == sentence.doc_id
        if same and any(_is_within(span, sentence) for span, _ in read_lead_ins(document)):
            reason = f"window {position} has it as a lead-in, which isn't part of its text"
            return replace(found, outcome="leads_in", reason=reason)
    outcome, reason = _outcome(found, query, sentence)
    return replace(found, outcome=outcome, reason=reason, nearest=_nearest(query, sentence))


def _is_within(span: Span, sentence: StoredSentence) -> bool:
    # A table's header row is shown without the rule below it.
    return sentence.start <= span[0] and span[1] <= sentence.end


def _outcome(found: SentenceFate, query: Query, sentence: StoredSentence) -> tuple[Outcome, str]:
    key, facts = sentence.key, Outcomes(query)
    number = facts.windows.get(key)
    if number is not None:
        if number in facts.returned:
            position = facts.returned[number].position
            return "trimmed", f"it was in window {position}, which was cut before it to fit into max_tokens"
        code, reason = facts.reason(number)
        equal = facts.returned.get(facts.equal[number]) if code == IS_EQUAL else None
        if equal is not None:
            return "same_text", f"window {equal.position} has the same text, and names its place among others"
        outcome: Outcome = "min_relevance" if code == IS_UNSUPPORTED else "left_out"
        return outcome, f"it was in a window that was {reason}"
    if key in facts.ranks:
        return "no_window", f"it was the {ordinal(facts.ranks[key])} hit, and there were k windows of better ones"
    return _outcome_without_window(found, query)


def _outcome_without_window(found: SentenceFate, query: Query) -> tuple[Outcome, str]:
    key, searched = (found.doc_id, found.index), query.found
    hit = next((each for each in searched.hits if each.key == key), None)
    if hit is not None and searched.relevance is not None and not searched.relevance.supported:
        return "min_relevance", "nothing that was found fits the question, by min_relevance"
    if hit is not None:
        return (
            "min_score",
            f"its similarity, {hit.similarity or 0.0:.3f}, is below min_score, {query.request.min_score}",
        )
    if found.rank is not None:
        ranked = f"it ranked {ordinal(found.rank)} of {found.candidates:,} candidates"
        return "ranked_below", f"{ranked}, and {found.hits:,} were taken as hits"
    return "no_candidate", f"it wasn't among the best {found.candidates:,} that the search found"


def _nearest(query: Query, sentence: StoredSentence) -> str:
    """Say how the nearest returned window of the document relates to a sentence that none holds."""
    windows = [
        (max(each.window.first - sentence.index, sentence.index - each.window.last), each.window, document)
        for each, document in zip(query.assembled.assembly.windows, query.assembled.documents, strict=True)
        if each.window.doc_id == sentence.doc_id
    ]
    if not windows:
        return ""
    apart, window, nearest = min(windows, key=lambda each: each[0])
    position = next(at for at, document in enumerate(query.documents, 1) if document is nearest)
    between = f"{apart} sentence{'' if apart == 1 else 's'}"
    if sentence.index > window.last:
        ends = ", at the end of its section" if window.hits[0].section_end == window.last + 1 else ""
        return f"window {position} ends {between} before it{ends}"
    begins = ", at the beginning of its section" if window.hits[0].section_start == window.first else ""
    return f"window {position} begins {between} after it{begins}"


def checked_key(doc_id: object, sentence: object) -> SentenceKey:
    """Return the key of a sentence.

    Raises:
        InvalidInputError: The document isn't a string, or the sentence isn't a whole number, 0 or more.
    """
    index = as_integer(sentence)
    if not isinstance(doc_id, str):
        raise InvalidInputError(f"doc_id is {shown(doc_id)}; give the name of a document, as documents() lists it")
    if index is None or index < 0:
        raise InvalidInputError(
            f"sentence is {shown(sentence)}; give the index of a sentence in its document, a whole number from 0"
        )
    return doc_id, index


LARGEST_K, LARGEST_FETCH_K = 100, 800
"""The largest ``k`` and ``fetch_k`` that are tried."""

MAX_REACH = 20
"""The most sentences beside a hit for which a larger window is tried."""

MAX_ADVICE = 2
"""The most settings that are named, each of which would do alone."""


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


def returned_window(query: Query, key: SentenceKey) -> tuple[int, Window] | None:
    """Return the position, from 1, of the returned window that holds a sentence, and the window."""
    doc_id, index = key
    for each, document in zip(query.assembled.assembly.windows, query.assembled.documents, strict=True):
        if each.window.doc_id == doc_id and each.window.first <= index <= each.window.last:
            return next(at for at, other in enumerate(query.documents, 1) if other is document), each.window
    return None


async def _advised(found: SentenceFate, asked: Query, ranks: OwnRanks) -> SentenceFate:
    """Try settings that may return a sentence, and name those that do.

    Args:
        found: What became of it.
        asked: The query after its run, which didn't return it.
        ranks: How it ranks.
    """
    key = found.doc_id, found.index
    trials = _Trials(asked.io, key)
    good = [trial async for trial in trials.successful(_trials(asked.request, key, found.outcome, ranks, asked))]
    if good:
        text = f"With {' or '.join(each.written for each in good)} it is returned."
    else:
        cure = "Ask with words that it holds." if ranks.lexical_score == 0 else "Ask more closely to what it says."
        text = cure + (f" None of these returns it: {'; '.join(trials.tried)}." if trials.tried else "")
    return replace(
        found,
        advice=" ".join(filter(None, [ranks.sentence(found.rank, found.candidates), text])),
        tried=tuple(trials.tried),
        advised=tuple(AdvisedSettings(each.written, each.settings) for each in good),
    )


class _Trials:
    """Runs a query with other settings, and keeps which."""

    def __init__(self, io: IO, key: SentenceKey) -> None:
        self._io, self._key = io, key
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
            query = Query(self._io, replace(request, order="relevance"))
            await query.run()
        except SentenceWindowError:  # such as a budget that is too small
            return None
        held = returned_window(query, self._key)
        return None if held is None else held[0]


def _trials(request: Request, key: SentenceKey, outcome: Outcome, ranks: OwnRanks, query: Query) -> Iterator[_Trial]:
    """Yield what may return a sentence, the most likely first."""
    if outcome == "min_relevance":
        yield _Trial({"min_relevance": None}, replace(request, min_relevance=None))
    if outcome == "min_score":
        hits = {hit.key: hit for hit in query.found.hits}
        lower = math.floor(1_000 * (hits[key].similarity or 0.0)) / 1_000
        yield _Trial({"min_score": lower}, replace(request, min_score=lower))
    yield from _wider(request, key, query)
    if request.max_tokens is not None:
        for times in (2, 4, 8):
            budget = times * request.max_tokens
            yield _Trial({"max_tokens": budget}, replace(request, max_tokens=budget))
    if outcome in ("min_relevance", "min_score"):
        return
    yield from _more(request)
    if query.found.named is not None:
        yield _Trial({"names": False}, replace(request, names=False))
    yield from _other_weights(request, ranks)
    if request.ranking is not None:
        yield _Trial({"ranking": None}, replace(request, ranking=None))


def _wider(request: Request, key: SentenceKey, query: Query) -> Iterator[_Trial]:
    """Yield a window around a returned hit of the same section that reaches the sentence."""
    doc_id, index = key
    reaches = [
        hit.index - index
        for each in query.assembled.assembly.windows
        for hit in each.window.hits
        if hit.doc_id == doc_id and hit.section_start <= index < hit.section_end
    ]
    nearest = min(reaches, key=abs, default=0)
    if 0 < abs(nearest) <= MAX_REACH:
        size = (max(nearest, 0), max(-nearest, 0))
        yield _Trial({"window": size}, replace(request, expansion=read_expansion(size)))


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
    weight, dense, lexical = request.lexical_weight, ranks.dense_rank, ranks.lexical_rank
    is_of_words = lexical is not None and (dense is None or lexical < dense)
    weights = (2 * weight, 4 * weight) if is_of_words else (0.0,)
    for each in weights:
        if each != weight:
            yield _Trial({"lexical_weight": each}, replace(request, lexical_weight=each))
