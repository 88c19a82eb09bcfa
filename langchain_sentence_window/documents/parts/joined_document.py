"""A document that is made of parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from langchain_core.documents import Document

from langchain_sentence_window.documents.parts.numbering import Part
from langchain_sentence_window.splitting.blocks import Block


class Piece(NamedTuple):
    """A stretch of the joined text that stands in one part.

    Attributes:
        start: First code point in the joined text.
        end: One past the last code point.
        part: The index of the part.
        own_start: First code point in the part, or in the text that the part was cut from.
    """

    start: int
    end: int
    part: int
    own_start: int


class Segment(NamedTuple):
    """A stretch of the joined text that is split into sentences by itself.

    Attributes:
        start: First code point.
        end: One past the last code point.
        blocks: Its blocks, if they are known; their positions count from the segment's start.
    """

    start: int
    end: int
    blocks: tuple[Block, ...] | None = None


@dataclass(frozen=True, slots=True)
class JoinedDocument:
    """A document with all its parts, or a Document that has none.

    Attributes:
        doc_id: Its name.
        text: Its text.
        parts: The Documents that it was made of, in order; pieces refer to them.
        pieces: Where the text of each part stands, in order; none if it wasn't made of parts.
        segments: Stretches of the text that are split apart from each other, in order.
        remarks: Remarks about odd parts, for a warning.
    """

    doc_id: str
    text: str
    parts: tuple[Part, ...]
    pieces: tuple[Piece, ...]
    segments: tuple[Segment, ...]
    remarks: tuple[str, ...] = ()

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata that all parts share."""
        return shared_metadata([part.document.metadata for part in self.parts])

    @property
    def document(self) -> Document:
        """The Document that a loader would have returned for the whole source."""
        return Document(id=self.doc_id, page_content=self.text, metadata=self.metadata)


def shared_metadata(each: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the metadata that all of some Documents have with the same values."""
    shared = dict(each[0])
    for metadata in each[1:]:
        if not shared:
            break
        shared = {
            key: value
            for key, value in shared.items()
            if key in metadata and type(metadata[key]) is type(value) and metadata[key] == value
        }
    return shared
