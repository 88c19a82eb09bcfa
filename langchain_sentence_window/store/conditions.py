"""Conditions on sentences, put together of parts, in SQL.

Most of a sentence's metadata is that of its section, where it stands once for all its sentences. So parts are
put together as long as they can be asked of a section, and then asked of sections together; what differs from
sentence to sentence is asked of these.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from langchain_sentence_window.errors import FilterError

Condition: TypeAlias = tuple[str, list[Any]]
"""An SQL expression over a row of ``sentences``, and its parameters."""

MOST_VALUES = 30_000
"""Keys and values in one filter."""

_LONGEST_SQL = 900_000  # SQLite takes a million
_MOST_BRACKETS = 60  # SQLite's parser keeps 100 things in mind, and the innermost part has some of its own

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


class Part(NamedTuple):
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


def for_few(condition: Condition) -> Condition:
    """The same condition, which asks of each sentence what it would ask of all sections at once."""
    sql, parameters = condition
    return sql.replace(_OF_ALL, _OF_EACH), parameters


def without_sections(condition: Condition) -> Condition:
    """The same condition where no sentence has a section."""
    sql, parameters = condition
    return sql.replace(_OF_ALL, _OF_ITSELF).replace(_OF_EACH, _OF_ITSELF), parameters


def negated(part: Part) -> Part:
    """The part that lets through what this one doesn't."""
    # Behind it, NOT needn't be kept in mind; each part is 0 or 1.
    return part._replace(sql=f"{part.sql} = 0", is_narrow=False)


def join(joint: str, parts: Sequence[Part]) -> Part:
    """Put parts together with ``AND`` or ``OR``, which stand between blanks."""
    shared, others = ([part for part in parts if part.is_shared is which] for which in (True, False))
    if not shared or not others:
        return _joined(joint, parts)
    return _joined(joint, [of_sentence(_joined(joint, shared)), *others])


def of_sentence(part: Part) -> Part:
    """The part as one that is asked of a sentence, wherever its metadata stands."""
    if not part.is_shared or not part.parameters:
        return part
    return part._replace(sql=f"({_OF_ALL}{part.sql}))", is_shared=False)


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
        left.is_shared and right.is_shared,
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
