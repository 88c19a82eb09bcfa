"""`SentenceOutcome`: what became of one sentence in a query, and which settings would have returned it.

A setting is advised only after the query was run with it and returned the sentence.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from langchain_sentence_window._display import named, shown
from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window._validation import as_integer
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.keys import ALSO_IN, DOC_ID, END_INDEX, START_INDEX
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.documents.window_documents import read_lead_ins
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowError
from langchain_sentence_window.ranking.candidates import CANDIDATES
from langchain_sentence_window.retrieval.query import Query
from langchain_sentence_window.retrieval.request import Request
from langchain_sentence_window.windows.assembly import IS_UNSUPPORTED

from .explanation import UNRANKED, TracedQuery
from .trace import BELOW_MIN_SCORE, MIN_SIGNAL, SentenceTrace, Trace, WindowTrace, shorten_line

RETURNED = "returned"
LEADS_IN = "leads_in"
SAME_TEXT = "same_text"
TRIMMED = "trimmed"
NO_CANDIDATE = "no_candidate"
FILTERED = "filtered"
MISSING = "missing"

MAX_RANK = 2_000
"""How deep `why` searches a `FaissStore` by meaning and by words."""

LARGEST_K, LARGEST_FETCH_K = 100, 800
"""The largest ``k`` and ``fetch_k`` that are tried."""

MAX_REACH = 20
"""The most sentences between a hit and the sentence for which a larger window is tried."""

MAX_ADVICE = 2
"""The most settings that are advised. Each is enough alone."""

_MAX_CHARS = 200
_MAX_SIGNALS = 3


@dataclass(frozen=True, slots=True)
class AdvisedSettings:
    """Settings of a call that would return a sentence.

    Attributes:
        written: The settings as a call writes them.
        settings: The settings by name.
    """

    written: str
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SentenceOutcome:
    """What became of one sentence in a query.

    ``print`` shows a few lines. Ranks count from 1, and are those of the trace that `explain` returns.

    Attributes:
        query: The question.
        doc_id: The document.
        index: The index of the sentence in it, from 0.
        outcome: What became of it. ``returned``: it is in a returned window, as a hit or next to one. ``leads_in``: a
            returned window has it as a lead-in. ``same_text``: a returned window has the text of its window, and names
            its place. ``trimmed``: it was in a window that was returned without it. ``no_candidate``: the search didn't
            find it. ``filtered``: the filter of the call left it out. ``missing``: there is no such sentence in what
            the retriever's own filter lets through. Otherwise why it or its window was left out, by the codes of the
            trace's ``left_out``.
        reason: The same as a phrase, with what caused it.
        advice: How it ranks, and what would return it. A setting is named only if the query was run with it and
            returned the sentence.
        start: Its first code point in the source; ``None`` if it is missing. So are the next three.
        end: One past its last code point.
        text: The sentence.
        heading: The path of headings above it; empty if there is none.
        dense_rank: Its rank by meaning alone; ``None`` if it is beyond those that were searched.
        dense_score: The store's score by meaning alone, likewise.
        lexical_rank: Its rank by words alone; ``None`` if it is beyond those that were searched, has no word of the
            question, or there is no search by words.
        lexical_score: Its BM25 score, likewise.
        candidates: The number of sentences that were compared; 0 if there was no search.
        rank: Its rank among them; ``None`` if it isn't one of them.
        score: The score that it was ranked by, likewise.
        best: The best hit; ``None`` if there is none.
        last_hit: The last hit. Its rank is the number of hits.
        signals: For each signal of the ranking that scored it lower than the last hit, its part in the score and that
            of the last hit, the largest difference first.
        window: The position of the returned window that holds it; ``None`` if none does.
        nearest: How the returned window that is nearest in its document relates to it; empty if there is none.
        tried: The settings that were tried, as a call writes them.
        advised: The settings that the advice names. Each of them is enough alone.
    """

    query: str
    doc_id: str
    index: int
    outcome: str
    reason: str
    advice: str = ""
    start: int | None = None
    end: int | None = None
    text: str | None = None
    heading: str | None = None
    dense_rank: int | None = None
    dense_score: float | None = None
    lexical_rank: int | None = None
    lexical_score: float | None = None
    candidates: int = 0
    rank: int | None = None
    score: float | None = None
    best: SentenceTrace | None = None
    last_hit: SentenceTrace | None = None
    signals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    window: int | None = None
    nearest: str = ""
    tried: tuple[str, ...] = ()
    advised: tuple[AdvisedSettings, ...] = ()

    @property
    def is_shown(self) -> bool:
        """Whether a returned window shows its text: it holds it, has it as a lead-in, or is one of the same text."""
        return self.outcome in (RETURNED, LEADS_IN, SAME_TEXT)

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as dicts, lists and scalars that JSON can hold."""
        made: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return made

    def __str__(self) -> str:
        """Return the outcome in a few lines."""
        place = "" if self.start is None else f" [{self.start}:{self.end}]"
        heading = f", under {self.heading}" if self.heading else ""
        scores = {
            "cosine": self.dense_score,
            "BM25": self.lexical_score,
            "score": self.score,
            "best": self.best and self.best.score,
            "last hit": self.last_hit and self.last_hit.score,
        }
        largest = [*self.signals.items()][:_MAX_SIGNALS]
        lower = ", ".join(f"{name} {own:+.2f} (last hit {last:+.2f})" for name, (own, last) in largest)
        lines = [
            f"sentence {self.index} of {self.doc_id!r}{place}{heading}",
            f"  {shorten_line(self.text, _MAX_CHARS)}" if self.text else "",
            self.reason,
            self.nearest,
            "; ".join(f"{name} {score:.3f}" for name, score in scores.items() if score is not None),
            f"pushed down by {lower}" if lower else "",
            self.advice,
        ]
        return "\n".join(filter(None, lines))


