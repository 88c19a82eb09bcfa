"""The tables of the database and the meaning of their rows.

Rows are numbered in the order in which they are added, and no number is used twice. So a cache that has seen all rows
up to one catches up with the rows after it and the list of those removed since.
"""

import json
import re
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from langchain_sentence_window._primitives import STORABLE_ID, Rows, Vectors
from langchain_sentence_window.documents.keys import END_INDEX, ID_LENGTH, SENTENCE_INDEX, START_INDEX

from .conditions import Condition

FORMAT_VERSION = 8
"""Increases with each change that makes other versions of this package unable to read the database."""

# The id and the metadata of a sentence are put together when they are read. Almost all ids are UUIDs, which take half
# the room as numbers, and almost all metadata begins with the same three keys.
_ID = """
    CASE WHEN id_high IS NULL THEN id_text ELSE printf('%08x-%04x-%04x-%04x-%012x', (id_high >> 32) & 4294967295,
        (id_high >> 16) & 65535, id_high & 65535, (id_low >> 48) & 65535, id_low & 281474976710655) END
"""
_BEGINNING = 2**31 - 1
_ID_BEGINNING = f"id_high & {_BEGINNING}"  # short, as an index of random numbers isn't full
_METADATA = f"""
    CASE WHEN start_index IS NULL THEN own ELSE '{{"{SENTENCE_INDEX}":' || sentence_index || ',"{START_INDEX}":'
        || start_index || ',"{END_INDEX}":' || end_index || ifnull(own, '}}') END
"""

SCHEMA = (
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID",
    # With the time when it was last written, in microseconds since 1970 UTC.
    """CREATE TABLE documents (
        document INTEGER PRIMARY KEY,
        doc_id TEXT NOT NULL UNIQUE,
        written INTEGER NOT NULL,
        checksum INTEGER NOT NULL
    )""",
    # What the sentences of a source document or of a section share. Each is stored once, under the row of the first
    # sentence that has it, with the number of sentences that have it now.
    """CREATE TABLE sources (
        source_key INTEGER PRIMARY KEY,
        document INTEGER NOT NULL,
        sentences INTEGER NOT NULL,
        metadata TEXT NOT NULL,
        metadata_checksum INTEGER NOT NULL,
        checksum INTEGER NOT NULL
    )""",
    """CREATE TABLE sections (
        section_key INTEGER PRIMARY KEY,
        document INTEGER NOT NULL,
        sentences INTEGER NOT NULL,
        metadata TEXT NOT NULL,
        context BLOB NOT NULL,
        context_checksum INTEGER NOT NULL,
        checksum INTEGER NOT NULL
    )""",
    f"""CREATE TABLE sentences (
        row INTEGER PRIMARY KEY,
        id_high INTEGER,
        id_low INTEGER,
        id_text TEXT,
        document INTEGER,
        sentence_index INTEGER,
        section INTEGER NOT NULL,
        source_key INTEGER,
        section_key INTEGER,
        text BLOB NOT NULL,
        context BLOB NOT NULL,
        start_index INTEGER,
        end_index INTEGER,
        own TEXT,
        text_checksum INTEGER NOT NULL,
        checksum INTEGER NOT NULL,
        id TEXT AS ({_ID}),
        metadata TEXT AS ({_METADATA})
    )""",
    "CREATE INDEX sources_by_metadata ON sources (document, metadata_checksum)",
    # Filters and neighbors are found in the index alone.
    "CREATE INDEX sentences_in_order ON sentences (document, sentence_index, section, source_key, section_key)",
    "CREATE INDEX sentences_alone ON sentences (source_key) WHERE source_key IS NULL",
    f"CREATE INDEX sentences_by_id ON sentences ({_ID_BEGINNING}) WHERE id_high IS NOT NULL",
    "CREATE UNIQUE INDEX sentences_by_id_text ON sentences (id_text) WHERE id_text IS NOT NULL",
    "CREATE INDEX sentences_by_text ON sentences (text_checksum)",
    "CREATE TABLE vectors (row INTEGER PRIMARY KEY, vector BLOB NOT NULL, checksum INTEGER NOT NULL)",
    # Vectors of a long call that isn't finished; it can be resumed without embedding their texts again.
    """CREATE TABLE staged (
        row INTEGER PRIMARY KEY,
        text BLOB NOT NULL,
        vector BLOB NOT NULL,
        text_checksum INTEGER NOT NULL,
        checksum INTEGER NOT NULL
    )""",
    "CREATE INDEX staged_by_text ON staged (text_checksum)",
    # The log of changes that caches catch up with.
    """CREATE TABLE writes (
        generation INTEGER PRIMARY KEY,
        token INTEGER NOT NULL,
        last_row INTEGER NOT NULL,
        last_removal INTEGER NOT NULL,
        checksum INTEGER NOT NULL
    )""",
    """CREATE TABLE removals (
        removal INTEGER PRIMARY KEY,
        row INTEGER NOT NULL,
        document INTEGER,
        checksum INTEGER NOT NULL
    )""",
)

