"""Documents as blocks to lay out, made of runs of their own text.

The runs of all blocks, joined, are the text: each character once and in order. A character that only marks up others,
such as ``#``, is in a run of the style `MARK`, which the page keeps and doesn't show. The blocks are those of the
splitter: of Markdown as it reads the text, of other texts as the index says of their sentences.

Markdown inside a line is read in one pass, as CommonMark has it in all but odd nestings. HTML and entities stay as they
are.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

from langchain_sentence_window._primitives import Span
from langchain_sentence_window.splitting import blocks as splitting
from langchain_sentence_window.splitting.markdown import parse_markdown

PARAGRAPH = "paragraph"
HEADING = "heading"
ITEM = "item"
TABLE = "table"
CODE = "code"
RULE = "rule"
GAP = "gap"
"""Text that may not be shown stands here."""

MARK = "m"
"""The style of a character that says how others look, and isn't shown."""

NUMBER = "k"
"""The style of the number of a list item, which is shown."""

STRONG, EMPHASIS, CODE_SPAN, LINK, IMAGE = "b", "i", "c", "l", "g"
BREAK = "n"
"""The style of a newline that is shown as one."""

Run: TypeAlias = tuple[int, int, str]
"""A stretch of a text that looks alike: its first code point, one past its last, and its style: the letters above,
sorted; empty for plain text. A plain tuple, as a document has very many."""


def tiled(start: int, end: int, shown: Iterable[Run]) -> list[Run]:
    """Return runs that tile a stretch: those that are shown, in order and disjoint, and marks between them."""
    found: list[Run] = []
    at = start
    for run in shown:
        if at < run[0]:
            found.append((at, run[0], MARK))
        found.append(run)
        at = run[1]
    if at < end:
        found.append((at, end, MARK))
    return found


@dataclass(slots=True)
class TableRow:
    """A row of a table.

    Attributes:
        cells: The runs of each cell.
        is_header: Whether it names the columns.
    """

    cells: list[list[Run]]
    is_header: bool = False


@dataclass(slots=True)
class PageBlock:
    """A paragraph, a heading, a list item, a table, code, or a rule.

    Attributes:
        kind: Which of these.
        runs: Its text, unless it is a table.
        rows: The rows of a table.
        level: Of a heading, from 1 to 6; else how many lists the block is in.
        quotes: How many quotes it is in.
        is_numbered: Whether a list item has a number, else a bullet.
    """

    kind: str
    runs: list[Run] = field(default_factory=list)
    rows: list[TableRow] = field(default_factory=list)
    level: int = 0
    quotes: int = 0
    is_numbered: bool = False

    def all_runs(self) -> Iterator[Run]:
        """Yield the runs, those of cells too, in the order of the text."""
        yield from self.runs
        for row in self.rows:
            for cell in row.cells:
                yield from cell

    def to_dict(self, text: str, offset: int, sentences: "Sentences") -> dict[str, Any]:
        """Return what the page lays out.

        Args:
            text: The text that the runs are of.
            offset: Where it begins in the document.
            sentences: Its sentences. Ask the blocks of a text in order.

        Returns:
            ``kind``, ``start``, and ``runs`` or ``rows``; and what differs from the default. Runs are three lists:
            texts, the indexes of their sentences, styles. They are cut where sentences begin and end.
        """
        first = next(self.all_runs(), None)
        made: dict[str, Any] = {"kind": self.kind, "start": offset + (first[0] if first else 0)}
        if self.rows:
            made["rows"] = [
                {"header": row.is_header, "cells": [sentences.cut(text, cell) for cell in row.cells]}
                for row in self.rows
            ]
        else:
            made["runs"] = sentences.cut(text, self.runs)
        optional = {"level": self.level, "quotes": self.quotes, "numbered": self.is_numbered}
        return made | {name: value for name, value in optional.items() if value}


