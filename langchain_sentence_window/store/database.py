"""The SQLite half of the store: sentences, metadata and vectors, in one file, one transaction a call."""

import json
import sqlite3
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from langchain_sentence_window.errors import IndexMismatchError, StoreError
from langchain_sentence_window.ids import is_storable_id
from langchain_sentence_window.store.filters import Condition

FORMAT_VERSION = 1
"""Goes up when an older version of this package couldn't read the database any more."""

APPLICATION_ID = 0x53574E31  # "SWN1"; SQLite keeps it in the file's header.

_SCHEMA = f"""
PRAGMA application_id = {APPLICATION_ID};
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sentences (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    doc_id TEXT,
    text BLOB NOT NULL,
    metadata TEXT NOT NULL,
    vector BLOB NOT NULL
);
CREATE INDEX sentences_of_a_document ON sentences (doc_id) WHERE doc_id IS NOT NULL;
"""
# One parameter for any number of values.
_IS_ONE_OF = "{} IN (SELECT value FROM json_each(?))"

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Record:
    """A row of the table ``sentences``.

    Attributes:
        id: The Document's id.
        doc_id: The source document it is a sentence of, if it says so.
        text: The Document's text; any string, lone surrogates too.
        metadata: The Document's metadata as JSON.
    """

    id: str
    doc_id: str | None
    text: str
    metadata: str


@dataclass(frozen=True, slots=True)
class Change:
    """What a write did: the rows that went, and the rows that came in the order of their records."""

    removed: list[int]
    added: list[int]


