"""Markdown as blocks that tile its text, and the marks inside a paragraph.

The blocks are those that the splitter's parser finds. What isn't shown of them, such as ``>``, ``-`` or ``##`` before a
line's text, is marks. A line that the parser skips is a paragraph, unless it is blank. Inside a paragraph a scanner of
its own works, as every character must be found again in the source, and the work must be linear in the text. It knows
code, emphasis, links, images, addresses, escapes and hard breaks. All else, such as HTML, stays as it is.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from langchain_sentence_window.apps.studio.document_blocks import (
    CODE,
    HEADING,
    ITEM,
    MARK,
    NUMBER,
    PARAGRAPH,
    RULE,
    TABLE,
    Block,
    Row,
    Run,
    tiled,
)
from langchain_sentence_window.splitting.markdown import block_parser

if TYPE_CHECKING:
    from markdown_it.token import Token


_LINE = re.compile(r"[^\r\n]*+(?:\r\n|\r|\n)|[^\r\n]+\Z")
_CONTAINER = re.compile(r"[ \t]*+(?:>|[-+*](?=\s|\Z)|(\d{1,9}[.)])(?=\s|\Z))")
_SPACE = re.compile(r"[ \t]*+")
_HASHES = re.compile(r"#{1,6}(?:[ \t]++|(?=[\r\n])|\Z)")
_FENCE = re.compile(r"`{3,}|~{3,}")
_PIPE = re.compile(r"(?<!\\)\|")
_DELIMITERS = re.compile(r"[ \t|:>-]*+")
_BLANK = " \t\r\n"
_LEAVES = {
    "heading_open": HEADING,
    "paragraph_open": PARAGRAPH,
    "tr_open": TABLE,
    "fence": CODE,
    "code_block": CODE,
    "html_block": CODE,
    "hr": RULE,
}


@dataclass(frozen=True, slots=True)
class _Leaf:
    """Lines ``[first, stop)`` of one block.

    Attributes:
        kind: The block's kind; empty for lines that belong to the block before.
        level: The level of a heading.
        quotes: The quotes that it is in.
        items: The list items that it is in.
        begun: Those of them that begin in its first line.
        is_fenced: Whether it is code between fences.
    """

    first: int
    stop: int
    kind: str
    level: int = 0
    quotes: int = 0
    items: int = 0
    begun: int = 0
    is_fenced: bool = False


def markdown_blocks(text: str) -> list[Block]:
    """Cut a Markdown text into blocks.

    Args:
        text: Any string.

    Returns:
        Blocks whose runs tile the text; none for an empty text.
    """
    # The parser replaces NUL by itself.
    parsed = _parsed(block_parser(False).parse(text.replace("\0", "\ufffd")))  # noqa: FBT003
    return _Layout(text).blocks(parsed)


def _parsed(tokens: Iterable["Token"]) -> Iterator[_Leaf]:
    quotes, items = 0, list[int]()
    for token in tokens:
        if token.type in ("blockquote_open", "blockquote_close"):
            quotes += token.nesting
        elif token.type == "list_item_open":
            items.append(token.map[0] if token.map else -1)
        elif token.type == "list_item_close":
            items.pop()
        elif token.map is not None and token.type in _LEAVES:
            first, stop = token.map
            yield _Leaf(
                first,
                stop,
                _LEAVES[token.type],
                level=int(token.tag[1:]) if token.type == "heading_open" else 0,
                quotes=quotes,
                items=len(items),
                begun=items.count(first),
                is_fenced=token.type == "fence",
            )


class _Layout:
    """Makes the blocks of a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = [match.span() for match in _LINE.finditer(text)]

    def blocks(self, parsed: Iterable[_Leaf]) -> list[Block]:
        found: list[Block] = []
        for leaf in self._tiling(parsed):
            last = found[-1] if found else None
            if not leaf.kind and last is not None:
                (last.rows[-1].cells[-1] if last.rows else last.runs).extend(tiled(*self._span(leaf), []))
            elif leaf.kind == TABLE:
                row = Row(self._cells(leaf), self._is_header(leaf))
                if last is None or last.kind != TABLE or row.is_header or self._is_blank(leaf.first - 1):
                    found.append(Block(TABLE, level=leaf.items, quotes=leaf.quotes))
                found[-1].rows.append(row)
            else:
                found.append(self._block(leaf))
        return found

    def _tiling(self, parsed: Iterable[_Leaf]) -> Iterator[_Leaf]:
        """Yield leaves that tile the lines."""
        at, is_table = 0, False
        for leaf in (*parsed, _Leaf(len(self._lines), len(self._lines), PARAGRAPH)):
            first, stop = max(leaf.first, at), min(leaf.stop, len(self._lines))
            for line in range(at, first):
                is_mark = self._is_blank(line) or (is_table and self._is_delimiter(line))
                is_table = is_table and is_mark
                yield _Leaf(line, line + 1, "" if is_mark else PARAGRAPH)
            if first < stop:
                is_cut = first != leaf.first
                yield replace(leaf, first=first, stop=stop, begun=0) if is_cut or stop != leaf.stop else leaf
                is_table = leaf.kind == TABLE
            at = max(at, first, stop)

    def _block(self, leaf: _Leaf) -> Block:
        start, end = self._span(leaf)
        shown: list[Run] = []
        if leaf.kind == CODE:
            shown = [(*piece, "") for piece in self._code(leaf)]
        elif leaf.kind in (PARAGRAPH, HEADING):
            numbers, pieces = self._prose(leaf)
            shown = [*numbers, *self._inline(pieces)]
        is_numbered = any(style == NUMBER for _, _, style in shown)
        is_item = leaf.kind == PARAGRAPH and leaf.begun > 0
        return Block(
            ITEM if is_item else leaf.kind or PARAGRAPH,
            runs=tiled(start, end, sorted(shown)),
            level=leaf.level if leaf.kind == HEADING else leaf.items,
            quotes=leaf.quotes,
            is_numbered=is_item and is_numbered,
        )

    def _prose(self, leaf: _Leaf) -> tuple[list[Run], list[tuple[int, int]]]:
        """Return the number of a list item, and the stretches of text, one for each line."""
        numbers: list[Run] = []
        pieces: list[tuple[int, int]] = []
        last = leaf.first if leaf.kind == HEADING else leaf.stop - 1  # a heading may have an underline
        for line in range(leaf.first, last + 1):
            begin, number = self._prefix(leaf, line)
            numbers += [(*number, NUMBER)] if number else []
            end = self._lines[line][1]
            if line == last:
                end = begin + len(self._text[begin:end].rstrip(_BLANK))
            if leaf.kind == HEADING and (match := _HASHES.match(self._text, begin)):
                title = self._text[match.end() : end]
                bare = title.rstrip("#")
                begin = min(end, match.end())
                end = begin + len(bare.rstrip(_BLANK) if not bare or bare[-1] in _BLANK else title)
            if begin < end:
                pieces.append((begin, end))
        return numbers, pieces

    def _inline(self, pieces: Sequence[tuple[int, int]]) -> Iterator[Run]:
        """Yield the runs of stretches that are read as one text."""
        if len(pieces) == 1:
            low = pieces[0][0]
            yield from ((low + start, low + end, style) for start, end, style in styled(self._text[slice(*pieces[0])]))
            return
        stretches = iter(styled("".join([self._text[low:high] for low, high in pieces])))
        read = end = 0
        style = ""
        for low, high in pieces:
            while low < high:
                if read == end:
                    _, end, style = next(stretches)
                stop = min(high, low + end - read)
                yield low, stop, style
                low, read = stop, read + stop - low

    def _code(self, leaf: _Leaf) -> Iterator[tuple[int, int]]:
        """Yield the stretches of code, one for each line."""
        begin = self._prefix(leaf, leaf.first)[0]
        indent = begin - self._lines[leaf.first][0]
        fence = _FENCE.match(self._text, begin) if leaf.is_fenced else None
        for line in range(leaf.first + bool(fence), leaf.stop):
            start, end = self._lines[line]
            rest = self._text[self._prefix(leaf, line)[0] : end].rstrip(_BLANK)
            is_last = fence is not None and line == leaf.stop - 1
            if is_last and rest.startswith(fence[0] if fence else "") and not rest.strip(rest[0]):
                return
            for _ in range(leaf.quotes):
                start = match.end() if (match := _CONTAINER.match(self._text, start, end)) else start
            space = _SPACE.match(self._text, start, min(end, start + (1 if leaf.quotes else indent)))
            yield (space.end() if space else start), end

    def _cells(self, leaf: _Leaf) -> list[list[Run]]:
        """Return the runs of each cell; each pipe belongs to the cell after it, the last one to the last cell."""
        start, stop = self._span(leaf)
        begin = self._prefix(leaf, leaf.first)[0]
        end = begin + len(self._text[begin:stop].rstrip(_BLANK))
        pipes = [match.start() for match in _PIPE.finditer(self._text, begin, end)]
        edges = [(begin, begin), *((pipe, pipe + 1) for pipe in pipes)]
        if pipes and pipes[0] == begin:
            del edges[0]
        if len(edges) > 1 and edges[-1][1] == end:
            end = edges.pop()[0]
        cells: list[list[Run]] = []
        for number, (low, inner) in enumerate(edges):
            is_last = number == len(edges) - 1
            high = end if is_last else edges[number + 1][0]
            first, last = (low if cells else start), (stop if is_last else high)
            cells.append(tiled(first, last, self._inline(self._trimmed(inner, high))))
        return cells

    def _trimmed(self, low: int, high: int) -> list[tuple[int, int]]:
        text = self._text[low:high]
        start, end = low + len(text) - len(text.lstrip(_BLANK)), low + len(text.rstrip(_BLANK))
        return [(start, end)] if start < end else []

    def _prefix(self, leaf: _Leaf, line: int) -> tuple[int, tuple[int, int] | None]:
        """Return where the text of a line begins, and the span of a number before it."""
        at, end = self._lines[line]
        number: tuple[int, int] | None = None
        for _ in range(leaf.quotes + (leaf.begun if line == leaf.first else 0)):
            match = _CONTAINER.match(self._text, at, end)
            if match is None:
                break
            at, number = match.end(), match.span(1) if match[1] else None
        space = _SPACE.match(self._text, at, end)
        return space.end() if space else at, number

    def _span(self, leaf: _Leaf) -> tuple[int, int]:
        return self._lines[leaf.first][0], self._lines[leaf.stop - 1][1]

    def _content(self, line: int) -> str:
        return self._text[slice(*self._lines[line])].strip(_BLANK)

    def _is_blank(self, line: int) -> bool:
        return not self._content(line).strip("> \t")

    def _is_delimiter(self, line: int) -> bool:
        content = self._content(line)
        return "-" in content and _DELIMITERS.fullmatch(content) is not None

    def _is_header(self, leaf: _Leaf) -> bool:
        return leaf.stop < len(self._lines) and self._is_delimiter(leaf.stop)


