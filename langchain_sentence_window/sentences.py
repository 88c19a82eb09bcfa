"""From a text to its sentences: blocks, line breaks, the engine, markers, sections.

The bias for every doubtful case: join. Two sentences together lose less than one cut in two.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from langchain_sentence_window.blocks import (
    CODE,
    FRONT_MATTER,
    HEADING,
    HTML,
    PROSE,
    TABLE_ROW,
    Block,
    heading_title,
    parse_blocks,
)
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.punkt import Engine
from langchain_sentence_window.spans import Span, pieces, trim

HEADING_SEPARATOR = " > "
"""What stands between the headings of a heading path."""

NARROWEST_COLUMN = 40
"""Characters; a line of a narrower column isn't taken for a wrapped one."""

_UNCUT_KINDS = frozenset({HEADING, TABLE_ROW, CODE, HTML, FRONT_MATTER})
_NEWLINE = re.compile(r"\r\n|\r|\n")
_FIRST_WORD = re.compile(r"[ \t>]*(\S*)")
_QUOTED_END = re.compile(r"[?!][\"'”’»)]+\s*\Z")
_HARD_BREAK = re.compile(r"(?: {2,}|\\)\Z")
# "2.", "(a)", "[7]", "iv)", "-", "•", "§ 12." and nestings such as "1. (a)".
_MARKER = re.compile(
    r"(?:[>•*+–—-]|§+|[\[(]?(?:\d{1,4}(?:\.\d{1,3})*|[a-zA-Z]|[ivxlcIVXLC]{1,6})[\])º°ª.]{1,2})"
    r"(?:\s+|\Z)"
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, list item, table row, heading or code block, by its place.

    Attributes:
        start: First code point in the text.
        end: One past its last code point; ``text[start:end]`` is the sentence.
        section_start: Index of the first sentence of its section, which is the heading if it has one.
        section_end: One past the index of the section's last sentence.
        kind: A block kind, see `Block`.
        heading: The titles of the headings above it, outermost first, joined by ``HEADING_SEPARATOR``.
    """

    start: int
    end: int
    section_start: int
    section_end: int
    kind: str = PROSE
    heading: str = ""


def split_text(text: str, engine: Engine) -> list[Sentence]:
    """Cut a text into sentences.

    Args:
        text: Any string.
        engine: Cuts the text of one paragraph.

    Returns:
        Sentences in order, disjoint, with nothing but white space between them.

    Raises:
        InvalidInputError: The engine gave a span that isn't in its text.
    """
    sentences: list[Sentence] = []
    for heading, blocks in _sections(text, parse_blocks(text)):
        spans = [(span, block.kind) for block in blocks for span in _block_spans(text, block, engine)]
        low, high = len(sentences), len(sentences) + len(spans)
        sentences += [Sentence(*span, low, high, kind, heading) for span, kind in spans]
    return sentences


def _sections(text: str, blocks: Iterable[Block]) -> Iterator[tuple[str, list[Block]]]:
    """Yield ``(heading path, blocks)`` for each run of blocks under one heading."""
    titles: list[tuple[int, str]] = []
    section: list[Block] = []
    path = ""
    for block in blocks:
        if block.level:
            if section:
                yield path, section
            titles = [(level, title) for level, title in titles if level < block.level]
            titles.append((block.level, heading_title(text, block)))
            section, path = [], HEADING_SEPARATOR.join(title for _, title in titles)
        section.append(block)
    if section:
        yield path, section


def _block_spans(text: str, block: Block, engine: Engine) -> list[Span]:
    if block.kind in _UNCUT_KINDS:
        return [(block.start, block.end)]
    spans: list[Span] = []
    for start, end in pieces(text, block.start, block.end, _line_breaks(text, block)):
        spans += pieces(text, start, end, _engine_cuts(text[start:end], start, engine))
    return _join_markers(text, spans)


def _line_breaks(text: str, block: Block) -> Iterator[int]:
    """Yield the positions of the newlines that end a sentence, not only a line.

    A line was wrapped if the first word of the next one wouldn't have fitted into the column; a
    next line that goes on in lower case is taken for a wrapped one too.
    """
    ends = list(_NEWLINE.finditer(text, block.start, block.end))
    if not ends:
        return
    starts = [block.start, *(match.end() for match in ends)]
    stops = [*(match.start() for match in ends), block.end]
    column = max(NARROWEST_COLUMN, *(stop - start for start, stop in zip(starts, stops, strict=True)))
    for (start, next_start), stop in zip(pairwise(starts), stops, strict=False):
        match = _FIRST_WORD.match(text, next_start, block.end)
        word = match[1] if match else ""
        fits = stop - start + 1 + len(word) <= column
        hard = _HARD_BREAK.search(text, start, stop)
        if hard or (fits and not word[:1].islower()):
            yield next_start


def _engine_cuts(text: str, offset: int, engine: Engine) -> Iterator[int]:
    for start, end in engine(text):
        if not 0 <= start <= end <= len(text):
            raise InvalidInputError(
                f"the sentence engine gave the span ({start}, {end}) for a text of {len(text)} "
                "characters; spans are (start, end) with 0 <= start <= end <= len(text)"
            )
        # "Is it?" she asked. A quoted question goes on in lower case.
        if not (text[start : start + 1].islower() and _QUOTED_END.search(text[max(0, start - 8) : start])):
            yield start + offset


def _join_markers(text: str, spans: Sequence[Span]) -> list[Span]:
    """Join markers to the sentence after them, and what has no word to the one before."""
    joined: list[Span] = []
    marker: int | None = None
    for start, end in spans:
        has_word = any(map(str.isalnum, text[start:end]))
        if marker is None and joined and not has_word:
            joined[-1] = (joined[-1][0], end)
            continue
        start = start if marker is None else marker
        if has_word and not _is_marker(text, start, end):
            joined.append((start, end))
            marker = None
        else:
            marker = start
    if marker is not None:
        last = spans[-1][1]
        joined = [*joined[:-1], (joined[-1][0], last)] if joined else [trim(text, marker, last)]
    return joined


def _is_marker(text: str, start: int, end: int) -> bool:
    at = start
    while at < end and (match := _MARKER.match(text, at, end)):
        at = match.end()
    return at >= end