class Sentences:
    """The sentences of a text, for runs that are asked for from left to right."""

    def __init__(self, spans: Sequence[tuple[int, int, int]]) -> None:
        """Take ``(start, end, index)`` of each sentence, in order and disjoint."""
        self._spans = spans
        self._at = 0

    def cut(self, text: str, runs: Iterable[Run]) -> tuple[list[str], list[int], list[str]]:
        """Cut runs where sentences begin and end.

        Returns:
            For each piece its text, the index of its sentence, which is -1 between sentences, and its style.
        """
        texts, indexes, styles = list[str](), list[int](), list[str]()
        spans, at = self._spans, self._at
        for start, end, style in runs:
            while start < end:
                while at < len(spans) and spans[at][1] <= start:
                    at += 1
                stop, index = end, -1
                if at < len(spans):
                    low, high, number = spans[at]
                    stop, index = (min(end, low), -1) if start < low else (min(end, high), number)
                texts.append(text[start:stop])
                indexes.append(index)
                styles.append(style)
                start = stop
        self._at = at
        return texts, indexes, styles


_CODE = frozenset({splitting.CODE, splitting.HTML, splitting.FRONT_MATTER})
_OF_A_LINE = frozenset(
    {splitting.HEADING, splitting.LIST_ITEM, splitting.TABLE_ROW, splitting.MESSAGE, splitting.CONTENTS}
)
_KINDS = {
    splitting.HEADING: HEADING,
    splitting.LIST_ITEM: ITEM,
    splitting.TABLE_ROW: TABLE,
    **dict.fromkeys(_CODE, CODE),
}


def plain_blocks(text: str, sentences: Sequence[splitting.Block]) -> list[PageBlock]:
    """Cut a text without marks into blocks.

    Args:
        text: Any string.
        sentences: Its sentences as blocks, in order and disjoint. White space between them is kept with the one before.

    Returns:
        Blocks whose runs tile the text; none for an empty text.
    """
    if not text:
        return []
    found: list[PageBlock] = []
    for first, start, end in _stretches(text, sentences):
        kind = _KINDS.get(first.kind, PARAGRAPH)
        if kind == TABLE:
            if not found or found[-1].kind != TABLE or first.is_header:
                found.append(PageBlock(TABLE))
            found[-1].rows.append(TableRow(_tabbed(text, start, end), bool(first.is_header)))
        else:
            level = (first.level or 1) if kind == HEADING else int(kind == ITEM)
            found.append(PageBlock(kind, _trimmed(text, start, end), level=level))
    return found


def _stretches(text: str, sentences: Sequence[splitting.Block]) -> Iterator[tuple[splitting.Block, int, int]]:
    """Yield the first sentence of each block or row, and the span of the text that belongs to it."""
    first = splitting.Block(0, 0) if not sentences else sentences[0]
    start, last = 0, first
    for each in sentences[1:]:
        if _begins(text[last.end : each.start], last, each):
            yield first, start, each.start
            first, start = each, each.start
        last = each
    yield first, start, len(text)


def _begins(space: str, last: splitting.Block, sentence: splitting.Block) -> bool:
    lines = space.count("\n") or space.count("\r")
    if last.kind != sentence.kind:
        return lines > 0 or bool({last.kind, sentence.kind} & (_OF_A_LINE | _CODE))
    return lines > (0 if sentence.kind in _OF_A_LINE else 1)


def _tabbed(text: str, start: int, end: int) -> list[list[Run]]:
    """Return a cell for each tab; the tab belongs to the cell before it."""
    cells: list[list[Run]] = []
    while start < end:
        tab = text.find("\t", start, end)
        stop = end if tab < 0 or tab + 1 >= end or text[tab:end].isspace() else tab + 1
        cells.append(_trimmed(text, start, stop))
        start = stop
    return cells


def _trimmed(text: str, start: int, end: int) -> list[Run]:
    """Return a stretch whose white space at the end isn't shown."""
    close = start + len(text[start:end].rstrip())
    return tiled(start, end, [(start, close, "")] if start < close else [])


_QUOTES = re.compile(r"(?:[ \t]*+>)*+[ \t]*+")
_PREFIX = re.compile(r"(?:[ \t]*+(?:>|[-*+](?=\s|\Z)|\d{1,9}[.)](?=\s|\Z)))*+[ \t]*+")
_MARKER = re.compile(r"[-*+]|\d+[.)]")
_HASHES = re.compile(r"#{1,6}(?=\s|\Z)[ \t]*+")
_CLOSING_HASHES = re.compile(r"(?:(?<![ \t])[ \t]++|\A)#++\Z")
_UNDERLINE = re.compile(r"(?:=++|-++)\Z")
_FENCE = re.compile(r"`{3,}+|~{3,}+")
_DELIMITERS = re.compile(r"[ \t|:>-]++")
_PIPE = re.compile(r"(?<!\\)\|")


