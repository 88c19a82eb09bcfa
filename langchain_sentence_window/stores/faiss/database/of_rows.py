"""Statements about given rows, with a parameter for each row: faster than one parameter that lists them in JSON."""

import sqlite3
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from langchain_sentence_window._types import Rows
from langchain_sentence_window.errors import StoreError

BATCH_SIZE = 300
"""Rows of one statement. Old releases of SQLite take no more than 999 parameters; some statements take each thrice."""

_SIZES = (10, 20, 50, 100, 150, 200, 250, BATCH_SIZE)
"""The numbers of parameters that statements have, few, as SQLite's module keeps a compiled statement for each."""


def select_rows(execute: Callable[..., sqlite3.Cursor], sql: str, rows: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    """Run a statement for some rows, and yield what it finds.

    Args:
        execute: Runs a statement.
        sql: The statement, with ``{}`` where the parameters stand in the parentheses behind ``IN``.
        rows: The rows, as many as needed.
    """
    for start in range(0, len(rows), BATCH_SIZE):
        part = rows[start : start + BATCH_SIZE]
        count = count_of(len(part))
        yield from execute(sql.format(marks_of(count)), padded(part, count))


def select_lines(execute: Callable[..., sqlite3.Cursor], sql: str, rows: Sequence[int]) -> Iterator[list[Any]]:
    """Run a statement that returns one JSON array of all lines, and yield these.

    Python lets other threads run at each line that it takes from SQLite, and waits for them.

    Raises:
        StoreError: The database has a text there that isn't one.
    """
    for (lines,) in select_rows(execute, sql, rows):
        yield from loaded_lines(lines)


def loaded_lines(lines: str) -> list[list[Any]]:
    """Read a JSON array that SQLite made of lines.

    Raises:
        StoreError: The database has a text there that isn't one.
    """
    try:
        found: list[list[Any]] = orjson.loads(lines)
    except orjson.JSONDecodeError:
        raise damaged("metadata that can be read") from None
    return found


def damaged(what: str) -> StoreError:
    """Return the error that the database lacks something."""
    return StoreError(f"the database lacks {what}, so it is damaged; restore it from a backup")


def count_of(rows: int) -> int:
    """Return how many parameters a statement about that many rows has, `BATCH_SIZE` at most."""
    return _SIZES[bisect_left(_SIZES, rows)]


def marks_of(count: int) -> str:
    """Return the marks of that many parameters."""
    return ",".join("?" * count)


def padded(rows: Sequence[int], count: int) -> list[int]:
    """Return rows and as many zeros, which are no rows, as make up that many parameters."""
    return [*rows, *([0] * (count - len(rows)))]


def are_in(rows: Rows, others: Rows) -> npt.NDArray[np.bool_]:
    """Return for each of some rows whether it is one of others, which are in order."""
    if not len(others):
        return np.zeros(len(rows), dtype=np.bool_)
    at = np.minimum(np.searchsorted(others, rows), len(others) - 1)
    return np.asarray(others[at] == rows)
