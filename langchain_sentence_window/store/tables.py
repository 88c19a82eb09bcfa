"""The tables of the database, and reading and writing them in a transaction.

Rows are numbered as they are added, and no number is used twice. The sentences of a document are in consecutive rows,
in their order; when a part of a document changes, all of it gets new rows (see `Transaction.finish`). So a value that
was computed from a row and its neighbors stays valid as long as the row exists, and a cache that has seen all rows up
to one catches up with the rows after it and the list of those removed since.
"""

import json
import secrets
import sqlite3
import time
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import numpy as np
import orjson

from langchain_sentence_window._primitives import Rows, Vectors
from langchain_sentence_window.documents.keys import END_INDEX, SENTENCE_INDEX, START_INDEX
from langchain_sentence_window.embedding.vectors import NOWHERE, Positions
from langchain_sentence_window.errors import StoreError

from .filters import Condition, for_all

T = TypeVar("T")

APPLICATION_ID = 0x53574E31  # "SWN1"; SQLite keeps it in the file's header
FORMAT_VERSION = 10
"""Increases with each change that makes other versions of this package unable to read the database."""

_PLACES = (
    f"""'{{"{SENTENCE_INDEX}":' || sentence_index || ',"{START_INDEX}":' || start_index """
    f"""|| ',"{END_INDEX}":' || end_index"""
)
SCHEMA = f"""
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE epoch (epoch INTEGER NOT NULL);
CREATE TABLE writes (generation INTEGER PRIMARY KEY, token INTEGER NOT NULL, last_row INTEGER NOT NULL,
    sentences INTEGER NOT NULL, epoch INTEGER NOT NULL, others INTEGER NOT NULL);
CREATE TABLE removed (removal INTEGER PRIMARY KEY, row INTEGER NOT NULL, generation INTEGER NOT NULL);
CREATE INDEX removed_by_generation ON removed (generation);
CREATE TABLE documents (document INTEGER PRIMARY KEY, doc_id TEXT NOT NULL UNIQUE, written INTEGER NOT NULL);
CREATE TABLE sources (source_key INTEGER PRIMARY KEY, document INTEGER NOT NULL, metadata TEXT NOT NULL,
    checksum INTEGER NOT NULL);
CREATE INDEX sources_by_document ON sources (document);
CREATE TABLE names (key TEXT NOT NULL, document INTEGER NOT NULL, source_key INTEGER NOT NULL,
    PRIMARY KEY (key, document, source_key)) WITHOUT ROWID;
CREATE INDEX names_by_source ON names (source_key);
CREATE TABLE first_lines (key TEXT NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (key, row)) WITHOUT ROWID;
CREATE INDEX first_lines_by_row ON first_lines (row);
CREATE TABLE sections (section_key INTEGER PRIMARY KEY, document INTEGER NOT NULL, metadata TEXT NOT NULL,
    context NOT NULL, checksum INTEGER NOT NULL);
CREATE INDEX sections_by_document ON sections (document);
CREATE TABLE sentences (row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, document INTEGER, sentence_index INTEGER,
    section INTEGER NOT NULL, source_key INTEGER, section_key INTEGER, start_index INTEGER, end_index INTEGER,
    text NOT NULL, own TEXT, text_key INTEGER NOT NULL, checksum INTEGER NOT NULL,
    metadata TEXT AS (CASE WHEN start_index IS NULL THEN own WHEN own IS NULL THEN {_PLACES} || '}}'
        ELSE {_PLACES} || ',' || substr(own, 2) END));
CREATE INDEX sentences_by_document ON sentences (document, sentence_index);
CREATE INDEX sentences_by_source ON sentences (source_key);
CREATE INDEX sentences_by_section ON sentences (section_key);
CREATE INDEX sentences_by_text ON sentences (text_key);
CREATE TABLE vectors (row INTEGER PRIMARY KEY, vector BLOB NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE staged (text_key INTEGER NOT NULL, text NOT NULL, vector BLOB NOT NULL);
CREATE INDEX staged_by_text ON staged (text_key);
"""
"""The tables. What the sentences of a document or of a section share is stored once, in ``sources`` and ``sections``; a
Document that isn't a sentence has all in its own row. ``names`` holds the keys of the names in ``sources``, and
``first_lines`` those of the names in the first sentences of documents. Vectors that a call made before it was
interrupted are staged. ``epoch`` has a page for itself, see `Snapshot.epochs`, for which ``others`` counts the
transactions that wrote no sentence."""

