"""Values of metadata that a store gave back, which anybody may have written there."""

from collections.abc import Mapping
from typing import Any, TypeVar

from langchain_sentence_window._showing import shown

LARGEST_INDEX = 2**62
"""The largest number that can be a place; larger ones aren't kept by all stores."""

T = TypeVar("T")


def is_scalar(value: object) -> bool:
    """Whether every store can hold a value."""
    return isinstance(value, str | int | float | bool)


def plain(value: str | float) -> str | int | float:
    """A value without what a class adds to it, such as an enumeration, as it comes back from a store on disk."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool):
        return value
    return int.__int__(value) if isinstance(value, int) else float.__float__(value)


def is_index(value: object) -> bool:
    """Whether a value is a whole number that can be a place."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST_INDEX


def number(metadata: Mapping[str, Any], key: str) -> int:
    """Read a place, which some stores give back as a float or a string.

    Raises:
        KeyError: There is none.
        ValueError: It isn't a whole number, or can't be a place.
    """
    value = metadata[key]
    try:
        read = int(value)
    except (TypeError, ValueError, OverflowError):
        read = -1
    if not 0 <= read < LARGEST_INDEX or isinstance(value, bool) or (isinstance(value, float) and read != value):
        raise ValueError(f"{key} is {shown(value)}")
    return read


def checked(metadata: Mapping[str, Any], key: str, kind: type[T], default: T | None = None) -> T:
    """Read a value of a type.

    Raises:
        KeyError: There is none, and no default.
        ValueError: It is of another type.
    """
    value = metadata[key] if default is None else metadata.get(key, default)
    if not isinstance(value, kind):
        raise ValueError(f"{key} is {shown(value)}")
    return value
