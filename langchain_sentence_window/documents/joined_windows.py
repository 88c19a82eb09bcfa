"""Windows of the same text joined into one, exactly.

Two windows that overlap show the same characters twice, so it can be seen whether they are of the same text. A window
says what white space follows it as long as its section goes on, so those that only touch can be joined too.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._validation import as_number
from langchain_sentence_window.documents.equal_passages import joined_places
from langchain_sentence_window.documents.ids import window_id
from langchain_sentence_window.documents.json_values import own_values
from langchain_sentence_window.documents.keys import END_INDEX, SEPARATOR, START_INDEX
from langchain_sentence_window.documents.lead_ins import MAX_LEAD_INS
from langchain_sentence_window.documents.parts.spans import PartSpan, as_entries, page_labels_of, pages_of
from langchain_sentence_window.documents.window_metadata import (
    ALSO_IN,
    HITS,
    LEAD_INS,
    PAGE_LABELS,
    PAGES,
    PARTS,
    RELEVANCE_SCORE,
    SCORE,
    SENTENCE_SPANS,
    SENTENCES,
    WINDOW_ID,
)
from langchain_sentence_window.documents.window_runs import RunHit, WindowRun, cut_parts, fit, read_span


def agree(one: WindowRun, other: WindowRun) -> bool:
    """Return whether two windows can be one.

    They can if they overlap, and number and place their sentences alike, and show the same text where they overlap.
    They can too if one begins where the next sentence after the other begins, in the same section.

    Args:
        one: A window.
        other: A window of the same document that doesn't begin before the first one, nor after the next sentence.
    """
    if bool(one.parts) != bool(other.parts):
        return False
    if one.end <= other.start:
        return one.next_start == other.start and one.last + 1 == other.first and _fit_parts(one, other)
    at, end = other.start - one.start, min(one.end, other.end)
    return (
        other.first <= one.last
        and _sign(other.first - one.first) == _sign(at)
        and _sign(other.last - one.last) == _sign(other.end - one.end)
        and one.text[at : at + end - other.start] == other.text[: end - other.start]
        and fit(one.hits, other)
        and fit(other.hits, one)
        and _fit_sentences(one, other)
        and _fit_separators(one, other)
        and _fit_parts(one, other)
    )


def joined(runs: Sequence[WindowRun]) -> Document:
    """Join windows that agree into one.

    Args:
        runs: The windows, in order of position; each overlaps or touches those before it.

    Returns:
        A window whose metadata is that of the window with the best hit, but for the keys that name sentences, places
        and scores.
    """
    ranked = sorted(runs, key=lambda run: run.rank)
    start, ending = runs[0].start, max(runs, key=WindowRun.reach)
    end = ending.end
    first, last, doc_id = runs[0].first, max(run.last for run in runs), runs[0].doc_id
    hits: dict[int, tuple[RunHit, WindowRun]] = {}
    for run in ranked:
        for hit in run.hits:
            if hit.index not in hits or hit.score > hits[hit.index][0].score:
                hits[hit.index] = hit, run
    best, holder = max(hits.values(), key=lambda held: (held[0].score, -held[0].index))
    id_ = window_id(doc_id, first, last)
    made = {
        START_INDEX: start,
        END_INDEX: end,
        SENTENCES: [first, last],
        HITS: [dict(hits[index][0].entry) for index in sorted(hits)],
        SCORE: best.entry[SCORE],
        WINDOW_ID: id_,
        SEPARATOR: ending.separator,
        LEAD_INS: _joined_lead_ins(runs, start) or None,
        ALSO_IN: joined_places([run.document for run in ranked], doc_id, start, end) or None,
        SENTENCE_SPANS: _joined_sentences(runs) or None,
        **_joined_parts(runs),
        **_best_relevance(ranked),
    }
    metadata = {**own_values(holder.document.metadata), **made}
    added = {key: value for key, value in metadata.items() if value is not None or key not in made}
    return holder.document.model_copy(update={"id": id_, "page_content": _joined_text(runs), "metadata": added})


def _joined_text(runs: Iterable[WindowRun]) -> str:
    pieces: list[str] = []
    reach: WindowRun | None = None
    for run in runs:
        if reach is None or run.end > reach.end:
            if reach is not None and run.start >= reach.end:
                pieces.append(reach.separator or "")
            pieces.append(run.text if reach is None else run.text[max(0, reach.end - run.start) :])
            reach = run
    return "".join(pieces)


def _joined_lead_ins(runs: Iterable[WindowRun], start: int) -> list[dict[str, Any]]:
    """Return the lead-ins of windows that stand before the window that they become, in order, each once."""
    found: dict[int, dict[str, Any]] = {}
    for run in runs:
        given = run.document.metadata.get(LEAD_INS)
        for each in given if isinstance(given, list) else []:
            span = read_span([each.get(START_INDEX), each.get(END_INDEX)]) if isinstance(each, dict) else None
            if span is not None and span[1] <= start:
                found.setdefault(span[0], dict(each))
    return [found[at] for at in sorted(found)][-MAX_LEAD_INS:]


def _joined_sentences(runs: Sequence[WindowRun]) -> list[list[int]]:
    """Return the span of each sentence; nothing if one of the windows doesn't say it."""
    if not all(run.sentences for run in runs):
        return []
    sentences = list(runs[0].sentences)
    for run in runs:
        sentences += run.sentences[len(sentences) - (run.first - runs[0].first) :]
    return [list(each) for each in sentences]


