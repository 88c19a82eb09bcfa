"""The metadata of a window Document: made from sentences, merged when windows become one, and cut with a window.

===================  =================================================
key                  meaning
===================  =================================================
``doc_id``           the source document
``start_index``      first code point in the source
``end_index``        one past the last code point
``heading``          titles of the headings above, joined by `` > ``
``sentences``        ``[first, last]`` sentence index, both included
``hits``             the sentences found: index, span and scores
``score``            the best hit's score
``window_id``        equal for the same sentences of the same document
``separator``        white space after it, if its section continues
``parts``            each part of the document that it touches
``pages``            numbers of the pages that it touches, from 0
``page_labels``      what is printed on them, if the loader says it
``times``            when it is shown, from and to, in seconds, of subtitles
``lines``            first and last line that it touches, from 1, of a text file
``sentence_spans``   the span of each sentence
``lead_ins``         text before the window that gives it meaning
``tokens``           what it costs, with its lead-ins
``also_in``          places of other windows with equal text
``relevance``        how likely the question is answered, from 0 to 1
``relevance_score``  a reranker's score
``citation_number``  its number in a conversation, of what a tool found
===================  =================================================

An entry of ``parts`` holds what names the part, such as ``page``; ``start_index`` and ``end_index`` in the part's own
text, or, of a chunk with a ``start_index``, in the text that it was cut from; and ``span``, the same stretch in the
document. Each stretch is verbatim in its part.

An entry of ``lead_ins`` holds ``kind`` (``header`` of a table, ``list`` for the sentence that introduces a list,
``speaker`` of a message, ``signature`` of a function), ``text``, and ``start_index`` and ``end_index`` of that text in
the document. They are in order of position, and before the window.

An entry of ``also_in`` holds ``doc_id``, ``start_index`` and ``end_index`` of a window that was found too and isn't
returned, as its text is equal, and its ``heading``, ``source`` and ``pages`` if it has them. They are in order of rank.
"""

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from langchain_core.documents import Document

from langchain_sentence_window._primitives import Span
from langchain_sentence_window._validation import as_number
from langchain_sentence_window.errors import IncompleteWindowError
from langchain_sentence_window.splitting.lead_ins import lead_in_part
from langchain_sentence_window.windows.geometry import Hit, Window

from .keys import (
    ALSO_IN,
    DOC_ID,
    END_INDEX,
    HEADING,
    HITS,
    KIND,
    LEAD_INS,
    LINES,
    PAGE_LABELS,
    PAGES,
    PARTS,
    RELEVANCE,
    RELEVANCE_SCORE,
    SCORE,
    SENTENCE_INDEX,
    SENTENCE_SPANS,
    SENTENCES,
    SEPARATOR,
    SIMILARITY,
    START_INDEX,
    TEXT,
    TIMES,
    TOKENS,
    WINDOW_ID,
    WINDOW_KEYS,
    window_id,
)
from .metadata_values import own_values
from .part_spans import PartSpan, as_entries, joined_spans
from .sentence_documents import SentencesByKey, StoredSentence
from .source_metadata import PAGE_LABEL, line_breaks, page_of, time_of
from .window_runs import RunSentence, WindowRun, lines_touched, placed_entries, read_spans

CountTokens: TypeAlias = Callable[[str], int]
"""Counts the tokens of a text."""

MAX_LEAD_INS = 4
"""The most lead-ins of a window. Of more, those nearest to it are taken."""


