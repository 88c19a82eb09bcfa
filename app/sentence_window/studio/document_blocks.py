"""Documents as blocks to lay out, made of runs of their own text.

The runs of all blocks, joined, are the text: each character once and in order. A character that only marks up others,
such as ``#``, is in a run of the style `MARK`, which the page keeps in place and hides.

Markdown inside a line is read in one pass: emphasis, code, links, images, escapes and line breaks. HTML and entities
stay as they are.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

from langchain_sentence_window.splitting import CODE, HEADING, LIST_ITEM, PROSE, TABLE_ROW, Block, parse_markdown, trim
from sentence_window.studio.spans import Span

PARAGRAPH = "paragraph"
ITEM = "item"
TABLE = "table"
RULE = "rule"

MARK = "m"
"""The style of a character that says how others look, and isn't shown."""

NUMBER = "k"
"""The style of the number of a list item, which is shown."""

STRONG, EMPHASIS, CODE_SPAN, LINK, IMAGE, BREAK = "b", "i", "c", "l", "g", "n"

Run: TypeAlias = tuple[int, int, str]
"""A stretch of a text that looks alike: its first code point, one past its last, and its style: the letters above,
sorted; empty for plain text."""
Cut: TypeAlias = tuple[list[str], list[int], list[str]]
"""Runs as the page gets them: their texts, the indexes of their sentences, which are -1 between sentences, and their
styles."""


@dataclass(slots=True)
class PageBlock:
    """A paragraph, a heading, a list item, a table, code, or a rule.

    Attributes:
        kind: Which of these.
        runs: Its text, unless it is a table.
        rows: The rows of a table: whether each is a header, and the runs of its cells.
        level: Of a heading, from 1 to 6; else how many lists the block is in.
        quotes: How many quotes it is in.
        is_numbered: Whether a list item has a number instead of a bullet.
    """

    kind: str
    runs: list[Run] = field(default_factory=list)
    rows: list[tuple[bool, list[list[Run]]]] = field(default_factory=list)
    level: int = 0
    quotes: int = 0
    is_numbered: bool = False

    def all_runs(self) -> Iterator[Run]:
        """Yield the runs, also those of cells, in the order of the text."""
        yield from self.runs
        for _, cells in self.rows:
            for cell in cells:
                yield from cell


def written_blocks(
    blocks: Iterable[PageBlock], text: str, offset: int, sentences: Sequence[Span]
) -> Iterator[dict[str, Any]]:
    """Yield blocks as the page gets them.

    Args:
        blocks: The blocks of a text.
        text: The text.
        offset: Where it starts in its document.
        sentences: The sentences of the text, in order and disjoint. Runs are cut where they start and end.

    Yields:
        ``kind``, ``start``, and ``runs`` or ``rows``; and what differs from the default.
    """
    cutter = _Cutter(text, sentences)
    for block in blocks:
        start = next((run[0] for run in block.all_runs()), 0)
        made: dict[str, Any] = {"kind": block.kind, "start": offset + start}
        if block.rows:
            made["rows"] = [
                {"header": is_header, "cells": [cutter.cut(cell) for cell in cells]} for is_header, cells in block.rows
            ]
        else:
            made["runs"] = cutter.cut(block.runs)
        optional = {"level": block.level, "quotes": block.quotes, "numbered": block.is_numbered}
        yield made | {name: value for name, value in optional.items() if value}


class _Cutter:
    """Cuts the runs of a text from left to right where sentences start and end."""

    def __init__(self, text: str, sentences: Sequence[Span]) -> None:
        self._text, self._sentences = text, sentences
        self._next = 0

    def cut(self, runs: Iterable[Run]) -> Cut:
        texts, indexes, styles = list[str](), list[int](), list[str]()
        for start, end, style in runs:
            at = start
            while at < end:
                stop, index = self._piece(at, end)
                texts.append(self._text[at:stop])
                indexes.append(index)
                styles.append(style)
                at = stop
        return texts, indexes, styles

    def _piece(self, at: int, end: int) -> tuple[int, int]:
        """Return where the piece at a place ends, and the index of its sentence."""
        while self._next < len(self._sentences) and self._sentences[self._next][1] <= at:
            self._next += 1
        if self._next == len(self._sentences):
            return end, -1
        low, high = self._sentences[self._next]
        return (min(end, low), -1) if at < low else (min(end, high), self._next)


