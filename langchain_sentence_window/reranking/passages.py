"""Passages of a text that are short enough for a model, around its hits and cut at sentences.

Scoring a long text by its best passage is MaxP: Dai & Callan, "Deeper Text Understanding for IR with Contextual Neural
Language Modeling", arXiv:1905.09217.
"""

import re
from collections.abc import Callable, Sequence
from itertools import accumulate

from langchain_sentence_window._primitives import Span, pieces

Count = Callable[[Sequence[str]], list[int]]
"""Counts the tokens of each text."""

_WORD = re.compile(r"\S+")


def passages(text: str, sentences: Sequence[Span], hits: Sequence[Span], count: Count, max_tokens: int) -> list[Span]:
    """Cover a text with passages that are short enough for a model.

    Neighboring hits share a passage if they fit. A passage with hits grows by sentences on both sides while it fits.
    The rest of the text goes into further passages.

    Args:
        text: The text.
        sentences: Spans of its sentences, in order.
        hits: Spans of its hits, in any order; no passage cuts one that fits.
        count: Counts tokens.
        max_tokens: The tokens of the longest passage, 1 or more; a single word may have more.

    Returns:
        Spans in order; all characters but white space are covered.
    """
    units, sizes = _units(text, sentences, hits, count, max_tokens)
    # One more for each unit: joined to others, its first word may need another token.
    ends = [0, *accumulate(size + 1 for size in sizes)]

    def fits(first: int, last: int) -> bool:
        return first >= 0 and last < len(units) and ends[last + 1] - ends[first] <= max_tokens + 1

    found = [i for i, (start, end) in enumerate(units) if any(start < right and left < end for left, right in hits)]
    runs = [_grown(run, fits) for run in _joined(found, fits)]
    covered = {i for first, last in runs for i in range(first, last + 1)}
    runs += _joined([i for i in range(len(units)) if i not in covered], fits)
    return [(units[first][0], units[last][1]) for first, last in sorted(set(runs))]


def _units(
    text: str, sentences: Sequence[Span], hits: Sequence[Span], count: Count, max_tokens: int
) -> tuple[list[Span], list[int]]:
    """Return the units that no passage cuts, and their tokens: hits, sentences, and parts of what is too long."""
    cuts = [start for start, _ in sentences if not any(left < start < right for left, right in hits)]
    whole = list(pieces(text, 0, len(text), [*cuts, *(end for hit in hits for end in hit)]))
    units: list[Span] = []
    sizes: list[int] = []
    for span, size in zip(whole, count([text[start:end] for start, end in whole]), strict=True):
        parts = [span] if size <= max_tokens else _parts(text, span, count, max_tokens)
        units += parts
        sizes += [size] if size <= max_tokens else count([text[start:end] for start, end in parts])
    return units, sizes


def _parts(text: str, span: Span, count: Count, max_tokens: int) -> list[Span]:
    """Halve a span between words until each part fits or is a word."""
    words = [match.span() for match in _WORD.finditer(text, *span)]
    middle = len(words) // 2
    if middle == 0 or count([text[slice(*span)]])[0] <= max_tokens:
        return [span]
    left, right = (span[0], words[middle - 1][1]), (words[middle][0], span[1])
    return [*_parts(text, left, count, max_tokens), *_parts(text, right, count, max_tokens)]


def _joined(chosen: Sequence[int], fits: Callable[[int, int], bool]) -> list[tuple[int, int]]:
    """Join chosen units into as few runs as fit."""
    runs: list[tuple[int, int]] = []
    for i in chosen:
        if runs and fits(runs[-1][0], i):
            runs[-1] = runs[-1][0], i
        else:
            runs.append((i, i))
    return runs


def _grown(run: tuple[int, int], fits: Callable[[int, int], bool]) -> tuple[int, int]:
    """Extend a run on both sides in turn while it fits."""
    first, last = run
    grows = True
    while grows:
        grows = False
        if fits(first, last + 1):
            last, grows = last + 1, True
        if fits(first - 1, last):
            first, grows = first - 1, True
    return first, last
