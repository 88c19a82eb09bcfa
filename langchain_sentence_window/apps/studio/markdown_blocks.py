"""Markdown as blocks that tile its text, and the marks inside a paragraph.

Both are read by ``markdown-it-py``, whose rules note where in the source their tokens stand. What isn't shown of a
block, such as ``>``, ``-`` or ``##`` before a line's text, is marks. A line that is in no block is a paragraph, unless
it is blank. Links have a rule of this module, as the work of the library's grows faster than the text. HTML and
entities stay as they are.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from langchain_sentence_window.splitting.blocks import LINE
from langchain_sentence_window.splitting.markdown import block_parser

from .document_blocks import CODE, HEADING, ITEM, MARK, NUMBER, PARAGRAPH, RULE, TABLE, Block, Row, Run, tiled

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

STRONG = "b"
EMPHASIS = "i"
CODE_SPAN = "c"
LINK = "l"
IMAGE = "g"
BREAK = "n"
"""A newline that is shown as one."""

_PIPE = re.compile(r"(?<!\\)\|")
_DELIMITERS = re.compile(r"[ \t|:>-]*+")
_BLANK = " \t\r\n"
# Without a second try at any character: an address in brackets, or one with balanced pairs; then perhaps a title.
_ADDRESS = re.compile(
    r"\([ \t]*+(?:<[^<>\r\n]{0,2000}+>|(?:[^\s()<>]++|\([^\s()]{0,2000}+\)){0,100}+)"
    r"(?:[ \t]++(?:\"[^\"]{0,1000}+\"|'[^']{0,1000}+'))?+[ \t]*+\)"
)
_LEAVES = {
    "heading_open": HEADING,
    "paragraph_open": PARAGRAPH,
    "tr_open": TABLE,
    "fence": CODE,
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
        number: The number of the innermost item, such as ``1.``, if that begins here; empty for a bullet; ``None``
            for a block that begins no item.
        title: The text of a heading between hashes; ``None`` if it has none.
        code: The number of lines between fences; ``None`` for HTML.
        start: The line that ``columns`` begin with.
        columns: Of each line, the column where it begins inside its quotes, and the white space before its text.
        indent: The columns that a line of code may be indented by and that aren't shown.
    """

    first: int
    stop: int
    kind: str
    level: int = 0
    quotes: int = 0
    items: int = 0
    number: str | None = None
    title: str | None = None
    code: int | None = None
    start: int = 0
    columns: Sequence[tuple[int, int]] = ()
    indent: int = 0


def markdown_blocks(text: str) -> list[Block]:
    """Cut a Markdown text into blocks.

    Args:
        text: Any string.

    Returns:
        Blocks whose runs tile the text; none for an empty text.
    """
    return _Layout(text).blocks(_leaves(_parser().parse(text)))


def styled(text: str) -> list[Run]:
    """Cut the text of a paragraph at its marks.

    Args:
        text: Any string, whose lines end with a newline, or with two for a carriage return before it.

    Returns:
        Runs in order that tile the text. Their styles are letters, each once and in order; none for plain text.
    """
    parser, places = _parser(), _Places()
    parser.inline.parse(text, parser, {"places": places}, [])
    return list(_swept(places.runs(text), len(text)))


@cache
def _parser() -> "MarkdownIt":
    """Return the splitter's parser of blocks, whose rules note where they match, with rules for what is inside."""
    from markdown_it import rules_inline

    parser = block_parser.__wrapped__(False)  # noqa: FBT003
    for rule in parser.block.ruler.__rules__:
        if rule.name not in ("blockquote", "list"):
            rule.fn = _measured(rule.fn)
    inline = {
        "newline": rules_inline.newline,
        "escape": rules_inline.escape,
        "backticks": rules_inline.backtick,
        "emphasis": rules_inline.emphasis.tokenize,
        "autolink": rules_inline.autolink,
    }
    for name, inline_rule in inline.items():
        parser.inline.ruler.at(name, _placed(inline_rule))
    parser.inline.ruler.at("link", _bracket)
    parser.inline.ruler.enableOnly(["text", "link", *inline])
    parser.inline.ruler2.enableOnly(["balance_pairs", "emphasis"])
    return parser