_PARAGRAPH = re.compile(r"(?:[^\n]*\S[^\n]*(?:\n|\Z))+(?:[^\S\n]*\n)*|(?:[^\S\n]*\n)+|\s+")


def plain_blocks(text: str) -> list[PageBlock]:
    """Cut a text without markup into paragraphs, which end at blank lines; their runs tile the text."""
    return [
        PageBlock(PARAGRAPH, tiled(*found.span(), [(found.start(), found.start() + len(found[0].rstrip()), "")]))
        for found in _PARAGRAPH.finditer(text)
    ]


def tiled(start: int, end: int, visible: Iterable[Run]) -> list[Run]:
    """Return runs that tile a stretch: those that are visible, in order and disjoint, and marks between them."""
    found: list[Run] = []
    at = start
    for run in visible:
        if at < run[0]:
            found.append((at, run[0], MARK))
        if run[0] < run[1]:
            found.append(run)
            at = run[1]
    if at < end:
        found.append((at, end, MARK))
    return found


_LINE = re.compile(r"[^\r\n]*+(?:\r\n|\r|\n)|[^\r\n]+\Z")
_QUOTES = re.compile(r"(?:[ \t]*+>)*+[ \t]*+")
_PREFIX = re.compile(r"(?:[ \t]*+(?:>|[-*+](?=\s|\Z)|\d{1,9}[.)](?=\s|\Z)))*+[ \t]*+")
_MARKER = re.compile(r"[-*+]|\d+[.)]")
_HASHES = re.compile(r"#{1,6}(?=\s|\Z)[ \t]*+")
_CLOSING_HASHES = re.compile(r"(?:(?<![ \t])[ \t]++|\A)#++\Z")
_UNDERLINE = re.compile(r"(?:=++|-++)\Z")
_FENCE = re.compile(r"`{3,}+|~{3,}+")
_DELIMITERS = re.compile(r"[ \t|:>-]++")
_PIPE = re.compile(r"(?<!\\)\|")
_KINDS = {HEADING: HEADING, LIST_ITEM: ITEM, TABLE_ROW: TABLE} | dict.fromkeys((CODE, "html", "front_matter"), CODE)


def markdown_blocks(text: str) -> list[PageBlock]:
    """Cut a Markdown text into blocks whose runs tile the text."""
    found = list[PageBlock]()
    columns = list[int]()
    parsed = parse_markdown(text, indented_code=False)
    at = last_end = 0
    for block, next_start in zip(parsed, [*(each.start for each in parsed[1:]), len(text)], strict=False):
        space = text[last_end : block.start]
        if text[at : block.start].strip():
            found.append(PageBlock(RULE, [(at, block.start, MARK)]))
            at = block.start
        between = text[block.end : next_start]
        stop = block.end + len(between) - len(between.lstrip()) if between.strip() else next_start
        made = _BlockLines(text, block, space, columns).laid_out(at, stop)
        is_next_row = bool(found) and found[-1].kind == made.kind == TABLE and not made.rows[0][0]
        if is_next_row and len(space.splitlines()) <= 1:
            found[-1].rows += made.rows
        else:
            found.append(made)
        at, last_end = stop, block.end
    if at < len(text):
        found.append(PageBlock(RULE if text[at:].strip() else PARAGRAPH, [(at, len(text), MARK)]))
    return found


