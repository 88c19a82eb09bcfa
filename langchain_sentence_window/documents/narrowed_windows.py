"""A window narrowed to a stretch of it, such as a quotation: its places in pages are those of the stretch alone."""

from collections.abc import Mapping
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window.documents.keys import END_INDEX, SEPARATOR, START_INDEX
from langchain_sentence_window.documents.parts.numbering import page_of
from langchain_sentence_window.documents.parts.spans import PartSpan, as_entries, page_labels_of, pages_of
from langchain_sentence_window.documents.window_metadata import (
    ALSO_IN,
    HITS,
    LEAD_INS,
    PAGE_LABELS,
    PAGES,
    PARTS,
    SENTENCE_SPANS,
    SENTENCES,
    WINDOW_ID,
)
from langchain_sentence_window.documents.window_runs import read_parts, read_span

_OF_THE_WINDOW = (SENTENCES, HITS, WINDOW_ID, SEPARATOR, LEAD_INS, ALSO_IN, PARTS, PAGES, PAGE_LABELS, SENTENCE_SPANS)


def narrowed_window(document: Document, start: int, end: int, text: str) -> Document:
    """Return a Document of a stretch of a window's source.

    Its metadata is the window's, without what holds for the window alone. Each sentence of it that is known is one of
    its ``sentence_spans``, cut to the stretch.

    Args:
        document: The window, or any Document.
        start: The stretch's first code point in the source.
        end: One past its last code point.
        text: The text there.
    """
    given = document.metadata
    metadata = {key: value for key, value in given.items() if key not in _OF_THE_WINDOW}
    metadata |= {START_INDEX: start, END_INDEX: end}
    if PARTS in given:
        spans = _cut_parts(given, start, end)
        made = {PARTS: as_entries(spans), PAGES: pages_of(spans), PAGE_LABELS: page_labels_of(spans)}
        metadata |= {key: value for key, value in made.items() if value}
        metadata[SENTENCE_SPANS] = _cut_sentences(given, start, end)
    return Document(page_content=text, metadata=metadata)


def pages_touched(document: Document) -> tuple[int, ...]:
    """Return the pages of a narrowed window, from 0; none if they aren't known."""
    pages = document.metadata.get(PAGES)
    if isinstance(pages, list):
        return tuple(pages)
    page = None if PARTS in document.metadata else page_of(document.metadata)
    return () if page is None else (page,)


def _cut_parts(metadata: Mapping[str, Any], start: int, end: int) -> list[PartSpan]:
    cut = list[PartSpan]()
    for part in read_parts(metadata) or ():
        low, high = max(start, part.source_start), min(end, part.source_end)
        if low < high:
            moved = part.start - part.source_start
            cut.append(PartSpan(part.identity, low + moved, high + moved, low))
    return cut


def _cut_sentences(metadata: Mapping[str, Any], start: int, end: int) -> list[list[int]]:
    given = metadata.get(SENTENCE_SPANS)
    spans = [span for each in (given if isinstance(given, list) else []) if (span := read_span(each))]
    cut = [[max(start, low), min(end, high)] for low, high in spans if low < end and start < high]
    return cut or [[start, end]]
