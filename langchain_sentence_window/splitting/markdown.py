"""Markdown as blocks, read by ``markdown-it-py``.

Only the parser's block rules run, as text inside a line doesn't move the boundaries of lines. Rules whose work grows
faster than the text are replaced: tables are read without cells, an underlined heading has one line, each line of a
quote has its mark, and paragraphs ask few rules about each of their lines. Link definitions are left to `markup`.
"""

import functools
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from .blocks import (
    CODE,
    FRONT_MATTER,
    HEADING,
    HTML,
    LINE,
    LIST_ITEM,
    MAX_MARKED_HEADING_CHARS,
    PROSE,
    TABLE_ROW,
    Block,
    has_word,
    is_underlined_title,
    trim,
)
from .data_uris import STAND_IN
from .front_matter import unread_end
from .markup import has_markup

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock

    BlockRule: TypeAlias = Callable[[StateBlock, int, int, bool], bool]


# They begin with a newline, which the matcher finds fast; one is put before the text.
_MARKS = re.compile(r"\n(?:#{1,6}[ \t]+\S|(?:```|~~~)|\|?[ \t]*:?-{3,}:?[ \t]*\||\ufeff?---[ \t]*\r?\n[\w.-]+[ \t]*:)")
# A link's address ends at a bracket that isn't closed, so no text is read twice.
_LINK = re.compile(r"\]\((?:[^\s()]|\([^\s()]*+\))++\)")
_UNDERLINE = re.compile(r"\n(?<![^\S\r]\n)(?<![=-]\n)(?<![\s=-]\r\n)(?:={3,}|-{3,})[ \t]*(?=[\r\n]|\Z)")
_RULE_ALONE = re.compile(r"(?:\*[ \t]*+){3,}+|(?:-[ \t]*+){3,}+|(?:_[ \t]*+){3,}+|={3,}+")
_KINDS = {"paragraph": PROSE, "tr_open": TABLE_ROW, "fence": CODE, "code_block": CODE, "html_block": HTML}


def is_markdown(text: str) -> bool:
    """Return whether a text has marks that are rare in plain text: headings, fences, tables, links, markup."""
    lines = "\n" + text
    return any(pattern.search(lines) for pattern in (_MARKS, _UNDERLINE, _LINK)) or has_markup(lines)


def parse_markdown(text: str, *, indented_code: bool, layout: str = "") -> list[Block]:
    """Cut a Markdown text into blocks.

    Args:
        text: Any string. Front matter that it begins with is a block.
        indented_code: Whether lines indented by four spaces are code, as in CommonMark, or paragraphs.
        layout: A text as long as the first one, line by line, by which its lines are cut; empty for itself.

    Returns:
        Blocks in order, disjoint, with nothing but white space and rules around them. Each holds a word, or a symbol
        such as an emoji: a table's delimiter row belongs to the block before it. Only the first block may hold none, if
        a blank line or a heading follows it. A blank text has no block, and a text of rules one.
    """
    body = unread_end(text)
    blocks = [Block(0, body, FRONT_MATTER)] if body else []
    lines = [match.span() for match in LINE.finditer(text, body)]
    at = 0
    for first, stop, kind, level in (*_parse_blocks((layout or text)[body:], indented_code), (len(lines), 0, PROSE, 0)):
        # Lines without a token of the parser (rules, delimiter rows, lines nested too deep) are prose.
        spans = [trim(text, *line) for line in lines[at:first]]
        blocks += [
            Block(start, end) for start, end in spans if start < end and not _is_horizontal_rule(text, start, end)
        ]
        first, stop = max(first, at), min(stop, len(lines))
        if first >= stop:
            continue
        at = stop
        start, end = trim(text, lines[first][0], lines[stop - 1][1])
        is_long = end - start - text.count(STAND_IN, start, end) > MAX_MARKED_HEADING_CHARS
        if kind == HEADING and is_long:
            kind, level = PROSE, 0
        if start < end and not (kind == PROSE and _is_horizontal_rule(text, start, end)):
            blocks.append(Block(start, end, kind, level))
    if not blocks and text.strip():
        blocks = [Block(*trim(text, 0, len(text)))]
    return _attach_wordless(text, blocks)


def _is_horizontal_rule(text: str, start: int, end: int) -> bool:
    return _RULE_ALONE.fullmatch(text, start, end) is not None


