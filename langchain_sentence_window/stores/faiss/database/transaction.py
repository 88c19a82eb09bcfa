"""Writes to the tables, in one transaction that takes effect completely or not at all."""

import json
import secrets
import sqlite3
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import count
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from langchain_sentence_window.documents.keys import END_INDEX, SENTENCE_INDEX, START_INDEX
from langchain_sentence_window.errors import InvalidInputError

from . import schema
from .conditions import Condition
from .snapshot import BIRTH, Snapshot

MIN_LOGGED = 20_000
"""The least number of writes and removals that the log holds; a cache that is further behind is rebuilt."""

_HAS_NO_SENTENCES = "NOT EXISTS (SELECT 1 FROM sentences WHERE sentences.document = documents.document)"


class Transaction(Snapshot):
    """Reads the database and writes to it."""

    def __init__(self, connection: sqlite3.Connection, token: int | None = None) -> None:
        """Write through a connection in a transaction, with a random number for it, which is drawn if none is given."""
        super().__init__(connection)
        self._token = secrets.randbits(62) if token is None else token
        self._time = time.time_ns() // 1_000
        self._left: dict[str, set[int]] = {"source": set(), "section": set()}
        self._before: schema.State | None = None

    def begin(self) -> None:
        """Write the first facts of a new database."""
        # There was no write, so this is the one with the number 0.
        self._before, self._state = schema.State(-1, self._token, 0, 0, 0, 0), schema.State(0, self._token, 0, 0, 0, 0)
        self.finish()

    def assign_birth(self) -> None:
        """Draw a new birth number, so that a copy counts as another database."""
        self.set_fact(BIRTH, secrets.randbits(62))

    def set_fact(self, name: str, value: object) -> None:
        """Write a fact about the store; the value goes through JSON."""
        text = json.dumps(value)
        self.execute("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", [name, text, schema.checksum_of(name, text)])

    def set_times(self, times: Mapping[str, int]) -> None:
        """Set when documents were last written, by their ids, in microseconds since 1970 UTC."""
        written = [
            (number, id_, times.get(id_, self._time))
            for number, id_ in self.execute("SELECT document, doc_id FROM documents").fetchall()
        ]
        self._drop("documents", "1", [])
        self._insert("documents", [(*row, schema.checksum_of(*row)) for row in written])

    def remove(self, condition: Condition) -> None:
        """Remove the sentences that meet a condition.

        They stay without an id until the transaction ends, so that their vectors can be used again.
        """
        sql, parameters = self.simplest(condition)
        state = self.state
        removed = self.execute(
            "INSERT INTO removals (row, document, checksum) "  # noqa: S608
            f"SELECT row, document, 0 FROM sentences WHERE ({sql}) AND id IS NOT NULL",
            parameters,
        ).rowcount
        if removed:
            new = "removal > ?", [state.last_removal]
            self.execute(f"UPDATE removals SET checksum = {schema.REMOVAL_CHECKSUM} WHERE {new[0]}", new[1])  # noqa: S608
            rows = f"row IN (SELECT row FROM removals WHERE {new[0]})"  # noqa: S608
            # The sources and sections that they share count them out.
            for owner, left in self._left.items():
                key = f"{owner}_key"
                leaving = self.execute(
                    f"SELECT count(*), {key} FROM sentences WHERE {rows} AND {key} IS NOT NULL GROUP BY {key}",  # noqa: S608
                    new[1],
                ).fetchall()
                left.update(shared for _, shared in leaving)
                self._connection.executemany(f"UPDATE {owner}s SET sentences = sentences - ? WHERE {key} = ?", leaving)  # noqa: S608
            self.execute(f"UPDATE sentences SET id_high = NULL, id_low = NULL, id_text = NULL WHERE {rows}", new[1])  # noqa: S608
            self._count(
                self._sum("removals", *new),
                sentences=state.sentences - removed,
                last_removal=state.last_removal + removed,
            )

    def remove_documents(self, condition: Condition) -> list[str]:
        """Remove the documents of which a condition matches sentences, and return their names.

        Raises:
            InvalidInputError: It matches only a part of a document; nothing was removed.
        """
        sql, parameters = self.simplest(condition)
        counts: dict[int, int] = dict(
            self.execute(
                f"SELECT document, count(*) FROM sentences WHERE document IS NOT NULL AND ({sql}) GROUP BY document",  # noqa: S608
                parameters,
            ).fetchall()
        )
        documents = [json.dumps(list(counts))]
        all_of = self.execute(
            "SELECT sentences.document, doc_id, count(*) FROM sentences CROSS JOIN documents USING (document) "  # noqa: S608
            f"WHERE {schema.IS_ONE_OF.format('sentences.document')} GROUP BY sentences.document",
            documents,
        ).fetchall()
        partly = next((doc_id for document, doc_id, count in all_of if counts[document] < count), None)
        if partly is not None:
            raise InvalidInputError(
                f"the filter lets through only a part of document {partly!r:.80}; give one that matches all of it, or "
                "delete it by its id with a retriever that has no filter. Nothing was deleted."
            )
        if counts:
            self.remove((schema.IS_ONE_OF.format("document"), documents))
        return [doc_id for _, doc_id, _ in all_of]

    def add(self, records: Sequence[schema.Record], vectors: Sequence[bytes]) -> None:
        """Add sentences with their half-precision vectors; remove those with the same ids, and what was staged."""
        if self.state.sentences:
            self.remove(schema.with_ids([record.id for record in records]))
        first = self.state.last_row + 1
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
        state = self.state
        self._count(0, sentences=state.sentences + len(records), last_row=state.last_row + len(records))
        if self.execute("SELECT 1 FROM staged").fetchone():
            texts = {(record.context + record.text).encode(*schema.TEXT) for record in records}
            self._connection.executemany(
                "DELETE FROM staged WHERE text_checksum = ? AND text = ?", ((zlib.crc32(text), text) for text in texts)
            )

    def stage_vectors(self, vectors: Iterable[tuple[str, bytes]]) -> None:
        """Keep half-precision vectors of texts that will be written later."""
        (row,) = self.execute("SELECT ifnull(max(row), 0) FROM staged").fetchone()
        stored = ((text.encode(*schema.TEXT), vector) for text, vector in vectors)
        self._connection.executemany(
            "INSERT INTO staged VALUES (?, ?, ?, ?, ?)",
            (
                (number, text, vector, zlib.crc32(text), zlib.crc32(vector, number))
                for number, (text, vector) in enumerate(stored, row + 1)
            ),
        )

    def discard_staged(self) -> int:
        """Drop all staged vectors and return their number."""
        return self.execute("DELETE FROM staged").rowcount

    def finish(self) -> bool:
        """Drop removed sentences, count the write and log it, if anything was written; return whether it was."""
        before, after = self._before, self._state
        if before is None or after is None or before == after:
            return False
        if after.last_removal > before.last_removal:
            # With the documents, sources and sections that have no sentence left.
            removed, since = "IN (SELECT {} FROM removals WHERE removal > ?)", [before.last_removal]
            for table in ("vectors", "sentences"):
                self._drop(table, f"row {removed.format('row')}", since)
            self._drop("documents", f"document {removed.format('document')} AND {_HAS_NO_SENTENCES}", since)
            for owner, left in self._left.items():
                self._drop(
                    f"{owner}s",
                    f"{schema.IS_ONE_OF.format(f'{owner}_key')} AND sentences = 0",
                    [json.dumps(list(left))],
                )
        self._count(0, generation=before.generation + 1, token=self._token)
        state = self.state
        written = state.generation, state.token, state.last_row, state.last_removal
        self._insert("writes", [(*written, schema.checksum_of(*written))])
        oldest, removals = self.execute("SELECT generation, last_removal FROM writes LIMIT 1").fetchone()
        too_many = state.last_removal - removals > 2 * max(MIN_LOGGED, state.sentences)
        if too_many or state.generation - oldest > 2 * MIN_LOGGED:
            self._drop("writes", "generation < ?", [(oldest + state.generation) // 2])
            self._drop(
                "removals",
                "removal <= (SELECT last_removal FROM writes ORDER BY generation LIMIT 1) AND removal < ?",
                [state.last_removal],
            )
        self.set_fact("state", asdict(self.state))
        return True

    def _documents(self, doc_ids: set[str]) -> dict[str, int]:
        """Return the numbers of source documents, which are written now; new ones get a number."""
        known = schema.IS_ONE_OF.format("doc_id"), [json.dumps(list(doc_ids))]
        numbers: dict[str, int] = dict(
            self.execute(f"SELECT doc_id, document FROM documents WHERE {known[0]}", known[1]).fetchall()  # noqa: S608
        )
        if numbers:
            self._drop("documents", *known)
        if len(numbers) < len(doc_ids):
            (last,) = self.execute("SELECT ifnull(max(document), 0) FROM documents").fetchone()
            last = max(last, *numbers.values(), 0)
            numbers |= zip(sorted(doc_ids - numbers.keys()), count(last + 1))
        self._insert(
            "documents",
            [(number, id_, self._time, schema.checksum_of(number, id_, self._time)) for id_, number in numbers.items()],
        )
        return numbers

    def _known_sources(
        self, records: Iterable[schema.Record], documents: Mapping[str, int]
    ) -> dict[tuple[int, str], int]:
        """Return the keys of the sources that exist already, by document and metadata."""
        metadatas = {
            (documents[record.doc_id], record.source_metadata)
            for record in records
            if record.doc_id is not None and record.source_metadata
        }
        asked = [[document, zlib.crc32(metadata.encode())] for document, metadata in metadatas]
        found = self.execute(
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
        self.execute(f"DELETE FROM {table} WHERE {condition}", parameters)  # noqa: S608

    def _sum(self, table: str, condition: str, parameters: Sequence[Any]) -> int:
        sql = f"SELECT ifnull(sum({schema.CHECKSUMS[table]}), 0) FROM {table} WHERE {condition}"  # noqa: S608
        return int(self.execute(sql, parameters).fetchone()[0])

    def _count(self, checksums: int, **changed: int) -> None:
        """Change the state: add checksums to its digest, and set other fields."""
        state = self.state
        self._before = self._before or state
        self._state = replace(state, digest=(state.digest + checksums) % schema.DIGESTS, **changed)


Row: TypeAlias = tuple[Any, ...]


class _Section(NamedTuple):
    """A section of new sentences.

    Attributes:
        key: Its key in the table ``sections``.
        context_length: The number of characters of a sentence's context that are stored with the section.
        context_checksum: The checksum of these characters.
    """

    key: int
    context_length: int
    context_checksum: int


class SharedRows(NamedTuple):
    """Rows for what sentences share.

    Attributes:
        sources: Rows of the table ``sources``.
        sections: Rows of the table ``sections``.
        joining: How many of the sentences join each source that is in the database, and its key.
        source_keys: The keys of the sources, by document and shared JSON.
        sections_by_metadata: The sections, by document and shared JSON.
    """

    sources: list[Row]
    sections: list[Row]
    joining: list[tuple[int, int]]
    source_keys: Mapping[tuple[int, str], int]
    sections_by_metadata: Mapping[tuple[int, str], _Section]


def shared_rows(
    records: Sequence[schema.Record],
    first_row: int,
    documents: Mapping[str, int],
    known_sources: Mapping[tuple[int, str], int],
) -> SharedRows:
    """Return the rows for what records share.

    A key is the row of the first sentence that has it, so no key is used twice.

    Args:
        records: The records, in the order in which they are written.
        first_row: The row of the first record.
        documents: The number of each source document, by id.
        known_sources: The keys of sources in the database, which are used again.
    """
    source_keys = dict(known_sources)
    held: Counter[int] = Counter()
    members: dict[tuple[int, str], list[int]] = {}
    for at, record in enumerate(records):
        if record.doc_id is not None and record.source_metadata:
            document = documents[record.doc_id]
            held[source_keys.setdefault((document, record.source_metadata), first_row + at)] += 1
            members.setdefault((document, record.section_metadata), []).append(at)
    rows: list[Row] = []
    sections: dict[tuple[int, str], _Section] = {}
    for (document, metadata), together in members.items():
        contexts = [records[at].context for at in together]
        first, last = min(contexts), max(contexts)
        beginning = first  # what all begin with
        if not last.startswith(first):
            pairs = enumerate(zip(first, last, strict=False))
            beginning = first[: next(at for at, (one, other) in pairs if one != other)]
        context, key = beginning.encode(*schema.TEXT), first_row + together[0]
        context_checksum = zlib.crc32(context)
        checksum = schema.checksum_of(key, document, metadata, context_checksum)
        rows.append((key, document, len(together), metadata, context, context_checksum, checksum))
        sections[document, metadata] = _Section(key, len(beginning), context_checksum)
    sources = [
        schema.source_row(key, document, held[key], metadata)
        for (document, metadata), key in source_keys.items()
        if key >= first_row
    ]
    joining = [(held[key], key) for key in known_sources.values()]
    return SharedRows(sources, rows, joining, source_keys, sections)


def sentence_rows(
    first_row: int, records: Sequence[schema.Record], documents: Mapping[str, int], shared: SharedRows
) -> list[Row]:
    """Return the rows of sentences; each ends with the checksums of its embedded text and of its other fields."""
    numbers = schema.uuid_numbers([record.id for record in records])
    rows: list[Row] = []
    for row, (record, (high, low)) in enumerate(zip(records, numbers, strict=True), first_row):
        id_, plain, metadata, of_source, of_section, doc_id, index, section, context, start, end = record
        document = None if doc_id is None else documents[doc_id]
        source_key, section_key, checksum = None, None, 0
        if of_source and document is not None:
            source_key = shared.source_keys[document, of_source]
            section_key, length, checksum = shared.sections_by_metadata[document, of_section]
            context = context[length:]
        text, before = plain.encode(*schema.TEXT), context.encode(*schema.TEXT)
        own: str | None = metadata
        if start is not None:
            # Without its beginning, the places that have columns; the table puts all of it together again.
            own = f",{metadata[1:]}" if metadata else None
            metadata = f'{{"{SENTENCE_INDEX}":{index},"{START_INDEX}":{start},"{END_INDEX}":{end}{own or "}"}'
        # As `checksum_of` joins them, in half the time.
        fields = f"{row}\0{id_}\0{document}\0{doc_id}\0{index}\0{section}\0{source_key}\0{section_key}\0{metadata}"
        stands = document, index, section, source_key, section_key
        checksums = zlib.crc32(text, zlib.crc32(before, checksum)), zlib.crc32(fields.encode())
        id_text = id_ if high is None else None
        rows.append((row, high, low, id_text, *stands, text, before, start, end, own, *checksums))
    return rows
