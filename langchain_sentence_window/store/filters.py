"""Metadata filters: their syntax, and what each operator means in SQL, and in Python for stores that lack it.

The syntax is the one that LangChain's PGVectorStore and Chroma share::

    {"source": "billing.md"}                              equal to
    {"page": {"$gte": 3, "$lt": 9}}                       compared
    {"lang": {"$in": ["en", "fr"]}}                       one of
    {"groups": {"$in": ["staff", "north"]}}               one of the list's elements is one of these
    {"$or": [{"lang": "en"}, {"draft": {"$exists": False}}]}

All conditions in a mapping must hold. A comparison with a missing key doesn't hold, so ``$ne`` and ``$nin`` hold only
where the key exists. Strings, numbers and booleans never equal each other, nor compare. Integers of more than 64 bits
in metadata are compared as floats, so no filter can name one. Keys and values are converted as those of metadata, see
`as_json`; a NUL in a string, which SQLite's JSON functions would truncate, is stored and compared as other characters.

If the value is a list, a comparison holds if it holds for one of its elements; ``$ne`` and ``$nin`` hold if they hold
for all. Lists and dicts in a list match nothing, and neither does a dict. The package's own keys hold no lists, so
theirs aren't looked into. ``$contains`` is another name of ``$eq``, and ``$not_contains`` of ``$ne``, which read better
where the value is a list.

In SQL, keys and values are always parameters.
"""

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, TypeGuard

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import LONE_SURROGATE
from langchain_sentence_window.documents.keys import DOC_ID, PER_SECTION_KEYS, PER_SENTENCE_KEYS, SENTENCE_KEYS
from langchain_sentence_window.documents.metadata_values import stored_form
from langchain_sentence_window.errors import FilterError

Filter: TypeAlias = Mapping[str, Any]

Condition: TypeAlias = tuple[str, list[Any]]
"""An SQL expression over a row of ``sentences``, and its parameters."""

Owner: TypeAlias = Literal["source", "section", "sentence"]
"""The owner of the metadata that has a key."""

Scalar: TypeAlias = str | int | float
"""A value that a filter may compare with."""

MISSING: Any = object()
"""The value of a missing key."""

MAX_FILTER_DEPTH = 50
"""The maximum depth of nested ``$and``, ``$or`` and ``$not``."""

MAX_VALUES = 30_000
"""The largest number of keys and values in one filter."""

_NESTING = ("$and", "$or")

_MAX_PARAMETERS = MAX_VALUES + 1_000  # a key may be written several times, and SQLite takes 32,766
_MAX_SQL_LENGTH = 900_000  # SQLite takes a million
_GROUPS = 4  # more need fewer brackets, and SQLite's limit of an expression's depth is far
_MAX_BRACKETS = 60  # SQLite's parser has a stack of 100, of which the innermost part takes some

_MAX_INTEGER = 2**63
_MAX_WRITTEN_TWICE = 100
_PLAIN = re.compile("[A-Za-z_][A-Za-z0-9_]*")

# In the order of how common they are. A boolean is an integer to Python, and its value is one to SQLite.
_TYPES: Mapping[type | None, str] = {str: "= 'text'", float: "IN ('integer', 'real')", bool: "IN ('true', 'false')"}
"""The types in JSON of the values of each kind."""

# The value of a key that is a path, or of any key, and its elements if it is a list.
_ITSELF_OR_ELEMENTS = (
    "SELECT json_extract(metadata, ?) AS value, json_type(metadata, ?) AS type UNION ALL "
    "SELECT value, type FROM json_each(metadata, ?) WHERE json_type(metadata, ?) = 'array'"
)
_ITSELF_OR_ELEMENTS_OF_KEY = (
    "SELECT value, type FROM json_each(metadata) WHERE key = ? UNION ALL "
    "SELECT inner.value, inner.type FROM json_each(metadata) AS outer, "
    "json_each(CASE outer.type WHEN 'array' THEN outer.value ELSE '[]' END) AS inner WHERE outer.key = ?"
)