STRONG = "b"
EMPHASIS = "i"
CODE_SPAN = "c"
LINK = "l"
IMAGE = "g"
BREAK = "n"
"""A newline that is shown as one."""


_SPECIAL = re.compile(r"[\\`<*_\]\[]|  \r?\n")
_TOKEN = re.compile(
    r"(?P<escape>\\(?:[!-/:-@\[-`{-~]|\r?\n))|(?P<ticks>`++)|<(?P<address>[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]{0,2000})>"
    r"|(?P<run>\*++|_++)|(?P<open>!?\[)|(?P<close>\])|(?P<hard>  \r?\n)"
)
# Without a second try at any character: an address in brackets, or one with balanced pairs; then perhaps a title.
_TAIL = re.compile(
    r"\([ \t]*+(?:<[^<>\r\n]{0,2000}+>|(?:[^\s()<>]++|\([^\s()]{0,2000}+\)){0,100}+)"
    r"(?:[ \t]++(?:\"[^\"]{0,1000}+\"|'[^']{0,1000}+'))?+[ \t]*+\)"
)


def styled(text: str) -> list[tuple[int, int, str]]:
    """Cut a text at its marks.

    Args:
        text: Any string, such as a paragraph.

    Returns:
        Stretches in order that tile the text: the first code point, one past the last, and the style: letters, each
        once and in order; none for plain text.
    """
    if not _SPECIAL.search(text):
        return [(0, len(text), "")] if text else []
    scan = _Scan(text)
    scan.read()
    return list(_swept(scan.found, len(text)))


