"""Joining the parts of a source to one document.

Parts are put in order, and what they share is left out: text in which chunks overlap, and running heads and feet. All
else is in the joined text verbatim; only the white space at a joint is new.

A page ends where it is full, often within a sentence, and its text doesn't say what was there: a space, the end of a
paragraph, or a heading. When in doubt, the sentence continues.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, NamedTuple

from langchain_sentence_window._primitives import Span
from langchain_sentence_window.splitting.blocks import (
    HEADING,
    MAX_HEADING_CHARS,
    PROSE,
    TABLE_ROW,
    Block,
    heading_title,
    title_key,
    trim,
)
from langchain_sentence_window.splitting.rules import MARKER
from langchain_sentence_window.splitting.subtitles import between_lines, between_stretches, ends_with_times, stretches

from .part_headings import with_headings
from .part_spans import PartSpan
from .running_lines import body_spans
from .source_metadata import SHEET, SLIDE, SPEAKER, docling_headings
from .source_parts import JoinedDocument, Part, Segment

MAX_WHITE_SPACE = 20
"""Characters of the widest gap between two chunks that is taken for the white space that a splitter strips."""

BLANK_LINE = "\n\n"


class _Joint(NamedTuple):
    """How a part is joined to the text before it.

    Attributes:
        separator: The white space between them.
        skipped: Characters of the part that the text before it already has.
        begins: Whether a new section begins.
        goes_on: Whether the last block of the text before continues in the first block of the part.
    """

    separator: str = BLANK_LINE
    skipped: int = 0
    begins: bool = False
    goes_on: bool = False


def join_parts(doc_id: str, parts: Sequence[Part]) -> JoinedDocument:
    """Join the parts of a source.

    Args:
        doc_id: The name of the document.
        parts: Several parts, in any order; see `Group.joined`.
    """
    ordered, remarks = _sort_parts(with_headings(parts))
    joiner = _Joiner(ordered)
    for index, (start, end) in enumerate(_bodies(ordered)):
        text = ordered[index].text
        for low, high in stretches(text) if ordered[index].time else [(start, end)]:
            joiner.add(index, low, high)
    return JoinedDocument(
        doc_id,
        "".join(joiner.texts),
        tuple(ordered),
        tuple(joiner.spans),
        tuple(joiner.segments),
        (*remarks, *joiner.remarks),
    )


def _sort_parts(parts: Sequence[Part]) -> tuple[list[Part], list[str]]:
    """Put parts in order and leave out those that came twice; say so."""
    remarks: list[str] = []
    seen: set[tuple[Any, ...]] = set()
    once: list[Part] = []
    for part in parts:
        key = (*part.identity.items(), part.start, part.text, part.headings)
        if not part.is_numbered or key not in seen:
            once.append(part)
        seen.add(key)
    if len(once) < len(parts):
        remarks.append(f"{len(parts) - len(once)} came twice")
    ordered = by_number(once)
    if any(one is not other for one, other in zip(once, ordered, strict=True)):
        remarks.append("they came in another order")
    return ordered, remarks


def by_number(parts: Sequence[Part]) -> list[Part]:
    """Sort the parts of a source by those numbers that all of them have.

    Args:
        parts: The parts, see `with_headings`. They stay as they are if positions count from the heading above, as of
            chunks that were cut once more.
    """
    if len({part.headings for part in parts if part.start == 0}) > 1:
        return list(parts)
    names = ("page", "row", "start", "order", "time")
    types = {name: {type(getattr(part, name)) for part in parts} for name in names}
    known = [name for name in names if len(types[name]) == 1 and getattr(parts[0], name) is not None]
    try:
        return sorted(parts, key=attrgetter(*known)) if known else list(parts)
    except TypeError:  # the user's own numbers have no order
        return list(parts)


def _bodies(parts: Sequence[Part]) -> list[Span]:
    """Return the span of each part that belongs to the document: without running heads and feet."""
    are_pages = [_is_plain_page(part) for part in parts]
    pages = [part.page for part in parts]
    if all(are_pages) and len(set(pages)) == len(pages):
        return body_spans([part.text for part in parts])
    return [(0, 0) if part.is_furniture else (0, len(part.text)) for part in parts]


def _is_plain_page(part: Part) -> bool:
    return part.page is not None and part.start is None and part.row is None and part.blocks is None


class _Joiner:
    """Adds one part after the other."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.texts: list[str] = []
        self.spans: list[PartSpan] = []
        self.segments: list[Segment] = []
        self.remarks: list[str] = []
        self._parts = parts
        self._longest = max((len(part.text) for part in parts), default=0)
        self._last = ""  # the text of the part before, as far as it was added
        self._ending = ""  # the same with what it shares with those before it

    def add(self, index: int, start: int, end: int) -> None:
        """Add the span of a part, as far as the text doesn't have it yet."""
        part = self._parts[index]
        if part.start is None:  # a splitter's chunk keeps its white space, as its position is known
            start, end = trim(part.text, start, end)
        if start >= end:
            return
        joint = self._joint(index, start) if self.spans else _Joint("", begins=True)
        start += joint.skipped
        if start >= end:
            return
        self.texts += [joint.separator, part.text[start:end]]
        at = (self.segments[-1].end if self.segments else 0) + len(joint.separator)
        self.spans.append(part.span(index, start, end, at))
        self._add_blocks(part, start, end, at, joint)
        self._last, self._ending = part.text[start:end], part.text[:end]

    def _add_blocks(self, part: Part, start: int, end: int, at: int, joint: _Joint) -> None:
        """Add the span of a part at a position of the text to the last segment, or begin another one."""
        if joint.begins or (self.segments[-1].blocks is None) != (part.blocks is None):
            self.segments.append(Segment(at, at, None if part.blocks is None else [], part.headings))
        segment = self.segments[-1]
        blocks = _blocks_within(part.blocks or (), start, end, at - segment.start)
        if segment.blocks is not None:
            if joint.goes_on and segment.blocks and blocks:
                segment.blocks[-1] = replace(segment.blocks[-1], end=blocks.pop(0).end)
            segment.blocks.extend(blocks)
        self.segments[-1] = segment._replace(end=at + end - start)

    def _joint(self, index: int, start: int) -> _Joint:
        part, before = self._parts[index], self._parts[self.spans[-1].number]
        is_apart = part.row is not None or before.row is not None or part.headings != before.headings
        if is_apart or SLIDE in part.identity or SHEET in part.identity:
            return _section_or_row(part, before)
        if part.time is not None and before.time is not None:
            return self._cue_joint(part, before, start)
        starts_again = part.headings and (part.start or 0) <= (before.start or 0)
        if part.start is not None and before.start is not None and part.page == before.page and not starts_again:
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
        length = overlap(self._ending.rstrip(), text)
        if length:
            return _Joint("", skipped=length)
        if part.order is not None and before.order is not None:
            return _Joint(separator_between(self._last.rstrip(), text))
        if not part.headings:
            return _Joint(begins=True)
        return self._section_joint(before, text, part.headings[-1][1])

    def _section_joint(self, before: Part, text: str, title: str) -> _Joint:
        """Join chunks of one section: in a paragraph only where no further word fitted into the chunk before."""
        last = self._last.rstrip()
        is_heading = title_key(heading_title(last[last.rfind("\n") + 1 :])) == title_key(title)
        word = text.split(maxsplit=1)[0]
        if is_heading or len(before.text) + 1 + len(word) <= self._longest:
            return _Joint()
        return _Joint(separator_between(last, text))

    def _chunk_joint(self, part: Part, start: int, before: Part) -> _Joint:
        """Join two chunks of one text, whose positions are known."""
        offset = start - (before.start or 0)
        gap = offset - len(before.text)
        if gap > MAX_WHITE_SPACE:
            self.remarks.append(f"{gap:,} characters are missing before start_index {start:,}")
            return _Joint(begins=True)
        if gap > 0:
            is_line = ends_with_times(before.text.rstrip())
            goes_on = gap == 1 and not is_line and separator_between(before.text.rstrip(), part.text.lstrip()) == " "
            return _Joint(" " if goes_on else "\n" * gap)
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
                self.remarks.append(f"a page is missing before page {' '.join(map(str, part.identity.values()))}")
            return _Joint(begins=part.blocks is None)
        if part.blocks is not None and before.blocks is not None:
            if not part.continues and _is_one_table(before, part):
                return _Joint("\n")
            return _Joint({"": BLANK_LINE, "+": " ", "~": ""}[part.continues], goes_on=bool(part.continues))
        return _Joint(separator_between(self._last.rstrip(), part.text[start:]))

    def _cue_joint(self, part: Part, before: Part, start: int) -> _Joint:
        """Join two lines of subtitles, in one paragraph for as long as one speaks."""
        text = part.text[start : start + MAX_HEADING_CHARS]  # a cue may have very many lines
        if part is before:
            end = self.spans[-1].end - part.offset
            return _Joint(between_stretches(part.text, end, start, self._last, text))
        if part.document.metadata.get(SPEAKER) != before.document.metadata.get(SPEAKER):
            return _Joint()
        return _Joint(between_lines(self._last, text, is_cue=True))

    def _docling_joint(self, part: Part, before: Part) -> _Joint:
        """Leave out the headings of a chunk if the chunk before has the same."""
        headings = docling_headings(part.document.metadata)
        if not part.blocks or headings != docling_headings(before.document.metadata):
            return _Joint()
        skipped = next((block.start for block in part.blocks if block.kind != HEADING), len(part.text))
        return _Joint(skipped=skipped - trim(part.text, 0, len(part.text))[0])


