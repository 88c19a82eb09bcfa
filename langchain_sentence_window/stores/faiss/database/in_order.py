"""Vectors by document and index, in slices that split no section, as mixing needs whole sections."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from langchain_sentence_window._types import Rows, Vectors
from langchain_sentence_window.embedding.mixing import NOWHERE, Positions
from langchain_sentence_window.stores.faiss.database.conditions import Condition
from langchain_sentence_window.stores.faiss.database.schema import from_halves

_BATCH_SIZE = 10_000

_Row: TypeAlias = tuple[int, int | None, int, int | None, bytes]
"""The row, the document, the section, the sentence's index, and the vector."""


def in_order(execute: Callable[..., sqlite3.Cursor], condition: Condition) -> Iterator[tuple[Rows, Vectors, Positions]]:
    """Yield rows that meet a condition and their vectors by document and index, in slices that split no section."""
    sql, parameters = condition
    cursor = execute(
        "SELECT row, document, section, sentence_index, vector FROM sentences JOIN vectors USING (row) "  # noqa: S608
        f"WHERE {sql} ORDER BY document, sentence_index",
        parameters,
    )
    part: list[_Row] = []
    while more := cursor.fetchmany(_BATCH_SIZE):
        part += more
        cut = _last_cut(part)
        if cut:
            yield _with_positions(part[:cut])
            part = part[cut:]
    if part:
        yield _with_positions(part)


def _with_positions(part: Sequence[_Row]) -> tuple[Rows, Vectors, Positions]:
    numbers = np.array(
        [
            (row, NOWHERE if document is None or index is None else document, section, index or 0)
            for row, document, section, index, _ in part
        ],
        dtype=np.int64,
    )
    vectors = from_halves(b"".join(fields[-1] for fields in part)).reshape(len(part), -1)
    return numbers[:, 0], vectors, Positions(numbers[:, 1], numbers[:, 2], numbers[:, 3])


def _last_cut(part: Sequence[_Row]) -> int:
    """Return the position in the part at which its last section begins."""
    last = part[-1][1], part[-1][2]
    if last[0] is None:
        return len(part)
    return next((at for at in range(len(part), 0, -1) if (part[at - 1][1], part[at - 1][2]) != last), 0)
