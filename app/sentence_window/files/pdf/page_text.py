"""The text of a page, with the index of PDFium's character for each code point."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from langchain_sentence_window.documents import Continuation
from langchain_sentence_window.splitting import HEADING, LIST_ITEM, TABLE_ROW, Block

from .hyphens import HYPHENS, SOFT_HYPHEN, Vocabulary, drops_hyphen, rejoins
from .inks import Ink, is_wide
from .lines import TextLine
from .paragraphs import Paragraph

MADE = -1
"""The index of white space that isn't on the page."""

_DENSE = (LIST_ITEM, TABLE_ROW)
_LIGATURES = {each: unicodedata.normalize("NFKC", each) for each in map(chr, [0x132, 0x133, *range(0xFB00, 0xFB07)])}


@dataclass(frozen=True, slots=True, eq=False)
class PageText:
    """The text of a page, and the page's characters to which it belongs.

    Attributes:
        text: The text of the page in reading order.
        characters: For each code point of the text, the index of the page's character in PDFium; `MADE` for white
            space that isn't on the page. All code points of an expanded ligature have the same index.
        blocks: The blocks of the text, in order and disjoint.
        continues: How the first block continues the page before.
    """

    text: str
    characters: npt.NDArray[np.int64]
    blocks: list[Block]
    continues: Continuation = ""


def write_page(
    paragraphs: Sequence[Paragraph],
    vocabulary: Vocabulary,
    *,
    continues: Continuation = "",
    drop_last_hyphen: bool = False,
) -> PageText:
    """Write the text of a page.

    Args:
        paragraphs: The page's paragraphs, in reading order.
        vocabulary: The words of the file.
        continues: How the first one continues the page before.
        drop_last_hyphen: Whether to drop the hyphen of a word that goes on on the next page.
    """
    parts: list[str] = []
    indices: list[npt.NDArray[np.int64]] = []
    blocks: list[Block] = []
    length = 0
    made = {size: np.full(size, MADE, np.int64) for size in (1, 2)}
    last_kind, runs_in = "", False
    for number, paragraph in enumerate(paragraphs):
        text, index = _write(paragraph, vocabulary)
        if drop_last_hyphen and number == len(paragraphs) - 1 and text[-1:] in HYPHENS:
            text, index = text[:-1], index[:-1]
        if not text:
            continue
        if blocks:
            separator = " " if runs_in else "\n" if paragraph.kind == last_kind and last_kind in _DENSE else "\n\n"
            parts.append(separator)
            indices.append(made[len(separator)])
            length += len(separator)
        level = paragraph.level if paragraph.kind == HEADING else 0
        blocks.append(Block(length, length + len(text), paragraph.kind, level))
        parts.append(text)
        indices.append(index)
        length += len(text)
        last_kind, runs_in = paragraph.kind, paragraph.runs_in
    characters = np.concatenate(indices) if indices else np.empty(0, np.int64)
    return PageText("".join(parts), characters, blocks, continues if blocks else "")


def _write(paragraph: Paragraph, vocabulary: Vocabulary) -> tuple[str, npt.NDArray[np.int64]]:
    """Return the text of a paragraph, and the index of each code point."""
    ink = paragraph.lines[0].ink
    pieces: list[str] = []
    places: list[int] = []  # indices of the ink; MADE for white space
    first = 0
    for count in paragraph.cells or [len(paragraph.lines)]:
        if first:
            pieces.append("\t")
            places.append(MADE)
        _write_lines(paragraph.lines[first : first + count], vocabulary, pieces, places)
        first += count
    return _expand("".join(pieces), places, ink)


def _write_lines(lines: Sequence[TextLine], vocabulary: Vocabulary, pieces: list[str], places: list[int]) -> None:
    """Write the lines of a paragraph or cell, joining divided words."""
    for number, line in enumerate(lines):
        if number:
            last = pieces[-1].rpartition(" ")[2]
            if rejoins(last, line.text):
                if drops_hyphen(last, line.text, vocabulary):
                    pieces[-1] = pieces[-1][:-1]
                    places.pop()
            elif not (is_wide(pieces[-1][-1]) and is_wide(line.text[0])):
                pieces.append(" ")
                places.append(MADE)
        pieces.append(line.text)
        for at, (start, end) in enumerate(line.words):
            if at:
                places.append(MADE)
            places += range(start, end)


def _expand(text: str, places: list[int], ink: Ink) -> tuple[str, npt.NDArray[np.int64]]:
    """Expand ligatures, and drop soft hyphens inside words."""
    at = np.array(places, np.int64)
    index = np.where(at == MADE, MADE, ink.index[at])
    if text.isascii() or not any(each in text for each in (*_LIGATURES, SOFT_HYPHEN)):
        return text, index
    shown = ["" if each == SOFT_HYPHEN else _LIGATURES.get(each, each) for each in text]
    return "".join(shown), np.repeat(index, [len(each) for each in shown])
