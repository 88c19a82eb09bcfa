"""Window Documents that come back: as runs of sentences, and cut to stretches of their text.

Users may have reranked, shortened or stored them. What can't be true together isn't read at all.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._primitives import Span
from langchain_sentence_window._validation import as_integer, as_number

from . import keys
from .joined_document import SPAN, PartSpan
from .metadata_values import SCALARS, is_index
from .source_parts import page_of


@dataclass(frozen=True, slots=True)
class RunHit:
    """A sentence of a window that was hit.

    Attributes:
        index: Its index among the document's sentences.
        start: Its first code point in the source.
        end: One past its last code point.
        score: Its score; higher is better.
        entry: Its entry in the window's metadata.
    """

    index: int
    start: int
    end: int
    score: float
    entry: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WindowRun:
    """A window Document whose text is a slice of its source.

    Attributes:
        document: The Document.
        rank: Its place among those that were given, from 0.
        doc_id: The source document.
        first: Index of its first sentence.
        last: Index of its last sentence, which is in the window.
        start: First code point in the source.
        end: One past the last code point.
        hits: At least one, in order of position.
        sentences: The span of each sentence; empty if it isn't known, which it must be if the document has parts.
        parts: Its places in the parts of the document, in order.
        separator: The white space up to the next sentence of its section; ``None`` if there is none or it isn't known.
    """

    document: Document
    rank: int
    doc_id: str
    first: int
    last: int
    start: int
    end: int
    hits: tuple[RunHit, ...]
    sentences: tuple[Span, ...]
    parts: tuple[PartSpan, ...]
    separator: str | None

    @property
    def text(self) -> str:
        """Its text."""
        return self.document.page_content

    @property
    def next_start(self) -> int | None:
        """Where the next sentence of its section starts; ``None`` if there is none or it isn't known."""
        return None if self.separator is None else self.end + len(self.separator)

    def reach(self) -> tuple[int, bool]:
        """Return how far it reaches, for comparing: its end, and whether it says what follows."""
        return self.end, self.separator is not None


def read_run(document: Document, rank: int) -> WindowRun | None:
    """Read a window; ``None`` for a Document that isn't one, or whose text or metadata was changed since."""
    metadata = document.metadata
    doc_id, numbers = metadata.get(keys.DOC_ID), read_span(metadata.get(keys.SENTENCES))
    span = read_span([metadata.get(keys.START_INDEX), metadata.get(keys.END_INDEX)])
    if not isinstance(doc_id, str) or numbers is None or span is None:
        return None
    (first, last), (start, end) = numbers, span
    hits, parts, sentences = _hits(metadata), read_parts(metadata), _spans(metadata.get(keys.SENTENCE_SPANS))
    if not hits or parts is None or sentences is None or (parts and not sentences):
        return None
    given = metadata.get(keys.SEPARATOR)
    separator = given if isinstance(given, str) else None
    run = WindowRun(document, rank, doc_id, first, last, start, end, hits, sentences, parts, separator)
    return run if _is_sound(run) else None


def is_rising(hits: Iterable[RunHit]) -> bool:
    """Return whether hits, in order of their indexes, stand in that order and apart."""
    return all(low.index < high.index and low.end <= high.start for low, high in pairwise(hits))


def fit(hits: Iterable[RunHit], run: WindowRun) -> bool:
    """Return whether hits of a window stand before, in and after another window as their indexes say."""
    return all(
        (hit.index < run.first) == (hit.start < run.start) == (hit.end <= run.start)
        and (hit.index > run.last) == (hit.start >= run.end) == (hit.end > run.end)
        for hit in hits
    )


def _is_sound(run: WindowRun) -> bool:
    """Return whether what a window says of itself can be true."""
    size = run.last - run.first + 1
    inside = all(
        run.first <= hit.index <= run.last
        and (hit.index == run.first) == (hit.start == run.start)
        and (hit.index == run.last) == (hit.end == run.end)
        for hit in run.hits
    )
    if not inside or run.end - run.start != len(run.text) or not is_rising(run.hits) or not fit(run.hits, run):
        return False
    if not run.sentences:
        return True
    ends = [run.start, *(end for span in run.sentences for end in span), run.end]
    places = [end for part in run.parts for end in (part.source_start, part.source_end)]
    return (
        len(run.sentences) == size
        and (ends[0], ends[-1]) == (ends[1], ends[-2])
        and all(low <= high for low, high in pairwise(ends))
        and all(run.sentences[hit.index - run.first] == (hit.start, hit.end) for hit in run.hits)
        and all(low <= high for low, high in pairwise([run.start, *places, run.end]))
    )


