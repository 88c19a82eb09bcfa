"""Types and constants that all folders share."""

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
"""Row ids of the database."""


def runs_of(indexes: Iterable[int]) -> Iterator[list[int]]:
    """Yield the unbroken runs of ascending indexes."""
    for _, run in groupby(enumerate(indexes), key=lambda each: each[1] - each[0]):
        yield [index for _, index in run]


def grown(run: tuple[int, int], fits: Callable[[int, int], bool]) -> tuple[int, int]:
    """Extend a run, given by its first and last index, alternately to both sides while it fits."""
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
"""Marks that end the introduction of what follows on the next lines."""

ENDS_OF_SENTENCES = (
    *COLONS,
    *(".", "?", "!", ";", ",", '"', "'", "…", "”", "’", "»"),
    *("。", "．", "！", "？", "；", "，", "、", "｡", "」", "』"),
    *("؟", "۔", "؛", "،", "।", "॥"),
)
"""Characters that end sentences and clauses, but not titles: Latin, Chinese and Japanese, Arabic, Hindi."""


UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u312f\u3190-\u9fff\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff"
)
"""The characters of scripts without spaces between words, such as Japanese and Thai, as the inside of a regex class."""


def encodable(text: str) -> str:
    """Replace lone surrogates, which Rust and C libraries reject, by ``?``; spans stay valid."""
    return text.encode("utf-8", "replace").decode("utf-8")


LONE_SURROGATE = re.compile("[\ud800-\udfff]")
"""A character that UTF-8 can't encode and JSON parsers reject."""


STORABLE_ID = re.compile("[^\\0\\ud800-\\udfff]+")
"""An id that every store can keep, for ``fullmatch``: not empty, without NUL and lone surrogates."""


MAX_INDEX = 2**62
"""The largest index; not all stores keep larger numbers."""