REMOVAL_CHECKSUM = (
    "((removal * 2246822519 + row * 2654435769 + ifnull(document, -1) * 40503) % 2147483647)"
    " * ((removal * 1640531527 + row * 1181783497 + ifnull(document, -1) * 69069) % 2147483629) % 4294967291"
)
"""The checksum of a removal, in SQL. With simpler formulas, removals of different rows had the same sum."""

CHECKSUMS = {
    "documents": "checksum",
    "sources": "checksum",
    "sections": "checksum",
    "sentences": "checksum + text_checksum",
    "vectors": "checksum",
    "writes": "checksum",
    "removals": "checksum",
}
"""The number that each row of a table adds to the digest of the state, in SQL.

Staged vectors add nothing: one that is lost is embedded again.
"""

DIGESTS = 2**62
"""The number of digests; the digest of a state is the sum of its rows' checksums, modulo this."""

IS_ONE_OF = "{} IN (SELECT value FROM json_each(?))"  # one parameter for any number of values


class Record(NamedTuple):
    """A sentence, or another Document, as the database stores it.

    Attributes:
        id: The id of the Document.
        text: Any string, even with lone surrogates.
        metadata: Its own metadata as JSON, without the next two, and without its places in its source document if it
            has a start; empty for none.
        source_metadata: The metadata that it shares with the other sentences of its source document, as JSON; empty if
            it isn't a sentence of a source document.
        section_metadata: The metadata that it shares with the other sentences of its section, likewise.
        doc_id: The id of its source document, if it has one. This, its section and its context aren't read back.
        sentence_index: The index of the sentence in its source document, if it has one; read back with a start.
        section: The number of its section in the source document.
        context: The text put before its own when it is embedded.
        start: Where the sentence starts in its source document; ``None`` if its metadata tells all of its places.
        end: Where it ends.
    """

    id: str
    text: str
    metadata: str
    source_metadata: str = ""
    section_metadata: str = ""
    doc_id: str | None = None
    sentence_index: int | None = None
    section: int = 0
    context: str = ""
    start: int | None = None
    end: int | None = None


Version: TypeAlias = tuple[int, int]
"""The number of a write, and the token drawn for it."""


