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
MAX_ROWS_AROUND = 400
"""Rows of one statement, which has two parameters for each; old releases of SQLite take no more than 999."""

# The first part reads an index only.
_AROUND = """
    WITH near (row) AS (
        SELECT other.row FROM sentences AS this CROSS JOIN sentences AS other
            ON other.document = this.document
            AND other.sentence_index BETWEEN this.sentence_index - {reach:d} AND this.sentence_index + {reach:d}
            WHERE this.row IN ({marks})
        UNION SELECT row FROM sentences WHERE row IN ({marks})
    )
    SELECT row, document, section, sentence_index, vector
        FROM near CROSS JOIN sentences USING (row) CROSS JOIN vectors USING (row)
        ORDER BY document, sentence_index
"""

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


def around(
    execute: Callable[..., sqlite3.Cursor], rows: Sequence[int], reach: int
) -> tuple[Rows, Vectors, Positions] | None:
    """Read up to `MAX_ROWS_AROUND` rows and all sentences up to ``reach`` away from them, in order.

    Mixing needs no others for these rows.

    Returns:
        Rows, their vectors and their positions; ``None`` if none of the rows exists.
    """
    marks = ",".join("?" * len(rows))
    part = execute(_AROUND.format(reach=reach, marks=marks), [*rows, *rows]).fetchall()
    return _with_positions(part) if part else None


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
