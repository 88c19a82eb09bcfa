"""Documents as rows of the database.

The metadata of a sentence is stored in three parts, as JSON: what the sentences of a source document share, what those
of a section share, and its own. The index, the start and the end of a sentence have columns.
"""

import json
import math
import uuid
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import orjson
from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import MAX_INDEX, STORABLE_ID
from langchain_sentence_window.documents.keys import (
    END_INDEX,
    PER_SECTION_KEYS,
    PER_SENTENCE_KEYS,
    SENTENCE_INDEX,
    START_INDEX,
    checked_ids,
)
from langchain_sentence_window.documents.metadata_values import json_item
from langchain_sentence_window.documents.source_metadata import names_in
from langchain_sentence_window.embedding.contextual_vectors import fitted_headings, sentence_key
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.names import FIRST_LINES, keys_in, name_keys

from .filters import STAND_IN, Condition, with_nul, without_nul
from .tables import ONE_OF, Snapshot, Transaction, as_text, damaged, json_list, stored_text, text_checksum

_PLACES = SENTENCE_INDEX, START_INDEX, END_INDEX


class Record(NamedTuple):
    """A sentence, or another Document, to be stored.

    Attributes:
        id: The id of the Document.
        text: Any string, even with lone surrogates.
        own: Its own metadata as JSON, without its places if it has a start; empty for none.
        source: The metadata that it shares with the other sentences of its source document, as JSON; empty if it isn't
            a sentence of one.
        section: The metadata that it shares with the other sentences of its section, likewise.
        doc_id: The id of its source document, if it has one.
        sentence_index: Its index in its source document, if it has one.
        section_number: The number of its section in the source document.
        context: The text put before its own when it is embedded.
        start: Where the sentence starts in its source document; ``None`` if its places are in ``own``.
        end: Where it ends.
    """

    id: str
    text: str
    own: str
    source: str = ""
    section: str = ""
    doc_id: str | None = None
    sentence_index: int | None = None
    section_number: int = 0
    context: str = ""
    start: int | None = None
    end: int | None = None

    @property
    def embedded(self) -> str:
        """The text as it is embedded."""
        return self.context + self.text


def to_records(
    documents: Sequence[Document], ids: Sequence[str] | None, contexts: Sequence[str] | None = None
) -> list[Record]:
    """Convert Documents to records; of several with the same id, all are returned.

    Args:
        documents: The Documents.
        ids: Ids to use instead of their own; ``None`` among them for a new id.
        contexts: Text to put before each Document's text when it is embedded, if any.

    Raises:
        InvalidInputError: There isn't one id or context for each Document, an id can't be stored, or the metadata
            can't be stored as JSON.
    """
    own_ids = [document.id for document in documents]
    given = own_ids if ids is None else checked_names(ids, len(documents))
    if contexts is not None and len(contexts) != len(documents):
        raise InvalidInputError(f"got {len(contexts)} contexts for {len(documents)} documents; give one for each")
    before = contexts if contexts is not None else [""] * len(documents)
    records = list[Record]()
    for document, given_id, context in zip(documents, given, before, strict=True):
        id_ = str(uuid.uuid4()) if given_id is None else given_id
        text, metadata = document.page_content, document.metadata
        doc_id, index, section_number = sentence_key(metadata)
        if doc_id is None or index is None:
            records.append(Record(id_, text, _to_json(metadata), "", "", doc_id, index, section_number, context))
            continue
        own, section, source = dict[str, Any](), dict[str, Any](), dict[str, Any]()
        for key, value in metadata.items():
            owner = own if key in PER_SENTENCE_KEYS else section if key in PER_SECTION_KEYS else source
            owner[key] = value
        places: list[Any] = [metadata.get(START_INDEX), metadata.get(END_INDEX)]
        is_placed = all(type(place) is int and 0 <= place < MAX_INDEX for place in places)
        if is_placed and type(metadata[SENTENCE_INDEX]) is int:
            for key in _PLACES:
                del own[key]
            written = _to_json(own) if own else ""
        else:
            written, places = _to_json(own), [None, None]
        shared = _to_json(source), _to_json(section)
        records.append(Record(id_, text, written, *shared, doc_id, index, section_number, context, *places))
    for name in dict.fromkeys([*(each.id for each in records), *(each.doc_id or each.id for each in records)]):
        if not STORABLE_ID.fullmatch(name):
            raise InvalidInputError(
                f"{shown(name)} can't be an id, as it is empty or contains a NUL or a lone surrogate; use another"
            )
    return records


