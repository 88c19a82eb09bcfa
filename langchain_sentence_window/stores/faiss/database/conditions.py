"""Conditions on sentences in SQL, joined from parts.

Most of a sentence's metadata belongs to its source document, and some to its section; each is stored once for all
sentences. So parts are joined as long as they read the same table, and then evaluated for all rows of that table at
once. Parts that read a sentence's own metadata are evaluated for each sentence.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from langchain_sentence_window.errors import FilterError

Condition: TypeAlias = tuple[str, list[Any]]
"""An SQL expression over a row of ``sentences``, and its parameters."""

MAX_VALUES = 30_000
"""The largest number of keys and values in one filter."""

_MAX_PARAMETERS = MAX_VALUES + 1_000  # a key may be written several times, and SQLite takes 32,766
_MAX_SQL_LENGTH = 900_000  # SQLite takes a million
_GROUPS = 4  # more need fewer brackets, and SQLite's limit of an expression's depth is far
_MAX_BRACKETS = 60  # SQLite's parser has a stack of 100, of which the innermost part takes some

Owner: TypeAlias = Literal["source", "section", "sentence"]
"""The owner of the metadata that has a key."""

# A sentence of a source document has shared metadata in the rows of its source and section only; any other Document
# has all in its own row. These three forms are equivalent: one for all owners at once; one for each sentence's owner,
# which is faster for few sentences; and one for sentences alone, if none belongs to a source document.
_OF_ALL, _OF_EACH = (
    {owner: template.format(key=f"{owner}_key", table=f"{owner}s") for owner in ("source", "section")}
    for template in (
        "ifnull({key}, -row) IN (SELECT owner FROM (SELECT {key} AS owner, metadata FROM {table} "
        "UNION ALL SELECT -row, metadata FROM sentences WHERE source_key IS NULL) WHERE ",
        "EXISTS (SELECT 1 FROM (SELECT metadata FROM {table} WHERE {table}.{key} = sentences.{key} "
        "UNION ALL SELECT sentences.metadata WHERE sentences.source_key IS NULL) WHERE ",
    )
)
_OF_ITSELF = "("


class Part(NamedTuple):
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


def for_few(condition: Condition) -> Condition:
    """Return the form of a condition that is faster for few sentences."""
    sql, parameters = condition
    for owner, of_all in _OF_ALL.items():
        sql = sql.replace(of_all, _OF_EACH[owner])
    return sql, parameters


def of_sentences_alone(condition: Condition) -> Condition:
    """Return the form of a condition for sentences none of which belongs to a source document."""
    sql, parameters = condition
    for asked in (*_OF_ALL.values(), *_OF_EACH.values()):
        sql = sql.replace(asked, _OF_ITSELF)
    return sql, parameters


def negated(part: Part) -> Part:
    """Return the part that matches everything this one doesn't."""
    # Unlike NOT, this needs no parser stack; each part is 0 or 1.
    return part._replace(sql=f"{part.sql} = 0", is_narrow=False)


def join(joint: str, parts: Sequence[Part]) -> Part:
    """Join parts with ``" AND "`` or ``" OR "``."""
    by_owner: dict[Owner, list[Part]] = {}
    for part in parts:
        by_owner.setdefault(part.owner, []).append(part)
    if len(by_owner) <= 1:
        return _joined(joint, parts)
    of_sentences = by_owner.pop("sentence", [])
    return _joined(joint, [*[of_sentence(_joined(joint, of_owner)) for of_owner in by_owner.values()], *of_sentences])


def of_sentence(part: Part) -> Part:
    """Return the form of a part that is evaluated for a sentence, wherever its metadata is stored."""
    if part.owner == "sentence" or not part.parameters:
        return part
    return part._replace(sql=f"({_OF_ALL[part.owner]}{part.sql}))", owner="sentence")


def _joined(joint: str, parts: Sequence[Part]) -> Part:
    if not parts:
        return Part("0" if joint == " OR " else "1", [])
    if len(parts) == 1:
        return parts[0]
    # In groups, the deepest one first, as SQLite's parser stack is limited.
    size = -(-len(parts) // _GROUPS)
    groups = [_joined(joint, parts[start : start + size]) for start in range(0, len(parts), size)]
    first, *others = sorted(groups, key=lambda part: -part.brackets)
    owners = {part.owner for part in groups}
    whole = Part(
        f"({joint.join(part.sql for part in (first, *others))})",
        [parameter for part in (first, *others) for parameter in part.parameters],
        owners.pop() if len(owners) == 1 else "sentence",
        (any if joint == " AND " else all)(part.is_narrow for part in groups),
        1 + max(first.brackets, 2 + others[0].brackets),
    )
    check_size(whole)
    return whole


def check_size(part: Part) -> None:
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
            f"{MAX_VALUES:,} and search several times, or mark the documents in their metadata"
        )