def _section_or_row(part: Part, before: Part) -> _Joint:
    """Begin a section, unless both parts are rows of one sheet; rows of one table have no blank line between them."""
    if SHEET not in part.identity or part.identity[SHEET] != before.identity.get(SHEET):
        return _Joint(begins=True)
    edges = [*(before.blocks or ())[-1:], *(part.blocks or ())[:1]]
    are_rows = [each.kind for each in edges] == [TABLE_ROW, TABLE_ROW]
    return _Joint("\n" if are_rows and "\n" not in part.text else BLANK_LINE)  # a header has two lines


def _is_paragraph(part: Part) -> bool:
    return part.blocks is not None and [block.kind for block in part.blocks] == [PROSE]


def _is_one_table(before: Part, part: Part) -> bool:
    """Return whether a table continues: its rows have as many cells, and the first has a digit, unlike a header."""
    if not before.blocks or not part.blocks or not before.blocks[-1].kind == part.blocks[0].kind == TABLE_ROW:
        return False
    row, next_row = (
        each.text[block.start : block.end] for each, block in ((before, before.blocks[-1]), (part, part.blocks[0]))
    )
    return row.count("\t") == next_row.count("\t") > 0 and any(map(str.isdigit, next_row))


def _blocks_within(blocks: Sequence[Block], start: int, end: int, at: int) -> list[Block]:
    """Return the blocks inside a span that is at a position of another text, with their positions there."""
    kept = (replace(block, start=max(block.start, start), end=min(block.end, end)) for block in blocks)
    by = at - start
    return [
        replace(block, start=block.start + by, end=block.end + by, body=None if block.body is None else block.body + by)
        for block in kept
        if block.start < block.end
    ]


