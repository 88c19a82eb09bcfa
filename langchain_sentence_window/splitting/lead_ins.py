"""Lead-ins: the sentence that gives meaning to one after it.

- A row of a table is led in by the table's header row.
- An item of a list is led in by the paragraph that introduces the list, or by the item that it is nested in.
- What a speaker goes on to say is led in by the first sentence of the message, which names the speaker.

A paragraph introduces a list if it ends with a colon, or, before items with a mark of their own, without any mark. In
doubt there is no lead-in.
"""

from collections.abc import Sequence

from langchain_sentence_window._types import Span
from langchain_sentence_window.splitting.blocks import MESSAGE, TABLE_ROW, Block
from langchain_sentence_window.splitting.lists import ListReader
from langchain_sentence_window.splitting.speakers import STAMP, speaker_end
from langchain_sentence_window.splitting.tables import header_rows


def find_lead_ins(text: str, blocks: Sequence[Block], sentences: Sequence[Sequence[Span]]) -> list[int | None]:
    """Find the lead-in of each sentence of a section.

    Args:
        text: The text.
        blocks: The blocks of the section, in order.
        sentences: The spans of the sentences of each block, in order.

    Returns:
        For each sentence of the section the index of its lead-in in the section, smaller than its own, or ``None``.
    """
    found: list[int | None] = []
    firsts: list[int] = []
    headers, lists, messages = header_rows(text, blocks), ListReader(text), _MessageReader(text)
    for position, (block, spans) in enumerate(zip(blocks, sentences, strict=True)):
        first = len(found)
        firsts.append(first)
        if not spans:
            continue
        lead = lists.read(block, first, spans)
        if block.kind == TABLE_ROW:
            lead = firsts[headers[position]] if position in headers else None
        found += messages.read(block, first, spans) if block.kind == MESSAGE else [lead] * len(spans)
    return found


class _MessageReader:
    """Reads the messages of a section in order, and finds who speaks."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._speaker: int | None = None

    def read(self, block: Block, first: int, spans: Sequence[Span]) -> list[int | None]:
        """Return the lead-in of each sentence of a message."""
        names_speaker = speaker_end(self._text, block.start, block.end) > block.start
        if names_speaker or STAMP.match(self._text, block.start, block.end):
            self._speaker = first if names_speaker else None
            return [None, *[self._speaker] * (len(spans) - 1)]
        return [self._speaker] * len(spans)
