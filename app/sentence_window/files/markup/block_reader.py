"""Reads a text of light markup line by line, by the rules of its grammar, into blocks."""

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from langchain_sentence_window._primitives import MAX_INDEX, Span
from langchain_sentence_window.splitting import BLANK as FILL
from langchain_sentence_window.splitting import (
    CODE,
    HEADING,
    LIST_ITEM,
    MAX_LEVEL,
    MAX_MARKED_HEADING_CHARS,
    PROSE,
    TABLE_ROW,
    Block,
    trim,
)

from .grammars import ANY, Grammar, Region, Rule

MAX_MARKUP_CHARS = 1_500
"""Characters of the longest markup at the beginning of a line, such as a directive with its options."""

_SKIP, _GLUE, _TEXT, _TITLE, _ITEM, _MARKER, _TABLE = "skip", "glue", "text", "title", "item", "marker", "table"
_INDENT = "indent"


def _blank(match: "re.Match[str]") -> str:
    return FILL * len(match[0])


@dataclass(slots=True)
class _Draft(Region):
    """A block that is being read.

    Attributes:
        indent: The indent of its text; ``None`` for any.
        count: Its lines; 0 while its first line waits for the text below it.
    """

    kind: str = PROSE
    indent: int | None = None
    count: int = 1


@dataclass(slots=True)
class BlockReader:
    """Reads a text line by line.

    Attributes:
        grammar: The grammar of its format.
        lines: The text at its original length with plain newlines, see `Scan`.
        regions: See `Scan`.
        depths: See `Scan`.
        drafts: The blocks so far.
        blanks: Spans of markup.
        markers: For each list marker that is left out, its position and that of the text after it.
    """

    grammar: Grammar
    lines: str
    regions: Mapping[int, Region]
    depths: list[tuple[int, int]]
    drafts: list[Region] = field(default_factory=list)
    blanks: list[Span] = field(default_factory=list)
    markers: dict[int, int] = field(default_factory=dict)
    _open: _Draft | None = None
    _items: list[int] = field(default_factory=list)  # the indents of the open items
    _is_attached: bool = False  # the next paragraph belongs to the last item, though it isn't indented
    _attributes: str = ""  # a line such as ``[source]``, which applies to the block below
    _unclosed: set[str] = field(default_factory=set)

    @property
    def _is_rst(self) -> bool:
        return self.grammar.name == "rst"

    def read(self) -> None:
        """Read all lines."""
        at = 0
        while at < len(self.lines):
            end = self._line_end(at)
            first = self._first(at, end)
            if first >= end:
                self._blank_line(at, end)
                at = end + 1
            else:
                stop = self._read_line(at, first, end)
                at = stop + 1 if self.lines[stop : stop + 1] in ("\n", "") else stop
        self._close()

    def _first(self, at: int, end: int) -> int:
        """Return the position of the first character of a line that isn't white space."""
        match = _WHITE.match(self.lines, at, end)
        return match.end() if match else at

    def _line_end(self, at: int) -> int:
        end = self.lines.find("\n", at)
        return len(self.lines) if end < 0 else end

    def _blank_line(self, at: int, end: int) -> None:
        is_waiting = self._open is not None and not self._open.count
        has_comment = FILL in self.lines[at:end]
        if is_waiting or has_comment:
            return
        self._close()
        self._is_attached = False

    def _read_line(self, at: int, first: int, end: int) -> int:
        """Read the block or markup that begins at a line; return the position after it."""
        if region := self.regions.get(first):
            self._close()
            self._add_region(region)
            return region.end
        rules = self.grammar.rules.get(self.lines[first].lower(), self.grammar.rules[ANY])
        limit = min(len(self.lines), first + MAX_MARKUP_CHARS)
        for rule in rules:
            if (rule.is_flush and first > at) or (rule.is_first and self._open):
                continue
            match = rule.pattern.match(self.lines, first, limit)
            if match and (stop := self._apply(rule, match, first - at)):
                return stop
        return self._read_text(at, first, end)

    def _apply(self, rule: Rule, match: "re.Match[str]", indent: int) -> int:
        """Apply a rule to its match; return the position after it, or 0 if the rule doesn't apply after all."""
        start, stop = match.span()
        text = match.span("text") if "text" in match.re.groupindex else (stop, stop)
        if rule.kind == _GLUE:
            self.blanks.append((start, stop))
            return stop
        if rule.kind in (_ITEM, _MARKER):
            return self._begin_item(rule, match, indent)
        rank = _rank(match, is_any_length=self._is_rst) if rule.kind == HEADING else ""
        region = self._region(rule, match, indent) if rule.close else text
        if region is None or rank is None:
            return 0
        self._close()
        if rule.kind == _SKIP:
            self.blanks.append((start, max(region[1], stop)))
            self._attributes = match[0] if match[0].startswith("[") else self._attributes
            self._is_attached = match[0].strip() == "+"
            return max(region[1], stop)
        self.blanks += [(start, text[0]), (text[1], stop)]
        if rule.kind == HEADING:
            self._items.clear()
            self.drafts.append(Region(*text, HEADING, rank))
        elif rule.kind in (CODE, _TABLE):
            if rule.close and text[0] < text[1]:  # its title
                self.drafts.append(_Draft(*text))
            self._add_region(Region(*region, rule.kind), match[0])
        elif text[0] < text[1]:
            self._begin_text(rule, match, indent)
        return max(region[1], stop)

    def _begin_text(self, rule: Rule, match: "re.Match[str]", indent: int) -> None:
        self._open = _Draft(*match.span("text"), self._kind(match.start(), indent))
        if rule.kind == _TITLE:
            self._close()
            self._attributes = match[0] if self._is_rst else self._attributes
        elif match[0].endswith("::") or "is_head" in match.re.groupindex:
            self._open.count, self._open.indent = 0, indent + 1

    def _region(self, rule: Rule, match: "re.Match[str]", indent: int) -> Span | None:
        """Return the start of the lines inside a region, and the end of the region; ``None`` if it is never closed."""
        start = min(match.end() + 1, len(self.lines))
        if rule.close == _INDENT:
            return start, max(self._indented(start, indent), match.end())
        mark = match["mark"] if "mark" in match.re.groupindex else ""
        close = rule.close.replace("@mark@", re.escape(mark))
        found = None if close in self._unclosed else re.compile(close).search(self.lines, match.end())
        if found is None:
            self._unclosed.add(close)
            return None
        self.blanks.append((found.start() + 1, found.end()))
        return min(start, found.start() + 1), found.end()

    def _indented(self, at: int, indent: int) -> int:
        """Return the end of the lines from a position on that are indented by more than ``indent`` columns."""
        end = at
        while at < len(self.lines):
            stop = self._line_end(at)
            first = self._first(at, stop)
            if first < stop and first - at <= indent:
                break
            end = stop if first < stop else end
            at = stop + 1
        return end

    def _add_region(self, region: Region, opening: str = "") -> None:
        """Add a region as one block, or as the rows of a table."""
        is_table = region.kind == _TABLE
        self.drafts += _rows(self, region, opening + self._attributes) if is_table else [region]
        self._attributes = ""

    def _begin_item(self, rule: Rule, match: "re.Match[str]", indent: int) -> int:
        if self._open and self._is_rst and (self._open.indent or 0) == indent and self._open.kind == PROSE:
            return 0  # a line of a paragraph that begins with a dash or a number by chance
        if self._open and self._open.kind == TABLE_ROW and indent > self._items[-1]:
            return 0  # the next cell of a row
        self._close()
        while self._items and self._items[-1] >= indent:
            self._items.pop()
        self._items.append(indent)
        end = self._line_end(match.end())
        if rule.kind == _MARKER:
            rest = self.lines[match.end() : end + MAX_MARKUP_CHARS].lstrip()
            self.markers[match.start()] = min(end + MAX_MARKUP_CHARS, len(self.lines)) - len(rest)
        kind = TABLE_ROW if "row" in match.re.groupindex and match["row"] else LIST_ITEM
        width = indent + match.end() - match.start() if kind == LIST_ITEM and rule.kind == _ITEM else None
        self._open = _Draft(match.start(), end, kind, indent=width)
        if kind == TABLE_ROW and self.drafts:
            below = None if self.drafts[-1].is_header is None else False
            self._open.is_header = "header-rows" in self._attributes or below
        self._attributes = ""
        if self.lines.endswith("::", match.end(), end) and not self._is_rst:
            self._open.count, self._open.indent = 0, indent + 1
        return self._literal_below(end, indent) or end

    def _kind(self, at: int, indent: int) -> str:
        """Return the kind of a paragraph: that of an item if it belongs to one."""
        if self.depths:
            number = bisect_right(self.depths, (at, MAX_INDEX)) - 1
            return LIST_ITEM if number >= 0 and self.depths[number][1] else PROSE
        if self._is_attached:
            return LIST_ITEM
        while self._items and self._items[-1] >= indent:
            self._items.pop()
        return LIST_ITEM if self._items else PROSE

    def _read_text(self, at: int, first: int, end: int) -> int:
        indent = first - at
        if self._open is not None and self._open.indent is not None:
            is_term = self._open.count == 1 and indent > self._open.indent and self._is_rst
            if is_term or (indent < self._open.indent and (self._is_rst or not self._open.count)):
                self._close()
        if self._open is None:
            style = _CODE_STYLE.match(self._attributes)
            is_literal = self.grammar.name == "asciidoc" and first > at and not self._items
            if style or is_literal:
                stop = _PARAGRAPH.match(self.lines, at)
                self._add_region(_Draft(first, stop.end() if stop else end, CODE))
                return self.drafts[-1].end
            self._open = _Draft(first, end, self._kind(first, indent), indent=indent, count=0)
        elif not self._open.count:
            self._open.indent = indent
        self._attributes = ""
        self._open.end, self._open.count = end, self._open.count + 1
        return self._literal_below(end, indent) or end

    def _literal_below(self, end: int, indent: int) -> int:
        """Read the code below a line of reStructuredText that ends with ``::``; return its end, 0 if there is none."""
        begin = max(self._open.start if self._open else 0, self.lines.rfind("\n", 0, end) + 1)
        at = trim(self.lines, begin, end)[1]
        is_open = self._is_rst and self.lines.endswith("::", begin, at)
        match = _BLANK_BELOW.match(self.lines, end) if is_open else None
        if match is None or len(match[1]) <= indent:
            return 0
        is_alone = at - 2 <= begin or self.lines[at - 3].isspace()
        self.blanks.append((at - (2 if is_alone else 1), at))
        self._close()
        stop = self._indented(match.start(1), indent)
        self.drafts.append(_Draft(match.start(1), stop, CODE))
        return stop

    def _close(self) -> None:
        if self._open is not None:
            self.drafts.append(self._open)
            self._open = None

    def blocks(self) -> tuple[str, list[Block]]:
        """Return the text with blanks in place of markup and of newlines inside paragraphs, and its blocks."""
        chars = list(self.lines)
        for start, end in self.blanks:
            chars[start:end] = FILL * (end - start)
        for draft in self.drafts:
            if draft.kind in (PROSE, LIST_ITEM):
                self._smooth(chars, draft)
        for start, end in self.markers.items():
            chars[start:end] = "-" + FILL * (end - start - 1)
        text = "".join(chars)
        ranks = list(dict.fromkeys(draft.rank for draft in self.drafts if draft.kind == HEADING))
        if not self._is_rst:  # in reStructuredText, the order of first use gives the levels
            ranks.sort(key=lambda rank: (len(rank), rank))
        blocks: list[Block] = []
        for draft in sorted(self.drafts, key=lambda draft: draft.start):
            start, end = trim(text, draft.start, draft.end)
            is_heading = draft.kind == HEADING and end - start <= MAX_MARKED_HEADING_CHARS
            kind = PROSE if draft.kind == HEADING and not is_heading else draft.kind
            if start < end and (kind == CODE or any(map(str.isalnum, text[start:end]))):
                level = min(MAX_LEVEL, ranks.index(draft.rank) + 1) if is_heading else 0
                blocks.append(Block(start, end, kind, level, draft.is_header, self.markers.get(start)))
        for heading in (block for block in blocks if block.level):
            self._fill(chars, self.grammar.unmarked, heading)
        ends = [0, *(block.end for block in blocks)]
        starts = [*(block.start for block in blocks), len(chars)]
        for end, start in zip(ends, starts, strict=True):
            chars[end:start] = _NO_WHITE.sub(FILL, text[end:start])
        return "".join(chars), blocks

    def _fill(self, chars: list[str], pattern: "re.Pattern[str]", block: Region | Block) -> None:
        for match in pattern.finditer(self.lines, block.start, block.end):
            chars[match.start() : match.end()] = _blank(match)

    def _smooth(self, chars: list[str], draft: Region) -> None:
        """Blank the newlines of a paragraph, and replace inline markup in which no sentence may end."""
        self._fill(chars, _INNER_WHITE, draft)
        self._fill(chars, self.grammar.dropped, draft)
        for match in self.grammar.shielded.finditer(self.lines, draft.start, draft.end):
            start, end = match.span()
            if match.lastgroup == "note" and (stop := _STOP_BEFORE.search(self.lines, max(0, start - 2), start)):
                chars[stop.end(1) : end] = "x" * (end - stop.end(1) - 1) + stop[1]
            elif _END_INSIDE.search(match[0][1:-1]):
                chars[start + 1 : end - 1] = "x" * (end - start - 2)


