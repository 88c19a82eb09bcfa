"""The rows that are written for sentences: one for each, and one for what a source document or section shares."""

import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from langchain_sentence_window.documents.keys import END_INDEX, SENTENCE_INDEX, START_INDEX
from langchain_sentence_window.stores.faiss.database.schema import (
    Record,
    checksum_of,
    source_row,
    stored_text,
)
from langchain_sentence_window.stores.faiss.database.uuids import uuid_numbers

Row: TypeAlias = tuple[Any, ...]

_NUMBER = "(0|[1-9][0-9]{0,17})"
_PLACED = re.compile(f'{{"{SENTENCE_INDEX}":{_NUMBER},"{START_INDEX}":{_NUMBER},"{END_INDEX}":{_NUMBER}(?=[,}}])')
"""The beginning of the metadata of almost all sentences."""


class _Section(NamedTuple):
    """A section of new sentences.

    Attributes:
        key: Its key in the table ``sections``.
        context_length: The number of characters of a sentence's context that are stored with the section.
        context_checksum: The checksum of these characters.
    """

    key: int
    context_length: int
    context_checksum: int


class SharedRows(NamedTuple):
    """Rows for what sentences share.

    Attributes:
        sources: Rows of the table ``sources``.
        sections: Rows of the table ``sections``.
        joining: How many of the sentences join each source that is in the database, and its key.
        source_keys: The keys of the sources, by document and shared JSON.
        sections_by_metadata: The sections, by document and shared JSON.
    """

    sources: list[Row]
    sections: list[Row]
    joining: list[tuple[int, int]]
    source_keys: Mapping[tuple[int, str], int]
    sections_by_metadata: Mapping[tuple[int, str], _Section]


def shared_rows(
    records: Sequence[Record],
    first_row: int,
    documents: Mapping[str, int],
    known_sources: Mapping[tuple[int, str], int],
) -> SharedRows:
    """Return the rows for what records share.

    A key is the row of the first sentence that has it, so no key is used twice.

    Args:
        records: The records, in the order in which they are written.
        first_row: The row of the first record.
        documents: The number of each source document, by id.
        known_sources: The keys of sources in the database, which are used again.
    """
    source_keys = dict(known_sources)
    held: Counter[int] = Counter()
    members: dict[tuple[int, str], list[int]] = {}
    for at, record in enumerate(records):
        if record.doc_id is not None and record.source_metadata:
            document = documents[record.doc_id]
            held[source_keys.setdefault((document, record.source_metadata), first_row + at)] += 1
            members.setdefault((document, record.section_metadata), []).append(at)
    rows: list[Row] = []
    sections: dict[tuple[int, str], _Section] = {}
    for (document, metadata), together in members.items():
        beginning = _common_beginning([records[at].context for at in together])
        context, key = stored_text(beginning), first_row + together[0]
        context_checksum = zlib.crc32(context)
        checksum = checksum_of(key, document, metadata, context_checksum)
        rows.append((key, document, len(together), metadata, context, context_checksum, checksum))
        sections[document, metadata] = _Section(key, len(beginning), context_checksum)
    sources = [
        source_row(key, document, held[key], metadata)
        for (document, metadata), key in source_keys.items()
        if key >= first_row
    ]
    joining = [(held[key], key) for key in known_sources.values()]
    return SharedRows(sources, rows, joining, source_keys, sections)


def _common_beginning(texts: Sequence[str]) -> str:
    first, last = min(texts), max(texts)
    if last.startswith(first):
        return first
    return first[: next(at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)]


def sentence_rows(
    first_row: int, records: Sequence[Record], documents: Mapping[str, int], shared: SharedRows
) -> list[Row]:
    """Return the rows of sentences; each ends with the checksums of its embedded text and of its other fields."""
    numbers = uuid_numbers([record.id for record in records])
    return [
        _sentence_row(row, record, halves, documents, shared)
        for row, (record, halves) in enumerate(zip(records, numbers, strict=True), first_row)
    ]


def _sentence_row(
    row: int,
    record: Record,
    halves: tuple[int, int] | tuple[None, None],
    documents: Mapping[str, int],
    shared: SharedRows,
) -> Row:
    id_, plain, metadata, of_source, of_section, doc_id, index, section, context = record
    document = None if doc_id is None else documents[doc_id]
    source_key, section_key, checksum = None, None, 0
    if of_source and document is not None:
        source_key = shared.source_keys[document, of_source]
        section_key, length, checksum = shared.sections_by_metadata[document, of_section]
        context = context[length:]
    text, before = stored_text(plain), stored_text(context)
    high, low = halves
    start, end, own = _own_columns(metadata, index)
    # As `checksum_of` joins them, in half the time.
    fields = f"{row}\0{id_}\0{document}\0{doc_id}\0{index}\0{section}\0{source_key}\0{section_key}\0{metadata}"
    return (
        row,
        high,
        low,
        id_ if high is None else None,
        document,
        index,
        section,
        source_key,
        section_key,
        text,
        before,
        start,
        end,
        own,
        zlib.crc32(text, zlib.crc32(before, checksum)),
        zlib.crc32(fields.encode()),
    )


def _own_columns(metadata: str, index: int | None) -> tuple[int | None, int | None, str | None]:
    """Return the first and last index of a sentence and the rest of its metadata, of which these are put together."""
    found = _PLACED.match(metadata)
    if found is None or int(found[1]) != index:
        return None, None, metadata
    rest = metadata[found.end() :]
    return int(found[2]), int(found[3]), None if rest == "}" else rest