def _hits(metadata: Mapping[str, Any]) -> tuple[RunHit, ...]:
    """Read the hits of a window, in order; none if one of them can't be read."""
    given = metadata.get(keys.HITS)
    hits: list[RunHit] = []
    for each in given if isinstance(given, list | tuple) else []:
        entry = each if isinstance(each, dict) else {}
        index, score = as_integer(entry.get(keys.SENTENCE_INDEX)), as_number(entry.get(keys.SCORE))
        span = read_span([entry.get(keys.START_INDEX), entry.get(keys.END_INDEX)])
        if index is None or span is None or span[0] == span[1] or math.isnan(score):
            return ()
        hits.append(RunHit(index, *span, score, entry))
    return tuple(sorted(hits, key=lambda hit: hit.index))


def read_parts(metadata: Mapping[str, Any]) -> tuple[PartSpan, ...] | None:
    """Read a window's places in parts; ``None`` if they can't be read, nothing if the document has no parts."""
    given = metadata.get(keys.PARTS, ())
    found: list[PartSpan] = []
    for each in given if given == () or (isinstance(given, list) and given) else [None]:
        entry = each if isinstance(each, dict) else {}
        own, place = read_span([entry.get(keys.START_INDEX), entry.get(keys.END_INDEX)]), read_span(entry.get(SPAN))
        identity = {key: value for key, value in entry.items() if key not in (keys.START_INDEX, keys.END_INDEX, SPAN)}
        if own is None or place is None or own[1] - own[0] != place[1] - place[0]:
            return None
        if not all(value is None or isinstance(value, SCALARS) for value in identity.values()):
            return None
        found.append(PartSpan(identity, *own, place[0]))
    return tuple(found)


def _spans(given: object) -> tuple[Span, ...] | None:
    """Read a list of spans; ``None`` if it can't be read."""
    spans = [read_span(each) for each in given] if isinstance(given, list) else []
    found = tuple(span for span in spans if span is not None)
    return found if len(found) == len(spans) else None


def read_span(given: object) -> Span | None:
    """Read two numbers that don't fall; ``None`` for anything else."""
    low, high = map(as_integer, given) if isinstance(given, list | tuple) and len(given) == 2 else (None, None)  # noqa: PLR2004
    return (low, high) if low is not None and high is not None and 0 <= low <= high else None


def source_span(document: Document) -> Span | None:
    """Return a Document's span in its source; ``None`` if it isn't known, or its text isn't what stands there."""
    start = document.metadata.get(keys.START_INDEX)
    # LangChain's splitters write -1 for a text that they don't find again.
    if type(start) is not int or start < 0:
        return None
    length = len(document.page_content)
    # A document whose text isn't a slice of its source can't be cut by offsets.
    is_slice = as_integer(document.metadata.get(keys.END_INDEX, start + length)) == start + length
    return (start, start + length) if is_slice else None


def spans_of_sentences(document: Document) -> list[Span]:
    """Return the spans of a window's sentences in its text, in order; nothing if they aren't known."""
    own, given = source_span(document), document.metadata.get(keys.SENTENCE_SPANS)
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
    return read_span(document.metadata.get(keys.SENTENCES))


def best_hit(document: Document) -> Span | None:
    """Return the span of a window's best hit in its text; ``None`` if there is none."""
    own, given = source_span(document), document.metadata.get(keys.HITS)
    best: tuple[float, Span] | None = None
    for each in given if own is not None and isinstance(given, list | tuple) else []:
        hit: Mapping[str, Any] = each if isinstance(each, Mapping) else {}
        span, score = read_span([hit.get(keys.START_INDEX), hit.get(keys.END_INDEX)]), as_number(hit.get(keys.SCORE))
        is_inside = own is not None and span is not None and own[0] <= span[0] < span[1] <= own[1]
        if span is not None and is_inside and (best is None or score > best[0]):
            best = score, span
    return None if best is None or own is None else (best[1][0] - own[0], best[1][1] - own[0])


def pages_touched(document: Document) -> tuple[int, ...]:
    """Return the pages that a Document is on, from 0; none if they aren't known."""
    pages = document.metadata.get(keys.PAGES)
    if isinstance(pages, list) and all(map(is_index, pages)):
        return tuple(pages)
    page = None if keys.PARTS in document.metadata else page_of(document.metadata)
    return () if page is None else (page,)


def lines_touched(document: Document) -> tuple[int, ...]:
    """Return the first and the last line that a Document touches, from 1; none if they aren't known."""
    lines = read_span(document.metadata.get(keys.LINES)) if source_span(document) is not None else None
    return lines if lines is not None and lines[0] >= 1 else ()