_UNDERLINES = "=-~^+"


def _rank(match: "re.Match[str]", *, is_any_length: bool) -> str | None:
    """Return the rank of a heading; ``None`` if the line below is too long or short to underline it."""
    mark = match.groupdict().get("mark")
    if mark is None:
        return match["rank"].replace("#", "=")
    if not is_any_length and abs(len(match["rank"]) - len(match["text"].rstrip())) > 1:
        return None
    is_above = match.start("rank") < match.start("text")
    return mark + mark * is_above if mark not in _UNDERLINES else "=" * (2 * _UNDERLINES.index(mark) + 2 - is_above)


_WHITE = re.compile(rf"[ \t{FILL}]*+")
_INNER_WHITE = re.compile(rf"\n[ \t{FILL}]*+|[ \t]{{3,}}+|\t")
_NO_WHITE = re.compile(r"\S")
_END_INSIDE = re.compile(r"[.!?…:;。！？]\W")
_STOP_BEFORE = re.compile(r"([.!?。！？])[ ]?\Z")
_PARAGRAPH = re.compile(r"(?:[ \t]*+[^\s][^\n]*+\n?)++")
_BLANK_BELOW = re.compile(r"(?:\n[ \t]*+(?=\n))++\n([ \t]*+)(?=\S)")
_CODE_STYLE = re.compile(r"\[(?:source|listing|literal|plantuml|mermaid|stem|latexmath|asciimath|pass|graphviz)\b")


