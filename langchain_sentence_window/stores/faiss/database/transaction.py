"""Writes to the tables, in one transaction that takes effect completely or not at all."""

import json
import sqlite3
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import count
from operator import itemgetter
from typing import Any

from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.stores.faiss.database.conditions import Condition
from langchain_sentence_window.stores.faiss.database.listing import match_documents
from langchain_sentence_window.stores.faiss.database.rows import sentence_rows, shared_rows
from langchain_sentence_window.stores.faiss.database.schema import (
    CHECKSUMS,
    IS_ONE_OF,
    REMOVAL_CHECKSUM,
    Record,
    State,
    checksum_of,
    digest_of,
    stored_text,
    with_ids,
)
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot

MIN_LOGGED = 20_000
"""The least number of writes and removals that the log holds; a cache that is further behind is rebuilt."""

_HAS_NO_SENTENCES = "NOT EXISTS (SELECT 1 FROM sentences WHERE sentences.document = documents.document)"


class Transaction(Snapshot):
    """Reads the database and writes to it."""

    def __init__(self, connection: sqlite3.Connection, token: int) -> None:
        """Write through a connection in a transaction, with a random number drawn for it."""
        super().__init__(connection)
        self._token = token
        self._time = time.time_ns() // 1_000
        self._left: tuple[set[int], set[int]] = set(), set()
        self._before: State | None = None
        self._after: State | None = None

    def begin(self) -> None:
        """Write the first facts of a new database."""
        self._after = State(0, self._token, 0, 0, 0, 0)
        self._log()

    def set_fact(self, name: str, value: object) -> None:
        """Write a fact about the store; the value goes through JSON."""
        text = json.dumps(value)
        self._execute("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", [name, text, checksum_of(name, text)])

    def remove(self, condition: Condition) -> None:
        """Remove the sentences that meet a condition.

        They stay without an id until the transaction ends, so that their vectors can be used again.
        """
        sql, parameters = self._simplest(condition)
        state = self._begun()
        removed = self._execute(
            "INSERT INTO removals (row, document, checksum) "  # noqa: S608
            f"SELECT row, document, 0 FROM sentences WHERE ({sql}) AND id IS NOT NULL",
            parameters,
        ).rowcount
        if removed:
            new = "removal > ?", [state.last_removal]
            self._execute(f"UPDATE removals SET checksum = {REMOVAL_CHECKSUM} WHERE {new[0]}", new[1])  # noqa: S608
            rows = f"row IN (SELECT row FROM removals WHERE {new[0]})"  # noqa: S608
            self._leave_shared(rows, new[1])
            self._execute(f"UPDATE sentences SET id_high = NULL, id_low = NULL, id_text = NULL WHERE {rows}", new[1])  # noqa: S608
            self._count(
                self._sum("removals", *new),
                sentences=state.sentences - removed,
                last_removal=state.last_removal + removed,
            )

    def _leave_shared(self, rows: str, parameters: Sequence[Any]) -> None:
        """Count the sentences that are removed out of the sources and sections that they share."""
        for table, key, left in (("sources", "source_key", self._left[0]), ("sections", "section_key", self._left[1])):
            leaving = self._execute(
                f"SELECT count(*), {key} FROM sentences WHERE {rows} AND {key} IS NOT NULL GROUP BY {key}",  # noqa: S608
                parameters,
            ).fetchall()
            left.update(shared for _, shared in leaving)
            self._connection.executemany(f"UPDATE {table} SET sentences = sentences - ? WHERE {key} = ?", leaving)  # noqa: S608

    def remove_documents(self, condition: Condition) -> list[str]:
        """Remove the documents of which a condition matches sentences, and return their names.

        Raises:
            InvalidInputError: It matches only a part of a document; nothing was removed.
        """
        matched = match_documents(self._connection, self._simplest(condition))
        if matched.partly is not None:
            raise InvalidInputError(
                f"the filter lets through only a part of document {matched.partly!r:.80}; give one that matches all of "
                "it, or delete it by its id with a retriever that has no filter. Nothing was deleted."
            )
        if matched.documents:
            self.remove(matched.condition)
        return matched.doc_ids

    def add(self, records: Sequence[Record], vectors: Sequence[bytes]) -> None:
        """Add sentences with their half-precision vectors, and remove those with the same ids."""
        if self._begun().sentences:
            self.remove(with_ids([record.id for record in records]))
        first = self._begun().last_row + 1
        documents = self._documents({record.doc_id for record in records if record.doc_id is not None})
        shared = shared_rows(records, first, documents, self._known_sources(records, documents))
        self._insert("sources", shared.sources)
        self._insert("sections", shared.sections)
        self._connection.executemany(
            "UPDATE sources SET sentences = sentences + ? WHERE source_key = ?", shared.joining
        )
        self._insert("sentences", sentence_rows(first, records, documents, shared), checksums=2)
        self._insert(
            "vectors",
            [(row, vector, zlib.crc32(vector, row & 0xFFFFFFFF)) for row, vector in enumerate(vectors, first)],
        )
        state = self._begun()
        self._count(0, sentences=state.sentences + len(records), last_row=state.last_row + len(records))

    def stage_vectors(self, vectors: Iterable[tuple[str, bytes]]) -> None:
        """Keep half-precision vectors of texts that will be written later."""
        (row,) = self._execute("SELECT ifnull(max(row), 0) FROM staged").fetchone()
        stored = ((stored_text(text), vector) for text, vector in vectors)
        self._connection.executemany(
            "INSERT INTO staged VALUES (?, ?, ?, ?, ?)",
            (
                (number, text, vector, zlib.crc32(text), zlib.crc32(vector, number))
                for number, (text, vector) in enumerate(stored, row + 1)
            ),
        )

    def forget_staged(self, texts: Iterable[str]) -> None:
        """Drop the staged vectors of texts that are written now."""
        if self._execute("SELECT 1 FROM staged").fetchone():
            self._connection.executemany(
                "DELETE FROM staged WHERE text_checksum = ? AND text = ?",
                ((zlib.crc32(stored), stored) for stored in map(stored_text, texts)),
            )

    def discard_staged(self) -> int:
        """Drop all staged vectors and return their number."""
        return self._execute("DELETE FROM staged").rowcount

    def finish(self) -> None:
        """Drop removed sentences, count the write and log it, if anything was written."""
        before, after = self._before, self._after
        if before is None or after is None or before == after:
            return
        if after.last_removal > before.last_removal:
            self._drop_removed(before.last_removal)
        self._count(0, generation=before.generation + 1, token=self._token)
        self._log()

    @property
    def generation(self) -> int | None:
        """The number of this write; ``None`` while it has changed no sentence."""
        return None if self._after is None or self._after == self._before else self._after.generation

    def _begun(self) -> State:
        if self._after is None:
            self._before = self._after = self.state
        return self._after

    def _drop_removed(self, last_removal: int) -> None:
        """Drop the sentences removed after a removal, and documents, sources and sections without sentences."""
        removed = "IN (SELECT {} FROM removals WHERE removal > ?)"
        since = [last_removal]
        for table in ("vectors", "sentences"):
            self._drop(table, f"row {removed.format('row')}", since)
        self._drop("documents", f"document {removed.format('document')} AND {_HAS_NO_SENTENCES}", since)
        for table, key, left in (("sources", "source_key", self._left[0]), ("sections", "section_key", self._left[1])):
            self._drop(table, f"{IS_ONE_OF.format(key)} AND sentences = 0", [json.dumps(list(left))])

    def _log(self) -> None:
        """Write the log entry and the new state of the database."""
        state = self._begun()
        written = state.generation, state.token, state.last_row, state.last_removal
        self._insert("writes", [(*written, checksum_of(*written))])
        self._shorten_log()
        self.set_fact("state", asdict(self._begun()))

    def _shorten_log(self) -> None:
        state = self._begun()
        oldest, removals = self._execute("SELECT generation, last_removal FROM writes LIMIT 1").fetchone()
        too_many = state.last_removal - removals > 2 * max(MIN_LOGGED, state.sentences)
        if too_many or state.generation - oldest > 2 * MIN_LOGGED:
            self._drop("writes", "generation < ?", [(oldest + state.generation) // 2])
            self._drop(
                "removals",
                "removal <= (SELECT last_removal FROM writes ORDER BY generation LIMIT 1) AND removal < ?",
                [state.last_removal],
            )

    def _documents(self, doc_ids: set[str]) -> dict[str, int]:
        """Return the numbers of source documents, which are written now; new ones get a number."""
        known = IS_ONE_OF.format("doc_id"), [json.dumps(list(doc_ids))]
        numbers: dict[str, int] = dict(
            self._execute(f"SELECT doc_id, document FROM documents WHERE {known[0]}", known[1]).fetchall()  # noqa: S608
        )
        if numbers:
            self._drop("documents", *known)
        if len(numbers) < len(doc_ids):
            (last,) = self._execute("SELECT ifnull(max(document), 0) FROM documents").fetchone()
            last = max(last, *numbers.values(), 0)
            numbers |= zip(sorted(doc_ids - numbers.keys()), count(last + 1))
        self._insert(
            "documents",
            [(number, id_, self._time, checksum_of(number, id_, self._time)) for id_, number in numbers.items()],
        )
        return numbers

    def _known_sources(self, records: Iterable[Record], documents: Mapping[str, int]) -> dict[tuple[int, str], int]:
        """Return the keys of the sources that exist already, by document and metadata."""
        metadatas = {
            (documents[record.doc_id], record.source_metadata)
            for record in records
            if record.doc_id is not None and record.source_metadata
        }
        asked = [[document, zlib.crc32(metadata.encode())] for document, metadata in metadatas]
        found = self._execute(
            """
            SELECT sources.document, metadata, source_key
            FROM json_each(?) AS asked CROSS JOIN sources ON sources.document = json_extract(asked.value, '$[0]')
                AND metadata_checksum = json_extract(asked.value, '$[1]')
            WHERE sources.sentences > 0
            """,
            [json.dumps(asked)],
        )
        return {(document, metadata): key for document, metadata, key in found if (document, metadata) in metadatas}

    # Statements that update the digest

    def _insert(self, table: str, rows: Sequence[tuple[Any, ...]], checksums: int = 1) -> None:
        """Insert rows, which end with their checksums."""
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            self._connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608
            self._count(sum(sum(map(itemgetter(-at), rows)) for at in range(1, checksums + 1)))

    def _drop(self, table: str, condition: str, parameters: Sequence[Any]) -> None:
        self._count(-self._sum(table, condition, parameters))
        self._execute(f"DELETE FROM {table} WHERE {condition}", parameters)  # noqa: S608

    def _sum(self, table: str, condition: str, parameters: Sequence[Any]) -> int:
        sql = f"SELECT ifnull(sum({CHECKSUMS[table]}), 0) FROM {table} WHERE {condition}"  # noqa: S608
        return int(self._execute(sql, parameters).fetchone()[0])

    def _count(self, checksums: int, **changed: int) -> None:
        """Change the state: add checksums to its digest, and set other fields."""
        state = self._begun()
        self._after = replace(state, digest=digest_of(state.digest, checksums), **changed)
