"""A plain reading of docs/how-to/filter.md in Python, which every road of a filter is compared with."""

import operator
from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st

ORDERED: Mapping[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
EQUAL, UNEQUAL = ("$eq", "$contains", "$in"), ("$ne", "$not_contains", "$nin")


def nested_filters(clauses: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Filters of these clauses, with ``$and``, ``$or`` and ``$not``."""
    return st.recursive(
        clauses,
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"$and": parts}),
            st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"$or": parts}),
            inner.map(lambda part: {"$not": part}),
        ),
        max_leaves=5,
    )


def matches(metadata: Mapping[str, Any], filter: Mapping[str, Any]) -> bool:
    """Whether metadata, as it is stored, matches a filter."""
    return all(_holds(metadata, key, condition) for key, condition in filter.items())


def _holds(metadata: Mapping[str, Any], key: str, condition: Any) -> bool:
    if key == "$and":
        return all(matches(metadata, part) for part in condition)
    if key == "$or":
        return any(matches(metadata, part) for part in condition)
    if key == "$not":
        return not matches(metadata, condition)
    operations = condition if isinstance(condition, Mapping) else {"$eq": condition}
    return all(_meets(metadata, key, name, operand) for name, operand in operations.items())


def _meets(metadata: Mapping[str, Any], key: str, name: str, operand: Any) -> bool:
    if name == "$exists":
        return bool((key in metadata) == operand)
    if key not in metadata:
        return False
    stored = metadata[key]
    elements = stored if isinstance(stored, list) else [stored]
    if name in EQUAL or name in UNEQUAL:
        wanted = operand if name in ("$in", "$nin") else [operand]
        return any(_equal(each, value) for each in elements for value in wanted) == (name in EQUAL)
    if name == "$between":
        low, high = operand
        return any(_compares(operator.ge, each, low) and _compares(operator.le, each, high) for each in elements)
    return any(_compares(ORDERED[name], each, operand) for each in elements)


def _equal(stored: Any, value: Any) -> bool:
    return stored is None if value is None else _compares(operator.eq, stored, value)


def _compares(holds: Callable[[Any, Any], bool], stored: Any, value: Any) -> bool:
    return _kind(stored) is not None and _kind(stored) == _kind(value) and holds(_read(stored), _read(value))


def _kind(value: Any) -> str | None:
    kinds = {bool: "boolean", int: "number", float: "number", str: "text"}
    return kinds.get(type(value))


def _read(value: Any) -> Any:
    """An integer of more than 64 bits is compared as a float, which may be infinite."""
    is_large = type(value) is int and not -(2**63) <= value < 2**63
    return float(str(value)) if is_large else value
