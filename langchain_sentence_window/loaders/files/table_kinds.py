"""Tables that hold data, told from those that only arrange a page."""

from dataclasses import dataclass
from itertools import islice
from typing import Any

from langchain_sentence_window.loaders.files.html_notes import HEADINGS, is_box
from langchain_sentence_window.loaders.files.libxml import etree

MIN_ROWS = MIN_COLUMNS = 2
"""The least rows and columns of a table of data; one with a head may have one column."""

_CELLS = ("td", "th")
_INNER = ("table", *HEADINGS, "pre")
_NOT_DATA = frozenset({"presentation", "none"})


@dataclass(slots=True)
class _Table:
    """The state of a table that is open.

    Attributes:
        element: The table.
        rows: The number of its rows.
        open_cells: The number of its cells that are open, one in the other.
        is_wide: Whether a row has several columns.
        has_head: Whether its first rows are marked as its head.
        arranges: Whether a cell holds a heading, code or a table.
    """

    element: Any
    rows: int = 0
    open_cells: int = 0
    is_wide: bool = False
    has_head: bool = False
    arranges: bool = False

    @property
    def is_data(self) -> bool:
        """Whether the table holds data."""
        holds_rows = self.rows >= MIN_ROWS and (self.is_wide or self.has_head) and not self.arranges
        if not holds_rows or self.element.get("role") in _NOT_DATA:
            return False
        above = self.element.getparent()
        return above is None or not is_box(above) or _holds_more(above)


def data_tables(root: Any) -> set[Any]:
    """Return the tables below an element that hold data.

    They have rows, and columns or a head, and no cell holds a heading, code or another table. They don't draw a box
    around a note.
    """
    found: set[Any] = set()
    stack: list[_Table] = []
    for event, element in etree().iterwalk(root, events=("start", "end"), tag=(*_INNER, *_CELLS, "tr", "thead")):
        tag, top = element.tag, stack[-1] if stack else None
        if event == "start":
            if top is not None:
                _look(top, element)
            if tag == "table":
                stack.append(_Table(element))
        elif tag == "table":
            closed = stack.pop()
            if closed.is_data:
                found.add(closed.element)
        elif tag in _CELLS and top is not None:
            top.open_cells -= 1
    return found


def _holds_more(box: Any) -> bool:
    """Return whether a box holds more than the table that may draw it."""
    return next(islice(box.iterchildren("*"), 1, None), None) is not None or bool((box.text or "").strip())


def _look(table: _Table, element: Any) -> None:
    """Look at an element that begins in a table."""
    if element.tag == "tr":
        table.rows += 1
        table.is_wide |= len(element) >= MIN_COLUMNS
    elif element.tag == "thead":
        table.has_head = True
    elif element.tag in _CELLS:
        table.open_cells += 1
    elif table.open_cells:
        table.arranges = True
