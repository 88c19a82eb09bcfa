"""Metadata filters, compiled to SQL; keys and values are always parameters.

The syntax is the one that LangChain's PGVectorStore and Chroma share::

    {"source": "billing.md"}                              equal to
    {"page": {"$gte": 3, "$lt": 9}}                       compared
    {"lang": {"$in": ["en", "fr"]}}                       one of
    {"groups": {"$in": ["staff", "north"]}}               one of the list's elements is one of these
    {"$or": [{"lang": "en"}, {"draft": {"$exists": False}}]}

All conditions in a mapping must hold. A comparison with a missing key doesn't hold, so ``$ne`` and ``$nin`` hold only
where the key exists. Strings, numbers and booleans never equal each other. Integers of more than 64 bits in metadata
are compared as floats, so no filter can name one. Keys and values are converted as those of metadata, see `as_json`.

If the value is a list, a comparison holds if it holds for one of its elements; ``$ne`` and ``$nin`` hold if they hold
for all. Lists and dicts in a list match nothing, and neither does a dict. ``$contains`` is another name of ``$eq``, and
``$not_contains`` of ``$ne``, which read better where the value is a list.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from langchain_sentence_window._showing import shown
from langchain_sentence_window.documents.json_values import stored_form
from langchain_sentence_window.errors import FilterError
from langchain_sentence_window.stores.faiss.database.conditions import (
    MAX_VALUES,
    Condition,
    Part,
    check_size,
    for_few,
    join,
    negated,
    of_sentence,
)
from langchain_sentence_window.stores.faiss.database.operators import OPERATORS, equals, exists, is_list

__all__ = ["MAX_FILTER_DEPTH", "MAX_VALUES", "Condition", "Filter", "compile_filter", "filter_keys", "having_key"]

Filter: TypeAlias = Mapping[str, Any]

MAX_FILTER_DEPTH = 50
"""The maximum depth of nested ``$and``, ``$or`` and ``$not``."""

_NESTING = ("$and", "$or")


def compile_filter(filter: Filter) -> Condition:
    """Compile a filter.

    Raises:
        FilterError: The filter isn't a mapping or is too long, an operator doesn't exist, or a value can't be compared.
    """
    part = of_sentence(_all_of(filter, 0))
    check_size(part)
    condition = part.sql, part.parameters
    return for_few(condition) if part.is_narrow else condition


def compile_for_sources(filter: Filter) -> Condition | None:
    """Compile a filter for rows of ``sources``; ``None`` if it asks for more than the metadata there.

    Raises:
        FilterError: As for `compile_filter`.
    """
    part = _all_of(filter, 0)
    check_size(part)
    return (part.sql, part.parameters) if part.owner == "source" else None


def filter_keys(filter: Filter) -> list[str]:
    """Return the metadata keys of a valid filter, each once."""
    return list(dict.fromkeys(_keys_in(filter)))


def having_key(key: str) -> list[tuple[str, list[Any]]]:
    """Return ``FROM`` clauses that find Documents with a key, with their parameters."""
    part = exists(key, operand=True)
    if part.owner == "sentence":
        return [(f"sentences WHERE {part.sql}", part.parameters)]
    return [
        (f"{part.owner}s WHERE {part.sql}", part.parameters),
        (f"sentences WHERE source_key IS NULL AND {part.sql}", part.parameters),
    ]


def _keys_in(filter: Filter) -> Iterator[str]:
    for key, value in filter.items():
        if key in _NESTING:
            for each in value:
                yield from _keys_in(each)
        elif key == "$not":
            yield from _keys_in(value)
        else:
            yield stored_form(key)


def _all_of(filter: object, depth: int) -> Part:
    if not isinstance(filter, Mapping):
        is_json = isinstance(filter, str) and filter.lstrip().startswith("{")
        cure = "; read it with json.loads first" if is_json else ""
        raise FilterError(
            f"a filter is a mapping such as {{'source': 'a.md'}}, not {shown(filter)} of type "
            f"{type(filter).__name__}{cure}"
        )
    if depth > MAX_FILTER_DEPTH:
        raise FilterError(f"the filter nests more than {MAX_FILTER_DEPTH} levels; flatten its $and, $or and $not")
    return join(" AND ", [_clause(key, value, depth) for key, value in filter.items()])


def _clause(given: object, value: object, depth: int) -> Part:
    key = stored_form(given)
    if not isinstance(key, str):
        raise FilterError(f"a filter's keys are strings, not {shown(given)}")
    if key in _NESTING:
        if not is_list(value) or not value:
            raise FilterError(f"{key} takes a list of filters with at least one in it, not {shown(value)}")
        if key == "$and":
            return join(" AND ", [_all_of(each, depth + 1) for each in value])
        return join(" OR ", [_all_of(each, depth + 1) for each in _with_equals_together(value)])
    if key == "$not":
        return negated(_all_of(value, depth + 1))
    if key.startswith("$"):
        raise FilterError(f"{shown(key)} isn't an operator that can replace a key; those are $and, $or and $not")
    if not isinstance(value, Mapping):
        if is_list(value) or isinstance(value, set | frozenset):
            raise FilterError(
                f"the condition on {shown(key)} is a list of values; write {{'$in': [...]}} to match any of them"
            )
        return equals(key, value)
    if not value:
        raise FilterError(f"the condition on {shown(key)} is empty; give a value or an operator")
    return join(" AND ", [_operation(key, operator, operand) for operator, operand in value.items()])


def _with_equals_together(filters: Sequence[object]) -> list[object]:
    """Return filters of which one must match, with all values that one key may equal in one list: SQL is limited."""
    equal: dict[str, list[object]] = {}
    others: list[object] = []
    for each in filters:
        key, value = next(iter(each.items())) if isinstance(each, Mapping) and len(each) == 1 else (None, None)
        if isinstance(key, str) and not key.startswith("$") and isinstance(value, str | int | float):
            equal.setdefault(key, []).append(value)
        else:
            others.append(each)
    return [*({key: {"$in": values}} for key, values in equal.items()), *others]


def _operation(key: str, operator: object, operand: object) -> Part:
    if isinstance(operator, str) and operator in OPERATORS:
        return OPERATORS[operator].to_sql(key, operand)
    raise FilterError(f"{shown(operator)} isn't an operator; those for a key are {', '.join(OPERATORS)}")
