"""Which sentences of a document a place in a window touches."""

from collections.abc import Sequence
from functools import cache, lru_cache

from langchain_core.documents import Document

from langchain_sentence_window._types import Span
from langchain_sentence_window.documents.window_runs import known_sentences
from langchain_sentence_window.documents.window_slices import source_span
from langchain_sentence_window.splitting.splitter import SentenceSplitter


def sentence_numbers(document: Document, start: int, end: int) -> Span | None:
    """Return the first and last sentence that a place touches; ``None`` if the window doesn't tell.

    Windows of documents with parts say where each sentence stands. The text of others is cut again, which counts only
    if it gives as many sentences as the window has, and each hit is one of them.

    Args:
        document: The window.
        start: The place's first code point in the document.
        end: One past its last code point.
    """
    span, known = source_span(document), known_sentences(document)
    if span is None or known is None or not span[0] <= start < end <= span[1]:
        return None
    first, last, spans, hits = known
    if first == last:
        return first, last
    if not spans:
        spans = tuple((low + span[0], high + span[0]) for low, high in _cut(document.page_content))
    is_whole = len(spans) == last - first + 1 and all(spans[index - first] == place for index, place in hits.items())
    if is_whole:
        touched = [first + at for at, (low, high) in enumerate(spans) if low < end and start < high]
        return (touched[0], touched[-1]) if touched else None
    within = [index for index, (low, high) in hits.items() if low <= start and end <= high]
    return (within[0], within[0]) if within else None


@cache
def _splitter() -> SentenceSplitter:
    return SentenceSplitter()


@lru_cache(maxsize=64)
def _cut(text: str) -> Sequence[Span]:
    return tuple(_splitter().spans(text))
