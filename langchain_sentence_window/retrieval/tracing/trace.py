"""`Trace`: every stage of a query, as text or as a dict."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from textwrap import fill
from typing import Any

from langchain_sentence_window._display import milliseconds, named, ranked
from langchain_sentence_window.windows.assembly import (
    DOES_NOT_FIT,
    IS_BEYOND_K,
    IS_EQUAL,
    IS_LABEL,
    IS_NEAR,
    IS_UNSUPPORTED,
)

BEYOND_FETCH_K = "fetch_k"
BELOW_MIN_SCORE = "score"
BY_RERANKER = "reranker"

LEFT_OUT: Mapping[str, str] = {
    IS_NEAR: "it is near a better window",
    IS_LABEL: "it only names or announces what follows",
    IS_EQUAL: "its text is that of a better window",
    DOES_NOT_FIT: "it doesn't fit into max_tokens",
    IS_BEYOND_K: "there were k better ones",
    IS_UNSUPPORTED: "it hardly fits the question",
    BEYOND_FETCH_K: "there were fetch_k better ones",
    BELOW_MIN_SCORE: "its similarity is below min_score",
    BY_RERANKER: "the reranker dropped it",
}
"""Why a candidate or a window was left out, by the codes that traces hold."""

TRIMMED, WIDENED = "trimmed", "widened"
"""Changes to a window that is returned."""

_WIDTH = 100
"""The columns of a trace as text."""

_MAX_CHARS = 80
"""The most characters of a sentence or window on a line."""

_MAX_SIGNALS = 3
MIN_SIGNAL = 0.005
"""Smaller parts of a score aren't shown: they would read as 0.00."""


@dataclass(frozen=True, slots=True)
class SentenceTrace:
    """A sentence that the search found: a hit, or a candidate that was left out.

    Attributes:
        rank: Its rank, from 1. Hits come first.
        searched_rank: Its rank in the search, before reordering, from 1; the same as ``rank`` without a ranking.
        doc_id: Its document.
        index: Its index among the document's sentences, from 0.
        start: Its first code point in the source.
        end: One past its last code point.
        text: The sentence.
        score: The score that it was ranked by.
        dense_rank: Its rank by meaning alone, from 1; ``None`` if it isn't among the best.
        dense_score: The store's score by meaning alone, likewise.
        lexical_rank: Its rank by words alone, from 1; ``None`` if it isn't among the best, or there is no such search.
        lexical_score: The BM25 score of the sentence alone, likewise.
        signals: The part of each signal in the score, by the signal's name; empty without a ranking. If the question
            mentions its document, the score is .1 higher. If it is limited to several documents, the score is higher by
            as much as the best hit of its document was raised.
        window: The number of the window that it is in; ``None`` for none.
        outcome: A phrase that says what became of it.
        left_out: Why it is no hit, as a code of `LEFT_OUT`; ``None`` if it is one.
    """

    rank: int
    searched_rank: int
    doc_id: str
    index: int
    start: int
    end: int
    text: str
    score: float
    dense_rank: int | None
    dense_score: float | None
    lexical_rank: int | None
    lexical_score: float | None
    signals: Mapping[str, float]
    window: int | None
    outcome: str
    left_out: str | None


@dataclass(frozen=True, slots=True)
class WindowTrace:
    """A window around one or more hits.

    Attributes:
        number: Its rank in the search, from 1.
        doc_id: Its document.
        sentences: The index of its first and last sentence, both included.
        start: Its first code point in the source.
        end: One past its last code point.
        heading: The path of headings above it.
        text: The text of the window.
        score: The score of its best hit.
        hits: The ranks of its hits. The first one opened the window; the others were merged with it.
        reranked: Its rank after reranking, from 1; ``None`` without a reranker, or if the reranker left it out.
        relevance_score: The reranker's score; ``None`` without one.
        outcome: A phrase that says what became of it.
        left_out: Why it wasn't returned, as a code of `LEFT_OUT`; ``None`` if it was.
        returned: The position in the result, from 1, of the window that holds it; ``None`` if it wasn't returned.
        kept: The index of the first and last sentence of the window that was returned, if it was joined with others,
            completed, widened or trimmed.
        joined: The numbers of the windows that were joined with it.
        change: What became of it otherwise: ``trimmed`` to fit into ``max_tokens`` or as a better window holds its
            hit, or ``widened``, which includes completed; ``None`` for neither.
    """

    number: int
    doc_id: str
    sentences: tuple[int, int]
    start: int
    end: int
    heading: str
    text: str
    score: float
    hits: tuple[int, ...]
    reranked: int | None
    relevance_score: float | None
    outcome: str
    left_out: str | None
    returned: int | None
    kept: tuple[int, int] | None
    joined: tuple[int, ...]
    change: str | None


@dataclass(frozen=True, slots=True)
class NameTrace:
    """A document that the question names.

    Attributes:
        doc_id: The document.
        words: The words that name it.
        name: Its name, if the question holds a whole one, such as a title; else ``None``.
    """

    doc_id: str
    words: tuple[str, ...]
    name: str | None


