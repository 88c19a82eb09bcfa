"""Running heads, feet and page numbers: lines at the edges of pages that repeat from page to page.

A line counts as the same on another page if it differs in digits alone. Body text may repeat, too, so only the first
and the last lines of pages are looked at, and a line is left out only if it is at that edge of many pages, on which
its numbers don't fall. Pages that are alike as a whole, such as those of a form, count as one.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from langchain_sentence_window._primitives import Span
from langchain_sentence_window.splitting.blocks import trim

MIN_PAGES = 3
"""The fewest pages that must have a line."""

MIN_SHARE = 0.3
"""The smallest share of the pages that must have it: heads of left and right pages differ."""

MAX_EDGE_LINES = 4
"""The most lines at the top, and at the bottom, of a page that are looked at."""

MAX_LINE_CHARS = 150
"""Characters of the longest line that can be a head or a foot."""

_NUMBER = "#"
_MIN_LETTERS = 2
_MIN_SHARE_NOT_FALLING = 0.75
_LINE = re.compile(r"[^\n]+")
_DIGITS = re.compile(r"\d+|\b[ivxlc]{1,7}\b")
_PAGE_NUMBER = re.compile(
    r"(?:page|p\.|pg\.?)?[\s–—|-]*(?:\d{1,4}|[ivxlc]{1,7})(?:\s*(?:of|/)\s*\d{1,4})?[\s–—|-]*", re.IGNORECASE
)


def body_spans(pages: Sequence[str]) -> list[Span]:
    """Find the text of each page between its running head and foot.

    Args:
        pages: The texts of all pages of a document, in order.

    Returns:
        For each page the trimmed span of what is left; an empty span if nothing is.
    """
    lines = [_line_spans(page) for page in pages]
    tops, bottoms = [_edge(each) for each in lines], [_edge(each[::-1]) for each in lines]
    heads, feet = _repeated_lines(pages, tops), _repeated_lines(pages, bottoms)
    spans: list[Span] = []
    for page, top, bottom in zip(pages, tops, bottoms, strict=True):
        low, high = trim(page, 0, len(page))
        start = max([low, *(end for _, end in _left_out(page, top, heads))])
        end = min([high, *(begin for begin, _ in _left_out(page, bottom, feet) if begin >= start)])
        spans.append(trim(page, start, max(start, end)))
    return spans


def _line_spans(page: str) -> list[Span]:
    """Return the trimmed spans of the lines of a page that aren't blank."""
    spans = (trim(page, *line.span()) for line in _LINE.finditer(page))
    return [span for span in spans if span[0] < span[1]]


def _edge(lines: Sequence[Span]) -> list[Span]:
    """Return the outermost of lines, up to one that is too long for a head or a foot."""
    return list(takewhile(lambda span: span[1] - span[0] <= MAX_LINE_CHARS, lines[:MAX_EDGE_LINES]))


def _repeated_lines(pages: Sequence[str], edges: Sequence[Sequence[Span]]) -> set[str]:
    """Return the lines, without their digits, that are at an edge of enough pages."""
    contents = [_without_digits(page) for page in pages]
    found_on: dict[str, set[str]] = defaultdict(set)
    numbers: dict[str, list[list[int]]] = defaultdict(list)
    for page, content, edge in zip(pages, contents, edges, strict=True):
        lines = {_without_digits(page[start:end]): page[start:end] for start, end in reversed(edge)}
        for line, text in lines.items():
            found_on[line].add(content)
            numbers[line].append(list(map(int, re.findall(r"\d+", text))))
    least = max(MIN_PAGES, MIN_SHARE * len(set(contents)))
    return {
        line
        for line, different in found_on.items()
        if len(different) >= least and _says_something(line) and _is_running(line, numbers[line])
    }


def _left_out(page: str, edge: Sequence[Span], repeated: set[str]) -> Iterator[Span]:
    """Yield the lines of an edge that repeat, up to the first that doesn't, and no more than one page number."""
    has_number = False
    for start, end in edge:
        line = _without_digits(page[start:end])
        if line not in repeated or (has_number and line == _NUMBER):
            return
        has_number = has_number or line == _NUMBER
        yield start, end


def _without_digits(line: str) -> str:
    return _NUMBER if _PAGE_NUMBER.fullmatch(line) else " ".join(_DIGITS.sub("#", line.casefold()).split())


def _says_something(line: str) -> bool:
    """Return whether a line is a page number or holds a word: "1." may number a paragraph."""
    return line == _NUMBER or sum(map(str.isalpha, line)) >= _MIN_LETTERS


def _is_running(line: str, numbers: Sequence[list[int]]) -> bool:
    """Return whether the numbers of a line, page by page, are those of a running one, with few exceptions.

    Page numbers rise by one. Others, such as those of chapters, stay or rise; prices rise and fall.
    """
    if line == _NUMBER:
        rises = [later[0] - earlier[0] == 1 for earlier, later in pairwise(each for each in numbers if each)]
        return 2 * sum(rises) >= len(rises)
    not_falling = [later >= earlier for earlier, later in pairwise(numbers)]
    return sum(not_falling) >= _MIN_SHARE_NOT_FALLING * len(not_falling)