ONE_OF = "IN (SELECT value FROM json_each(?))"
"""A condition that takes any number of values as one parameter, a list in JSON."""

SECONDS_TO_WAIT = 60.0
"""How long a write waits for that of another process."""

RESTORE = "restore it from a backup with FaissStore.restore(), or index the documents again at another path"

_MAX_WRITES_LOGGED = 100_000
_MIN_REMOVALS_LOGGED = 10_000


class Version(NamedTuple):
    """A state of the database: one more with each write.

    Attributes:
        generation: The number of writes so far.
        token: A random number drawn for the write, by which databases with different histories are distinguished.
        last_row: The highest number of any row so far.
        sentences: The number of sentences.
    """

    generation: int = 0
    token: int = 0
    last_row: int = 0
    sentences: int = 0


class Changes(NamedTuple):
    """The changes between two states.

    Attributes:
        removed: The rows that were removed.
        last_row: The last row before the changes; all rows after it were added.
    """

    removed: Rows
    last_row: int


class Snapshot:
    """Reads one state of the database.

    Attributes:
        connection: The connection, in a transaction.
        execute: Runs a statement in this state.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Read through a connection in a transaction, so that all reads see one state."""
        self.connection, self.execute = connection, connection.execute
        self._version: Version | None = None

    @property  # no cached_property, in which Python 3.11 lets threads wait for each other
    def version(self) -> Version:
        """The state's version."""
        if self._version is None:
            found = self.execute(
                "SELECT generation, token, last_row, sentences FROM writes ORDER BY generation DESC LIMIT 1"
            ).fetchone()
            if found is None:
                raise damaged("a record of its writes")
            self._version = Version._make(found)
        return self._version

    def epochs(self) -> tuple[int, int]:
        """Return the epoch of the file, and that of its log, if it has one; another one if the log is of another file.

        No log holds the page of the first. Each log holds that of the second, the last write.
        """
        found: tuple[int, int] | None = self.execute(
            "SELECT epoch.epoch, writes.epoch FROM epoch, writes ORDER BY generation DESC LIMIT 1"
        ).fetchone()
        if found is None:
            raise damaged("a record of its writes")
        return found

    def fact(self, name: str, kind: type[T]) -> T | None:
        """Return a fact about the store; ``None`` if it isn't known.

        Args:
            name: Its name.
            kind: Its type, as JSON has it.

        Raises:
            StoreError: It can't be read.
        """
        found = self.execute("SELECT value FROM facts WHERE name = ?", [name]).fetchone()
        if found is None:
            return None
        with suppress(ValueError, TypeError):
            value = json.loads(found[0])
            if type(value) is kind:
                return value
        raise damaged(f"the fact {name!r} as it was written")

    def copy_to(self, target: sqlite3.Connection) -> None:
        """Copy all of the database into another one, in steps that Ctrl-C can interrupt.

        Raises:
            StoreError: Another process uses the other one for too long.
        """
        deadline = time.monotonic() + SECONDS_TO_WAIT

        def progress(status: int, *_: int) -> None:
            nonlocal deadline
            if status not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                deadline = time.monotonic() + SECONDS_TO_WAIT
            elif time.monotonic() > deadline:
                raise StoreError("another process is using the index; try again when that has ended")

        self.connection.backup(target, pages=1_000, progress=progress)

    def lists(self, sql: str, values: Iterable[Any]) -> list[list[Any]]:
        """Run a statement that returns one array in JSON, of lists, for any number of values that it takes as JSON.

        Python lets other threads run at each line that it takes from SQLite, and then waits for them. So what a query
        reads by the hundreds comes in one line.
        """
        (found,) = self.execute(sql, [json_list(values)]).fetchone()
        try:
            lists: list[list[Any]] = orjson.loads(found)
        except ValueError:
            raise damaged("metadata that can be read") from None
        return lists

    def changes_since(self, version: Version) -> Changes | None:
        """Return the changes since an earlier state; ``None`` if the log doesn't go back so far."""
        found = self.execute(
            "SELECT last_row FROM writes WHERE generation = ? AND token = ?", [version.generation, version.token]
        ).fetchone()
        if found is None:
            return None
        removed = self.execute("SELECT row FROM removed WHERE generation > ?", [version.generation])
        return Changes(np.fromiter((row for (row,) in removed), dtype=np.int64), found[0])

    def simplest(self, condition: Condition) -> Condition:
        """Return a condition that the same sentences meet, in the form that is fastest for all of them."""
        has_sources, has_others = self.execute(
            "SELECT EXISTS (SELECT 1 FROM sources), EXISTS (SELECT 1 FROM sentences WHERE source_key IS NULL)"
        ).fetchone()
        return for_all(condition, has_sources=bool(has_sources), has_others=bool(has_others))

    def rows(self, condition: Condition) -> Rows:
        """Return the rows that meet a condition, in order."""
        sql, parameters = self.simplest(condition)
        found = self.execute(f"SELECT row FROM sentences WHERE {sql}", parameters)
        return np.sort(np.fromiter((row for (row,) in found), dtype=np.int64))

    # Vectors

    def vectors_after(self, row: int, until: int, size: int) -> tuple[Rows, Vectors, Positions] | None:
        """Read some rows after one, up to another, that split no document's section; ``None`` if there are none.

        Args:
            row: The last row before them.
            until: The last row to read.
            size: About how many to read.

        Returns:
            The rows, their vectors as they were embedded, of shape ``(n, dimension)``, and their positions.

        Raises:
            StoreError: A vector isn't as it was written.
        """
        while True:
            part = self.execute(
                f"{_VECTORS} WHERE row > ? AND row <= ? ORDER BY row LIMIT ?", [row, until, size]
            ).fetchall()
            if not part:
                return None
            if len(part) < size:
                return _with_positions(part)
            section = part[-1][1:3]
            cut = next((at for at in range(len(part) - 1, 0, -1) if part[at - 1][1:3] != section), 0)
            if section[0] is None or cut:
                return _with_positions(part if section[0] is None else part[:cut])
            size *= 4

    def vectors_around(self, rows: Rows, reach: int) -> tuple[Rows, Vectors, Positions] | None:
        """Read rows and those that are at most so many before or after them, as `vectors_after` does."""
        around = np.unique(rows[:, None] + np.arange(-reach, reach + 1))
        part = self.execute(f"{_VECTORS} WHERE row {ONE_OF} ORDER BY row", [json_list(around.tolist())]).fetchall()
        return _with_positions(part) if part else None

    def vectors_of(self, rows: Iterable[int]) -> Vectors:
        """Read the vectors of rows as they were embedded, shape ``(n, dimension)``."""
        asked = list(rows)
        found = self.execute(f"SELECT row, vector FROM vectors WHERE row {ONE_OF}", [json_list(asked)])
        vectors: dict[int, bytes] = dict(found.fetchall())
        if len(vectors) < len(asked):
            raise damaged("vectors of its sentences")
        return from_halves(vectors[row] for row in asked)

    def sampled_vectors(self, size: int) -> Vectors:
        """Return about so many vectors, spread evenly over the rows."""
        return self.vectors_of(self._sampled_rows(size))

    def _sampled_rows(self, size: int) -> list[int]:
        _, _, last_row, sentences = self.version
        step = sentences // size + 1
        rows = list[tuple[int]]()
        if last_row <= 2 * sentences:
            sql = f"SELECT row FROM sentences WHERE row {ONE_OF} ORDER BY row"
            rows = self.execute(sql, [json_list(range(step, last_row + 1, step))]).fetchall()
        if 2 * len(rows) < min(size, sentences):  # most of these rows were removed, so all that exist are listed
            rows = self.execute("SELECT row FROM sentences ORDER BY row").fetchall()[step - 1 :: step]
        return [row for (row,) in rows]

    # Texts

    def known_vectors(self, texts: Sequence[str]) -> dict[str, bytes]:
        """Return the half-precision vectors of the texts that have one, for a sentence or staged."""
        asked = json_list(set(map(text_checksum, texts)))
        known: dict[str, bytes] = {}
        for sql in ("SELECT text, vector FROM staged", f"SELECT {EMBEDDED}, vector FROM {WITH_SECTIONS}"):
            found = self.execute(f"{sql} WHERE text_key {ONE_OF}", [asked])
            known |= {as_text(text): vector for text, vector in found}
        return {text: known[text] for text in texts if text in known}

    def has_staged(self) -> bool:
        """Return whether vectors of an interrupted or a running call are staged."""
        return self.execute("SELECT 1 FROM staged LIMIT 1").fetchone() is not None

    def sample_embedded(self, size: int) -> list[tuple[str, Vectors]]:
        """Return about ``size`` texts as they were embedded, with their vectors, spread evenly over the sentences.

        If there is no sentence yet, they are staged texts.
        """
        if self.version.sentences:
            rows = [json_list(self._sampled_rows(size))]
            sql = f"SELECT {EMBEDDED}, vector FROM {WITH_SECTIONS} WHERE row {ONE_OF}"
            found = self.execute(sql, rows).fetchall()
        else:
            found = self.execute("SELECT text, vector FROM staged LIMIT ?", [size]).fetchall()
        return [(as_text(text), from_halves([vector])[0]) for text, vector in dict.fromkeys(found)]


