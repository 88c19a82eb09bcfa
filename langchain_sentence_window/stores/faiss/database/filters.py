"""Metadata filters, compiled to SQL; keys and values are always parameters.

The syntax is the one that LangChain's PGVectorStore and Chroma share::

    {"source": "billing.md"}                              equal to
    {"page": {"$gte": 3, "$lt": 9}}                       compared
    {"lang": {"$in": ["en", "fr"]}}                       one of
    {"$or": [{"lang": "en"}, {"draft": {"$exists": False}}]}

All conditions in a mapping must hold. A comparison with a missing key doesn't hold, so ``$ne`` and ``$nin`` hold only
where the key exists. Numbers and strings never equal each other. Integers of more than 64 bits in metadata are compared
as floats, so no filter can name one.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

from langchain_sentence_window._showing import shown
from langchain_sentence_window.documents.keys import DOC_ID, PER_SECTION_KEYS, PER_SENTENCE_KEYS
from langchain_sentence_window.errors import FilterError
from langchain_sentence_window.stores.faiss.database.conditions import (
    MAX_VALUES,
    Condition,
    Owner,
    Part,
    check_size,
    for_few,
    join,
    negated,
    of_sentence,
)
from langchain_sentence_window.stores.faiss.database.json_nul import with_nul, without_nul

__all__ = ["MAX_FILTER_DEPTH", "MAX_VALUES", "Condition", "Filter", "compile_filter", "filter_keys", "having_key"]

Filter: TypeAlias = Mapping[str, Any]

MAX_FILTER_DEPTH = 50
"""The maximum depth of nested ``$and``, ``$or`` and ``$not``."""

_PLAIN = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_COMPARISONS = {"$eq": "=", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
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


def filter_keys(filter: Filter) -> list[str]:
    """Return the metadata keys of a valid filter, each once."""
    return list(dict.fromkeys(_keys_in(filter)))


def having_key(key: str) -> list[tuple[str, list[Any]]]:
    """Return ``FROM`` clauses that find Documents with a key, with their parameters."""
    part = _exists(key, operand=True)
    if part.owner == "sentence":
        return [(f"sentences WHERE {part.sql}", part.parameters)]
    return [
        (f"{part.owner}s WHERE {part.sql}", part.parameters),
        (f"sentences WHERE {part.owner}_key IS NULL AND {part.sql}", part.parameters),
    ]


def _keys_in(filter: Filter) -> Iterator[str]:
    for key, value in filter.items():
        if key in _NESTING:
            for each in value:
                yield from _keys_in(each)
        elif key == "$not":
            yield from _keys_in(value)
        else:
            yield key


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


def _clause(key: object, value: object, depth: int) -> Part:
    if not isinstance(key, str):
        raise FilterError(f"a filter's keys are strings, not {shown(key)}")
    if key in _NESTING:
        if not _is_list(value) or not value:
            raise FilterError(f"{key} takes a list of filters with at least one in it, not {shown(value)}")
        joint = " AND " if key == "$and" else " OR "
        return join(joint, [_all_of(each, depth + 1) for each in value])
    if key == "$not":
        return negated(_all_of(value, depth + 1))
    if key.startswith("$"):
        raise FilterError(f"{shown(key)} isn't an operator that can replace a key; those are $and, $or and $not")
    if not isinstance(value, Mapping):
        if _is_list(value) or isinstance(value, set | frozenset):
            raise FilterError(
                f"the condition on {shown(key)} is a list of values; write {{'$in': [...]}} to match any of them"
            )
        return _compare("=", key, value)
    if not value:
        raise FilterError(f"the condition on {shown(key)} is empty; give a value or an operator")
    return join(" AND ", [_operation(key, operator, operand) for operator, operand in value.items()])


def _operation(key: str, operator: object, operand: object) -> Part:
    if isinstance(operator, str):
        if operator in _COMPARISONS:
            return _compare(_COMPARISONS[operator], key, operand)
        if operator in _OTHERS:
            return _OTHERS[operator](key, operand)
    known = ", ".join([*_COMPARISONS, *_OTHERS])
    raise FilterError(f"{shown(operator)} isn't an operator; those for a key are {known}")


def _compare(sign: str, key: str, operand: object) -> Part:
    if sign == "=":
        return _in(key, [operand])
    value = _value(operand)
    return _where(key, f"{sign} ?", _same_type(value), [value])


def _in(key: str, operand: object) -> Part:
    values = _list("$in", operand)
    given = [_value(each) for each in values if each is not None]
    groups = [[each for each in given if isinstance(each, str) is is_text] for is_text in (True, False)]
    conditions = [_one_of(key, group) for group in groups if group]
    if len(given) < len(values):
        conditions.append(_where_type(key, "= 'null'"))
    return join(" OR ", conditions)


def _not_in(key: str, operand: object) -> Part:
    return join(" AND ", [_exists(key, operand=True), negated(_in(key, _list("$nin", operand)))])


def _not_equal(key: str, operand: object) -> Part:
    return _not_in(key, [operand])


def _between(key: str, operand: object) -> Part:
    low, high = operand if _is_list(operand) and len(operand) == 2 else (None, None)  # noqa: PLR2004
    if low is None or high is None:
        raise FilterError(f"$between takes [lowest, highest], both included, not {shown(operand)}")
    return join(" AND ", [_compare(">=", key, low), _compare("<=", key, high)])


def _exists(key: str, operand: object) -> Part:
    if not isinstance(operand, bool):
        raise FilterError(f"$exists takes True or False, not {shown(operand)}")
    there = _where_type(key, "IS NOT NULL")
    return there if operand else negated(there)


_OTHERS: dict[str, Callable[[str, object], Part]] = {
    "$ne": _not_equal,
    "$in": _in,
    "$nin": _not_in,
    "$between": _between,
    "$exists": _exists,
}


# Comparisons and types are this module's own expressions; keys and values are parameters. A plain key is looked up by
# a path, which is faster than the lookup of a key with dots, quotes or other characters.


def _where(key: str, comparison: str, types: str, values: list[Any]) -> Part:
    if _PLAIN.fullmatch(key):
        path = f"$.{key}"
        # SQLite evaluates the type only where the comparison holds, unless it is inside a function's brackets.
        sql = f"(ifnull(json_extract(metadata, ?) {comparison}, 0) AND json_type(metadata, ?) {types})"
        return Part(sql, [path, *values, path], _owner(key))
    return _where_any(key, f"value {comparison} AND type {types}", values)


def _where_type(key: str, types: str) -> Part:
    if _PLAIN.fullmatch(key):
        sql = f"ifnull(json_type(metadata, ?) {types}, 0)"
        return Part(sql, [f"$.{key}"], _owner(key))
    return _where_any(key, f"type {types}", [])


def _where_any(key: str, condition: str, values: list[Any]) -> Part:
    sql = f"EXISTS (SELECT 1 FROM json_each(metadata) WHERE key = ? AND {condition})"  # noqa: S608
    return Part(sql, [_value(key), *values])


def _owner(key: str) -> Owner:
    if key in PER_SENTENCE_KEYS:
        return "sentence"
    return "section" if key in PER_SECTION_KEYS else "source"


def _one_of(key: str, values: Sequence[str | float]) -> Part:
    marks = ",".join("?" * len(values))
    if key == DOC_ID and isinstance(values[0], str):
        documents = f"SELECT document FROM documents WHERE doc_id IN ({marks})"  # noqa: S608
        sql = f"row IN (SELECT row FROM sentences WHERE document IN ({documents}))"  # noqa: S608
        return Part(sql, [with_nul(value) for value in values], "sentence", is_narrow=True)
    return _where(key, f"IN ({marks})", _same_type(values[0]), list(values))


def _same_type(value: object) -> str:
    # SQLite sorts every number before every string, so each comparison restricts the type.
    return "= 'text'" if isinstance(value, str) else "IN ('integer', 'real', 'true', 'false')"


def _value(value: object) -> str | int | float:
    if isinstance(value, str) and not _SURROGATE.search(value):
        return str(without_nul(value))
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise FilterError(
        f"a filter can't compare with {shown(value)}; values are strings, finite numbers (integers of up to 64 bits) "
        "and booleans"
    )


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview)


def _list(operator: str, operand: object) -> Sequence[object]:
    if not _is_list(operand) and not isinstance(operand, set | frozenset):
        raise FilterError(f"{operator} takes a list of values, not {shown(operand)}")
    return list(operand)
