"""The quotations and the cited claims of an answer, each with the sources that it cites."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from langchain_sentence_window._primitives import Span, trim
from langchain_sentence_window.answering.citation_format import citation_marks
from langchain_sentence_window.answering.quotes.quotation_marks import Quoted, find_quoted, is_marked
from langchain_sentence_window.answering.source_stretches import plain_splitter

MAX_NUMBER = 999
"""The largest number in brackets that can only be a citation; a larger one of no source may be a year."""

_ENDS = ".!?…。！？"
_INTRODUCING = (":", "：")
_CLOSING = "\"'”’»)]*_"
_MARKER = re.compile(r"[\s>#]*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?(?:#{1,6}\s+)?")
_WIDE_END = re.compile(r"(?<=[。！？])")


@dataclass(frozen=True, slots=True)
class Cited:
    """A citation mark in an answer.

    Attributes:
        start: Its first code point.
        end: One past the last code point.
        numbers: The ranges of numbers in it, both ends included.
    """

    start: int
    end: int
    numbers: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """A quotation as it may be meant.

    Attributes:
        text: What is said to stand in a source, without marks and citations.
        cited: The citations that belong to it.
    """

    text: str
    cited: tuple[Cited, ...]


@dataclass(frozen=True, slots=True)
class AnswerQuote:
    """A quotation or a claim in an answer.

    Attributes:
        kind: Which of both.
        start: Its first code point in the answer.
        end: One past the last code point.
        readings: At least one; several if numbers in brackets stand in it, as they may be citations or the source's.
    """

    kind: Literal["quotation", "claim"]
    start: int
    end: int
    readings: tuple[Reading, ...]


def quotes_in(answer: str) -> list[AnswerQuote]:
    """Find the quotations and the cited claims of an answer, in order, linear in its length."""
    code = list[Span]()
    cited = list[Cited]()
    for (start, end), numbers in citation_marks(answer):
        if not numbers:
            code.append((start, end))
        elif any(first <= MAX_NUMBER for first, _ in numbers):
            cited.append(Cited(start, end, numbers))
    quoted = find_quoted(answer, code)
    if not quoted and not cited:
        return []
    sentences = _sentences(answer, quoted, cited)
    found = [*_quotations(answer, quoted, cited, sentences), *_claims(answer, quoted, cited, sentences)]
    return sorted(found, key=lambda each: (each.start, each.end))


def _sentences(answer: str, quoted: Sequence[Quoted], cited: Sequence[Cited]) -> list[Span]:
    """Return the spans of the answer's sentences; a citation after a full stop belongs to the sentence before it."""
    masked = _masked(answer, quoted, cited)
    found = list[Span]()
    for start, end in plain_splitter().spans(masked):
        cuts = [start, *(start + cut.start() for cut in _WIDE_END.finditer(masked[start:end])), end]
        found += [(low, high) for low, high in pairwise(cuts) if masked[low:high].strip()]
    return found


def _masked(answer: str, quoted: Sequence[Quoted], cited: Sequence[Cited]) -> str:
    """Return the answer, as long as it is, with letters for what is quoted and cited: no sentence ends there."""
    parts = list[str]()
    at = 0
    stretches: list[tuple[int, int, bool]] = [(each.start, each.end, False) for each in quoted if not each.is_block]
    stretches += [(each.start, each.end, True) for each in cited]
    for start, end, is_citation in sorted(stretches):
        if start < at:
            continue
        between = answer[at:start]
        if not is_citation:
            letters = ("x" if answer[start].islower() else "X") + "x" * (end - start - 1)
            parts += [between, letters[:-1], answer[end - 1] if answer[end - 1] in _ENDS else letters[-1]]
            at = end
            continue
        bare = between.rstrip(" \t")
        stop = bare.rstrip(_CLOSING)
        mark = stop[-1:] or (parts[-1][-1:] if parts and not stop else "")
        if mark in _ENDS and mark and "\n" not in between[len(stop) :]:
            # The full stop moves behind the citation.
            if stop:
                parts.append(stop[:-1] + "x" * (len(between) - len(stop) + 1))
            else:
                parts[-1] = parts[-1][:-1] + "x"
                parts.append("x" * len(between))
            parts.append("x" * (end - start - 1) + mark)
        else:
            parts += [between, "x" * (end - start)]
        at = end
    return "".join([*parts, answer[at:]])


def _quotations(
    answer: str, quoted: Sequence[Quoted], cited: Sequence[Cited], sentences: Sequence[Span]
) -> Iterator[AnswerQuote]:
    starts = [each.start for each in cited]
    for number, quote in enumerate(quoted):
        inner = _within(cited, starts, quote.outer[0], quote.outer[1])
        before = quoted[number - 1].outer[1] if number else 0
        after = quoted[number + 1].outer[0] if number + 1 < len(quoted) else len(answer)
        low, high = _sentence_at(sentences, quote.outer[0]), _sentence_at(sentences, quote.outer[1] - 1)
        first, last = (sentences[low][0], sentences[high][1]) if low >= 0 else (quote.outer[0], quote.outer[1])
        if quote.is_block:
            outside = _around_block(answer, quote, cited, starts, sentences)
        else:
            outside = _within(cited, starts, quote.outer[1], min(last, after))
            if not outside and after < last:
                # Citations after several quotations belong to all of them.
                outside = _next_group(quoted, number, cited, starts, last)
            if not outside:
                outside = _adjacent(answer, cited, starts, quote.outer[1])
            if not outside and not inner and before <= first:
                outside = _within(cited, starts, first, quote.outer[0])
        if made := _quotation(answer, quote, inner, tuple(outside)):
            yield made


