"""Primitives that all folders share: types, spans of a text, marks that end sentences, and what every store can hold.

Spans are half-open, ``[start, end)``: cut first, trim, slice last.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Span: TypeAlias = tuple[int, int]
"""A half-open range of code points, ``[start, end)``."""

SentenceKey: TypeAlias = tuple[str, int]
"""A document's id, and the index of a sentence in the document."""

Vectors: TypeAlias = npt.NDArray[np.float32]
"""Vectors in single precision, usually of shape ``(n, dimension)``."""

Rows: TypeAlias = npt.NDArray[np.int64]
"""Numbers of rows in the database."""


def trim(text: str, start: int, end: int) -> Span:
    """Move the ends of ``[start, end)`` inward past white space.

    Returns:
        The trimmed span; ``(end, end)`` if there is nothing but white space.
    """
    body = text[start:end]
    lead = len(body) - len(body.lstrip())
    return start + lead, start + max(lead, len(body.rstrip()))


def pieces(text: str, start: int, end: int, cuts: Iterable[int]) -> Iterator[Span]:
    """Cut ``[start, end)`` at positions and yield the trimmed pieces.

    Spans are made from cuts, so they are in order and disjoint, and no character but white space is lost between them.

    Args:
        text: The text.
        start: Where the first piece begins.
        end: Where the last piece ends.
        cuts: Positions where a new piece begins, in any order; those outside ``[start, end)`` are ignored.

    Yields:
        Trimmed spans that aren't empty, in order.
    """
    edges = [start, *sorted({cut for cut in cuts if start < cut < end}), end]
    for left, right in pairwise(edges):
        span = trim(text, left, right)
        if span[0] < span[1]:
            yield span


COLONS = (":", "：")
"""The marks at the end of what introduces what stands below it."""

ENDS_OF_SENTENCES = (
    *COLONS,
    *(".", "?", "!", ";", ",", '"', "'", "…", "”", "’", "»"),
    *("。", "．", "！", "？", "；", "，", "、", "｡", "」", "』"),
    *("؟", "۔", "؛", "،", "।", "॥"),
)
"""The characters with which sentences and clauses end, and titles don't: Latin, Chinese and Japanese, Arabic, Hindi."""


def encodable(text: str) -> str:
    """Replace lone surrogates, which libraries in other programming languages refuse, by ``?``; spans stay valid."""
    return text.encode("utf-8", "replace").decode("utf-8")


LONE_SURROGATE = re.compile("[\ud800-\udfff]")
"""A character that no encoding holds, and JSON's readers refuse."""


def is_storable_id(name: str) -> bool:
    """Return whether every store can keep an id: it isn't empty, and has no NUL and no lone surrogate."""
    return bool(name) and not _NOT_STORABLE.search(name)


_NOT_STORABLE = re.compile("[\\0\\ud800-\\udfff]")


MAX_INDEX = 2**62
"""The largest index; not all stores keep larger numbers."""
