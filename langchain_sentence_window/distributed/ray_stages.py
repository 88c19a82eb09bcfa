"""The stages of an ingest on Ray Data, which Ray sends to its workers.

    read files or rows -> gather the parts of each document -> write

Between stages a row is a document with all of its parts, or the `Outcome` of one that can't be read; in the end all are
outcomes. They are packed as JSON, which holds any text, even text that UTF-8 can't encode. So no document is split over
workers, regardless of how Ray cuts the rows into blocks.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window.documents.part_groups import (
    Group,
    JoinParts,
    document_ids,
    group_by_name,
    group_documents,
)
from langchain_sentence_window.documents.source_documents import JSON, MetadataFitter
from langchain_sentence_window.errors import InvalidInputError

from .document_writer import DocumentWriter, describe_error
from .ingest_summary import Outcome

ROW, NAME = "row", "name"
"""Columns between stages: a packed document or outcome, and the name by which the parts of a document are grouped."""

PATH = "path"
TEXT, METADATA, ID = "text", "metadata", "id"
"""Columns of the input."""

Row = dict[str, Any]
LoadFile: TypeAlias = Callable[[str], Iterable[Document]]
"""Reads the file at a path or address."""


def read_file_row(row: Row, load: LoadFile, join: JoinParts) -> Row:
    """Read a file whose path is in a row, as one document. A file that can't be read becomes a failure."""
    path = str(row[PATH])
    try:
        (group,) = group_documents(list(load(path)), True if join is False else join)
    except Exception as error:  # noqa: BLE001 - the other files are still read
        return pack_failure(path, error)
    return pack_group(group, MetadataFitter(JSON))


def read_row(row: Row, join: JoinParts) -> Row:
    """Make a document, or a part of one, of ``text``, and of ``id`` and ``metadata`` if given; the rest is metadata."""
    try:
        document = document_of(row)
        name = document_ids([document], join)[0]
        packed = pack_row(name, [document], MetadataFitter(JSON))
    except Exception as error:  # noqa: BLE001
        name = str(row.get(ID) or shown(row))
        packed = pack_failure(name, error)
    return {**packed, NAME: json.dumps(name)}


def gather(rows: Mapping[str, Iterable[str]], join: JoinParts) -> dict[str, list[str]]:
    """Group the parts of a document, in an order that doesn't depend on the blocks that they were in."""
    found = [unpack_row(each, join) for each in sorted(set(rows[ROW]))]
    made = [pack_failure(each.doc_id, each.error) for each in found if isinstance(each, Outcome)]
    parts = [part.document for each in found if isinstance(each, Group) for part in each.parts]
    try:
        made += [pack_group(group, MetadataFitter(JSON)) for group in group_documents(parts, join)]
    except InvalidInputError as error:
        made.append(pack_failure(document_ids(parts, join)[0], error))
    return {ROW: [each[ROW] for each in made]}


class WriteDocuments:
    """Writes documents in an actor, which opens the store and loads the embedder once."""

    def __init__(self, writer: DocumentWriter, join: JoinParts) -> None:
        """Take the writer."""
        self._writer, self._join = writer, join

    def __call__(self, rows: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
        """Write documents; return their outcomes."""
        found = [unpack_row(each, self._join) for each in rows[ROW]]
        outcomes = [each for each in found if isinstance(each, Outcome)]
        groups = [each for each in found if isinstance(each, Group)]
        try:
            outcomes += self._writer._write_groups(groups)
        except InvalidInputError as error:  # of the store or a setting, not of a document
            outcomes += [Outcome(each.doc_id, "stopped", error=describe_error(error)) for each in groups]
        return {ROW: [json.dumps(asdict(each)) for each in outcomes]}


def document_of(row: Row) -> Document:
    """Make a Document of a row.

    Raises:
        InvalidInputError: There is no text, or the metadata isn't a mapping.
    """
    text, metadata, id_ = row.get(TEXT), row.get(METADATA), row.get(ID)
    if not isinstance(text, str):
        raise InvalidInputError(f"a row has text {shown(text)}; give rows with the text as a string in the column text")
    if isinstance(metadata, str):
        metadata = json.loads(metadata)
    if not isinstance(metadata, Mapping | None):
        raise InvalidInputError(f"a row has metadata {shown(metadata)}; give a mapping, or one written as JSON")
    others = {key: value for key, value in row.items() if key not in (TEXT, METADATA, ID)}
    own = {key: value for key, value in {**others, **(metadata or {})}.items() if value is not None}
    return Document(id=None if id_ is None else str(id_), page_content=text, metadata=own)


def pack_group(group: Group, fitter: MetadataFitter) -> Row:
    """Write a document with all of its parts; metadata that JSON can't hold is left out."""
    return pack_row(group.doc_id, [part.document for part in group.parts], fitter)


def pack_row(name: str, parts: Sequence[Document], fitter: MetadataFitter) -> Row:
    """Pack a document, or a part of one, into a row; metadata that JSON can't hold is left out."""
    fitted = [(part.id, part.page_content, part.metadata) for part in fitter.fit(parts)]
    return {ROW: json.dumps([name, fitted])}


def pack_failure(name: str, error: Exception | str) -> Row:
    """Pack the outcome of a document that can't be read into a row."""
    why = error if isinstance(error, str) else describe_error(error)
    return {ROW: json.dumps(asdict(Outcome(name, "failed", error=why)))}


def unpack_row(packed: str, join: JoinParts) -> Group | Outcome:
    """Unpack a document or an outcome from a row."""
    row = json.loads(packed)
    if isinstance(row, dict):
        return Outcome(**row)
    name, parts = row
    documents = [Document(id=id_, page_content=text, metadata=metadata) for id_, text, metadata in parts]
    return group_by_name(documents, join, [name] * len(documents))[0]
