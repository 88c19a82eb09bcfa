"""Window Documents that come back: their places, their hits, and what can be merged again.

Users may have reranked, shortened or stored them. Contradictory metadata isn't read at all.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from langchain_core.documents import Document

from langchain_sentence_window._primitives import Span
from langchain_sentence_window._validation import as_integer, as_number

from .keys import (
    DOC_ID,
    END_INDEX,
    HITS,
    LINES,
    PAGES,
    PARTS,
    SCORE,
    SENTENCE_INDEX,
    SENTENCE_SPANS,
    SENTENCES,
    SEPARATOR,
    START_INDEX,
)
from .metadata_values import is_index
from .part_spans import SPAN, PartSpan
from .source_metadata import page_of

_PLACE = (START_INDEX, END_INDEX, SPAN)


class RunSentence(NamedTuple):
    """A sentence of a window Document.

    Attributes:
        start: First code point in the source.
        end: One past its last code point.
        text: Its text.
        separator: What is between it and the next sentence of its section; ``None`` if there is none, or it isn't
            known.
    """

    start: int
    end: int
    text: str
    separator: str | None


@dataclass(frozen=True, slots=True)
class WindowRun:
    """A window Document whose text is a slice of its source.

    Attributes:
        document: The Document.
        rank: Its place among those that were given, from 0.
        doc_id: The source document.
        sentences: Its sentences by their index in the document, in order.
        hits: The entries of its hits by the index of their sentence; at least one.
        parts: Its places in the parts of the document, in order.
    """

    document: Document
    rank: int
    doc_id: str
    sentences: Mapping[int, RunSentence]
    hits: Mapping[int, Mapping[str, Any]]
    parts: list[PartSpan]

    @property
    def start(self) -> int:
        """Its first code point in the source."""
        return next(iter(self.sentences.values())).start

    @property
    def end(self) -> int:
        """One past its last code point."""
        return self.start + len(self.document.page_content)


def read_run(document: Document, rank: int) -> WindowRun | None:
    """Read a window; ``None`` for a Document that isn't one, or whose text or metadata was changed since."""
    metadata, text = document.metadata, document.page_content
    doc_id, separator = metadata.get(DOC_ID), metadata.get(SEPARATOR)
    numbers, own, parts = sentence_numbers(document), source_span(document), parts_of_window(metadata)
    spans = read_spans(metadata.get(SENTENCE_SPANS))
    if not isinstance(doc_id, str) or numbers is None or own is None or parts is None or not spans:
        return None
    start, end = own
    by_index = dict(enumerate(spans, numbers[0]))
    hits = {
        index: entry
        for span, entry in placed_entries(metadata, HITS)
        if (index := as_integer(entry.get(SENTENCE_INDEX))) is not None
        and by_index.get(index) == span
        and not math.isnan(as_number(entry.get(SCORE)))
    }
    is_sound = (
        own == (spans[0][0], spans[-1][1])
        and max(by_index) == numbers[1]
        and _are_apart(spans)
        and hits
        and len(hits) == len(metadata[HITS])
        and _are_apart([(start, start), *((part.source_start, part.source_end) for part in parts), (end, end)])
    )
    if not is_sound:
        return None
    separators: list[str | None] = [text[one[1] - start : two[0] - start] for one, two in pairwise(spans)]
    separators.append(separator if isinstance(separator, str) else None)
    sentences = {
        index: RunSentence(low, high, text[low - start : high - start], after)
        for (index, (low, high)), after in zip(by_index.items(), separators, strict=True)
    }
    return WindowRun(document, rank, doc_id, sentences, hits, parts)


def parts_of_window(metadata: Mapping[str, Any]) -> list[PartSpan] | None:
    """Read a window's places in parts; ``None`` if they can't be read, nothing if the document has no parts."""
    if PARTS not in metadata:
        return []
    parts: list[PartSpan] = []
    for own, entry in placed_entries(metadata, PARTS):
        place = read_span(entry.get(SPAN))
        identity = {key: value for key, value in entry.items() if key not in _PLACE}
        if place is not None and own[1] - own[0] == place[1] - place[0]:
            parts.append(PartSpan(identity, own[0], *place))
    return parts if parts and len(parts) == len(metadata[PARTS]) else None


