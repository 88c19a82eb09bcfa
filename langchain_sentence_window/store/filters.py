"""Metadata filters, compiled to SQL with parameters only.

The syntax is the one LangChain's PGVectorStore and Chroma share::

    {"source": "billing.md"}                              equal to
    {"page": {"$gte": 3, "$lt": 9}}                       compared
    {"lang": {"$in": ["en", "fr"]}}                       one of
    {"$or": [{"lang": "en"}, {"draft": {"$exists": False}}]}

Keys that stand together must all hold. A comparison with a missing key doesn't hold, so ``$ne`` and
``$nin`` hold only where the key exists. Numbers and strings never equal each other.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from langchain_sentence_window.errors import FilterError
from langchain_sentence_window.metadata.keys import DOC_ID
from langchain_sentence_window.store.nul import with_nul, without_nul

Filter: TypeAlias = Mapping[str, Any]
Condition: TypeAlias = tuple[str, list[Any]]
"""An SQL expression over a row of ``sentences``, and its parameters."""

DEEPEST_FILTER = 50
"""Levels of ``$and``, ``$or`` and ``$not`` in each other."""

MOST_VALUES = 30_000
"""Keys and values in one filter."""

_LONGEST_SQL = 900_000  # SQLite takes a million
_PLAIN = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_COMPARISONS = {"$eq": "=", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


def compile_filter(filter: Filter) -> Condition:
    """Compile a filter.

    Raises:
        FilterError: It isn't a mapping, an operator doesn't exist, a value can't be compared, or it is too
            long.
    """
    sql, parameters = _all_of(filter, 0)
    if len(parameters) > MOST_VALUES or len(sql) > _LONGEST_SQL:
        raise FilterError(
            f"the filter has {len(parameters):,} keys and values, more than can be asked for at once; give it at most "
            f"{MOST_VALUES:,} and search several times, or mark the documents in their metadata"
        )
    return sql, parameters


def _all_of(filter: object, depth: int) -> Condition:
    if not isinstance(filter, Mapping):
        raise FilterError(
            f"a filter is a mapping such as {{'source': 'a.md'}}, not {_short(filter)} of type {type(filter).__name__}"
        )
    if depth > DEEPEST_FILTER:
        raise FilterError(f"the filter nests more than {DEEPEST_FILTER} levels; flatten its $and, $or and $not")
    return _join(" AND ", [_clause(key, value, depth) for key, value in filter.items()])


def _clause(key: object, value: object, depth: int) -> Condition:
    if not isinstance(key, str):
        raise FilterError(f"a filter's keys are strings, not {_short(key)}")
    if key in ("$and", "$or"):
        if not isinstance(value, Sequence) or isinstance(value, str) or not value:
            raise FilterError(f"{key} takes a list of filters with at least one in it, not {_short(value)}")
        joint = " AND " if key == "$and" else " OR "
        return _join(joint, [_all_of(each, depth + 1) for each in value])
    if key == "$not":
        sql, parameters = _all_of(value, depth + 1)
        return f"NOT {sql}", parameters
    if key.startswith("$"):
        raise FilterError(f"{_short(key)} isn't an operator; $and, $or and $not stand where a key stands")
    if not isinstance(value, Mapping):
        return _compare("=", key, value)
    if not value:
        raise FilterError(f"the condition on {_short(key)} is empty; give a value or an operator")
    return _join(" AND ", [_operation(key, operator, operand) for operator, operand in value.items()])


def _operation(key: str, operator: object, operand: object) -> Condition:
    if isinstance(operator, str):
        if operator in _COMPARISONS:
            return _compare(_COMPARISONS[operator], key, operand)
        if operator in _OTHERS:
            return _OTHERS[operator](key, operand)
    known = ", ".join([*_COMPARISONS, *_OTHERS])
    raise FilterError(f"{_short(operator)} isn't an operator; on a key there are {known}")


def _compare(sign: str, key: str, operand: object) -> Condition:
    if sign == "=":
        return _in(key, [operand])
    value = _value(operand)
    return _where(key, f"{sign} ?", _same_type(value), [value])


def _in(key: str, operand: object) -> Condition:
    values = _list("$in", operand)
    given = [_value(each) for each in values if each is not None]
    groups = [[each for each in given if isinstance(each, str) is is_text] for is_text in (True, False)]
    conditions = [_one_of(key, group) for group in groups if group]
    if len(given) < len(values):
        conditions.append(_where_type(key, "= 'null'"))
    return _join(" OR ", conditions)


def _not_in(key: str, operand: object) -> Condition:
    sql, parameters = _in(key, _list("$nin", operand))
    return _join(" AND ", [_exists(key, operand=True), (f"NOT {sql}", parameters)])


def _not_equal(key: str, operand: object) -> Condition:
    return _not_in(key, [operand])


def _between(key: str, operand: object) -> Condition:
    low, high = operand if isinstance(operand, Sequence) and len(operand) == 2 else (None, None)  # noqa: PLR2004
    if low is None or high is None:
        raise FilterError(f"$between takes [lowest, highest], both included, not {_short(operand)}")
    return _join(" AND ", [_compare(">=", key, low), _compare("<=", key, high)])


def _exists(key: str, operand: object) -> Condition:
    if not isinstance(operand, bool):
        raise FilterError(f"$exists takes True or False, not {_short(operand)}")
    sql, parameters = _where_type(key, "IS NOT NULL")
    return sql if operand else f"NOT {sql}", parameters


_OTHERS: dict[str, Callable[[str, object], Condition]] = {
    "$ne": _not_equal,
    "$in": _in,
    "$nin": _not_in,
    "$between": _between,
    "$exists": _exists,
}


# Comparisons and types are this module's own expressions; keys and values are parameters. A key like most
# is looked up by a path, twice as fast as one with dots, quotes or other letters.


def _where(key: str, comparison: str, types: str, values: list[Any]) -> Condition:
    if _PLAIN.fullmatch(key):
        path = f"$.{key}"
        # SQLite asks for the type only where the comparison holds, if it isn't inside a function's brackets.
        sql = f"(ifnull(json_extract(metadata, ?) {comparison}, 0) AND json_type(metadata, ?) {types})"
        return sql, [path, *values, path]
    return _where_any(key, f"value {comparison} AND type {types}", values)


def _where_type(key: str, types: str) -> Condition:
    if _PLAIN.fullmatch(key):
        return f"ifnull(json_type(metadata, ?) {types}, 0)", [f"$.{key}"]
    return _where_any(key, f"type {types}", [])


def _where_any(key: str, condition: str, values: list[Any]) -> Condition:
    return f"EXISTS (SELECT 1 FROM json_each(metadata) WHERE key = ? AND {condition})", [  # noqa: S608
        _value(key),
        *values,
    ]


def _one_of(key: str, values: Sequence[str | float]) -> Condition:
    marks = ",".join("?" * len(values))
    if key == DOC_ID and isinstance(values[0], str):
        documents = f"SELECT document FROM documents WHERE doc_id IN ({marks})"  # noqa: S608
        sql = f"row IN (SELECT row FROM sentences WHERE document IN ({documents}))"  # noqa: S608
        return sql, [with_nul(value) for value in values]
    return _where(key, f"IN ({marks})", _same_type(values[0]), list(values))


def _same_type(value: object) -> str:
    # SQLite sorts every number before every string; so a comparison says of what it speaks.
    return "= 'text'" if isinstance(value, str) else "IN ('integer', 'real', 'true', 'false')"


def _value(value: object) -> str | int | float:
    if isinstance(value, str) and not _SURROGATE.search(value):
        return str(without_nul(value))
    if isinstance(value, int) and abs(value) < 2**63:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise FilterError(f"a filter can't compare with {_short(value)}; values are strings, finite numbers and booleans")


def _list(operator: str, operand: object) -> Sequence[object]:
    if isinstance(operand, str) or not isinstance(operand, Sequence | set | frozenset):
        raise FilterError(f"{operator} takes a list of values, not {_short(operand)}")
    return list(operand)


def _join(joint: str, conditions: Sequence[Condition]) -> Condition:
    if not conditions:
        return ("0" if joint == " OR " else "1"), []
    if len(conditions) == 1:
        return conditions[0]
    # In halves, as SQLite nests only so deep.
    middle = len(conditions) // 2
    left, right = _join(joint, conditions[:middle]), _join(joint, conditions[middle:])
    return f"({left[0]}{joint}{right[0]})", left[1] + right[1]


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."  # noqa: PLR2004
