"""Documents as rows of the database, and back.

The metadata of a sentence is stored in three parts, as JSON: what the sentences of a source document share, what those
of a section share, and its own. The index, the start and the end of a sentence have columns.
"""

import json
import math
import uuid
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from operator import is_
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
from langchain_sentence_window.documents.metadata_values import json_item, own_values
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
        start: Where the sentence starts in its source document; ``None`` if its metadata tells all of its places.
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
        ids: Ids to use instead of their own, if any; ``None`` among them for a new id.
        contexts: Text to put before each Document's text when it is embedded, if any.

    Raises:
        InvalidInputError: There isn't one id or context for each Document, an id can't be stored, or the metadata
            can't be stored as JSON.
    """
    given = _checked_names(ids, len(documents)) if ids is not None else [document.id for document in documents]
    if contexts is not None and len(contexts) != len(documents):
        raise InvalidInputError(f"got {len(contexts)} contexts for {len(documents)} documents; give one for each")
    before = contexts if contexts is not None else [""] * len(documents)
    of_source, of_section, records = _SharedPart(), _SharedPart(), list[Record]()
    keys, own_keys, unplaced_keys = list[str](), list[str](), list[str]()
    source_keys, section_keys = list[str](), list[str]()
    for document, given_id, context in zip(documents, given, before, strict=True):
        id_ = str(uuid.uuid4()) if given_id is None else given_id
        text, metadata = document.page_content, document.metadata
        doc_id, index, section = sentence_key(metadata)
        if doc_id is None or index is None:
            records.append(Record(id_, text, _to_json(metadata), "", "", doc_id, index, section, context))
            continue
        start, end = metadata.get(START_INDEX), metadata.get(END_INDEX)
        is_placed = type(start) is int and type(end) is int and 0 <= start < MAX_INDEX and 0 <= end < MAX_INDEX
        is_placed = is_placed and type(metadata[SENTENCE_INDEX]) is int
        if list(metadata) != keys:  # all of a document have the same, as a rule
            keys = list(metadata)
            own_keys = [key for key in keys if key in PER_SENTENCE_KEYS]
            unplaced_keys = [key for key in own_keys if key not in _PLACES]
            section_keys = [key for key in keys if key in PER_SECTION_KEYS]
            source_keys = [key for key in keys if key not in PER_SENTENCE_KEYS | PER_SECTION_KEYS]
        own = {key: metadata[key] for key in (unplaced_keys if is_placed else own_keys)}
        written = _to_json(own) if own or not is_placed else ""
        shared = of_source.write(metadata, source_keys), of_section.write(metadata, section_keys)
        places = (start, end) if is_placed else (None, None)
        records.append(Record(id_, text, written, *shared, doc_id, index, section, context, *places))
    names = [*(each.id for each in records), *{each.doc_id: None for each in records if each.doc_id is not None}]
    are_storable = all(names) and STORABLE_ID.fullmatch("".join(names))  # all at once, as almost always all are
    for name in () if are_storable else names:
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
    sources = _Shared(transaction, "sources", "source_key", documents.values())
    sections = _Shared(transaction, "sections", "section_key", documents.values())
    source_keys = {row: sources.key(row, (number, each.source)) for row, number, each in owned}
    section_keys = {row: sections.key(row, (number, each.section, each.context)) for row, number, each in owned}
    sections.insert()
    new = sources.insert()
    metadatas = read_metadata([metadata for _, _, metadata, _ in new])
    names = [
        (key, document, source)
        for (source, document, *_), metadata in zip(new, metadatas, strict=True)
        for key in keys_of_source(metadata)
    ]
    transaction.insert("names", names)
    beginnings = [(row, each.text) for row, _, each in owned if each.start is not None and each.start < FIRST_LINES]
    transaction.insert("first_lines", [(key, row) for row, text in beginnings for key in keys_in(text)])
    rows, of_vectors = list[tuple[Any, ...]](), list[tuple[int, bytes, int]]()
    for row, (number, record, vector) in enumerate(zip(numbers, records, vectors, strict=True), first):
        key, text = text_checksum(record.embedded), stored_text(record.text)
        own = record.own or None
        stands = row, record.id, number, record.sentence_index, record.section_number
        shared = source_keys.get(row), section_keys.get(row), record.start, record.end
        rows.append((*stands, *shared, text, own, key, row_checksum(record.start, record.end, text, own)))
        of_vectors.append((row, vector, zlib.crc32(vector, key)))
    transaction.insert("sentences", rows)
    transaction.insert("vectors", of_vectors)
    transaction.added(len(rows))


def row_checksum(start: int | None, end: int | None, text: str | bytes, own: str | None) -> int:
    """Return the checksum of a sentence's row."""
    content = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return zlib.crc32(f"{start}\0{end}\0{own}".encode(), zlib.crc32(content))


