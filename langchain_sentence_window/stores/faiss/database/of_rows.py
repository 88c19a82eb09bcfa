"""Statements about given rows, with a parameter for each row: faster than one parameter that lists them in JSON."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any

BATCH_SIZE = 500
"""Parameters of one statement; old releases of SQLite take no more than 999."""


def select_rows(execute: Callable[..., sqlite3.Cursor], sql: str, rows: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    """Run a statement for some rows, and yield what it finds.

    Args:
        execute: Runs a statement.
        sql: The statement, with ``{}`` where the parameters stand.
        rows: The rows, as many as needed.
    """
    for start in range(0, len(rows), BATCH_SIZE):
        part = list(rows[start : start + BATCH_SIZE])
        yield from execute(sql.format(",".join("?" * len(part))), part)