def _measured(rule: "Callable[[StateBlock, int, int, bool], bool]") -> "Callable[[StateBlock, int, int, bool], bool]":
    def measured(state: "StateBlock", start: int, end: int, silent: bool) -> bool:  # noqa: FBT001
        known = len(state.tokens)
        is_match = rule(state, start, end, silent)
        if is_match and not silent:
            columns = [
                (state.bMarks[line] - (state.eMarks[line - 1] + 1 if line else 0), state.tShift[line])
                for line in range(start, min(state.line, state.lineMax))
            ]
            for token in state.tokens[known:]:
                token.meta = {"start": start, "columns": columns, "indent": state.sCount[start]}
        return is_match

    return measured


def _placed(rule: "Callable[[StateInline, bool], bool]") -> "Callable[[StateInline, bool], bool]":
    def placed(state: "StateInline", silent: bool) -> bool:  # noqa: FBT001
        known, start = len(state.tokens), state.pos
        is_match = rule(state, silent)
        first = state.pos - len(state.tokens) + known  # of marks that are a token each
        new = enumerate(state.tokens[known:], first)
        state.env["places"].tokens += [(token, start, state.pos, at) for at, token in new]
        return is_match

    return placed


def _bracket(state: "StateInline", silent: bool) -> bool:  # noqa: ARG001, FBT001
    """Note what opens a link or an image, and make one where an address follows the bracket that closes it."""
    places: _Places = state.env["places"]
    text, start = state.src, state.pos
    if text.startswith(("[", "!["), start):
        state.pos += 1 + (text[start] == "!")
        places.brackets.append((start, state.pos, IMAGE if text[start] == "!" else LINK))
    elif text[start] == "]":
        state.pos += 1
        if places.brackets:
            opening, inner, style = places.brackets.pop()
            if (address := _ADDRESS.match(text, state.pos)) is not None:
                state.pos = address.end()
                places.wrap(opening, inner, start, state.pos, style)
                places.brackets.clear()  # there are no links in links
    return state.pos > start


@dataclass(slots=True)
class _Places:
    """Where the tokens of a paragraph stand: what the rule matched that made them, and the place of each mark."""

    tokens: "list[tuple[Token, int, int, int]]" = field(default_factory=list)
    brackets: list[tuple[int, int, str]] = field(default_factory=list)
    found: list[Run] = field(default_factory=list)

    def wrap(self, start: int, inner: int, inner_end: int, end: int, style: str) -> None:
        """Take a stretch with marks around it."""
        self.found += [(start, inner, MARK), (inner, inner_end, style), (inner_end, end, MARK)]

    def runs(self, text: str) -> list[Run]:
        """Return the stretches that have a style; they may overlap."""
        openings: list[tuple[int, int]] = []
        for token, start, end, at in self.tokens:
            width = len(token.markup)
            if token.type == "code_inline":
                self.wrap(start, start + width, end - width, end, CODE_SPAN)
            elif token.type == "link_open":
                self.wrap(start, start + 1, end - 1, end, LINK)
            elif token.type == "text_special" and token.content != token.markup:
                self.found.append((start, start + 1, MARK))
            elif token.type == "hardbreak":
                is_escape = text[start] == "\\"
                newline = start + is_escape
                stop = newline + 1 + text.startswith("\n\n", newline)
                self.found += [(start, newline, MARK), (newline if is_escape else start - 2, stop, BREAK)]
            elif token.type in ("em_open", "strong_open"):  # of two marks it is the inner one
                openings.append((at + 1 - width, at + 1))
            elif token.type in ("em_close", "strong_close"):
                self.wrap(*openings.pop(), at, at + width, EMPHASIS if width == 1 else STRONG)
        return self.found


