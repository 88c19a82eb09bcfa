"""A part of a source: a Document with what its metadata says of its place; and a document joined from its parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from langchain_core.documents import Document

from langchain_sentence_window.splitting.blocks import Block, Title

from .keys import END_INDEX, START_INDEX
from .metadata_values import SCALARS
from .part_blocks import (
    CATEGORY,
    ELEMENT_KINDS,
    LAYOUT,
    TEXT_AS_HTML,
    Continuation,
    docling_blocks,
    element_blocks,
    fitting_layout,
)
from .part_spans import PART, PartSpan
from .source_metadata import DOCLING, identity_in, page_of, row_of, time_of, whole_number

_FURNITURE = frozenset({"Header", "Footer", "PageNumber", "PageBreak"})
"""Categories of what is printed around the text of a page, which no sentence holds."""

_OTHER_CATEGORIES = frozenset(
    {"Address", "CheckBox", "EmailAddress", "FigureCaption", "Footnote", "Form", "Formula", "Image", "Text"}
)
_MARKS = frozenset({"element_id", "parent_id", "coordinates", "filetype", "page_number"})
"""Keys of which unstructured writes one at least; a user's own ``category`` comes without them."""


@dataclass(frozen=True, slots=True)
class Part:
    """A Document that may be a part of its source.

    Attributes:
        document: The Document.
        identity: Metadata that distinguishes it from the other parts of its source; empty for a chunk of a text.
        page: The page, from 0.
        row: The number of the row.
        start: Where its text starts in the text that it was cut from: its page, or its source.
        offset: Code points of that text, or of its own, before its text.
        time: When it is shown, from and to, in seconds, of a cue of subtitles.
        order: The value of the key that the user chose to number parts.
        is_element: Whether it is one block of a page, such as a title or a paragraph.
        is_furniture: Whether it is a running head, a foot, a page number or a page break.
        blocks: The blocks of its text, if its loader says them.
        continues: How its first block begins, if its loader says the blocks.
        headings: The headings above its text that metadata says, outermost first; see `with_headings`.
    """

    document: Document
    identity: Mapping[str, Any]
    page: int | None = None
    row: int | None = None
    start: int | None = None
    offset: int = 0
    time: tuple[float, float] | None = None
    order: Any = None
    is_element: bool = False
    is_furniture: bool = False
    blocks: tuple[Block, ...] | None = None
    continues: Continuation = ""
    headings: tuple[Title, ...] = ()

    @property
    def text(self) -> str:
        """The text of the Document."""
        return self.document.page_content

    @property
    def end(self) -> int | None:
        """Where its text ends in the text that it was cut from."""
        return None if self.start is None else self.start + len(self.text)

    @property
    def carried(self) -> Document:
        """The Document without metadata that only says how to join it."""
        used = {LAYOUT} if self.blocks is not None else set[str]()
        if self.is_element and self.blocks and len(self.blocks) > 1:  # each of them would hold all of its table
            used.add(TEXT_AS_HTML)
        if self.start is not None:
            used.add(START_INDEX)
        if used.isdisjoint(self.document.metadata):
            return self.document
        metadata = {key: value for key, value in self.document.metadata.items() if key not in used}
        return Document(id=self.document.id, page_content=self.text, metadata=metadata)

    def span(self, number: int, start: int, end: int, at: int) -> PartSpan:
        """Return the place of a stretch of its text in a document.

        Args:
            number: The index of the part in the document.
            start: The stretch's first code point in the text.
            end: One past its last code point.
            at: Its first code point in the document.
        """
        identity = self.identity if self.is_numbered else {PART: number}
        return PartSpan(identity, self.offset + start, at, at + end - start, number)

    @property
    def is_numbered(self) -> bool:
        """Whether its metadata says which part it is."""
        return bool(self.identity) or self.start is not None


def part_of(document: Document, key: str | None = None) -> Part:
    """Read which part of its source a Document is.

    Args:
        document: A Document from any loader or splitter.
        key: A key of the user's own that numbers the parts of a source; the others are then ignored.
    """
    metadata, text = document.metadata, document.page_content
    category, is_block, is_furniture = metadata.get(CATEGORY), False, False
    if isinstance(category, str):  # as unstructured writes it
        has_marks = not _MARKS.isdisjoint(metadata)
        is_furniture = category in _FURNITURE and has_marks
        is_block = category in ELEMENT_KINDS or is_furniture or (category in _OTHER_CATEGORIES and has_marks)
    if key is not None:
        value = metadata.get(key)
        identity = {key: value} if isinstance(value, SCALARS) else {}
        return Part(document, identity, order=value, is_furniture=is_furniture)
    layout = metadata.get(LAYOUT)
    read = None if layout is None else fitting_layout(text, layout)
    blocks: tuple[Block, ...] | None = None
    if read is not None:
        blocks = read[0]
    elif is_block:
        blocks = element_blocks(text, metadata)
    elif DOCLING in metadata:
        blocks = docling_blocks(text, metadata)
    # Splitters write no end; a Document with both is a window, or one that `get` returned.
    start = None if END_INDEX in metadata else whole_number(metadata.get(START_INDEX))
    return Part(
        document,
        identity_in(metadata),
        page=page_of(metadata),
        row=row_of(metadata),
        start=start,
        offset=start or 0,
        time=time_of(metadata),
        is_element=is_block,
        is_furniture=is_furniture,
        blocks=blocks,
        continues=read[1] if read else "",
    )


class Segment(NamedTuple):
    """A stretch of the joined text that is split into sentences by itself.

    Attributes:
        start: First code point.
        end: One past the last code point.
        blocks: Its blocks, if they are known; their positions count from the segment's start.
        headings: The headings above it that its parts' metadata says, outermost first.
    """

    start: int
    end: int
    blocks: list[Block] | None = None
    headings: tuple[Title, ...] = ()


@dataclass(frozen=True, slots=True)
class JoinedDocument:
    """A document with all its parts, or a Document that has none.

    Attributes:
        doc_id: Its name.
        text: Its text.
        parts: The parts that it was made of, in order.
        spans: Where the text of each part is, in order; none if it wasn't made of parts.
        segments: Stretches of the text that are split apart from each other, in order.
        remarks: Remarks about odd parts, for a warning.
    """

    doc_id: str
    text: str
    parts: tuple[Part, ...]
    spans: tuple[PartSpan, ...]
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
