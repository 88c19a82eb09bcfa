"""A document joined from its parts, and where its text stands in each of them.

A sentence's metadata holds it as JSON text, as many stores keep only flat values: a list of ``[start, end]``, one for
each part that the sentence touches, in order. A third element names the part. The first part needs no name if the
sentence's own metadata has it, as they are of the same page.
"""

import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window.splitting.blocks import Block, Title, trim

from .keys import END_INDEX, PART_SPANS, START_INDEX
from .metadata_values import SCALARS
from .source_parts import CUE_START, IDENTITY_KEYS, PAGE_LABEL, PART, Part, identity_in, page_of, time_of


class Piece(NamedTuple):
    """A stretch of the joined text that stands in one part.

    Attributes:
        start: First code point in the joined text.
        end: One past the last code point.
        part: The index of the part.
        own_start: First code point in the part, or in the text that the part was cut from.
    """

    start: int
    end: int
    part: int
    own_start: int


class Segment(NamedTuple):
    """A stretch of the joined text that is split into sentences by itself.

    Attributes:
        start: First code point.
        end: One past the last code point.
        blocks: Its blocks, if they are known; their positions count from the segment's start.
        headings: The headings above it that its parts' metadata says, outermost first.
    """

    start: int
    end: int
    blocks: list[Block] | None = None
    headings: tuple[Title, ...] = ()


@dataclass(frozen=True, slots=True)
class JoinedDocument:
    """A document with all its parts, or a Document that has none.

    Attributes:
        doc_id: Its name.
        text: Its text.
        parts: The Documents that it was made of, in order; pieces refer to them.
        pieces: Where the text of each part stands, in order; none if it wasn't made of parts.
        segments: Stretches of the text that are split apart from each other, in order.
        remarks: Remarks about odd parts, for a warning.
    """

    doc_id: str
    text: str
    parts: tuple[Part, ...]
    pieces: tuple[Piece, ...]
    segments: tuple[Segment, ...]
    remarks: tuple[str, ...] = ()

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata that all parts share."""
        return shared_metadata([part.document.metadata for part in self.parts])

    @property
    def document(self) -> Document:
        """The Document that a loader would have returned for the whole source."""
        return Document(id=self.doc_id, page_content=self.text, metadata=self.metadata)


def shared_metadata(each: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the metadata that all of some Documents have with the same values."""
    shared = dict(each[0])
    for metadata in each[1:]:
        if not shared:
            break
        shared = {
            key: value
            for key, value in shared.items()
            if key in metadata and type(metadata[key]) is type(value) and metadata[key] == value
        }
    return shared


_READER, _WRITER = json.JSONDecoder(), json.JSONEncoder(separators=(",", ":"))
"""Made once, as a document has thousands of sentences, and a query reads hundreds."""

SPAN = "span"
"""The key, in an entry of a window's parts, of the place in the joined text."""


class PartSpan(NamedTuple):
    """A stretch of a document that stands in one part.

    Attributes:
        identity: Metadata that names the part.
        start: First code point in the part's own text.
        end: One past the last code point.
        source_start: First code point in the document.
    """

    identity: Mapping[str, Any]
    start: int
    end: int
    source_start: int

    @property
    def source_end(self) -> int:
        """One past its last code point in the document."""
        return self.source_start + self.end - self.start


def first_piece(joined: JoinedDocument, start: int) -> int:
    """Return the index of the piece of a document that a position is in."""
    return max(0, bisect_right(joined.pieces, start, key=lambda piece: piece.start) - 1)


def write_part_spans(joined: JoinedDocument, first: int, start: int, end: int, *, names_first: bool = False) -> str:
    """Write where a sentence stands in the parts of its document.

    Args:
        joined: The document; it has parts.
        first: The index of the piece that the sentence begins in, see `first_piece`.
        start: The sentence's first code point.
        end: One past its last code point.
        names_first: Whether the first part is named too.
    """
    spans: list[list[Any]] = []
    for piece in islice(joined.pieces, first, None):
        if piece.start >= end:
            break
        low, high = trim(joined.text, max(start, piece.start), min(end, piece.end))
        if low == high:
            continue
        own = low - piece.start + piece.own_start
        part = joined.parts[piece.part]
        identity = part.identity if part.is_numbered else {PART: piece.part}
        # The metadata of the sentence, which is that of its first part, names that already.
        is_known = not spans and not names_first and identity.keys() <= set(IDENTITY_KEYS)
        spans.append([own, own + high - low] if is_known or not identity else [own, own + high - low, dict(identity)])
    return _as_json(spans)


