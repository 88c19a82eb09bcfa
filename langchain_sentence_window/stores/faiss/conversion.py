"""Converts Documents to records and back, and to the texts that are searched by words.

The text of a sentence in the lexical index: its heading path, then its own text.

A sentence often doesn't say what it is about, and its headings do. Both are one text, so a word of a heading counts as
one of the sentence.
"""

import json
import math
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from operator import is_
from typing import Any

import orjson
from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import MAX_INDEX, STORABLE_ID
from langchain_sentence_window.documents.indexed_documents import IndexedDocument, SentenceRun, indexed_documents
from langchain_sentence_window.documents.keys import (
    END_INDEX,
    HEADING,
    PER_SECTION_KEYS,
    PER_SENTENCE_KEYS,
    SENTENCE_INDEX,
    START_INDEX,
    checked_ids,
)
from langchain_sentence_window.documents.metadata_values import json_item, own_values
from langchain_sentence_window.documents.sentence_documents import own_metadata
from langchain_sentence_window.embedding.contextual_vectors import fitted_headings, sentence_key
from langchain_sentence_window.errors import InvalidInputError

from .database.filters import STAND_IN, with_nul, without_nul
from .database.reads import ListedSource
from .database.schema import Record

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ENCODER = json.JSONEncoder(allow_nan=False)
_PLAIN = frozenset({str, int, float, bool, type(None)})
_ALIKE = frozenset({str, int, bool, type(None)})
_STRING = frozenset({str})
_PLACES = SENTENCE_INDEX, START_INDEX, END_INDEX
_NUL_MARKS = "\\u0000", "\\ue000", STAND_IN
"""A text of JSON that has none of these contains neither a NUL nor what stands for it."""


def to_records(
    documents: Sequence[Document], ids: Sequence[str] | None, contexts: Sequence[str] | None = None
) -> list[Record]:
    """Convert Documents to records.

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
    keys, own_keys, source_keys, section_keys = list[str](), list[str](), list[str](), list[str]()
    for document, given_id, context in zip(documents, given, before, strict=True):
        id_ = str(uuid.uuid4()) if given_id is None else given_id
        text, metadata = document.page_content, document.metadata
        doc_id, index, section = sentence_key(metadata)
        if doc_id is None or index is None:
            records.append(Record(id_, text, _to_json(metadata), "", "", doc_id, index, section, context))
            continue
        places = [metadata.get(key) for key in _PLACES]
        is_placed = all(type(place) is int and 0 <= place < MAX_INDEX for place in places)
        if list(metadata) != keys:
            keys = list(metadata)
            own_keys = [key for key in keys if key in PER_SENTENCE_KEYS]
            section_keys = [key for key in keys if key in PER_SECTION_KEYS]
            source_keys = [key for key in keys if key not in PER_SENTENCE_KEYS | PER_SECTION_KEYS]
        own = {key: metadata[key] for key in own_keys if not is_placed or key not in _PLACES}
        written = _to_json(own) if own or not is_placed else ""
        shared = of_source.write(metadata, source_keys), of_section.write(metadata, section_keys)
        _, start, end = places if is_placed else (None, None, None)
        records.append(Record(id_, text, written, *shared, doc_id, index, section, context, start, end))
    names = [*(each.id for each in records), *{each.doc_id: None for each in records if each.doc_id is not None}]
    if not (all(names) and STORABLE_ID.fullmatch("".join(names))):  # all at once, as almost always all can be stored
        for name in names:
            if not STORABLE_ID.fullmatch(name):
                raise InvalidInputError(
                    f"{shown(name)} can't be an id, as it is empty or contains a NUL or a lone surrogate; use another"
                )
    return records


def to_documents(records: Sequence[Record]) -> list[Document]:
    """Convert records back to Documents."""
    shared = list({text for record in records for text in record[3:5] if text})
    # All in one call, which is faster; and what many share only once.
    metadatas = read_metadata([*[record.metadata or "{}" for record in records], *shared])
    read: dict[str, dict[str, Any]] = {"": {}} | dict(zip(shared, metadatas[len(records) :], strict=True))
    nested = {text for text in shared if "[" in text or "{" in text[1:]}
    # The same as Document(...), without its layers of __init__, which take most of the time.
    validate, new = Document.__pydantic_validator__.validate_python, Document.__new__
    return [
        validate({"id": record.id, "page_content": record.text, "metadata": metadata}, self_instance=new(Document))
        for record, own in zip(records, metadatas, strict=False)
        for source, section in [(read[record.source_metadata], read[record.section_metadata])]
        for metadata in [
            (own_values(source) if record.source_metadata in nested else source) | section | _places(record) | own
        ]
    ]


def to_indexed_documents(sources: Sequence[ListedSource]) -> list[IndexedDocument]:
    """Convert what is known of the documents in the database."""
    return indexed_documents(
        SentenceRun(
            each.doc_id, each.sentences, str(section.get(HEADING, "")), own_metadata(source), _as_time(each.written)
        )
        for each in sources
        for section, source in [read_metadata([each.section_metadata, each.source_metadata])]
    )


def _as_time(microseconds: int | None) -> datetime | None:
    """Convert microseconds since 1970 UTC; ``None`` for what isn't a time, as a database may come from a stranger."""
    try:
        return None if microseconds is None else _EPOCH + timedelta(microseconds=microseconds)
    except (TypeError, OverflowError):
        return None


