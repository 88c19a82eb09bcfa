"""What is written of sentences: a row for each, and one for what those of a section share."""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from langchain_sentence_window.store.tables import Record, checksum_of, stored_text


class Section(NamedTuple):
    """What the sentences of a section share.

    Attributes:
        row: The row in the table ``sections``. Its key is the row of the section's first sentence, so no key is
            used twice.
        context_length: Characters of what is put before a sentence that stand in this row, not in its own.
        context_checksum: The checksum of these.
    """

    row: tuple[Any, ...]
    context_length: int
    context_checksum: int


Sections: TypeAlias = Mapping[tuple[int, str], Section]
"""Sections by the document and by the JSON that their sentences share."""


def sections_of(records: Sequence[Record], first_row: int, documents: Mapping[str, int]) -> Sections:
    """Make the sections of records that are written in this order, from a row on."""
    members: dict[tuple[int, str], list[int]] = {}
    shared, doc_id, together = "", "", list[int]()
    for at, record in enumerate(records):
        if record.shared and record.doc_id is not None:
            # Mostly they come one after the other, and hold the very same string.
            if record.shared is not shared or record.doc_id is not doc_id:
                shared, doc_id = record.shared, record.doc_id
                together = members.setdefault((documents[doc_id], shared), [])
            together.append(at)
    sections: dict[tuple[int, str], Section] = {}
    for (document, shared), together in members.items():
        beginning = _common_beginning([records[at].context for at in together])
        context, key = stored_text(beginning), first_row + together[0]
        context_checksum = zlib.crc32(context)
        checksum = checksum_of(key, document, shared, context_checksum)
        row = key, document, shared, context, context_checksum, checksum
        sections[document, shared] = Section(row, len(beginning), context_checksum)
    return sections


def _common_beginning(texts: Sequence[str]) -> str:
    first, last = min(texts), max(texts)
    if last.startswith(first):
        return first
    return first[: next(at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)]


def sentence_row(row: int, record: Record, documents: Mapping[str, int], sections: Sections) -> tuple[Any, ...]:
    """Make the row of a sentence; its checksum and that of what was embedded stand at its end."""
    document = None if record.doc_id is None else documents[record.doc_id]
    key, length, checksum = None, 0, 0
    if record.shared and document is not None:
        (key, *_), length, checksum = sections[document, record.shared]
    text, context = stored_text(record.text), stored_text(record.context[length:])
    return (
        row,
        record.id,
        document,
        record.place,
        record.section,
        key,
        text,
        context,
        record.metadata,
        zlib.crc32(text, zlib.crc32(context, checksum)),
        checksum_of(row, record.id, document, record.doc_id, record.place, record.section, key, record.metadata),
    )