class Database:
    """One connection to the database of a store; callers see to it that one thread uses it at a time.

    Every write raises the generation, by which caches know whether they are behind.
    """

    def __init__(self, path: Path | None) -> None:
        """Open the database, or make it.

        Args:
            path: The file; ``None`` for a database in memory.

        Raises:
            StoreError: The file isn't a database of this package, or can't be opened.
            IndexMismatchError: Its format is newer than this version knows.
        """
        self._name = str(path) if path else "the store in memory"
        try:
            self._connection = sqlite3.connect(
                path or ":memory:", isolation_level=None, check_same_thread=False, timeout=30
            )
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise
            # A store in memory is dropped without being closed, which sqlite3 warns of.
            weakref.finalize(self, self._connection.close)
        except sqlite3.Error as error:
            raise StoreError(
                f"{self._name} can't be opened as an index: {error}; restore it from a backup, or choose another path"
            ) from error

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do all or nothing: commit at the end, roll back on any exception.

        Raises:
            StoreError: SQLite can't do it: the disk is full, the file locked or damaged.
        """
        with self._all_or_nothing("BEGIN IMMEDIATE"):
            yield

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read one state of the database, whatever other processes write meanwhile."""
        with self._all_or_nothing("BEGIN"):
            yield

    def fact(self, name: str) -> Any:
        """Read a fact about the store, ``None`` if it isn't known."""
        found = self._connection.execute("SELECT value FROM facts WHERE name = ?", [name]).fetchone()
        return json.loads(found[0]) if found else None

    def set_fact(self, name: str, value: object) -> None:
        """Write a fact about the store; the value goes through JSON."""
        self._connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", [name, json.dumps(value)])

    @property
    def generation(self) -> int:
        """The number of writes so far."""
        return int(self.fact("generation") or 0)

    def count(self) -> int:
        """The number of sentences."""
        return int(self._connection.execute("SELECT count(*) FROM sentences").fetchone()[0])

    def write(self, remove: Sequence[int], records: Sequence[Record], vectors: Vectors) -> Change:
        """Remove rows and add others, replacing rows with the same id; inside a transaction.

        Args:
            remove: Rows to remove first.
            records: What to add; each has another id.
            vectors: Unit vectors of shape ``(len(records), dimension)``; kept in half precision.
        """
        self._delete(remove)
        replaced = self.rows(with_ids([record.id for record in records]))
        self._delete(replaced)
        last = self._connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'sentences'").fetchone()
        first = last[0] + 1 if last else 1
        halves = vectors.astype("<f2")
        self._connection.executemany(
            "INSERT INTO sentences (row, id, doc_id, text, metadata, vector) VALUES (?, ?, ?, ?, ?, ?)",
            (
                (row, record.id, record.doc_id, _bytes(record.text), record.metadata, half.tobytes())
                for row, record, half in zip(count(first), records, halves, strict=False)
            ),
        )
        self.set_fact("generation", self.generation + 1)
        return Change([*remove, *replaced], list(range(first, first + len(records))))

    def rows(self, condition: Condition) -> list[int]:
        """The rows for which a condition holds."""
        sql, parameters = condition
        found = self._connection.execute(f"SELECT row FROM sentences WHERE {sql}", parameters)  # noqa: S608
        return [row for (row,) in found]

    def by_rows(self, rows: Sequence[int]) -> dict[int, Record]:
        """Fetch records by row; rows that don't exist are left out."""
        sql = "SELECT row, id, doc_id, text, metadata FROM sentences WHERE row IN (SELECT value FROM json_each(?))"
        return {row: _record(*fields) for row, *fields in self._connection.execute(sql, [json.dumps(list(rows))])}

    def by_ids(self, ids: Sequence[str]) -> dict[str, Record]:
        """Fetch records by id; ids that don't exist are left out."""
        sql, parameters = with_ids(ids)
        found = self._connection.execute(f"SELECT id, doc_id, text, metadata FROM sentences WHERE {sql}", parameters)  # noqa: S608
        return {fields[0]: _record(*fields) for fields in found}

    def vectors(self, at_once: int = 10_000) -> Iterator[tuple[npt.NDArray[np.int64], Vectors]]:
        """Yield all ``(rows, vectors)`` in slices, shapes ``(n,)`` and ``(n, dimension)``."""
        cursor = self._connection.execute("SELECT row, vector FROM sentences ORDER BY row")
        while part := cursor.fetchmany(at_once):
            rows = np.fromiter((row for row, _ in part), dtype=np.int64, count=len(part))
            halves = np.frombuffer(b"".join(vector for _, vector in part), dtype="<f2")
            yield rows, halves.reshape(len(part), -1).astype(np.float32)

    def first(self) -> tuple[str, Vectors] | None:
        """The text and vector of the first sentence, if there is one."""
        found = self._connection.execute("SELECT text, vector FROM sentences ORDER BY row LIMIT 1").fetchone()
        if found is None:
            return None
        return _text(found[0]), np.frombuffer(found[1], dtype="<f2").astype(np.float32)

    def copy_to(self, path: Path) -> None:
        """Copy the whole database into a new file."""
        with closing(sqlite3.connect(path)) as target:
            self._connection.backup(target)

    @contextmanager
    def _all_or_nothing(self, begin: str) -> Iterator[None]:
        try:
            self._connection.execute(begin)
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise StoreError(
                f"{self._name} can't be read or written: {error}; it is as it was before the call"
            ) from error

    def _prepare(self) -> None:
        execute = self._connection.execute
        (application,) = execute("PRAGMA application_id").fetchone()
        (tables,) = execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if tables and application != APPLICATION_ID:
            raise StoreError(
                f"{self._name} is a database, but not one of langchain-sentence-window; choose another path"
            )
        execute("PRAGMA trusted_schema = OFF")
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = FULL")
        if not tables:
            self._connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
            self.set_fact("format", FORMAT_VERSION)
        version = self.fact("format")
        if version != FORMAT_VERSION:
            raise IndexMismatchError(
                f"{self._name} has format {version!r}, and this version of langchain-sentence-window reads format "
                f"{FORMAT_VERSION}; upgrade the package, or index the documents again at another path"
            )

    def _delete(self, rows: Sequence[int]) -> None:
        self._connection.executemany("DELETE FROM sentences WHERE row = ?", ((row,) for row in rows))


def with_ids(ids: Sequence[str]) -> Condition:
    """The condition that a record has one of the ids."""
    return _IS_ONE_OF.format("id"), [json.dumps([id_ for id_ in ids if is_storable_id(id_)])]


def of_documents(doc_ids: Sequence[str]) -> Condition:
    """The condition that a record is a sentence of one of the source documents."""
    return _IS_ONE_OF.format("doc_id"), [json.dumps([id_ for id_ in doc_ids if is_storable_id(id_)])]


def _record(id_: str, doc_id: str | None, text: bytes, metadata: str) -> Record:
    return Record(id_, doc_id, _text(text), metadata)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(stored: bytes) -> str:
    return stored.decode("utf-8", "surrogatepass")
