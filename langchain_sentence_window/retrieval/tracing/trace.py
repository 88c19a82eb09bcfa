"""`Trace`: every stage of a query, as text, a page for a notebook, or a dict."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from textwrap import fill
from typing import Any

from langchain_sentence_window._display import milliseconds, named, ranked

TRIMMED, WIDENED = "trimmed", "widened"
"""Changes to a window that is returned."""

_MAX_SIGNALS, _MIN_SHOWN = 3, 0.005
_WIDTH = 100
_MAX_CHARS = 80
"""The most characters of a text in a line."""


@dataclass(frozen=True, slots=True)
class HitTrace:
    """A sentence that was found.

    Attributes:
        rank: Its rank, from 1.
        doc_id: Its document.
        index: Its index among the document's sentences, from 0.
        start: Its first code point in the source.
        end: One past its last code point.
        text: The sentence.
        score: The score that it was ranked by.
        dense_rank: Its rank by meaning alone, from 1; ``None`` if it isn't among the candidates.
        dense_score: The store's score by meaning alone.
        lexical_rank: Its rank by words alone, from 1; ``None`` if it isn't among the candidates, or there is no
            lexical search.
        lexical_score: The BM25 score of the sentence alone.
        signals: The part of each signal in the score, by the signal's name; empty without a ranking. If the question
            mentions the hit's document, the score is .1 higher. If it is limited to several documents, the score is
            higher by as much as the best hit of its document was raised.
        opened: The first and last index of its own window, both included.
        cut_before: Whatever ended that window early before the hit: ``section``, ``document`` or ``filter``; ``None``
            if nothing did.
        cut_after: Whatever ended it early after the hit, likewise.
        window: The number of the window that it is in; ``None`` for none.
        outcome: A phrase that says what became of it.
        left_out: Why it is in no window, as a code of `LEFT_OUT`; ``None`` if it is in one.
    """

    rank: int
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
    opened: tuple[int, int]
    cut_before: str | None
    cut_after: str | None
    window: int | None
    outcome: str
    left_out: str | None = None


@dataclass(frozen=True, slots=True)
class WindowEnd:
    """Tell what ended a window early.

    Attributes:
        where: On which side of its hits: ``before`` or ``after``.
        by: ``section``, ``document``, ``filter`` or ``window``.
        window: The number of the better window; ``None`` for anything else.
    """

    where: str
    by: str
    window: int | None = None

    def __str__(self) -> str:
        """Return it as a phrase."""
        return f"{self.by if self.window is None else f'{self.by} {self.window}'} {self.where}"


@dataclass(frozen=True, slots=True)
class SentenceTrace:
    """A sentence in or near a window.

    Attributes:
        index: Its index among the document's sentences, from 0.
        text: The sentence, with the white space after it.
        score: The score that it was ranked by; ``None`` if it wasn't found.
        in_window: Whether it is in the window.
        is_hit: Whether it is one of the window's hits.
        returned: Whether it is in the returned part of the window.
    """

    index: int
    text: str
    score: float | None
    in_window: bool
    is_hit: bool
    returned: bool


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
        cut: The reasons why it ended early as phrases, such as ``section after`` or ``window 1 before``.
        returned: The position in the result, from 1, of the window that holds it; ``None`` if it wasn't returned.
        kept: The index of the first and last sentence of the window that was returned, if it was joined with others,
            completed, widened or trimmed.
        lead_ins: The lead-ins of the returned window.
        outcome: A phrase that says what became of it.
        surroundings: Its sentences, and some before and after them.
        tokens: The tokens of its text.
        returned_tokens: The tokens of the window that was returned, with its lead-ins; ``None`` for none.
        ends: The reasons why it ended early.
        left_out: Why it wasn't returned, as a code of `LEFT_OUT`; ``None`` if it was.
        joined: The numbers of the windows that were joined with it.
        change: What became of it otherwise: ``trimmed`` to fit into ``max_tokens``, or ``widened``, which includes
            completed; ``None`` for neither.
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
    cut: tuple[str, ...]
    returned: int | None
    kept: tuple[int, int] | None
    lead_ins: tuple[str, ...]
    outcome: str
    surroundings: tuple[SentenceTrace, ...]
    tokens: int = 0
    returned_tokens: int | None = None
    ends: tuple[WindowEnd, ...] = ()
    left_out: str | None = None
    joined: tuple[int, ...] = ()
    change: str | None = None


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
class CandidateTrace:
    """A sentence that a search found, before the hits were taken.

    Attributes:
        rank: Its rank after reordering, from 1.
        searched_rank: Its rank in the search, before reordering, from 1; the same as ``rank`` without a ranking.
        doc_id: Its document.
        index: Its index among the document's sentences, from 0.
        start: Its first code point in the source; ``None`` if the store can't read it.
        end: One past its last code point, likewise.
        text: The sentence.
        score: The score that it was ranked by.
        dense_rank: Its rank by meaning alone, from 1; ``None`` if it isn't among the best.
        lexical_rank: Its rank by words alone, from 1; ``None`` if it isn't among the best, or there is no such search.
        outcome: A phrase that says what became of it: ``hit 3``, or why it is none.
        left_out: Why it is no hit, as a code of `LEFT_OUT`; ``None`` if it is one.
    """

    rank: int
    searched_rank: int
    doc_id: str
    index: int
    start: int | None
    end: int | None
    text: str
    score: float
    dense_rank: int | None
    lexical_rank: int | None
    outcome: str
    left_out: str | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """Every stage of a query.

    ``print(trace)`` shows it as text. A notebook shows a page with sentences shaded by score, windows outlined and hits
    underlined.

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
        candidates: The sentences that the hits were taken from, in their new order; the hits alone without a ranking.
        counts: How many there were at each stage: sentences found by meaning (``dense``), by words (``lexical``) and by
            ``both`` in the whole collection, ``candidates``, ``hits``, ``windows`` and those ``returned``.
        tokens: The tokens of all ``hits``, of all ``windows``, and of those ``returned`` with their lead-ins.
    """

    query: str
    settings: Mapping[str, Any]
    hits: Sequence[HitTrace]
    windows: Sequence[WindowTrace]
    seconds: Mapping[str, float]
    named: Sequence[NameTrace] = ()
    searched_as: str = ""
    is_limited: bool = False
    relevance: Mapping[str, float] = field(default_factory=dict)
    candidates: Sequence[CandidateTrace] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    tokens: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the trace as dicts, lists and scalars that JSON can hold."""
        return asdict(self)

    def to_json(self, indent: int | None = 2) -> str:
        """Return the trace as JSON."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def __str__(self) -> str:
        """Return the trace as text of at most 100 columns."""
        paragraphs = [
            self.query,
            named(self.settings),
            *(name_line(each, self) for each in self.named),
            *([f"relevance: {_numbers(self.relevance)}"] if self.relevance else []),
            *([stage_counts(self.counts, self.tokens)] if self.counts else []),
            "\nwindows",
            *map(_window_lines, self.windows),
            "\nhits",
            *map(_hit_lines, self.hits),
            "\n" + milliseconds(self.seconds),
        ]
        return "\n".join(map(_wrapped, paragraphs))

    def _repr_html_(self) -> str:
        """Return the trace as a page for a notebook."""
        return page(self.to_dict())


def _window_lines(window: WindowTrace) -> str:
    first, last = window.sentences
    facts = [
        f"{window.doc_id}:{first}-{last}",
        f"score {window.score:.3f}",
        f"hits {','.join(map(str, window.hits))}",
        f"reranked {window.reranked}" if window.reranked is not None else "",
        f"relevance {window.relevance_score:.3f}" if window.relevance_score is not None else "",
        f"cut by {', '.join(window.cut)}" if window.cut else "",
    ]
    return _entry(window.number, window.text, facts, window.outcome)


def _hit_lines(hit: HitTrace) -> str:
    cut = [f"{what} {where}" for what, where in ((hit.cut_before, "before"), (hit.cut_after, "after")) if what]
    facts = [
        f"{hit.doc_id}:{hit.index}",
        f"score {hit.score:.3f}",
        f"dense {ranked(hit.dense_rank, hit.dense_score, 3)}",
        f"lexical {ranked(hit.lexical_rank, hit.lexical_score, 1)}",
        largest_signals(hit.signals, _MAX_SIGNALS),
        f"opened {hit.opened[0]}-{hit.opened[1]}",
        f"cut by {', '.join(cut)}" if cut else "",
    ]
    return _entry(hit.rank, hit.text, facts, hit.outcome)


def _entry(number: int, text: str, facts: Sequence[str], outcome: str) -> str:
    line = " ".join(text.split())
    line = line if len(line) <= _MAX_CHARS else f"{line[: _MAX_CHARS - 1]}…"
    return f"{number:>3}  {line}\n     {'; '.join([*filter(None, facts), outcome])}"


def _wrapped(text: str) -> str:
    """Break lines that are too wide, and indent what goes on as the second line of an entry is."""
    return "\n".join(
        fill(line, _WIDTH, subsequent_indent="     ", break_on_hyphens=False, break_long_words=False)
        for line in text.split("\n")
    )


def name_line(named: NameTrace, trace: Trace) -> str:
    """Return a line that says how a question names a document."""
    how = f"by its name {named.name!r}" if named.name else f"by {', '.join(named.words)}"
    role = "limited to" if trace.is_limited else "mentions"
    searched = f"; searched there as {trace.searched_as!r}" if trace.searched_as != trace.query else ""
    return f"{role} {named.doc_id}, {how}{searched}"


def largest_signals(signals: Mapping[str, float], most: int) -> str:
    """Return what adds most to a score, largest first."""
    largest = sorted(signals.items(), key=lambda each: -abs(each[1]))[:most]
    return ", ".join(f"{name} {value:+.2f}" for name, value in largest if abs(value) >= _MIN_SHOWN)


def _numbers(numbers: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.3g}" for name, value in numbers.items())


def stage_counts(counts: Mapping[str, int], tokens: Mapping[str, int]) -> str:
    """Return how many sentences and windows there were at each stage of a query, with their tokens, on a line."""
    searched = f"{counts['dense']} by meaning, {counts['lexical']} by words, {counts['both']} by both"
    stages = [f"{counts[stage]} {stage} ({tokens[stage]} tokens)" for stage in ("hits", "windows", "returned")]
    return " -> ".join([searched, f"{counts['candidates']} candidates", *stages])


_CELL = 'style="padding:2px 8px;text-align:left;vertical-align:top"'
_OUTLINED = "border-top:2px solid #3465a4;border-bottom:2px solid #3465a4;"


def page(trace: Mapping[str, Any]) -> str:
    """Return a page for the result of `Trace.to_dict`; all text in it is escaped."""
    scores = [hit["score"] for hit in trace["hits"]]
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    settings, seconds = named(trace["settings"]), milliseconds(trace["seconds"])
    names = "".join(
        f"<br>names {escape(each['doc_id'])} by {escape(each['name'] or ', '.join(each['words']))}"
        for each in trace["named"]
    )
    passed = f"<br>{escape(stage_counts(trace['counts'], trace['tokens']))}" if trace["counts"] else ""
    head = f"{escape(settings)}<br>{escape(seconds)}{passed}{names}"
    parts = [
        f"<p><b>{escape(trace['query'])}</b><br><small>{head}</small></p>",
        *(_window(window, low, high) for window in trace["windows"]),
        f"<details><summary>{len(scores)} hits</summary>{_hits(trace['hits'])}</details>",
    ]
    return f'<div style="font-family:sans-serif;max-width:60em">{"".join(parts)}</div>'


def _window(window: Mapping[str, Any], low: float, high: float) -> str:
    first, last = window["sentences"]
    ranks = f"window {window['number']}" + (f", reranked {window['reranked']}" if window["reranked"] else "")
    relevance = "" if window["relevance_score"] is None else f", relevance {window['relevance_score']:.3f}"
    location = f"{window['doc_id']}, sentences {first} to {last}, characters {window['start']} to {window['end']}"
    cut = f" · ended by {', '.join(window['cut'])}" if window["cut"] else ""
    heading = f"<br><i>{escape(window['heading'])}</i>" if window["heading"] else ""
    head = f"<b>{ranks}</b> · {escape(window['outcome'])} · score {window['score']:.3f}{relevance}"
    text = "".join(_sentence(sentence, low, high) for sentence in window["surroundings"])
    return (
        f'<div style="margin:1em 0">{head}<br><small>{escape(location)}{escape(cut)}{heading}</small>'
        f'<div style="white-space:pre-wrap;line-height:1.7">{text}</div></div>'
    )


def _sentence(sentence: Mapping[str, Any], low: float, high: float) -> str:
    style, title = "", f"sentence {sentence['index']}"
    if sentence["score"] is not None:
        share = (sentence["score"] - low) / (high - low) if high > low else 1.0
        style += f"background:rgba(252,175,62,{0.15 + 0.65 * share:.2f});"
        title += f", score {sentence['score']:.3f}"
    if sentence["in_window"]:
        style += _OUTLINED
    if not sentence["returned"]:
        style += "color:#888;"
    text = escape(sentence["text"])
    shown = f"<u>{text}</u>" if sentence["is_hit"] else text
    return f'<span style="{style}" title="{title}">{shown}</span>'


def _hits(hits: Sequence[Mapping[str, Any]]) -> str:
    titles = ("rank", "sentence", "score", "dense", "lexical", "signals", "outcome", "text")
    rows = [
        (
            hit["rank"],
            f"{hit['doc_id']}:{hit['index']}",
            f"{hit['score']:.3f}",
            ranked(hit["dense_rank"], hit["dense_score"], 3),
            ranked(hit["lexical_rank"], hit["lexical_score"], 1),
            ", ".join(f"{name} {value:+.2f}" for name, value in hit["signals"].items()) or "-",
            hit["outcome"],
            hit["text"],
        )
        for hit in hits
    ]
    body = "".join(f"<tr>{''.join(f'<td {_CELL}>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{''.join(f'<th {_CELL}>{title}</th>' for title in titles)}</tr>{body}</table>"