def ordinal(rank: int) -> str:
    """Write a rank as an ordinal number: 1st, 2nd, 3rd, 4th, 11th, 101st."""
    ending = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank:,}{ending}"


async def why(io: IO, request: Request, allowed: Scope, doc_id: object, index: object) -> SentenceOutcome:
    """Return what became of a sentence.

    Args:
        io: Makes the calls.
        request: The query.
        allowed: What the retriever's own filter lets through; nothing is revealed of anything else.
        doc_id: The document of the sentence.
        index: The index of the sentence in it.
    """
    key = _checked_key(doc_id, index)
    sentence = await _fetch_sentence(io, allowed, key)
    if sentence is None:
        reason = "there is no such sentence in what the retriever's filter lets through"
        cure = "Look for its name with documents(), and for its sentences with explain()."
        return SentenceOutcome(request.query, *key, MISSING, reason, cure)
    outcome = SentenceOutcome(
        request.query,
        *key,
        FILTERED,
        "the filter of this call doesn't let it through",
        start=sentence.start,
        end=sentence.end,
        text=sentence.text,
        heading=sentence.heading,
    )
    if await _fetch_sentence(io, request.scope, key) is None:
        return await _with_advice(outcome, io, request, [{"scope": allowed}], "Ask why without the filter, too.")
    query = TracedQuery(io, request, depth=MAX_RANK if request.scope.adapter.is_whole_index else CANDIDATES)
    await query.run()
    trace = query.trace()
    outcome = _with_ranks(outcome, query, trace)
    windows = [window for window in trace.windows if window.doc_id == sentence.doc_id]
    window, code, reason = _what_happened(outcome, sentence, windows, query)
    outcome = replace(outcome, outcome=code, reason=reason, window=window)
    if outcome.is_shown:
        return outcome
    cure = "Use words that it holds." if outcome.lexical_rank is None else "Use words closer to what it says."
    outcome = replace(outcome, nearest=_describe_nearest_window(outcome, windows))
    return await _with_advice(outcome, io, request, _trials(outcome, query), cure)