def made_values(
    window: Window, held: Sequence[StoredSentence], lead_ins: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the fields of a window that are made from its sentences.

    Args:
        window: The window.
        held: Its sentences, in order.
        lead_ins: What `lead_ins` returns for it.
    """
    doc_id, best, first, last = window.doc_id, window.best, held[0], held[-1]
    return _without_none(
        {
            DOC_ID: doc_id,
            START_INDEX: first.start,
            END_INDEX: last.end,
            SENTENCES: [window.first, window.last],
            HITS: [_hit_entry(hit, held[hit.index - window.first]) for hit in window.hits],
            SCORE: best.score,
            WINDOW_ID: window_id(doc_id, window.first, window.last),
            HEADING: held[best.index - window.first].heading or None,
            SEPARATOR: last.separator if window.last + 1 < last.section_end else None,
            LEAD_INS: lead_ins or None,
            **_values_of_parts(part_spans(held)),
            LINES: window_lines(first, last),
            SENTENCE_SPANS: [[each.start, each.end] for each in held],
        }
    )


def merged_values(runs: Sequence[WindowRun], sentences: Mapping[int, RunSentence]) -> dict[str, Any]:
    """Return the metadata of windows that become one: that of the window with the best hit, except some fields.

    Args:
        runs: The windows.
        sentences: All of their sentences by index, in order.
    """
    ranked = sorted(runs, key=lambda run: run.rank)
    hits: dict[int, tuple[float, Mapping[str, Any], WindowRun]] = {}
    for run in ranked:
        for index, entry in run.hits.items():
            score = as_number(entry[SCORE])
            if index not in hits or score > hits[index][0]:
                hits[index] = score, entry, run
    best = max(sorted(hits), key=lambda index: hits[index][0])
    _, best_entry, holder = hits[best]
    doc_id, first, last = holder.doc_id, min(sentences), max(sentences)
    start, end = sentences[first].start, sentences[last].end
    places = [place for run in ranked for place in places_in(run.document)]
    lines = [lines_touched(run.document) for run in runs]
    parts = joined_spans(part for run in runs for part in run.parts)
    values = {
        **own_values(holder.document.metadata),
        START_INDEX: start,
        END_INDEX: end,
        SENTENCES: [first, last],
        HITS: [dict(hits[index][1]) for index in sorted(hits)],
        SCORE: best_entry[SCORE],
        RELEVANCE: _highest(RELEVANCE, runs),
        RELEVANCE_SCORE: _highest(RELEVANCE_SCORE, runs),
        WINDOW_ID: window_id(doc_id, first, last),
        SEPARATOR: sentences[last].separator,
        LEAD_INS: _lead_ins_before(start, runs) or None,
        ALSO_IN: places_outside(places, doc_id, start, end) or None,
        **(_values_of_parts(parts) if parts else {}),
        LINES: [min(low for low, _ in lines), max(high for _, high in lines)] if all(lines) else None,
        SENTENCE_SPANS: [[each.start, each.end] for each in sentences.values()],
    }
    return _without_none(values)


def cut_values(
    metadata: Mapping[str, Any], span: Span | None, parts: Sequence[PartSpan] | None, lines: Span | None
) -> dict[str, Any]:
    """Return the metadata of a stretch of a window: that of the window, except some fields.

    Args:
        metadata: The metadata of the window, or of any other Document.
        span: The stretch in the source; ``None`` if it isn't known.
        parts: Its places in the parts of the document; ``None`` if they aren't known, or the document has none.
        lines: The first and the last line that it touches; ``None`` if they aren't known.
    """
    of_parts = _values_of_parts(parts or ())
    for key in (PAGES, PAGE_LABELS):
        kept = metadata.get(key)
        if parts is None and isinstance(kept, list) and len(kept) == 1:  # each stretch of one page is on that page
            of_parts[key] = kept
    untrue = (SENTENCES, HITS, WINDOW_ID, SEPARATOR, LEAD_INS, ALSO_IN, TOKENS)
    values = {
        **metadata,
        **dict.fromkeys(untrue),
        START_INDEX: span and span[0],
        END_INDEX: span and span[1],
        **of_parts,
        LINES: lines and list(lines),
        SENTENCE_SPANS: _cut_sentences(metadata, span) if parts and span else None,
    }
    return _without_none(values)


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None or key not in WINDOW_KEYS}


def _values_of_parts(parts: Sequence[PartSpan]) -> dict[str, Any]:
    """Return the fields that say which parts of its document a window touches."""
    if not parts:
        return dict.fromkeys((PARTS, PAGES, PAGE_LABELS, TIMES))
    pages = {page for part in parts if (page := page_of(part.identity)) is not None}
    labels = [str(label) for part in parts if (label := part.identity.get(PAGE_LABEL)) is not None]
    times = [time for part in parts if (time := time_of(part.identity)) is not None]
    return {
        PARTS: as_entries(parts),
        PAGES: sorted(pages) or None,
        PAGE_LABELS: list(dict.fromkeys(labels)) or None,
        TIMES: [min(begins for begins, _ in times), max(ends for _, ends in times)] if times else None,
    }


_BLOCK_BITS = 7
_COST_UNITS = 20
_COST_FROM = (
    (0x0000, 5),  # Latin letters of Western Europe, digits, punctuation
    (0x0100, 20),  # other Latin letters, phonetic letters, combining marks
    (0x0380, 8),  # Greek, Cyrillic, Armenian, Hebrew, Arabic
    (0x0700, 40),
    (0x0900, 8),  # Devanagari, Bengali, Gurmukhi, Gujarati, Oriya, Tamil, Telugu, Kannada, Malayalam
    (0x0D80, 20),  # Sinhala
    (0x0E00, 8),  # Thai
    (0x0E80, 40),  # Lao, Tibetan
    (0x1000, 20),  # Burmese
    (0x1080, 8),  # Georgian
    (0x1100, 20),  # Hangul
    (0x1200, 40),  # Ethiopic, Cherokee
    (0x1780, 20),  # Khmer
    (0x1800, 40),
    (0x1E00, 20),  # Latin letters of Vietnamese, old Greek
    (0x2000, 5),  # punctuation and symbols
    (0x2C00, 40),
    (0x2E80, 20),  # Chinese, Japanese, Korean
    (0xD800, 40),  # private use
    (0xF900, 20),  # Chinese, Japanese, Korean
    (0xFB00, 40),  # forms of Arabic letters
    (0xFE00, 20),  # Chinese, Japanese, Korean
    (0xFE80, 40),  # forms of Arabic letters
    (0xFF00, 20),  # letters of full width
    (0x10000, 40),  # emoji, rare Chinese characters
)
"""What a character costs in `_COST_UNITS` of a token, from this block of 128 code points to the next.

Measured on current tokenizers; see the page on choosing a window. A quarter of a token is rather too much for English
prose, and too little for digits."""

_COSTS = np.repeat(
    np.array([cost for _, cost in _COST_FROM], np.uint8),
    np.diff([*(start >> _BLOCK_BITS for start, _ in _COST_FROM), (sys.maxunicode + 1) >> _BLOCK_BITS]),
)


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text by its scripts, rounded up.

    Four characters of English count as a token, and so do four digits, marks or other letters of Western Europe. A
    character counts 0.4 tokens in Greek, Cyrillic, Armenian, Georgian, Hebrew, Arabic, Thai and most scripts of India.
    It counts 1 in Chinese, Japanese and Korean, and for other Latin letters, such as those of Polish or Vietnamese. An
    emoji counts 2, as does a character of a rare script.

    This is a rule of thumb. If precision matters, pass your model's own counter as ``count_tokens``.
    """
    if text.isascii():
        return -(-len(text) // 4)
    characters = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    return -(-int(_COSTS[characters >> _BLOCK_BITS].sum()) // _COST_UNITS)


def part_spans(held: Sequence[StoredSentence]) -> list[PartSpan]:
    """Return the places of adjacent sentences in the parts of their document; nothing if it has no parts.

    Raises:
        IncompleteWindowError: The metadata of a sentence is invalid.
    """
    try:
        return joined_spans([span for each in held if each.part_spans for span in each.spans])
    except ValueError as error:
        raise IncompleteWindowError(
            f"the metadata of a sentence is invalid, as {error}; delete its document and add it again"
        ) from None


def lead_ins(window: Window, sentences: SentencesByKey) -> list[dict[str, Any]]:
    """Return the lead-ins of a window, in order of position.

    Args:
        window: The window.
        sentences: Its sentences and lead-ins; missing lead-ins are left out.

    Returns:
        For each: ``kind`` (``header``, ``list``, ``speaker`` or ``signature``), ``text``, and ``start_index`` and
        ``end_index`` of that text in the source.
    """
    entries: list[dict[str, Any]] = []
    for index, kind_below in lead_in_indexes(window, sentences).items():
        sentence = sentences.get((window.doc_id, index))
        if sentence is None or not sentence.kind:
            continue
        kind, end = lead_in_part(kind_below, sentence.text, sentence.kind)
        if end:
            span = {START_INDEX: sentence.start, END_INDEX: sentence.start + end}
            entries.append({KIND: kind, TEXT: sentence.text[:end], **span})
    return entries


def lead_in_indexes(window: Window, sentences: SentencesByKey) -> dict[int, str]:
    """Return the index of each lead-in before a window, in order, with the kind of a sentence that it introduces."""
    doc_id, first = window.doc_id, window.first
    kinds: dict[int, str] = {}
    indexes: Iterable[int] = range(first, window.last + 1)
    while indexes:
        known = [sentences[doc_id, index] for index in indexes if (doc_id, index) in sentences]
        indexes = []
        for sentence in known:
            lead_in = sentence.lead_in
            if lead_in is not None and lead_in < first and lead_in not in kinds:
                kinds[lead_in] = sentence.kind
                indexes.append(lead_in)
    return {index: kinds[index] for index in sorted(kinds)[-MAX_LEAD_INS:]} if kinds else kinds


def window_lines(first: StoredSentence, last: StoredSentence) -> list[int] | None:
    """Return the first and the last line of sentences; ``None`` if they aren't known."""
    known = first.line and last.line
    return [first.line, last.line + line_breaks(last.text, 0, len(last.text))] if known else None


def places_in(document: Document) -> list[dict[str, Any]]:
    """Return copies of the places that ``also_in`` of a window names; none for what can't be places."""
    entries = placed_entries(document.metadata, ALSO_IN)
    return [own_values(place) for _, place in entries if isinstance(place.get(DOC_ID), str)]


def places_outside(places: Iterable[dict[str, Any]], doc_id: str, start: int, end: int) -> list[dict[str, Any]]:
    """Return places that aren't inside a window, each once.

    Args:
        places: Entries of ``also_in``, best first.
        doc_id: The document of the window.
        start: Its first code point.
        end: One past its last code point.
    """
    once: dict[tuple[str, int, int], dict[str, Any]] = {}
    for place in places:
        name, low, high = place[DOC_ID], place[START_INDEX], place[END_INDEX]
        if name != doc_id or not start <= low <= high <= end:
            once.setdefault((name, low, high), place)
    return list(once.values())


def _hit_entry(hit: Hit, sentence: StoredSentence) -> dict[str, Any]:
    entry = {
        SENTENCE_INDEX: hit.index,
        START_INDEX: sentence.start,
        END_INDEX: sentence.end,
        SCORE: hit.score,
    }
    return entry if hit.similarity is None else entry | {SIMILARITY: hit.similarity}


def _highest(key: str, runs: Sequence[WindowRun]) -> Any:
    """Return the highest number under a key; ``None`` if there is none."""
    values = [run.document.metadata.get(key) for run in runs]
    return max((value for value in values if not math.isnan(as_number(value))), key=as_number, default=None)


def _lead_ins_before(start: int, runs: Sequence[WindowRun]) -> list[dict[str, Any]]:
    """Return the distinct lead-ins that precede a merged window, in order."""
    by_start: dict[int, dict[str, Any]] = {}
    for run in runs:
        for span, entry in placed_entries(run.document.metadata, LEAD_INS):
            if span[1] <= start:
                by_start.setdefault(span[0], dict(entry))
    return [by_start[at] for at in sorted(by_start)][-MAX_LEAD_INS:]


def _cut_sentences(metadata: Mapping[str, Any], stretch: Span) -> list[list[int]]:
    start, end = stretch
    spans = read_spans(metadata.get(SENTENCE_SPANS))
    return [[max(start, low), min(end, high)] for low, high in spans if low < end and start < high] or [[start, end]]
