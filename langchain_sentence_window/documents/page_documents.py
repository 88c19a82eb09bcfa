"""Page Documents, which a loader makes of the pages of a file, and the sentences of windows on pages.

===================  =============================================================
key                  meaning
===================  =============================================================
``source``           the path of the file, or its name
``page``             the page's number, from 0
``page_label``       what is printed as its number, such as ``iv``, if the file says
``total_pages``      the number of pages of the file
``layout``           the blocks of the text, see `read_layout`
===================  =============================================================

All other keys are what the file says of itself, such as ``title``.

A window's ``parts`` say which stretch of it stands on which page, and where in that page's own text. A Document that is
one page, or a window of one, has no parts; its ``page`` is enough.
"""

import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import Span
from langchain_sentence_window._validation import as_integer
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.splitting.blocks import Block, trim

from .joined_document import SPAN
from .keys import END_INDEX, HITS, PARTS, SENTENCE_SPANS, SOURCE, START_INDEX
from .source_parts import LAYOUT, PAGE, PAGE_LABEL, TOTAL_PAGES, Continuation, write_layout
from .window_runs import read_parts, read_span

_OURS = frozenset({SOURCE, PAGE, PAGE_LABEL, TOTAL_PAGES, LAYOUT})


def page_document(
    text: str,
    blocks: Sequence[Block],
    continues: Continuation,
    *,
    source: str,
    page: int,
    total_pages: int,
    page_label: str | None = None,
    about: Mapping[str, str] | None = None,
) -> Document:
    """Make the Document of a page.

    Args:
        text: The text of the page.
        blocks: Its blocks, in order and disjoint.
        continues: How the first block begins.
        source: The path of the file, or its name.
        page: The page's number, from 0.
        total_pages: The number of pages of the file.
        page_label: What is printed as the page's number; ``None`` if the file doesn't say.
        about: What the file says of itself, by LangChain's names.
    """
    metadata: dict[str, str | int] = {key: value for key, value in (about or {}).items() if key not in _OURS}
    metadata |= {SOURCE: source, PAGE: page, TOTAL_PAGES: total_pages}
    if page_label is not None:
        metadata[PAGE_LABEL] = page_label
    metadata[LAYOUT] = write_layout(blocks, continues)
    return Document(page_content=text, metadata=metadata)


@dataclass(frozen=True, slots=True)
class PagePiece:
    """A stretch of a sentence on one page.

    Attributes:
        page: The page, from 0.
        label: What the file calls the page, such as ``iv``; ``None`` if the metadata doesn't say.
        start: First code point in the page's own text.
        end: One past the last code point.
        text: The text there.
    """

    page: int
    label: str | None
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class PagedSentence:
    """A sentence of a window, and the pages it stands on.

    Attributes:
        start: First code point in the document, as the window's ``start_index`` counts.
        end: One past the last code point.
        text: The sentence.
        is_hit: Whether the search found it.
        pieces: One for each page that it touches, in order.
    """

    start: int
    end: int
    text: str
    is_hit: bool
    pieces: tuple[PagePiece, ...]


def sentences_on_pages(window: Document) -> list[PagedSentence]:
    """Return the sentences of a window with the pages that they stand on.

    If the metadata has no spans of sentences, the hits count as sentences, and so does the text around each of them.

    Args:
        window: A window Document, a Document of one page, or a window of one.

    Raises:
        InvalidInputError: The metadata doesn't say on which pages the text stands, or can't be right.
    """
    text = window.page_content
    start = as_integer(window.metadata.get(START_INDEX)) or 0
    stretches = list(_stretches(window, start))
    ends = [at + len(stretch.text) for at, stretch in stretches]
    hits = {(low - start, high - start) for low, high in _hits(window.metadata)}
    return [
        PagedSentence(
            start + low,
            start + high,
            text[low:high],
            (low, high) in hits,
            tuple(_pieces(text, stretches, bisect_right(ends, low), low, high)),
        )
        for low, high in _sentences(window, start, hits)
    ]


def sentence_found_on_pages(
    window: Document, text: str, own: Span, read_page: Callable[[int], str]
) -> PagedSentence | None:
    """Return where a text stands that was shortened or rewritten since it was a window, or never said where it starts.

    It is looked for in what the window was of its pages: all of the window's text, which then has it in its place; else
    the text alone.

    Args:
        window: What is left of the window.
        text: A text in it.
        own: Its span in the window's text.
        read_page: Returns the text of a page.

    Returns:
        The text as one sentence; ``None`` if it isn't there, or more than once.
    """
    spans = _page_spans(window.metadata)
    for wanted, (low, high) in ((window.page_content, own), (text, (0, len(text)))):
        found = [
            (page, label, at + low, at + high, moved)
            for page, label, start, end, moved in spans
            for at in _places(read_page(page)[:end], wanted, start)
        ]
        if len(found) == 1:
            page, label, start, end, moved = found[0]
            piece = PagePiece(page, label, start, end, text)
            return PagedSentence(start + moved, end + moved, text, is_hit=False, pieces=(piece,))
    return None