def markdown_blocks(text: str) -> list[PageBlock]:
    """Cut a Markdown text into blocks.

    Args:
        text: Any string.

    Returns:
        Blocks whose runs tile the text; none for an empty text.
    """
    found = list[PageBlock]()
    columns = list[int]()
    given = parse_markdown(text, indented_code=False)
    at = before = 0
    for block, then in zip(given, [*(each.start for each in given[1:]), len(text)], strict=False):
        if text[at : block.start].strip():
            found.append(PageBlock(RULE, [(at, block.start, MARK)]))
            at = block.start
        space = text[block.end : then]
        stop = block.end + len(space) - len(space.lstrip()) if space.strip() else then
        made = _BlockLines(text, block, text[before : block.start], columns).laid(at, stop)
        is_table = bool(found) and found[-1].kind == made.kind == TABLE and not made.rows[0].is_header
        if is_table and len(text[before : block.start].splitlines()) <= 1:
            found[-1].rows += made.rows
        else:
            found.append(made)
        at, before = stop, block.end
    if at < len(text):
        found.append(PageBlock(RULE if text[at:].strip() else PARAGRAPH, [(at, len(text), MARK)]))
    return found


class _BlockLines:
    """The lines of a block of Markdown.

    Attributes:
        begins: Of each line where it starts, where its text begins behind its marks, and where that ends.
        number: Where the number of the item stands; ``None`` for none.
    """

    def __init__(self, text: str, given: splitting.Block, space: str, columns: list[int]) -> None:
        """Read the marks before the text of each line.

        Args:
            text: The text that the block is of.
            given: The block, as the splitter has it.
            space: What stands between the block before and this one.
            columns: The columns of the items that are open; those that the block is in from now on.
        """
        self._text, self._given = text, given
        spans = [each.span() for each in splitting.LINE.finditer(text, given.start, given.end)]
        first = _end_of(_QUOTES if given.kind == splitting.PROSE else _PREFIX, text, *spans[0])
        behind = [first, *(_end_of(_QUOTES, text, *each) for each in spans[1:])]
        self.begins = [
            (start, begin, max(begin, start + len(text[start:stop].rstrip())))
            for (start, stop), begin in zip(spans, behind, strict=True)
        ]
        markers = [] if given.kind == splitting.PROSE else list(_MARKER.finditer(text, given.start, first))
        self._indent = len(space) - len(space.rstrip(" \t"))
        indent = self._indent - given.start
        for place in [each.start() for each in markers] or [given.start]:
            while columns and columns[-1] >= indent + place:
                columns.pop()
            columns += [indent + place] if markers else []
        self.number = markers[-1].span() if markers and markers[-1][0][-1] in ".)" else None
        self._is_item = bool(markers) and given.kind == splitting.LIST_ITEM
        self._items, self._quotes = len(columns), text.count(">", given.start, first)

    def laid(self, start: int, stop: int) -> PageBlock:
        """Return the block as it is laid out, whose runs tile a stretch."""
        kind = _KINDS.get(self._given.kind, PARAGRAPH)
        if kind == ITEM and not self._is_item:
            kind = PARAGRAPH
        block = PageBlock(kind, level=self._items, quotes=self._quotes)
        if kind == TABLE:
            block.rows = self._rows(start, stop)
        elif kind == CODE:
            block.runs = tiled(start, stop, [(*each, "") for each in self._code()])
        else:
            block.is_numbered = kind == ITEM and self.number is not None
            named = [(*self.number, NUMBER)] if self.number else []
            first, begin, _ = self.begins[0]
            begun = [(first, self.number[0]), (self.number[1], begin)] if self.number else [(first, begin)]
            hidden = [*begun, *(each[:2] for each in self.begins[1:])]
            if kind == HEADING:
                block.level, marks = self._title()
                hidden += marks
            hidden += [(start, self.begins[0][0]), (self.begins[-1][2], stop)]
            block.runs = styled(self._text, start, stop, hidden, named)
        return block

    def _title(self) -> tuple[int, list[Span]]:
        """Return the level of a heading, and its marks."""
        level, marks = 1, []
        for number, (_, begin, end) in enumerate(self.begins):
            line = self._text[begin:end]
            if hashes := _HASHES.match(line):
                level = line.index("#") + len(hashes[0].rstrip())
                closing = _CLOSING_HASHES.search(line, hashes.end())
                marks += [(begin, begin + hashes.end()), *([(begin + closing.start(), end)] if closing else [])]
            elif number and _UNDERLINE.match(line):
                level = 1 if line[0] == "=" else 2
                marks.append((self.begins[number - 1][2], end))
        return level, marks

    def _code(self) -> Iterator[Span]:
        """Yield the stretches of code, one for each line; a line of code is indented by no less than its fence."""
        fence = ""
        indent = self._indent + self.begins[0][1] - self.begins[0][0]
        for number, (start, begin, end) in enumerate(self.begins):
            opened = _FENCE.match(self._text, begin, end)
            if number == 0 and opened and self._given.kind == splitting.CODE:
                fence = opened[0]
            elif fence and self._text.startswith(fence, begin) and not self._text[begin:end].strip(fence[0]):
                fence = ""
            else:
                stop = self.begins[number + 1][0] if number + 1 < len(self.begins) else end
                quotes = self._text.rfind(">", start, begin) + 1 if self._quotes else start
                yield min(begin, max(start, quotes) + (indent if fence else 0)), stop

    def _rows(self, start: int, stop: int) -> list[TableRow]:
        """Return a row for each line but that of the delimiters, whose marks belong to the row before."""
        rows: list[TableRow] = []
        edges = [start, *(each[0] for each in self.begins[1:]), stop]
        for (_, begin, end), (low, high) in zip(self.begins, pairwise(edges), strict=True):
            line = self._text[begin:end]
            if rows and "-" in line and _DELIMITERS.fullmatch(line):
                rows[-1].is_header = True
                rows[-1].cells[-1].append((low, high, MARK))
            else:
                rows.append(TableRow(list(self._cells(low, begin, end, high))))
        return rows

    def _cells(self, low: int, begin: int, end: int, high: int) -> Iterator[list[Run]]:
        """Yield the runs of each cell; each pipe belongs to the cell after it, the last one to the last cell."""
        pipes = [each.start() for each in _PIPE.finditer(self._text, begin, end)]
        closing = end - 1 if pipes[1:] and pipes[-1] == end - 1 else end
        cuts = [each for each in pipes if begin < each < closing]
        for first, then in pairwise([low, *cuts, closing]):
            inner = max(first, begin)
            start, stop = splitting.trim(self._text, inner + self._text.startswith("|", inner), then)
            last = high if then == closing else then
            yield styled(self._text, first, last, [(first, start), (stop, last)])


