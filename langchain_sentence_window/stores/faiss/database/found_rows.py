"""Sentences and vectors, read as columns.

SQLite puts the columns together itself, so that a query of hundreds of sentences makes one step in Python, and other
threads run meanwhile.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from langchain_sentence_window._primitives import Rows, Vectors
from langchain_sentence_window.embedding.vectors import NOWHERE, Positions
from langchain_sentence_window.stores.faiss.database.conditions import Condition
from langchain_sentence_window.stores.faiss.database.reads import (
    BATCH_SIZE,
    Execute,
    are_in,
    count_of,
    damaged,
    loaded_lines,
    marks_of,
    padded,
    select_lines,
)
from langchain_sentence_window.stores.faiss.database.schema import from_halves, own_metadata

NONE = -1
"""Stands for a number that a Document doesn't have as it isn't a sentence, and for the length of a missing text."""

# A text is made of bytes, of which nothing is assumed; a Document that isn't a sentence has neither document nor index.
_TEXTS = "ifnull(CAST(group_concat(CAST({}.text AS TEXT), x'0a') AS BLOB), x'')"
_FOUND = f"""
    SELECT
        json_group_array(json_array(
            here.row, ifnull(here.document, -1), ifnull(here.sentence_index, 0), here.section,
            ifnull(here.section_key, -1), ifnull(here.source_key, -1), length(CAST(here.text AS BLOB)),
            ifnull(length(CAST(before.text AS BLOB)), -1), ifnull(length(CAST(after.text AS BLOB)), -1),
            ifnull(here.start_index, -1), ifnull(here.end_index, -1),
            CASE WHEN here.section_key IS NULL THEN here.id ELSE ifnull(doc_id, '') END,
            ifnull(here.own, ''), ifnull(sections.metadata, '')
        )),
        {_TEXTS.format("here")}, {_TEXTS.format("before")}, {_TEXTS.format("after")}
    FROM sentences AS here
    LEFT JOIN sentences AS before ON here.row IN ({{before}}) AND before.row = here.row - 1
        AND before.document = here.document AND before.sentence_index = here.sentence_index - 1
        AND before.section = here.section
    LEFT JOIN sentences AS after ON here.row IN ({{after}}) AND after.row = here.row + 1
        AND after.document = here.document AND after.sentence_index = here.sentence_index + 1
        AND after.section = here.section
    LEFT JOIN documents ON documents.document = here.document
    LEFT JOIN sections ON sections.section_key = here.section_key
    WHERE here.row IN ({{here}})
"""  # noqa: S608 - made of constants
_SOURCES = "SELECT json_group_array(json_array(source_key, metadata)) FROM sources WHERE source_key IN ({})"


@dataclass(slots=True)
class FoundRows:
    """``n`` sentences, or other Documents, in the order that was asked for.

    Attributes:
        rows: Their rows.
        documents: The numbers of their source documents; `NONE` for a Document without one.
        indexes: Their indexes in their documents; 0 for one that isn't a sentence.
        sections: The numbers of their sections.
        section_keys: The keys of what they share with others of their section; `NONE` for one that isn't a sentence.
        source_keys: The keys of what they share with others of their source document, likewise.
        names: The ids of their source documents; of one that isn't a sentence, its own.
        spans: Of shape ``(2, n)``, where each starts and ends in its source; `NONE` if its own metadata isn't of the
            usual form.
        own: What else their own metadata holds, as JSON without its beginning; empty for nothing. All of it for one
            that isn't of the usual form.
        section_metadata: The metadata of their sections, as JSON; empty for one that isn't a sentence.
        stored: Three texts for each, as they are stored, in any order, with line breaks between them: its own, that of
            the sentence before it, and that of the one after it, where these are in the rows beside it.
        starts: Of shape ``(3, n)``, where each begins.
        sizes: Of shape ``(3, n)``, the bytes of each; `NONE` for a missing one.
    """

    rows: Rows
    documents: Rows
    indexes: Rows
    sections: Rows
    section_keys: Rows
    source_keys: Rows
    names: Sequence[str]
    spans: Rows
    own: Sequence[str]
    section_metadata: Sequence[str]
    stored: bytes
    starts: Rows
    sizes: Rows

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self.rows)

    def metadata(self, at: int) -> str:
        """Return the own metadata of one, as JSON without the places that it has columns for; empty for none."""
        return own_metadata(self.own[at], None if self.spans[0, at] == NONE else 0)

    def text(self, at: int) -> bytes:
        """Return the text at a position, as it is stored."""
        start = int(self.starts[0, at])
        return self.stored[start : start + int(self.sizes[0, at])]


def found_rows(execute: Execute, rows: Rows, *, beside: bool) -> FoundRows:
    """Read sentences by row.

    Args:
        execute: Runs a statement.
        rows: The rows, each once.
        beside: Whether to read the texts of the sentences beside them too, each once.

    Raises:
        StoreError: The database lacks one of them, or what one shares with others.
    """
    in_order = np.sort(rows)
    # What is among the rows is read anyway, and what is between two of them once.
    before = in_order[~are_in(in_order - 1, in_order)] if beside else in_order[:0]
    after = in_order[~are_in(in_order + 1, in_order) & ~are_in(in_order + 2, in_order)] if beside else in_order[:0]
    parts = [
        _read(execute, in_order[start : start + BATCH_SIZE], before, after)
        for start in range(0, max(1, len(rows)), BATCH_SIZE)
    ]
    table = [line for lines, _ in parts for line in lines]
    columns = list(zip(*table, strict=True)) if table else [()] * 14
    numbers = np.array(columns[:11], dtype=np.int64)
    stored, starts = _placed([texts for _, texts in parts], [len(lines) for lines, _ in parts], numbers[6:9])
    order = _positions(rows, numbers[0])
    names, own, shared = ([column[at] for at in order.tolist()] for column in columns[11:])
    row, document, index, section, section_key, source_key = numbers[:6, order]
    found = FoundRows(
        row,
        document,
        index,
        section,
        section_key,
        source_key,
        names,
        numbers[9:, order],
        own,
        shared,
        stored,
        starts[:, order],
        numbers[6:9, order],
    )
    is_sentence = (found.section_keys != NONE).tolist()
    if not all(name and text for name, text, known in zip(names, shared, is_sentence, strict=True) if known):
        raise damaged("metadata that its sentences share")
    return found


def source_metadata_of(execute: Execute, keys: Sequence[int]) -> dict[int, str]:
    """Return the metadata of source documents, as JSON, by key.

    Raises:
        StoreError: The database lacks one.
    """
    found: dict[int, str] = dict(select_lines(execute, _SOURCES, keys))
    if len(found) < len(keys):
        raise damaged("metadata that its sentences share")
    return found


def _read(
    execute: Execute, rows: Rows, before: Rows, after: Rows
) -> tuple[list[list[Any]], tuple[bytes, bytes, bytes]]:
    count = count_of(len(rows))
    marks = marks_of(count)
    lists = (before[are_in(before, rows)], after[are_in(after, rows)], rows)
    parameters = [row for each in lists for row in padded(each.tolist(), count)]
    table, here, before_them, after_them = execute(
        _FOUND.format(before=marks, after=marks, here=marks), parameters
    ).fetchone()
    return loaded_lines(table), (here, before_them, after_them)


def _placed(parts: Sequence[tuple[bytes, bytes, bytes]], counts: Sequence[int], sizes: Rows) -> tuple[bytes, Rows]:
    """Join the texts that the statements returned, and return where each of the sentences' texts begins."""
    starts = np.zeros_like(sizes)
    at, first = 0, 0
    for texts, count in zip(parts, counts, strict=True):
        for kind, joined in enumerate(texts):
            of_part = sizes[kind, first : first + count]
            taken = np.where(of_part == NONE, 0, of_part + 1)
            starts[kind, first : first + count] = at + np.cumsum(taken) - taken
            at += len(joined) + 1
        first += count
    return b"\n".join(joined for texts in parts for joined in texts), starts


