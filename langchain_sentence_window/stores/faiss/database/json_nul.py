"""Strings with NUL characters, which SQLite's JSON functions would truncate.

Metadata and filters are stored and compared with another character instead.
"""

from collections.abc import Callable
from typing import Any

_STAND_IN = "\ue000"  # of Unicode's private use area; followed by 0 for a NUL, by 1 for itself


def without_nul(value: Any) -> Any:
    """Replace NULs in a string, or in all strings of lists and dictionaries."""
    return _changed(value, lambda text: text.replace(_STAND_IN, f"{_STAND_IN}1").replace("\0", f"{_STAND_IN}0"))


def with_nul(value: Any) -> Any:
    """Undo `without_nul`."""
    return _changed(value, lambda text: text.replace(f"{_STAND_IN}0", "\0").replace(f"{_STAND_IN}1", _STAND_IN))


def needs_stand_in(json: str) -> bool:
    """Return whether a JSON text may contain a NUL or its replacement."""
    return "\\u0000" in json or "\\ue000" in json or _STAND_IN in json


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_changed(each, change) for each in value]
    if isinstance(value, dict):
        return {_changed(key, change): _changed(each, change) for key, each in value.items()}
    return value
