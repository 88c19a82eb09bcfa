"""Inline windows: the window of a sentence in its metadata, for stores that can't fetch neighbors by id."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import Span
from langchain_sentence_window.documents.keys import (
    WINDOW_END,
    WINDOW_FIRST,
    WINDOW_LAST,
    WINDOW_SEPARATOR,
    WINDOW_SPANS,
    WINDOW_START,
    WINDOW_TEXT,
)
from langchain_sentence_window.documents.values import checked, number
from langchain_sentence_window.windows.geometry import Window


@dataclass(frozen=True, slots=True)
class InlineSentence:
    """A sentence of an inline window.

    Attributes:
        index: Its index among the document's sentences, from 0.
        start: First code point in the source.
        end: One past its last code point.
        separator: White space between it and the next sentence of the document.
        text: Its text.
    """

    index: int
    start: int
    end: int
    separator: str
    text: str


def write_window(text: str, spans: Sequence[Span], window: Window) -> dict[str, Any]:
    """Return the metadata that holds a window.

    Args:
        text: The text of the source document.
        spans: The spans of its sentences.
        window: The window to write.
    """
    held = spans[window.first : window.last + 1]
    start, end = held[0][0], held[-1][1]
    separator = separator_after(text, spans, window.last)
    return {
        WINDOW_TEXT: text[start:end],
        WINDOW_FIRST: window.first,
        WINDOW_LAST: window.last,
        WINDOW_START: start,
        WINDOW_END: end,
        WINDOW_SPANS: " ".join(f"{first - start}:{last - start}" for first, last in held),
        **({WINDOW_SEPARATOR: separator} if separator != " " else {}),
    }


def separator_after(text: str, spans: Sequence[Span], index: int) -> str:
    """Return the white space between a sentence and the next; one space after the last."""
    return " " if index + 1 == len(spans) else text[spans[index][1] : spans[index + 1][0]]


def read_window(metadata: Mapping[str, Any]) -> list[InlineSentence]:
    """Read the sentences of the window that `write_window` wrote.

    Raises:
        KeyError: A key is missing.
        ValueError: A value can't be what `write_window` wrote.
    """
    text = checked(metadata, WINDOW_TEXT, str)
    at, first = number(metadata, WINDOW_START), number(metadata, WINDOW_FIRST)
    spans = [_span(span) for span in checked(metadata, WINDOW_SPANS, str).split()]
    ends = [end for span in spans for end in span]
    if not spans or [0, *ends, len(text)] != sorted([0, *ends, len(text)]):
        raise ValueError(f"{WINDOW_SPANS} is {shown(metadata[WINDOW_SPANS])}")
    separators = [text[end:start] for (_, end), (start, _) in pairwise(spans)]
    separators.append(checked(metadata, WINDOW_SEPARATOR, str, " "))
    if any(separator.strip() for separator in separators):
        raise ValueError(f"{WINDOW_SPANS} is {shown(metadata[WINDOW_SPANS])}, and leaves out text")
    return [
        InlineSentence(index, at + start, at + end, separator, text[start:end])
        for index, ((start, end), separator) in enumerate(zip(spans, separators, strict=True), first)
    ]


def _span(written: str) -> Span:
    start, end = written.split(":")
    return int(start), int(end)
