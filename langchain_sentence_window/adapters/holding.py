"""Limits that the metadata of several stores has in common: those of numbers and of characters."""

import re
from collections.abc import Callable
from typing import Any

_LARGEST = 2**63
_SURROGATE = re.compile("[\ud800-\udfff]")


def is_plain(value: Any) -> bool:
    """Return whether a string, number or boolean can be written as UTF-8, or as a number of 64 bits."""
    return is_plain_text(value) and (not isinstance(value, int) or -_LARGEST <= value < _LARGEST)


def is_plain_text(value: Any) -> bool:
    """Return whether a value is no string with a lone surrogate, which UTF-8 can't hold."""
    return not isinstance(value, str) or _SURROGATE.search(value) is None


def has_only(value: Any, holds: Callable[[Any], bool] = is_plain) -> bool:
    """Return whether a store holds all strings, numbers and booleans in a value, keys of dicts included."""
    if isinstance(value, list):
        return all(has_only(each, holds) for each in value)
    if isinstance(value, dict):
        return all(holds(key) and has_only(each, holds) for key, each in value.items())
    return holds(value)