@dataclass(frozen=True, slots=True)
class Trace:
    """Every stage of a query.

    ``print(trace)`` shows it as text.

    Attributes:
        query: The question.
        settings: All settings of the query by name, as JSON can hold them: a ``ranking`` as its weights or ``default``,
            functions and rerankers by what they are called.
        hits: The hits, best first.
        windows: The windows, best first.
        seconds: The time that each stage took, by its name.
        named: The documents that the question names.
        searched_as: The question as it was searched in them: without words that only say where to look. Empty if it
            names none.
        is_limited: Whether the question is limited to them, so that their sentences come first, or take turns with
            others if it has two parts. Otherwise it mentions them, and their sentences score higher: by .1 with a
            ranking, else by a tenth of the best score.
        relevance: The numbers that decided with ``min_relevance``, by name; see `judge_relevance`.
        candidates: The hits, then the other sentences that they were taken from, best first; the hits alone without a
            ranking. Sentences that the store can't read are missing.
        counts: How many there were at each stage: sentences found by meaning (``dense``), by words (``lexical``) and by
            ``both`` in the whole collection, ``candidates``, ``hits``, ``windows`` and those ``returned``.
        tokens: The tokens of all ``hits``, of all ``windows``, and of those ``returned`` with their lead-ins.
    """

    query: str
    settings: Mapping[str, Any]
    hits: Sequence[SentenceTrace]
    windows: Sequence[WindowTrace]
    seconds: Mapping[str, float]
    named: Sequence[NameTrace] = ()
    searched_as: str = ""
    is_limited: bool = False
    relevance: Mapping[str, float] = field(default_factory=dict)
    candidates: Sequence[SentenceTrace] = field(default=(), repr=False)  # hundreds, which would hide the rest
    counts: Mapping[str, int] = field(default_factory=dict)
    tokens: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the trace as dicts, lists and scalars that JSON can hold."""
        made: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return made

    def __str__(self) -> str:
        """Return the trace as text of at most 100 columns."""
        windows, hits = map(_window_lines, self.windows), map(_hit_lines, self.hits)
        lines = [*_head(self), "\nwindows", *windows, "\nhits", *hits, "\n" + milliseconds(self.seconds)]
        return "\n".join(map(_wrapped, lines))


def _head(trace: Trace) -> list[str]:
    """Return the question, then what was set, recognized and found, each as a line."""
    lines = [trace.query, named(trace.settings), *(name_line(each, trace) for each in trace.named)]
    if trace.relevance:
        lines.append("relevance: " + ", ".join(f"{name} {value:.3g}" for name, value in trace.relevance.items()))
    if trace.counts:
        lines.append(_stages(trace.counts, trace.tokens))
    return lines


def _stages(counts: Mapping[str, int], tokens: Mapping[str, int]) -> str:
    searched = f"{counts['dense']} by meaning, {counts['lexical']} by words, {counts['both']} by both"
    stages = [f"{counts[stage]} {stage} ({tokens[stage]} tokens)" for stage in ("hits", "windows", "returned")]
    return " -> ".join([searched, f"{counts['candidates']} candidates", *stages])


def name_line(named: NameTrace, trace: Trace) -> str:
    """Return a line that says how a question names a document."""
    how = f"by its name {named.name!r}" if named.name else f"by {', '.join(named.words)}"
    role = "limited to" if trace.is_limited else "mentions"
    searched = f"; searched there as {trace.searched_as!r}" if trace.searched_as != trace.query else ""
    return f"{role} {named.doc_id}, {how}{searched}"


def largest_signals(signals: Mapping[str, float], most: int) -> str:
    """Return what adds most to a score, largest first."""
    largest = sorted(signals.items(), key=lambda each: -abs(each[1]))[:most]
    return ", ".join(f"{name} {value:+.2f}" for name, value in largest if abs(value) >= MIN_SIGNAL)


def _window_lines(window: WindowTrace) -> str:
    return _format_entry(window.number, window.text, [*_window_facts(window), window.outcome])


def _window_facts(window: WindowTrace) -> list[str]:
    first, last = window.sentences
    return [
        f"{window.doc_id}:{first}-{last}",
        f"score {window.score:.3f}",
        f"hits {','.join(map(str, window.hits))}",
        f"reranked {window.reranked}" if window.reranked is not None else "",
        f"relevance {window.relevance_score:.3f}" if window.relevance_score is not None else "",
    ]


def _hit_lines(hit: SentenceTrace) -> str:
    facts = [
        f"{hit.doc_id}:{hit.index}",
        f"score {hit.score:.3f}",
        f"dense {ranked(hit.dense_rank, hit.dense_score, 3)}",
        f"lexical {ranked(hit.lexical_rank, hit.lexical_score, 1)}",
        largest_signals(hit.signals, _MAX_SIGNALS),
        hit.outcome,
    ]
    return _format_entry(hit.rank, hit.text, facts)


def _format_entry(number: int, text: str, facts: Sequence[str]) -> str:
    return f"{number:>3}  {shorten_line(text, _MAX_CHARS)}\n     {'; '.join(filter(None, facts))}"


def shorten_line(text: str, most: int) -> str:
    """Return a text without line breaks, cut to so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _wrapped(text: str) -> str:
    """Break lines that are too wide, and indent what goes on as the second line of an entry is."""
    return "\n".join(
        fill(line, _WIDTH, subsequent_indent="     ", break_on_hyphens=False, break_long_words=False)
        for line in text.split("\n")
    )
