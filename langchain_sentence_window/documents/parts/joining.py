"""Joining the parts of a source to one document.

Parts are put in order, and what they share is left out: text in which chunks overlap, and running heads and feet. All
else stands in the joined text as it does in its part, character for character; only the white space at a joint is new.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from langchain_sentence_window._primitives import Span, trim
from langchain_sentence_window.documents.parts.elements import docling_headings, is_page_furniture
from langchain_sentence_window.documents.parts.joined_document import JoinedDocument, Piece, Segment
from langchain_sentence_window.documents.parts.joints import overlap, separator_between
from langchain_sentence_window.documents.parts.numbering import Part
from langchain_sentence_window.documents.parts.running_lines import body_spans
from langchain_sentence_window.splitting.blocks import HEADING, PROSE, Block

MAX_WHITE_SPACE = 20
"""Characters of the widest gap between two chunks that is taken for the white space that a splitter strips."""

BLANK_LINE = "\n\n"


class _Joint(NamedTuple):
    """How a part is joined to the text before it.

    Attributes:
        separator: The white space between them.
        skipped: Characters of the part that the text before it already has.
        begins: Whether a new section begins.
        goes_on: Whether the last block of the text before goes on in the first block of the part.
    """

    separator: str = BLANK_LINE
    skipped: int = 0
    begins: bool = False
    goes_on: bool = False


def join_parts(doc_id: str, parts: Sequence[Part]) -> JoinedDocument:
    """Join the parts of a source.

    Args:
        doc_id: The name of the document.
        parts: One part or several, in any order.
    """
    if len(parts) == 1:
        return _alone(doc_id, parts[0])
    ordered, remarks = _in_order(parts)
    joiner = _Joiner(ordered)
    for index, (start, end) in enumerate(_bodies(ordered)):
        joiner.add(index, start, end)
    return JoinedDocument(
        doc_id,
        "".join(joiner.texts),
        tuple(ordered),
        tuple(joiner.pieces),
        tuple(segment.finished() for segment in joiner.segments),
        (*remarks, *joiner.remarks),
    )


def _alone(doc_id: str, part: Part) -> JoinedDocument:
    text = part.text
    blocks = () if is_page_furniture(part.document.metadata) else part.blocks
    is_part = part.is_numbered and part.start != 0
    pieces = (Piece(0, len(text), 0, part.offset),) if is_part else ()
    return JoinedDocument(doc_id, text, (part,), pieces, (Segment(0, len(text), blocks),))


def _in_order(parts: Sequence[Part]) -> tuple[list[Part], list[str]]:
    """Put parts in order and leave out those that came twice; say so."""
    remarks: list[str] = []
    seen: set[tuple[Any, ...]] = set()
    once: list[Part] = []
    for part in parts:
        key = (*part.identity.items(), part.start, part.text)
        if not part.is_numbered or key not in seen:
            once.append(part)
        seen.add(key)
    if len(once) < len(parts):
        remarks.append(f"{len(parts) - len(once)} came twice")
    ordered = _sorted(once)
    if any(one is not other for one, other in zip(once, ordered, strict=True)):
        remarks.append("they came in another order")
    return ordered, remarks


def _sorted(parts: list[Part]) -> list[Part]:
    """Sort parts by those numbers that all of them have."""
    keys = [[getattr(part, name) for part in parts] for name in ("page", "row", "start", "order")]
    known = [values for values in keys if len({type(value) for value in values}) == 1 and values[0] is not None]
    numbers = [tuple(values[index] for values in known) for index in range(len(parts))]
    try:
        return [parts[index] for index in sorted(range(len(parts)), key=numbers.__getitem__)]
    except TypeError:  # the user's own numbers have no order
        return parts


def _bodies(parts: Sequence[Part]) -> list[Span]:
    """Return the span of each part that belongs to the document: without running heads and feet."""
    are_pages = [_is_plain_page(part) for part in parts]
    pages = [part.page for part in parts]
    if all(are_pages) and len(set(pages)) == len(pages):
        return body_spans([part.text for part in parts])
    return [(0, 0) if is_page_furniture(part.document.metadata) else (0, len(part.text)) for part in parts]


def _is_plain_page(part: Part) -> bool:
    return part.page is not None and part.start is None and part.row is None and part.blocks is None


class _OpenSegment:
    """A segment that parts are added to."""

    def __init__(self, start: int, end: int, blocks: list[Block] | None) -> None:
        self.start, self.end, self.blocks = start, end, blocks

    def extend(self, start: int, end: int, blocks: Sequence[Block] | None, *, goes_on: bool) -> None:
        """Add a span; if it goes on, its first block and the last one here are one block."""
        self.end = end
        if self.blocks is None or blocks is None:
            return
        moved = [_moved(block, start - self.start) for block in blocks]
        if goes_on and self.blocks and moved:
            self.blocks[-1] = replace(self.blocks[-1], end=moved.pop(0).end)
        self.blocks += moved

    def finished(self) -> Segment:
        return Segment(self.start, self.end, None if self.blocks is None else tuple(self.blocks))


class _Joiner:
    """Adds one part after the other."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.texts: list[str] = []
        self.pieces: list[Piece] = []
        self.segments: list[_OpenSegment] = []
        self.remarks: list[str] = []
        self._parts = parts
        self._length = 0
        self._last = ""  # the text of the part before, as far as it was added

    def add(self, index: int, start: int, end: int) -> None:
        """Add the span of a part, as far as the text doesn't have it yet."""
        part = self._parts[index]
        if part.start is None:  # a splitter's chunk keeps its white space, as its position is known
            start, end = trim(part.text, start, end)
        if start >= end:
            return
        joint = self._joint(index, start) if self.pieces else _Joint("", begins=True)
        start += joint.skipped
        if start >= end:
            return
        self._append_segment(part, start, end, joint)
        self.texts += [joint.separator, part.text[start:end]]
        at = self._length + len(joint.separator)
        self._length = at + end - start
        self.pieces.append(Piece(at, self._length, index, start + part.offset))
        self._last = part.text[start:end]

    def _append_segment(self, part: Part, start: int, end: int, joint: _Joint) -> None:
        at = self._length + len(joint.separator)
        blocks = None if part.blocks is None else _within(part.blocks, start, end)
        last = self.segments[-1] if self.segments else None
        if last is None or joint.begins or (last.blocks is None) != (blocks is None):
            self.segments.append(_OpenSegment(at, at + end - start, blocks))
        else:
            last.extend(at, at + end - start, blocks, goes_on=joint.goes_on)

    def _joint(self, index: int, start: int) -> _Joint:
        part, before = self._parts[index], self._parts[self.pieces[-1].part]
        if part.row is not None or before.row is not None:
            return _Joint(begins=True)
        if part.start is not None and before.start is not None and part.page == before.page:
            return self._chunk_joint(part, part.start, before)
        if part.is_element and before.is_element:
            return self._element_joint(part, before)
        if part.page is not None and before.page is not None and part.page != before.page:
            return self._page_joint(part, before, start)
        return self._other_joint(part, before, start)

    def _other_joint(self, part: Part, before: Part, start: int) -> _Joint:
        """Join parts whose positions aren't known."""
        text = part.text[start:]
        if docling_headings(part.document.metadata):
            return self._docling_joint(part, before)
        if part.order is not None and before.order is not None:
            return _Joint(separator_between(self._last.rstrip(), text))
        length = overlap(self._last.rstrip(), text)
        return _Joint("", skipped=length) if length else _Joint(begins=True)

    def _chunk_joint(self, part: Part, start: int, before: Part) -> _Joint:
        """Join two chunks of one text, whose positions are known."""
        offset = start - (before.start or 0)
        gap = offset - len(before.text)
        if gap > MAX_WHITE_SPACE:
            self.remarks.append(f"{gap:,} characters are missing before start_index {start:,}")
            return _Joint(begins=True)
        if gap > 0:
            return _Joint(" " if gap == 1 and _goes_on(before.text, part.text) else "\n" * gap)
        known = before.text[offset : offset + len(part.text)]
        if not part.text.startswith(known):
            self.remarks.append(f"the chunks that overlap at start_index {start:,} differ")
            return _Joint(begins=True)
        return _Joint("", skipped=len(known))

    def _element_joint(self, part: Part, before: Part) -> _Joint:
        """Join the two halves of a paragraph that a page break cuts."""
        if part.page == before.page or not (_is_paragraph(part) and _is_paragraph(before)):
            return _Joint()
        separator = separator_between(self._last, part.text.lstrip())
        return _Joint(separator, goes_on=True) if "\n" not in separator else _Joint()

    def _page_joint(self, part: Part, before: Part, start: int) -> _Joint:
        if part.page is None or before.page is None or part.page != before.page + 1:
            if part.blocks is None:  # a loader that says blocks has said which pages have no text
                self.remarks.append(f"a page is missing before page {_shown_page(part)}")
            return _Joint(begins=part.blocks is None)
        if part.blocks is not None and before.blocks is not None:
            return _Joint({"": BLANK_LINE, "+": " ", "~": ""}[part.continues], goes_on=bool(part.continues))
        return _Joint(separator_between(self._last.rstrip(), part.text[start:]))

    def _docling_joint(self, part: Part, before: Part) -> _Joint:
        """Leave out the headings of a chunk if the chunk before has the same."""
        headings = docling_headings(part.document.metadata)
        if not part.blocks or headings != docling_headings(before.document.metadata):
            return _Joint()
        skipped = next((block.start for block in part.blocks if block.kind != HEADING), len(part.text))
        return _Joint(skipped=skipped - trim(part.text, 0, len(part.text))[0])


def _goes_on(before: str, after: str) -> bool:
    return separator_between(before.rstrip(), after.lstrip()) == " "


def _is_paragraph(part: Part) -> bool:
    return part.blocks is not None and [block.kind for block in part.blocks] == [PROSE]


def _shown_page(part: Part) -> str:
    return " ".join(map(str, part.identity.values()))


def _within(blocks: Sequence[Block], start: int, end: int) -> list[Block]:
    """Return the blocks inside a span, with positions that count from its start."""
    kept = (replace(block, start=max(block.start, start), end=min(block.end, end)) for block in blocks)
    return [_moved(block, -start) for block in kept if block.start < block.end]


def _moved(block: Block, by: int) -> Block:
    return replace(block, start=block.start + by, end=block.end + by)
