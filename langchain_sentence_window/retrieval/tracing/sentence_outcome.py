"""`SentenceFate`: what became of one sentence in a query, and how it ranks by meaning and by words."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, TypeAlias

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.ranking.candidates import CANDIDATES
from langchain_sentence_window.retrieval.request import Request

from .explanation import found_by_meaning, scored_by_words

Outcome: TypeAlias = Literal[
    "returned",
    "leads_in",
    "same_text",
    "trimmed",
    "left_out",
    "no_window",
    "ranked_below",
    "min_score",
    "min_relevance",
    "no_candidate",
    "filtered",
    "missing",
]
"""The fate of a sentence.

``returned``: it is in a returned window, as a hit or beside one. ``leads_in``: a returned window has it as a lead-in.
``same_text``: a returned window has the text of its window, and names this place.
``trimmed``: it was in a window that was returned without it. ``left_out``: its window wasn't returned.
``no_window``: it was a hit, and got no window. ``ranked_below``: it was a candidate, and ranked below the hits.
``min_score`` and ``min_relevance``: this setting left it out. ``no_candidate``: the search didn't find it.
``filtered``: the filter of the call left it out. ``missing``: there is no such sentence in what the retriever's own
filter lets through."""

_MAX_CHARS = 200
_MAX_SIGNALS = 3
_DIGITS = 3


@dataclass(frozen=True, slots=True)
class RankedSentence:
    """A sentence to compare with.

    Attributes:
        doc_id: Its document.
        index: Its index among the document's sentences, from 0.
        rank: Its rank in the search, from 1.
        score: The score that it was ranked by.
        cosine: The store's score by meaning; ``None`` if it isn't known.
    """

    doc_id: str
    index: int
    rank: int
    score: float
    cosine: float | None


@dataclass(frozen=True, slots=True)
class AdvisedSettings:
    """Settings of a call that would return a sentence.

    Attributes:
        written: How they would be written in a call; of a filter that isn't given, in words.
        settings: The settings by name.
    """

    written: str
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SentenceFate:
    """The fate of one sentence in a query.

    ``print(fate)`` shows a few lines. Ranks are counted from 1.

    Attributes:
        query: The question.
        doc_id: The document.
        index: The index of the sentence in it, from 0.
        outcome: What became of it, see `Outcome`.
        reason: The same as a phrase, with what caused it.
        advice: One or two sentences: how it ranks, and what would return it. A setting is named only if the query was
            run with it and returned the sentence.
        start: Its first code point in the source; ``None`` if it is missing. So are the next three.
        end: One past its last code point.
        text: The sentence.
        heading: The path of headings above it; empty if there is none.
        dense_rank: Its rank by meaning alone; ``None`` if it is beyond those that were searched, or isn't known.
        cosine: The store's score of it by meaning alone; ``None`` if it isn't known.
        lexical_rank: Its rank by words alone, likewise.
        lexical_score: Its BM25 score; 0 if it has no word of the question, ``None`` if there is no search by words.
        candidates: The number of sentences that were compared; 0 if there was no search.
        rank: Its rank among them; ``None`` if it isn't one of them.
        score: The score that it was ranked by, likewise.
        hits: The number of sentences that were taken as hits.
        best: The best candidate; ``None`` if there is none.
        last_hit: The last candidate that was taken as a hit.
        last_candidate: The last candidate.
        signals: For each signal of the ranking that scored it lower than the last hit, its part in the score and that
            of the last hit, the largest difference first.
        window: The position of the returned window that holds it; ``None`` if none does.
        window_id: The ``window_id`` of that window.
        nearest: How the returned window that is nearest in its document relates to it; empty if there is none.
        tried: The settings that were tried, as a call writes them.
        advised: The settings that the advice names. Each of them is enough alone.
    """

    query: str
    doc_id: str
    index: int
    outcome: Outcome
    reason: str
    advice: str
    start: int | None = None
    end: int | None = None
    text: str | None = None
    heading: str | None = None
    dense_rank: int | None = None
    cosine: float | None = None
    lexical_rank: int | None = None
    lexical_score: float | None = None
    candidates: int = 0
    rank: int | None = None
    score: float | None = None
    hits: int = 0
    best: RankedSentence | None = None
    last_hit: RankedSentence | None = None
    last_candidate: RankedSentence | None = None
    signals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    window: int | None = None
    window_id: str | None = None
    nearest: str = ""
    tried: tuple[str, ...] = ()
    advised: tuple[AdvisedSettings, ...] = ()

    @property
    def is_returned(self) -> bool:
        """Whether a returned window holds it."""
        return self.window is not None

    @property
    def is_shown(self) -> bool:
        """Whether a returned window shows its text: it holds it, has it as a lead-in, or is one of the same text."""
        return self.is_returned or self.outcome in ("leads_in", "same_text")

    def to_dict(self) -> dict[str, Any]:
        """Return the fate as dicts, lists and scalars that JSON can hold."""
        made: dict[str, Any] = _with_lists(asdict(self))
        return made

    def __str__(self) -> str:
        """Return the fate in a few lines."""
        place = "" if self.start is None else f" [{self.start}:{self.end}]"
        lines = [f"sentence {self.index} of {self.doc_id!r}{place}{f', under {self.heading}' if self.heading else ''}"]
        if self.text is not None:
            line = " ".join(self.text.split())
            lines.append(f"  {line if len(line) <= _MAX_CHARS else f'{line[:_MAX_CHARS]}…'}")
        lines.append(self.reason)
        if self.nearest:
            lines.append(self.nearest)
        scores = [
            _scored("cosine", self.cosine, self.dense_rank, "by meaning"),
            _scored("BM25", self.lexical_score, self.lexical_rank, "by words"),
            _scored("score", self.score, self.rank, f"of {self.candidates:,} candidates"),
            *(
                _scored(name, each.score, each.rank, "")
                for name, each in (("best", self.best), ("last hit", self.last_hit))
                if each is not None
            ),
        ]
        told = "; ".join(filter(None, scores))
        if told:
            lines.append(told)
        if self.signals:
            largest = list(self.signals.items())[:_MAX_SIGNALS]
            parts = (f"{name} {own:+.2f} (last hit {last:+.2f})" for name, (own, last) in largest)
            lines.append(f"pushed down by {', '.join(parts)}")
        return "\n".join([*lines, self.advice])


def _with_lists(value: Any) -> Any:
    """Return a value as JSON has it, with lists in the place of tuples."""
    if isinstance(value, Mapping):
        return {key: _with_lists(each) for key, each in value.items()}
    return [_with_lists(each) for each in value] if isinstance(value, list | tuple) else value


def _scored(name: str, score: float | None, rank: int | None, how: str) -> str:
    if score is None:
        return ""
    place = "" if rank is None else f" ({ordinal(rank)}{f' {how}' if how else ''})"
    return f"{name} {score:.{_DIGITS}f}{place}"


def ordinal(rank: int) -> str:
    """Write a rank as an ordinal number: 1st, 2nd, 3rd, 4th, 11th, 101st."""
    ending = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank:,}{ending}"


MAX_RANK = 2_000
"""How far down a sentence's ranks are looked for."""