class _BlockLines:
    """The lines of a block of Markdown: where each starts, where its text begins after its marks, and where it ends."""

    def __init__(self, text: str, block: Block, space: str, columns: list[int]) -> None:
        """Read the marks before the text of each line.

        Args:
            text: The text that the block is of.
            block: The block.
            space: The text between the previous block and this one.
            columns: The columns of the list items that are open, which are updated.
        """
        self._text, self._block = text, block
        spans = [each.span() for each in _LINE.finditer(text, block.start, block.end)]
        first = _end_of(_QUOTES if block.kind == PROSE else _PREFIX, text, *spans[0])
        begins = [first, *(_end_of(_QUOTES, text, *each) for each in spans[1:])]
        self._lines = [
            (start, begin, max(begin, start + len(text[start:stop].rstrip())))
            for (start, stop), begin in zip(spans, begins, strict=True)
        ]
        markers = [] if block.kind == PROSE else list(_MARKER.finditer(text, block.start, first))
        self._indent = len(space) - len(space.rstrip(" \t"))
        line_start = block.start - self._indent
        for place in [each.start() for each in markers] or [block.start]:
            while columns and columns[-1] >= place - line_start:
                columns.pop()
            columns += [place - line_start] if markers else []
        self._number = markers[-1].span() if markers and markers[-1][0][-1] in ".)" else None
        self._is_item = bool(markers) and block.kind == LIST_ITEM
        self._lists, self._quotes = len(columns), text.count(">", block.start, first)

    def laid_out(self, start: int, stop: int) -> PageBlock:
        """Return the block, whose runs tile a stretch."""
        kind = _KINDS.get(self._block.kind, PARAGRAPH)
        if kind == ITEM and not self._is_item:
            kind = PARAGRAPH
        made = PageBlock(kind, level=self._lists, quotes=self._quotes)
        if kind == TABLE:
            made.rows = self._rows(start, stop)
        elif kind == CODE:
            made.runs = tiled(start, stop, self._code())
        else:
            next_starts = [start for start, _, _ in self._lines[1:]]
            begins = [begin for _, begin, _ in self._lines]
            visible = list(zip(begins, [*next_starts, self._lines[-1][2]], strict=True))
            if kind == HEADING:
                made.level, visible = self._title()
            made.is_numbered = kind == ITEM and self._number is not None
            numbers = [(*self._number, NUMBER)] if self._number else []
            made.runs = tiled(start, stop, [*numbers, *self._styled(visible)])
        return made

    def _styled(self, visible: Sequence[Span]) -> Iterator[Run]:
        """Yield the runs of lines; those without marks between them are read together, as emphasis may span lines."""
        joined = list[Span]()
        for begin, end in visible:
            if joined and ">" not in self._text[joined[-1][1] : begin]:
                joined[-1] = joined[-1][0], end
            else:
                joined.append((begin, end))
        for begin, end in joined:
            yield from styled(self._text, begin, end)

    def _title(self) -> tuple[int, list[Span]]:
        """Return the level of a heading, and its lines without marks."""
        level, visible = 1, list[Span]()
        for _, begin, end in self._lines:
            line = self._text[begin:end]
            if hashes := _HASHES.match(line):
                level = len(hashes[0].rstrip())
                closing = _CLOSING_HASHES.search(line, hashes.end())
                visible.append((begin + hashes.end(), begin + closing.start() if closing else end))
            elif visible and _UNDERLINE.match(line):
                level = 1 if line[0] == "=" else 2
            else:
                visible.append((begin, end))
        return level, visible

    def _code(self) -> Iterator[Run]:
        """Yield the lines of code without fences; a line of code is indented by no less than its fence."""
        fence = ""
        indent = self._indent + self._lines[0][1] - self._lines[0][0]
        for number, (start, begin, end) in enumerate(self._lines):
            opened = _FENCE.match(self._text, begin, end)
            if number == 0 and opened and self._block.kind == CODE:
                fence = opened[0]
            elif fence and self._text.startswith(fence, begin) and not self._text[begin:end].strip(fence[0]):
                fence = ""
            else:
                stop = self._lines[number + 1][0] if number + 1 < len(self._lines) else end
                after_quotes = self._text.rfind(">", start, begin) + 1 if self._quotes else start
                yield min(begin, max(start, after_quotes) + (indent if fence else 0)), stop, ""

    def _rows(self, start: int, stop: int) -> list[tuple[bool, list[list[Run]]]]:
        """Return a row for each line except that of the delimiters, whose marks belong to the row before."""
        rows: list[tuple[bool, list[list[Run]]]] = []
        edges = [start, *(each[0] for each in self._lines[1:]), stop]
        for (_, begin, end), (low, high) in zip(self._lines, pairwise(edges), strict=True):
            line = self._text[begin:end]
            if rows and "-" in line and _DELIMITERS.fullmatch(line):
                rows[-1] = True, rows[-1][1]
                rows[-1][1][-1].append((low, high, MARK))
            else:
                rows.append((False, list(self._cells(low, begin, end, high))))
        return rows

    def _cells(self, low: int, begin: int, end: int, high: int) -> Iterator[list[Run]]:
        """Yield the runs of each cell; each pipe belongs to the cell after it, the last one to the last cell."""
        pipes = [each.start() for each in _PIPE.finditer(self._text, begin, end)]
        closing = end - 1 if pipes[1:] and pipes[-1] == end - 1 else end
        edges = [low, *(each for each in pipes if begin < each < closing), closing]
        for first, last in pairwise(edges):
            inner = max(first, begin)
            start, stop = trim(self._text, inner + self._text.startswith("|", inner), last)
            yield tiled(first, high if last == closing else last, styled(self._text, start, stop))


