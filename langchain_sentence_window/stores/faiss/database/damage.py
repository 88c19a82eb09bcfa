"""How to see that a database is as it was written."""

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
    """How the rows of a table are checked.

    Attributes:
        sql: Reads a row's number, then what its checksums are of, then the checksums.
        checksums: Works them out.
        stored: How many there are.
    """

    sql: str
    checksums: Callable[..., tuple[int, ...]]
    stored: int = 1

    def holds(self, row: tuple[Any, ...]) -> bool:
        """Whether a row is as it was written."""
        return self.checksums(*row[: -self.stored]) == row[-self.stored :]


_CHECKS = {
    "facts": _Check(
        "SELECT name, value, checksum FROM facts",
        lambda name, value: (checksum_of(name, value),),
    ),
    "documents": _Check(
        "SELECT document, doc_id, checksum FROM documents",
        lambda *row: (checksum_of(*row),),
    ),
    "sources": _Check(
        "SELECT source_key, document, metadata, metadata_checksum, checksum FROM sources",
        lambda *row: source_row(*row)[-2:],
        stored=2,
    ),
    "sections": _Check(
        "SELECT section_key, document, metadata, context, checksum, context_checksum FROM sections",
        lambda *row: (checksum_of(*row[:3], zlib.crc32(row[3])), zlib.crc32(row[3])),
        stored=2,
    ),
    # Of the document, source and section as those tables have them, so that one that is lost or another's is seen.
    "sentences": _Check(
        """
        SELECT row, id, documents.document, doc_id, place, section, sources.source_key, sections.section_key,
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
    "embedded": _Check(
        "SELECT row, vector, text, checksum, text_checksum FROM embedded",
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
"""Rows that no sentence has."""


def find_damage(connection: sqlite3.Connection, read_state: Callable[[], State]) -> str | None:
    """Read everything, and say what isn't as it was written, if anything isn't.

    Args:
        connection: In a transaction, so that all it reads is of one state.
        read_state: Reads how far the database is; called once that is known to be sound.
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
    return _wrong_counts(connection, counts, state) or _mixture(connection, state) or _orphan(connection)


def _wrong_counts(connection: sqlite3.Connection, counts: dict[str, int], state: State) -> str | None:
    if not counts["sentences"] == counts["vectors"] == state.sentences:
        return f"it has {counts['sentences']} sentences and {counts['vectors']} vectors, not {state.sentences}"
    for table, key, last in (("writes", "generation", state.generation), ("removals", "removal", state.last_removal)):
        first, highest = connection.execute(f"SELECT min({key}), max({key}) FROM {table}").fetchone()  # noqa: S608
        if first is not None and (highest != last or highest - first + 1 != counts[table]):
            return f"the {table} of its log aren't all there"
    return None


def _mixture(connection: sqlite3.Connection, state: State) -> str | None:
    sums = [
        connection.execute(f"SELECT ifnull(sum({checksum}), 0) FROM {table}").fetchone()[0]  # noqa: S608
        for table, checksum in CHECKSUMS.items()
    ]
    if digest_of(*sums) == state.digest:
        return None
    return "its rows aren't those of one state: some of another version of it are among them, or some are lost"


def _orphan(connection: sqlite3.Connection) -> str | None:
    for table, sql in _ORPHANS.items():
        found = connection.execute(f"{sql} LIMIT 1").fetchone()
        if found:
            return f"row {found[0]} of the {table} is there without a sentence"
    return None
