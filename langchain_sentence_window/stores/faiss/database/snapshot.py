"""Reads of one state of the database."""

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from langchain_sentence_window._primitives import Rows, Vectors
from langchain_sentence_window.errors import StoreError

from .conditions import Condition, for_few, of_sentences_alone
from .database_file import Head
from .filters import having_key
from .reads import BATCH_SIZE, damaged, filled, vectors_in_order
from .schema import IS_ONE_OF, TEXT, Changes, Record, State, Version, checksum_of, find_damage, from_halves, with_ids

BIRTH = "birth"
"""The name of the fact by which a copy counts as another database."""

_BATCH_SIZE = 10_000
_LAST_ROW = 2**63 - 1
_IN_SECTION = "sentences LEFT JOIN sections USING (section_key)"
# In one statement, which sees one state; the metadata of a source document comes once for all of its sentences.
_RECORDS = """
    WITH found (row, source_key) AS (SELECT row, source_key FROM sentences WHERE {})
    SELECT NULL, source_key, NULL, metadata, NULL, NULL, NULL, NULL, NULL, NULL FROM sources
        WHERE source_key IN (SELECT source_key FROM found)
    UNION ALL
    SELECT found.row, id, text, own, found.source_key, section_key, sections.metadata, sentence_index, start_index,
        end_index
        FROM found CROSS JOIN sentences ON sentences.row = found.row LEFT JOIN sections USING (section_key)
"""
_EMBEDDED = "CAST(ifnull(sections.context, x'') || sentences.context || text AS BLOB)"
_OF_SENTENCES = f"{_EMBEDDED}, vector FROM {_IN_SECTION} JOIN vectors USING (row) WHERE id IS NOT NULL"
_STAGED = "text, vector FROM staged WHERE 1"
_LATEST = "FROM writes ORDER BY generation DESC LIMIT 1"
_IS_LATEST = f"(SELECT (generation, token) = (?, ?) {_LATEST})"


