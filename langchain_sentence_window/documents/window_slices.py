"""Stretches of a window: where its sentences stand, its best hit, and the Document of a part of it.

Windows come back from users, who may have shortened or stored them. What can't be true together is not told at all.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._primitives import Span
from langchain_sentence_window._validation import as_integer, as_number
from langchain_sentence_window.documents.keys import END_INDEX, SEPARATOR, START_INDEX
from langchain_sentence_window.documents.parts.numbering import page_of
from langchain_sentence_window.documents.parts.spans import PartSpan, as_entries, page_labels_of, pages_of
from langchain_sentence_window.documents.values import is_index
from langchain_sentence_window.documents.window_metadata import (
    ALSO_IN,
    HITS,
    LEAD_INS,
    PAGE_LABELS,
    PAGES,
    PARTS,
    SCORE,
    SENTENCE_SPANS,
    SENTENCES,
    WINDOW_ID,
)
from langchain_sentence_window.documents.window_runs import cut_parts, read_parts, read_span

PER_SLICE_KEYS = frozenset(
    {START_INDEX, END_INDEX, SENTENCES, SENTENCE_SPANS, HITS, PARTS, PAGES, PAGE_LABELS}
    | {WINDOW_ID, SEPARATOR, LEAD_INS, ALSO_IN}
)
"""Keys of a window that aren't true of a part of it as they are."""


def source_span(document: Document) -> Span | None:
    """Return a Document's span in its source; ``None`` if it isn't known, or its text isn't what stands there."""
    start = document.metadata.get(START_INDEX)
    # LangChain's splitters write -1 for a text that they don't find again.
    if type(start) is not int or start < 0:
        return None
    length = len(document.page_content)
    # A document whose text isn't a slice of its source can't be cut by offsets.
    is_slice = as_integer(document.metadata.get(END_INDEX, start + length)) == start + length
    return (start, start + length) if is_slice else None


def spans_of_sentences(document: Document) -> list[Span]:
    """Return the spans of a window's sentences in its text, in order; nothing if they aren't known."""
    own, given = source_span(document), document.metadata.get(SENTENCE_SPANS)
    if own is None or not isinstance(given, list | tuple):
        return []
    text, found = document.page_content, list[Span]()
    for each in given:
        span = read_span(each)
        if span is None or not own[0] <= span[0] < span[1] <= own[1]:
            return []
        low, high = span[0] - own[0], span[1] - own[0]
        if not text[low:high].strip() or text[found[-1][1] if found else 0 : low].strip():
            return []
        found.append((low, high))
    is_rising = all(one[1] <= two[0] for one, two in pairwise(found))
    return found if found and is_rising and not text[found[-1][1] :].strip() else []


def sentence_numbers(document: Document) -> Span | None:
    """Return the indexes of a window's first and last sentence in its document; ``None`` if they aren't known."""
    return read_span(document.metadata.get(SENTENCES))


def best_hit(document: Document) -> Span | None:
    """Return the span of a window's best hit in its text; ``None`` if there is none."""
    own, given = source_span(document), document.metadata.get(HITS)
    best: tuple[float, Span] | None = None
    for each in given if own is not None and isinstance(given, list | tuple) else []:
        hit: Mapping[str, Any] = each if isinstance(each, Mapping) else {}
        span, score = read_span([hit.get(START_INDEX), hit.get(END_INDEX)]), as_number(hit.get(SCORE))
        is_inside = own is not None and span is not None and own[0] <= span[0] < span[1] <= own[1]
        if span is not None and is_inside and (best is None or score > best[0]):
            best = score, span
    return None if best is None or own is None else (best[1][0] - own[0], best[1][1] - own[0])


def pages_touched(document: Document) -> tuple[int, ...]:
    """Return the pages that a Document is on, from 0; none if they aren't known."""
    pages = document.metadata.get(PAGES)
    if isinstance(pages, list) and all(map(is_index, pages)):
        return tuple(pages)
    page = None if PARTS in document.metadata else page_of(document.metadata)
    return () if page is None else (page,)


def window_slice(document: Document, low: int, high: int) -> Document:
    """Return the Document of a part of a window: its text and place, its pages, and what the window says else.

    Args:
        document: The window.
        low: First code point of the part in the window's text.
        high: One past the last code point.
    """
    own, text = source_span(document), document.page_content[low:high]
    if own is not None:
        return narrowed_window(document, own[0] + low, own[0] + high, text)
    return Document(id=document.id, page_content=text, metadata=_others(document) | _pages(document, None))


def narrowed_window(document: Document, start: int, end: int, text: str) -> Document:
    """Return the Document of a stretch of a window's source, such as a part of the window or of a lead-in.

    Of a document with parts, each sentence that is known is one of its ``sentence_spans``, cut to the stretch.

    Args:
        document: The window, or any Document.
        start: The stretch's first code point in the source.
        end: One past its last code point.
        text: The text there.
    """
    metadata = _others(document) | {START_INDEX: start, END_INDEX: end} | _pages(document, (start, end))
    if PARTS in metadata:
        metadata[SENTENCE_SPANS] = _cut_sentences(document, start, end)
    return Document(id=document.id, page_content=text, metadata=metadata)


def _others(document: Document) -> dict[str, Any]:
    return {key: value for key, value in document.metadata.items() if key not in PER_SLICE_KEYS}


def _cut_sentences(document: Document, start: int, end: int) -> list[list[int]]:
    given = document.metadata.get(SENTENCE_SPANS)
    spans = [span for each in (given if isinstance(given, list) else []) if (span := read_span(each))]
    return [[max(start, low), min(end, high)] for low, high in spans if low < end and start < high] or [[start, end]]


def _pages(document: Document, span: Span | None) -> dict[str, Any]:
    """Return the metadata that tells of parts and pages, for a span of the source."""
    parts: tuple[PartSpan, ...] = read_parts(document.metadata) or ()
    if not parts or span is None:
        # What is on one page is on it with all of its parts.
        kept = {key: document.metadata.get(key) for key in (PAGES, PAGE_LABELS)}
        return {key: value for key, value in kept.items() if isinstance(value, list) and len(value) == 1}
    spans = cut_parts(parts, *span)
    made = {PARTS: as_entries(spans), PAGES: pages_of(spans), PAGE_LABELS: page_labels_of(spans)}
    return {key: value for key, value in made.items() if value}
