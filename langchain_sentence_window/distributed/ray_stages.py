"""The stages of an ingest on Ray Data: functions of tables of Arrow, which Ray sends to its workers.

Before the last stage a table has one row for each document, with all of its parts in it. So no document is split over
workers, however the rows are cut into blocks.
"""

import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._showing import shown
from langchain_sentence_window.distributed.document_writer import DocumentWriter, describe_error
from langchain_sentence_window.distributed.files import load_bytes, load_path
from langchain_sentence_window.distributed.outcomes import Outcome
from langchain_sentence_window.distributed.packing import fitted_to_json, pack, pack_outcome, unpack
from langchain_sentence_window.documents.parts.grouping import JoinParts, document_ids, group_documents
from langchain_sentence_window.errors import InvalidInputError

DOCUMENT, OUTCOME, BUCKET = "document", "outcome", "bucket"
"""Columns of the stages' tables: a packed document, a packed outcome, and a number that brings parts together."""

PATH, ROOT, BYTES = "path", "root", "bytes"
TEXTS = ("text", "page_content")
METADATA, ID = "metadata", "id"


class ReadFiles:
    """Reads files, one document each. A file that can't be read becomes an outcome."""

    def __init__(self, join: JoinParts) -> None:
        """Take how parts are joined."""
        self._join = join

    def __call__(self, table: Any) -> Any:
        """Read a table with paths, and their roots or the files' bytes."""
        rows = table.to_pylist()
        return packed_table([self._read(row) for row in rows])

    def _read(self, row: Mapping[str, Any]) -> tuple[bytes, bytes]:
        path = str(row[PATH])
        try:
            documents = load_bytes(row[BYTES], path) if BYTES in row else load_path(path, row[ROOT])
            (group,) = group_documents(documents, True if self._join is False else self._join)
        except Exception as error:  # noqa: BLE001 - one odd file mustn't keep the others out
            return b"", pack_outcome(Outcome(path, "failed", error=describe_error(error)))
        return pack(group.doc_id, [part.document for part in group.parts]), b""


class ReadRows:
    """Makes documents of rows: a column ``text``, maybe ``id`` and ``metadata``; the other columns are metadata."""

    def __init__(self, join: JoinParts, buckets: int | None) -> None:
        """Take how parts are joined, and the number of buckets; ``None`` if each row is a whole document."""
        self._join, self._buckets = join, buckets

    def __call__(self, table: Any) -> Any:
        """Pack each row, with the bucket of the document that it is, or is a part of."""
        import pyarrow as pa

        packed, failed, buckets = [], [], []
        for row in table.to_pylist():
            try:
                document = document_of(row)
                name = document_ids([document], self._join)[0]
                packed.append(pack(name, [document]))
                failed.append(b"")
            except Exception as error:  # noqa: BLE001
                name = str(row.get(ID) or shown(row))
                packed.append(b"")
                failed.append(pack_outcome(Outcome(name, "failed", error=describe_error(error))))
            buckets.append(bucket_of(name, self._buckets or 1))
        made = packed_table(list(zip(packed, failed, strict=True)))
        return made if self._buckets is None else made.append_column(BUCKET, pa.array(buckets, pa.int32()))


def gather(table: Any, join: JoinParts) -> Any:
    """Bring the parts of each document in a bucket together, in an order that doesn't depend on the blocks."""
    rows = sorted(set(zip(table[DOCUMENT].to_pylist(), table[OUTCOME].to_pylist(), strict=True)))
    made = [row for row in rows if row[1]]
    by_name: dict[str, list[Document]] = {}
    for packed, failed in rows:
        if not failed:
            group = unpack(packed, join)
            by_name.setdefault(group.doc_id, []).append(group.parts[0].document)
    for name, documents in by_name.items():
        try:
            groups = group_documents(documents, join)
        except InvalidInputError as error:
            made.append((b"", pack_outcome(Outcome(name, "failed", error=describe_error(error)))))
            continue
        made += [(pack(each.doc_id, [part.document for part in each.parts]), b"") for each in groups]
    return packed_table(made)


class WriteDocuments:
    """Writes documents in an actor, which opens the store and loads the embedder once."""

    def __init__(self, writer: DocumentWriter, join: JoinParts) -> None:
        """Take the writer."""
        self._writer, self._join = writer, join

    def __call__(self, table: Any) -> Iterator[Any]:
        """Write the documents of a table; yield what became of them."""
        import pyarrow as pa

        rows = list(zip(table[DOCUMENT].to_pylist(), table[OUTCOME].to_pylist(), strict=True))
        done = [failed for _, failed in rows if failed]
        groups = [unpack(packed, self._join) for packed, failed in rows if not failed]
        try:
            done += map(pack_outcome, self._writer.write(groups))
        except InvalidInputError as error:  # of the store or a setting, not of a document
            done += [pack_outcome(Outcome(each.doc_id, "stopped", error=describe_error(error))) for each in groups]
        yield pa.table({OUTCOME: pa.array(done, pa.binary())})


def packed_table(rows: list[tuple[bytes, bytes]]) -> Any:
    """Return a table of packed documents and outcomes, one of them in each row."""
    import pyarrow as pa

    columns = list(zip(*rows, strict=True)) if rows else [(), ()]
    return pa.table(
        {
            name: pa.array(list(column), pa.large_binary())
            for name, column in zip((DOCUMENT, OUTCOME), columns, strict=True)
        }
    )


def bucket_of(name: str, buckets: int) -> int:
    """Return the bucket of a document, the same in each process."""
    return zlib.crc32(name.encode("utf-8", "surrogatepass")) % buckets


def document_of(row: Mapping[str, Any]) -> Document:
    """Make a Document of a row.

    Raises:
        InvalidInputError: There is no text, or the metadata isn't a mapping.
    """
    text_key = next((name for name in TEXTS if name in row), None)
    text = row.get(text_key) if text_key else None
    if not isinstance(text, str):
        raise InvalidInputError(f"a row has text {shown(text)}; give rows with the text as a string in the column text")
    metadata = row.get(METADATA)
    if isinstance(metadata, str):
        metadata = json.loads(metadata)
    if not isinstance(metadata, Mapping | None):
        raise InvalidInputError(f"a row has metadata {shown(metadata)}; give a mapping, or one written as JSON")
    others = {key: value for key, value in row.items() if key not in (text_key, METADATA, ID)}
    given = {key: value for key, value in {**others, **(metadata or {})}.items() if value is not None}
    id_ = row.get(ID)
    (made,) = fitted_to_json([Document(id=None if id_ is None else str(id_), page_content=text, metadata=given)])
    return made