class Snapshot:
    """Reads one state of the database.

    Attributes:
        execute: Runs a statement in this state; what `reads` reads with.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Read through a connection in a transaction, so that all reads see one state."""
        self._connection = connection
        self.execute = connection.execute
        self._state: State | None = None
        self._version: Version | None = None

    # The store as a whole

    def fact(self, name: str) -> Any:
        """Return a fact about the store; ``None`` if it isn't known.

        Raises:
            StoreError: The fact is damaged.
        """
        found = self.execute("SELECT value, checksum FROM facts WHERE name = ?", [name]).fetchone()
        if found is None:
            return None
        if checksum_of(name, found[0]) != found[1]:
            raise StoreError(f"the database is damaged where it keeps {name!r}; restore it from a backup")
        return json.loads(found[0])

    @property
    def state(self) -> State:
        """The state of the database; in a transaction, with what it has changed so far."""
        if self._state is None:
            try:
                self._state = State(**self.fact("state"))
            except TypeError as error:
                raise StoreError("the database is damaged where it keeps 'state'; restore it from a backup") from error
        return self._state

    @property
    def version(self) -> Version:
        """The latest write; part of `state` too, but faster to read, as every search does."""
        if self._version is None:
            generation, token = self.execute(f"SELECT generation, token {_LATEST}").fetchone()
            self._version = generation, token
        return self._version

    @property
    def head(self) -> Head:
        """The birth number of the database, and its last write."""
        birth = self.fact(BIRTH)
        return Head(birth if isinstance(birth, int) and 0 <= birth < 2**62 else 0, self.state.generation)

    def count_documents(self) -> int:
        """Return the number of source documents."""
        return int(self.execute("SELECT count(*) FROM documents").fetchone()[0])

    def count_staged(self) -> int:
        """Return the number of staged texts."""
        return int(self.execute("SELECT count(*) FROM staged").fetchone()[0])

    def schema(self) -> list[str]:
        """Return the statements that created the tables."""
        return [sql for (sql,) in self.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")]

    def copy_to(self, target: sqlite3.Connection, pages_at_once: int) -> None:
        """Copy the whole database into another one, in steps that Ctrl-C can interrupt."""
        self._connection.backup(target, pages=pages_at_once, progress=lambda *_: None)

    def find_damage(self) -> str | None:
        """Read everything and describe the first damage found; return ``None`` if there is none."""
        return find_damage(self._connection, lambda: self.state)

    def unknown_keys(self, keys: Iterable[str]) -> list[str]:
        """Return the keys that no Document has in its metadata."""
        return [key for key in keys if not any(self._holds(*asked) for asked in having_key(key))]

    def _holds(self, sql: str, parameters: Sequence[Any]) -> bool:
        return self.execute(f"SELECT 1 FROM {sql} LIMIT 1", parameters).fetchone() is not None  # noqa: S608

    # Sentences

    def rows(self, condition: Condition) -> Rows:
        """Return the rows that meet a condition, in any order."""
        sql, parameters = condition
        found = self.execute(f"SELECT row FROM sentences WHERE {sql}", parameters)  # noqa: S608
        return np.fromiter(chain.from_iterable(found), dtype=np.int64)

    def simplest(self, condition: Condition) -> Condition:
        """Return a condition that is met by the same sentences, and reads no more tables than it needs to."""
        has_sources = self.execute("SELECT 1 FROM sources LIMIT 1").fetchone()
        return condition if has_sources else of_sentences_alone(condition)

    def by_rows(self, rows: Sequence[int], latest: Version | None = None) -> dict[int, Record]:
        """Fetch records by row; rows that don't exist are left out, and all if ``latest`` isn't the latest write."""
        condition, version = ("1", ()) if latest is None else (_IS_LATEST, latest)
        records: dict[int, Record] = {}
        for start in range(0, len(rows), BATCH_SIZE):
            part = rows[start : start + BATCH_SIZE]
            marks, parameters = filled(part)
            records |= self._records(f"row IN ({marks}) AND {condition}", [*parameters, *version])
        return records

    def by_ids(self, ids: Sequence[str], where: Condition = ("1", [])) -> dict[str, Record]:
        """Fetch the records with some ids that meet a condition; other ids are left out."""
        (sql, parameters), (holds, values) = with_ids(ids), for_few(where)
        found = self._records(f"{sql} AND ({holds})", [*parameters, *values])
        return {record.id: record for record in found.values()}

    def _records(self, where: str, parameters: Sequence[Any]) -> dict[int, Record]:
        """Fetch the records that meet a condition, by row."""
        sources: dict[int | None, str] = {None: ""}
        sections: dict[int | None, str | None] = {None: ""}
        records: dict[int, Record] = {}
        for row, id_, text, own, source_key, section_key, section, index, start, end in self.execute(
            _RECORDS.format(where), parameters
        ):
            if row is None:
                sources[id_] = own
                continue
            # Records of one section hold the same string, not copies of it.
            of_source, of_section = sources.get(source_key), sections.setdefault(section_key, section)
            if of_source is None or of_section is None:
                raise damaged("metadata that its sentences share")
            # Faster than Record(...).
            metadata = own or ""
            if own and start is not None:  # a row has it without its beginning
                metadata = f"{{{own[1:]}"
            fields = id_, text.decode(*TEXT), metadata, of_source, of_section, None, index, 0, "", start, end
            records[row] = Record._make(fields)
        return records

    def sample_embedded(self, size: int) -> list[tuple[str, Vectors]]:
        """Return up to ``size`` texts as they were embedded, with their vectors, spread evenly over the sentences.

        If there is no sentence yet, they are staged texts.
        """
        return self._spread("sentences", _OF_SENTENCES, size) or self._spread("staged", _STAGED, size)

    def _spread(self, table: str, select: str, size: int) -> list[tuple[str, Vectors]]:
        first, last = self.execute(f"SELECT min(row), max(row) FROM {table}").fetchone()  # noqa: S608
        if first is None:
            return []
        starts = {first + (last - first + 1) * part // size for part in range(size)}
        found = [
            self.execute(f"SELECT row, {select} AND row >= ? ORDER BY row LIMIT 1", [start]).fetchone()
            for start in sorted(starts)
        ]
        by_row = {row: (text.decode(*TEXT), from_halves(vector)) for row, text, vector in filter(None, found)}
        return list(by_row.values())

    def texts_after(self, row: int) -> Iterator[tuple[int, str, str]]:
        """Yield ``(row, text, metadata of its section as JSON)`` of all rows after one; empty without a section."""
        for number, text, section in self.execute(
            f"SELECT row, text, ifnull(sections.metadata, '') FROM {_IN_SECTION} WHERE row > ? ORDER BY row",  # noqa: S608
            [row],
        ):
            yield number, text.decode(*TEXT), section

    def records_in_order(self) -> Iterator[list[Record]]:
        """Yield all records by document and index, in slices that split no section."""
        for rows, _, _ in vectors_in_order(self.execute, ("1", [])):
            records = self.by_rows(rows.tolist())
            yield [records[row] for row in rows.tolist()]

    # Vectors

    def known_vectors(self, texts: Iterable[str]) -> dict[str, bytes]:
        """Return the half-precision vectors of the texts that have one, for a sentence or staged."""
        wanted = {text.encode(*TEXT): text for text in texts}
        known: dict[str, bytes] = {}
        checksums = json.dumps([zlib.crc32(text) for text in wanted])
        for sql in (
            "SELECT text, vector FROM staged",
            f"SELECT {_EMBEDDED}, vector FROM {_IN_SECTION} JOIN vectors USING (row)",  # noqa: S608
        ):
            found = self.execute(f"{sql} WHERE {IS_ONE_OF.format('text_checksum')}", [checksums])
            known |= {wanted[text]: vector for text, vector in found if text in wanted}
        return known

    def vectors_of(self, rows: Sequence[int]) -> dict[int, Vectors]:
        """Return the vectors of rows as they were embedded; rows that don't exist are left out."""
        sql = f"SELECT row, vector FROM vectors WHERE {IS_ONE_OF.format('row')}"  # noqa: S608
        return {row: from_halves(vector) for row, vector in self.execute(sql, [json.dumps(list(rows))])}

    def sample_vectors(self, size: int) -> Vectors:
        """Return about ``size`` vectors, spread evenly over the database."""
        state = self.state
        step = state.sentences // size + 1
        rows = json.dumps([*range(step, state.last_row + 1, step)])  # not "row % step = 0", which reads all vectors
        found = self.execute(f"SELECT vector FROM vectors WHERE {IS_ONE_OF.format('row')}", [rows]).fetchall()  # noqa: S608
        if not found:
            found = self.execute("SELECT vector FROM vectors LIMIT ?", [size]).fetchall()
        joined = from_halves(b"".join(chain.from_iterable(found)))
        return joined.reshape(len(found), len(joined) // max(1, len(found)))

    def vectors_after(
        self, row: int, until: int = _LAST_ROW, *, of_no_document: bool = False
    ) -> Iterator[tuple[Rows, Vectors]]:
        """Yield ``(rows, vectors)`` of all rows after one, up to another, or of those of no document, in slices."""
        table = "vectors WHERE"
        if of_no_document:
            table = "sentences NOT INDEXED JOIN vectors USING (row) WHERE document IS NULL AND"
        sql = f"SELECT row, vector FROM {table} row > ? AND row <= ? ORDER BY row"  # noqa: S608
        cursor = self.execute(sql, [row, until])
        while part := cursor.fetchmany(_BATCH_SIZE):
            rows = np.fromiter((row for row, _ in part), dtype=np.int64, count=len(part))
            yield rows, from_halves(b"".join(vector for _, vector in part)).reshape(len(part), -1)

    def documents_after(self, row: int, until: int, limit: int) -> tuple[int, set[int]]:
        """Look at up to ``limit`` rows after one, up to another.

        Returns:
            The last row that was looked at, or ``until`` if there is none after it, and the documents of all.
        """
        found = self.execute(
            "SELECT row, document FROM sentences WHERE row > ? AND row <= ? ORDER BY row LIMIT ?", [row, until, limit]
        ).fetchall()
        last = found[-1][0] if len(found) == limit else until
        return last, {document for _, document in found if document is not None}

    def last_rows(self, documents: Sequence[int], after: int, until: int) -> dict[int, int]:
        """Return the last row of each document that has one after a row, up to another."""
        numbers = ",".join(map(str, documents))
        return dict(
            self.execute(
                f"SELECT document, max(row) FROM sentences WHERE document IN ({numbers}) "  # noqa: S608
                "AND row > ? AND row <= ? GROUP BY document",
                [after, until],
            )
        )

    # Changes

    def changes_since(self, generation: int, token: int) -> Changes | None:
        """Return the changes since a write; ``None`` if the log doesn't contain that write."""
        found = self.execute(
            "SELECT last_row, last_removal FROM writes WHERE generation = ? AND token = ?", [generation, token]
        ).fetchone()
        if found is None:
            return None
        last_row, last_removal = found
        removals = self.execute("SELECT row, document FROM removals WHERE removal > ?", [last_removal]).fetchall()
        added = self.execute(
            "SELECT DISTINCT document FROM sentences NOT INDEXED WHERE row > ? AND document IS NOT NULL", [last_row]
        )
        documents = {document for _, document in removals if document is not None} | set(chain.from_iterable(added))
        return Changes(np.array([row for row, _ in removals], dtype=np.int64), documents, last_row)
