"""Reads of source documents: which one a row is of, how one begins, and what the metadata of each says."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from langchain_sentence_window.stores.faiss.database.of_rows import select_lines

_Execute: TypeAlias = Callable[..., sqlite3.Cursor]

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


def documents_of(execute: _Execute, rows: Sequence[int]) -> dict[int, int | None]:
    """Return the number of the document of each row, ``None`` if it has none; rows that don't exist are left out."""
    return dict(select_lines(execute, _DOCUMENTS_OF, rows))


def has_several_documents(execute: _Execute) -> bool:
    """Return whether there are two source documents or more."""
    return len(execute("SELECT 1 FROM documents LIMIT 2").fetchall()) > 1


def beginnings(execute: _Execute, documents: Sequence[int], sentences: int) -> list[FirstSentence]:
    """Read up to that many sentences at the beginning of each document, in its order."""
    return list(map(FirstSentence._make, execute(_BEGINNINGS, [json.dumps(list(documents)), sentences - 1])))


def source_metadata(execute: _Execute, documents: Sequence[int] | None, limit: int) -> Iterator[SourceMetadata]:
    """Yield the metadata of documents, or of all for ``None``; no more than a limit."""
    if documents is None:
        cursor = execute(f"{_SOURCES} LIMIT ?", [limit])
    else:
        of_these = "WHERE document IN (SELECT value FROM json_each(?))"
        cursor = execute(f"{_SOURCES} {of_these} LIMIT ?", [json.dumps(list(documents)), limit])
    return map(SourceMetadata._make, cursor)
