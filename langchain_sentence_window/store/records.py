"""Documents as records of the database, and back."""

import json
import math
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from langchain_core.documents import Document

from langchain_sentence_window.errors import InvalidInputError, shown
from langchain_sentence_window.ids import checked_ids, is_storable_id
from langchain_sentence_window.metadata.keys import PER_SENTENCE_KEYS
from langchain_sentence_window.metadata.sentence_documents import neighbourhood
from langchain_sentence_window.store.nul import needs_stand_in, with_nul, without_nul
from langchain_sentence_window.store.tables import Record

DEEPEST_METADATA = 100
"""Levels of lists and mappings in each other that metadata may have; SQLite reads no JSON of more than 1,000."""

_ENCODER = json.JSONEncoder(allow_nan=False)
_PLAIN = frozenset({str, int, float, bool, type(None)})
_ALIKE = frozenset({str, int, bool, type(None)})  # of one type and equal, they are the same in JSON
_STRING = frozenset({str})


def to_records(
    documents: Sequence[Document], ids: Sequence[str] | None, contexts: Sequence[str] | None = None
) -> list[Record]:
    """Make records of Documents, under ids that replace their own if there are some.

    Raises:
        InvalidInputError: Not one id or context for each, an id that can't be stored, or metadata JSON can't hold.
    """
    given = _checked_names(ids, len(documents)) if ids is not None else [document.id for document in documents]
    if contexts is not None and len(contexts) != len(documents):
        raise InvalidInputError(f"got {len(contexts)} contexts for {len(documents)} documents; give one for each")
    before = contexts if contexts is not None else [""] * len(documents)
    shared = _SharedMetadata()
    return [
        _record(document, id_, context, shared) for id_, document, context in zip(given, documents, before, strict=True)
    ]


def to_documents(records: Sequence[Record]) -> list[Document]:
    """Make the Documents that records were made of."""
    sections = list({record.shared for record in records if record.shared})
    # All at once, as reading single ones takes twice as long; and what many share only once.
    joined = f"[{','.join([*[record.metadata for record in records], *sections])}]"
    metadatas: list[dict[str, Any]] = json.loads(joined)
    if needs_stand_in(joined):
        metadatas = with_nul(metadatas)
    shared = dict(zip(sections, metadatas[len(records) :], strict=True))
    nested = {text for text, metadata in shared.items() if _has_nested(metadata)}
    # What Document(...) does, without its layers of __init__, which take longer than all it does.
    validate, new = Document.__pydantic_validator__.validate_python, Document.__new__
    documents: list[Document] = []
    for record, metadata in zip(records, metadatas, strict=False):
        if record.shared:
            whole = shared[record.shared]
            metadata = (_copied(whole) if record.shared in nested else whole) | metadata
        fields = {"id": record.id, "page_content": record.text, "metadata": metadata}
        documents.append(validate(fields, self_instance=new(Document)))
    return documents


def _checked_names(ids: Sequence[str], documents: int) -> list[str | None]:
    """Ids given for documents; ``None`` among them stands for a new one."""
    if isinstance(ids, str):
        checked_ids(ids)
    names: list[str | None] = list(ids)
    checked_ids([name for name in names if name is not None])
    if len(names) != documents:
        raise InvalidInputError(f"got {len(names)} ids for {documents} documents; give one for each")
    return names


def _record(document: Document, id_: str | None, context: str, shared: "_SharedMetadata") -> Record:
    metadata = document.metadata
    doc_id, place, section = neighbourhood(metadata)
    for given in (id_, doc_id):
        if isinstance(given, str) and not is_storable_id(given):
            raise InvalidInputError(
                f"{shown(given)} can't be an id, as it is empty or holds a NUL or a lone surrogate; use another"
            )
    name = str(uuid.uuid4()) if id_ is None else id_
    if doc_id is None or place is None:
        return Record(name, document.page_content, _to_json(metadata), "", doc_id, place, section, context)
    own = {key: value for key, value in metadata.items() if key in PER_SENTENCE_KEYS}
    written = shared.to_json({key: value for key, value in metadata.items() if key not in own})
    return Record(name, document.page_content, _to_json(own), written, doc_id, place, section, context)


class _SharedMetadata:
    """Writes what sentences share as JSON: once for those that come one after the other."""

    def __init__(self) -> None:
        self._keys: list[str] = []
        self._values: list[Any] = []
        self._types: list[type] = []
        self._text = ""

    def to_json(self, metadata: dict[str, Any]) -> str:
        keys, values = list(metadata), list(metadata.values())
        types = list(map(type, values))
        if not (self._text and types == self._types and keys == self._keys and values == self._values):
            text = _to_json(metadata)
            if not _ALIKE.issuperset(types):
                return text
            self._keys, self._values, self._types, self._text = keys, values, types, text
        return self._text


def _to_json(metadata: dict[str, Any]) -> str:
    """Write metadata as JSON, unless it would come back changed or not at all."""
    text = _plain_to_json(metadata) or _any_to_json(metadata)
    return _ENCODER.encode(without_nul(metadata)) if needs_stand_in(text) else text


def _plain_to_json(metadata: Mapping[str, Any]) -> str | None:
    """Write what most metadata is, quickly: no lists, no mappings, no numbers that JSON may not give back."""
    kinds = {*map(type, metadata.values())}
    if not _PLAIN.issuperset(kinds) or {*map(type, metadata)} != _STRING:
        return None
    if float in kinds and not all(math.isfinite(value) for value in metadata.values() if type(value) is float):
        return None  # orjson would write null
    try:
        return orjson.dumps(metadata).decode()
    except TypeError:
        return None  # a large integer or a lone surrogate


def _any_to_json(metadata: dict[str, Any]) -> str:
    try:
        text = _ENCODER.encode(metadata)
    except (TypeError, ValueError, RecursionError) as error:
        key, value = next(
            ((key, value) for key, value in metadata.items() if not _is_json(key, value)), ("?", metadata)
        )
        why = "it nests too deep" if isinstance(error, RecursionError) else error
        raise InvalidInputError(
            f"the metadata {shown(key)}: {shown(value)} can't be stored as JSON: {why}; convert the value, e.g. "
            "to a string"
        ) from error
    for key, value in metadata.items():
        if _is_deeper(value, DEEPEST_METADATA - 1):
            raise InvalidInputError(
                f"the metadata {shown(key)} nests more than {DEEPEST_METADATA} levels; flatten it, or store it as "
                "a string"
            )
    if json.loads(text) != metadata:
        raise InvalidInputError(
            f"the metadata {shown(metadata)} would come back from JSON as {shown(text)}; use strings as keys, and "
            "lists instead of tuples"
        )
    return text


def _is_json(key: object, value: object) -> bool:
    try:
        _ENCODER.encode({key: value})
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _is_deeper(value: object, levels: int) -> bool:
    """Whether lists and mappings nest more than so many levels."""
    if not isinstance(value, list | tuple | dict):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return not levels or any(_is_deeper(each, levels - 1) for each in inner)


def _has_nested(metadata: Mapping[str, Any]) -> bool:
    return any(isinstance(value, list | dict) for value in metadata.values())


def _copied(value: Any) -> Any:
    """Copy what JSON gave, so that no two Documents share what can be changed."""
    if isinstance(value, list):
        return list(map(_copied, value))
    if isinstance(value, dict):
        return {key: _copied(each) for key, each in value.items()}
    return value
