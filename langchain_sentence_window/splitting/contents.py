"""Tables of contents: lines that name the headings below them, with the pages where these stand, or as a list.

They hold the words of many questions and the answer to none. So that no price list is taken for one, most of the lines
must name headings that are found below. A list that a sentence leads in may be the answer to a question, so it is none.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from langchain_sentence_window._text import COLONS
from langchain_sentence_window.splitting.blocks import CONTENTS, HEADING, LIST_ITEM, PROSE, Block
from langchain_sentence_window.splitting.headings import MAX_LEVEL, title_key

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
_MARKER = re.compile(r"(?:[-*+•▪◦‣]|\d{1,3}[.)])[ \t]+")
_LINK = re.compile(r"\[(?P<title>.+)\]\([^()\s]*\)")
_NUMBER = re.compile(r"\d{1,3}(?:\.\d{1,3})*[.)]?\s+")
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
    found = _without_pages(text, blocks)
    return _with_pages(text, found) if sum(text[block.end - 1].isdigit() for block in found) >= MIN_ENTRIES else found


def _without_pages(text: str, blocks: Sequence[Block]) -> list[Block]:
    """Find lists, and short lines one after the other, that name the headings below them, as at the top of a page."""
    found = list(blocks)
    if sum(block.kind == HEADING for block in blocks) < MIN_ENTRIES:  # as in most texts
        return found
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
    marker = _MARKER.match(item)
    title = item[marker.end() :] if marker else item
    link = _LINK.fullmatch(title)
    return _keys_of_title(link["title"] if link else title)


def _keys_of_title(title: str) -> set[str]:
    """Return the keys of a title with and without its number."""
    title = title.lstrip("# ")
    number = _NUMBER.match(title)
    return {title_key(title), title_key(title[number.end() :] if number else title)} - {""}


def _with_pages(text: str, blocks: Sequence[Block]) -> list[Block]:
    """Find lines that end with the number of a page."""
    groups = _by_line(text, blocks)
    lines = [replace(group[0], end=group[-1].end) for group in groups]
    keys = [title_key(text[line.start : line.end]) if _may_be_entry(line) else "" for line in lines]
    entries = [_titled(text, line) if key else "" for key, line in zip(keys, lines, strict=True)]
    last_at = {key: number for number, key in enumerate(keys) if lines[number].kind == HEADING}
    first_heading = next((line.start for line in lines if line.level), 0)  # the title of the document, as a rule
    found: dict[int, Block] = {}
    for first, end in _runs(entries):
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


def _runs(entries: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield ``(first, end)`` of each run of entries with short gaps between them."""
    at = [number for number, entry in enumerate(entries) if entry]
    while at:
        count = next((i for i in range(1, len(at)) if at[i] - at[i - 1] > _MAX_GAP + 1), len(at))
        if count >= MIN_ENTRIES:
            yield at[0], at[count - 1] + 1
        at = at[count:]


def _may_be_entry(block: Block) -> bool:
    return block.kind in _KINDS and block.end - block.start <= MAX_ENTRY_CHARS


def _titled(text: str, block: Block) -> str:
    """Return the title in a line that ends with the number of a page; an empty string for any other line."""
    if not text[block.end - 1].isalnum():
        return ""
    match = _ENTRY.fullmatch(" ".join(text[block.start : block.end].split()))
    return title_key(match["title"]) if match else ""