@dataclass(frozen=True, slots=True)
class State:
    """A state of the database.

    Attributes:
        generation: The number of writes so far.
        token: A random number drawn for each write, which distinguishes databases with different histories.
        sentences: The number of sentences.
        last_row: The highest number of any row so far.
        last_removal: The highest number of any removal so far.
        digest: The sum of the checksums of all rows, which reveals rows of different states.
    """

    generation: int
    token: int
    sentences: int
    last_row: int
    last_removal: int
    digest: int


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes since a write.

    Attributes:
        removed: The rows that were removed.
        documents: The source documents of removed and added rows.
        last_row: The last row before the changes; all rows after it were added.
    """

    removed: Rows
    documents: set[int]
    last_row: int


def with_ids(ids: Iterable[str]) -> Condition:
    """Return the condition that a record has one of the ids."""
    numbers, uuids, others = list[int](), list[str](), list[str]()
    given = list(ids)
    for id_, (high, _) in zip(given, uuid_numbers(given), strict=True):
        if high is not None:
            numbers.append(high & _BEGINNING)
            uuids.append(id_)
        elif STORABLE_ID.fullmatch(id_):
            others.append(id_)
    # The numbers find rows in the index, and the id tells them from others whose numbers are the same.
    is_uuid = f"(id_high IS NOT NULL AND {IS_ONE_OF.format(_ID_BEGINNING)} AND {IS_ONE_OF.format('id')})"
    conditions = [(is_uuid, [numbers, uuids])] if uuids else []
    conditions += [(IS_ONE_OF.format("id_text"), [others])] if others else []
    if not conditions:
        return "0", []
    return (
        f"({' OR '.join(sql for sql, _ in conditions)})",
        [json.dumps(values) for _, lists in conditions for values in lists],
    )


def of_documents(doc_ids: Iterable[str]) -> Condition:
    """Return the condition that a record is a sentence of one of the source documents."""
    inner = IS_ONE_OF.format("doc_id")
    return (
        f"document IN (SELECT document FROM documents WHERE {inner})",  # noqa: S608
        [json.dumps([id_ for id_ in doc_ids if STORABLE_ID.fullmatch(id_)])],
    )


def to_halves(vectors: Vectors) -> list[bytes]:
    """Convert vectors of shape ``(n, dimension)`` to bytes for the database: half precision, little endian."""
    halves = vectors.astype("<f2")
    size, buffer = halves.shape[1] * 2, halves.tobytes()
    return [buffer[start : start + size] for start in range(0, len(buffer), size)]


def from_halves(stored: bytes) -> Vectors:
    """Convert half precision back to single precision, shape ``(n * dimension,)``."""
    return np.frombuffer(stored, dtype="<f2").astype(np.float32)


def checksum_of(*fields: object) -> int:
    """Return the CRC-32 of some fields of a row."""
    return zlib.crc32("\0".join(map(str, fields)).encode())


def source_row(key: int, document: int, sentences: int, metadata: str) -> tuple[int, int, int, str, int, int]:
    """Return a row of the table ``sources``, which ends with its checksum.

    The number of sentences changes, so it is no part of the checksum.
    """
    checksum = zlib.crc32(metadata.encode())
    return key, document, sentences, metadata, checksum, checksum_of(key, document, metadata)


TEXT = "utf-8", "surrogatepass"
"""How a text becomes bytes in the database: any string does, even with lone surrogates."""

_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_IS_UUID, _ARE_UUIDS = re.compile(_UUID), re.compile(f"(?:{_UUID})*")


def uuid_numbers(ids: Sequence[str]) -> list[tuple[int, int] | tuple[None, None]]:
    """Return the halves of each UUID as signed numbers of 64 bits; ``None`` for other ids, also those in upper case."""
    # All at once, as almost always; one by one takes twice as long.
    are_uuids = set(map(len, ids)) == {ID_LENGTH} and _ARE_UUIDS.fullmatch("".join(ids)) is not None
    uuids = ids if are_uuids else list(filter(_IS_UUID.fullmatch, ids))
    numbers = np.frombuffer(bytes.fromhex("".join(uuids).replace("-", "")), dtype=">i8").tolist()
    pairs = zip(numbers[::2], numbers[1::2], strict=True)
    return list(pairs) if are_uuids else [next(pairs) if _IS_UUID.fullmatch(id_) else (None, None) for id_ in ids]


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
        or find_mixture(connection, state, CHECKSUMS)
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


def find_mixture(connection: sqlite3.Connection, state: State, checksums: Mapping[str, str]) -> str | None:
    """Compare the digest of a state with the checksums of tables, and say what is wrong; ``None`` if nothing is."""
    sums = [
        connection.execute(f"SELECT ifnull(sum({checksum}), 0) FROM {table}").fetchone()[0]  # noqa: S608
        for table, checksum in checksums.items()
    ]
    if sum(sums) % DIGESTS == state.digest:
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