def _joined_parts(runs: Sequence[WindowRun]) -> dict[str, Any]:
    """Return the metadata that tells of parts; nothing for a document without parts."""
    if not runs[0].parts:
        return {}
    spans = _united_spans(part for run in runs for part in run.parts)
    return {
        PARTS: as_entries(spans),
        PAGES: pages_of(spans) or None,
        PAGE_LABELS: page_labels_of(spans) or None,
    }


def _best_relevance(ranked: Iterable[WindowRun]) -> dict[str, Any]:
    given = [run.document.metadata.get(RELEVANCE_SCORE) for run in ranked]
    numbers = [each for each in given if not math.isnan(as_number(each))]
    return {RELEVANCE_SCORE: max(numbers, key=as_number)} if numbers else {}


def _fit_separators(one: WindowRun, other: WindowRun) -> bool:
    """Return whether windows that overlap have the same white space after the first end, as far as it is known."""
    ending, longer = sorted((one, other), key=lambda run: run.end)
    if ending.separator is None:
        return True
    if ending.end == longer.end:
        return longer.separator in (None, ending.separator)
    at = ending.end - longer.start
    after = at + len(ending.separator)
    return longer.text[at:after] == ending.separator and not longer.text[after : after + 1].isspace()


def _fit_sentences(one: WindowRun, other: WindowRun) -> bool:
    """Return whether windows that overlap cut their text into the same sentences, as far as it is known."""
    if not one.sentences or not other.sentences:
        return True
    held = one.sentences[other.first - one.first :][: other.last - other.first + 1]
    return held == other.sentences[: one.last - other.first + 1]


def _fit_parts(one: WindowRun, other: WindowRun) -> bool:
    """Return whether the parts of two windows can be joined without changing those of either."""
    spans = _united_spans([*one.parts, *other.parts])
    return all(tuple(cut_parts(spans, run.start, run.end)) == run.parts for run in (one, other))


def _united_spans(spans: Iterable[PartSpan]) -> list[PartSpan]:
    """Join spans of windows that overlap: those that overlap or follow each other in one part."""
    united: list[PartSpan] = []
    for span in sorted(spans, key=lambda span: span.source_start):
        last = united[-1] if united else None
        if (
            last is not None
            and last.identity == span.identity
            and last.start - last.source_start == span.start - span.source_start
        ):
            united[-1] = last._replace(end=max(last.end, span.end))
        else:
            united.append(span)
    return united


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