def read_metadata(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Read metadata from JSON as the database stores it."""
    joined = f"[{','.join(texts)}]"
    metadatas: list[dict[str, Any]] = json.loads(joined)
    return with_nul(metadatas) if any(mark in joined for mark in _NUL_MARKS) else metadatas


def _checked_names(ids: Sequence[str], documents: int) -> list[str | None]:
    """Check ids given for documents; ``None`` among them stands for a new id."""
    is_list = isinstance(ids, Iterable) and not isinstance(ids, str | bytes)
    names: list[str | None] = list(ids) if is_list else [*checked_ids(ids)]
    checked_ids([name for name in names if name is not None])
    if len(names) != documents:
        raise InvalidInputError(f"got {len(names)} ids for {documents} documents; give one for each")
    return names


def _places(record: Record) -> dict[str, int | None]:
    if record.start is None:
        return {}
    return {SENTENCE_INDEX: record.sentence_index, START_INDEX: record.start, END_INDEX: record.end}


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
        InvalidInputError: JSON can't hold it; see `as_json`.
    """
    text: str | None = None
    kinds = {*map(type, metadata.values())}
    is_plain = _PLAIN.issuperset(kinds) and {*map(type, metadata)} == _STRING
    # For other numbers, orjson would write null.
    if is_plain and (
        float not in kinds or all(math.isfinite(each) for each in metadata.values() if type(each) is float)
    ):
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


_HEADING_IN_JSON = f'"{HEADING}"'


def with_heading(heading: object, text: str) -> str:
    """Put a heading path before a text, cut as it is when the sentence is embedded.

    Args:
        heading: The heading path; anything but a string that isn't empty stands for none.
        text: The text of the sentence.
    """
    return f"{fitted_headings(heading)}\n{text}" if isinstance(heading, str) and heading else text


def texts_with_headings(rows: Iterable[tuple[int, str, str]]) -> Iterator[tuple[int, str]]:
    """Yield rows with the texts to index.

    Args:
        rows: ``(row, text, metadata of its section as JSON)``; see `Snapshot.texts_after`.
    """
    last, before = "", ""
    for row, text, section in rows:
        if section != last:
            heading = read_metadata([section])[0].get(HEADING) if _HEADING_IN_JSON in section else None
            last, before = section, f"{fitted_headings(heading)}\n" if isinstance(heading, str) and heading else ""
        yield row, before + text