# A sentence of a source document has shared metadata in the rows of its source and section only; any other Document
# has all in its own row. These forms are equivalent: one for all owners at once; one if all belong to sources, which
# reads an index; one if none does; and one for each sentence's owner, which is faster for few sentences.
_OF_ALL, _OF_SOURCES, _OF_EACH = (
    {owner: template.format(key=f"{owner}_key", table=f"{owner}s") for owner in ("source", "section")}
    for template in (
        "ifnull({key}, -row) IN (SELECT owner FROM (SELECT {key} AS owner, metadata FROM {table} "
        "UNION ALL SELECT -row, metadata FROM sentences WHERE source_key IS NULL) WHERE ",
        "{key} IN (SELECT {key} FROM {table} WHERE ",
        "EXISTS (SELECT 1 FROM (SELECT metadata FROM {table} WHERE {table}.{key} = sentences.{key} "
        "UNION ALL SELECT sentences.metadata WHERE sentences.source_key IS NULL) WHERE ",
    )
)

STAND_IN = "\ue000"  # of Unicode's private use area; followed by 0 for a NUL, by 1 for itself


def compile_filter(filter: Filter) -> Condition:
    """Compile a filter.

    Raises:
        FilterError: The filter isn't a mapping or is too long, an operator doesn't exist, or a value can't be compared.
    """
    part = of_sentence(_translate_filter(filter, 0))
    check_size(part)
    condition = part.sql, part.parameters
    return for_few(condition) if part.is_narrow else condition


def filter_keys(filter: Filter) -> list[str]:
    """Return the metadata keys of a valid filter, each once."""
    return list(dict.fromkeys(_keys_in(filter)))


def for_few(condition: Condition) -> Condition:
    """Return the form of a condition that is faster for few sentences."""
    return _in_form(condition, _OF_EACH)


def for_all(condition: Condition, *, has_sources: bool, has_others: bool) -> Condition:
    """Return the form of a condition that is fastest for all sentences.

    Args:
        condition: The condition.
        has_sources: Whether there are sentences of source documents.
        has_others: Whether there are other Documents.
    """
    if has_sources and has_others:
        return condition
    return _in_form(condition, _OF_SOURCES if has_sources else dict.fromkeys(_OF_ALL, "("))


class FilterPart(NamedTuple):
    """A part of a filter.

    Attributes:
        sql: An expression over ``metadata``, or over a row of ``sentences``.
        parameters: Its parameters.
        owner: The owner of the ``metadata`` it reads; a sentence's part may read other columns too.
        is_narrow: Whether it matches only sentences of source documents that it names.
        brackets: The depth of SQLite's parser stack that it needs, without the innermost part.
    """

    sql: str
    parameters: list[Any]
    owner: Owner = "source"
    is_narrow: bool = False
    brackets: int = 0


class Operator(NamedTuple):
    """The meaning of an operator.

    Attributes:
        to_sql: Makes the condition that a key meets the operand. Raises `FilterError` if the operand is unusable.
        holds: Says whether a stored value, or `MISSING`, meets an operand that ``to_sql`` takes.
    """

    to_sql: Callable[[str, object], FilterPart]
    holds: Callable[[Any, Any], bool]


# The operators


def equals(key: str, operand: object) -> FilterPart:
    """Return the condition that a key has a value."""
    return _in(key, [operand])


def is_equal(stored: Any, operand: Any) -> bool:
    """Return whether a stored value equals one, as in SQL."""
    return _is_one_of(stored, [operand])


def exists(key: str, operand: object) -> FilterPart:
    """Return the condition that a key is there, or isn't."""
    wanted = stored_form(operand)
    if not isinstance(wanted, bool):
        raise FilterError(f"$exists takes True or False, not {shown(operand)}")
    there = _where_type(key, "IS NOT NULL")
    return there if wanted else negated(there)


def _ordered(sign: str, compares: Callable[[Any, Any], Any]) -> Operator:
    def to_sql(key: str, operand: object) -> FilterPart:
        value = _comparable_value(operand)
        return _where(key, f"{sign} ?", _TYPES[_comparable_type(value)], [value])

    def holds(stored: Any, operand: Any) -> bool:
        return any(_compares(compares, each, operand) for each in _as_elements(stored))

    return Operator(to_sql, holds)


def _in(key: str, operand: object) -> FilterPart:
    values = list(map(stored_form, _list_operand("$in", operand)))
    given = [_comparable_value(each) for each in values if each is not None]
    groups = {kind: [each for each in given if _comparable_type(each) is kind] for kind in _TYPES}
    conditions = [_one_of(key, kind, group) for kind, group in groups.items() if group]
    if len(given) < len(values):
        conditions.append(_where(key, "IS NULL", "IS 'null'", []))
    return join(" OR ", conditions)