def latest_of(records: Sequence[Record]) -> list[Record]:
    """Return records of which each has another id, the last of several, and which are in the order of documents."""
    latest = {record.id: record for record in records}.values()
    first = {record.doc_id: number for number, record in reversed(list(enumerate(latest)))}
    return sorted(
        latest, key=lambda each: (first[each.doc_id], each.sentence_index or 0) if each.source else (len(latest), 0)
    )


def add_records(transaction: Transaction, records: Sequence[Record], vectors: Sequence[bytes]) -> None:
    """Write records, each with another id, of which none is in the database.

    Args:
        transaction: The transaction.
        records: The records, those of a document together and in order; see `latest_of`.
        vectors: Their vectors, in half precision.
    """
    documents = transaction.documents_for(record.doc_id for record in records if record.doc_id is not None)
    first = transaction.version.last_row + 1
    numbers = [None if record.doc_id is None else documents[record.doc_id] for record in records]
    owned = [
        (row, number, record)
        for row, (number, record) in enumerate(zip(numbers, records, strict=True), first)
        if record.source
    ]
    source_keys, new_sources = _shared_keys(
        transaction, "sources", {row: (number, each.source) for row, number, each in owned}
    )
    section_keys, _ = _shared_keys(
        transaction, "sections", {row: (number, each.section, each.context) for row, number, each in owned}
    )
    metadatas = read_metadata([metadata for _, _, metadata, *_ in new_sources])
    names = [
        (key, document, source)
        for (source, document, *_), metadata in zip(new_sources, metadatas, strict=True)
        for key in keys_of_source(metadata)
    ]
    transaction.insert("names", names)
    beginnings = [(row, each.text) for row, _, each in owned if each.start is not None and each.start < FIRST_LINES]
    transaction.insert("first_lines", [(key, row) for row, text in beginnings for key in keys_in(text)])
    rows, of_vectors = list[tuple[Any, ...]](), list[tuple[int, bytes, int]]()
    for row, (number, record, vector) in enumerate(zip(numbers, records, vectors, strict=True), first):
        key, text = text_checksum(record.embedded), stored_text(record.text)
        own = record.own or None
        place = row, record.id, number, record.sentence_index, record.section_number
        shared = source_keys.get(row), section_keys.get(row), record.start, record.end
        rows.append((*place, *shared, text, own, key, row_checksum(record.start, record.end, text, own)))
        of_vectors.append((row, vector, zlib.crc32(vector, key)))
    transaction.insert("sentences", rows)
    transaction.insert("vectors", of_vectors)
    transaction.advance(added=len(rows))


def row_checksum(start: int | None, end: int | None, text: str | bytes, own: str | None) -> int:
    """Return the checksum of a sentence's row."""
    content = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return zlib.crc32(f"{start}\0{end}\0{own}".encode(), zlib.crc32(content))


def _shared_keys(
    transaction: Transaction, table: str, contents: Mapping[int, tuple[Any, ...]]
) -> tuple[dict[int, int], list[tuple[Any, ...]]]:
    """Store what sentences share, each content once, in ``sources`` or ``sections``.

    Args:
        transaction: The transaction.
        table: The table.
        contents: The document, the metadata and, for a section, the context of each row.

    Returns:
        The key of each row, and the rows of the table that were added. A key is the first row that has the content, so
        no key is used twice.
    """
    columns = "document, metadata, context" if table == "sections" else "document, metadata"
    documents = json_list({document for document, *_ in contents.values()})
    stored = transaction.execute(
        f"SELECT {table[:-1]}_key, {columns} FROM {table} WHERE document {ONE_OF}", [documents]
    )
    keys = {(document, metadata, *map(as_text, context)): key for key, document, metadata, *context in stored}
    added = list[tuple[Any, ...]]()
    for row, (document, metadata, *context) in contents.items():
        if keys.setdefault((document, metadata, *context), row) == row:
            added.append((row, document, metadata, *map(stored_text, context), shared_checksum(metadata)))
    transaction.insert(table, added)
    return {row: keys[content] for row, content in contents.items()}, added


def shared_checksum(metadata: str) -> int:
    """Return the checksum of a row of ``sources`` or ``sections``."""
    return zlib.crc32(metadata.encode())


def keys_of_source(metadata: Mapping[str, Any]) -> set[str]:
    """Return the keys of a source's names, as the database stores them."""
    return {key for name in names_in(metadata) for key in name_keys(name)}


