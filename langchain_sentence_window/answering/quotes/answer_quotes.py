"""The quotations and the cited claims of an answer, each with the sources that it cites.

A quotation is between the quotation marks of any language, or in a Markdown block quote. A mark opens a quotation only
before text, and closes one only after text, so an apostrophe or the sign for inches does neither. No quotation between
marks crosses a blank line. Of nested quotations, the outer one counts.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from itertools import pairwise
from operator import attrgetter
from typing import Literal

from langchain_sentence_window._primitives import Span
from langchain_sentence_window.answering.citation_format import citation_marks
from langchain_sentence_window.answering.locations import plain_splitter
from langchain_sentence_window.splitting.blocks import trim

from .normalized_text import is_unspaced


@dataclass(frozen=True, slots=True)
class Quoted:
    """A quotation in a text.

    Attributes:
        start: Its first code point, after the mark.
        end: One past the last code point, before the mark.
        outer: The span with the marks; of a block quote, of all its lines.
        lines: The spans of a block quote's lines without ``>``; of others the quotation itself.
        is_block: Whether it is a Markdown block quote.
    """

    start: int
    end: int
    outer: Span
    lines: tuple[Span, ...]
    is_block: bool = False


MAX_NUMBER = 999
"""The largest number in brackets that is always a citation; a larger one that no source has may be a year."""

_ENDS = ".!?…。！？"
_INTRODUCING = (":", "：")
_CLOSING = "\"'”’»)]*_"
_MARKER = re.compile(r"[\s>#]*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?(?:#{1,6}\s+)?")
_start = attrgetter("start")
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
    """One interpretation of a quotation.

    Attributes:
        text: The quoted words, without marks and citations.
        cited: The citations that belong to it.
    """

    text: str
    cited: tuple[Cited, ...]


@dataclass(frozen=True, slots=True)
class AnswerQuote:
    """A quotation or a claim in an answer.

    Attributes:
        kind: Whether it is a quotation or a claim.
        start: Its first code point in the answer.
        end: One past the last code point.
        readings: At least one; several if it contains numbers in brackets, which may be citations or the source's.
    """

    kind: Literal["quotation", "claim"]
    start: int
    end: int
    readings: tuple[Reading, ...]


def quotes_in(answer: str) -> list[AnswerQuote]:
    """Find the quotations and the cited claims of an answer, in order, linear in its length."""
    quoted, cited = _find_quotes_and_citations(answer)
    if not quoted and not cited:
        return []
    sentences = _sentences(answer, quoted, cited)
    found = [*_quotations(answer, quoted, cited, sentences), *_claims(answer, quoted, cited, sentences)]
    return sorted(found, key=lambda each: (each.start, each.end))


def sentences_in(answer: str) -> list[Span]:
    """Return the spans of an answer's sentences; a citation after a full stop belongs to the sentence before it."""
    return _sentences(answer, *_find_quotes_and_citations(answer))


def without_sentences(answer: str, spans: Iterable[Span]) -> str:
    """Return an answer without the sentences, and the block quotes, that spans of it touch."""
    quoted, cited = _find_quotes_and_citations(answer)
    whole = [*_sentences(answer, quoted, cited), *(each.outer for each in quoted if each.is_block)]
    touched = [(low, high) for start, end in spans for low, high in whole if low < end and start < high]
    parts, at = list[str](), 0
    for low, high in sorted(touched):
        parts.append(answer[at : max(at, low)])
        rest = answer[max(at, high) :]
        at = len(answer) - len(rest.lstrip(" "))
    return "".join([*parts, answer[at:]]).strip()


def _find_quotes_and_citations(answer: str) -> tuple[list[Quoted], list[Cited]]:
    """Read the quotations of an answer, and its citations."""
    code = list[Span]()
    cited = list[Cited]()
    for (start, end), numbers in citation_marks(answer):
        if not numbers:
            code.append((start, end))
        elif any(first <= MAX_NUMBER for first, _ in numbers):
            cited.append(Cited(start, end, numbers))
    return find_quoted(answer, code), cited


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
    for number, quote in enumerate(quoted):
        inner = _citations_within(cited, quote.outer[0], quote.outer[1])
        before = quoted[number - 1].outer[1] if number else 0
        after = quoted[number + 1].outer[0] if number + 1 < len(quoted) else len(answer)
        low, high = _sentence_at(sentences, quote.outer[0]), _sentence_at(sentences, quote.outer[1] - 1)
        first, last = (sentences[low][0], sentences[high][1]) if low >= 0 else (quote.outer[0], quote.outer[1])
        if quote.is_block:
            outside = _around_block(answer, quote, cited, sentences)
        else:
            outside = _citations_within(cited, quote.outer[1], min(last, after))
            if not outside and after < last:
                # Citations after several quotations belong to all of them.
                outside = _next_group(quoted, number, cited, last)
            if not outside:
                outside = _adjacent(answer, cited, quote.outer[1])
            if not outside and not inner and before <= first:
                outside = _citations_within(cited, first, quote.outer[0])
        if made := _quotation(answer, quote, inner, tuple(outside)):
            yield made