MIN_OVERLAP = 16
"""Characters of the shortest end of a chunk that, repeated at the beginning of the next, shows that they overlap."""

_MAX_TRIES = 50
_MARKDOWN = re.compile(r"#{1,6}[ \t]|[-*+][ \t]|[|>]|```|~~~|\d{1,3}[.)][ \t]")
_NUMBERED = re.compile(
    r"(?i:article|section|schedule|exhibit|annex|appendix|chapter|part)\s+[\w.]+|\d{1,3}(?:\.\d{1,3})*\.?\s+[A-ZÀ-Þ]"
)
_CLOSERS = "\"'”’»)]}*_"
_MIN_LINES = 4
_SHORT = 0.6


def separator_between(before: str, after: str) -> str:
    """Return the white space that joins a page to the next one.

    Args:
        before: The text of the page; it ends in no white space.
        after: The text of the next page; it begins with no white space.

    Returns:
        A space if a sentence continues, nothing if a hyphenated word does, a newline or a blank line if not.
    """
    line = before[before.rfind("\n") + 1 :].strip()
    following = after.partition("\n")[0].strip()
    if _MARKDOWN.match(after):
        return "\n\n" if after.startswith("#") else "\n"
    last = line.rstrip(_CLOSERS)[-1:] or line[-1:]
    first = following.lstrip("\"'“‘«([{*_")[:1]
    is_heading = len(following) <= MAX_HEADING_CHARS and (following.isupper() or bool(_NUMBERED.match(following)))
    if MARKER.match(after):
        return "\n"
    if last in ".!?…:。！？":
        return " " if first.islower() and last != ":" else "\n\n" if is_heading else "\n"
    if first.islower():
        return "" if re.search(r"[^\W\d_]-\Z", line) else " "
    is_number = not any(map(str.isalpha, line))
    if is_heading or is_number or (last not in ",;" and _is_short_line(before, line)):
        return "\n\n"
    return " "