def _is_one_of(stored: Any, values: Sequence[Any]) -> bool:
    return any(
        each is None if value is None else _compares(operator.eq, each, value)
        for each in _as_elements(stored)
        for value in values
    )


def _not_in(key: str, operand: object) -> FilterPart:
    return join(" AND ", [exists(key, operand=True), negated(_in(key, _list_operand("$nin", operand)))])


def _is_none_of(stored: Any, values: Sequence[Any]) -> bool:
    return stored is not MISSING and not _is_one_of(stored, values)


def _in_range(key: str, operand: object) -> FilterPart:
    """Return the condition of ``$between``."""
    low, high = operand if is_list(operand) and len(operand) == 2 else (None, None)  # noqa: PLR2004
    if low is None or high is None:
        raise FilterError(f"$between takes [lowest, highest], both included, not {shown(operand)}")
    values = [_comparable_value(low), _comparable_value(high)]
    kind, other = map(_comparable_type, values)
    if kind is not other:
        return join(" OR ", [])  # nothing is between a string and a number
    return _where(key, "BETWEEN ? AND ?", _TYPES[kind], values)


def _is_between(stored: Any, operand: Any) -> bool:
    low, high = operand
    return any(
        _compares(operator.ge, each, low) and _compares(operator.le, each, high) for each in _as_elements(stored)
    )


_NOT_EQUAL = Operator(lambda key, operand: _not_in(key, [operand]), lambda stored, value: _is_none_of(stored, [value]))
_AT_LEAST, _AT_MOST = _ordered(">=", operator.ge), _ordered("<=", operator.le)

OPERATORS: Mapping[str, Operator] = {
    "$eq": Operator(equals, is_equal),
    "$gt": _ordered(">", operator.gt),
    "$gte": _AT_LEAST,
    "$lt": _ordered("<", operator.lt),
    "$lte": _AT_MOST,
    "$ne": _NOT_EQUAL,
    "$not_contains": _NOT_EQUAL,
    "$in": Operator(_in, _is_one_of),
    "$nin": Operator(_not_in, _is_none_of),
    "$contains": Operator(equals, is_equal),
    "$between": Operator(_in_range, _is_between),
    "$exists": Operator(exists, lambda stored, operand: (stored is not MISSING) is operand),
}
"""The operators that a key takes, by name."""


# Reading a filter


def _keys_in(filter: Filter) -> Iterator[str]:
    for key, value in filter.items():
        if key in _NESTING:
            for each in value:
                yield from _keys_in(each)
        elif key == "$not":
            yield from _keys_in(value)
        else:
            yield stored_form(key)


def _translate_filter(filter: object, depth: int) -> FilterPart:
    """Return the condition in SQL of a filter, or of one nested in it."""
    if not isinstance(filter, Mapping):
        example = "a filter is a mapping such as {'year': {'$gte': 2025}}"
        if callable(filter):
            # SQL can't call it, so a search would have to read every sentence.
            raise FilterError(f"{example}, not {shown(filter)}; write its condition as a mapping")
        is_json = isinstance(filter, str) and filter.lstrip().startswith("{")
        cure = "; read it with json.loads first" if is_json else ""
        raise FilterError(f"{example}, not {shown(filter)}{cure}")
    if depth > MAX_FILTER_DEPTH:
        raise FilterError(f"the filter nests more than {MAX_FILTER_DEPTH} levels; flatten its $and, $or and $not")
    return join(" AND ", [_clause(key, value, depth) for key, value in filter.items()])


def _clause(given: object, value: object, depth: int) -> FilterPart:
    key = stored_form(given)
    if not isinstance(key, str):
        raise FilterError(f"a filter's keys are strings, not {shown(given)}")
    if key in _NESTING:
        if not is_list(value) or not value:
            raise FilterError(f"{key} takes a list of filters with at least one in it, not {shown(value)}")
        if key == "$and":
            return join(" AND ", [_translate_filter(each, depth + 1) for each in value])
        return join(" OR ", [_translate_filter(each, depth + 1) for each in value])
    if key == "$not":
        return negated(_translate_filter(value, depth + 1))
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


def _operation(key: str, operator: object, operand: object) -> FilterPart:
    if isinstance(operator, str) and operator in OPERATORS:
        return OPERATORS[operator].to_sql(key, operand)
    raise FilterError(f"{shown(operator)} isn't an operator; those for a key are {', '.join(OPERATORS)}")


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Return whether a value is a list, and no text."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview)