def _parse_blocks(text: str, indented_code: bool) -> Iterator[tuple[int, int, str, int]]:  # noqa: FBT001
    """Yield ``(first line, line after the last, kind, heading level)`` of each block of Markdown."""
    in_items = 0
    for token in block_parser(indented_code).parse(text):
        if token.type in ("list_item_open", "list_item_close"):
            in_items += token.nesting
        if token.map is None:
            continue
        first, stop = token.map
        if token.type == "heading_open":
            # A heading inside a quote or an item is a heading, but begins no section.
            yield first, stop, HEADING, int(token.tag[1:]) if token.level == 0 else 0
        elif token.type in _KINDS:
            yield first, stop, LIST_ITEM if in_items and token.type == "paragraph" else _KINDS[token.type], 0


def _attach_wordless(text: str, blocks: Sequence[Block]) -> list[Block]:
    """Join blocks without a word to the block before; the first ones to a block that begins in the next line."""
    found: list[Block] = []
    is_wordless = False  # the last one
    for block in blocks:
        is_text = has_word(text, block.start, block.end) or _has_symbol(text[block.start : block.end])
        last = found[-1] if found else None
        if last and not is_text:
            found[-1] = replace(last, end=block.end)
        elif last and is_wordless and block.kind != HEADING and _is_next_line(text, last.end, block.start):
            found[-1] = replace(block, start=last.start)
            is_wordless = False
        else:
            found.append(block)
            is_wordless = not is_text
    return found


def _has_symbol(text: str) -> bool:
    """Return whether a text holds a symbol such as an emoji, which may be a heading."""
    return not text.isascii() and any(unicodedata.category(each) == "So" for each in text)


def _is_next_line(text: str, end: int, start: int) -> bool:
    return len(text[end:start].rstrip(" \t").splitlines()) <= 1


@functools.cache
def block_parser(indented_code: bool) -> "MarkdownIt":  # noqa: FBT001 - cached by it
    """Return the parser of Markdown's blocks. Only the lines of its tokens are of use.

    Args:
        indented_code: Whether lines indented by four spaces are code.
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").disable("reference")
    if not indented_code:
        parser.disable("code")
    ruler, may_end = parser.block.ruler, ["paragraph", "blockquote"]
    ruler.at("table", _table, {"alt": ["paragraph"]})
    ruler.at("blockquote", _match_block_quote, {"alt": [*may_end, "list"]})
    ruler.at("lheading", _underlined_heading)
    ruler.at("paragraph", _match_paragraph)
    ruler.before("table", "plain_paragraph", _plain_paragraph)
    ruler.after("hr", "double_rule", _double_rule, {"alt": ["paragraph"]})
    parser.enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


# Rules of blocks. A rule takes the state, the line that it may begin at, one past the last line, and whether to only
# check if it would begin there. It returns whether it matched, and moves `state.line` past the lines that it consumed.
_DELIMITERS = re.compile(r"\|?+[ \t]*+:?+-++:?+[ \t]*+(?:\|[ \t]*+:?+-++:?+[ \t]*+)*+\|?+")
_DELIMITER = ("|", ":", "-")  # begins them
_UNDERLINE_OR_DELIMITER = (*_DELIMITER, "=")
_PIPE = re.compile(r"(?<!\\)\|")
_DOUBLE_RULE = re.compile(r"={3,}")
_MAX_INDENT = 3
_BEGINS_BLOCK = tuple("#`~>*-_+=<0123456789")
"""What a line begins with that ends a paragraph, unless it is a table's first row."""


def _match_paragraph(state: "StateBlock", start: int, end: int, silent: bool) -> bool:  # noqa: ARG001, FBT001
    """Match lines up to a blank one, or to one that another rule matches.

    The library's rule asks all other rules about each line. Few lines begin as one of these requires, so asking only
    about those takes a quarter of the time off splitting a manual of lists.
    """
    rules = state.md.block.ruler.getRules("paragraph")
    parent, state.parentType = state.parentType, "paragraph"
    line, stop = start + 1, state.lineMax
    while line < stop and not state.isEmpty(line):
        if _may_begin_block(state, line) and any(rule(state, line, stop, True) for rule in rules):  # noqa: FBT003
            break
        line += 1
    state.parentType, state.line = parent, line
    state.push("paragraph", "p", 0).map = [start, line]
    return True


