"""The statements that the citations of an answer belong to."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import NamedTuple

from langchain_sentence_window._types import Span
from langchain_sentence_window.answering.citation_format import citation_marks
from langchain_sentence_window.answering.source_stretches import split_text

MAX_NUMBERS = 100
"""The most sources that one citation cites. Nobody checks more, and an answer could repeat them on every line."""

_MAX_OPENING_CHARS = 100
_BETWEEN_MARKS = re.compile(r"[\s,;&\uff0c\uff1b\u3001]*(?:and\b\s*)?", re.IGNORECASE)
_LIST_MARK = re.compile(r"(?:[\s,;:.!?|]|[-*+>#\u2022\u2013\u2014]+(?=\s)|\d{1,3}[.)](?=\s))*+(?:(?:and|but)\b\s*)?+")
_ATTRIBUTING = frozenset(
    ["according", "as", "both", "by", "cf", "document", "from", "in", "per", "see", "source", "to"]
)
"""Words of which some may stand before a citation that the statement follows, as in "According to [1], it is so"."""


class CitationMark(NamedTuple):
    """A citation in an answer.

    Attributes:
        start: The code point of its opening bracket.
        end: One past its closing bracket.
        numbers: The sources that it cites, from 1, each once.
    """

    start: int
    end: int
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CitedStatement:
    """A statement of an answer, and one of the citations that follow it.

    Attributes:
        start: Its first code point in the answer.
        end: One past its last code point, without the citation.
        region: Where a quote stands that the citation is of: from the region of the last citation to this one or, if
            no other follows in the sentence, to the end of that.
        mark: The citation.
    """

    start: int
    end: int
    region: Span
    mark: CitationMark


def cited_statements(answer: str, count: int) -> list[CitedStatement]:
    """Return the statement that each citation of an answer belongs to.

    It is what stands before the citation, from the last citation in the same sentence, or the beginning of the
    sentence. Citations with nothing between them share a statement. One at the beginning of a sentence, or after
    nothing but words such as "according to", belongs to what follows, up to the next citation or the end of the
    sentence. One that stands alone belongs to the sentence before it, or, if there is none, to itself.

    Args:
        answer: The text of the answer.
        count: The number of sources. Numbers above it, and 0, aren't citations.

    Returns:
        One for each citation, in order.
    """
    groups = _groups(answer, list(_marks(answer, count)))
    if not groups:
        return []
    sentences = split_text(answer)
    starts = [start for start, _ in sentences]
    edges = [0, *(group[-1].end for group in groups)]
    next_marks = [*(group[0].start for group in groups[1:]), len(answer)]
    found: list[CitedStatement] = []
    region = (0, 0)
    for group, before, following in zip(groups, edges, next_marks, strict=False):
        first, last = group[0].start, group[-1].end
        place = bisect_right(starts, first) - 1
        sentence = sentences[place] if place >= 0 else (0, first)
        start, end = max(before, sentence[0]), first
        rest = (last, max(last, min(following, sentence[1])))
        is_last = following >= sentence[1]
        if _is_opening(answer, sentence[0], first) and _has_words(answer[slice(*rest)]):
            start, end = rest
        elif not _has_words(answer[start:end]):
            start, end = sentences[place - 1] if place > 0 and sentences[place - 1][0] >= before else (first, last)
        low, high = _trimmed(answer, start, end)
        region = (region[1], max(high, rest[1] if is_last else first))
        found += [CitedStatement(low, high, region, mark) for mark in group]
    return found


def _marks(answer: str, count: int) -> Iterator[CitationMark]:
    """Yield the citations that name one of so many sources."""
    for (start, end), given in citation_marks(answer):
        ranges = (range(first, last + 1) for first, last in given if 1 <= first <= last <= count)
        if numbers := tuple(islice(dict.fromkeys(chain.from_iterable(ranges)), MAX_NUMBERS)):
            yield CitationMark(start, end, numbers)


def _groups(answer: str, marks: Sequence[CitationMark]) -> list[list[CitationMark]]:
    """Group citations with nothing but commas between them."""
    groups = [[mark] for mark in marks[:1]]
    for one, two in pairwise(marks):
        between = answer[one.end : two.start]
        if "\n\n" not in between and _BETWEEN_MARKS.fullmatch(between):
            groups[-1].append(two)
        else:
            groups.append([two])
    return groups


def _is_opening(answer: str, start: int, end: int) -> bool:
    """Return whether the beginning of a sentence says nothing but where the rest of it is from."""
    if end - start > _MAX_OPENING_CHARS:
        return False
    return all(word.lower() in _ATTRIBUTING for word in re.findall(r"\w+", answer[start:end]))


def _has_words(text: str) -> bool:
    return any(map(str.isalnum, text))


def _trimmed(answer: str, start: int, end: int) -> Span:
    """Return a span without white space around it, and without the marks of a list or a clause before it."""
    opening = _LIST_MARK.match(answer, start, end)
    low = opening.end() if opening and _has_words(answer[opening.end() : end]) else start
    text = answer[low:end]
    return low + len(text) - len(text.lstrip()), max(low, low + len(text.rstrip()))
