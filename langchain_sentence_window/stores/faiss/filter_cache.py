"""Caches for filters: the rows that match the latest ones, and the keys that no row has."""

from collections.abc import Sequence

import numpy as np

from langchain_sentence_window._types import Rows
from langchain_sentence_window.stores.faiss.database.conditions import Condition, for_few
from langchain_sentence_window.stores.faiss.database.schema import Version
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot

_MAX_FILTERS = 8
_MAX_KEY_LENGTH = 10_000
_MAX_ABSENT_KEYS = 1_000


class FilterCache:
    """The rows that match the latest filters, as the same filter often comes again."""

    def __init__(self) -> None:
        """Start empty."""
        # Replaced as a whole and never changed, so it needs no lock that an exception could leave held.
        self._kept: dict[str, tuple[Version, Rows]] = {}

    def rows_for(self, snapshot: Snapshot, where: Condition) -> Rows:
        """Return the rows that meet a condition, in order."""
        version, key = snapshot.version, repr(where)
        kept = self._kept.get(key)
        if kept and kept[0] == version:
            return kept[1]
        rows = _caught_up(*kept, snapshot, where) if kept else None
        if rows is None:
            rows = np.sort(snapshot.rows(where))
        if len(key) <= _MAX_KEY_LENGTH:
            others = [(other, found) for other, found in self._kept.items() if other != key]
            self._kept = dict([*others[1 - _MAX_FILTERS :], (key, (version, rows))])
        return rows


class AbsentKeys:
    """Metadata keys that no sentence has, as each search for them reads all sentences."""

    def __init__(self) -> None:
        """Start empty."""
        # Replaced as a whole and never changed, see `FilterCache`.
        self._kept: tuple[Version | None, frozenset[str]] = (None, frozenset())

    def among(self, keys: Sequence[str], snapshot: Snapshot) -> list[str]:
        """Return the keys that no sentence has; none for an empty store."""
        if not snapshot.state.sentences:
            return []
        version, kept = snapshot.version, self._kept
        absent = kept[1] if kept[0] == version else frozenset()
        found = snapshot.unknown_keys([key for key in keys if key not in absent])
        if found and len(absent) < _MAX_ABSENT_KEYS:
            self._kept = version, absent.union(found)
        return [key for key in keys if key in absent or key in found]


def _caught_up(version: Version, rows: Rows, snapshot: Snapshot, where: Condition) -> Rows | None:
    """Apply the changes since; return ``None`` if they aren't known. No row ever changes or comes back."""
    changes = snapshot.changes_since(*version)
    if changes is None:
        return None
    sql, parameters = for_few(where)
    added = snapshot.rows((f"row > ? AND ({sql})", [changes.last_row, *parameters]))
    return np.concatenate([np.setdiff1d(rows, changes.removed, assume_unique=True), np.sort(added)])
