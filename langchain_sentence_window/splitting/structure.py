"""Structure that the marks of a format don't show: messages, bold headings, numbers of clauses, tables of contents."""

from collections.abc import Iterable

from langchain_sentence_window.splitting.blocks import Block
from langchain_sentence_window.splitting.bold_headings import find_bold_headings
from langchain_sentence_window.splitting.contents import find_contents
from langchain_sentence_window.splitting.markers import join_marker_blocks
from langchain_sentence_window.splitting.transcripts import cut_messages


def refine_blocks(text: str, blocks: Iterable[Block]) -> list[Block]:
    """Find structure in the paragraphs of a text.

    Args:
        text: The text.
        blocks: Its blocks, in order.

    Returns:
        Blocks in order that cover the same lines.
    """
    found = cut_messages(text, list(join_marker_blocks(text, blocks)))
    if "**" in text or "__" in text:
        found = list(find_bold_headings(text, found))
    return find_contents(text, found)
