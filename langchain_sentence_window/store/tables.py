"""What is in the database: its tables, what is read from one state of them, and what a write does to them.

Rows are numbered in the order they come and no number is used twice, so a cache that has seen all up to
a row is brought up to date by the rows after it and by the list of those removed since.
"""

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.ids import is_storable_id
from langchain_sentence_window.mixing import NOWHERE, Places, Vectors
from langchain_sentence_window.store.filters import Condition

SCHEMA = (
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE documents (document INTEGER PRIMARY KEY, doc_id TEXT NOT NULL UNIQUE)",
    """CREATE TABLE sentences (
        row INTEGER PRIMARY KEY,
        id TEXT UNIQUE,
        document INTEGER,
        place INTEGER,
        section INTEGER NOT NULL,
        text BLOB NOT NULL,
        metadata TEXT NOT NULL,
        text_checksum INTEGER NOT NULL,
        checksum INTEGER NOT NULL
    )""",
    "CREATE INDEX sentences_in_order ON sentences (document, place)",
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

REMOVAL_CHECKSUM = "row * 31 + ifnull(document, -1)"
"""The checksum of a removal, in SQL."""

_AT_ONCE = 10_000
IS_ONE_OF = "{} IN (SELECT value FROM json_each(?))"  # one parameter for any number of values

Rows: TypeAlias = npt.NDArray[np.int64]


class Record(NamedTuple):
    """A row of the table ``sentences``.

    Attributes:
        id: The Document's id.
        text: The Document's text; any string, lone surrogates too.
        metadata: The Document's metadata as JSON.
        doc_id: The source document it is a sentence of, if it says so; this and what follows is in the
            metadata too, and isn't read back.
        place: Its index among the document's sentences, if it says so.
        section: A number for its section of the document.
    """

    id: str
    text: str
    metadata: str
    doc_id: str | None = None
    place: int | None = None
    section: int = 0


@dataclass(frozen=True, slots=True)
class State:
    """How far the database is.

    Attributes:
        generation: The number of writes so far.
        token: Drawn at random with each write, so that databases of different pasts are told apart.
        sentences: The number of rows.
        last_row: The highest number a row ever had.
        last_removal: The highest number a removal ever had.
    """

    generation: int
    token: int
    sentences: int
    last_row: int
    last_removal: int


@dataclass(frozen=True, slots=True)
class Changes:
    """What happened since a write: rows removed, with their documents; rows after ``last_row`` were added."""

    removed: Rows
    documents: set[int]
    last_row: int


class Snapshot:
    """Reads one state of the database."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Read through a connection that is in a transaction, so that all it gives is of one state."""
        self._connection = connection
        self._execute = connection.execute

    # The store as a whole

    def fact(self, name: str) -> Any:
        """A fact about the store, ``None`` if it isn't known.

        Raises:
            StoreError: It is damaged.
        """
        found = self._execute("SELECT value, checksum FROM facts WHERE name = ?", [name]).fetchone()
        if found is None:
            return None
        if checksum_of(name, found[0]) != found[1]:
            raise StoreError(f"the database is damaged where it keeps {name!r}; restore it from a backup")
        return json.loads(found[0])

    @property
    def state(self) -> State:
        """How far the database is."""
        return State(**self.fact("state"))

    def count_documents(self) -> int:
        """The number of source documents."""
        return int(self._execute("SELECT count(*) FROM documents").fetchone()[0])

    def count_ahead(self) -> int:
        """The number of texts whose vectors are kept for sentences that aren't there yet."""
        return int(self._execute("SELECT count(*) FROM embedded").fetchone()[0])

    def schema(self) -> list[str]:
        """The statements that made the tables."""
        return [sql for (sql,) in self._execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")]

    def copy_to(self, target: sqlite3.Connection) -> None:
        """Copy the whole database into another one."""
        self._connection.backup(target)

    def find_damage(self) -> str | None:
        """Read everything, and say what isn't as it was written, if anything isn't."""
        (first,) = self._execute("PRAGMA integrity_check(1)").fetchone()
        if first != "ok":
            return str(first)
        counts = dict.fromkeys(_CHECKED, 0)
        for table, (sql, is_sound) in _CHECKED.items():
            for row in self._execute(sql):
                counts[table] += 1
                if not is_sound(*row):
                    return f"row {row[0]} of the {table} isn't as it was written"
        state = self.state
        if not counts["sentences"] == counts["vectors"] == state.sentences:
            return f"it has {counts['sentences']} sentences and {counts['vectors']} vectors, not {state.sentences}"
        for table, key, last in (
            ("writes", "generation", state.generation),
            ("removals", "removal", state.last_removal),
        ):
            first, highest = self._execute(f"SELECT min({key}), max({key}) FROM {table}").fetchone()  # noqa: S608
            if first is not None and (highest != last or highest - first + 1 != counts[table]):
                return f"the {table} of its log aren't all there"
        return None

    # Sentences

    def rows(self, condition: Condition) -> Rows:
        """The rows for which a condition holds, in no order."""
        sql, parameters = condition
        found = self._execute(f"SELECT row FROM sentences WHERE {sql}", parameters)  # noqa: S608
        return np.fromiter(chain.from_iterable(found), dtype=np.int64)

    def by_rows(self, rows: Sequence[int]) -> dict[int, Record]:
        """Fetch records by row; rows that don't exist are left out."""
        sql = f"SELECT row, {_RECORD} WHERE row IN (SELECT value FROM json_each(?))"  # noqa: S608
        return {row: _record(*fields) for row, *fields in self._execute(sql, [json.dumps(list(rows))])}

    def by_ids(self, ids: Sequence[str]) -> dict[str, Record]:
        """Fetch records by id; ids that don't exist are left out."""
        sql, parameters = with_ids(ids)
        found = self._execute(f"SELECT {_RECORD} WHERE {sql}", parameters)
        return {fields[0]: _record(*fields) for fields in found}

    def first(self) -> tuple[str, Vectors] | None:
        """The text and vector of the first sentence, if there is one."""
        found = self._execute("SELECT text, vector FROM sentences JOIN vectors USING (row) ORDER BY row").fetchone()
        return None if found is None else (_text(found[0]), from_halves(found[1]))

    def texts_after(self, row: int) -> Iterator[tuple[int, str]]:
        """Yield ``(row, text)`` of all sentences with a higher number."""
        for number, text in self._execute("SELECT row, text FROM sentences WHERE row > ? ORDER BY row", [row]):
            yield number, _text(text)

    # Vectors

    def known_vectors(self, texts: Iterable[str]) -> dict[str, bytes]:
        """Half-precision vectors of those texts that some sentence has, or that were embedded ahead."""
        wanted = {stored_text(text): text for text in texts}
        known: dict[str, bytes] = {}
        checksums = json.dumps([zlib.crc32(text) for text in wanted])
        for sql in (
            "SELECT text, vector FROM embedded",
            "SELECT text, vector FROM sentences JOIN vectors USING (row)",
        ):
            for stored, vector in self._execute(f"{sql} WHERE {IS_ONE_OF.format('text_checksum')}", [checksums]):
                if stored in wanted:
                    known[wanted[stored]] = vector
        return known

    def vectors_of(self, rows: Sequence[int]) -> dict[int, Vectors]:
        """The vectors of rows as they were embedded; rows that don't exist are left out."""
        sql = f"SELECT row, vector FROM vectors WHERE {IS_ONE_OF.format('row')}"  # noqa: S608
        return {row: from_halves(vector) for row, vector in self._execute(sql, [json.dumps(list(rows))])}

    def sample_vectors(self, most: int) -> Vectors:
        """Vectors spread evenly over the database, ``most`` of them or a few more or less."""
        step = self.state.sentences // most + 1
        found = self._execute("SELECT vector FROM vectors WHERE row % ? = 0", [step]).fetchall()
        if not found:
            found = self._execute("SELECT vector FROM vectors LIMIT ?", [most]).fetchall()
        return from_halves(b"".join(chain.from_iterable(found))).reshape(len(found), -1)

    def vectors_after(self, row: int) -> Iterator[tuple[Rows, Vectors]]:
        """Yield ``(rows, vectors)`` of all rows with a higher number, in slices."""
        cursor = self._execute("SELECT row, vector FROM vectors WHERE row > ? ORDER BY row", [row])
        while part := cursor.fetchmany(_AT_ONCE):
            rows = np.fromiter((row for row, _ in part), dtype=np.int64, count=len(part))
            yield rows, from_halves(b"".join(vector for _, vector in part)).reshape(len(part), -1)

    def vectors_in_order(self, condition: Condition) -> Iterator[tuple[Rows, Vectors, Places]]:
        """Yield rows and vectors by document and index, in slices that cut no section."""
        sql, parameters = condition
        cursor = self._execute(
            "SELECT row, document, section, place, vector FROM sentences JOIN vectors USING (row) "  # noqa: S608
            f"WHERE {sql} ORDER BY document, place",
            parameters,
        )
        part: list[tuple[int, int | None, int, int | None, bytes]] = []
        while more := cursor.fetchmany(_AT_ONCE):
            part += more
            cut = _last_cut(part)
            if cut:
                yield _in_place(part[:cut])
                part = part[cut:]
        if part:
            yield _in_place(part)

    # Changes

    def changes_since(self, generation: int, token: int) -> Changes | None:
        """What happened since a write; ``None`` if that isn't known any more, or never was a write of this database."""
        found = self._execute(
            "SELECT last_row, last_removal FROM writes WHERE generation = ? AND token = ?", [generation, token]
        ).fetchone()
        if found is None:
            return None
        last_row, last_removal = found
        removals = self._execute("SELECT row, document FROM removals WHERE removal > ?", [last_removal]).fetchall()
        added = self._execute(
            "SELECT DISTINCT document FROM sentences WHERE row > ? AND document IS NOT NULL", [last_row]
        )
        documents = {document for _, document in removals if document is not None} | set(chain.from_iterable(added))
        return Changes(np.array([row for row, _ in removals], dtype=np.int64), documents, last_row)


_CHECKED: dict[str, tuple[str, Callable[..., bool]]] = {
    "sentences": (
        "SELECT row, id, document, place, section, metadata, checksum, text, text_checksum FROM sentences",
        lambda *row: checksum_of(*row[:6]) == row[6] and zlib.crc32(row[7]) == row[8],
    ),
    "vectors": (
        "SELECT row, vector, checksum FROM vectors",
        lambda row, vector, checksum: zlib.crc32(vector, row & 0xFFFFFFFF) == checksum,
    ),
    "embedded": (
        "SELECT row, vector, checksum, text, text_checksum FROM embedded",
        lambda row, vector, checksum, text, text_checksum: (
            (zlib.crc32(vector, row), zlib.crc32(text)) == (checksum, text_checksum)
        ),
    ),
    "writes": (
        "SELECT generation, token, last_row, last_removal, checksum FROM writes",
        lambda *row: checksum_of(*row[:4]) == row[4],
    ),
    "removals": (
        f"SELECT removal, checksum = {REMOVAL_CHECKSUM} FROM removals",  # noqa: S608
        lambda _, is_sound: bool(is_sound),
    ),
}
"""How to see that the rows of each table are as they were written."""


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


_RECORD = "id, text, metadata FROM sentences"


def _record(id_: str, text: bytes, metadata: str) -> Record:
    return Record(id_, _text(text), metadata)


def checksum_of(*fields: object) -> int:
    """The CRC-32 of some fields of a row."""
    return zlib.crc32("\0".join(map(str, fields)).encode())


def _in_place(part: Sequence[tuple[int, int | None, int, int | None, bytes]]) -> tuple[Rows, Vectors, Places]:
    numbers = np.array(
        [
            (row, NOWHERE if document is None or place is None else document, section, place or 0)
            for row, document, section, place, _ in part
        ],
        dtype=np.int64,
    )
    vectors = from_halves(b"".join(fields[-1] for fields in part)).reshape(len(part), -1)
    return numbers[:, 0], vectors, Places(numbers[:, 1], numbers[:, 2], numbers[:, 3])


def _last_cut(part: Sequence[tuple[int, int | None, int, int | None, bytes]]) -> int:
    """Where the last section of the part begins."""
    last = part[-1][1], part[-1][2]
    if last[0] is None:
        return len(part)
    return next((at for at in range(len(part), 0, -1) if (part[at - 1][1], part[at - 1][2]) != last), 0)


def stored_text(text: str) -> bytes:
    """Make of a text what the database keeps."""
    return text.encode("utf-8", "surrogatepass")


def _text(stored: bytes) -> str:
    return stored.decode("utf-8", "surrogatepass")
