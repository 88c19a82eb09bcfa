"""Primitives that all folders share: types, runs, marks that end sentences, and what every store can hold.

Spans are half-open, ``[start, end)``: cut first, trim, slice last.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
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


def runs_of(indexes: Iterable[int]) -> Iterator[list[int]]:
    """Yield the unbroken runs of ascending indexes."""
    for _, run in groupby(enumerate(indexes), key=lambda each: each[1] - each[0]):
        yield [index for _, index in run]


def grown(run: tuple[int, int], fits: Callable[[int, int], bool]) -> tuple[int, int]:
    """Extend a run, from its first to its last index, on both sides in turn while it fits."""
    first, last = run
    grows = True
    while grows:
        grows = False
        if fits(first, last + 1):
            last, grows = last + 1, True
        if fits(first - 1, last):
            first, grows = first - 1, True
    return first, last


COLONS = (":", "：")
"""The marks at the end of what introduces what stands below it."""

ENDS_OF_SENTENCES = (
    *COLONS,
    *(".", "?", "!", ";", ",", '"', "'", "…", "”", "’", "»"),
    *("。", "．", "！", "？", "；", "，", "、", "｡", "」", "』"),
    *("؟", "۔", "؛", "،", "।", "॥"),
)
"""The characters with which sentences and clauses end, and titles don't: Latin, Chinese and Japanese, Arabic, Hindi."""


UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u312f\u3190-\u9fff\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff"
)
"""Characters of scripts that put no spaces between words, such as Japanese and Thai, for a class of an expression."""


def encodable(text: str) -> str:
    """Replace lone surrogates, which libraries in other programming languages refuse, by ``?``; spans stay valid."""
    return text.encode("utf-8", "replace").decode("utf-8")


LONE_SURROGATE = re.compile("[\ud800-\udfff]")
"""A character that no encoding holds, and JSON's readers refuse."""


STORABLE_ID = re.compile("[^\\0\\ud800-\\udfff]+")
"""An id that every store can keep, matched as a whole: it isn't empty, and has no NUL and no lone surrogate."""


MAX_INDEX = 2**62
"""The largest index; not all stores keep larger numbers."""