def _list_operand(operator: str, operand: object) -> Sequence[object]:
    """Return the list that an operator takes."""
    if not is_list(operand) and not isinstance(operand, set | frozenset):
        raise FilterError(f"{operator} takes a list of values, not {shown(operand)}")
    return list(operand)


# A condition in SQL. Comparisons and types are this module's own expressions; keys and values are parameters. A plain
# key is looked up by a path, which is faster than the lookup of a key with dots, quotes or other characters. So is a
# value that isn't a list without a subquery, and few values are written twice for it; many are written once, as SQLite
# limits their number.


def _one_of(key: str, kind: type | None, values: Sequence[Scalar]) -> FilterPart:
    marks = ",".join("?" * len(values))
    if key == DOC_ID and kind is str:
        documents = f"SELECT document FROM documents WHERE doc_id IN ({marks})"
        sql = f"row IN (SELECT row FROM sentences WHERE document IN ({documents}))"
        return FilterPart(sql, [with_nul(value) for value in values], "sentence", is_narrow=True)
    # SQLite sorts every number before every string, so each comparison restricts the type.
    return _where(key, f"IN ({marks})", _TYPES[kind], list(values))


def _where(key: str, comparison: str, types: str, values: list[Any]) -> FilterPart:
    """Return the condition that a value, or an element of it if it is a list, compares and is of a type."""
    path, holds = f"$.{key}", f"value {comparison} AND type {types}"
    if not _PLAIN.fullmatch(key):
        return _among(
            _ITSELF_OR_ELEMENTS_OF_KEY, holds, FilterPart("", [_comparable_value(key)] * 2 + values, brackets=12)
        )
    if len(values) > _MAX_WRITTEN_TWICE:
        return _among(_ITSELF_OR_ELEMENTS, holds, FilterPart("", [path] * 4 + values, _owner(key), brackets=10))
    # SQLite evaluates the type only where the comparison holds, unless it is inside a function's brackets.
    itself = f"ifnull(json_extract(metadata, ?) {comparison}, 0) AND json_type(metadata, ?) {types}"
    if key in SENTENCE_KEYS:
        return FilterPart(f"({itself})", [path, *values, path], _owner(key))
    elements = f"EXISTS (SELECT 1 FROM json_each(metadata, ?) WHERE {holds})"
    return FilterPart(
        # CASE, as SQLite evaluates both sides of AND wherever the result is compared.
        f"({itself} OR CASE json_type(metadata, ?) WHEN 'array' THEN {elements} ELSE 0 END)",
        [path, *values, path, path, path, *values],
        _owner(key),
        brackets=10,
    )


def _where_type(key: str, types: str) -> FilterPart:
    if _PLAIN.fullmatch(key):
        sql = f"ifnull(json_type(metadata, ?) {types}, 0)"
        return FilterPart(sql, [f"$.{key}"], _owner(key))
    sql = f"EXISTS (SELECT 1 FROM json_each(metadata) WHERE key = ? AND type {types})"
    return FilterPart(sql, [_comparable_value(key)])


def _among(values: str, condition: str, part: FilterPart) -> FilterPart:
    return part._replace(sql=f"EXISTS (SELECT 1 FROM ({values}) WHERE {condition})")


def _owner(key: str) -> Owner:
    if key in PER_SENTENCE_KEYS:
        return "sentence"
    return "section" if key in PER_SECTION_KEYS else "source"


# Joining conditions


def negated(part: FilterPart) -> FilterPart:
    """Return the part that matches everything this one doesn't."""
    # Unlike NOT, this needs no parser stack; each part is 0 or 1.
    return part._replace(sql=f"{part.sql} = 0", is_narrow=False)


def join(joint: str, parts: Sequence[FilterPart]) -> FilterPart:
    """Join parts with ``" AND "`` or ``" OR "``."""
    by_owner: dict[Owner, list[FilterPart]] = {}
    for part in parts:
        by_owner.setdefault(part.owner, []).append(part)
    if len(by_owner) <= 1:
        return _join_conditions(joint, parts)
    of_sentences = by_owner.pop("sentence", [])
    return _join_conditions(
        joint, [*[of_sentence(_join_conditions(joint, of_owner)) for of_owner in by_owner.values()], *of_sentences]
    )


