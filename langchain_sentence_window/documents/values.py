"""Values of metadata from a store, which may hold anything."""

from collections.abc import Mapping
from typing import Any, TypeVar

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import MAX_INDEX

T = TypeVar("T")


def is_scalar(value: object) -> bool:
    """Return whether every store can hold a value."""
    return isinstance(value, str | int | float | bool)


def plain(value: str | float) -> str | int | float:
    """Convert a value of a subclass, such as a string enumeration, to the plain type that a store returns."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool):
        return value
    return int.__int__(value) if isinstance(value, int) else float.__float__(value)


def is_index(value: object) -> bool:
    """Return whether a value can be an index."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MAX_INDEX


def number(metadata: Mapping[str, Any], key: str) -> int:
    """Read an index, which some stores return as a float or a string.

    Raises:
        KeyError: The key is missing.
        ValueError: The value can't be an index.
    """
    value = metadata[key]
    if type(value) is int and 0 <= value < MAX_INDEX:  # the usual case, told quickly
        return value
    try:
        read = int(value)
    except (TypeError, ValueError, OverflowError):
        read = -1
    if not 0 <= read < MAX_INDEX or isinstance(value, bool) or (isinstance(value, float) and read != value):
        raise ValueError(f"{key} is {shown(value)}")
    return read


def checked(metadata: Mapping[str, Any], key: str, kind: type[T], default: T | None = None) -> T:
    """Read a value of a type.

    Raises:
        KeyError: The key is missing, and there is no default.
        ValueError: The value is of another type.
    """
    value = metadata[key] if default is None else metadata.get(key, default)
    if not isinstance(value, kind):
        raise ValueError(f"{key} is {shown(value)}")
    return value