def _swept(found: Iterable[Run], length: int) -> Iterator[Run]:
    """Yield the stretches between all edges, each with the styles that hold there."""
    begins, ends = defaultdict[int, Counter[str]](Counter), defaultdict[int, Counter[str]](Counter)
    for start, end, style in found:
        if start < end:
            begins[start][style] += 1
            ends[end][style] += 1
    styles = Counter[str]()
    for start, end in pairwise(sorted({0, length, *begins, *ends})):
        styles = styles + begins.pop(start, Counter()) - ends.pop(start, Counter())
        yield start, end, "".join(sorted(styles))


def _leaves(tokens: "Sequence[Token]") -> Iterator[_Leaf]:
    quotes = 0
    items: list[Token] = []
    for token, inner in pairwise([*tokens, None]):
        if token is None or token.type in ("blockquote_open", "blockquote_close"):
            quotes += token.nesting if token else 0
        elif token.type == "list_item_open":
            items.append(token)
        elif token.type == "list_item_close":
            items.pop()
        elif token.map is not None and token.type in _LEAVES:
            first, stop = token.map
            begins_item = bool(items) and items[-1].map is not None and items[-1].map[0] == first
            number = items[-1].info and items[-1].info + items[-1].markup if begins_item else None
            has_hashes = inner is not None and inner.type == "inline" and token.type == "heading_open"
            yield _Leaf(
                first,
                stop,
                _LEAVES[token.type],
                level=int(token.tag[1:]) if token.type == "heading_open" else 0,
                quotes=quotes,
                items=len(items),
                number=number,
                title=inner.content if has_hashes and inner else None,
                code=len(LINE.findall(token.content)) if token.type == "fence" else None,
                **token.meta,
            )


