"""From a text to its sentences: blocks, line breaks, engine, markers, sections."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from langchain_sentence_window._showing import shown
from langchain_sentence_window._types import Span
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.splitting.blocks import (
    CODE,
    FRONT_MATTER,
    HEADING,
    HTML,
    PROSE,
    TABLE_ROW,
    Block,
    plain_block,
)
from langchain_sentence_window.splitting.engines import Engine
from langchain_sentence_window.splitting.headings import heading_path, heading_title
from langchain_sentence_window.splitting.language import Language
from langchain_sentence_window.splitting.markdown import is_markdown, parse_markdown
from langchain_sentence_window.splitting.newlines import Gap, column_width, find_gaps, goes_on
from langchain_sentence_window.splitting.rules import is_casual, sentence_starts
from langchain_sentence_window.splitting.sizes import fit_sizes
from langchain_sentence_window.splitting.spans import pieces, trim

Structure: TypeAlias = Literal["auto", "markdown", "plain"]
"""The structure of a text; ``auto`` looks for Markdown's marks."""

_UNCUT_KINDS = frozenset({HEADING, TABLE_ROW, CODE, HTML, FRONT_MATTER})
# "2.", "(a)", "[7]", "iv)", "-", "•", "§ 12.", "[...]" and nestings such as "1. (a)".
_MARKER = re.compile(
    r"(?:[>•*+–—-]|§+|\[(?:\.\.\.|…)\]"
    r"|[\[(]?(?:\d{1,4}(?:\.\d{1,3})*|[a-zA-Z]|[ivxlcIVXLC]{1,6})[\])º°ª.]{1,2})(?:\s+|\Z)"
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """The span of a sentence, list item, table row, heading or code block, and its section.

    Attributes:
        start: First code point in the text.
        end: One past its last code point; ``text[start:end]`` is the sentence.
        section_start: Index of the first sentence of its section, which is the heading if it has one.
        section_end: One past the index of the section's last sentence.
        kind: The kind of its block, see `Block`.
        heading: The titles of the headings above it, outermost first, see `heading_path`.
    """

    start: int
    end: int
    section_start: int
    section_end: int
    kind: str = PROSE
    heading: str = ""


def moved(sentence: Sentence, by: int, sentences_before: int) -> Sentence:
    """Return a sentence of a text that stands further back in another text, after other sentences."""
    return replace(
        sentence,
        start=sentence.start + by,
        end=sentence.end + by,
        section_start=sentence.section_start + sentences_before,
        section_end=sentence.section_end + sentences_before,
    )


def split_text(
    text: str,
    language: Language,
    *,
    engine: Engine | None = None,
    structure: Structure = "auto",
    blocks: Sequence[Block] | None = None,
    min_chars: int = 0,
    max_chars: int | None = None,
) -> list[Sentence]:
    """Cut a text into sentences.

    Args:
        text: Any string.
        language: The words of its language, which decide about full stops and newlines.
        engine: Finds the sentences of one paragraph; ``None`` for the rules of this package.
        structure: The structure of the text.
        blocks: The blocks of the text, in order and disjoint; ``None`` if they are to be found.
        min_chars: Characters; a shorter sentence is joined to its neighbor in the block.
        max_chars: Characters; a longer sentence is cut, see `fit_sizes`. ``None`` for no limit.

    Returns:
        Sentences in order, disjoint, with nothing but white space between them.

    Raises:
        InvalidInputError: The engine returned a span outside its text.
    """
    casual = is_casual(text, language)
    breaks = _breaks(text, language, casual=casual)
    starts = [gap.end for gap in breaks]
    found: Iterable[Block]
    if blocks is not None:
        found = blocks
    elif structure == "markdown" or (structure == "auto" and is_markdown(text)):
        found = parse_markdown(text, indented_code=structure == "markdown")
    else:
        found = _plain_blocks(text, breaks)
    sentences: list[Sentence] = []
    for heading, section in _sections(text, found):
        spans: list[tuple[Span, str]] = []
        for block in section:
            cut = [(block.start, block.end)]
            if block.kind not in _UNCUT_KINDS:
                inside = starts[bisect_right(starts, block.start) : bisect_left(starts, block.end)]
                lines = pieces(text, block.start, block.end, inside)
                cut = _joined(
                    text,
                    [
                        span
                        for start, end in lines
                        for span in _cut_paragraph(text, start, end, language, engine, casual=casual)
                    ],
                )
            spans += [(span, block.kind) for span in fit_sizes(text, cut, min_chars, max_chars)]
        low, high = len(sentences), len(sentences) + len(spans)
        sentences += [Sentence(*span, low, high, kind, heading) for span, kind in spans]
    return sentences


def _breaks(text: str, language: Language, *, casual: bool) -> list[Gap]:
    """Return the gaps between lines that end a sentence."""
    gaps = find_gaps(text)
    column = column_width(text, gaps)
    return [gap for gap in gaps if not goes_on(text, gap, column, language, is_casual=casual)]


def _plain_blocks(text: str, breaks: Sequence[Gap]) -> Iterator[Block]:
    """Yield a block for each run of lines that no break separates."""
    start, blank_before = 0, True
    for gap in breaks:
        if text[start : gap.start].strip():
            yield plain_block(text, start, gap.start, may_be_heading=blank_before and gap.is_blank)
        start, blank_before = gap.end, gap.is_blank
    if text[start:].strip():
        yield plain_block(text, start, len(text), may_be_heading=False)


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
            titles.append((block.level, heading_title(text[block.start : block.end])))
            section, path = [], heading_path([title for _, title in titles])
        section.append(block)
    if section:
        yield path, section


def _cut_paragraph(
    text: str, start: int, end: int, language: Language, engine: Engine | None, *, casual: bool
) -> Iterator[Span]:
    paragraph = text[start:end]
    if engine is None:
        cuts = sentence_starts(paragraph, language, is_casual=casual)
    else:
        cuts = _checked_starts(paragraph, engine)
    return pieces(text, start, end, (start + cut for cut in cuts))


def _checked_starts(paragraph: str, engine: Engine) -> Iterator[int]:
    for start, end in engine(paragraph):
        if not 0 <= start <= end <= len(paragraph):
            raise InvalidInputError(
                f"the sentence engine returned the span ({shown(start)}, {shown(end)}) for a text of {len(paragraph)} "
                "characters; spans are (start, end) with 0 <= start <= end <= len(text)"
            )
        yield start


def _joined(text: str, spans: Sequence[Span]) -> list[Span]:
    """Join markers to the sentence after them, and spans without a word to the sentence before."""
    joined: list[Span] = []
    marker: int | None = None
    for start, end in spans:
        is_marker = _is_marker(text, start, end)
        has_word = is_marker or any(map(str.isalnum, text[start:end]))
        if marker is None and joined and not has_word:
            joined[-1] = (joined[-1][0], end)
            continue
        start = start if marker is None else marker
        if has_word and not is_marker:
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