@dataclass(slots=True)
class _Run:
    """A run of asterisks or underscores, as far as it isn't used yet."""

    start: int
    end: int
    opens: bool
    closes: bool
    length: int

    @property
    def left(self) -> int:
        return self.end - self.start


class _Scan:
    """Collects ``(start, end, style)`` of a text; stretches may overlap."""

    def __init__(self, text: str) -> None:
        self.found: list[tuple[int, int, str]] = []
        self._text = text
        self._runs: list[tuple[str, _Run]] = []
        self._brackets: list[tuple[int, int, str]] = []

    def read(self) -> None:
        """Read the text once."""
        at = 0
        ticks = _Ticks(self._text)
        while match := _TOKEN.search(self._text, at):
            start, at = match.span()
            kind = match.lastgroup
            if kind in ("escape", "hard"):
                self._escape(match[0], start)
            elif kind == "ticks":
                close = ticks.close_of(start, at)
                at = at if close is None else self._wrap(start, at, close, close + at - start, CODE_SPAN)
            elif kind == "address":
                self._wrap(start, start + 1, at - 1, at, LINK)
            elif kind == "open":
                self._brackets.append((start, at, IMAGE if match[0][0] == "!" else LINK))
            elif kind == "close":
                at = self._close_bracket(start, at)
            else:
                self._runs.append((match[0][0], _run(self._text, start, at)))
        self._pair()

    def _escape(self, found: str, start: int) -> None:
        """Take a backslash with the character after it, or a newline that is shown."""
        if found[0] == "\\":
            self._mark(start, start + 1)
            start, found = start + 1, found[1:]
        if found[-1] == "\n":
            self.found.append((start, start + len(found), BREAK))

    def _close_bracket(self, start: int, end: int) -> int:
        """Take a closing bracket, and the address after it; return where to go on."""
        if not self._brackets:
            return end
        tail = _TAIL.match(self._text, end)
        if tail is None:
            self._brackets.pop()
            return end
        opening, inner, style = self._brackets[-1]
        self._brackets.clear()  # there are no links in links
        return self._wrap(opening, inner, start, tail.end(), style)

    def _mark(self, start: int, end: int) -> None:
        self.found.append((start, end, MARK))

    def _wrap(self, start: int, inner: int, inner_end: int, end: int, style: str) -> int:
        self._mark(start, inner)
        self.found.append((inner, inner_end, style))
        self._mark(inner_end, end)
        return end

    def _pair(self) -> None:
        """Pair runs as CommonMark does; the search for each kind ends where it was in vain before."""
        stack: list[tuple[str, _Run]] = []
        vain: dict[tuple[str, bool, int], int] = {}
        for mark, closer in self._runs:
            while closer.closes and closer.left:
                key = mark, closer.opens, closer.length % 3
                at = len(stack) - 1
                while at >= vain.get(key, 0) and not (stack[at][0] == mark and _fit(stack[at][1], closer)):
                    at -= 1
                if at < vain.get(key, 0):
                    vain[key] = len(stack)
                    break
                del stack[at + 1 :]
                self._emphasize(stack[at][1], closer)
                if not stack[at][1].left:
                    del stack[at]
                vain = {each: min(height, len(stack)) for each, height in vain.items()}
            if closer.opens and closer.left:
                stack.append((mark, closer))

    def _emphasize(self, opener: _Run, closer: _Run) -> None:
        used = 2 if min(opener.left, closer.left) > 1 else 1
        style = STRONG if used > 1 else EMPHASIS
        opener.end -= used
        self._wrap(opener.end, opener.end + used, closer.start, closer.start + used, style)
        closer.start += used


