"""Where the text of a document stands in its parts, as sentences and windows say it.

A sentence's metadata holds it as JSON text, as many stores keep only flat values: a list of ``[start, end]``, one for
each part that the sentence touches, in order. A third element names the part. The first part needs no name if the
sentence's own metadata has it, as they are of the same page. A window's ``parts`` are a list of dicts.
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
from .metadata_values import SCALARS
from .source_metadata import CUE_START, IDENTITY_KEYS, identity_in

PART = "part"
"""The key of a part's position, where nothing else distinguishes the parts of a source."""

SPAN = "span"
"""The key, in an entry of a window's parts, of the place in the joined text."""

_READER, _WRITER = json.JSONDecoder(), json.JSONEncoder(separators=(",", ":"))
"""Made once, as a document has thousands of sentences, and a query reads hundreds."""


class PartSpan(NamedTuple):
    """A stretch of a document that stands in one part, character for character.

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
    """Return the last of a document's spans that doesn't begin after a position; the first if there is none."""
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


def write_part_spans(text: str, spans: Sequence[PartSpan], start: int, end: int, *, names_first: bool = False) -> str:
    """Write where a sentence stands in the parts of its document.

    Args:
        text: The text of the document.
        spans: The spans of its parts, in order.
        start: The sentence's first code point.
        end: One past its last code point.
        names_first: Whether the first part is named too.
    """
    written: list[list[Any]] = []
    for span in cut_parts(spans, start, end):
        low, high = trim(text, span.source_start, span.source_end)
        if low == high:
            continue
        shift = span.start - span.source_start
        # The metadata of the sentence, which is that of its first part, names that already.
        is_known = not written and not names_first and span.identity.keys() <= set(IDENTITY_KEYS)
        name = [] if is_known or not span.identity else [dict(span.identity)]
        written.append([low + shift, high + shift, *name])
    return _WRITER.encode(written)


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
            spans.append(PartSpan(identity, low, start + at, start + at + high - low))
            at += high - low
    except (ValueError, TypeError, AttributeError, RecursionError):
        at = -1
    if at != len(text):
        raise ValueError(f"{PART_SPANS} is {shown(written)}")
    return spans


def cut_spans(spans: Sequence[PartSpan], start: int, end: int) -> str:
    """Write the spans of a sentence, cut from those of its window."""
    return _WRITER.encode([[span.start, span.end, dict(span.identity)] for span in cut_parts(spans, start, end)])


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
