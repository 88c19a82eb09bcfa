"""Reads of given rows, of places, and of source documents.

Sentences of a query are read as columns, which SQLite puts together itself. So a query of hundreds of sentences makes
one step in Python, and other threads run meanwhile.
"""

import json
import sqlite3
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import orjson

from langchain_sentence_window._primitives import Rows, Vectors
from langchain_sentence_window.embedding.vectors import NOWHERE, Positions
from langchain_sentence_window.errors import StoreError

from .conditions import Condition
from .schema import IS_ONE_OF, from_halves

BATCH_SIZE = 300
"""Rows of one statement. Old releases of SQLite take no more than 999 parameters; some statements take each thrice."""

_SIZES = (10, 20, 50, 100, 150, 200, 250, BATCH_SIZE)
"""The numbers of parameters that statements have, few, as SQLite's module keeps a compiled statement for each."""


def select_lines(execute: Callable[..., sqlite3.Cursor], sql: str, rows: Sequence[int]) -> Iterator[list[Any]]:
    """Run a statement that returns one JSON array of all lines, and yield these.

    Python lets other threads run at each line that it takes from SQLite, and waits for them.

    Args:
        execute: Runs a statement.
        sql: The statement, with ``{}`` where the parameters stand in the parentheses behind ``IN``.
        rows: The rows, as many as needed.

    Raises:
        StoreError: The database has a text there that isn't one.
    """
    for start in range(0, len(rows), BATCH_SIZE):
        marks, parameters = filled(rows[start : start + BATCH_SIZE])
        (lines,) = execute(sql.format(marks), parameters).fetchone()
        yield from loaded_lines(lines)


def loaded_lines(lines: str) -> list[list[Any]]:
    """Read a JSON array that SQLite made of lines.

    Raises:
        StoreError: The database has a text there that isn't one.
    """
    try:
        found: list[list[Any]] = orjson.loads(lines)
    except orjson.JSONDecodeError:
        raise damaged("metadata that can be read") from None
    return found


def damaged(what: str) -> StoreError:
    """Return the error that the database lacks something."""
    return StoreError(f"the database lacks {what}, so it is damaged; restore it from a backup")


def filled(*lists: Sequence[int]) -> tuple[str, list[int]]:
    """Return the marks of the parameters for rows, and as many parameters: the rows, and zeros, which are no rows.

    Args:
        *lists: Lists of rows, `BATCH_SIZE` at most; the statement has the same number of parameters for each.
    """
    count = _SIZES[bisect_left(_SIZES, max(map(len, lists)))]
    return ",".join("?" * count), [row for each in lists for row in (*each, *[0] * (count - len(each)))]


def are_in(rows: Rows, others: Rows) -> npt.NDArray[np.bool_]:
    """Return for each of some rows whether it is one of others, which are in order."""
    if not len(others):
        return np.zeros(len(rows), dtype=np.bool_)
    at = np.minimum(np.searchsorted(others, rows), len(others) - 1)
    return np.asarray(others[at] == rows)


Place: TypeAlias = tuple[int | None, int, int]
"""The number of a source document, the index of a sentence in it, and the number of the sentence's section."""

Execute: TypeAlias = Callable[..., sqlite3.Cursor]

_NEIGHBORS = """
    SELECT hit.row, other.row, abs(other.sentence_index - hit.sentence_index)
    FROM json_each(?) AS given
    CROSS JOIN sentences AS hit ON hit.row = given.value
    CROSS JOIN sentences AS other ON other.document = hit.document
        AND other.sentence_index BETWEEN hit.sentence_index - ? AND hit.sentence_index + ?
        AND other.sentence_index <> hit.sentence_index
    WHERE other.section = hit.section
    ORDER BY hit.sentence_index
"""
_TEXTS = f"SELECT document, sentence_index, section, text FROM sentences WHERE {IS_ONE_OF.format('row')}"  # noqa: S608
_PLACES = """
    SELECT json_group_array(json_array(
        row, CASE WHEN section_key IS NULL THEN id ELSE ifnull(doc_id, '') END, ifnull(sentence_index, 0)
    ))
    FROM sentences LEFT JOIN documents USING (document) WHERE row IN ({})
"""
_ROWS_AT = """
    SELECT row
    FROM json_each(?) AS asked
    CROSS JOIN sentences ON document = json_extract(asked.value, '$[0]')
        AND sentence_index = json_extract(asked.value, '$[1]')
"""