def placed_entries(metadata: Mapping[str, Any], key: str) -> list[tuple[Span, Mapping[str, Any]]]:
    """Read a list of dicts in a window's metadata, each with the span that it names; those without one are left out."""
    values = metadata.get(key)
    entries = [each for each in values if isinstance(each, Mapping)] if isinstance(values, list | tuple) else []
    spans = [read_span([each.get(START_INDEX), each.get(END_INDEX)]) for each in entries]
    return [(span, entry) for span, entry in zip(spans, entries, strict=True) if span is not None]


def read_spans(value: object) -> list[Span]:
    """Read a list of spans; nothing if one of them can't be read."""
    spans = [read_span(each) for each in value] if isinstance(value, list | tuple) else []
    known = [span for span in spans if span is not None]
    return known if len(known) == len(spans) else []


def read_span(value: object) -> Span | None:
    """Read two numbers that don't fall; ``None`` for anything else."""
    if not isinstance(value, list | tuple) or len(value) != 2:  # noqa: PLR2004
        return None
    low, high = as_integer(value[0]), as_integer(value[1])
    return (low, high) if low is not None and high is not None and 0 <= low <= high else None


def source_span(document: Document) -> Span | None:
    """Return a Document's span in its source; ``None`` if it isn't known, or its text isn't the text there."""
    start = document.metadata.get(START_INDEX)
    # LangChain's splitters write -1 for a text that they don't find again.
    if type(start) is not int or start < 0:
        return None
    end = start + len(document.page_content)
    # A document whose text isn't a slice of its source can't be cut by offsets.
    return (start, end) if as_integer(document.metadata.get(END_INDEX, end)) == end else None


def spans_of_sentences(document: Document) -> list[Span]:
    """Return the spans of a window's sentences in its text, in order; nothing if they aren't known."""
    spans = _in_text(document, read_spans(document.metadata.get(SENTENCE_SPANS)))
    return spans if _are_apart(spans) else []


def sentence_numbers(document: Document) -> Span | None:
    """Return the indexes of a window's first and last sentence in its document; ``None`` if they aren't known."""
    return read_span(document.metadata.get(SENTENCES))


def hit_spans(document: Document) -> list[Span]:
    """Return the spans of a window's hits in its text; none for a text that isn't a slice of its source."""
    return _in_text(document, [span for span, _ in placed_entries(document.metadata, HITS)])


def best_hit(document: Document) -> Span | None:
    """Return the span of a window's best hit in its text; ``None`` if there is none."""
    scores = [(as_number(entry.get(SCORE)), span) for span, entry in placed_entries(document.metadata, HITS)]
    known = [(score, span) for score, span in scores if not math.isnan(score)]
    best = _in_text(document, [max(known, key=lambda each: each[0])[1]]) if known else []
    return best[0] if best else None


def pages_touched(document: Document) -> tuple[int, ...]:
    """Return the pages that a Document is on, from 0; none if they aren't known."""
    pages = document.metadata.get(PAGES)
    if isinstance(pages, list) and all(map(is_index, pages)):
        return tuple(pages)
    page = None if PARTS in document.metadata else page_of(document.metadata)
    return () if page is None else (page,)


def lines_touched(document: Document) -> tuple[int, ...]:
    """Return the first and the last line that a Document touches, from 1; none if they aren't known."""
    lines = read_span(document.metadata.get(LINES)) if source_span(document) is not None else None
    return lines if lines is not None and lines[0] >= 1 else ()


def _in_text(document: Document, spans: list[Span]) -> list[Span]:
    """Return spans of the source as spans of a Document's text; nothing if one of them isn't all in it."""
    own = source_span(document)
    if own is None or not all(own[0] <= low < high <= own[1] for low, high in spans):
        return []
    return [(low - own[0], high - own[0]) for low, high in spans]


def _are_apart(spans: list[Span]) -> bool:
    """Return whether spans are in order and none overlaps the next."""
    return all(one[0] <= one[1] <= two[0] for one, two in pairwise(spans))
