"""Structure that the marks of a format don't show: messages, bold headings, numbers of clauses, tables of contents.

Tables of contents hold the words of many questions and the answer to none. So that no price list is taken for one, most
of the lines must name headings that are found below. A list that a sentence leads in may be the answer to a question,
so it is none.

Markers of items and clauses, such as "2.", "(a)" and "§ 12.", belong to the sentence after them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise, zip_longest

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

    A line that ends a sentence is no heading, and a line that ends with a colon is none above a list, a table or code,
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

MIN_SHARE_NAMED = 0.5
"""The smallest share of its lines that do: not every heading may have been found."""

MIN_SHARE_OF_LIST = 0.8
"""The same for a list without the numbers of pages."""

MAX_ENTRY_CHARS = 200
"""Characters of the longest line."""

PAGE_NUMBER = re.compile(r"\d{1,4}|[ivxlc]{1,7}|[A-Z]-?\d{1,3}")
"""The number of a page at the end of a line."""

_MAX_GAP = 2
"""Lines between two entries that belong to the table, such as the first half of a title, or "(continued)"."""

_MAX_PAGE_CHARS = 7
_ENTRY = re.compile(rf"(?P<title>\S(?:.*?\S)?)(?:[.…·_\s]*\s|[.…·_]{{2,}})(?:{PAGE_NUMBER.pattern})")
_KINDS = (PROSE, LIST_ITEM, HEADING)
_ITEM_MARKER = re.compile(r"(?:[-*+•▪◦‣]|\d{1,3}[.)])[ \t]+")
_LINK = re.compile(r"\[(?P<title>.+)\]\([^()\s]*\)")
_TITLE_NUMBER = re.compile(r"\d{1,3}(?:\.\d{1,3})*[.)]?\s+")
_ENDS_OF_SENTENCES = frozenset(".!:;,…。！：；，")
_TITLES = frozenset(
    {"contents", "tableofcontents", "inhalt", "inhaltsverzeichnis", "sommaire", "tabledesmatières", "índice", "indice"}
    | {"contenido", "sumário", "sommario"}
)


def find_contents(text: str, blocks: Sequence[Block]) -> list[Block]:
    """Find the lines of tables of contents.

    Args:
        text: The text.
        blocks: Its blocks, in order.

    Returns:
        The blocks; those of a table of contents are of that kind, each of them a line, and no headings. Its own title
        has the lowest level, as the headings below are no parts of it.
    """
    found = list(blocks)
    if sum(block.kind == HEADING for block in blocks) >= MIN_ENTRIES:  # fewer in most texts
        found = _without_pages(text, blocks)
    return _with_pages(text, found) if sum(text[block.end - 1].isdigit() for block in found) >= MIN_ENTRIES else found


def _without_pages(text: str, blocks: Sequence[Block]) -> list[Block]:
    """Find lists, and short lines one after the other, that name the headings below them, as at the top of a page."""
    found = list(blocks)
    runs = [(first, end) for first, end in _lists(text, blocks) if end - first >= MIN_ENTRIES]
    last_at: dict[str, int] = {}
    for number, block in enumerate(blocks) if runs else ():
        if block.kind == HEADING:
            last_at |= dict.fromkeys(_keys_of_title(text[block.start : block.end]), number)
    for first, end in runs:
        if first and text.endswith(COLONS, blocks[first - 1].start, blocks[first - 1].end):
            continue
        items = [_keys_of_item(text[block.start : block.end]) for block in blocks[first:end]]
        named = [number for number, keys in enumerate(items) if any(last_at.get(key, 0) >= end for key in keys)]
        if len(named) >= MIN_ENTRIES and len(named) >= MIN_SHARE_OF_LIST * (named[-1] + 1 - named[0]):
            lines = slice(first + named[0], first + named[-1] + 1)
            found[lines] = [replace(block, kind=CONTENTS) for block in blocks[lines]]
    return found


def _lists(text: str, blocks: Sequence[Block]) -> Iterator[tuple[int, int]]:
    """Yield ``(first, end)`` of each run of list items, and of each run of short paragraphs that are no sentences."""

    def kind(number: int) -> str:
        block = blocks[number]
        is_line = block.end - block.start <= MAX_ENTRY_CHARS and text[block.end - 1] not in _ENDS_OF_SENTENCES
        return block.kind if block.kind == LIST_ITEM or (block.kind == PROSE and is_line) else ""

    for name, group in groupby(range(len(blocks)), kind):
        numbers = list(group)
        if name:
            yield numbers[0], numbers[-1] + 1


def _keys_of_item(item: str) -> set[str]:
    if len(item) > MAX_ENTRY_CHARS:
        return set()
    marker = _ITEM_MARKER.match(item)
    title = item[marker.end() :] if marker else item
    link = _LINK.fullmatch(title)
    return _keys_of_title(link["title"] if link else title)


def _keys_of_title(title: str) -> set[str]:
    """Return the keys of a title with and without its number."""
    title = title.lstrip("# ")
    number = _TITLE_NUMBER.match(title)
    return {title_key(title), title_key(title[number.end() :] if number else title)} - {""}


def _with_pages(text: str, blocks: Sequence[Block]) -> list[Block]:
    """Find lines that end with the number of a page."""
    groups = _by_line(text, blocks)
    lines = [replace(group[0], end=group[-1].end) for group in groups]
    entries = [_titled(text, line) if _may_be_entry(line) else "" for line in lines]
    if sum(map(bool, entries)) < MIN_ENTRIES:
        return list(blocks)
    keys = [title_key(text[line.start : line.end]) if _may_be_entry(line) else "" for line in lines]
    last_at = {key: number for number, key in enumerate(keys) if lines[number].kind == HEADING}
    first_heading = next((line.start for line in lines if line.level), 0)  # the title of the document, as a rule
    found: dict[int, Block] = {}
    for first, end in _entry_runs(entries):
        count = sum(map(bool, entries[first:end]))
        named = sum(last_at.get(entry, 0) >= end for entry in entries[first:end] if entry)
        if named < max(MIN_ENTRIES, MIN_SHARE_NAMED * count):
            continue
        while first and last_at.get(keys[first - 1], 0) >= end:  # its page is missing
            first -= 1
        found |= {number: replace(lines[number], kind=CONTENTS, level=0) for number in range(first, end)}
        if first and lines[first - 1].level and (keys[first - 1] in _TITLES or lines[first - 1].start > first_heading):
            found[first - 1] = replace(lines[first - 1], level=MAX_LEVEL)
    return [block for number, group in enumerate(groups) for block in ([found[number]] if number in found else group)]


def _by_line(text: str, blocks: Sequence[Block]) -> list[list[Block]]:
    """Return the blocks, each with the page number that a tab parts from it on its line."""
    groups: list[list[Block]] = []
    for block in blocks:
        is_page = block.end - block.start <= _MAX_PAGE_CHARS and PAGE_NUMBER.fullmatch(text, block.start, block.end)
        if is_page and groups and "\n" not in text[groups[-1][0].start : block.start]:
            groups[-1].append(block)
        else:
            groups.append([block])
    return groups


def _entry_runs(entries: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield ``(first, end)`` of each run of entries with short gaps between them."""
    at = [number for number, entry in enumerate(entries) if entry]
    gaps = [number for number, (one, other) in enumerate(pairwise(at), 1) if other - one > _MAX_GAP + 1]
    for first, end in pairwise((0, *gaps, len(at))):
        if end - first >= MIN_ENTRIES:
            yield at[first], at[end - 1] + 1


