"""Block rules that replace those of ``markdown-it-py``, in time linear in the text.

A rule takes the state, the line that it may begin at, one past the last line, and whether to only check if it would
begin there. It returns whether it matched, and moves ``state.line`` past the lines that it consumed.
"""

import re

from markdown_it import rules_block
from markdown_it.rules_block import StateBlock

from langchain_sentence_window.splitting.blocks import is_underlined_title

_DELIMITERS = re.compile(r"\|?+[ \t]*+:?+-++:?+[ \t]*+(?:\|[ \t]*+:?+-++:?+[ \t]*+)*+\|?+")
_PIPE = re.compile(r"(?<!\\)\|")
_DOUBLE_RULE = re.compile(r"={3,}")
_MAX_INDENT = 3


def table(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - as rules are called
    """Match a table, row by row.

    The library's rule fills short rows with empty cells, so a few characters can make very many cells.
    """
    if start + 2 > end or not _is_inside(state, start + 1) or state.is_code_block(start):
        return False
    delimiters, header = _line(state, start + 1), _line(state, start)
    if delimiters.startswith(("- ", "-\t")) or len(delimiters) == 1 or not _DELIMITERS.fullmatch(delimiters):
        return False
    if "|" not in header or _columns(header) != _columns(delimiters):
        return False
    if silent:
        return True
    # As in the library's rule, a table ends where a quote does.
    terminators = state.md.block.ruler.getRules("blockquote")
    parent, state.parentType = state.parentType, "table"
    _push_row(state, start)
    row = start + 2
    while row < end and _is_inside(state, row) and _line(state, row):
        if any(terminator(state, row, end, True) for terminator in terminators):  # noqa: FBT003
            break
        _push_row(state, row)
        row += 1
    state.parentType, state.line = parent, row
    return True


def underlined_heading(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: ARG001, FBT001
    """Match one line and the underline below it.

    The library's rule matches any paragraph above an underline.
    """
    if start + 1 >= end or state.is_code_block(start) or not _is_inside(state, start + 1):
        return False
    if state.sCount[start + 1] - state.blkIndent > _MAX_INDENT:
        return False
    underline, title = _line(state, start + 1), _line(state, start)
    mark = underline[:1]
    if mark not in ("=", "-") or underline.strip(mark) or not is_underlined_title(title, underline):
        return False
    tag = "h1" if mark == "=" else "h2"
    state.push("heading_open", tag, 1).map = [start, start + 2]
    state.push("heading_close", tag, -1)
    state.line = start + 2
    return True


def double_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: ARG001, FBT001
    """Match a line of equals signs as a rule, which ends a paragraph too long for a heading."""
    is_rule = not state.is_code_block(start) and _DOUBLE_RULE.fullmatch(_line(state, start)) is not None
    # A heading above this line has been tried already, at its own first line.
    if is_rule and not silent:
        state.line = start + 1
    return is_rule


def quote(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    """Match lines that all have a quote's mark.

    The library's rule also looks for lines without a mark that continue a paragraph. So it reads, for each quote, all
    lines after it.
    """
    if silent or not _is_quoted(state, start):
        return _is_quoted(state, start)
    stop = start + 1
    while stop < end and _is_quoted(state, stop):
        stop += 1
    line_max, state.lineMax = state.lineMax, stop  # paragraphs end there
    is_quote = rules_block.blockquote(state, start, stop, silent)
    state.lineMax = line_max
    return is_quote


def _is_quoted(state: StateBlock, line: int) -> bool:
    return _is_inside(state, line) and _line(state, line).startswith(">")


def _push_row(state: StateBlock, line: int) -> None:
    state.push("tr_open", "tr", 1).map = [line, line + 1]
    state.push("tr_close", "tr", -1)


def _is_inside(state: StateBlock, line: int) -> bool:
    """Return whether a line belongs to the current list item or quote, and isn't code."""
    return bool(state.sCount[line] >= state.blkIndent) and not state.is_code_block(line)


def _line(state: StateBlock, line: int) -> str:
    """Return a line without the white space around it and without the marks of lists and quotes around it."""
    text: str = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
    return text.strip(" \t")


def _columns(row: str) -> int:
    return len(_PIPE.findall(row)) + 1 - row.startswith("|") - (row.endswith("|") and not row.endswith("\\|"))
