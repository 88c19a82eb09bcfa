"""Metadata filters, compiled to SQL with parameters only.

The syntax is the one LangChain's PGVectorStore and Chroma share::

    {"source": "billing.md"}                              equal to
    {"page": {"$gte": 3, "$lt": 9}}                       compared
    {"lang": {"$in": ["en", "fr"]}}                       one of
    {"$or": [{"lang": "en"}, {"draft": {"$exists": False}}]}

Keys that stand together must all hold. A comparison with a missing key doesn't hold, so ``$ne`` and
``$nin`` hold only where the key exists. Numbers and strings never equal each other. Integers of more than 64
bits in metadata are compared as floats, so no filter can name one.

Most of a sentence's metadata is that of its section, where it stands once for all its sentences. So most of a
filter is asked of sections; what differs from sentence to sentence is asked of these.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeGuard

from langchain_sentence_window._showing import shown
from langchain_sentence_window.errors import FilterError
from langchain_sentence_window.metadata.keys import DOC_ID, PER_SENTENCE_KEYS
from langchain_sentence_window.store.nul import with_nul, without_nul

Filter: TypeAlias = Mapping[str, Any]
Condition: TypeAlias = tuple[str, list[Any]]
"""An SQL expression over a row of ``sentences``, and its parameters."""

DEEPEST_FILTER = 50
"""Levels of ``$and``, ``$or`` and ``$not`` in each other."""

MOST_VALUES = 30_000
"""Keys and values in one filter."""

_LONGEST_SQL = 900_000  # SQLite takes a million
_MOST_BRACKETS = 60  # SQLite's parser keeps 100 things in mind, and the innermost part has some of its own
_PLAIN = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_COMPARISONS = {"$eq": "=", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_NESTING = ("$and", "$or")

# A sentence that has a section has what is shared in that row only, and another has all in its own. These ways
# to ask give the same: of all sections at once; of each sentence's own, which is faster for few sentences; and
# where there are no sections, of the sentences alone.
_OF_ALL = (
    "ifnull(section_key, -row) IN (SELECT section FROM (SELECT section_key AS section, metadata FROM sections "
    "UNION ALL SELECT -row, metadata FROM sentences WHERE section_key IS NULL) WHERE "
)
_OF_EACH = (
    "EXISTS (SELECT 1 FROM (SELECT metadata FROM sections WHERE sections.section_key = sentences.section_key "
    "UNION ALL SELECT sentences.metadata WHERE sentences.section_key IS NULL) WHERE "
)
_OF_ITSELF = "("


class _Part(NamedTuple):
    """A part of a filter.

    Attributes:
        sql: An expression over ``metadata``, or over a row of ``sentences``.
        parameters: Its parameters.
        is_shared: Whether ``metadata`` is the only column it reads, and a section's is as good as a sentence's.
        is_narrow: Whether it lets only sentences of documents through that it names.
        brackets: How many things SQLite has to keep in mind at once to read it, but for the innermost.
    """

    sql: str
    parameters: list[Any]
    is_shared: bool = True
    is_narrow: bool = False
    brackets: int = 0


def compile_filter(filter: Filter) -> Condition:
    """Compile a filter.

    Raises:
        FilterError: It isn't a mapping, an operator doesn't exist, a value can't be compared, or it is too
            long.
    """
    part = _of_sentence(_all_of(filter, 0))
    _check_size(part)
    condition = part.sql, part.parameters
    return for_few(condition) if part.is_narrow else condition


def for_few(condition: Condition) -> Condition:
    """The same condition, which asks of each sentence what it would ask of all sections at once."""
    sql, parameters = condition
    return sql.replace(_OF_ALL, _OF_EACH), parameters


def without_sections(condition: Condition) -> Condition:
    """The same condition where no sentence has a section."""
    sql, parameters = condition
    return sql.replace(_OF_ALL, _OF_ITSELF).replace(_OF_EACH, _OF_ITSELF), parameters


def filter_keys(filter: Filter) -> list[str]:
    """The metadata keys that a filter asks for, each once; of one that `compile_filter` takes."""
    return list(dict.fromkeys(_keys_in(filter)))


def having_key(key: str) -> list[tuple[str, list[Any]]]:
    """Tables and conditions that find Documents with a key: ``FROM`` clauses with their parameters."""
    part = _exists(key, operand=True)
    if key in PER_SENTENCE_KEYS:
        return [(f"sentences WHERE {part.sql}", part.parameters)]
    return [
        (f"sections WHERE {part.sql}", part.parameters),
        (f"sentences WHERE section_key IS NULL AND {part.sql}", part.parameters),
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


def _all_of(filter: object, depth: int) -> _Part:
    if not isinstance(filter, Mapping):
        cure = "; read it with json.loads first" if isinstance(filter, str) else ""
        raise FilterError(
            f"a filter is a mapping such as {{'source': 'a.md'}}, not {shown(filter)} of type "
            f"{type(filter).__name__}{cure}"
        )
    if depth > DEEPEST_FILTER:
        raise FilterError(f"the filter nests more than {DEEPEST_FILTER} levels; flatten its $and, $or and $not")
    return _join(" AND ", [_clause(key, value, depth) for key, value in filter.items()])


def _clause(key: object, value: object, depth: int) -> _Part:
    if not isinstance(key, str):
        raise FilterError(f"a filter's keys are strings, not {shown(key)}")
    if key in _NESTING:
        if not _is_list(value) or not value:
            raise FilterError(f"{key} takes a list of filters with at least one in it, not {shown(value)}")
        joint = " AND " if key == "$and" else " OR "
        return _join(joint, [_all_of(each, depth + 1) for each in value])
    if key == "$not":
        return _not(_all_of(value, depth + 1))
    if key.startswith("$"):
        raise FilterError(f"{shown(key)} isn't an operator; $and, $or and $not stand where a key stands")
    if not isinstance(value, Mapping):
        return _compare("=", key, value)
    if not value:
        raise FilterError(f"the condition on {shown(key)} is empty; give a value or an operator")
    return _join(" AND ", [_operation(key, operator, operand) for operator, operand in value.items()])


def _operation(key: str, operator: object, operand: object) -> _Part:
    if isinstance(operator, str):
        if operator in _COMPARISONS:
            return _compare(_COMPARISONS[operator], key, operand)
        if operator in _OTHERS:
            return _OTHERS[operator](key, operand)
    known = ", ".join([*_COMPARISONS, *_OTHERS])
    raise FilterError(f"{shown(operator)} isn't an operator; on a key there are {known}")


def _compare(sign: str, key: str, operand: object) -> _Part:
    if sign == "=":
        return _in(key, [operand])
    value = _value(operand)
    return _where(key, f"{sign} ?", _same_type(value), [value])


def _in(key: str, operand: object) -> _Part:
    values = _list("$in", operand)
    given = [_value(each) for each in values if each is not None]
    groups = [[each for each in given if isinstance(each, str) is is_text] for is_text in (True, False)]
    conditions = [_one_of(key, group) for group in groups if group]
    if len(given) < len(values):
        conditions.append(_where_type(key, "= 'null'"))
    return _join(" OR ", conditions)


def _not_in(key: str, operand: object) -> _Part:
    return _join(" AND ", [_exists(key, operand=True), _not(_in(key, _list("$nin", operand)))])


def _not_equal(key: str, operand: object) -> _Part:
    return _not_in(key, [operand])


def _between(key: str, operand: object) -> _Part:
    low, high = operand if _is_list(operand) and len(operand) == 2 else (None, None)  # noqa: PLR2004
    if low is None or high is None:
        raise FilterError(f"$between takes [lowest, highest], both included, not {shown(operand)}")
    return _join(" AND ", [_compare(">=", key, low), _compare("<=", key, high)])


def _exists(key: str, operand: object) -> _Part:
    if not isinstance(operand, bool):
        raise FilterError(f"$exists takes True or False, not {shown(operand)}")
    there = _where_type(key, "IS NOT NULL")
    return there if operand else _not(there)


_OTHERS: dict[str, Callable[[str, object], _Part]] = {
    "$ne": _not_equal,
    "$in": _in,
    "$nin": _not_in,
    "$between": _between,
    "$exists": _exists,
}


# Comparisons and types are this module's own expressions; keys and values are parameters. A key like most
# is looked up by a path, twice as fast as one with dots, quotes or other letters.


def _where(key: str, comparison: str, types: str, values: list[Any]) -> _Part:
    if _PLAIN.fullmatch(key):
        path = f"$.{key}"
        # SQLite asks for the type only where the comparison holds, if it isn't inside a function's brackets.
        sql = f"(ifnull(json_extract(metadata, ?) {comparison}, 0) AND json_type(metadata, ?) {types})"
        return _Part(sql, [path, *values, path], is_shared=key not in PER_SENTENCE_KEYS)
    return _where_any(key, f"value {comparison} AND type {types}", values)


def _where_type(key: str, types: str) -> _Part:
    if _PLAIN.fullmatch(key):
        sql = f"ifnull(json_type(metadata, ?) {types}, 0)"
        return _Part(sql, [f"$.{key}"], is_shared=key not in PER_SENTENCE_KEYS)
    return _where_any(key, f"type {types}", [])


def _where_any(key: str, condition: str, values: list[Any]) -> _Part:
    sql = f"EXISTS (SELECT 1 FROM json_each(metadata) WHERE key = ? AND {condition})"  # noqa: S608
    return _Part(sql, [_value(key), *values])


def _one_of(key: str, values: Sequence[str | float]) -> _Part:
    marks = ",".join("?" * len(values))
    if key == DOC_ID and isinstance(values[0], str):
        documents = f"SELECT document FROM documents WHERE doc_id IN ({marks})"  # noqa: S608
        sql = f"row IN (SELECT row FROM sentences WHERE document IN ({documents}))"  # noqa: S608
        return _Part(sql, [with_nul(value) for value in values], is_shared=False, is_narrow=True)
    return _where(key, f"IN ({marks})", _same_type(values[0]), list(values))


def _same_type(value: object) -> str:
    # SQLite sorts every number before every string; so a comparison says of what it speaks.
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


# Parts are put together as long as they can be asked of a section, and then asked of sections together.


def _not(part: _Part) -> _Part:
    # Behind it, NOT needn't be kept in mind; each part is 0 or 1.
    return part._replace(sql=f"{part.sql} = 0", is_narrow=False)


def _join(joint: str, parts: Sequence[_Part]) -> _Part:
    shared, others = ([part for part in parts if part.is_shared is which] for which in (True, False))
    if not shared or not others:
        return _joined(joint, parts)
    return _joined(joint, [_of_sentence(_joined(joint, shared)), *others])


def _of_sentence(part: _Part) -> _Part:
    if not part.is_shared or not part.parameters:
        return part
    return part._replace(sql=f"({_OF_ALL}{part.sql}))", is_shared=False)


def _joined(joint: str, parts: Sequence[_Part]) -> _Part:
    if not parts:
        return _Part("0" if joint == " OR " else "1", [])
    if len(parts) == 1:
        return parts[0]
    # In halves, and the deeper one first, as SQLite nests only so deep.
    middle = len(parts) // 2
    halves = [_joined(joint, parts[:middle]), _joined(joint, parts[middle:])]
    left, right = sorted(halves, key=lambda part: -part.brackets)
    whole = _Part(
        f"({left.sql}{joint}{right.sql})",
        left.parameters + right.parameters,
        left.is_shared and right.is_shared,
        left.is_narrow or right.is_narrow if joint == " AND " else left.is_narrow and right.is_narrow,
        1 + max(left.brackets, 2 + right.brackets),
    )
    _check_size(whole)
    return whole


def _check_size(part: _Part) -> None:
    if part.brackets > _MOST_BRACKETS:
        raise FilterError("the filter nests too deep for so many parts; flatten its $and, $or and $not")
    count = len(part.parameters)
    if count > MOST_VALUES or len(part.sql) > _LONGEST_SQL:
        raise FilterError(
            f"the filter has {count:,} keys and values, or more; that is more than can be asked for at once; "
            f"give it at most {MOST_VALUES:,} and search several times, or mark the documents in their metadata"
        )