def _end_of(pattern: re.Pattern[str], text: str, start: int, stop: int) -> int:
    """Return where a pattern ends that may be empty."""
    found = pattern.match(text, start, stop)
    return found.end() if found else start


# Without a second try at any character: an address in brackets, or one with balanced pairs; then perhaps a title.
_ADDRESS = re.compile(
    r"\([ \t]*+(?:<[^<>\r\n]{0,2000}+>|(?:[^\s()<>]++|\([^\s()]{0,2000}+\)){0,100}+)"
    r"(?:[ \t]++(?:\"[^\"]{0,1000}+\"|'[^']{0,1000}+'))?+[ \t]*+\)"
)
_INLINE = re.compile(
    r"(?P<escape>\\[!-/:-@\[-`{-~])|(?P<hard>(?:\\|(?<! ) {2,}+)(?:\r\n|\r|\n))|(?P<code>`++)"
    r"|(?P<link><[A-Za-z][A-Za-z0-9+.-]{1,31}+:[^\s<>]*+>)|(?P<open>!?\[)|(?P<close>\])|(?P<emphasis>\*++|_++)"
)


def styled(text: str, start: int, stop: int, hidden: Iterable[Span] = (), named: Iterable[Run] = ()) -> list[Run]:
    """Return the runs of a stretch, with Markdown inside its lines as marks and styles.

    Args:
        text: Any string.
        start: Where the stretch begins.
        stop: Where it ends.
        hidden: Spans in it that are marks.
        named: Runs in it that have a style besides.

    Returns:
        Runs in order that tile the stretch. Their styles are letters, each once and in order; none for plain text.
    """
    away = sorted(each for each in hidden if each[0] < each[1])
    parts, at = list[str](), start
    for begin, end in away:
        parts += [text[at:begin], " " * (end - max(at, begin))]
        at = max(at, end)
    found = [
        (start + first, start + last, style) for first, last, style in _Inline("".join([*parts, text[at:stop]])).found
    ]
    return list(_swept([*found, *((*each, MARK) for each in away), *named], start, stop))