def _quotation(answer: str, quote: Quoted, inner: Sequence[Cited], outside: tuple[Cited, ...]) -> AnswerQuote | None:
    """Return a quotation with its readings: citations at its end are the answer's, others may be the source's."""
    last = len(inner)
    nexts = [*(each.start for each in inner[1:]), quote.end]
    while last and not any(each.isalnum() for each in answer[inner[last - 1].end : nexts[last - 1]]):
        last -= 1
    readings: dict[Reading, None] = {}
    span = quote.start, quote.end
    for left in (inner[last:], inner, ()):
        text, start, end = _strip_citations(answer, quote.lines, left)
        if quote.is_block and is_marked(text):
            start, end = trim(answer, start + 1, end - 1)
            text = text[1:-1].strip()
        if any(character.isalnum() for character in text):
            readings[Reading(text, outside or tuple(left))] = None
            span = (start, end) if len(readings) == 1 else span
    return AnswerQuote("quotation", *span, tuple(readings)) if readings else None


def _claims(
    answer: str, quoted: Sequence[Quoted], cited: Sequence[Cited], sentences: Sequence[Span]
) -> Iterator[AnswerQuote]:
    quotes = [each.outer for each in quoted]
    ends = [end for _, end in quotes]
    for low, high in sentences:
        within = _citations_within(cited, low, high)
        number = bisect_right(ends, low)
        after = quotes[number][0] if number < len(quotes) else len(answer)
        introduces = number < len(quotes) and answer[low:high].rstrip()[-1:] in _INTRODUCING
        if not within or after < high or (introduces and not answer[high:after].strip()):
            continue
        marker = _MARKER.match(answer, low, high)
        text, start, end = _strip_citations(answer, [(marker.end() if marker else low, high)], within)
        if any(character.isalnum() for character in text):
            yield AnswerQuote("claim", start, end, (Reading(text, tuple(within)),))


def _citations_within(cited: Sequence[Cited], start: int, end: int) -> Sequence[Cited]:
    return cited[bisect_left(cited, start, key=_start) : bisect_left(cited, end, key=_start)]


def _sentence_at(sentences: Sequence[Span], at: int) -> int:
    return bisect_right(sentences, at, key=lambda span: span[0]) - 1


def _next_group(quoted: Sequence[Quoted], number: int, cited: Sequence[Cited], last: int) -> Sequence[Cited]:
    """Return the first citations of a sentence after a quotation, up to the quotation after them."""
    first = bisect_left(cited, quoted[number].outer[1], key=_start)
    if first >= len(cited) or cited[first].start >= last:
        return ()
    after = bisect_left(quoted, cited[first].start, key=_start)
    # A citation in a quotation is that quotation's.
    if cited[first].start < quoted[after - 1].outer[1]:
        return ()
    following = quoted[after].outer[0] if after < len(quoted) else last
    return _citations_within(cited, cited[first].start, min(last, following))


def _adjacent(answer: str, cited: Sequence[Cited], at: int) -> Sequence[Cited]:
    """Return the citations that follow a place with nothing but marks and white space between."""
    found = list[Cited]()
    for each in cited[bisect_left(cited, at, key=_start) :]:
        if each.start - at > _MAX_GAP or answer[at : each.start].strip(_BETWEEN):
            break
        found.append(each)
        at = each.end
    return found


_MAX_GAP = 20
_BETWEEN = " \t\n.,;:!?…*_()\"'”’»—–-"


def _around_block(answer: str, quote: Quoted, cited: Sequence[Cited], sentences: Sequence[Span]) -> Sequence[Cited]:
    """Return the citations that follow a block quote at once, else those of the sentence that introduces it."""
    # An attribution in the block's last line cites too.
    found = [*_citations_within(cited, quote.end, quote.outer[1]), *_adjacent(answer, cited, quote.outer[1])]
    if found:
        return found
    before = _sentence_at(sentences, quote.outer[0] - 1)
    lead = answer[slice(*sentences[before])].rstrip() if before >= 0 and sentences[before][1] <= quote.outer[0] else ""
    if _citations_within(cited, quote.start, quote.end) or not lead.endswith(":"):
        return ()
    return _citations_within(cited, *sentences[before])