def _may_be_entry(block: Block) -> bool:
    return block.kind in _KINDS and block.end - block.start <= MAX_ENTRY_CHARS


def _titled(text: str, block: Block) -> str:
    """Return the title in a line that ends with the number of a page; an empty string for any other line."""
    if not text[block.end - 1].isalnum():
        return ""
    match = _ENTRY.fullmatch(" ".join(text[block.start : block.end].split()))
    return title_key(match["title"]) if match else ""


# "2.", "(a)", "[7]", "iv)", "-", "•", "§ 12.", "[...]", "[!NOTE]", nestings ("1. (a)"), Markdown's "36\." "**2.1**".
_CLAUSE_NUMBER = r"(?:\d{1,4}(?:\.\d{1,3})*|[a-zA-Z]|[ivxlcIVXLC]{1,6})"
_MARKER = re.compile(
    r"(?:[>•*+–—-]|§+|\[(?:\.\.\.|…|![A-Z]{3,9})\]"
    rf"|(?P<bold>\*\*|__)?\\?[\[(]?{_CLAUSE_NUMBER}\\?[\])º°ª.]{{1,2}}"
    r"(?(bold)(?P=bold))"
    r"|(?P<strong>\*\*|__)\d{1,3}(?:\.\d{1,3})+(?P=strong))(?:\s+|\Z)"
)
# What opens a title: "**15." and "**Art. 3.", whose emphasis goes on, and "Section 3."
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
