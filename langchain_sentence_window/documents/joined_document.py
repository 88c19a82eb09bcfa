"""A document joined from its parts, and where its text stands in each of them.

A sentence's metadata holds it as JSON text, as many stores keep only flat values: a list of ``[start, end]``, one for
each part that the sentence touches, in order. A third element names the part. The first part needs no name if the
sentence's own metadata has it, as they are of the same page.
"""

import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window.splitting.blocks import Block, Title, trim

from .keys import END_INDEX, PART_SPANS, START_INDEX
from .metadata_values import SCALARS, is_index
from .source_parts import IDENTITY_KEYS, PAGE_LABEL, PART, Part, page_of, time_of


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
    blocks: tuple[Block, ...] | None = None
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


def write_spans(joined: JoinedDocument, start: int, end: int, *, names_first: bool = False) -> str:
    """Write where a sentence stands in the parts of its document.

    Args:
        joined: The document; it has parts.
        start: The sentence's first code point.
        end: One past its last code point.
        names_first: Whether the first part is named too.
    """
    written: list[list[Any]] = []
    first = first_piece(joined, start)
    for piece in joined.pieces[first:]:
        if piece.start >= end:
            break
        low, high = trim(joined.text, max(start, piece.start), min(end, piece.end))
        if low == high:
            continue
        own = low - piece.start + piece.own_start
        name = _name(joined.parts[piece.part], piece.part, is_known=not (written or names_first))
        written.append([own, own + high - low, *([name] if name else [])])
    return _as_json(written)


def read_spans(written: str, metadata: Mapping[str, Any], text: str, start: int) -> list[PartSpan]:
    """Read what `write_spans` wrote.

    Args:
        written: The value in the sentence's metadata.
        metadata: The metadata of the sentence's source.
        text: The text of the sentence.
        start: Its first code point in the document.

    Raises:
        ValueError: The value can't be what `write_spans` wrote.
    """
    spans: list[PartSpan] = []
    at = 0
    for entry in _entries(written):
        low, high, *named = entry
        at = trim(text, at, len(text))[0]
        identity = named[0] if named else {key: metadata[key] for key in IDENTITY_KEYS if key in metadata}
        spans.append(PartSpan(identity, low, high, start + at))
        at += high - low
    if at != len(text):
        raise ValueError(f"{PART_SPANS} is {shown(written)}")
    return spans


def cut_spans(spans: Iterable[PartSpan], start: int, end: int) -> str:
    """Write the spans of a sentence, cut from those of its window."""
    return _as_json([[span.start, span.end, dict(span.identity)] for span in cut_parts(spans, start, end)])


def cut_parts(spans: Iterable[PartSpan], start: int, end: int) -> list[PartSpan]:
    """Cut places in parts to those of a span of the source, none empty."""
    found: list[PartSpan] = []
    for span in spans:
        low, high = max(start, span.source_start), min(end, span.source_end)
        if low < high:
            moved = span.start - span.source_start
            found.append(PartSpan(span.identity, low + moved, high + moved, low))
    return found


def joined_spans(spans: Iterable[PartSpan]) -> list[PartSpan]:
    """Join spans that follow each other in one part, with the same white space between them.

    Between the lines of a cue it may be other white space.
    """
    joined: list[PartSpan] = []
    for span in spans:
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.identity == span.identity
            and span.start - last.end == span.source_start - last.source_end >= 0
            and (span.start == last.end or time_of(span.identity) is None)
        ):
            joined[-1] = last._replace(end=span.end)
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
    return sorted({page for span in spans if (page := page_of(span.identity)) is not None})


def page_labels_of(spans: Sequence[PartSpan]) -> list[str]:
    """Return the labels printed on the pages of spans, each once and in order."""
    labels = (span.identity.get(PAGE_LABEL) for span in spans)
    return list(dict.fromkeys(str(label) for label in labels if label is not None))


def times_of(spans: Sequence[PartSpan]) -> list[float]:
    """Return when spans of subtitles are shown, from and to, in seconds; nothing for other spans."""
    times = [time for span in spans if (time := time_of(span.identity)) is not None]
    return [min(begins for begins, _ in times), max(ends for _, ends in times)] if times else []


def _name(part: Part, index: int, *, is_known: bool) -> dict[str, Any]:
    if not part.identity:
        return {PART: index} if part.start is None else {}
    return {} if is_known and all(key in IDENTITY_KEYS for key in part.identity) else dict(part.identity)


def _as_json(written: list[list[Any]]) -> str:
    return json.dumps(written, separators=(",", ":"))


def _entries(written: str) -> list[list[Any]]:
    try:
        entries = json.loads(written)
    except (ValueError, RecursionError):
        entries = None
    if not isinstance(entries, list) or not entries or not all(map(_is_entry, entries)):
        raise ValueError(f"{PART_SPANS} is {shown(written)}")
    return entries


def _is_entry(entry: object) -> bool:
    return (
        isinstance(entry, list)
        and len(entry) in (2, 3)
        and is_index(entry[0])
        and is_index(entry[1])
        and entry[0] < entry[1]
        and (
            len(entry) == 2  # noqa: PLR2004
            or (isinstance(entry[2], dict) and all(isinstance(each, SCALARS) for each in entry[2].values()))
        )
    )