def _rows(reader: BlockReader, table: Region, opening: str) -> list[Region]:
    """Return the rows of a table, and blank the borders between them."""
    style = next(style for begins, style in _STYLES if opening.startswith(begins))
    rows: list[Region] = []
    header: Region | None = None
    is_new, cells, at = True, 0, table.start
    columns: int | None = None
    if style.is_cells:
        match = _COLUMNS.search(opening)  # else the first row shows the number
        columns = int(match["count"] or 0) or match["each"].count(",") + 1 if match else 0
    for line in reader.lines[table.start : table.end].splitlines(keepends=True):
        end = at + len(line)
        if style.border.fullmatch(line.strip()):
            reader.blanks.append((at, end))
            is_new = True
            if rows and header is None and (style.is_headed or "=" in line):
                header = rows[-1]
        elif line.strip():
            is_new = is_new or (style.is_line if columns is None else cells >= columns and "|" in line)
            if is_new or (style.is_column and not line[0].isspace()):
                rows.append(Region(at, end, TABLE_ROW))
                cells = 0
            rows[-1].end, is_new = end, False
            if name := _HEADER_OPTION.match(line):
                header, rows[-1].start = rows[-1], at + name.end()
            cells += len(_CELL.findall(line))
            columns = cells if columns == 0 else columns
        elif columns is not None and len(rows) == 1 and (cells == columns or "header" in opening):
            header = rows[0]  # AsciiDoc: a blank line follows the first row
        at = end
    for row in rows:
        row.is_header = row is header if header is not None else None
    return rows


