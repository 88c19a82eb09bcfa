"""Documents as records of the database, and back."""

import json
import math
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
from langchain_core.documents import Document

from langchain_sentence_window._showing import shown
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ids import checked_ids, is_storable_id
from langchain_sentence_window.metadata.keys import PER_SENTENCE_KEYS
from langchain_sentence_window.metadata.sentence_documents import neighbourhood
from langchain_sentence_window.store.nul import needs_stand_in, with_nul, without_nul
from langchain_sentence_window.store.tables import Record

DEEPEST_METADATA = 100
"""Levels of lists and mappings in each other that metadata may have; SQLite reads no JSON of more than 1,000."""

_ENCODER = json.JSONEncoder(allow_nan=False)
_PLAIN = frozenset({str, int, float, bool, type(None)})
_ALIKE = frozenset({str, int, bool, type(None)})
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
    nested = {text for text in sections if "[" in text or "{" in text[1:]}
    # What Document(...) does, without its layers of __init__, which take longer than all it does.
    validate, new = Document.__pydantic_validator__.validate_python, Document.__new__
    return [
        validate({"id": record.id, "page_content": record.text, "metadata": metadata}, self_instance=new(Document))
        for record, own in zip(records, metadatas, strict=False)
        for common in [shared.get(record.shared, own)]
        for metadata in [(_copied(common) if record.shared in nested else common) | own]
    ]


def _checked_names(ids: Sequence[str], documents: int) -> list[str | None]:
    """Ids given for documents; ``None`` among them stands for a new one."""
    is_list = isinstance(ids, Iterable) and not isinstance(ids, str | bytes)
    names: list[str | None] = list(ids) if is_list else [*checked_ids(ids)]
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
    is_sentence = doc_id is not None and place is not None
    own, common = shared.split(metadata) if is_sentence else (_to_json(metadata), "")
    return Record(name, document.page_content, own, common, doc_id, place, section, context)


class _SharedMetadata:
    """Writes metadata as JSON, what sentences share once for all those that come one after the other."""

    def __init__(self) -> None:
        self._keys: list[str] = []
        self._own: list[str] = []
        self._shared: list[str] = []
        self._values: list[Any] = []
        self._types: list[type] = []
        self._text = ""

    def split(self, metadata: Mapping[str, Any]) -> tuple[str, str]:
        """Write what is a sentence's own, and what it shares with others."""
        keys = list(metadata)
        if keys != self._keys:
            self._keys, self._text = keys, ""
            self._own = [key for key in keys if key in PER_SENTENCE_KEYS]
            self._shared = [key for key in keys if key not in PER_SENTENCE_KEYS]
        return _to_json({key: metadata[key] for key in self._own}), self._shared_text(metadata)

    def _shared_text(self, metadata: Mapping[str, Any]) -> str:
        values = [metadata[key] for key in self._shared]
        types = list(map(type, values))
        if self._text and types == self._types and values == self._values:
            return self._text
        text = _to_json(dict(zip(self._shared, values, strict=True)))
        # Of other types, values that are equal may not be the same in JSON.
        self._types, self._values, self._text = types, values, text if _ALIKE.issuperset(types) else ""
        return text


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


def _copied(value: Any) -> Any:
    """Copy what JSON gave, so that no two Documents share what can be changed."""
    if isinstance(value, list):
        return list(map(_copied, value))
    if isinstance(value, dict):
        return {key: _copied(each) for key, each in value.items()}
    return value