def _end_of(pattern: re.Pattern[str], text: str, start: int, stop: int) -> int:
    """Return where a pattern ends that may be empty."""
    found = pattern.match(text, start, stop)
    return found.end() if found else start


# What is between two marks is bounded, so that unclosed marks take no quadratic time.
_INLINE = re.compile(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?:\\|(?<! ) {2,100}+)(?P<newline>\r\n|\r|\n)"
    r"|(?<!`)(?P<ticks>`{1,9}+)(?P<code>.{1,500}?)(?<!`)(?P=ticks)(?!`)"
    r"|<(?P<url>[A-Za-z][A-Za-z0-9+.-]{1,31}+:[^\s<>]{1,2000}+)>"
    r"|!\[(?P<image>[^\[\]]{0,500}+)\]\((?:[^\s()]|\([^\s()]{0,500}+\)){0,500}+(?:[ \t]++[^()\n]{0,500}+)?\)"
    r"|\[(?P<link>[^\[\]]{1,500}+)\]\((?:[^\s()]|\([^\s()]{0,500}+\)){0,500}+(?:[ \t]++[^()\n]{0,500}+)?\)"
    r"|\*\*\*(?=[^\s*])(?P<both>.{1,500}?)(?<=\S)\*\*\*(?!\*)"
    r"|\*\*(?=[^\s*])(?P<strong>.{1,500}?)(?<=\S)\*\*(?!\*)"
    r"|(?<!\w)__(?=[^\s_])(?P<strong_>.{1,500}?)(?<=\S)__(?!\w)"
    r"|\*(?=[^\s*])(?P<emphasis>.{1,500}?)(?<![\s*])\*(?!\*)"
    r"|(?<!\w)_(?=[^\s_])(?P<emphasis_>.{1,500}?)(?<=\S)_(?!\w)",
    re.DOTALL,
)
_STYLES = {"escaped": "", "newline": BREAK, "code": CODE_SPAN, "url": LINK, "image": IMAGE}
_NESTING_STYLES = {
    "both": STRONG + EMPHASIS,
    "strong": STRONG,
    "strong_": STRONG,
    "emphasis": EMPHASIS,
    "emphasis_": EMPHASIS,
    "link": LINK,
}


def styled(text: str, start: int, stop: int, style: str = "") -> Iterator[Run]:
    """Yield the runs of a stretch of Markdown inside a block; they tile it.

    Args:
        text: Any string.
        start: Where the stretch begins.
        stop: Where it ends.
        style: The style of all of it.
    """
    at = start
    for found in _INLINE.finditer(text, start, stop):
        name = found.lastgroup or ""
        low, high = found.span(name)
        if at < found.start():
            yield at, found.start(), style
        yield found.start(), low, MARK
        if name in _NESTING_STYLES:
            yield from styled(text, low, high, _with_letter(style, _NESTING_STYLES[name]))
        elif low < high:
            yield low, high, _with_letter(style, _STYLES[name])
        if high < found.end():
            yield high, found.end(), MARK
        at = found.end()
    if at < stop:
        yield at, stop, style


def _with_letter(style: str, letter: str) -> str:
    return "".join(sorted({*style, *letter}))