def neighbors(execute: Execute, rows: Sequence[int], reach: int) -> list[tuple[int, int, int]]:
    """Find the neighbors of some sentences in their sections; see `Snapshot.neighbors`."""
    return list(execute(_NEIGHBORS, [json.dumps(list(rows)), reach, reach]))


def texts_by_place(execute: Execute, rows: Sequence[int]) -> dict[Place, bytes]:
    """Return the stored texts of rows by their places; rows that don't exist are left out."""
    return {(document, index, section): text for document, index, section, text in execute(_TEXTS, [json.dumps(rows)])}


def places_of(execute: Execute, rows: Sequence[int]) -> dict[int, tuple[str, int]]:
    """Return where rows stand, by document and index; a Document that isn't a sentence stands alone, by its id."""
    return {row: (name, index) for row, name, index in select_lines(execute, _PLACES, rows)}


def rows_at(execute: Execute, places: Sequence[tuple[int | None, int]]) -> list[int]:
    """Return the rows of sentences by document and index, in any order; those that don't exist are left out."""
    return [row for (row,) in execute(_ROWS_AT, [json.dumps(places)])]


# Sentences are not read. Rows are numbered in the order of a document's sentences; a source is named by the first.
_OF_SOURCES = """
    SELECT document, source_key, sentences, ifnull(
        (SELECT row FROM sentences WHERE sentences.row = sources.source_key),
        (SELECT min(row) FROM sentences WHERE sentences.document = sources.document
            AND sentences.source_key = sources.source_key))
    FROM sources WHERE {}
"""
_OF_SENTENCES = """
    SELECT document, source_key, count(*), min(row) FROM sentences
    WHERE source_key IS NOT NULL AND ({}) GROUP BY document, source_key
"""
_COUNTED_SOURCES = "SELECT count(DISTINCT document) FROM sources WHERE {}"
_COUNTED_SENTENCES = "SELECT count(DISTINCT document) FROM sentences WHERE source_key IS NOT NULL AND ({})"
_LISTED = """
    WITH found (document, source_key, sentences, first) AS ({})
    SELECT doc_id, found.sentences, ifnull(sections.metadata, '{{}}'), sources.metadata, written
    FROM found CROSS JOIN sentences ON sentences.row = found.first
        CROSS JOIN sources ON sources.source_key = found.source_key
        CROSS JOIN documents ON documents.document = found.document
        LEFT JOIN sections ON sections.section_key = sentences.section_key
    ORDER BY found.first
"""


class ListedSource(NamedTuple):
    """Sentences of a document that share the metadata of their source.

    Attributes:
        doc_id: The document.
        sentences: The number of sentences.
        section_metadata: What the first of them shares with its section, as JSON.
        source_metadata: What they share, as JSON.
        written: When the document was last written, in microseconds since 1970 UTC.
    """

    doc_id: str
    sentences: int
    section_metadata: str
    source_metadata: str
    written: int


def list_sources(execute: Execute, of_sources: Condition | None, of_sentences: Condition) -> list[ListedSource]:
    """Read what is known of each document, in the order in which they were last written.

    Args:
        execute: Runs a statement.
        of_sources: A condition on rows of ``sources``, if one says the same, as it reads no sentence.
        of_sentences: A condition on sentences.
    """
    inner, (sql, parameters) = (_OF_SENTENCES, of_sentences) if of_sources is None else (_OF_SOURCES, of_sources)
    return list(map(ListedSource._make, execute(_LISTED.format(inner.format(sql)), parameters)))


