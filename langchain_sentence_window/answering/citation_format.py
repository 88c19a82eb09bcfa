r"""The format of citations, such as ``[2]``: in prompts, in answers, and in text that only looks like one.

To change the format, change this module alone.
"""

import re
from collections.abc import Iterator

from langchain_sentence_window._types import Span

MARKS = "[]"
"""The characters around a source's number."""

FORGED_NUMBER = r"(?<!\\)\[[ \n]*(?:sources?[ \n]*|[#^][ \n]*)?[0-9][0-9 \n,;:&-]*\]"
"""A pattern for what may pass for a source's number, in a text as it looks; see `escaping.looks`."""

_TO = r"\s*(?:[\u2010-\u2015\u2212\ufe63\uff0d~\uff5e-]|\bto\b)\s*"
_ITEM = rf"(?:(?:sources?|refs?\.?|no\.|[#^])\s*)?\d{{1,9}}(?:{_TO}\d{{1,9}})?"
_AND = r"\s*(?:[,;&\uff0c\uff1b\u3001]\s*(?:and\b)?|\band\b)\s*"
_LOCATION = r"(?:[,;]\s*(?:(?:pp?|pages?|lines?|sec|sections?|chapters?|fig|figures?|tables?)\b|§)|†)"
# A backslash before the bracket means that it isn't a citation, and an address after it means a link. A number of more
# than nine digits names no source.
_CITED = rf"""
    (?<!\\)[\[\uff3b\u3010\u3014] \s*+
    (?P<cited> {_ITEM} (?P<more> (?:{_AND}{_ITEM})++ )?+ )
    \s*+ (?: {_LOCATION} [^\[\]\u3011\n]{{0,80}} | (?(more)[,;]\s*+) )?+
    [\]\uff3d\u3011\u3015] (?!\()
"""
# A fence that isn't closed makes the rest of the answer code. A backtick that isn't closed makes nothing code.
_CODE_LINES = r"""
    ^[ \t>]*+(?:(?:[-*+]|\d{1,3}[.)])[ \t]++)?(?P<fence>`{3,}|~{3,})[^`\n]*$
    (?s:.*?) (?:^[ \t>]*+(?P=fence)[`~]*[ \t]*$|\Z)
"""
_CODE = r"(?<!`)(?P<ticks>`{1,20})(?!`) (?s:(?!\n[ \t]*\n).){1,2000}? (?<!`)(?P=ticks)(?!`)"
_CITATION = re.compile(rf"{_CODE_LINES} | {_CODE} | {_CITED}", re.VERBOSE | re.MULTILINE | re.IGNORECASE)
_RANGE = re.compile(rf"(\d+)(?:{_TO}(\d+))?", re.IGNORECASE)


def source_number(number: int) -> str:
    """Return a source's number as the model sees it and as it is to cite it."""
    return f"[{number}]"


HOW_TO_CITE = f"Cite the source of every statement by its number in square brackets, such as {source_number(1)}."
"""The line of a prompt that asks for citations."""


def cited_numbers(answer: str) -> Iterator[Span]:
    """Yield the first and last number of each range that an answer cites; both are the same for a single number."""
    for _, ranges in citation_marks(answer):
        yield from ranges


def citation_marks(answer: str) -> Iterator[tuple[Span, tuple[Span, ...]]]:
    """Yield where an answer cites: the span of each mark with its brackets, and the ranges of numbers in it.

    A stretch of code is yielded too, without numbers, as nothing in it is a citation.
    """
    for match in _CITATION.finditer(answer):
        ranges = _RANGE.finditer(match["cited"] or "")
        yield match.span(), tuple((int(cited[1]), int(cited[2] or cited[1])) for cited in ranges)


def without_citations(answer: str) -> str:
    """Return an answer without its citations and the spaces before them."""
    parts, end = list[str](), 0
    for (start, after), numbers in citation_marks(answer):
        if numbers:
            parts.append(answer[end:start].rstrip(" \t"))
            end = after
    return "".join([*parts, answer[end:]])
