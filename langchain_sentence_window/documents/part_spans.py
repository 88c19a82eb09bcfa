"""Where the text of a document is in its parts, as sentences and windows say it.

A sentence's metadata holds it as JSON text, as many stores keep only flat values: a list of ``[at, start, end]``, one
for each part that the sentence touches, in order. ``at`` counts in the part, and the others count in the sentence. A
fourth element names the part, unless the sentence's own metadata does. A window's ``parts`` are a list of dicts.
"""

import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple

from langchain_sentence_window._display import shown
from langchain_sentence_window.splitting.blocks import trim

from .keys import END_INDEX, PART_SPANS, START_INDEX
from .source_metadata import CUE_START

PART = "part"
"""The key of a part's position, where nothing else distinguishes the parts of a source."""

SPAN = "span"
"""The key, in an entry of a window's parts, of the place in the joined text."""

_READER, _WRITER = json.JSONDecoder(), json.JSONEncoder(separators=(",", ":"))
"""Made once, as a document has thousands of sentences, and a query reads hundreds."""


class PartSpan(NamedTuple):
    """A stretch of a document that is in one part, character for character.

    Attributes:
        identity: Metadata that names the part.
        start: First code point in the part, or in the text that the part was cut from.
        source_start: First code point in the document.
        source_end: One past its last code point in the document.
        number: The index of the part in its `JoinedDocument`; 0 where it isn't known.
    """

    identity: Mapping[str, Any]
    start: int
    source_start: int
    source_end: int
    number: int = 0

    @property
    def end(self) -> int:
        """One past its last code point in the part."""
        return self.start + self.source_end - self.source_start


def span_at(spans: Sequence[PartSpan], position: int) -> PartSpan:
    """Return the last of a document's spans that doesn't begin after a position, else the first."""
    return spans[max(0, bisect_right(spans, position, key=attrgetter("source_start")) - 1)]


def cut_parts(spans: Sequence[PartSpan], start: int, end: int) -> list[PartSpan]:
    """Cut places in parts, which are in order, to those of a span of the source, none empty."""
    cut: list[PartSpan] = []
    for span in islice(spans, bisect_right(spans, start, key=attrgetter("source_end")), None):
        low, high = max(start, span.source_start), min(end, span.source_end)
        if low >= high:
            break
        cut.append(PartSpan(span.identity, low + span.start - span.source_start, low, high, span.number))
    return cut


def write_part_spans(spans: Sequence[PartSpan], text: str, start: int, own: Mapping[str, Any]) -> str:
    """Write where a sentence is in the parts of its document.

    Args:
        spans: The spans of the parts, in order.
        text: The text of the sentence.
        start: Its first code point in the document.
        own: The name of a part that the sentence's own metadata has, which isn't written again.
    """
    written: list[list[Any]] = []
    for span in cut_parts(spans, start, start + len(text)):
        shift = span.source_start - start
        low, high = trim(text, shift, span.source_end - start)
        if low < high:
            name = [] if span.identity == own else [dict(span.identity)]
            written.append([span.start + low - shift, low, high, *name])
    return _WRITER.encode(written)


def read_part_spans(written: str, text: str, start: int, own: Mapping[str, Any]) -> list[PartSpan]:
    """Read what `write_part_spans` wrote.

    Args:
        written: The value in the sentence's metadata.
        text: The text of the sentence.
        start: Its first code point in the document.
        own: The name of a part in the sentence's own metadata.

    Raises:
        ValueError: The value can't be what `write_part_spans` wrote.
    """
    spans: list[PartSpan] = []
    try:
        entries, _ = _READER.raw_decode(written)
        for at, low, high, *name in entries:
            if type(at) is not int or not at >= 0 <= low < high:
                raise ValueError
            spans.append(PartSpan(name[0] if name else own, at, start + low, start + high))
        is_sound = (spans[0].source_start, spans[-1].source_end) == (start, start + len(text))
    except (ValueError, TypeError, IndexError, RecursionError):
        is_sound = False
    if not is_sound:
        raise ValueError(f"{PART_SPANS} is {shown(written)}")
    return spans


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
            joined[-1] = last._replace(source_end=max(last.source_end, span.source_end))
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