class Transaction(Snapshot):
    """Writes to the database."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Write through a connection in a transaction that excludes others."""
        super().__init__(connection)
        self._before, self._changes_before = self.version, connection.total_changes
        self._changed: set[int] = set()
        self.execute("CREATE TEMP TABLE IF NOT EXISTS leaving (row INTEGER PRIMARY KEY, document INTEGER)")

    @property
    def has_changed(self) -> bool:
        """Whether sentences were written."""
        return self.version != self._before

    @property
    def _generation(self) -> int:
        return self._before.generation + 1

    def set_fact(self, name: str, value: object) -> None:
        """Record a fact about the store."""
        self.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", [name, json.dumps(value)])

    def remove(self, condition: Condition, *, stage: Sequence[str] = ()) -> int:
        """Remove the sentences that meet a condition, and return their number.

        Args:
            condition: The condition.
            stage: Texts that will be written again, whose vectors are staged.
        """
        sql, parameters = self.simplest(condition)
        self.execute("DELETE FROM leaving")
        selected = f"SELECT row, document FROM sentences WHERE {sql}"
        count = self.execute(f"INSERT INTO leaving {selected}", parameters).rowcount
        if count:
            self.execute(
                "INSERT INTO removed SELECT NULL, row, ? FROM leaving WHERE row <= ?",
                [self._generation, self._before.last_row],
            )
            self._changed.update(
                document
                for (document,) in self.execute("SELECT DISTINCT document FROM leaving")
                if document is not None
            )
            if stage:
                self.execute(
                    f"INSERT INTO staged SELECT text_key, {EMBEDDED}, vector FROM {WITH_SECTIONS} "
                    f"WHERE row IN (SELECT row FROM leaving) AND text_key {ONE_OF}",
                    [json_list(set(map(text_checksum, stage)))],
                )
            for table in ("vectors", "first_lines", "sentences"):
                self.execute(f"DELETE FROM {table} WHERE row IN (SELECT row FROM leaving)")
            self.advance(removed=count)
        return count

    def documents_for(self, doc_ids: Iterable[str]) -> dict[str, int]:
        """Return the numbers of documents, which are written now; new ones get a number."""
        now = time.time_ns() // 1_000
        names = list(dict.fromkeys(doc_ids))
        self.connection.executemany(
            "INSERT INTO documents (doc_id, written) VALUES (?, ?) "
            "ON CONFLICT (doc_id) DO UPDATE SET written = excluded.written",
            [(name, now) for name in names],
        )
        found = self.execute(f"SELECT doc_id, document FROM documents WHERE doc_id {ONE_OF}", [json_list(names)])
        numbers: dict[str, int] = dict(found.fetchall())
        self._changed.update(numbers.values())
        return numbers

    def insert(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert rows into a table."""
        if rows:
            marks = ",".join("?" * len(rows[0]))
            self.connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)

    def unstage(self, text_keys: Sequence[int]) -> None:
        """Delete the vectors that were staged for some texts."""
        self.execute(f"DELETE FROM staged WHERE text_key {ONE_OF}", [json_list(text_keys)])

    def finish(self) -> None:
        """Log the write, if sentences were written, and clean up what none of them uses any more."""
        if not self.has_changed:
            if self.connection.total_changes != self._changes_before:  # each log must hold its epoch, see `epochs`
                self.execute("UPDATE writes SET others = others + 1 WHERE generation = ?", [self.version.generation])
            return
        if self._changed:
            changed = json_list(self._changed)
            self._keep_together(changed)
            for table, key in (("sources", "source_key"), ("sections", "section_key"), ("documents", "document")):
                unused = (
                    f"{table} WHERE document {ONE_OF} "
                    f"AND NOT EXISTS (SELECT 1 FROM sentences WHERE sentences.{key} = {table}.{key})"
                )
                if table == "sources":
                    self.execute(f"DELETE FROM names WHERE source_key IN (SELECT source_key FROM {unused})", [changed])
                self.execute(f"DELETE FROM {unused}", [changed])
        self.insert("writes", [(*self.version, self.epochs()[0], 0)])
        # What goes too far back for a cache to catch up is forgotten.
        too_old = self.execute(
            "SELECT generation FROM removed ORDER BY removal DESC LIMIT 1 OFFSET ?",
            [max(_MIN_REMOVALS_LOGGED, self.version.sentences)],
        ).fetchone()
        first = max(self.version.generation - _MAX_WRITES_LOGGED, too_old[0] if too_old else 0)
        self.execute("DELETE FROM removed WHERE generation <= ?", [first])
        self.execute("DELETE FROM writes WHERE generation < ?", [first])

    def _keep_together(self, changed: str) -> None:
        """Give all sentences of documents of which only a part was written new rows, in their order."""
        before = self._before.last_row
        rows = self.execute(
            "SELECT row FROM sentences WHERE document IN "
            f"(SELECT document FROM sentences WHERE document {ONE_OF} AND row <= ?) "
            "ORDER BY document, sentence_index, row",
            [changed, before],
        ).fetchall()
        moves = [(new, row) for new, (row,) in enumerate(rows, self.version.last_row + 1)]
        self.insert("removed", [(None, row, self._generation) for _, row in moves if row <= before])
        for table in ("sentences", "vectors", "first_lines"):
            self.connection.executemany(f"UPDATE {table} SET row = ? WHERE row = ?", moves)
        self.advance(moved=len(moves))

    def advance(self, *, removed: int = 0, added: int = 0, moved: int = 0) -> None:
        """Count sentences that were removed, added after the last row, or moved there."""
        _, token, last_row, sentences = self.version
        token = secrets.randbits(62) if token == self._before.token else token
        self._version = Version(self._generation, token, last_row + added + moved, sentences + added - removed)


def make_tables(connection: sqlite3.Connection) -> None:
    """Create the tables of an empty database, in a transaction, unless another process has."""
    if not connection.execute("SELECT 1 FROM sqlite_schema").fetchone():
        for statement in SCHEMA.split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
        epoch = secrets.randbits(62)
        connection.execute("INSERT INTO facts VALUES ('birth', ?)", [secrets.randbits(62)])
        connection.execute("INSERT INTO epoch VALUES (?)", [epoch])
        connection.execute("INSERT INTO writes VALUES (?, ?, ?, ?, ?, 0)", [*Version(), epoch])


# Values


def json_list(values: Iterable[Any]) -> str:
    """Return values as a list in JSON."""
    return json.dumps(list(values))


def as_text(stored: str | bytes) -> str:
    """Return a text as it was given; one with lone surrogates, which no encoding holds, is stored as bytes."""
    return stored if isinstance(stored, str) else stored.decode("utf-8", "surrogatepass")


def stored_text(text: str) -> str | bytes:
    """Return a text as it is stored; see `as_text`."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def text_checksum(text: str) -> int:
    """Return a checksum of a text, by which it is found."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def to_halves(vectors: Vectors) -> list[bytes]:
    """Convert vectors of shape ``(n, dimension)`` to bytes for the database: half precision, little endian."""
    halves = vectors.astype("<f2")
    size, buffer = halves.shape[1] * 2, halves.tobytes()
    return [buffer[start : start + size] for start in range(0, len(buffer), size)]


def from_halves(stored: Iterable[bytes]) -> Vectors:
    """Convert vectors of half precision to an array of shape ``(n, dimension)``."""
    parts = list(stored)
    joined = np.frombuffer(b"".join(parts), dtype="<f2").astype(np.float32)
    return joined.reshape(len(parts), len(joined) // max(1, len(parts)))


_VECTORS = (
    "SELECT row, document, section, sentence_index, vector, text_key, vectors.checksum "
    "FROM vectors JOIN sentences USING (row)"
)


def _with_positions(part: Sequence[tuple[Any, ...]]) -> tuple[Rows, Vectors, Positions]:
    numbers = np.array(
        [
            (row, NOWHERE if document is None or index is None else document, section, index or 0)
            for row, document, section, index, *_ in part
        ],
        dtype=np.int64,
    )
    for *_, vector, key, checksum in part:
        if zlib.crc32(vector, key) != checksum:
            raise damaged("vectors as they were written")
    return numbers[:, 0], from_halves(each[4] for each in part), Positions(numbers[:, 1], numbers[:, 2], numbers[:, 3])


WITH_SECTIONS = "sentences JOIN vectors USING (row) LEFT JOIN sections USING (section_key)"
EMBEDDED = "CAST(ifnull(sections.context, '') || sentences.text AS BLOB)"
"""A sentence's text as it was embedded, after the context that its section has for it."""


def damaged(what: str) -> StoreError:
    """Return the error that the database lacks something."""
    return StoreError(f"the database lacks {what}, so it is damaged; {RESTORE}")
