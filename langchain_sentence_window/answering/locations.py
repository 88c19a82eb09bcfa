"""Where a text is from: the name, title and address of its source, its span, pages and heading; stretches of sources.

A location is always on one line.
"""

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from langchain_core.documents import Document

from langchain_sentence_window._primitives import Span, grown
from langchain_sentence_window._validation import as_number
from langchain_sentence_window.documents import keys
from langchain_sentence_window.documents.metadata_values import is_index
from langchain_sentence_window.documents.source_metadata import PAGE_LABEL, ROW, SHEET, SLIDE, TITLE
from langchain_sentence_window.documents.splitter import SentenceSplitter
from langchain_sentence_window.documents.window_documents import narrowed_window, read_lead_ins, window_slice
from langchain_sentence_window.documents.window_fields import places_in
from langchain_sentence_window.documents.window_runs import (
    best_hit,
    lines_touched,
    pages_touched,
    sentence_numbers,
    source_span,
    spans_of_sentences,
)
from langchain_sentence_window.ranking.relevance import DOUBTFUL
from langchain_sentence_window.splitting.blocks import trim

from .citation_format import on_one_line

MAY_NOT_ANSWER = "These passages may not answer the question."
"""Precedes windows whose ``relevance`` is low, for people and models."""


def doubt_about(windows: Sequence[Document]) -> str:
    """Return `MAY_NOT_ANSWER` if the relevance of all windows is low; else an empty string."""
    given = [as_number(each.metadata.get(keys.RELEVANCE)) for each in windows]
    return MAY_NOT_ANSWER if given and all(each < DOUBTFUL for each in given) else ""


MAX_LABEL_CHARS = 20
"""The most characters that a location shows of a page's label."""

MAX_OTHER_PLACES = 3
"""The most other documents with the same text that are named."""

MAX_NAME_CHARS = 300
"""The most characters that a location shows of a file's name, and of a heading."""


def describe_location(document: Document) -> str:
    """Return the location of a document: ``file:start-end (heading > path)``, as far as it is known.

    A window with pages has these instead of its span: ``file, pp. 4–5 (heading > path)``. They are the labels printed
    on the pages, if the loader knows them, else numbers from 1. A window of subtitles has the time:
    ``file, 00:01:12–00:01:19``. A window of slides or rows has ``file, slide 4`` or ``file, sheet Costs, rows 12–14``,
    and one of a text file ``file, lines 12–14``. A Document that was shortened or rewritten, or has no start, has no
    span, but its page if it has one.

    The result is on one line. The file's name and the heading are cut to `MAX_NAME_CHARS` characters.
    """
    location = on_one_line(display_name(document), MAX_NAME_CHARS) + (
        numbered_place(document)
        or _pages(document)
        or _time_range(document)
        or _line_range(document)
        or _character_range(document)
    )
    heading = on_one_line(_text_or_empty(document.metadata.get(keys.HEADING)), MAX_NAME_CHARS)
    return f"{location} ({heading})" if heading else location


def numbered_place(document: Document) -> str:
    """Return the slides or the rows of a window, as ``, slides 4–5`` or ``, sheet Costs, row 12``; nothing without.

    The rows of CSV have no name of a sheet.
    """
    given = document.metadata.get(keys.PARTS)
    found: dict[str, list[int]] = {}
    for part in given if isinstance(given, list) else []:
        each: dict[str, Any] = part if isinstance(part, dict) else {}
        sheet, kind, number = each.get(SHEET), ", slide", each.get(SLIDE)
        if isinstance(sheet, str):
            name = on_one_line(sheet, MAX_NAME_CHARS)
            kind, number = f", sheet {name}, row" if name else ", row", each.get(ROW)
        if isinstance(number, int) and is_index(number):
            found.setdefault(kind, []).append(number)
    spans = [(kind, min(numbers), max(numbers)) for kind, numbers in found.items()]
    return "".join(f"{kind} {first}" if first == last else f"{kind}s {first}–{last}" for kind, first, last in spans)


def also_in(document: Document) -> str:
    """Return the names of other documents that hold the text of a window; empty if none is known."""
    own = display_name(document)
    names = (_text_or_empty(each.get(keys.SOURCE)) or each[keys.DOC_ID] for each in places_in(document))
    others = [on_one_line(name, MAX_NAME_CHARS) for name in dict.fromkeys(names) if name != own]
    more = [f"{len(others) - MAX_OTHER_PLACES} more"] if len(others) > MAX_OTHER_PLACES else []
    return ", ".join([*others[:MAX_OTHER_PLACES], *more])


