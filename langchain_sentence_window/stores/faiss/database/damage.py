"""Finding damage in a database, by the checksums of its rows."""

import sqlite3
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

from langchain_sentence_window.stores.faiss.database.schema import (
    CHECKSUMS,
    REMOVAL_CHECKSUM,
    State,
    checksum_of,
    digest_of,
    source_row,
)


class _Check(NamedTuple):
    """The check of a table's rows.

    Attributes:
        sql: Reads the number of a row, then the other fields that its checksums cover, then the checksums.
        checksums: Computes the checksums from the fields.
        stored: The number of checksums.
    """

    sql: str
    checksums: Callable[..., tuple[int, ...]]
    stored: int = 1

    def holds(self, row: tuple[Any, ...]) -> bool:
        """Return whether a row is as it was written."""
        return self.checksums(*row[: -self.stored]) == row[-self.stored :]


_CHECKS = {
    "facts": _Check(
        "SELECT name, value, checksum FROM facts",
        lambda name, value: (checksum_of(name, value),),
    ),
    "documents": _Check(
        "SELECT document, doc_id, written, checksum FROM documents",
        lambda *row: (checksum_of(*row),),
    ),
    "sources": _Check(
        "SELECT source_key, document, sentences, metadata, metadata_checksum, checksum FROM sources",
        lambda *row: source_row(*row)[-2:],
        stored=2,
    ),
    "sections": _Check(
        "SELECT section_key, document, metadata, context, checksum, context_checksum FROM sections",
        lambda *row: (checksum_of(*row[:3], zlib.crc32(row[3])), zlib.crc32(row[3])),
        stored=2,
    ),
    # With the document, source and section as their tables have them, which reveals missing and mixed-up rows.
    "sentences": _Check(
        """
        SELECT row, id, documents.document, doc_id, sentence_index, section, sources.source_key, sections.section_key,
            sentences.metadata, ifnull(context_checksum, 0), sentences.context, text, sentences.checksum, text_checksum
        FROM sentences LEFT JOIN documents USING (document) LEFT JOIN sources USING (source_key)
            LEFT JOIN sections USING (section_key)
        """,
        lambda *row: (checksum_of(*row[:9]), zlib.crc32(row[11], zlib.crc32(row[10], row[9]))),
        stored=2,
    ),
    "vectors": _Check(
        "SELECT row, vector, checksum FROM vectors",
        lambda row, vector: (zlib.crc32(vector, row & 0xFFFFFFFF),),
    ),
    "staged": _Check(
        "SELECT row, vector, text, checksum, text_checksum FROM staged",
        lambda row, vector, text: (zlib.crc32(vector, row), zlib.crc32(text)),
        stored=2,
    ),
    "writes": _Check(
        "SELECT generation, token, last_row, last_removal, checksum FROM writes",
        lambda *row: (checksum_of(*row),),
    ),
    "removals": _Check(
        f"SELECT removal, {REMOVAL_CHECKSUM}, checksum FROM removals",  # noqa: S608
        lambda _, checksum: (checksum,),
    ),
}

_ORPHANS = {
    "vectors": "SELECT row FROM vectors WHERE row NOT IN (SELECT row FROM sentences)",
    "documents": "SELECT document FROM documents WHERE document NOT IN "
    "(SELECT document FROM sentences WHERE document IS NOT NULL)",
    "sources": "SELECT source_key FROM sources WHERE source_key NOT IN "
    "(SELECT source_key FROM sentences WHERE source_key IS NOT NULL)",
    "sections": "SELECT section_key FROM sections WHERE section_key NOT IN "
    "(SELECT section_key FROM sentences WHERE section_key IS NOT NULL)",
}
"""Queries for rows that belong to no sentence."""

_MISCOUNTED = """
    SELECT {key} FROM {table} LEFT JOIN
        (SELECT {key}, count(*) AS held FROM sentences WHERE {key} IS NOT NULL GROUP BY {key}) USING ({key})
    WHERE sentences IS NOT held
"""
_TWICE = "SELECT max(row) FROM sentences WHERE id_high IS NOT NULL GROUP BY id_high, id_low HAVING count(*) > 1"


def find_damage(connection: sqlite3.Connection, read_state: Callable[[], State]) -> str | None:
    """Read everything and describe the first damage found; return ``None`` if there is none.

    Args:
        connection: The connection to read with, in a transaction, so that all it reads is from one state.
        read_state: Reads the state of the database; called once its row has been checked.
    """
    (first,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if first != "ok":
        return str(first)
    counts: dict[str, int] = {}
    for table, check in _CHECKS.items():
        counts[table] = 0
        for row in connection.execute(check.sql):
            counts[table] += 1
            if not check.holds(row):
                return f"row {row[0]} of the {table} isn't as it was written"
    state = read_state()
    return (
        _wrong_counts(connection, counts, state)
        or _mixture(connection, state)
        or _orphan(connection)
        or _miscounted(connection)
    )


def _wrong_counts(connection: sqlite3.Connection, counts: dict[str, int], state: State) -> str | None:
    if not counts["sentences"] == counts["vectors"] == state.sentences:
        return f"it has {counts['sentences']} sentences and {counts['vectors']} vectors instead of {state.sentences}"
    for table, key, last in (("writes", "generation", state.generation), ("removals", "removal", state.last_removal)):
        first, highest = connection.execute(f"SELECT min({key}), max({key}) FROM {table}").fetchone()  # noqa: S608
        if first is not None and (highest != last or highest - first + 1 != counts[table]):
            return f"the {table} of its log are incomplete"
    return None


def _mixture(connection: sqlite3.Connection, state: State) -> str | None:
    sums = [
        connection.execute(f"SELECT ifnull(sum({checksum}), 0) FROM {table}").fetchone()[0]  # noqa: S608
        for table, checksum in CHECKSUMS.items()
    ]
    if digest_of(*sums) == state.digest:
        return None
    return "its rows aren't those of one state: some are from another version of it, or some are lost"


def _orphan(connection: sqlite3.Connection) -> str | None:
    for table, sql in _ORPHANS.items():
        found = connection.execute(f"{sql} LIMIT 1").fetchone()
        if found:
            return f"row {found[0]} of the {table} belongs to no sentence"
    return None


def _miscounted(connection: sqlite3.Connection) -> str | None:
    for table, key in (("sources", "source_key"), ("sections", "section_key")):
        found = connection.execute(f"{_MISCOUNTED.format(table=table, key=key)} LIMIT 1").fetchone()
        if found:
            return f"row {found[0]} of the {table} says another number of sentences than it has"
    found = connection.execute(f"{_TWICE} LIMIT 1").fetchone()
    return f"row {found[0]} of the sentences has the id of another" if found else None