class _Layout:
    """Makes the blocks of a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = [match.span() for match in LINE.finditer(text)]

    def blocks(self, leaves: Iterable[_Leaf]) -> list[Block]:
        found: list[Block] = []
        for leaf in self._tiling(leaves):
            last = found[-1] if found else None
            if not leaf.kind and last is not None:
                (last.rows[-1].cells[-1] if last.rows else last.runs).extend(tiled(*self._span(leaf), []))
            elif leaf.kind == TABLE:
                is_header = leaf.stop < len(self._lines) and self._is_delimiter(leaf.stop)
                if last is None or last.kind != TABLE or is_header or self._is_blank(leaf.first - 1):
                    found.append(Block(TABLE, level=leaf.items, quotes=leaf.quotes))
                found[-1].rows.append(Row(self._cells(leaf), is_header))
            else:
                found.append(self._block(leaf))
        return found

    def _tiling(self, leaves: Iterable[_Leaf]) -> Iterator[_Leaf]:
        """Yield leaves that tile the lines."""
        at, is_table = 0, False
        for leaf in (*leaves, _Leaf(len(self._lines), len(self._lines), PARAGRAPH)):
            first, stop = max(leaf.first, at), min(leaf.stop, len(self._lines))
            for line in range(at, first):
                is_mark = self._is_blank(line) or (is_table and self._is_delimiter(line))
                is_table = is_table and is_mark
                yield _Leaf(line, line + 1, "" if is_mark else PARAGRAPH)
            if first < stop:
                yield replace(leaf, first=first, stop=stop)
                is_table = leaf.kind == TABLE
            at = max(at, first, stop)

    def _block(self, leaf: _Leaf) -> Block:
        begin, is_item = self._begin(leaf, leaf.first), leaf.kind == PARAGRAPH and leaf.number is not None
        shown: list[Run] = []
        if leaf.kind == CODE:
            shown = [(*piece, "") for piece in self._code(leaf)]
        elif leaf.kind in (PARAGRAPH, HEADING):
            if leaf.number:
                at = self._text.rindex(leaf.number, 0, begin)
                shown.append((at, at + len(leaf.number), NUMBER))
            shown += self._inline(self._prose(leaf))
        return Block(
            ITEM if is_item else leaf.kind or PARAGRAPH,
            runs=tiled(*self._span(leaf), shown),
            level=leaf.level if leaf.kind == HEADING else leaf.items,
            quotes=leaf.quotes,
            is_numbered=is_item and bool(leaf.number),
        )

    def _prose(self, leaf: _Leaf) -> Iterator[tuple[int, int]]:
        """Yield the stretches of text, one for each line."""
        for line in range(leaf.first, leaf.first + 1 if leaf.kind == HEADING else leaf.stop):
            begin, end = self._begin(leaf, line), self._lines[line][1]
            if leaf.title is not None:
                begin = end - len(self._text[begin:end].lstrip("#").lstrip())
                end = begin + len(leaf.title)
            if line == leaf.stop - 1 or leaf.kind == HEADING:
                end = begin + len(self._text[begin:end].rstrip(_BLANK))
            yield begin, end

    def _inline(self, pieces: Iterable[tuple[int, int]]) -> Iterator[Run]:
        """Yield the runs of lines that are read as one text."""
        spans = list(pieces)
        text = "".join([self._text[low:high] for low, high in spans])
        runs = iter(styled(text.replace("\r\n", "\n\n").replace("\r", "\n")))
        read = end = 0
        style = ""
        for low, high in spans:
            while low < high:
                if read == end:
                    _, end, style = next(runs)
                stop = min(high, low + end - read)
                yield low, stop, style
                low, read = stop, read + stop - low

    def _code(self, leaf: _Leaf) -> Iterator[tuple[int, int]]:
        """Yield the stretches of code, one for each line."""
        lines = range(leaf.first, leaf.stop) if leaf.code is None else range(leaf.first + 1, leaf.first + 1 + leaf.code)
        for line in lines:
            start, end = self._lines[line]
            quoted, indent = self._column(leaf, line)
            start += quoted + min(indent, leaf.indent)
            if start < end:
                yield start, end

    def _cells(self, leaf: _Leaf) -> list[list[Run]]:
        """Return the runs of each cell; each pipe belongs to the cell after it, the last one to the last cell."""
        start, stop = self._span(leaf)
        begin = self._begin(leaf, leaf.first)
        end = begin + len(self._text[begin:stop].rstrip(_BLANK))
        pipes = [match.start() for match in _PIPE.finditer(self._text, begin, end)]
        edges = [(begin, begin), *((pipe, pipe + 1) for pipe in pipes)]
        if pipes and pipes[0] == begin:
            del edges[0]
        if len(edges) > 1 and edges[-1][1] == end:
            end = edges.pop()[0]
        cells: list[list[Run]] = []
        for (low, inner), (high, _) in pairwise([*edges, (end, end)]):
            text = self._text[inner:high]
            piece = (inner + len(text) - len(text.lstrip(_BLANK)), inner + len(text.rstrip(_BLANK)))
            last = stop if high == end else high
            cells.append(tiled(low if cells else start, last, self._inline([piece] if text.strip(_BLANK) else [])))
        return cells

    def _column(self, leaf: _Leaf, line: int) -> tuple[int, int]:
        if 0 <= line - leaf.start < len(leaf.columns):
            return leaf.columns[line - leaf.start]
        text = self._text[slice(*self._lines[line])]
        return 0, len(text) - len(text.lstrip(" \t"))

    def _begin(self, leaf: _Leaf, line: int) -> int:
        """Return where the text of a line begins."""
        return min(self._lines[line][1], self._lines[line][0] + sum(self._column(leaf, line)))

    def _span(self, leaf: _Leaf) -> tuple[int, int]:
        return self._lines[leaf.first][0], self._lines[leaf.stop - 1][1]

    def _content(self, line: int) -> str:
        return self._text[slice(*self._lines[line])].strip(_BLANK)

    def _is_blank(self, line: int) -> bool:
        return not self._content(line).strip("> \t")

    def _is_delimiter(self, line: int) -> bool:
        content = self._content(line)
        return "-" in content and _DELIMITERS.fullmatch(content) is not None
