"""Documents as records of the database, and back."""

import json
import math
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from langchain_core.documents import Document

from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ids import is_storable_id
from langchain_sentence_window.metadata.sentence_documents import neighbourhood
from langchain_sentence_window.store.nul import needs_stand_in, with_nul, without_nul
from langchain_sentence_window.store.tables import Record

_ENCODER = json.JSONEncoder(allow_nan=False)
_PLAIN = frozenset({str, int, float, bool, type(None)})
_STRING = frozenset({str})


def to_records(
    documents: Sequence[Document], ids: Sequence[str] | None, contexts: Sequence[str] | None = None
) -> list[Record]:
    """Make records of Documents, under ids that replace their own if there are some.

    Raises:
        InvalidInputError: Not one id or context for each, an id that can't be stored, or metadata JSON can't hold.
    """
    if ids is not None and len(ids) != len(documents):
        raise InvalidInputError(f"got {len(ids)} ids for {len(documents)} documents; give one for each")
    if contexts is not None and len(contexts) != len(documents):
        raise InvalidInputError(f"got {len(contexts)} contexts for {len(documents)} documents; give one for each")
    given = ids if ids is not None else [document.id for document in documents]
    before = contexts if contexts is not None else [""] * len(documents)
    return [_record(document, id_, context) for id_, document, context in zip(given, documents, before, strict=True)]


def to_documents(records: Sequence[Record]) -> list[Document]:
    """Make the Documents that records were made of."""
    # All at once, as reading single ones takes twice as long.
    joined = f"[{','.join([record.metadata for record in records])}]"
    metadatas: list[dict[str, Any]] = json.loads(joined)
    if needs_stand_in(joined):
        metadatas = with_nul(metadatas)
    # What Document(...) does, without its layers of __init__, which take longer than all it does.
    validate, new = Document.__pydantic_validator__.validate_python, Document.__new__
    return [
        validate({"id": record.id, "page_content": record.text, "metadata": metadata}, self_instance=new(Document))
        for record, metadata in zip(records, metadatas, strict=True)
    ]


def _record(document: Document, id_: str | None, context: str) -> Record:
    doc_id, place, section = neighbourhood(document.metadata)
    for given in (id_, doc_id):
        if isinstance(given, str) and not is_storable_id(given):
            raise InvalidInputError(
                f"{given!r} can't be an id, as it is empty or holds a NUL or a lone surrogate; use another"
            )
    name = str(uuid.uuid4()) if id_ is None else id_
    return Record(name, document.page_content, _to_json(document.metadata), doc_id, place, section, context)


def _to_json(metadata: Mapping[str, Any]) -> str:
    """Write metadata as JSON, unless it would come back changed or not at all."""
    text = _plain_to_json(metadata) or _any_to_json(metadata)
    return _ENCODER.encode(without_nul(dict(metadata))) if needs_stand_in(text) else text


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


def _any_to_json(metadata: Mapping[str, Any]) -> str:
    try:
        text = _ENCODER.encode(metadata)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"the metadata {dict(metadata)!r} can't be stored as JSON: {error}; convert the value, e.g. to a string"
        ) from error
    if json.loads(text) != metadata:
        raise InvalidInputError(
            f"the metadata {dict(metadata)!r} would come back from JSON as {text}; use strings as keys, and lists "
            "instead of tuples"
        )
    return text
