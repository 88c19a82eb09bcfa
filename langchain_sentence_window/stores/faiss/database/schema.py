"""What is in the database: its tables, and what their rows hold.

Rows are numbered in the order they come and no number is used twice, so a cache that has seen all up to
a row is brought up to date by the rows after it and by the list of those removed since.
"""

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from langchain_sentence_window._types import Rows, Vectors
from langchain_sentence_window.documents.ids import is_storable_id
from langchain_sentence_window.stores.faiss.database.conditions import Condition

SCHEMA = (
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID",
    """CREATE TABLE documents (
        document INTEGER PRIMARY KEY,
        doc_id TEXT NOT NULL UNIQUE,
        checksum INTEGER NOT NULL
    )""",
    # What the sentences of a source document share, and what those of a section do. Each stands here once, under
    # the row of the first sentence that has it.
    """CREATE TABLE sources (
        source_key INTEGER PRIMARY KEY,
        document INTEGER NOT NULL,
        metadata TEXT NOT NULL,
        metadata_checksum INTEGER NOT NULL,
        checksum INTEGER NOT NULL
    )""",
    """CREATE TABLE sections (
        section_key INTEGER PRIMARY KEY,
        document INTEGER NOT NULL,
        metadata TEXT NOT NULL,
        context BLOB NOT NULL,
        context_checksum INTEGER NOT NULL,
        checksum INTEGER NOT NULL
    )""",
    """CREATE TABLE sentences (
        row INTEGER PRIMARY KEY,
        id TEXT UNIQUE,
        document INTEGER,
        place INTEGER,
        section INTEGER NOT NULL,
        source_key INTEGER,
        section_key INTEGER,
        text BLOB NOT NULL,
        context BLOB NOT NULL,
        metadata TEXT NOT NULL,
        text_checksum INTEGER NOT NULL,
        checksum INTEGER NOT NULL
    )""",
    "CREATE INDEX sources_by_metadata ON sources (document, metadata_checksum)",
    "CREATE INDEX sentences_in_order ON sentences (document, place)",
    "CREATE INDEX sentences_by_source ON sentences (source_key)",
    "CREATE INDEX sentences_by_section ON sentences (section_key)",
    "CREATE INDEX sentences_by_text ON sentences (text_checksum)",
    "CREATE TABLE vectors (row INTEGER PRIMARY KEY, vector BLOB NOT NULL, checksum INTEGER NOT NULL)",
    # Vectors of a long call that isn't done yet; it can be resumed without embedding them again.
    """CREATE TABLE embedded (
        row INTEGER PRIMARY KEY,
        text BLOB NOT NULL,
        vector BLOB NOT NULL,
        text_checksum INTEGER NOT NULL,
        checksum INTEGER NOT NULL
    )""",
    "CREATE INDEX embedded_by_text ON embedded (text_checksum)",
    # The log that caches are brought up to date with.
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
"""The checksum of a removal, in SQL. Of a lesser formula, removals of other rows had the same sum."""

CHECKSUMS = {
    "documents": "checksum",
    "sources": "checksum",
    "sections": "checksum",
    "sentences": "checksum + text_checksum",
    "vectors": "checksum",
    "writes": "checksum",
    "removals": "checksum",
}
"""What each row of a table adds to the digest of the state, in SQL.

Not the vectors that are kept ahead: one that is lost is embedded again.
"""

_DIGESTS = 2**62

IS_ONE_OF = "{} IN (SELECT value FROM json_each(?))"  # one parameter for any number of values


class Record(NamedTuple):
    """A row of the table ``sentences``.

    Attributes:
        id: The Document's id.
        text: The Document's text; any string, lone surrogates too.
        metadata: The Document's metadata as JSON, without what is in the next two.
        source_metadata: What it shares with the other sentences of its source document, as JSON; empty if it
            isn't a sentence of a document.
        section_metadata: What it shares with the other sentences of its section, likewise.
        doc_id: The source document it is a sentence of, if it says so; this and what follows is in the
            metadata too, and isn't read back.
        place: Its index among the document's sentences, if it says so.
        section: A number for its section of the document.
        context: What is put before the text when it is embedded.
    """

    id: str
    text: str
    metadata: str
    source_metadata: str = ""
    section_metadata: str = ""
    doc_id: str | None = None
    place: int | None = None
    section: int = 0
    context: str = ""

    @property
    def embedded(self) -> str:
        """What is embedded."""
        return self.context + self.text


Version: TypeAlias = tuple[int, int]
"""The number of a write, and the token drawn for it."""


@dataclass(frozen=True, slots=True)
class State:
    """How far the database is.

    Attributes:
        generation: The number of writes so far.
        token: Drawn at random with each write, so that databases of different pasts are told apart.
        sentences: The number of rows.
        last_row: The highest number a row ever had.
        last_removal: The highest number a removal ever had.
        digest: The sum of the checksums of all rows, so that rows of different states are told from those of one.
    """

    generation: int
    token: int
    sentences: int
    last_row: int
    last_removal: int
    digest: int

    @property
    def version(self) -> Version:
        """The write that led here."""
        return self.generation, self.token


@dataclass(frozen=True, slots=True)
class Changes:
    """What happened since a write: rows removed, with their documents; rows after ``last_row`` were added."""

    removed: Rows
    documents: set[int]
    last_row: int


def with_ids(ids: Iterable[str]) -> Condition:
    """The condition that a record has one of the ids."""
    return IS_ONE_OF.format("id"), [json.dumps([id_ for id_ in ids if is_storable_id(id_)])]


def of_documents(doc_ids: Iterable[str]) -> Condition:
    """The condition that a record is a sentence of one of the source documents."""
    inner = IS_ONE_OF.format("doc_id")
    return (
        f"document IN (SELECT document FROM documents WHERE {inner})",  # noqa: S608
        [json.dumps([id_ for id_ in doc_ids if is_storable_id(id_)])],
    )


def to_halves(vectors: Vectors) -> list[bytes]:
    """Make of vectors of shape ``(n, dimension)`` what the database keeps: half precision, little endian."""
    halves = vectors.astype("<f2")
    size, buffer = halves.shape[1] * 2, halves.tobytes()
    return [buffer[start : start + size] for start in range(0, len(buffer), size)]


def from_halves(stored: bytes) -> Vectors:
    """Make single precision of half precision, shape ``(n * dimension,)``."""
    return np.frombuffer(stored, dtype="<f2").astype(np.float32)


def checksum_of(*fields: object) -> int:
    """The CRC-32 of some fields of a row."""
    return zlib.crc32("\0".join(map(str, fields)).encode())


def source_row(key: int, document: int, metadata: str) -> tuple[int, int, str, int, int]:
    """Make a row of the table ``sources``; its checksum stands at its end."""
    checksum = zlib.crc32(metadata.encode())
    return key, document, metadata, checksum, checksum_of(key, document, metadata)


def digest_of(*parts: int) -> int:
    """Sum up checksums, and digests of other rows; those of rows that are gone are below 0."""
    return sum(parts) % _DIGESTS


def stored_text(text: str) -> bytes:
    """Make of a text what the database keeps."""
    return text.encode("utf-8", "surrogatepass")


def loaded_text(stored: bytes) -> str:
    """Undo `stored_text`."""
    return stored.decode("utf-8", "surrogatepass")