def _positions(asked: Rows, found: Rows) -> Rows:
    """Return where each row that was asked for stands among those that were found."""
    if len(found) < len(asked):
        raise damaged("sentences that its index contains")
    order = np.argsort(found, kind="stable")
    return np.asarray(order[np.searchsorted(found[order], asked)])


_BATCH_SIZE = 10_000
MAX_ROWS_AROUND = 400
"""Rows of one statement, which has two parameters for each; old releases of SQLite take no more than 999."""

# The first part reads an index only.
_AROUND = """
    WITH near (row) AS (
        SELECT other.row FROM sentences AS this CROSS JOIN sentences AS other
            ON other.document = this.document
            AND other.sentence_index BETWEEN this.sentence_index - {reach:d} AND this.sentence_index + {reach:d}
            WHERE this.row IN ({marks})
        UNION SELECT row FROM sentences WHERE row IN ({marks})
    )
    SELECT row, document, section, sentence_index, vector
        FROM near CROSS JOIN sentences USING (row) CROSS JOIN vectors USING (row)
        ORDER BY document, sentence_index
"""

_Row: TypeAlias = tuple[int, int | None, int, int | None, bytes]
"""The row, the document, the section, the sentence's index, and the vector."""


def vectors_in_order(
    execute: Callable[..., sqlite3.Cursor], condition: Condition
) -> Iterator[tuple[Rows, Vectors, Positions]]:
    """Yield rows that meet a condition and their vectors by document and index, in slices that split no section."""
    sql, parameters = condition
    cursor = execute(
        "SELECT row, document, section, sentence_index, vector FROM sentences JOIN vectors USING (row) "  # noqa: S608
        f"WHERE {sql} ORDER BY document, sentence_index",
        parameters,
    )
    part: list[_Row] = []
    while more := cursor.fetchmany(_BATCH_SIZE):
        part += more
        cut = _last_cut(part)
        if cut:
            yield _with_positions(part[:cut])
            part = part[cut:]
    if part:
        yield _with_positions(part)


def vectors_around(execute: Execute, rows: Sequence[int], reach: int) -> tuple[Rows, Vectors, Positions] | None:
    """Read up to `MAX_ROWS_AROUND` rows and all sentences up to ``reach`` away from them, in order.

    Mixing needs no others for these rows.

    Returns:
        Rows, their vectors and their positions; ``None`` if none of the rows exists.
    """
    marks = ",".join("?" * len(rows))
    part = execute(_AROUND.format(reach=reach, marks=marks), [*rows, *rows]).fetchall()
    return _with_positions(part) if part else None


def _with_positions(part: Sequence[_Row]) -> tuple[Rows, Vectors, Positions]:
    numbers = np.array(
        [
            (row, NOWHERE if document is None or index is None else document, section, index or 0)
            for row, document, section, index, _ in part
        ],
        dtype=np.int64,
    )
    vectors = from_halves(b"".join(fields[-1] for fields in part)).reshape(len(part), -1)
    return numbers[:, 0], vectors, Positions(numbers[:, 1], numbers[:, 2], numbers[:, 3])


def _last_cut(part: Sequence[_Row]) -> int:
    """Return the position in the part at which its last section begins."""
    last = part[-1][1], part[-1][2]
    if last[0] is None:
        return len(part)
    return next((at for at in range(len(part), 0, -1) if (part[at - 1][1], part[at - 1][2]) != last), 0)
