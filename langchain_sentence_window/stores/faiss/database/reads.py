"""Reads of given rows, of places, and of source documents."""

import json
import sqlite3
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import orjson

from langchain_sentence_window._primitives import Rows
from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.ranking.relevance import PlacedText
from langchain_sentence_window.stores.faiss.database.conditions import Condition
from langchain_sentence_window.stores.faiss.database.schema import IS_ONE_OF, loaded_text

BATCH_SIZE = 300
"""Rows of one statement. Old releases of SQLite take no more than 999 parameters; some statements take each thrice."""

_SIZES = (10, 20, 50, 100, 150, 200, 250, BATCH_SIZE)
"""The numbers of parameters that statements have, few, as SQLite's module keeps a compiled statement for each."""


def select_rows(execute: Callable[..., sqlite3.Cursor], sql: str, rows: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    """Run a statement for some rows, and yield what it finds.

    Args:
        execute: Runs a statement.
        sql: The statement, with ``{}`` where the parameters stand in the parentheses behind ``IN``.
        rows: The rows, as many as needed.
    """
    for start in range(0, len(rows), BATCH_SIZE):
        part = rows[start : start + BATCH_SIZE]
        count = count_of(len(part))
        yield from execute(sql.format(marks_of(count)), padded(part, count))


def select_lines(execute: Callable[..., sqlite3.Cursor], sql: str, rows: Sequence[int]) -> Iterator[list[Any]]:
    """Run a statement that returns one JSON array of all lines, and yield these.

    Python lets other threads run at each line that it takes from SQLite, and waits for them.

    Raises:
        StoreError: The database has a text there that isn't one.
    """
    for (lines,) in select_rows(execute, sql, rows):
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


def count_of(rows: int) -> int:
    """Return how many parameters a statement about that many rows has, `BATCH_SIZE` at most."""
    return _SIZES[bisect_left(_SIZES, rows)]


def marks_of(count: int) -> str:
    """Return the marks of that many parameters."""
    return ",".join("?" * count)


def padded(rows: Sequence[int], count: int) -> list[int]:
    """Return rows and as many zeros, which are no rows, as make up that many parameters."""
    return [*rows, *([0] * (count - len(rows)))]


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
_TEXTS = "SELECT document, sentence_index, section, text FROM sentences WHERE row IN ({})"
_PLACED_TEXTS = "SELECT row, document, sentence_index, text FROM sentences WHERE row IN ({})"
_PLACES = """
    SELECT row, CASE WHEN section_key IS NULL THEN id ELSE ifnull(doc_id, '') END, ifnull(sentence_index, 0)
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
    return {(document, index, section): text for document, index, section, text in select_rows(execute, _TEXTS, rows)}


def placed_texts(execute: Execute, rows: Iterable[int]) -> dict[int, PlacedText]:
    """Return texts by row, with where they stand; rows that don't exist are left out."""
    found = select_rows(execute, _PLACED_TEXTS, list(rows))
    return {row: PlacedText(document, index, loaded_text(text)) for row, document, index, text in found}


def places_of(execute: Execute, rows: Sequence[int]) -> dict[int, tuple[str, int]]:
    """Return where rows stand, by document and index; a Document that isn't a sentence stands alone, by its id."""
    return {row: (name, index) for row, name, index in select_rows(execute, _PLACES, rows)}


def rows_at(execute: Execute, places: Sequence[tuple[int | None, int]]) -> list[int]:
    """Return the rows of sentences by document and index, in any order; those that don't exist are left out."""
    return [row for (row,) in execute(_ROWS_AT, [json.dumps(places)])]


_DOCUMENTS_OF = "SELECT json_group_array(json_array(row, document)) FROM sentences WHERE row IN ({})"
_BEGINNINGS = """
    SELECT documents.document, doc_id, row, text, ifnull(sources.metadata, '{}')
    FROM json_each(?) AS given
    CROSS JOIN documents ON documents.document = given.value
    CROSS JOIN sentences ON sentences.document = documents.document AND sentence_index BETWEEN 0 AND ?
    LEFT JOIN sources ON sources.source_key = sentences.source_key
    ORDER BY documents.document, sentence_index
"""
_SOURCES = "SELECT document, source_key, metadata FROM sources"


class SourceMetadata(NamedTuple):
    """The metadata of a source document, or of a part of it.

    Attributes:
        document: The number of the document.
        row: The row of the first sentence that had it.
        metadata: The metadata, as JSON.
    """

    document: int
    row: int
    metadata: str


def source_metadata(execute: Execute, documents: Sequence[int] | None, limit: int) -> Iterator[SourceMetadata]:
    """Yield the metadata of documents, or of all for ``None``; no more than a limit."""
    if documents is None:
        cursor = execute(f"{_SOURCES} LIMIT ?", [limit])
    else:
        of_these = "WHERE document IN (SELECT value FROM json_each(?))"
        cursor = execute(f"{_SOURCES} {of_these} LIMIT ?", [json.dumps(list(documents)), limit])
    return map(SourceMetadata._make, cursor)


class FirstSentence(NamedTuple):
    """One of the first sentences of a document.

    Attributes:
        document: The number of the document.
        doc_id: Its name.
        row: The row of the sentence.
        text: Its text as it is stored.
        source_metadata: What it shares with others of its document, as JSON.
    """

    document: int
    doc_id: str
    row: int
    text: bytes
    source_metadata: str


def documents_of(execute: Execute, rows: Sequence[int]) -> dict[int, int | None]:
    """Return the number of the document of each row, ``None`` if it has none; rows that don't exist are left out."""
    return dict(select_lines(execute, _DOCUMENTS_OF, rows))


def has_several_documents(execute: Execute) -> bool:
    """Return whether there are two source documents or more."""
    return len(execute("SELECT 1 FROM documents LIMIT 2").fetchall()) > 1


def beginnings(execute: Execute, documents: Sequence[int], sentences: int) -> list[FirstSentence]:
    """Read up to that many sentences at the beginning of each document, in its order."""
    return list(map(FirstSentence._make, execute(_BEGINNINGS, [json.dumps(list(documents)), sentences - 1])))


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


class Matched(NamedTuple):
    """The documents of which a condition matches sentences.

    Attributes:
        documents: Their numbers.
        doc_ids: Their names.
        partly: The name of one of which it doesn't match all; ``None`` if it matches all of each.
    """

    documents: Sequence[int]
    doc_ids: list[str]
    partly: str | None


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


def match_documents(execute: Execute, condition: Condition) -> Matched:
    """Find the documents of which a condition matches sentences, and whether it matches all of each."""
    sql, parameters = condition
    found = execute(
        f"SELECT document, count(*) FROM sentences WHERE document IS NOT NULL AND ({sql}) GROUP BY document",  # noqa: S608
        parameters,
    ).fetchall()
    counts: dict[int, int] = dict(found)
    all_of = execute(
        "SELECT sentences.document, doc_id, count(*) FROM sentences CROSS JOIN documents USING (document) "  # noqa: S608
        f"WHERE {IS_ONE_OF.format('sentences.document')} GROUP BY sentences.document",
        [json.dumps(list(counts))],
    ).fetchall()
    partly = next((doc_id for document, doc_id, count in all_of if counts[document] < count), None)
    return Matched(list(counts), [doc_id for _, doc_id, _ in all_of], partly)