def _strip_citations(answer: str, lines: Sequence[Span], cited: Sequence[Cited]) -> tuple[str, int, int]:
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


_CLOSERS: dict[str, tuple[str, ...]] = {
    pair[0]: tuple(pair[1:])
    for pair in (
        *('""', "＂＂", "“”", '„“”"', "‟”", "””", "«»", "»«»", "‹›", "›‹›", "‘’", "‚‘’", "''", "`'"),
        *("「」", "『』", "｢｣", "﹁﹂", "﹃﹄", "〝〞〟"),
    )
} | {"``": ("''",), ",,": ("''", "“", "”"), '\\"': ('\\"',), "\\'": ("\\'",)}
"""The marks that close a quotation, for each mark that opens one."""

_LOOSE = dict.fromkeys('"“„‟”＂', '"“”″＂') | {
    "«": '"”',
    "``": '"”',
    ",,": '"',
    "'": "’",
    "‘": "'´",
    "‚": "'´",
    "`": "’´",
}
"""Marks that close a quotation too, where writers mix them."""

_EITHER = frozenset("\"＂'‘’”“´`")
"""Marks that open a quotation only before, and close it only after, a character that isn't white space."""

_MARKS = "".join(
    {each for marks in (_CLOSERS, _LOOSE) for pair in marks.items() for each in "".join((pair[0], *pair[1]))} - {*"\\,"}
)
_TOKEN = re.compile(
    rf"&(?:quot|apos|[lr][sd]quo|[lr]s?aquo|[sb][bd]quo|\#0*\d{{2,5}}|\#x0*[0-9a-f]{{2,4}});"
    rf"|\\[\"']|(?<!`)``(?!`)|(?<!,),,(?!,)|[{_MARKS}]"
    r"|\n[ \t]*(?=\n)"
)
_BLOCK = re.compile(r"^ {0,3}>.*(?:\n {0,3}>.*)*", re.MULTILINE)
_LINE = re.compile(r"^ {0,3}(?:> ?)+", re.MULTILINE)
_ALERT = re.compile(r"\s*\[![A-Za-z]+\][^\n]*\n")
_SIGNED = re.compile(r"\n[ \t]*(?:[\u2013-\u2015]|--?)[ \t]*(?=\S)[^\n]*\s*\Z")


def find_quoted(text: str, code: Sequence[Span] = ()) -> list[Quoted]:
    """Find the quotations of a text, linear in its length.

    Args:
        text: Any text.
        code: Spans in which marks quote nothing, in order.

    Returns:
        The quotations in order, none in another, each with a letter or a digit in it.
    """
    blocks = [
        block
        for found in _BLOCK.finditer(text)
        if not _covers(code, found.start()) and (block := _parse_block_quote(found))
    ]
    skipped = sorted([*code, *(block.outer for block in blocks)])
    return sorted([*blocks, *_between_marks(text, skipped)], key=lambda each: each.start)


def _parse_block_quote(found: re.Match[str]) -> Quoted | None:
    """Return the quotation in a block quote; ``None`` if it has no letter or digit."""
    text, (start, end) = found.string, found.span()
    lines = list[Span]()
    for line in re.finditer(r"[^\n]+", found[0]):
        head = _LINE.match(line[0])
        lines.append((start + line.start() + (head.end() if head else 0), start + line.end()))
    if lines and _ALERT.fullmatch(text[slice(*lines[0])] + "\n"):
        del lines[0]
    if len(lines) > 1 and _SIGNED.match("\n" + text[slice(*lines[-1])]):
        del lines[-1]
    filled = [at for at, line in enumerate(lines) if text[slice(*line)].strip()]
    if not filled or not any(character.isalnum() for character in found[0]):
        return None
    lines = lines[filled[0] : filled[-1] + 1]
    low, high = trim(text, lines[0][0], lines[-1][1])
    lines[0] = (low, lines[0][1])
    lines[-1] = (lines[-1][0], high)
    return Quoted(low, high, (start, end), tuple(lines), is_block=True)


def is_marked(text: str) -> bool:
    """Return whether a text is enclosed in a pair of marks, and contains no other such mark."""
    opener, closer, inner = text[:1], text[-1:], text[1:-1]
    return bool(inner) and closer in _CLOSERS.get(opener, "") and opener not in inner and closer not in inner