@dataclass(frozen=True, slots=True)
class OwnRanks:
    """How a sentence ranks for a query.

    Attributes:
        dense_rank: Its rank by meaning alone, from 1; ``None`` if it is beyond `depth`.
        cosine: The store's score by meaning; ``None`` if it isn't known.
        lexical_rank: Its rank by words alone, from 1; ``None`` if it is beyond `depth` or has no word of the query.
        lexical_score: Its BM25 score; 0 if it has no word of the query, ``None`` if there is no search by words.
        depth: How many sentences were ranked by meaning and by words, at most.
    """

    dense_rank: int | None = None
    cosine: float | None = None
    lexical_rank: int | None = None
    lexical_score: float | None = None
    depth: int = 0

    def sentence(self, rank: int | None, candidates: int) -> str:
        """Write the ranks as a sentence of English; empty if nothing is known.

        Args:
            rank: Its rank among the candidates; ``None`` if it isn't one of them.
            candidates: The number of candidates.
        """
        parts = list[str]()
        if self.dense_rank is not None:
            parts.append(f"{ordinal(self.dense_rank)} by meaning")
        elif self.depth:
            parts.append(f"beyond the best {self.depth:,} by meaning")
        if self.lexical_rank is not None:
            parts.append(f"{ordinal(self.lexical_rank)} by words")
        elif self.lexical_score:
            parts.append(f"beyond the best {self.depth:,} by words")
        if rank is not None:
            parts.append(f"{ordinal(rank)} of {candidates:,} candidates")
        if not parts:
            return ""
        without = ", and has no word of the question" if self.lexical_score == 0 else ""
        return f"It is {_joined(parts)}{without}."


def _joined(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


async def own_ranks(io: IO, request: Request, sentence: StoredSentence) -> OwnRanks:
    """Search by meaning alone and by words alone for a sentence's ranks, and for its scores among no others."""
    adapter, query = request.scope.adapter, request.query
    depth = MAX_RANK if adapter.is_whole_index else max(CANDIDATES, request.fetch_k, request.k)
    searched = await found_by_meaning(io, request, depth)
    at = next((at for at, each in enumerate(searched.sentences) if each.key == sentence.key), None)
    rank, cosine = (None, None) if at is None else (at + 1, searched.hits[at].score)
    alone = _alone(request.scope, sentence)
    if cosine is None and alone is not None:
        found = await alone.adapter.search(io, query, {"k": 1, **alone.search_settings})
        cosine = found[0][1] if found and adapter.read(found[0][0]).key == sentence.key else None
    scored, is_searched = await scored_by_words(io, request, depth, searched.sentences)
    lexical_rank = next((place for place, (key, _) in enumerate(scored, 1) if key == sentence.key), None)
    lexical_score: float | None = None
    if lexical_rank is not None:
        lexical_score = scored[lexical_rank - 1][1]
    elif is_searched and alone is not None:
        one = await adapter.lexical_search(io, query, {"k": 1, **alone.search_settings})
        lexical_score = one[0][1] if one else 0.0
    elif is_searched and len(scored) < depth:  # else it may not be among those whose words were compared
        lexical_score = 0.0
    return OwnRanks(rank, cosine, lexical_rank, lexical_score, depth)


def _alone(scope: Scope, sentence: StoredSentence) -> Scope | None:
    """Return the scope narrowed to one sentence; ``None`` if the store's filters can't say that."""
    base = scope.filter if scope.filter is not None else scope.adapter.of_documents([sentence.doc_id])
    narrowed = None if base is None else scope.adapter.narrow(base, [sentence.key])
    return None if narrowed is None else replace(scope, filter=narrowed, filters=[narrowed])