class _Inline:
    """Reads Markdown inside a line.

    Attributes:
        found: The stretches that have a style; they may overlap.
    """

    def __init__(self, text: str) -> None:
        self.found: list[Run] = []
        self._text = text
        self._ticks = defaultdict[int, list[int]](list)
        for each in re.finditer("`++", text):
            self._ticks[len(each[0])].append(each.start())
        self._brackets: list[tuple[Span, str]] = []
        self._openers: dict[str, list[list[int]]] = {"*": [], "_": []}
        at = 0
        while match := _INLINE.search(text, at):
            at = getattr(self, f"_{match.lastgroup}")(*match.span())

    def _wrap(self, start: int, inner: int, inner_end: int, end: int, style: str) -> int:
        """Take a stretch with marks around it, and return where it ends."""
        self.found += [(start, inner, MARK), (inner, inner_end, style), (inner_end, end, MARK)]
        return end

    def _escape(self, start: int, end: int) -> int:
        self.found.append((start, start + 1, MARK))
        return end

    def _hard(self, start: int, end: int) -> int:
        newline = start + (self._text[start] == "\\")
        self.found += [(start, newline, MARK), (newline, end, BREAK)]
        return end

    def _code(self, start: int, end: int) -> int:
        closing = self._ticks[end - start]
        at = bisect_left(closing, end)
        if at == len(closing):
            return end
        return self._wrap(start, end, closing[at], closing[at] + end - start, CODE_SPAN)

    def _link(self, start: int, end: int) -> int:
        return self._wrap(start, start + 1, end - 1, end, LINK)

    def _open(self, start: int, end: int) -> int:
        self._brackets.append(((start, end), IMAGE if self._text[start] == "!" else LINK))
        return end

    def _close(self, start: int, end: int) -> int:
        if not self._brackets:
            return end
        (opening, inner), style = self._brackets.pop()
        address = _ADDRESS.match(self._text, end)
        if address is None:
            return end
        self._brackets.clear()  # there are no links in links
        return self._wrap(opening, inner, start, address.end(), style)

    def _emphasis(self, start: int, end: int) -> int:
        mark, before, after = self._text[start], self._text[start - 1 : start] or " ", self._text[end : end + 1] or " "
        is_inside = mark == "_" and before.isalnum() and after.isalnum()
        opens = not after.isspace() and (after.isalnum() or not before.isalnum()) and not is_inside
        closes = not before.isspace() and (before.isalnum() or not after.isalnum()) and not is_inside
        at, openers = start, self._openers[mark]
        while closes and at < end and openers:
            opener = openers[-1]
            width = min(2, end - at, opener[1] - opener[0])
            self._wrap(opener[1] - width, opener[1], at, at + width, EMPHASIS if width == 1 else STRONG)
            opener[1] -= width
            at += width
            if opener[0] == opener[1]:
                openers.pop()
            for each in self._openers.values():  # what was opened inside stays text
                while each and each[-1][0] > opener[0]:
                    each.pop()
        if opens and at < end:
            openers.append([at, end])
        return end


def _swept(found: Iterable[Run], first: int, last: int) -> Iterator[Run]:
    """Yield the stretches between all edges, each with the styles that hold there."""
    begins, ends = defaultdict[int, Counter[str]](Counter), defaultdict[int, Counter[str]](Counter)
    for start, end, style in found:
        if start < end:
            begins[start][style] += 1
            ends[end][style] += 1
    styles = Counter[str]()
    for start, end in pairwise(sorted({first, last, *begins, *ends})):
        styles = styles + begins.pop(start, Counter()) - ends.pop(start, Counter())
        yield start, end, "".join(sorted(styles))
