"""What is written of sentences: a row for each, and one for what those of a source document or section share."""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from langchain_sentence_window.stores.faiss.database.schema import Record, checksum_of, source_row, stored_text

Row: TypeAlias = tuple[Any, ...]


class _Section(NamedTuple):
    """A section that sentences are written with.

    Attributes:
        key: Its key in the table ``sections``.
        context_length: Characters of what is put before a sentence that stand in its row, not in the sentence's.
        context_checksum: The checksum of these.
    """

    key: int
    context_length: int
    context_checksum: int


class SharedRows(NamedTuple):
    """Rows of what sentences share.

    Attributes:
        sources: Rows of the table ``sources``.
        sections: Rows of the table ``sections``.
        source_keys: The keys of the sources, by the document and by the JSON that their sentences share.
        sections_by_metadata: The sections, likewise.
    """

    sources: list[Row]
    sections: list[Row]
    source_keys: Mapping[tuple[int, str], int]
    sections_by_metadata: Mapping[tuple[int, str], _Section]


def shared_rows(
    records: Sequence[Record],
    first_row: int,
    documents: Mapping[str, int],
    known_sources: Mapping[tuple[int, str], int],
) -> SharedRows:
    """Make the rows of what records share that are written in this order, from a row on.

    Sources that are known are used again. A key is the row of the first sentence that has it, so no key is used twice.
    """
    source_keys = dict(known_sources)
    members: dict[tuple[int, str], list[int]] = {}
    for at, record in enumerate(records):
        if record.doc_id is not None and record.source_metadata:
            document = documents[record.doc_id]
            source_keys.setdefault((document, record.source_metadata), first_row + at)
            members.setdefault((document, record.section_metadata), []).append(at)
    rows: list[Row] = []
    sections: dict[tuple[int, str], _Section] = {}
    for (document, metadata), together in members.items():
        beginning = _common_beginning([records[at].context for at in together])
        context, key = stored_text(beginning), first_row + together[0]
        context_checksum = zlib.crc32(context)
        checksum = checksum_of(key, document, metadata, context_checksum)
        rows.append((key, document, metadata, context, context_checksum, checksum))
        sections[document, metadata] = _Section(key, len(beginning), context_checksum)
    sources = [
        source_row(key, document, metadata) for (document, metadata), key in source_keys.items() if key >= first_row
    ]
    return SharedRows(sources, rows, source_keys, sections)


def _common_beginning(texts: Sequence[str]) -> str:
    first, last = min(texts), max(texts)
    if last.startswith(first):
        return first
    return first[: next(at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)]


def sentence_row(row: int, record: Record, documents: Mapping[str, int], shared: SharedRows) -> Row:
    """Make the row of a sentence; its checksum and that of what was embedded stand at its end."""
    document = None if record.doc_id is None else documents[record.doc_id]
    source_key, section_key, length, checksum = None, None, 0, 0
    if record.source_metadata and document is not None:
        source_key = shared.source_keys[document, record.source_metadata]
        section_key, length, checksum = shared.sections_by_metadata[document, record.section_metadata]
    text, context = stored_text(record.text), stored_text(record.context[length:])
    fields = row, record.id, document, record.doc_id, record.place, record.section, source_key, section_key
    return (
        row,
        record.id,
        document,
        record.place,
        record.section,
        source_key,
        section_key,
        text,
        context,
        record.metadata,
        zlib.crc32(text, zlib.crc32(context, checksum)),
        checksum_of(*fields, record.metadata),
    )