def read_part_spans(written: str, metadata: Mapping[str, Any], text: str, start: int) -> list[PartSpan]:
    """Read what `write_part_spans` wrote.

    Args:
        written: The value in the sentence's metadata.
        metadata: The metadata of the sentence's source.
        text: The text of the sentence.
        start: Its first code point in the document.

    Raises:
        ValueError: The value can't be what `write_part_spans` wrote.
    """
    own_identity = identity_in(metadata)
    spans: list[PartSpan] = []
    at = 0
    try:
        entries, _ = _READER.raw_decode(written)
        for low, high, *names in entries:
            identity = names[0] if names else own_identity
            is_span = type(low) is int and type(high) is int and 0 <= low < high
            nested = [value for value in identity.values() if not isinstance(value, SCALARS)]
            if nested or not is_span:
                raise ValueError
            at = trim(text, at, len(text))[0] if spans else 0
            spans.append(PartSpan(identity, low, high, at + start))
            at += high - low
    except (ValueError, TypeError, AttributeError, RecursionError):
        at = -1
    if at != len(text):
        raise ValueError(f"{PART_SPANS} is {shown(written)}")
    return spans


def cut_spans(spans: Sequence[PartSpan], start: int, end: int) -> str:
    """Write the spans of a sentence, cut from those of its window."""
    return _as_json([[span.start, span.end, dict(span.identity)] for span in cut_parts(spans, start, end)])


def cut_parts(spans: Sequence[PartSpan], start: int, end: int) -> list[PartSpan]:
    """Cut places in parts, which are in order, to those of a span of the source, none empty."""
    cut: list[PartSpan] = []
    for span in islice(spans, bisect_right(spans, start, key=attrgetter("source_end")), None):
        low, high = max(start, span.source_start), min(end, span.source_end)
        if low >= high:
            break
        shift = span.start - span.source_start
        cut.append(PartSpan(span.identity, low + shift, high + shift, low))
    return cut


def joined_spans(spans: Iterable[PartSpan]) -> list[PartSpan]:
    """Join spans of one part that overlap, or follow each other with the same white space between them.

    Between the lines of a cue it may be other white space.
    """
    joined: list[PartSpan] = []
    for span in sorted(spans, key=attrgetter("source_start")):
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.identity == span.identity
            and last.start - last.source_start == span.start - span.source_start
            and (span.start <= last.end or CUE_START not in span.identity)
        ):
            joined[-1] = PartSpan(last.identity, last.start, max(last.end, span.end), last.source_start)
        else:
            joined.append(span)
    return joined


def as_entries(spans: Iterable[PartSpan]) -> list[dict[str, Any]]:
    """Return spans as a window's metadata shows them."""
    return [
        {
            **span.identity,
            START_INDEX: span.start,
            END_INDEX: span.end,
            SPAN: [span.source_start, span.source_end],
        }
        for span in spans
    ]


def pages_of(spans: Sequence[PartSpan]) -> list[int]:
    """Return the pages of spans, from 0, each once and in order."""
    pages = {page_of(span.identity) for span in spans}
    return sorted(page for page in pages if page is not None)


def page_labels_of(spans: Sequence[PartSpan]) -> list[str]:
    """Return the labels printed on the pages of spans, each once and in order."""
    labels = [span.identity.get(PAGE_LABEL) for span in spans]
    return list(dict.fromkeys([str(label) for label in labels if label is not None]))


def times_of(spans: Sequence[PartSpan]) -> list[float]:
    """Return when spans of subtitles are shown, from and to, in seconds; nothing for other spans."""
    times = [time for span in spans if (time := time_of(span.identity)) is not None]
    return [min(begins for begins, _ in times), max(ends for _, ends in times)] if times else []


def _as_json(written: list[list[Any]]) -> str:
    return _WRITER.encode(written)
