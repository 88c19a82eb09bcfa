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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._primitives import Span
from langchain_sentence_window._validation import as_integer
from langchain_sentence_window.documents import (
    END_INDEX,
    LAYOUT,
    PAGE,
    PARTS,
    SENTENCE_SPANS,
    SOURCE,
    START_INDEX,
    TOTAL_PAGES,
    Continuation,
    shown,
    write_layout,
)
from langchain_sentence_window.documents.keys import HITS
from langchain_sentence_window.documents.metadata_values import is_index
from langchain_sentence_window.documents.part_spans import PartSpan, cut_parts
from langchain_sentence_window.documents.source_metadata import PAGE_LABEL
from langchain_sentence_window.documents.window_runs import parts_of_window, placed_entries, read_span, read_spans
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.splitting import Block, trim

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

    If the metadata has no spans of sentences, as that of a page, all of the text counts as one sentence.

    Args:
        window: A window Document, a Document of one page, or a window of one.

    Raises:
        InvalidInputError: The metadata doesn't say on which pages the text stands, or is invalid.
    """
    text, metadata = window.page_content, window.metadata
    start = as_integer(metadata.get(START_INDEX)) or 0
    end = start + len(text)
    places = _places_on_pages(metadata, start, end)
    hits = {span for span, _ in placed_entries(metadata, HITS)}
    spans = read_spans(metadata[SENTENCE_SPANS]) if SENTENCE_SPANS in metadata else [(start, end)]
    if not spans or not all(start <= low <= high <= end for low, high in spans):
        raise _invalid(metadata, SENTENCE_SPANS)
    sentences: list[PagedSentence] = []
    for low, high in spans:
        first, last = trim(text, low - start, high - start)
        span = start + first, start + last
        pieces = [
            _piece(place, text[place.source_start - start : place.source_end - start])
            for place in cut_parts(places, *span)
        ]
        if first < last:
            sentences.append(PagedSentence(*span, text[first:last], span in hits, tuple(pieces)))
    return sentences


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
    span = read_span([window.metadata.get(START_INDEX), window.metadata.get(END_INDEX)])
    places = _places_on_pages(window.metadata, *(span or (0, sys.maxsize)))
    for sought, (low, high) in ((window.page_content, own), (text, (0, len(text)))):
        matches = [
            (place, at + low, at + high)
            for place in places
            for at in _find_two_places(sought, read_page(place.identity[PAGE])[: place.end], place.start)
        ]
        if len(matches) == 1:
            place, start, end = matches[0]
            shift = place.source_start - place.start
            span = start + shift, end + shift
            return PagedSentence(
                *span, text, is_hit=False, pieces=(_piece(PartSpan(place.identity, start, *span), text),)
            )
    return None


def _find_two_places(sought: str, text: str, start: int) -> list[int]:
    """Return up to two places of a text that isn't blank."""
    first = text.find(sought, start) if sought.strip() else -1
    second = text.find(sought, first + 1) if first >= 0 else -1
    return [at for at in (first, second) if at >= 0]


def _piece(place: PartSpan, text: str) -> PagePiece:
    label = place.identity.get(PAGE_LABEL)
    return PagePiece(place.identity[PAGE], label if isinstance(label, str) else None, place.start, place.end, text)


def _places_on_pages(metadata: Mapping[str, Any], start: int, end: int) -> list[PartSpan]:
    """Return which stretch of a window stands on which page, in order.

    Args:
        metadata: The metadata of the window.
        start: The window's first code point in the document.
        end: One past its last code point.

    Raises:
        InvalidInputError: The metadata doesn't say it, or is invalid.
    """
    parts = parts_of_window(metadata)
    places = parts or [PartSpan(metadata, start, start, end)]
    if parts is None:
        raise _invalid(metadata, PARTS)
    for place in places:
        if not is_index(place.identity.get(PAGE)):
            if PAGE in place.identity:
                raise _invalid(place.identity, PAGE)
            raise InvalidInputError(
                "the metadata doesn't say on which page the text stands; give a window, or a page, of a PDF that was "
                "read with sentence_window.files.PDFLoader"
            )
    return places


def _invalid(metadata: Mapping[str, Any], key: str) -> InvalidInputError:
    return InvalidInputError(
        f"{key} of the metadata is {shown(metadata.get(key))}, which is invalid; search for the window again"
    )