def _places(text: str, wanted: str, start: int) -> list[int]:
    """Return up to two places of a text that isn't blank."""
    first = text.find(wanted, start) if wanted.strip() else -1
    second = text.find(wanted, first + 1) if first >= 0 else -1
    return [at for at in (first, second) if at >= 0]


def _page_spans(metadata: Mapping[str, Any]) -> list[tuple[int, str | None, int, int, int]]:
    """Return what a window was of its pages: the page, its label, the span there, and how far the document's is off."""
    if parts := read_parts(metadata):
        return [
            (_index(part.identity, PAGE), _label(part.identity), part.start, part.end, part.source_start - part.start)
            for part in parts
        ]
    span = read_span([metadata.get(START_INDEX), metadata.get(END_INDEX)]) or (0, sys.maxsize)
    return [(_index(metadata, PAGE), _label(metadata), *span, 0)]


def _pieces(
    text: str, stretches: Sequence[tuple[int, PagePiece]], first: int, low: int, high: int
) -> Iterator[PagePiece]:
    for at, stretch in islice(stretches, first, None):
        if at >= high:
            return
        start, end, moved = max(low, at), min(high, at + len(stretch.text)), stretch.start - at
        yield PagePiece(stretch.page, stretch.label, start + moved, end + moved, text[start:end])


def _stretches(window: Document, start: int) -> Iterator[tuple[int, PagePiece]]:
    """Yield the stretches of a window on one page each, and where each begins in the window's text."""
    metadata, text = window.metadata, window.page_content
    parts = metadata.get(PARTS)
    if parts is None:
        yield 0, PagePiece(_index(metadata, PAGE), _label(metadata), start, start + len(text), text)
        return
    if not isinstance(parts, list | tuple):
        raise _wrong(PARTS, parts)
    end = 0
    for part in parts:
        if not isinstance(part, Mapping):
            raise _wrong(PARTS, parts)
        page, low, high = _index(part, PAGE), _index(part, START_INDEX), _index(part, END_INDEX)
        at = _span(part[SPAN], SPAN)[0] - start if SPAN in part else trim(text, end, len(text))[0]
        before, end = end, at + high - low
        if not before <= at < end <= len(text):
            raise _wrong(PARTS, parts)
        yield at, PagePiece(page, _label(part), low, high, text[at:end])


def _sentences(window: Document, start: int, hits: set[Span]) -> list[Span]:
    """Return the sentences' spans in the window's text, trimmed."""
    text = window.page_content
    spans = window.metadata.get(SENTENCE_SPANS)
    if spans is None:
        edges = [0, *(edge for hit in sorted(hits) for edge in hit), len(text)]
        found = list(pairwise(edges))
    elif isinstance(spans, list | tuple):
        found = [(low - start, high - start) for low, high in (_span(each, SENTENCE_SPANS) for each in spans)]
    else:
        raise _wrong(SENTENCE_SPANS, spans)
    if any(not 0 <= low <= high <= len(text) for low, high in found):
        raise _wrong(SENTENCE_SPANS if spans is not None else HITS, spans)
    trimmed = [trim(text, low, high) for low, high in found]
    return [(low, high) for low, high in trimmed if low < high]


def _hits(metadata: Mapping[str, Any]) -> Iterator[Span]:
    hits = metadata.get(HITS) or ()
    if not isinstance(hits, Sequence) or not all(isinstance(hit, Mapping) for hit in hits):
        raise _wrong(HITS, hits)
    for hit in hits:
        yield _index(hit, START_INDEX), _index(hit, END_INDEX)


def _label(metadata: Mapping[str, Any]) -> str | None:
    label = metadata.get(PAGE_LABEL)
    return label if isinstance(label, str) else None


def _span(value: object, key: str) -> Span:
    if isinstance(value, list | tuple) and len(value) == 2:  # noqa: PLR2004
        low, high = map(as_integer, value)
        if low is not None and high is not None:
            return low, high
    raise _wrong(key, value)


def _index(metadata: Mapping[str, Any], key: str) -> int:
    value = as_integer(metadata.get(key))
    if value is not None and value >= 0:
        return value
    if key == PAGE and key not in metadata:
        raise InvalidInputError(
            "the metadata doesn't say on which page the text stands; give a window, or a page, of a PDF that was read "
            "with langchain_sentence_window.loaders.PDFLoader"
        )
    raise _wrong(key, metadata.get(key))


def _wrong(key: str, value: object) -> InvalidInputError:
    return InvalidInputError(
        f"{key} of the metadata is {shown(value)}, which can't be right; search for the window again"
    )
