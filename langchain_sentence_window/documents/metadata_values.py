"""Values of metadata: read from a store, which may hold anything, and converted to what JSON can hold."""

import json
import math
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from copy import deepcopy
from datetime import date, time
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

import numpy as np

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import MAX_INDEX

SCALARS = (str, int, float, bool)
"""The types of the values that every store can hold."""


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
    if type(value) is int and 0 <= value < MAX_INDEX:  # the usual case, quickly
        return value
    try:
        read = int(value)
    except (TypeError, ValueError, OverflowError):
        read = -1
    if not 0 <= read < MAX_INDEX or isinstance(value, bool) or (isinstance(value, float) and read != value):
        raise ValueError(f"{key} is {shown(value)}")
    return read


def numbers(metadata: Mapping[str, Any], keys: Iterable[str]) -> list[int]:
    """Read indexes, see `number`; quickly, as a query reads hundreds of sentences."""
    values = [metadata[key] for key in keys]
    if {*map(type, values)} == {int} and min(values) >= 0 and max(values) < MAX_INDEX:
        return values
    return [number(metadata, key) for key in keys]


def texts(metadata: Mapping[str, Any], keys: Iterable[str]) -> list[str]:
    """Read strings.

    Raises:
        KeyError: A key is missing.
        ValueError: A value isn't a string.
    """
    for key in keys:
        if not isinstance(metadata[key], str):
            raise ValueError(f"{key} is {shown(metadata[key])}")
    return [metadata[key] for key in keys]


MAX_LEVELS = 99
"""Levels of nested lists and dicts in a value."""

MAX_VALUES = 100_000
"""Values in a value, itself and its lists and dicts counted."""

_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_LISTS = (list, tuple, set, frozenset)
_PLAIN_TYPES = frozenset({str, int, float, bool, type(None)})


def as_json(value: Any) -> Any:
    """Convert a value to what JSON gives back unchanged.

    Strings, numbers, booleans and ``None`` stay, those of subclasses and of NumPy as the plain type. Lists, tuples and
    sets become lists, a set's in the order of its values. Mappings become dicts; whole numbers as keys become strings.
    Dates and times become ISO strings. Decimals, UUIDs and paths become strings. Members of an ``Enum`` become their
    value. Two surrogates that are one character in JSON become it.

    Returns:
        A value that shares no list and no dict with the given one.

    Raises:
        ValueError: JSON can't hold it, such as another object, bytes, NaN, or what contains itself; or it has more
            than `MAX_LEVELS` levels or `MAX_VALUES` values.
    """
    return _to_plain_value(value, MAX_LEVELS, iter(range(MAX_VALUES)))


def json_item(key: object, value: object, others: Container[str]) -> tuple[str, Any]:
    """Convert a key of metadata and its value, as `as_json` does.

    Raises:
        ValueError: JSON can't hold one of them, the key is no string, or it becomes one of the other keys.
    """
    name = as_json(key)
    if not isinstance(name, str):
        raise ValueError("its key isn't a string")
    if name in others:
        raise ValueError("another key becomes the same string")
    return name, as_json(value)


def stored_form(value: object) -> Any:
    """Convert a value that a filter compares with as those in metadata were; return what JSON can't hold as it is."""
    if type(value) in _PLAIN_TYPES:  # the usual case, quickly
        return value
    try:
        return as_json(value)
    except ValueError:
        return value


def stored_filter(filter: Any) -> Any:
    """Convert the keys and the values in a filter, so that it finds what was stored of the same values."""
    if isinstance(filter, Mapping):
        names = [(stored_form(key), key) for key in filter]
        return {name if isinstance(name, str) else key: stored_filter(filter[key]) for name, key in names}
    if isinstance(filter, _LISTS):
        return [stored_filter(each) for each in filter]
    return stored_form(filter)


def own_values(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Copy metadata with its lists and dicts, as a store may keep the ones that it returned."""
    return {key: value if type(value) in _PLAIN_TYPES else deepcopy(value) for key, value in metadata.items()}


def _to_plain_value(value: Any, levels: int, budget: Iterator[int]) -> Any:
    """Convert a value that may have so many more levels, and take it and each value in it from the budget."""
    if next(budget, None) is None:
        raise ValueError(f"it has more than {MAX_VALUES:,} values")
    if isinstance(value, Enum):
        return _to_plain_value(value.value, levels, budget)
    if value is None:
        return None
    if isinstance(value, SCALARS) or not isinstance(value, (Mapping, *_LISTS)):
        return _to_plain_scalar(value)
    if not levels:
        raise ValueError(f"it nests more than {MAX_LEVELS} levels")
    if isinstance(value, Mapping):
        items = [(_to_plain_key(key, budget), _to_plain_value(each, levels - 1, budget)) for key, each in value.items()]
        if len(dict(items)) < len(items):
            raise ValueError("its keys aren't different strings")
        return dict(items)
    values = [_to_plain_value(each, levels - 1, budget) for each in value]
    return sorted(values, key=_sort_key) if isinstance(value, set | frozenset) else values


def _to_plain_scalar(value: Any) -> str | float:
    """Convert a single value; one of a subclass, such as NumPy's, to the plain type that a store returns."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    match value:
        case bool() | np.bool_():
            return bool(value)
        case str():
            text = str.__str__(value)
            return str(json.loads(json.dumps(text))) if _PAIR.search(text) else text
        case int() | np.integer() if not isinstance(value, np.timedelta64):
            str(int(value))  # fails where it has more digits than Python writes
            return int(value)
        case float() | np.floating():
            if not math.isfinite(value):
                raise ValueError("it isn't finite")
            return float(value)
        case Decimal() | UUID() | PurePath():
            return str(value)
        case date() | time() | np.datetime64() if value == value:  # noqa: PLR0124 - NaT isn't equal to itself
            return str(value) if isinstance(value, np.datetime64) else str(value.isoformat())
    raise ValueError(f"it is of type {type(value).__name__}")


def _to_plain_key(key: object, budget: Iterator[int]) -> str:
    """Convert a key of a mapping to a string."""
    name = _to_plain_value(key, 0, budget)
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise ValueError("its keys aren't different strings")
    return str(name)


def _sort_key(value: Any) -> tuple[str, Any]:
    """Return the key that sorts the values of a set, of any types."""
    if isinstance(value, int | float):
        return "", value
    return type(value).__name__, value if isinstance(value, str) else repr(value)
