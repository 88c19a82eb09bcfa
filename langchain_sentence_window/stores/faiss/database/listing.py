"""Which documents the database holds, and which of them a condition matches whole or in part."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from langchain_sentence_window.stores.faiss.database.conditions import Condition
from langchain_sentence_window.stores.faiss.database.schema import IS_ONE_OF

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

    @property
    def condition(self) -> Condition:
        """The condition that a sentence is of one of them."""
        return IS_ONE_OF.format("document"), [json.dumps(self.documents)]


def list_sources(
    connection: sqlite3.Connection, of_sources: Condition | None, of_sentences: Condition
) -> Iterator[ListedSource]:
    """Read what is known of each document, in the order in which they were last written.

    Args:
        connection: The connection to read with.
        of_sources: A condition on rows of ``sources``, if one says the same, as it reads no sentence.
        of_sentences: A condition on sentences.
    """
    inner, (sql, parameters) = (_OF_SENTENCES, of_sentences) if of_sources is None else (_OF_SOURCES, of_sources)
    return map(ListedSource._make, connection.execute(_LISTED.format(inner.format(sql)), parameters))


def count_sources(connection: sqlite3.Connection, of_sources: Condition | None, of_sentences: Condition) -> int:
    """Count the documents that `list_sources` lists."""
    if of_sources is None:
        counted, (sql, parameters) = _COUNTED_SENTENCES, of_sentences
    else:
        counted, (sql, parameters) = _COUNTED_SOURCES, of_sources
    return int(connection.execute(counted.format(sql), parameters).fetchone()[0])


def match_documents(connection: sqlite3.Connection, condition: Condition) -> Matched:
    """Find the documents of which a condition matches sentences, and whether it matches all of each."""
    sql, parameters = condition
    found = connection.execute(
        f"SELECT document, count(*) FROM sentences WHERE document IS NOT NULL AND ({sql}) GROUP BY document",  # noqa: S608
        parameters,
    ).fetchall()
    counts: dict[int, int] = dict(found)
    all_of = connection.execute(
        "SELECT sentences.document, doc_id, count(*) FROM sentences CROSS JOIN documents USING (document) "  # noqa: S608
        f"WHERE {IS_ONE_OF.format('sentences.document')} GROUP BY sentences.document",
        [json.dumps(list(counts))],
    ).fetchall()
    partly = next((doc_id for document, doc_id, count in all_of if counts[document] < count), None)
    return Matched(list(counts), [doc_id for _, doc_id, _ in all_of], partly)