def count_sources(execute: Execute, of_sources: Condition | None, of_sentences: Condition) -> int:
    """Count the documents that `list_sources` lists."""
    if of_sources is None:
        counted, (sql, parameters) = _COUNTED_SENTENCES, of_sentences
    else:
        counted, (sql, parameters) = _COUNTED_SOURCES, of_sources
    return int(execute(counted.format(sql), parameters).fetchone()[0])


NONE = -1
"""Stands for a number that a Document doesn't have as it isn't a sentence, and for the length of a missing text."""

# A text is made of bytes, of which nothing is assumed; a Document that isn't a sentence has neither document nor index.
_JOINED_TEXTS = "ifnull(CAST(group_concat(CAST({}.text AS TEXT), x'0a') AS BLOB), x'')"
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
        {_JOINED_TEXTS.format("here")}, {_JOINED_TEXTS.format("before")}, {_JOINED_TEXTS.format("after")}
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
SOURCE_METADATA = "SELECT json_group_array(json_array(source_key, metadata)) FROM sources WHERE source_key IN ({})"


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

    def metadata(self, at: int) -> str:
        """Return the own metadata of one, as JSON without the places that it has columns for; empty for none."""
        own = self.own[at]  # a row has it without its beginning, if it has the places
        return own if not own or self.spans[0, at] == NONE else f"{{{own[1:]}"


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
    parts: list[tuple[list[list[Any]], Sequence[bytes]]] = []
    for start in range(0, max(1, len(rows)), BATCH_SIZE):
        here = in_order[start : start + BATCH_SIZE]
        marks, parameters = filled(
            before[are_in(before, here)].tolist(), after[are_in(after, here)].tolist(), here.tolist()
        )
        lines, *texts = execute(_FOUND.format(before=marks, after=marks, here=marks), parameters).fetchone()
        parts.append((loaded_lines(lines), texts))
    table = [line for lines, _ in parts for line in lines]
    if len(table) < len(rows):
        raise damaged("sentences that its index contains")
    columns = list(zip(*table, strict=True)) if table else [()] * 14
    numbers = np.array(columns[:11], dtype=np.int64)
    # The texts that the statements returned, joined, and where each of the sentences' texts begins.
    stored = b"\n".join(joined for _, texts in parts for joined in texts)
    starts, at, first = np.zeros_like(numbers[6:9]), 0, 0
    for lines, texts in parts:
        for kind, joined in enumerate(texts):
            of_part = numbers[6 + kind, first : first + len(lines)]
            taken = np.where(of_part == NONE, 0, of_part + 1)
            starts[kind, first : first + len(lines)] = at + np.cumsum(taken) - taken
            at += len(joined) + 1
        first += len(lines)
    order = np.argsort(numbers[0], kind="stable")
    order = order[np.searchsorted(numbers[0][order], rows)]
    names, own, shared = ([column[at] for at in order.tolist()] for column in columns[11:])
    row, document, index, section, section_key, source_key = numbers[:6, order]
    stands = row, document, index, section, section_key, source_key
    spans, sizes = numbers[9:, order], numbers[6:9, order]
    found = FoundRows(*stands, names, spans, own, shared, stored, starts[:, order], sizes)
    is_sentence = (found.section_keys != NONE).tolist()
    if not all(name and text for name, text, known in zip(names, shared, is_sentence, strict=True) if known):
        raise damaged("metadata that its sentences share")
    return found


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
        # Where its last section begins; of Documents without a source, all are sections of their own.
        last = part[-1][1:3]
        is_cut = (at for at in range(len(part), 0, -1) if part[at - 1][1:3] != last)
        cut = len(part) if last[0] is None else next(is_cut, 0)
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
