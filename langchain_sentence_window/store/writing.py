"""What a write does to the tables, in one transaction that is done whole or not at all."""

import json
import sqlite3
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

from langchain_sentence_window.store.filters import Condition
from langchain_sentence_window.store.reading import Snapshot
from langchain_sentence_window.store.tables import (
    IS_ONE_OF,
    REMOVAL_CHECKSUM,
    Record,
    State,
    checksum_of,
    stored_text,
    with_ids,
)

FEWEST_LOGGED = 20_000
"""Writes and removals that the log holds at least; a cache that is further behind is built anew."""


class Transaction(Snapshot):
    """Reads the database and writes to it; all or nothing of what it writes stays."""

    def __init__(self, connection: sqlite3.Connection, token: int) -> None:
        """Write through a connection that is in a transaction, under a number drawn for it."""
        super().__init__(connection)
        self._token = token
        self._before: State | None = None
        self._after: State | None = None

    def begin(self) -> None:
        """Write the first facts of a new database."""
        self._write_state(State(0, self._token, 0, 0, 0))

    def set_fact(self, name: str, value: object) -> None:
        """Write a fact about the store; the value goes through JSON."""
        text = json.dumps(value)
        self._execute("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", [name, text, checksum_of(name, text)])

    def remove(self, condition: Condition) -> None:
        """Remove the sentences for which a condition holds.

        Until the transaction ends they stay without an id, so that their vectors can be used again.
        """
        sql, parameters = condition
        state = self._begun()
        removed = self._execute(
            "INSERT INTO removals (row, document, checksum) "  # noqa: S608
            f"SELECT row, document, {REMOVAL_CHECKSUM} FROM sentences WHERE ({sql}) AND id IS NOT NULL",
            parameters,
        )
        if removed.rowcount:
            self._execute(
                "UPDATE sentences SET id = NULL WHERE row IN (SELECT row FROM removals WHERE removal > ?)",
                [state.last_removal],
            )
            self._after = replace(
                state,
                sentences=state.sentences - removed.rowcount,
                last_removal=state.last_removal + removed.rowcount,
            )

    def add(self, records: Sequence[Record], vectors: Sequence[bytes]) -> None:
        """Add sentences with their half-precision vectors, in the place of those with the same ids."""
        self.remove(with_ids([record.id for record in records]))
        state = self._begun()
        first = state.last_row + 1
        documents = self._documents({record.doc_id for record in records if record.doc_id is not None})
        self._connection.executemany(
            "INSERT INTO sentences VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (_fields(row, record, documents) for row, record in enumerate(records, first)),
        )
        self._connection.executemany(
            "INSERT INTO vectors VALUES (?, ?, ?)",
            ((row, vector, zlib.crc32(vector, row & 0xFFFFFFFF)) for row, vector in enumerate(vectors, first)),
        )
        self._after = replace(state, sentences=state.sentences + len(records), last_row=state.last_row + len(records))

    def keep_ahead(self, vectors: Iterable[tuple[str, bytes]]) -> None:
        """Keep half-precision vectors of texts whose sentences aren't there yet."""
        (row,) = self._execute("SELECT ifnull(max(row), 0) FROM embedded").fetchone()
        stored = ((stored_text(text), vector) for text, vector in vectors)
        self._connection.executemany(
            "INSERT INTO embedded VALUES (?, ?, ?, ?, ?)",
            (
                (number, text, vector, zlib.crc32(text), zlib.crc32(vector, number))
                for number, (text, vector) in enumerate(stored, row + 1)
            ),
        )

    def forget_ahead(self, texts: Iterable[str]) -> None:
        """Drop what `keep_ahead` kept of texts whose sentences are there now."""
        if self._execute("SELECT 1 FROM embedded").fetchone():
            self._connection.executemany(
                "DELETE FROM embedded WHERE text_checksum = ? AND text = ?",
                ((zlib.crc32(stored), stored) for stored in map(stored_text, texts)),
            )

    def discard_ahead(self) -> int:
        """Drop all that `keep_ahead` kept; return how many texts that were."""
        return self._execute("DELETE FROM embedded").rowcount

    def finish(self) -> None:
        """Drop what was removed, count the write and note it in the log, if anything was written."""
        before, after = self._before, self._after
        if before is None or after is None or before == after:
            return
        if after.last_removal > before.last_removal:
            for table in ("vectors", "sentences"):
                self._execute(
                    f"DELETE FROM {table} WHERE row IN (SELECT row FROM removals WHERE removal > ?)",  # noqa: S608
                    [before.last_removal],
                )
            self._execute(
                "DELETE FROM documents WHERE document IN (SELECT document FROM removals WHERE removal > ?) "
                "AND NOT EXISTS (SELECT 1 FROM sentences WHERE sentences.document = documents.document)",
                [before.last_removal],
            )
        self._write_state(replace(after, generation=before.generation + 1, token=self._token))
        self._shorten_log()

    @property
    def generation(self) -> int | None:
        """The number of this write; ``None`` as long as it changed no sentence."""
        return None if self._after is None or self._after == self._before else self._after.generation

    def _begun(self) -> State:
        if self._after is None:
            self._before = self._after = self.state
        return self._after

    def _write_state(self, state: State) -> None:
        self.set_fact("state", asdict(state))
        written = state.generation, state.token, state.last_row, state.last_removal
        self._execute(
            "INSERT INTO writes VALUES (?, ?, ?, ?, ?)",
            [*written, checksum_of(*written)],
        )
        self._after = state

    def _shorten_log(self) -> None:
        state = self._begun()
        oldest, removals = self._execute("SELECT generation, last_removal FROM writes LIMIT 1").fetchone()
        too_many = state.last_removal - removals > 2 * max(FEWEST_LOGGED, state.sentences)
        if too_many or state.generation - oldest > 2 * FEWEST_LOGGED:
            self._execute("DELETE FROM writes WHERE generation < ?", [(oldest + state.generation) // 2])
            self._execute(
                "DELETE FROM removals WHERE removal <= (SELECT last_removal FROM writes ORDER BY generation LIMIT 1)"
                " AND removal < ?",
                [state.last_removal],
            )

    def _documents(self, doc_ids: set[str]) -> dict[str, int]:
        self._connection.executemany(
            "INSERT OR IGNORE INTO documents (doc_id) VALUES (?)", ((doc_id,) for doc_id in sorted(doc_ids))
        )
        sql = f"SELECT doc_id, document FROM documents WHERE {IS_ONE_OF.format('doc_id')}"  # noqa: S608
        return dict(self._execute(sql, [json.dumps(list(doc_ids))]).fetchall())


def _fields(row: int, record: Record, documents: dict[str, int]) -> tuple[Any, ...]:
    document = None if record.doc_id is None else documents[record.doc_id]
    text, context = stored_text(record.text), stored_text(record.context)
    checksum = checksum_of(row, record.id, document, record.place, record.section, record.metadata)
    return (
        row,
        record.id,
        document,
        record.place,
        record.section,
        text,
        context,
        record.metadata,
        zlib.crc32(text, zlib.crc32(context)),
        checksum,
    )