def _pages(document: Document) -> str:
    """Return the first and the last page of a Document, as ``, p. 4`` or ``, pp. 4–5``; nothing if it has no pages."""
    metadata = document.metadata
    pages, labels = metadata.get(keys.PAGES), metadata.get(keys.PAGE_LABELS)
    if keys.PAGES not in metadata and source_span(document) is None:
        pages, labels = list(pages_touched(document)), [metadata.get(PAGE_LABEL)]
    if not isinstance(pages, list) or not pages or not all(map(is_index, pages)):
        return ""
    shown = [str(page + 1) for page in pages]
    if isinstance(labels, list) and len(labels) == len(pages) and all(map(_text_or_empty, labels)):
        shown = [on_one_line(_text_or_empty(label), MAX_LABEL_CHARS) for label in labels]
    return f", p. {shown[0]}" if len(shown) == 1 else f", pp. {shown[0]}–{shown[-1]}"


def times_of_window(document: Document) -> list[float]:
    """Return when a window is shown, from and to, in seconds; nothing if it is no window of subtitles."""
    times = document.metadata.get(keys.TIMES)
    seconds = [as_number(each) for each in times] if isinstance(times, list) else []
    return seconds if len(seconds) == 2 and all(0 <= each < math.inf for each in seconds) else []  # noqa: PLR2004


def _time_range(document: Document) -> str:
    """Return when a window is shown, as ``, 00:01:12–00:01:19``; nothing if it is no window of subtitles."""
    seconds = times_of_window(document)
    if not seconds:
        return ""
    begins, ends = (f"{int(each) // 3600:02}:{int(each) // 60 % 60:02}:{int(each) % 60:02}" for each in seconds)
    return f", {begins}" if begins == ends else f", {begins}–{ends}"


def _line_range(document: Document) -> str:
    """Return the lines of a Document of a text file, as ``, line 12`` or ``, lines 12–14``; nothing of others."""
    match lines_touched(document):
        case (first, last):
            return f", line {first}" if first == last else f", lines {first}–{last}"
        case _:
            return ""


def _character_range(document: Document) -> str:
    """Return where a Document is in its source, as ``:120-260``; nothing if that isn't known."""
    span = source_span(document)
    return f":{span[0]}-{span[1]}" if span else ""


def offsets_key(document: Document, start: int, begun: dict[tuple[str, int], str]) -> str:
    """Return a key for the text that a document's offsets count in.

    The key is the ``doc_id``. Without one it is the rest of the metadata, as each page of a file may be counted
    from 0. Two documents that share all this and the start, but differ in text, are of two texts.

    Args:
        document: The document.
        start: Its first code point in that text.
        begun: The first text seen for each key and start; a new one is added.
    """
    name, text = text_name(document), document.page_content
    before = begun.setdefault((name, start), text)
    is_other = not (before.startswith(text) or text.startswith(before))
    return repr((name, text)) if is_other else name


def text_name(document: Document) -> str:
    """Return the ``doc_id`` of a document; without one, its name and the rest of its metadata."""
    own = {str(key): _text_or_empty(value) for key, value in document.metadata.items() if key not in keys.CONTRACT_KEYS}
    return _text_or_empty(document.metadata.get(keys.DOC_ID)) or repr((display_name(document), sorted(own.items())))


def display_name(document: Document) -> str:
    """Return what a document is called in its metadata, else its id, as it is; never blank."""
    metadata = document.metadata
    given: Sequence[object] = (metadata.get(keys.SOURCE), metadata.get(keys.DOC_ID), document.id)
    return next((text for text in map(_text_or_empty, given) if text.strip()), "source")


def _text_or_empty(value: object) -> str:
    """Return a value as text; an empty text for ``None`` and for what can't be written."""
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - a type's own `__str__` may raise anything
        return ""


MAX_ADDRESS_CHARS = 2_000
"""The most characters of an address."""

_ADDRESS_KEYS = ("url", keys.SOURCE)
_ADDRESS = re.compile(r"(?:https?|file)://[^\s<>\"\\^`{|}\x00-\x1f\x7f-\x9f\ud800-\udfff]+", re.IGNORECASE)