def _covers(spans: Sequence[Span], at: int) -> bool:
    found = bisect_right(spans, at, key=lambda span: span[0]) - 1
    return found >= 0 and at < spans[found][1]


def _between_marks(text: str, skipped: Iterable[Span]) -> Iterator[Quoted]:
    opened: dict[str, Span] = {}
    found: list[tuple[Span, Span]] = []
    done = 0
    for mark, at, end in _marks_outside(text, skipped):
        if mark[0] == "\n":
            opened.clear()
            continue
        if at < done:
            continue
        if mark in "'’" and text.startswith(mark * 2, at) and not _DOUBLED.isdisjoint(opened):
            mark, end = "''", at + 2
        done = end
        opener = _closed(text, mark, (at, end), opened)
        if opener is not None:
            while found and found[-1][0] > opener:
                found.pop()
            found.append((opener, (at, end)))
            opened = {each: place for each, place in opened.items() if place < opener}
        elif mark in _CLOSERS and _can_open(text, mark, at, end) and (mark not in opened or mark in _STRAIGHT):
            opened.pop(mark, None)
            opened[mark] = (at, end)
    for (start, low), (high, end) in found:
        low, high = trim(text, low, high)
        if any(character.isalnum() for character in text[low:high]):
            yield Quoted(low, high, (start, end), ((low, high),))


def _marks_outside(text: str, skipped: Iterable[Span]) -> Iterator[tuple[str, int, int]]:
    passed = iter(skipped)
    skip: Span | None = next(passed, None)
    for token in _TOKEN.finditer(text):
        at, end = token.span()
        while skip and skip[1] <= at:
            skip = next(passed, None)
        if not skip or at < skip[0]:
            yield unescape(token[0]), at, end


_DOUBLED = frozenset(("``", ",,", "“", "„"))
"""Marks that two apostrophes may close."""

_STRAIGHT = ('"', "＂", "'", '\\"', "\\'")
_AHEAD = 400
"""Characters after a mark in which its quotation may end with the mark that it should."""


def _closed(text: str, mark: str, span: Span, opened: Mapping[str, Span]) -> Span | None:
    """Return where the quotation begins that a mark closes; ``None`` if it closes none."""
    if not _can_close(text, mark, *span):
        return None
    if fit := [place for opener, place in opened.items() if mark in _CLOSERS[opener]]:
        return max(fit)
    loose = [(place, opener) for opener, place in opened.items() if mark in _loose(opener)]
    if not loose:
        return None
    place, opener = max(loose)
    is_doubtful = opener in "'‘‚`" or text[span[0] - 1].isdigit()
    return None if is_doubtful and _ends_rightly(text, opener, span[1]) else place


def _loose(opener: str) -> tuple[str, ...]:
    return (*_LOOSE.get(opener, ""), "''") if opener in _DOUBLED else tuple(_LOOSE.get(opener, ""))


def _ends_rightly(text: str, opener: str, at: int) -> bool:
    """Return whether the right mark closes a quotation soon, so that one before it is an apostrophe or an inch."""
    for token in _TOKEN.finditer(text, at, at + _AHEAD):
        mark, (start, end) = token[0], token.span()
        if mark[0] == "\n" or (mark == opener and _can_open(text, mark, start, end)):
            return False
        if mark in _CLOSERS[opener] and _can_close(text, mark, start, end):
            return True
    return False


def _can_open(text: str, mark: str, at: int, end: int) -> bool:
    before, after = text[at - 1 : at], text[end : end + 1]
    if mark[-1] not in _EITHER or mark == "“":
        return bool(after)
    if not after or after.isspace():
        return False
    if mark in "'’`" and not (after.isalpha() or after in '“"[(…'):
        return False
    return not before or (mark in '"＂“”' and is_unspaced(before)) or not _is_word_or_equals_sign(before)


def _can_close(text: str, mark: str, at: int, end: int) -> bool:
    before, after = text[at - 1 : at], text[end : end + 1]
    if mark[-1] not in _EITHER:
        return True
    # This mark never opens what its partner closes, so white space before it doesn't matter.
    is_apart = mark != "”" and before.isspace()
    return (
        bool(before) and not is_apart and (not _is_word_or_equals_sign(after) or (mark != "'" and is_unspaced(after)))
    )


def _is_word_or_equals_sign(character: str) -> bool:
    return character.isalnum() or character in ("_", "=")