# Conditions


def with_ids(ids: Iterable[str]) -> Condition:
    """Return the condition that a record has one of the ids."""
    return f"id {ONE_OF}", [json_list(id_ for id_ in ids if STORABLE_ID.fullmatch(id_))]


def of_documents(doc_ids: Iterable[str]) -> Condition:
    """Return the condition that a record is a sentence of one of some source documents."""
    sql = f"document IN (SELECT document FROM documents WHERE doc_id {ONE_OF})"
    return sql, [json_list(id_ for id_ in doc_ids if STORABLE_ID.fullmatch(id_))]


# Documents


def read_shared(snapshot: Snapshot, table: str, keys: Iterable[int]) -> dict[int, dict[str, Any]]:
    """Read what sentences share, by key.

    Raises:
        StoreError: The database lacks one of them, or it isn't as it was written.
    """
    asked = set(keys)
    key = f"{table[:-1]}_key"
    sql = f"SELECT json_group_array(json_array({key}, metadata, checksum)) FROM {table} WHERE {key} {ONE_OF}"
    found = snapshot.lists(sql, asked) if asked else []
    if len(found) < len(asked) or any(shared_checksum(metadata) != checksum for _, metadata, checksum in found):
        raise damaged(f"{table} as they were written")
    return dict(zip((each[0] for each in found), read_metadata([each[1] for each in found]), strict=True))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def as_time(microseconds: Any) -> datetime | None:
    """Convert microseconds since 1970 UTC; ``None`` for an invalid time, as a database may come from a stranger."""
    try:
        return _EPOCH + timedelta(microseconds=microseconds)
    except (TypeError, OverflowError):
        return None


# JSON

_ENCODER = json.JSONEncoder(allow_nan=False)
_PLAIN = frozenset({str, int, float, bool, type(None)})
_NUL_MARKS = "\\u0000", "\\ue000", STAND_IN
"""A JSON text without these contains no NUL and no replacement of one."""


def read_metadata(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Read metadata from JSON as the database stores it."""
    joined = f"[{','.join(texts)}]"
    try:
        metadatas: list[dict[str, Any]] = json.loads(joined)
    except ValueError:
        raise damaged("metadata that can be read") from None
    return with_nul(metadatas) if any(mark in joined for mark in _NUL_MARKS) else metadatas


def checked_names(ids: Sequence[str], documents: int) -> list[str | None]:
    """Check ids for documents; ``None`` among them requests a new id."""
    is_list = isinstance(ids, Iterable) and not isinstance(ids, str | bytes)
    names: list[str | None] = list(ids) if is_list else [*checked_ids(ids)]
    checked_ids([name for name in names if name is not None])
    if len(names) != documents:
        raise InvalidInputError(f"got {len(names)} ids for {documents} documents; give one for each")
    return names


def _to_json(metadata: dict[str, Any]) -> str:
    """Write metadata as JSON: common types quickly, others converted.

    Raises:
        InvalidInputError: JSON can't hold it; see `json_list`.
    """
    text: str | None = None
    is_plain = all(type(key) is str and type(value) in _PLAIN for key, value in metadata.items())
    # For NaN and infinite floats, orjson would write null.
    if is_plain and all(math.isfinite(value) for value in metadata.values() if type(value) is float):
        with suppress(TypeError):  # a large integer or a lone surrogate
            text = orjson.dumps(metadata).decode()
    if text is None:
        metadata = _converted(metadata)
        text = _ENCODER.encode(metadata)
    return _ENCODER.encode(without_nul(metadata)) if any(mark in text for mark in _NUL_MARKS) else text


def _converted(metadata: Mapping[Any, Any]) -> dict[str, Any]:
    converted: dict[str, Any] = {}
    for key, value in metadata.items():
        try:
            name, converted_value = json_item(key, value, converted)
        except ValueError as error:
            raise InvalidInputError(
                f"the metadata {shown(key)}: {shown(value)} can't be stored as JSON: {error}; convert it, e.g. to a "
                "string"
            ) from error
        converted[name] = converted_value
    return converted


def with_heading(heading: object, text: str) -> str:
    """Put a heading path before a text, as both are searched by words: a sentence often doesn't say what it is about.

    Args:
        heading: The heading path; ignored unless it is a non-empty string.
        text: The text of the sentence.
    """
    return f"{fitted_headings(heading)}\n{text}" if isinstance(heading, str) and heading else text