class _Style(NamedTuple):
    """How table rows are recognized.

    Attributes:
        border: Matches a line between rows.
        is_line: Whether each line is a row.
        is_column: Whether a line with text in the first column begins a row.
        is_cells: Whether a row has as many cells as the table has columns, on any number of lines.
        is_headed: Whether the first border ends the header.
    """

    border: "re.Pattern[str]"
    is_line: bool = False
    is_column: bool = False
    is_cells: bool = False
    is_headed: bool = False


_STYLES = (  # by the beginning of the table
    ("+", _Style(re.compile(r"\+[-=+]*\+"))),
    (("|=", "!=", ",=", ":="), _Style(re.compile(r"(?!)"), is_cells=True)),
    ("|", _Style(re.compile(r"\|[-+|: ]*+"), is_line=True, is_headed=True)),
    ("=", _Style(re.compile(r"=++(?: ++=++)*+|-++(?: ++-++)++"), is_column=True)),
    ("", _Style(re.compile(r":(?!header:)[\w-]++:.*+"), is_line=True)),
)
_COLUMNS = re.compile(r"cols=\"?(?:(?P<count>\d+)\*|(?P<each>[^\"\]\n]*))")
_HEADER_OPTION = re.compile(r"[ \t]*+:header:")
_CELL = re.compile(r"(?<!\\)\|")