def doc_id_of(document: Document) -> str | None:
    """Return the ``doc_id`` of a source; ``None`` if its metadata has none."""
    doc_id = document.metadata.get(keys.DOC_ID)
    return doc_id if isinstance(doc_id, str) else None


def source_address(document: Document) -> str | None:
    """Return the address of a source, as its metadata has it under ``url`` or ``source``.

    Only whole addresses of ``http``, ``https`` and ``file`` count, as an interface may show them as links.
    """
    for key in _ADDRESS_KEYS:
        given = document.metadata.get(key)
        is_address = isinstance(given, str) and len(given) <= MAX_ADDRESS_CHARS and _ADDRESS.fullmatch(given)
        if isinstance(given, str) and is_address and _has_host(given):
            return given
    return None


def source_name(document: Document) -> str:
    """Return what a source is called in its metadata, such as a path; on one line and never empty."""
    return on_one_line(display_name(document), MAX_NAME_CHARS) or "source"


def document_title(document: Document) -> str:
    """Return the title of the document that a source is from, else its name; on one line and never empty."""
    title = document.metadata.get(TITLE)
    return (on_one_line(title, MAX_NAME_CHARS) if isinstance(title, str) else "") or source_name(document)


def source_title(document: Document) -> str:
    """Return the title of a source: that of its document, its pages and its heading."""
    left_out = keys.START_INDEX, keys.END_INDEX, keys.LINES
    metadata = {key: value for key, value in document.metadata.items() if key not in left_out}
    return describe_location(Document(page_content="", metadata=metadata | {keys.SOURCE: document_title(document)}))