def _join_conditions(joint: str, parts: Sequence[FilterPart]) -> FilterPart:
    """Join conditions by ``AND`` or ``OR``."""
    if not parts:
        return FilterPart("0" if joint == " OR " else "1", [])
    if len(parts) == 1:
        return parts[0]
    # In groups, the deepest one first, as SQLite's parser stack is limited.
    size = -(-len(parts) // _GROUPS)
    groups = [_join_conditions(joint, parts[start : start + size]) for start in range(0, len(parts), size)]
    first, *others = sorted(groups, key=lambda part: -part.brackets)
    owners = {part.owner for part in groups}
    whole = FilterPart(
        f"({joint.join(part.sql for part in (first, *others))})",
        [parameter for part in (first, *others) for parameter in part.parameters],
        owners.pop() if len(owners) == 1 else "sentence",
        (any if joint == " AND " else all)(part.is_narrow for part in groups),
        1 + max(first.brackets, 2 + others[0].brackets),
    )
    check_size(whole)
    return whole


def check_size(part: FilterPart) -> None:
    """Check that SQLite can parse a part.

    Raises:
        FilterError: The part is too long, or nests too deeply.
    """
    if part.brackets > _MAX_BRACKETS:
        raise FilterError("the filter nests too deeply for so many parts; flatten its $and, $or and $not")
    count = len(part.parameters)
    if count > _MAX_PARAMETERS or len(part.sql) > _MAX_SQL_LENGTH:
        raise FilterError(
            f"the filter has at least {count:,} keys and values, which is too many for one search; give it at most "
            f"{MAX_VALUES:,}, many values of one key as {{'$in': [...]}}, or mark the documents in their metadata"
        )


def of_sentence(part: FilterPart) -> FilterPart:
    """Return the form of a part that is evaluated for a sentence, wherever its metadata is stored."""
    if part.owner == "sentence" or not part.parameters:
        return part
    return part._replace(sql=f"({_OF_ALL[part.owner]}{part.sql}))", owner="sentence")


def _in_form(condition: Condition, form: Mapping[str, str]) -> Condition:
    sql, parameters = condition
    for owner, of_all in _OF_ALL.items():
        sql = sql.replace(of_all, form[owner])
    return sql, parameters


# Values, and how they compare in Python


def _comparable_value(given: object) -> Scalar:
    """Return a filter's value as it is compared with stored ones."""
    value = stored_form(given)
    if isinstance(value, str) and not LONE_SURROGATE.search(value):
        return str(without_nul(value))
    if isinstance(value, int) and -_MAX_INTEGER <= value < _MAX_INTEGER:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise FilterError(
        f"a filter can't compare with {shown(given)}; values are strings, finite numbers (integers of up to 64 bits), "
        "booleans, and what metadata keeps as one of these, such as dates"
    )


def _comparable_type(value: object) -> type | None:
    """Return the kind of a value; ``None`` for one that a filter can't compare with."""
    if isinstance(value, str | bool):
        return str if isinstance(value, str) else bool
    return float if isinstance(value, int | float) else None


def _as_elements(stored: Any) -> Sequence[Any]:
    """Return the elements of a stored list; a list of the value itself if it isn't one."""
    return stored if isinstance(stored, list | tuple) else [stored]


def _compares(holds: Callable[[Any, Any], Any], stored: Any, value: Any) -> bool:
    """Return whether a comparison holds; never between values of two kinds, nor with a list or a mapping."""
    return _comparable_type(stored) is _comparable_type(value) and bool(holds(_as_in_sql(stored), _as_in_sql(value)))


def _as_in_sql(value: Any) -> Any:
    if isinstance(value, str):
        return without_nul(value)
    if isinstance(value, int) and not -_MAX_INTEGER <= value < _MAX_INTEGER:
        # SQLite reads an integer of more than 64 bits as a float.
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    return value


def without_nul(value: Any) -> Any:
    """Replace NULs in a string, or in all strings of lists and dictionaries."""
    return _map_strings(value, lambda text: text.replace(STAND_IN, f"{STAND_IN}1").replace("\0", f"{STAND_IN}0"))


def with_nul(value: Any) -> Any:
    """Undo `without_nul`."""
    return _map_strings(value, lambda text: text.replace(f"{STAND_IN}0", "\0").replace(f"{STAND_IN}1", STAND_IN))


def _map_strings(value: Any, change: Callable[[str], str]) -> Any:
    """Change all strings of a JSON value, those of keys too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_map_strings(each, change) for each in value]
    if isinstance(value, dict):
        return {_map_strings(key, change): _map_strings(each, change) for key, each in value.items()}
    return value