def _quotation(answer: str, quote: Quoted, inner: Sequence[Cited], outside: tuple[Cited, ...]) -> AnswerQuote | None:
    """Return a quotation with what may be meant by the citations in it: those at its end are the answer's, if any."""
    last = len(inner)
    while last and not any(each.isalnum() for each in answer[inner[last - 1].end : _start(inner, last, quote.end)]):
        last -= 1
    readings: dict[Reading, None] = {}
    span = quote.start, quote.end
    for left in (inner[last:], inner, ()):
        text, start, end = _without(answer, quote.lines, left)
        if quote.is_block and is_marked(text):
            start, end = trim(answer, start + 1, end - 1)
            text = text[1:-1].strip()
        if any(character.isalnum() for character in text):
            readings[Reading(text, outside or tuple(left))] = None
            span = (start, end) if len(readings) == 1 else span
    return AnswerQuote("quotation", *span, tuple(readings)) if readings else None


def _start(cited: Sequence[Cited], number: int, default: int) -> int:
    return cited[number].start if number < len(cited) else default


def _claims(
    answer: str, quoted: Sequence[Quoted], cited: Sequence[Cited], sentences: Sequence[Span]
) -> Iterator[AnswerQuote]:
    starts = [each.start for each in cited]
    quotes = [each.outer for each in quoted]
    ends = [end for _, end in quotes]
    for low, high in sentences:
        within = _within(cited, starts, low, high)
        number = bisect_right(ends, low)
        after = quotes[number][0] if number < len(quotes) else len(answer)
        introduces = number < len(quotes) and answer[low:high].rstrip()[-1:] in _INTRODUCING
        if not within or after < high or (introduces and not answer[high:after].strip()):
            continue
        marker = _MARKER.match(answer, low, high)
        text, start, end = _without(answer, [(marker.end() if marker else low, high)], within)
        if any(character.isalnum() for character in text):
            yield AnswerQuote("claim", start, end, (Reading(text, tuple(within)),))


def _within(cited: Sequence[Cited], starts: Sequence[int], start: int, end: int) -> Sequence[Cited]:
    return cited[bisect_left(starts, start) : bisect_left(starts, end)] if start < end else ()


def _sentence_at(sentences: Sequence[Span], at: int) -> int:
    return bisect_right(sentences, at, key=lambda span: span[0]) - 1


def _next_group(
    quoted: Sequence[Quoted], number: int, cited: Sequence[Cited], starts: Sequence[int], last: int
) -> Sequence[Cited]:
    """Return the first citations of a sentence after a quotation, up to the quotation after them."""
    first = bisect_left(starts, quoted[number].outer[1])
    if first >= len(cited) or cited[first].start >= last:
        return ()
    after = bisect_left(quoted, cited[first].start, key=lambda each: each.start)
    # A citation in a quotation is that quotation's.
    if cited[first].start < quoted[after - 1].outer[1]:
        return ()
    following = quoted[after].outer[0] if after < len(quoted) else last
    return _within(cited, starts, cited[first].start, min(last, following))


def _adjacent(answer: str, cited: Sequence[Cited], starts: Sequence[int], at: int) -> Sequence[Cited]:
    """Return the citations that follow a place with nothing but marks and white space between."""
    found = list[Cited]()
    for each in cited[bisect_left(starts, at) :]:
        if each.start - at > _MAX_GAP or answer[at : each.start].strip(_BETWEEN):
            break
        found.append(each)
        at = each.end
    return found


_MAX_GAP = 20
_BETWEEN = " \t\n.,;:!?…*_()\"'”’»—–-"


def _around_block(
    answer: str, quote: Quoted, cited: Sequence[Cited], starts: Sequence[int], sentences: Sequence[Span]
) -> Sequence[Cited]:
    """Return the citations that follow a block quote at once, else those of the sentence that introduces it."""
    # An attribution in the block's last line cites too.
    found = [*_within(cited, starts, quote.end, quote.outer[1]), *_adjacent(answer, cited, starts, quote.outer[1])]
    if found:
        return found
    before = _sentence_at(sentences, quote.outer[0] - 1)
    lead = answer[slice(*sentences[before])].rstrip() if before >= 0 and sentences[before][1] <= quote.outer[0] else ""
    if _within(cited, starts, quote.start, quote.end) or not lead.endswith(":"):
        return ()
    return _within(cited, starts, *sentences[before])


def _without(answer: str, lines: Sequence[Span], cited: Sequence[Cited]) -> tuple[str, int, int]:
    """Return a text without citations, and its span in the answer without those at its ends."""
    starts, ends = [each.start for each in cited], [each.end for each in cited]
    kept = list[Span]()
    parts = list[str]()
    for low, high in lines:
        cuts = cited[bisect_right(ends, low) : bisect_left(starts, high)]
        edges = [low, *(at for each in cuts for at in (each.start, each.end)), high]
        spans = list(zip(edges[::2], edges[1::2], strict=True))
        kept += spans
        parts.append("".join([*(answer[slice(*span)].rstrip() for span in spans[:-1]), answer[slice(*spans[-1])]]))
    filled = [span for span in kept if answer[slice(*span)].strip()]
    if not filled:
        return "", lines[0][0], lines[0][0]
    return "\n".join(parts).strip(), trim(answer, *filled[0])[0], trim(answer, *filled[-1])[1]
