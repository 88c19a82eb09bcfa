"""Metadata filters, evaluated in Python: what a store gave back is seen to be what a filter lets through.

The syntax and its meaning are those of `langchain_sentence_window.stores.faiss.database.filters`, to the letter.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from langchain_sentence_window.stores.faiss.database.filters import Filter, compile_filter
from langchain_sentence_window.stores.faiss.database.json_nul import without_nul

_MISSING = object()
_LARGEST = 2**63
_ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def matcher(filter: Filter) -> Callable[[Mapping[str, Any]], bool]:
    """Make what says whether metadata is what a filter lets through.

    Raises:
        FilterError: The filter can't be read.
    """
    compile_filter(filter)
    return partial(_all_of, filter)


def _all_of(filter: Filter, metadata: Mapping[str, Any]) -> bool:
    return all(_holds(key, value, metadata) for key, value in filter.items())


def _holds(key: str, value: Any, metadata: Mapping[str, Any]) -> bool:
    if key == "$and":
        return all(_all_of(each, metadata) for each in value)
    if key == "$or":
        return any(_all_of(each, metadata) for each in value)
    if key == "$not":
        return not _all_of(value, metadata)
    stored = metadata.get(key, _MISSING)
    if not isinstance(value, Mapping):
        return _is_one_of(stored, [value])
    return all(_operation(name, stored, operand) for name, operand in value.items())


def _operation(name: str, stored: Any, operand: Any) -> bool:
    exists = stored is not _MISSING
    if name == "$exists":
        return exists is operand
    if name in ("$in", "$eq"):
        return _is_one_of(stored, operand if name == "$in" else [operand])
    if name in ("$nin", "$ne"):
        return exists and not _is_one_of(stored, operand if name == "$nin" else [operand])
    if name == "$between":
        low, high = operand
        return _compares("$gte", stored, low) and _compares("$lte", stored, high)
    return _compares(name, stored, operand)


def _is_one_of(stored: Any, values: Sequence[Any]) -> bool:
    return any(stored is None if value is None else _compare(operator.eq, stored, value) for value in values)


def _compares(name: str, stored: Any, value: Any) -> bool:
    return _compare(_ORDERS[name], stored, value)


def _compare(holds: Callable[[Any, Any], Any], stored: Any, value: Any) -> bool:
    """Return whether a comparison holds; never between a string and a number, nor with a list or a mapping."""
    kind = str if isinstance(value, str) else int | float
    return isinstance(stored, kind) and bool(holds(_as_in_sql(stored), _as_in_sql(value)))


def _as_in_sql(value: Any) -> Any:
    if isinstance(value, str):
        return without_nul(value)
    if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        # What doesn't fit into 64 bits is read as a float there.
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    return value