def _checked_key(doc_id: object, sentence: object) -> SentenceKey:
    index = as_integer(sentence)
    if not isinstance(doc_id, str):
        raise InvalidInputError(f"doc_id is {shown(doc_id)}; give the name of a document, as documents() lists it")
    if index is None or index < 0:
        raise InvalidInputError(
            f"sentence is {shown(sentence)}; give the index of a sentence in its document, a whole number from 0"
        )
    return doc_id, index


async def _fetch_sentence(io: IO, scope: Scope, key: SentenceKey) -> StoredSentence | None:
    """Read a sentence within a scope; ``None`` if it isn't there.

    Raises:
        InvalidInputError: The store can't fetch by id.
    """
    documents = await scope.fetch(io, [key])
    if documents is None:
        raise InvalidInputError(f"{scope.adapter.name} can't fetch by id; use a store that can")
    return scope.adapter.read(documents[0]) if documents else None


def _with_ranks(outcome: SentenceOutcome, query: TracedQuery, trace: Trace) -> SentenceOutcome:
    """Add how the sentence ranks, and the hits to compare it with."""
    key = outcome.doc_id, outcome.index
    dense_rank, dense_score = query.dense.get(key, UNRANKED)
    lexical_rank, lexical_score = query.lexical.get(key, UNRANKED)
    own, last = query.sentences.get(key), trace.hits[-1] if trace.hits else None
    lower: dict[str, tuple[float, float]] = {}
    if own is not None and last is not None and own.rank > last.rank:
        both = {name: (part, last.signals.get(name, part)) for name, part in own.signals.items()}
        lower = {name: (part, other) for name, (part, other) in both.items() if other - part >= MIN_SIGNAL}
    ranks = [
        f"{ordinal(dense_rank)} by meaning" if dense_rank else f"beyond the best {len(query.dense):,} by meaning",
        f"{ordinal(lexical_rank)} by words" if lexical_rank else "",
        f"{ordinal(own.rank)} of {len(trace.candidates):,} candidates" if own else "",
    ]
    return replace(
        outcome,
        advice=f"It is {', '.join(filter(None, ranks))}.",
        dense_rank=dense_rank,
        dense_score=dense_score,
        lexical_rank=lexical_rank,
        lexical_score=lexical_score,
        candidates=len(trace.candidates),
        rank=own.rank if own else None,
        score=own.score if own else None,
        best=trace.hits[0] if trace.hits else None,
        last_hit=last,
        signals=dict(sorted(lower.items(), key=lambda each: each[1][0] - each[1][1])),
    )


def _what_happened(
    outcome: SentenceOutcome, sentence: StoredSentence, windows: Sequence[WindowTrace], query: TracedQuery
) -> tuple[int | None, str, str]:
    """Return the position of the window that holds the sentence, the code of what became of it, and a phrase."""
    own = query.sentences.get(sentence.key)
    for window in windows:
        first, last = window.kept or window.sentences
        if window.returned and first <= sentence.index <= last:
            how = "next to its hits" if own is None or own.left_out else f"as hit {own.rank}"
            return window.returned, RETURNED, f"returned in window {window.returned}, {how}"
    for position, document in enumerate(query.documents, 1):
        spans = [span for span, _ in read_lead_ins(document)] if document.metadata[DOC_ID] == sentence.doc_id else []
        # A table's header row is shown without the rule below it.
        if any(sentence.start <= start and end <= sentence.end for start, end in spans):
            return None, LEADS_IN, f"window {position} has it as a lead-in, which isn't part of its text"
        places = [place for place in document.metadata.get(ALSO_IN, ()) if place[DOC_ID] == sentence.doc_id]
        if any(place[START_INDEX] <= sentence.start and sentence.end <= place[END_INDEX] for place in places):
            return None, SAME_TEXT, f"window {position} has the same text, and names its place among others"
    for window in windows:
        if window.sentences[0] <= sentence.index <= window.sentences[1]:
            return None, window.left_out or TRIMMED, f"it was in a window that was {window.outcome}"
    if own is None:
        return None, NO_CANDIDATE, f"it wasn't among the best {outcome.candidates:,} that the search found"
    ranked = f"it ranked {ordinal(own.rank)} of {outcome.candidates:,} candidates"
    return None, str(own.left_out), f"{ranked}, and was {own.outcome}"