def _has_host(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return bool(parts.hostname) or (parts.scheme == "file" and parts.path.startswith("/"))
    except ValueError:  # such as brackets that aren't closed
        return False


MAX_EXCERPT_CHARS = 500
"""The most characters that are shown of a source that is cited as a whole."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of a source that is cited.

    Attributes:
        text: The text, character for character.
        start: First code point in the source document; ``None`` if it isn't known.
        end: One past the last code point.
        sentences: Index of the first and the last sentence that it touches; ``None`` if they aren't known.
        pages: The pages that it touches, from 0; empty if they aren't known.
        lines: The first and the last line of its text file that it touches, from 1; empty if they aren't known.
        location: Where it is from, as `describe_location` writes it.
    """

    text: str
    start: int | None
    end: int | None
    sentences: Span | None
    pages: tuple[int, ...]
    lines: tuple[int, ...]
    location: str


@dataclass(frozen=True, slots=True)
class SourceSentences:
    """The sentences of a source.

    Attributes:
        spans: The span of each in the source's text, in order.
        first: The index of the first in its document; ``None`` if it isn't known.
    """

    spans: Sequence[Span]
    first: int | None

    def touched(self, low: int, high: int) -> range:
        """Return which sentences a span of the source's text touches, by their place in `spans`."""
        return range(
            bisect_right(self.spans, low, key=lambda span: span[1]),
            bisect_left(self.spans, high, key=lambda span: span[0]),
        )

    def numbers(self, low: int, high: int) -> Span | None:
        """Return the indexes of the first and the last sentence that a span touches; ``None`` if they aren't known."""
        touched = self.touched(low, high)
        return (self.first + touched[0], self.first + touched[-1]) if self.first is not None and touched else None


class SourceTexts:
    """Stretches of several sources, by their numbers; each source is cut into sentences once."""

    def __init__(self, documents: Sequence[Document]) -> None:
        """Take the sources; the first has the number 1."""
        self._documents = documents
        self._sentences: dict[int, SourceSentences] = {}
        self._excerpts: dict[int, Stretch] = {}

    def stretch(self, number: int, low: int, high: int) -> Stretch:
        """Return a stretch of a source by its span in the source's text."""
        return stretch_of(self._documents[number - 1], low, high, self.sentences(number))

    def sentences(self, number: int) -> SourceSentences:
        """Return the sentences of a source."""
        if number not in self._sentences:
            self._sentences[number] = sentences_of(self._documents[number - 1])
        return self._sentences[number]

    def own(self, number: int, span: Span, text: str) -> Stretch | None:
        """Return a stretch of a source by its span in the source's text; ``None`` if another text is there."""
        return self.stretch(number, *span) if self._documents[number - 1].page_content[slice(*span)] == text else None

    def placed(self, number: int, start: int | None, text: str) -> Stretch | None:
        """Find a text in a source or in one of its lead-ins; ``None`` if it isn't there.

        Args:
            number: The source.
            start: First code point of the text in the source document, or in the source's own text if it isn't known
                where that starts. If it is ``None`` or wrong then, the text must occur in the source once.
            text: The text.
        """
        document = self._documents[number - 1]
        own, whole = source_span(document), document.page_content
        if not text.strip():
            return None
        if start is not None:
            low = start - (own[0] if own is not None else 0)
            if low >= 0 and whole.startswith(text, low):
                return self.stretch(number, low, low + len(text))
        if own is not None and start is not None:
            led = (each for each in read_lead_ins(document) if each[0][0] <= start and start + len(text) <= each[0][1])
            for span, lead_in in led:
                if lead_in[start - span[0] :].startswith(text):
                    return lead_in_stretch(document, (start, start + len(text)), text)
            return None
        low = whole.find(text)
        is_unique = low >= 0 and whole.find(text, low + 1) < 0
        return self.stretch(number, low, low + len(text)) if is_unique else None

    def excerpt(self, number: int) -> Stretch:
        """Return what is shown of a source that is cited as a whole: at most `MAX_EXCERPT_CHARS` characters of it."""
        if number not in self._excerpts:
            span = _excerpt_span(self._documents[number - 1], self.sentences(number))
            self._excerpts[number] = self.stretch(number, *span)
        return self._excerpts[number]


def sentences_of(document: Document) -> SourceSentences:
    """Return the sentences of a source: of a window as they are stored; any other Document is split.

    They cover all of the text except the white space around each of them.
    """
    spans = spans_of_sentences(document)
    if not spans:
        return SourceSentences(sentence_spans_of(document.page_content), None)
    numbers = sentence_numbers(document)
    is_numbered = numbers is not None and numbers[1] - numbers[0] + 1 == len(spans)
    return SourceSentences(spans, numbers[0] if numbers is not None and is_numbered else None)


def stretch_of(document: Document, low: int, high: int, sentences: SourceSentences | None = None) -> Stretch:
    """Return a stretch of a source.

    Args:
        document: The source.
        low: First code point in the source's text.
        high: One past the last code point.
        sentences: The source's sentences, if they are at hand.
    """
    sentences, own = sentences or sentences_of(document), source_span(document)
    part = window_slice(document, low, high)
    return Stretch(
        text=part.page_content,
        start=None if own is None else own[0] + low,
        end=None if own is None else own[0] + high,
        sentences=sentences.numbers(low, high),
        pages=pages_touched(part),
        lines=lines_touched(part),
        location=describe_location(part),
    )


def lead_in_stretch(document: Document, span: Span, text: str) -> Stretch:
    """Return a lead-in of a window as a stretch."""
    return Stretch(text, *span, None, (), (), describe_location(narrowed_window(document, *span, text)))


def sentence_spans_of(text: str) -> list[Span]:
    """Return the spans of a text's sentences, at least one if the text isn't blank."""
    spans = plain_splitter().spans(text) or [trim(text, 0, len(text))]
    return [span for span in spans if span[0] < span[1]]


def _excerpt_span(document: Document, sentences: SourceSentences) -> Span:
    """Return the span of a source's text, or of as many whole sentences around its best hit as there is room for."""
    text, spans = document.page_content, sentences.spans
    low, high = trim(text, 0, len(text))
    if high - low <= MAX_EXCERPT_CHARS:
        return low, high
    hit = best_hit(document)
    touched = sentences.touched(*hit) if hit is not None else range(0)
    first = touched[0] if touched else 0
    low, high = spans[first]
    if high - low > MAX_EXCERPT_CHARS:
        cut = text.rfind(" ", low + MAX_EXCERPT_CHARS // 2, low + MAX_EXCERPT_CHARS)
        return trim(text, low, cut if cut > 0 else low + MAX_EXCERPT_CHARS)

    def fits(first: int, last: int) -> bool:
        return first >= 0 and last < len(spans) and spans[last][1] - spans[first][0] <= MAX_EXCERPT_CHARS

    first, last = grown((first, first), fits)
    return spans[first][0], spans[last][1]


@cache
def plain_splitter() -> SentenceSplitter:
    """Return a splitter with the usual settings."""
    return SentenceSplitter()
