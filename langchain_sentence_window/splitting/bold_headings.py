"""Headings in bold: a line that is wholly bold and stands above a paragraph, such as ``**Fees**``."""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from langchain_sentence_window.splitting.blocks import HEADING, PROSE, Block
from langchain_sentence_window.splitting.headings import MAX_HEADING_CHARS, MAX_LEVEL, bold_title
from langchain_sentence_window.splitting.newlines import MARKER
from langchain_sentence_window.splitting.spans import trim

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