def _describe_nearest_window(outcome: SentenceOutcome, windows: Iterable[WindowTrace]) -> str:
    """Say how the nearest returned window of the document relates to the sentence, which it doesn't hold."""
    nearest = ""
    least = math.inf
    for window in windows:
        first, last = window.kept or window.sentences
        distance = max(first - outcome.index, outcome.index - last)
        if window.returned and distance < least:
            least = distance
            sentences = f"{distance} sentence{'' if distance == 1 else 's'}"
            where = f"ends {sentences} before it" if last < outcome.index else f"begins {sentences} after it"
            section = "" if window.heading == outcome.heading else ", in another section"
            nearest = f"window {window.returned} {where}{section}"
    return nearest


async def _with_advice(
    outcome: SentenceOutcome, io: IO, request: Request, trials: Iterable[Mapping[str, Any]], cure: str
) -> SentenceOutcome:
    """Try settings that may return the sentence, and advise those that do; if none does, another cure.

    Args:
        outcome: What became of the sentence.
        io: Makes the calls.
        request: The query.
        trials: The changes of the request.
        cure: What else may help.
    """
    tried, advised = list[str](), dict[str, AdvisedSettings]()
    for changes in trials:
        name = next(iter(changes))
        settings = {"filter": None} if name == "scope" else dict(changes)
        if name in advised or len(advised) == MAX_ADVICE:
            continue
        tried.append(named(settings))
        if await _is_returned(io, replace(request, **changes), outcome):
            advised[name] = AdvisedSettings(named(settings), settings)
    advice = f"With {' or '.join(each.written for each in advised.values())} it is returned."
    if not advised:
        advice = f"{cure} None of these returns it: {'; '.join(tried)}." if tried else cure
    advice = f"{outcome.advice} {advice}".strip()
    return replace(outcome, advice=advice, tried=tuple(tried), advised=tuple(advised.values()))


async def _is_returned(io: IO, request: Request, outcome: SentenceOutcome) -> bool:
    """Return whether a query returns the sentence."""
    query = Query(io, request)
    try:
        await query.run()
    except SentenceWindowError:  # such as a budget that is too small
        return False
    return any((outcome.doc_id, outcome.index) in each.window.keys for each in query.assembled.assembly.windows)


def _trials(outcome: SentenceOutcome, query: TracedQuery) -> Iterator[dict[str, Any]]:
    """Yield changes of the request that may return the sentence, the most likely first."""
    request, is_below = query.request, outcome.outcome == BELOW_MIN_SCORE
    if is_below and outcome.dense_score is not None:
        yield {"min_score": math.floor(1_000 * outcome.dense_score) / 1_000}
    if outcome.outcome == IS_UNSUPPORTED:
        yield {"min_relevance": None}
    # From a returned hit of the same section to the sentence.
    reaches = [
        hit.index - outcome.index
        for each in query.assembled.assembly.windows
        for hit in each.window.hits
        if hit.doc_id == outcome.doc_id and hit.section_start <= outcome.index < hit.section_end
    ]
    reach = min(reaches, key=abs, default=0)
    if 0 < abs(reach) <= MAX_REACH:
        yield {"window": (max(reach, 0), max(-reach, 0))}
    if request.max_tokens is not None:
        yield from ({"max_tokens": times * request.max_tokens} for times in (2, 4, 8))
    if is_below or outcome.outcome == IS_UNSUPPORTED:
        return
    yield from ({"k": k} for k in (2 * request.k, LARGEST_K) if request.k < k <= LARGEST_K)
    yield from [
        {"k": max(request.k, LARGEST_K), "fetch_k": each} for each in (200, LARGEST_FETCH_K) if each > request.fetch_k
    ][:1]
    if query.found.named:
        yield {"names": False}
    weight = request.lexical_weight
    yield from ({"lexical_weight": each} for each in (2 * weight, 4 * weight, 0) if each != weight)
    if request.ranking is not None:
        yield {"ranking": None}
