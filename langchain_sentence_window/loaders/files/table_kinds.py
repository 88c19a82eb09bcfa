"""Tables that hold data, told from those that only arrange a page."""

from typing import Any

MIN_ROWS = MIN_COLUMNS = 2
"""The least rows and columns of a table of data."""

_INNER = ("table", "h1", "h2", "h3", "h4", "h5", "h6", "pre")
_NOT_DATA = frozenset({"presentation", "none"})


def data_tables(root: Any) -> set[Any]:
    """Return the tables below an element that hold data.

    They have rows and columns, and no cell holds a heading, code or another table.
    """
    rows: dict[Any, int] = {}
    wide: set[Any] = set()
    arranging: set[Any] = set()
    for row in root.iter("tr"):
        table = _table_of(row, root)
        if table is not None:
            rows[table] = rows.get(table, 0) + 1
            if len(row) >= MIN_COLUMNS:
                wide.add(table)
    for inner in root.iter(*_INNER):
        table = None if inner is root else _table_of(inner.getparent(), root)
        if table is not None and _is_in_cell(inner, table):
            arranging.add(table)
    return {
        table
        for table, count in rows.items()
        if count >= MIN_ROWS and table in wide and table not in arranging and table.get("role") not in _NOT_DATA
    }


def _table_of(element: Any, root: Any) -> Any:
    """Return the innermost table that holds an element, or is it; ``None`` if there is none below the root."""
    while element is not None and element.tag != "table":
        element = None if element is root else element.getparent()
    return element


def _is_in_cell(element: Any, table: Any) -> bool:
    while element is not table:
        if element.tag in ("td", "th"):
            return True
        element = element.getparent()
    return False