def _plain_paragraph(state: "StateBlock", start: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    """Match a paragraph that no other rule can match, before each of them is asked."""
    is_indented = state.sCount[start] - state.blkIndent > _MAX_INDENT
    if (
        is_indented
        or _begins_with_mark(state, start, _BEGINS_BLOCK)
        or _begins_with_mark(state, start + 1, _UNDERLINE_OR_DELIMITER)
    ):
        return False
    return _match_paragraph(state, start, end, silent)


def _may_begin_block(state: "StateBlock", line: int) -> bool:
    if state.sCount[line] - state.blkIndent > _MAX_INDENT:  # indented so far, any line continues the paragraph
        return False
    return _begins_with_mark(state, line, _BEGINS_BLOCK) or _begins_with_mark(state, line + 1, _DELIMITER)


def _begins_with_mark(state: "StateBlock", line: int, marks: tuple[str, ...]) -> bool:
    """Return whether a line begins with one of some marks; false past the last line."""
    return state.src.startswith(marks, state.bMarks[line] + state.tShift[line])


def _table(state: "StateBlock", start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - as rules are called
    """Match a table, row by row.

    The library's rule fills short rows with empty cells, so a few characters can make very many cells.
    """
    if start + 2 > end or not _begins_with_mark(state, start + 1, _DELIMITER):
        return False
    if not _is_inside(state, start + 1) or state.is_code_block(start):
        return False
    delimiters, header = _line_content(state, start + 1), _line_content(state, start)
    if delimiters.startswith(("- ", "-\t")) or len(delimiters) == 1 or not _DELIMITERS.fullmatch(delimiters):
        return False
    if "|" not in header or _count_columns(header) != _count_columns(delimiters):
        return False
    if silent:
        return True
    # As in the library's rule, a table ends where a quote does.
    terminators = state.md.block.ruler.getRules("blockquote")
    parent, state.parentType = state.parentType, "table"
    _push_row(state, start)
    row = start + 2
    while row < end and _is_inside(state, row) and _line_content(state, row):
        if any(terminator(state, row, end, True) for terminator in terminators):  # noqa: FBT003
            break
        _push_row(state, row)
        row += 1
    state.parentType, state.line = parent, row
    return True


def _underlined_heading(state: "StateBlock", start: int, end: int, silent: bool) -> bool:  # noqa: ARG001, FBT001
    """Match one line and the underline below it.

    The library's rule matches any paragraph above an underline.
    """
    if start + 1 >= end or state.is_code_block(start) or not _is_inside(state, start + 1):
        return False
    if state.sCount[start + 1] - state.blkIndent > _MAX_INDENT:
        return False
    underline, title = _line_content(state, start + 1), _line_content(state, start)
    mark = underline[:1]
    if mark not in ("=", "-") or underline.strip(mark) or not is_underlined_title(title, underline):
        return False
    tag = "h1" if mark == "=" else "h2"
    state.push("heading_open", tag, 1).map = [start, start + 2]
    state.push("heading_close", tag, -1)
    state.line = start + 2
    return True


def _double_rule(state: "StateBlock", start: int, end: int, silent: bool) -> bool:  # noqa: ARG001, FBT001
    """Match a line of equals signs as a rule, which ends a paragraph too long for a heading."""
    is_rule = not state.is_code_block(start) and _DOUBLE_RULE.fullmatch(_line_content(state, start)) is not None
    # A heading above this line has been tried already, at its own first line.
    if is_rule and not silent:
        state.line = start + 1
    return is_rule


def _match_block_quote(state: "StateBlock", start: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    """Match lines that all have a quote's mark.

    The library's rule also looks for lines without a mark that continue a paragraph. So it reads, for each quote, all
    lines after it.
    """
    stop, last = start, start + 1 if silent else end
    while stop < last and _is_inside(state, stop) and _line_content(state, stop).startswith(">"):
        stop += 1
    if silent or stop == start:
        return stop > start
    from markdown_it import rules_block

    line_max, state.lineMax = state.lineMax, stop  # paragraphs end there
    is_quote = rules_block.blockquote(state, start, stop, silent)
    state.lineMax = line_max
    return is_quote


def _push_row(state: "StateBlock", line: int) -> None:
    state.push("tr_open", "tr", 1).map = [line, line + 1]
    state.push("tr_close", "tr", -1)


def _is_inside(state: "StateBlock", line: int) -> bool:
    """Return whether a line belongs to the current list item or quote, and isn't code."""
    return bool(state.sCount[line] >= state.blkIndent) and not state.is_code_block(line)


def _line_content(state: "StateBlock", line: int) -> str:
    """Return a line without the white space around it and without the marks of lists and quotes around it."""
    text: str = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
    return text.strip(" \t")


def _count_columns(row: str) -> int:
    return len(_PIPE.findall(row)) + 1 - row.startswith("|") - (row.endswith("|") and not row.endswith("\\|"))
