"""Structure that the marks of a format don't show: messages, bold headings, numbers of clauses, tables of contents.

Tables of contents hold the words of many questions and the answer to none. So that no price list is taken for one, most
of the lines must name headings that are found below. A list that a sentence leads in may be the answer to a question,
so it isn't one.

Markers of items and clauses, such as "2.", "(a)" and "§ 12.", belong to the sentence after them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, zip_longest

from langchain_sentence_window._primitives import COLONS, Span

from .blocks import (
    CONTENTS,
    HEADING,
    LIST_ITEM,
    MAX_HEADING_CHARS,
    MAX_LEVEL,
    PROSE,
    Block,
    bold_title,
    has_word,
    title_key,
    trim,
)
from .rules import MARKER
from .transcripts import cut_messages


def refine_blocks(text: str, blocks: Iterable[Block]) -> list[Block]:
    """Find structure in the paragraphs of a text.

    Args:
        text: The text.
        blocks: Its blocks, in order.

    Returns:
        Blocks in order that cover the same lines.
    """
    found = join_marker_blocks(text, blocks)
    if ":" in text or "：" in text:  # else no line names a speaker
        found = cut_messages(text, found)
    if "**" in text or "__" in text:
        found = list(find_bold_headings(text, found))
    return find_contents(text, found)


_LINE_END = re.compile(r"[\r\n]")


def find_bold_headings(text: str, blocks: Sequence[Block]) -> Iterator[Block]:
    """Turn bold lines that head something into headings, one level below the last heading with a mark of its own.

    A line that ends a sentence isn't a heading. Neither is a line that ends with a colon above a list, a table or code,
    which it introduces.

    Args:
        text: The text.
        blocks: Its blocks, in order.

    Yields:
        Blocks in order that cover the same lines.
    """
    level = 1
    for block, following in zip_longest(blocks, blocks[1:]):
        level = block.level or level
        end = _bold_line_end(text, block)
        rest = trim(text, end, block.end)
        below = Block(*rest) if rest[0] < rest[1] else following
        if end == block.start or below is None or below.kind == HEADING or _introduces(text, block.start, end, below):
            yield block
            continue
        yield Block(block.start, end, HEADING, min(MAX_LEVEL, max(level, 1) + 1))
        if below is not following:
            yield below


def _bold_line_end(text: str, block: Block) -> int:
    """Return where the first line of a paragraph ends if it may be a heading in bold, else where it begins."""
    if block.kind != PROSE or not text.startswith(("**", "__"), block.start):
        return block.start
    line = _LINE_END.search(text, block.start, min(block.end, block.start + MAX_HEADING_CHARS + 1))
    end = trim(text, block.start, line.start() if line else block.end)[1]
    return end if end - block.start <= MAX_HEADING_CHARS and bold_title(text[block.start : end]) else block.start


def _introduces(text: str, start: int, end: int, below: Block) -> bool:
    is_paragraph = below.kind == PROSE and not MARKER.match(text, below.start)
    return not is_paragraph and text[start:end].rstrip("*_ \t").endswith(":")


MIN_ENTRIES = 3
"""The fewest lines of a table of contents that name a heading."""

MIN_SHARE_NAMED = 2 / 3
"""The smallest share of its lines that do: not every heading may have been found."""

MAX_ENTRY_CHARS = 200
"""Characters of the longest line."""

PAGE_NUMBER = re.compile(r"\d{1,4}|[ivxlc]{1,7}|[A-Z]-?\d{1,3}")
"""The number of a page at the end of a line."""

_WITH_PAGE = re.compile(rf"(?P<title>\S(?:.*?\S)?)(?:[.…·_\s]*\s|[.…·_]{{2,}})(?:{PAGE_NUMBER.pattern})")
_LINK = re.compile(r"\[(?P<title>.+)\]\([^()\s]*\)")
_MARKER_OR_NUMBER = re.compile(r"(?:[-*+•▪◦‣]|\d{1,3}(?:\.\d{1,3})*[.)]?)\s+")
_ENDS_OF_SENTENCES = frozenset(".!:;,…。！：；，")
_TITLES = frozenset(
    {"contents", "tableofcontents", "inhalt", "inhaltsverzeichnis", "sommaire", "tabledesmatières", "índice", "indice"}
    | {"contenido", "sumário", "sommario"}
)


def find_contents(text: str, blocks: Sequence[Block]) -> list[Block]:
    """Find the lines of tables of contents: short lines that follow each other, and most of which name a heading below.

    Args:
        text: The text.
        blocks: Its blocks, in order.

    Returns:
        The blocks; those of a table of contents are of that kind, and no headings. Its own title has the lowest level,
        because the headings below aren't parts of it.
    """
    found = list(blocks)
    headings = [number for number, block in enumerate(blocks) if block.kind == HEADING]
    if len(headings) < MIN_ENTRIES:  # as in most texts
        return found
    titles = {number: text[blocks[number].start : blocks[number].end] for number in headings}
    last_at = {key: number for number in headings for key in _title_keys(titles[number])}
    for may_be_entries, group in groupby(range(len(blocks)), lambda number: _may_be_entry(text, blocks[number])):
        run = list(group)
        before = blocks[run[0] - 1]
        if not may_be_entries or text.endswith(COLONS, before.start, before.end):
            continue
        lines = {number: text[blocks[number].start : blocks[number].end] for number in run}
        named = [n for n in run if any(last_at.get(key, 0) > n for key in _entry_keys(lines[n]))]
        table = range(named[0], named[-1] + 1) if named else range(0)
        entries = [number for number in table if not PAGE_NUMBER.fullmatch(lines[number])]
        if len(named) < max(MIN_ENTRIES, MIN_SHARE_NAMED * len(entries)):
            continue
        for number in table:
            found[number] = replace(blocks[number], kind=CONTENTS, level=0)
        title = table[0] - 1
        is_own_title = title in headings[1:] or (title in titles and title_key(titles[title]) in _TITLES)
        if is_own_title and blocks[title].level:
            found[title] = replace(blocks[title], level=MAX_LEVEL)
    return found


def _may_be_entry(text: str, block: Block) -> bool:
    if block.end - block.start > MAX_ENTRY_CHARS:
        return False
    if block.kind == HEADING:  # a line with a number and a page looks like a numbered heading
        line = text[block.start : block.end]
        return not line.startswith("#") and _WITH_PAGE.fullmatch(line) is not None
    return block.kind in (PROSE, LIST_ITEM) and text[block.end - 1] not in _ENDS_OF_SENTENCES


def _entry_keys(line: str) -> set[str]:
    title = " ".join(line.split())
    marker = _MARKER_OR_NUMBER.match(title)
    if link := _LINK.fullmatch(title, marker.end() if marker else 0):
        title = link["title"]
    with_page = _WITH_PAGE.fullmatch(title)
    return _title_keys(title) | (_title_keys(with_page["title"]) if with_page else set())


def _title_keys(title: str) -> set[str]:
    """Return the keys of a title, with and without its marker and number."""
    title = title.lstrip("# ")
    keys = {title_key(title)}
    while match := _MARKER_OR_NUMBER.match(title):
        title = title[match.end() :]
        keys.add(title_key(title))
    return keys - {""}


# "2.", "(a)", "[7]", "iv)", "-", "•", "§ 12.", "[...]", "[!NOTE]", nestings ("1. (a)"), Markdown's "36\." "**2.1**".
_CLAUSE_NUMBER = r"(?:\d{1,4}(?:\.\d{1,3})*|[a-zA-Z]|[ivxlcIVXLC]{1,6})"
_MARKER = re.compile(
    r"(?:[>•*+–—-]|§+|\[(?:\.\.\.|…|![A-Z]{3,9})\]"
    rf"|(?P<bold>\*\*|__)?\\?[\[(]?{_CLAUSE_NUMBER}\\?[\])º°ª.]{{1,2}}"
    r"(?(bold)(?P=bold))"
    r"|(?P<strong>\*\*|__)\d{1,3}(?:\.\d{1,3})+(?P=strong))(?:\s+|\Z)"
)
# What opens a title: "**15." and "**Art. 3.", whose emphasis continues, and "Section 3."
_NUMBER_OF_TITLE = re.compile(
    rf"(?:\*{{1,3}}|_{{1,3}})(?:[^\W\d_]{{3,10}}\.?\s+{_CLAUSE_NUMBER}\.|\(?{_CLAUSE_NUMBER}[.)]{{1,2}})"
    rf"|sec(?:tion|\.)\s+{_CLAUSE_NUMBER}\.",
    re.IGNORECASE,
)
_BULLETS = ">•+–—-"
_MAX_NUMBER_CHARS = 40
_ELLIPSES = ("[...]", "[…]")


def is_marker(text: str, start: int, end: int) -> bool:
    """Return whether a span holds nothing but markers."""
    at = start
    while at < end and (match := _MARKER.match(text, at, end)):
        at = match.end()
    return at >= end


def join_markers(text: str, spans: Sequence[Span]) -> list[Span]:
    """Join markers to the sentence after them, and spans without a word to the sentence before.

    Args:
        text: The text.
        spans: Spans of one block, in order.

    Returns:
        Spans in order that cover the same text.
    """
    joined: list[Span] = []
    is_open = False  # whether the last one is markers alone, which go with the next
    for start, end in spans:
        only_marks = is_marker(text, start, end) or _NUMBER_OF_TITLE.fullmatch(text, start, end) is not None
        is_text = not only_marks and has_word(text, start, end)
        if is_open or (joined and not is_text and not only_marks):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
            is_open = True
        is_open = is_open and not is_text
    if is_open and len(joined) > 1:
        _, end = joined.pop()
        joined[-1] = (joined[-1][0], end)
    return joined


def join_marker_blocks(text: str, blocks: Iterable[Block]) -> list[Block]:
    """Join blocks that are nothing but a number or a letter of a clause to the paragraph or list item after them.

    Args:
        text: The text.
        blocks: Its blocks, in order.

    Returns:
        Blocks in order that cover the same lines.
    """
    joined: list[Block] = []
    is_open = False
    for block in blocks:
        joins = is_open and block.kind in (PROSE, LIST_ITEM)
        is_short = block.kind == PROSE and block.end - block.start <= _MAX_NUMBER_CHARS
        is_open = is_short and _is_clause_number(text, block)
        joined.append(replace(block, start=joined.pop().start) if joins else block)
    return joined


def _is_clause_number(text: str, block: Block) -> bool:
    """Return whether a block is a marker with a number or letter, not a bullet or an ellipsis."""
    is_mark = text[block.start] in _BULLETS or text.startswith(_ELLIPSES, block.start)
    return not is_mark and is_marker(text, block.start, block.end)