class _Ticks:
    """Finds where code ends: at the next run of as many backticks."""

    def __init__(self, text: str) -> None:
        self._runs: dict[int, list[int]] | None = None
        self._text = text

    def close_of(self, start: int, end: int) -> int | None:
        """Return where the run begins that closes the one at ``[start, end)``; ``None`` if there is none.

        Runs are asked for from left to right.
        """
        if self._runs is None:
            self._runs = {}
            for each in re.finditer(r"`++", self._text):
                self._runs.setdefault(len(each[0]), []).append(each.start())
            for starts in self._runs.values():
                starts.reverse()
        starts = self._runs.get(end - start, [])
        while starts and starts[-1] < end:
            starts.pop()
        return starts[-1] if starts else None


def _run(text: str, start: int, end: int) -> _Run:
    before, after = text[start - 1 : start] or " ", text[end : end + 1] or " "
    is_before_space, is_after_space = before.isspace(), after.isspace()
    is_before_mark, is_after_mark = _is_punctuation(before), _is_punctuation(after)
    left = not is_after_space and (not is_after_mark or is_before_space or is_before_mark)
    right = not is_before_space and (not is_before_mark or is_after_space or is_after_mark)
    if text[start] == "_":
        left, right = left and (not right or is_before_mark), right and (not left or is_after_mark)
    return _Run(start, end, left, right, end - start)


def _is_punctuation(character: str) -> bool:
    return not character.isalnum() and not character.isspace()


def _fit(opener: _Run, closer: _Run) -> bool:
    is_odd = (opener.closes or closer.opens) and (opener.length + closer.length) % 3 == 0
    return not is_odd or (opener.length % 3 == 0 and closer.length % 3 == 0)


def _swept(found: list[tuple[int, int, str]], length: int) -> Iterator[tuple[int, int, str]]:
    """Yield the stretches between all edges, each with the styles that hold there."""
    begins: dict[int, list[str]] = {}
    ends: dict[int, list[str]] = {}
    for start, end, style in found:
        if start < end:
            begins.setdefault(start, []).append(style)
            ends.setdefault(end, []).append(style)
    counts: dict[str, int] = {}
    for start, end in pairwise(sorted({0, length, *begins, *ends})):
        for style in begins.get(start, []):
            counts[style] = counts.get(style, 0) + 1
        for style in ends.get(start, []):
            counts[style] -= 1
        yield start, end, "".join(sorted(style for style, count in counts.items() if count))