class _Shared:
    """What sentences share, in one of the tables ``sources`` and ``sections``.

    A key is the row of the first sentence that has it, so no key is used twice.
    """

    def __init__(self, transaction: Transaction, table: str, key: str, documents: Iterable[int]) -> None:
        self._transaction, self._table = transaction, table
        columns = "document, metadata, context" if table == "sections" else "document, metadata"
        known = transaction.execute(
            f"SELECT {key}, {columns} FROM {table} WHERE document {ONE_OF}",
            [json_list(documents)],
        )
        self._keys = {(document, metadata, *map(as_text, rest)): key for key, document, metadata, *rest in known}
        self._new: list[tuple[Any, ...]] = []

    def key(self, row: int, content: tuple[Any, ...]) -> int:
        """Return the key of a content: the one that is known, or the row."""
        key: int = self._keys.setdefault(content, row)
        if key == row:
            document, metadata, *rest = content
            stored = document, metadata, *map(stored_text, rest)
            self._new.append((row, *stored, shared_checksum(metadata)))
        return key

    def insert(self) -> list[tuple[Any, ...]]:
        """Write what is new, and return it."""
        self._transaction.insert(self._table, self._new)
        return self._new


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
    """Return the condition that a record is a sentence of one of the source documents."""
    sql = f"document IN (SELECT document FROM documents WHERE doc_id {ONE_OF})"
    return sql, [json_list(id_ for id_ in doc_ids if STORABLE_ID.fullmatch(id_))]


# Documents


def read_documents(snapshot: Snapshot, condition: Condition) -> dict[int, Document]:
    """Read the Documents that meet a condition, by row.

    Raises:
        StoreError: One isn't as it was written.
    """
    sql, parameters = condition
    found = snapshot.execute(
        "SELECT row, id, text, own, source_key, section_key, sentence_index, start_index, end_index, checksum "
        f"FROM sentences WHERE {sql}",
        parameters,
    ).fetchall()
    sources = read_shared(snapshot, "sources", {each[4] for each in found if each[4] is not None})
    sections = read_shared(snapshot, "sections", {each[5] for each in found if each[5] is not None})
    owns = read_metadata([each[3] or "{}" for each in found])
    documents: dict[int, Document] = {}
    # The same as Document(...), without its layers of __init__, which take most of the time.
    validate, new = Document.__pydantic_validator__.validate_python, Document.__new__
    for (row, id_, text, own, source_key, section_key, *places, checksum), own_metadata in zip(
        found, owns, strict=True
    ):
        if row_checksum(places[1], places[2], text, own) != checksum:
            raise damaged("sentences as they were written")
        metadata = own_metadata
        if source_key is not None:
            placed = dict(zip(_PLACES, places, strict=True)) if places[1] is not None else {}
            metadata = own_values(sources[source_key]) | sections[section_key] | placed | own_metadata
        values = {"id": id_, "page_content": as_text(text), "metadata": metadata}
        documents[row] = validate(values, self_instance=new(Document))
    return documents


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
    """Convert microseconds since 1970 UTC; ``None`` for what isn't a time, as a database may come from a stranger."""
    try:
        return _EPOCH + timedelta(microseconds=microseconds)
    except (TypeError, OverflowError):
        return None


# JSON

_ENCODER = json.JSONEncoder(allow_nan=False)
_PLAIN = frozenset({str, int, float, bool, type(None)})
_ALIKE = frozenset({str, int, bool, type(None)})
_STRING = frozenset({str})
_NUL_MARKS = "\\u0000", "\\ue000", STAND_IN
"""A text of JSON that has none of these contains neither a NUL nor what stands for it."""


def read_metadata(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Read metadata from JSON as the database stores it."""
    joined = f"[{','.join(texts)}]"
    try:
        metadatas: list[dict[str, Any]] = json.loads(joined)
    except ValueError:
        raise damaged("metadata that can be read") from None
    return with_nul(metadatas) if any(mark in joined for mark in _NUL_MARKS) else metadatas


def _checked_names(ids: Sequence[str], documents: int) -> list[str | None]:
    """Check ids given for documents; ``None`` among them stands for a new id."""
    is_list = isinstance(ids, Iterable) and not isinstance(ids, str | bytes)
    names: list[str | None] = list(ids) if is_list else [*checked_ids(ids)]
    checked_ids([name for name in names if name is not None])
    if len(names) != documents:
        raise InvalidInputError(f"got {len(names)} ids for {documents} documents; give one for each")
    return names


@dataclass(eq=False, slots=True)
class _SharedPart:
    """Writes some keys of metadata as JSON, once for consecutive Documents with the same values."""

    _keys: list[str] = field(default_factory=list)
    _values: list[Any] = field(default_factory=list)
    _types: list[type] = field(default_factory=list)
    _text: str = ""

    def write(self, metadata: Mapping[str, Any], keys: list[str]) -> str:
        """Return the JSON of the keys."""
        values = [metadata[key] for key in keys]
        if self._text and keys == self._keys:
            if all(map(is_, values, self._values)):
                return self._text
            # Equal values of different types may differ in JSON.
            types = list(map(type, values))
            if types == self._types and _ALIKE.issuperset(types) and values == self._values:
                return self._text
        self._keys, self._values, self._types = keys, values, list(map(type, values))
        self._text = _to_json(dict(zip(keys, values, strict=True)))
        return self._text


def _to_json(metadata: dict[str, Any]) -> str:
    """Write metadata as JSON: quickly what is common, and else converted, as are nested values.

    Raises:
        InvalidInputError: JSON can't hold it; see `json_list`.
    """
    text: str | None = None
    kinds = {*map(type, metadata.values())}
    is_plain = _PLAIN.issuperset(kinds) and _STRING.issuperset(map(type, metadata))
    floats = [each for each in metadata.values() if type(each) is float] if float in kinds else ()
    if is_plain and all(map(math.isfinite, floats)):  # for other floats, orjson would write null
        try:
            text = orjson.dumps(metadata).decode()
        except TypeError:  # a large integer or a lone surrogate
            text = None
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
        heading: The heading path; anything but a string that isn't empty stands for none.
        text: The text of the sentence.
    """
    return f"{fitted_headings(heading)}\n{text}" if isinstance(heading, str) and heading else text