def overlap(before: str, after: str) -> int:
    """Return how many characters at the beginning of a chunk are the end of the chunk before; 0 if none are.

    Of several numbers the lowest is returned, as repeated text does less harm than lost text. What
    follows a mark, such as that of a heading, is no end of a chunk without the mark.

    Args:
        before: The text of the chunk before.
        after: The text of the chunk.
    """
    probe = after[:MIN_OVERLAP]
    line = after.partition("\n")[0]
    if line.startswith("#") and before[before.rfind("\n") + 1 :] == line.rstrip():  # a short heading, too
        return len(line)
    if len(probe) < MIN_OVERLAP:
        return 0
    at = before.rfind(probe)
    for _ in range(_MAX_TRIES):
        if at < 0 or len(before) - at > len(after):
            return 0
        if after.startswith(before[at:]) and not _MARKDOWN.fullmatch(before[before.rfind("\n", 0, at) + 1 : at]):
            return len(before) - at
        at = before.rfind(probe, 0, at + len(probe) - 1)
    return 0


_MAX_FOLLOWERS = 8


def in_overlap_order(texts: Sequence[str]) -> list[int]:
    """Return the indexes of texts in the order in which they follow each other, as far as they overlap.

    Args:
        texts: The chunks of one text, in any order. Those that no overlap places stay where they are.
    """
    beginnings: dict[str, list[int]] = defaultdict(list)
    for index, text in enumerate(texts):
        beginnings[text.lstrip()[:MIN_OVERLAP]].append(index)
    overlaps = [
        (length, other == index + 1, -index, other)
        for index, text in enumerate(texts)
        for other, length in _overlapping(index, text, texts, beginnings)
        if length < len(texts[other].strip())  # a chunk continues after what it shares
    ]
    chains = {index: [index] for index in range(len(texts))}  # the texts that follow each other, by each of them
    for _, _, negative, other in sorted(overlaps, reverse=True):  # the longest first, as a short one may be chance
        before, after = chains[-negative], chains[other]
        if before is not after and before[-1] == -negative and after[0] == other:
            before += after
            chains |= dict.fromkeys(after, before)
    return [each for index, chain in chains.items() if chain[0] == index for each in chain]


def _overlapping(
    index: int, text: str, texts: Sequence[str], beginnings: Mapping[str, Sequence[int]]
) -> Iterator[tuple[int, int]]:
    """Yield the texts that begin with the end of a text, and how long that is."""
    before, tried = text.rstrip(), {index}
    for at in range(1, len(before) - MIN_OVERLAP + 1):
        for other in beginnings.get(before[at : at + MIN_OVERLAP], ())[:_MAX_FOLLOWERS]:
            if other not in tried and len(tried) <= _MAX_TRIES:
                tried.add(other)
                if length := overlap(before, texts[other].lstrip()):
                    yield other, length


def _is_short_line(page: str, line: str) -> bool:
    """Return whether the last line of a page is much shorter than its lines are, as a heading or a signature is."""
    lengths = sorted(map(len, page.split("\n")))
    return len(lengths) >= _MIN_LINES and len(line) < _SHORT * lengths[3 * len(lengths) // 4]
