"""Conditions on sentences, put together of parts, in SQL.

Most of a sentence's metadata is that of its source document, and some is that of its section; each stands once for
all its sentences. So parts are put together as long as they can be asked of the same table, and then asked of all its
rows at once. What differs from sentence to sentence is asked of the sentences.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from langchain_sentence_window.errors import FilterError

Condition: TypeAlias = tuple[str, list[Any]]
"""An SQL expression over a row of ``sentences``, and its parameters."""

MOST_VALUES = 30_000
"""Keys and values in one filter."""

_LONGEST_SQL = 900_000  # SQLite takes a million
_MOST_BRACKETS = 60  # SQLite's parser keeps 100 things in mind, and the innermost part has some of its own

Owner: TypeAlias = Literal["source", "section", "sentence"]
"""Whose metadata holds a key."""

# A sentence of a document has what is shared in those rows only, and another has all in its own. These ways to ask
# give the same: of all owners at once; of each sentence's own, which is faster for few sentences; and where no
# sentence is of a document, of the sentences alone.
_OF_ALL, _OF_EACH = (
    {owner: template.format(key=f"{owner}_key", table=f"{owner}s") for owner in ("source", "section")}
    for template in (
        "ifnull({key}, -row) IN (SELECT owner FROM (SELECT {key} AS owner, metadata FROM {table} "
        "UNION ALL SELECT -row, metadata FROM sentences WHERE {key} IS NULL) WHERE ",
        "EXISTS (SELECT 1 FROM (SELECT metadata FROM {table} WHERE {table}.{key} = sentences.{key} "
        "UNION ALL SELECT sentences.metadata WHERE sentences.{key} IS NULL) WHERE ",
    )
)
_OF_ITSELF = "("


class Part(NamedTuple):
    """A part of a filter.

    Attributes:
        sql: An expression over ``metadata``, or over a row of ``sentences``.
        parameters: Its parameters.
        owner: Whose ``metadata`` it reads; a sentence's part may read other columns too.
        is_narrow: Whether it lets only sentences of documents through that it names.
        brackets: How many things SQLite has to keep in mind at once to read it, but for the innermost.
    """

    sql: str
    parameters: list[Any]
    owner: Owner = "source"
    is_narrow: bool = False
    brackets: int = 0


def for_few(condition: Condition) -> Condition:
    """Ask of each sentence what the condition would ask of all sources or sections at once."""
    sql, parameters = condition
    for owner, of_all in _OF_ALL.items():
        sql = sql.replace(of_all, _OF_EACH[owner])
    return sql, parameters


def of_sentences_alone(condition: Condition) -> Condition:
    """Ask the condition of sentences none of which is of a document."""
    sql, parameters = condition
    for asked in (*_OF_ALL.values(), *_OF_EACH.values()):
        sql = sql.replace(asked, _OF_ITSELF)
    return sql, parameters


def negated(part: Part) -> Part:
    """The part that lets through what this one doesn't."""
    # Behind it, NOT needn't be kept in mind; each part is 0 or 1.
    return part._replace(sql=f"{part.sql} = 0", is_narrow=False)


def join(joint: str, parts: Sequence[Part]) -> Part:
    """Put parts together with ``AND`` or ``OR``, which stand between blanks."""
    by_owner: dict[Owner, list[Part]] = {}
    for part in parts:
        by_owner.setdefault(part.owner, []).append(part)
    if len(by_owner) <= 1:
        return _joined(joint, parts)
    of_sentences = by_owner.pop("sentence", [])
    return _joined(joint, [*[of_sentence(_joined(joint, of_owner)) for of_owner in by_owner.values()], *of_sentences])


def of_sentence(part: Part) -> Part:
    """Ask the part of a sentence, wherever its metadata stands."""
    if part.owner == "sentence" or not part.parameters:
        return part
    return part._replace(sql=f"({_OF_ALL[part.owner]}{part.sql}))", owner="sentence")


def _joined(joint: str, parts: Sequence[Part]) -> Part:
    if not parts:
        return Part("0" if joint == " OR " else "1", [])
    if len(parts) == 1:
        return parts[0]
    # In halves, and the deeper one first, as SQLite nests only so deep.
    middle = len(parts) // 2
    halves = [_joined(joint, parts[:middle]), _joined(joint, parts[middle:])]
    left, right = sorted(halves, key=lambda part: -part.brackets)
    whole = Part(
        f"({left.sql}{joint}{right.sql})",
        left.parameters + right.parameters,
        left.owner if left.owner == right.owner else "sentence",
        left.is_narrow or right.is_narrow if joint == " AND " else left.is_narrow and right.is_narrow,
        1 + max(left.brackets, 2 + right.brackets),
    )
    check_size(whole)
    return whole


def check_size(part: Part) -> None:
    """See that SQLite can read a part.

    Raises:
        FilterError: It is too long, or nests too deep.
    """
    if part.brackets > _MOST_BRACKETS:
        raise FilterError("the filter nests too deep for so many parts; flatten its $and, $or and $not")
    count = len(part.parameters)
    if count > MOST_VALUES or len(part.sql) > _LONGEST_SQL:
        raise FilterError(
            f"the filter has {count:,} keys and values, or more; that is more than can be asked for at once; "
            f"give it at most {MOST_VALUES:,} and search several times, or mark the documents in their metadata"
        )
