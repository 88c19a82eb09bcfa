"""Strings with NUL characters, which SQLite's JSON functions would cut off there.

Metadata is stored, and filters ask, with another character in its place.
"""

from typing import Any

_STAND_IN = "\ue000"  # of Unicode's private use area; where it stands itself, it is followed by a 1


def without_nul(value: Any) -> Any:
    """Put something else for NULs, in a string or in all strings of lists and dictionaries."""
    if isinstance(value, str):
        return value.replace(_STAND_IN, f"{_STAND_IN}1").replace("\0", f"{_STAND_IN}0")
    if isinstance(value, list):
        return [without_nul(each) for each in value]
    if isinstance(value, dict):
        return {without_nul(key): without_nul(each) for key, each in value.items()}
    return value


def with_nul(value: Any) -> Any:
    """Undo `without_nul`."""
    if isinstance(value, str):
        return value.replace(f"{_STAND_IN}0", "\0").replace(f"{_STAND_IN}1", _STAND_IN)
    if isinstance(value, list):
        return [with_nul(each) for each in value]
    if isinstance(value, dict):
        return {with_nul(key): with_nul(each) for key, each in value.items()}
    return value


def needs_stand_in(json: str) -> bool:
    """Whether a JSON text in ASCII may hold a NUL or what stands for it."""
    return "\\u0000" in json or "\\ue000" in json
