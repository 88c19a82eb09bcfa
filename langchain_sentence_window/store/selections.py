"""Which rows a filter lets through, remembered for the latest filters."""

from collections import OrderedDict
from threading import Lock

import numpy as np

from langchain_sentence_window.store.conditions import Condition, for_few
from langchain_sentence_window.store.reading import Snapshot
from langchain_sentence_window.store.tables import Rows, Version

_FILTERS_KEPT = 8
_LONGEST_KEY = 10_000


class Selections:
    """The rows that the latest filters let through, as the same filter often comes again."""

    def __init__(self) -> None:
        """Begin with none."""
        self._kept: OrderedDict[str, tuple[Version, Rows]] = OrderedDict()
        self._lock = Lock()

    def of(self, snapshot: Snapshot, where: Condition) -> Rows:
        """The rows for which a condition holds, in order."""
        version, key = snapshot.version, repr(where)
        with self._lock:
            kept = self._kept.get(key)
        if kept and kept[0] == version:
            return kept[1]
        rows = _brought_up_to_date(*kept, snapshot, where) if kept else None
        if rows is None:
            rows = np.sort(snapshot.rows(where))
        with self._lock:
            if len(key) <= _LONGEST_KEY:
                self._kept[key] = version, rows
                self._kept.move_to_end(key)
            while len(self._kept) > _FILTERS_KEPT:
                self._kept.popitem(last=False)
        return rows


def _brought_up_to_date(version: Version, rows: Rows, snapshot: Snapshot, where: Condition) -> Rows | None:
    """Apply what was written since; ``None`` if that isn't known. No row ever changes, or comes back."""
    changes = snapshot.changes_since(*version)
    if changes is None:
        return None
    sql, parameters = for_few(where)
    added = snapshot.rows((f"row > ? AND ({sql})", [changes.last_row, *parameters]))
    return np.concatenate([np.setdiff1d(rows, changes.removed, assume_unique=True), np.sort(added)])
