"""Parsers: how an application adds a format to the splitter.

A parser is a callable from a text to its blocks, or to ``None`` if the text isn't in its format::

    def parse_notes(text: str) -> list[Block] | None: ...

    SentenceSplitter(structure=parse_notes)

Text outside all blocks is in no sentence. Inside a block, markup is masked: a block whose kind is a single character
makes a stretch read as if it held only that character. `BLANK` hides markup and newlines
that don't end a line, and ``x`` hides marks, such as full stops in a link, at which no sentence ends. Sentences are
found in the masked text, and are slices of the text as it is.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from langchain_sentence_window._display import shown
from langchain_sentence_window._validation import as_integer, checked_callback
from langchain_sentence_window.errors import InvalidInputError

from .blocks import HEADING, KINDS, LIST_ITEM, MAX_LEVEL, Block

Parser: TypeAlias = Callable[[str], Iterable[Block] | None]
"""Returns the blocks of a text, and the masks in them; ``None`` if it isn't in the parser's format."""

Structure: TypeAlias = Literal["auto", "markdown", "plain"] | Parser
"""The structure of a text; ``auto`` looks for Markdown's marks."""

STRUCTURES = ("auto", "markdown", "plain")

BLANK = "\u2003"
"""The mask of markup: white space that neither ends a line nor separates columns."""


def is_mask(block: Block) -> bool:
    """Return whether a block says how a stretch of another one reads."""
    return len(block.kind) == 1


def parse_blocks(parser: Parser, text: str) -> list[Block] | None:
    """Call a parser and check what it returns.

    Raises:
        InvalidInputError: It returned anything but blocks in order.
    """
    returned: object = checked_callback("structure", parser, "a text")(text)
    if returned is None:
        return None
    if isinstance(returned, str | bytes | Mapping) or not isinstance(returned, Iterable):
        raise _no_blocks(returned, "that isn't a list of blocks")
    blocks = list(returned)
    if fault := find_fault(blocks, len(text)):
        raise _no_blocks(blocks, fault)
    return blocks


def find_fault(blocks: Sequence[Block], length: int) -> str:
    """Return what is wrong with the blocks and masks of a text of so many characters; empty if nothing is."""
    ends = {False: 0, True: 0}  # of the last block, and of the last mask
    for block in blocks:
        if fault := _fault(block, length):
            return fault
        if block.start < ends[is_mask(block)]:
            return f"{shown(block)} begins before the end of the block before it"
        ends[is_mask(block)] = block.end
    return ""


def _fault(block: object, length: int) -> str:
    if not isinstance(block, Block):
        return f"{shown(block)} isn't a Block"
    start, end, level = map(as_integer, (block.start, block.end, block.level))
    if start is None or end is None or not 0 <= start < end <= length:
        return f"{shown(block)} isn't a stretch of a text of {length} characters"
    if not (block.kind in KINDS or is_mask(block)):
        return f"the kind {shown(block.kind)} isn't one of {', '.join(sorted(KINDS))}, or a single character"
    levels = range(MAX_LEVEL + 1) if block.kind == HEADING else (0,)
    if level not in levels:
        return f"{shown(block)} has a level, and only headings have one, up to {MAX_LEVEL}"
    if block.body is not None and not (block.kind == LIST_ITEM and start <= block.body < end):
        return f"{shown(block)} has a body, and only a list item has one, inside it"
    return ""


def _no_blocks(returned: object, problem: str) -> InvalidInputError:
    return InvalidInputError(
        f"the parser given as structure returned {shown(returned)}, and {problem}; it must return Blocks in order, "
        "disjoint but for masks, none empty, or None for a text that isn't in its format"
    )


def read_masks(text: str, blocks: Sequence[Block]) -> tuple[str, list[Block]]:
    """Return a text as its masks make it read, as long as before, and its blocks without masks."""
    masks = [block for block in blocks if is_mask(block)]
    if not masks:
        return text, list(blocks)
    chars = list(text)
    for mask in masks:
        chars[mask.start : mask.end] = mask.kind * (mask.end - mask.start)
    return "".join(chars), [block for block in blocks if not is_mask(block)]
