"""The ink of a page: its visible characters, turned so that its text runs from left to right."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from langchain_sentence_window.loaders.pdf.characters import HYPHEN, Boxes, PageCharacters
from langchain_sentence_window.loaders.pdf.overprinting import MAX_SHIFT, printed_again

MIN_HEIGHT = 0.5
"""Points of the height of a character that can be read; lower ones are left out."""

_BULLETS = {0xF0B7: 0x2022, 0xF0A7: 0x25AA, 0xF0D8: 0x2023, 0xF076: 0x2023, 0xF0A8: 0x25AA}
"""Code points of bullets in fonts of symbols, and what they look like."""

_SPACES = np.array(
    [*range(0x21), 0x7F, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200C), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF]
)
_MAX_SKEW = 5.0
_SAME_PLACE = 0.02
_LATIN_END = 0x250
_REPLACEMENT = 0xFFFD
_SURROGATES = (0xD800, 0xDFFF)


@dataclass(frozen=True, slots=True, eq=False)
class Ink:
    """Visible characters, in the order in which the file draws them.

    Attributes:
        text: One code point for each of the ``n`` characters.
        index: Their indices among the characters of the page.
        boxes: Their boxes, turned so that the text runs from left to right, y down.
        sizes: Their font sizes in points.
        bases: The y of the line that each stands on.
        bold: Whether each is bold.
        italic: Whether each is italic.
        after_space: Whether white space comes before each in the file.
        turns: Quarter turns, clockwise, of the direction of the text as displayed, from 0 to 3.
    """

    text: str
    index: npt.NDArray[np.int64]
    boxes: Boxes
    sizes: npt.NDArray[np.float32]
    bases: npt.NDArray[np.float32]
    bold: npt.NDArray[np.bool_]
    italic: npt.NDArray[np.bool_]
    after_space: npt.NDArray[np.bool_]
    turns: int = 0

    def __len__(self) -> int:
        """Return the number of characters."""
        return len(self.text)


def page_inks(page: PageCharacters) -> Iterator[Ink]:
    """Yield the ink of each direction of writing, the one with the most characters first.

    Text that runs askew, such as a watermark, text outside the page, and characters that are printed a second time in
    one place are left out.
    """
    if not len(page):
        return
    boxes = page.boxes
    height = boxes[:, 3] - boxes[:, 1]
    middle_x, middle_y = boxes[:, [0, 2]].mean(axis=1), boxes[:, [1, 3]].mean(axis=1)
    quarters = np.rint(page.angles / 90).astype(np.int64) % 4
    skew = np.abs((page.angles + 45) % 90 - 45)
    spaces = np.isin(page.codes, _SPACES) & (page.codes != HYPHEN)
    visible = (
        ~spaces
        & ~page.generated
        & (np.maximum(height, boxes[:, 2] - boxes[:, 0]) >= MIN_HEIGHT)
        & (skew <= _MAX_SKEW)
        & (middle_x >= 0)
        & (middle_x <= page.width)
        & (middle_y >= 0)
        & (middle_y <= page.height)
    )
    seen = np.flatnonzero(visible)
    again = printed_again(page.codes[seen], boxes[seen], page.sizes[seen])
    visible[seen[again & ~_set_tight(page, seen)]] = False
    counts = np.bincount(quarters[visible], minlength=4)
    spaces_before = np.cumsum(spaces)
    for turns in sorted(range(4), key=lambda each: (-int(counts[each]), each)):
        if counts[turns]:
            yield _ink(page, np.flatnonzero(visible & (quarters == turns)), spaces_before, turns)


def _set_tight(page: PageCharacters, seen: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return which characters stand close behind an equal one that was drawn with them, such as the second of "ii"."""
    tight = np.zeros(len(seen), np.bool_)
    before, after = seen[:-1], seen[1:]
    moved = np.abs(page.boxes[after] - page.boxes[before]).max(axis=1)
    is_close = (moved > _SAME_PLACE * page.sizes[after]) & (moved <= MAX_SHIFT * page.sizes[after])
    is_one = (page.codes[after] == page.codes[before]) & (page.origins[after] == page.origins[before]).all(axis=1)
    tight[1:] = is_close & is_one
    return tight


def _ink(page: PageCharacters, index: npt.NDArray[np.int64], spaces_before: npt.NDArray[np.int64], turns: int) -> Ink:
    codes = page.codes[index]
    x0, y0, x1, y1 = page.boxes[index].T
    x, y = page.origins[index].T
    if turns == 0:
        boxes, bases = (x0, y0, x1, y1), y
    elif turns == 1:  # from top to bottom: what is right becomes up
        boxes, bases = (y0, page.width - x1, y1, page.width - x0), page.width - x
    elif turns == 2:  # noqa: PLR2004 - quarter turns
        boxes = (page.width - x1, page.height - y1, page.width - x0, page.height - y0)
        bases = page.height - y
    else:
        boxes, bases = (page.height - y1, x0, page.height - y0, x1), x
    space_counts = spaces_before[index]
    after_space = np.zeros(len(index), np.bool_)
    after_space[1:] = np.diff(space_counts) > 0
    return Ink(
        text=_text(codes),
        index=index,
        boxes=np.stack(boxes, axis=1),
        sizes=page.sizes[index],
        bases=bases,
        bold=page.bold[index],
        italic=page.italic[index],
        after_space=after_space,
        turns=turns,
    )


def _text(codes: npt.NDArray[np.uint32]) -> str:
    if codes.max() >= _LATIN_END or codes.min() == HYPHEN:
        codes = codes.copy()
        codes[codes == HYPHEN] = ord("-")
        codes[((codes >= _SURROGATES[0]) & (codes <= _SURROGATES[1])) | (codes > sys.maxunicode)] = _REPLACEMENT
        for symbol, bullet in _BULLETS.items():
            codes[codes == symbol] = bullet
    return codes.astype("<u4").tobytes().decode("utf-32-le")
