"""What filters ask of the database, remembered: the rows that match the latest ones, and keys that no row has."""

from collections.abc import Sequence

import numpy as np

from langchain_sentence_window._types import Rows
from langchain_sentence_window.stores.faiss.database.conditions import Condition, for_few
from langchain_sentence_window.stores.faiss.database.schema import Version
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot

_FILTERS_KEPT = 8
_LONGEST_KEY = 10_000
_MAX_ABSENT_KEYS = 1_000


class FilterCache:
    """The rows that the latest filters let through, as the same filter often comes again."""

    def __init__(self) -> None:
        """Begin with none."""
        # Replaced as a whole and never changed, so it needs no lock, which an exception could leave taken.
        self._kept: dict[str, tuple[Version, Rows]] = {}

    def of(self, snapshot: Snapshot, where: Condition) -> Rows:
        """The rows for which a condition holds, in order."""
        version, key = snapshot.version, repr(where)
        kept = self._kept.get(key)
        if kept and kept[0] == version:
            return kept[1]
        rows = _brought_up_to_date(*kept, snapshot, where) if kept else None
        if rows is None:
            rows = np.sort(snapshot.rows(where))
        if len(key) <= _LONGEST_KEY:
            others = [(other, found) for other, found in self._kept.items() if other != key]
            self._kept = dict([*others[1 - _FILTERS_KEPT :], (key, (version, rows))])
        return rows


class AbsentKeys:
    """Metadata keys that no sentence has, as each search of them reads all sentences."""

    def __init__(self) -> None:
        """Begin with none."""
        # Replaced as a whole and never changed, see `FilterCache`.
        self._kept: tuple[Version | None, frozenset[str]] = (None, frozenset())

    def among(self, keys: Sequence[str], snapshot: Snapshot) -> list[str]:
        """Return those of some keys that no sentence has; none of an empty store, where nothing is known."""
        if not snapshot.state.sentences:
            return []
        version, kept = snapshot.version, self._kept
        absent = kept[1] if kept[0] == version else frozenset()
        found = snapshot.unknown_keys([key for key in keys if key not in absent])
        if found and len(absent) < _MAX_ABSENT_KEYS:
            self._kept = version, absent.union(found)
        return [key for key in keys if key in absent or key in found]


def _brought_up_to_date(version: Version, rows: Rows, snapshot: Snapshot, where: Condition) -> Rows | None:
    """Apply what was written since; ``None`` if that isn't known. No row ever changes, or comes back."""
    changes = snapshot.changes_since(*version)
    if changes is None:
        return None
    sql, parameters = for_few(where)
    added = snapshot.rows((f"row > ? AND ({sql})", [changes.last_row, *parameters]))
    return np.concatenate([np.setdiff1d(rows, changes.removed, assume_unique=True), np.sort(added)])
