"""Windows as text: where each is from, and its sentences with the hits marked."""

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document
from rich.text import Text

from langchain_sentence_window.answering.locations import describe_location
from langchain_sentence_window.cli.names import nearer
from langchain_sentence_window.cli.output import MARKED, STRONG, WEAK, Output, counted
from langchain_sentence_window.cli.plain_text import one_line, printable
from langchain_sentence_window.documents.keys import END_INDEX, START_INDEX
from langchain_sentence_window.documents.window_metadata import (
    ALSO_IN,
    HITS,
    LEAD_INS,
    RELEVANCE_SCORE,
    SCORE,
    TEXT,
)
from langchain_sentence_window.documents.window_slices import sentence_numbers, source_span

INDENT = 4
_OPEN, _CLOSE = "«", "»"


def show_windows(out: Output, windows: Sequence[Document]) -> None:
    """Write windows, numbered from 1."""
    for number, window in enumerate(windows, 1):
        if number > 1:
            out.line()
        out.line(_place(window, number))
        for lead_in in window.metadata.get(LEAD_INS, []):
            out.line(Text(f"{one_line(lead_in[TEXT])} …", style=WEAK), indent=INDENT)
        out.line(marked(out, window), indent=INDENT)
        others = window.metadata.get(ALSO_IN, [])
        if others:
            places = counted(len(others), "other place")
            out.line(Text(f"the same text stands in {places}", style=WEAK), indent=INDENT)


def as_dict(number: int, window: Document) -> dict[str, Any]:
    """Return a window for JSON."""
    return {
        "number": number,
        "location": describe_location(window),
        "text": window.page_content,
        "metadata": dict(window.metadata),
    }


def marked(out: Output, window: Document) -> Text:
    """Return a window's text, its hits in bold and underlined, or between « and » where there is no style."""
    made, end = Text(), 0
    text = window.page_content
    for left, right in _hits(window):
        made.append(printable(text[end:left]))
        hit = printable(text[left:right])
        made.append(hit if out.is_styled else f"{_OPEN}{hit}{_CLOSE}", style=MARKED)
        end = right
    return made.append(printable(text[end:]))


def _hits(window: Document) -> list[tuple[int, int]]:
    """Return the spans of a window's hits in its text, in order and disjoint."""
    own = source_span(window)
    if own is None:
        return []
    spans = sorted((hit[START_INDEX] - own[0], hit[END_INDEX] - own[0]) for hit in window.metadata.get(HITS, []))
    found: list[tuple[int, int]] = []
    for left, right in spans:
        if (found[-1][1] if found else 0) <= left < right <= len(window.page_content):
            found.append((left, right))
    return found


def _place(window: Document, number: int) -> Text:
    made = Text.assemble((f"{number:<2}", STRONG), "  ", (printable(nearer(describe_location(window))), STRONG))
    numbers = sentence_numbers(window)
    if numbers is not None:
        first, last = numbers
        made.append(f" · sentence {first}" if first == last else f" · sentences {first}–{last}", style=WEAK)
    for name, key in ((SCORE, SCORE), ("reranked", RELEVANCE_SCORE)):
        value = window.metadata.get(key)
        if isinstance(value, int | float):
            made.append(f" · {name} {value:.2f}", style=WEAK)
    return made
