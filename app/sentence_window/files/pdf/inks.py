"""The visible characters of a page, rotated so that each direction of writing runs from left to right."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._primitives import Span

from .characters import HYPHEN, PageCharacters, has_any, runs_left
from .characters import CharacterBoxes as Boxes
from .pdfium import Mask, turned_back
from .writing_directions import Letters, Places, to_right

WORD_GAP = 0.2
"""Font sizes; white space at least as wide separates words."""

MIN_HEIGHT = 0.5
"""Points; smaller characters can't be read, and are left out."""

_BULLETS = {0xF0B7: 0x2022, 0xF0A7: 0x25AA, 0xF0D8: 0x2023, 0xF076: 0x2023, 0xF0A8: 0x25AA}
"""Code points of bullets in symbol fonts, and of the characters that look the same."""

_SPACES = [
    *range(0x21),
    0x7F,
    0x85,
    0xA0,
    0x1680,
    *range(0x2000, 0x200C),
    0x2028,
    0x2029,
    0x202F,
    0x205F,
    0x3000,
    0xFEFF,
]
_IS_SPACE = np.isin(np.arange(0x10000), _SPACES)
_IS_SPACE[-1] = False  # represents all higher code points
_MAX_SKEW = 5.0
_SAME_PLACE = 0.02
_LATIN_END = 0x250
_MATH = (0x1D400, 0x1D800)
_WIDE = ((0x2E80, 0xA4D0), (0xF900, 0xFB00), (0xFF00, 0xFFF0), (0x20000, 0x40000))
"""Unicode blocks of Chinese, Japanese and full-width characters, as half-open ranges."""
_REPLACEMENT = 0xFFFD
_SURROGATES = (0xD800, 0xDFFF)


@dataclass(frozen=True, slots=True, eq=False)
class Ink:
    """The visible characters of one direction of writing, in the order in which the file draws them.

    Attributes:
        text: One code point for each of the ``n`` characters.
        index: Their indices in `PageCharacters`.
        boxes: Their boxes, rotated so that the text runs from left to right, y down.
        sizes: Their font sizes in points.
        bases: The y of the baseline of each.
        bold: Whether each is bold.
        figures: Whether each is a digit.
        after_space: Whether white space precedes each in the file.
        turns: The direction of the displayed text in clockwise quarter turns, from 0 to 3.
        is_mirrored: Whether the boxes are mirrored, as most of the text runs from right to left.
    """

    text: str
    index: npt.NDArray[np.int64]
    boxes: Boxes
    sizes: npt.NDArray[np.float32]
    bases: npt.NDArray[np.float32]
    bold: npt.NDArray[np.bool_]
    figures: npt.NDArray[np.bool_]
    after_space: npt.NDArray[np.bool_]
    turns: int = 0
    is_mirrored: bool = False

    def __len__(self) -> int:
        """Return the number of characters."""
        return len(self.text)

    def text_of(self, words: Iterable[Span]) -> str:
        """Return the text of words, with one space between them."""
        return " ".join([self.text[start:end] for start, end in words])


def page_inks(page: PageCharacters) -> Iterator[Ink]:
    """Yield the ink of each direction of writing, the one with the most characters first.

    Skewed text such as a watermark, text outside the page, invisible text, and second prints of a character in the same
    place are left out.
    """
    if not len(page):
        return
    boxes = page.boxes
    height = boxes[:, 3] - boxes[:, 1]
    middles = (boxes[:, :2] + boxes[:, 2:]) / 2
    quarters = np.rint(page.angles / 90).astype(np.int64) % 4
    skew = np.abs((page.angles + 45) % 90 - 45)
    spaces = _IS_SPACE[np.minimum(page.codes, len(_IS_SPACE) - 1)] & (page.codes != HYPHEN)
    visible = (
        ~spaces
        & ~page.generated
        & ~page.hidden
        & (np.maximum(height, boxes[:, 2] - boxes[:, 0]) >= MIN_HEIGHT)
        & (skew <= _MAX_SKEW)
        & ((middles >= 0) & (middles <= np.array([page.width, page.height], np.float32))).all(axis=1)
    )
    seen = np.flatnonzero(visible)
    again = printed_again(page.codes[seen], boxes[seen], page.sizes[seen])
    if again.any():
        visible[seen[again & ~_set_tight(page, seen)]] = False
    counts = np.bincount(quarters[visible], minlength=4)
    for turns in sorted(range(4), key=lambda each: (-int(counts[each]), each)):
        if counts[turns]:
            yield _ink(page, np.flatnonzero(visible & (quarters == turns)), spaces, turns)


def _set_tight(page: PageCharacters, seen: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return which characters closely follow an equal one of the same text object, such as the second of "ii"."""
    tight = np.zeros(len(seen), np.bool_)
    before, after = seen[:-1], seen[1:]
    moved = np.abs(page.boxes[after] - page.boxes[before]).max(axis=1)
    is_close = (moved > _SAME_PLACE * page.sizes[after]) & (moved <= MAX_SHIFT * page.sizes[after])
    is_one = (page.codes[after] == page.codes[before]) & (page.origins[after] == page.origins[before]).all(axis=1)
    tight[1:] = is_close & is_one
    return tight


def is_wide(character: str) -> bool:
    """Return whether a character belongs to a script without spaces, such as Chinese."""
    return any(first <= ord(character) < end for first, end in _WIDE)


def _ink(page: PageCharacters, index: Places, spaces: Mask, turns: int) -> Ink:
    seen = _letters(page, index, spaces, turns)
    if runs_left(seen.codes):
        drawn = np.flatnonzero(spaces & ~page.generated & (np.rint(page.angles / 90) % 4 == turns))
        width = page.height if turns % 2 else page.width
        seen = to_right(seen, _letters(page, drawn, spaces, turns), width)
        index = index[seen.order]
    return Ink(
        text=_text(seen.codes),
        index=index,
        boxes=seen.boxes,
        sizes=seen.sizes,
        bases=seen.bases,
        bold=page.bold[index],
        figures=(seen.codes >= ord("0")) & (seen.codes <= ord("9")),
        after_space=seen.after_space,
        turns=turns,
        is_mirrored=seen.is_mirrored,
    )


def _letters(page: PageCharacters, index: Places, spaces: Mask, turns: int) -> Letters:
    after_space, after_gap = np.zeros((2, len(index)), np.bool_)
    after_space[1:] = np.diff(np.cumsum(spaces)[index]) > 0
    codes, boxes = page.codes[index], turned_back(page.boxes[index], page.width, page.height, turns)
    if has_any(codes, _WIDE):  # Chinese and Japanese have no spaces, but files may draw spaces without width
        wide = np.logical_or.reduce([(first <= codes) & (codes < end) for first, end in _WIDE])
        is_close = boxes[1:, 0] - boxes[:-1, 2] < WORD_GAP * page.sizes[index[1:]]
        after_space[1:] &= ~(wide[1:] & wide[:-1] & is_close)
    after_gap[1:] = np.diff(np.cumsum(spaces & page.generated)[index]) > 0
    return Letters(
        codes=codes,
        boxes=boxes,
        bases=turned_back(np.tile(page.origins[index], 2), page.width, page.height, turns)[:, 1],
        sizes=page.sizes[index],
        after_space=after_space,
        after_gap=after_gap,
        order=np.arange(len(index)),
    )


def _text(codes: npt.NDArray[np.uint32]) -> str:
    if codes.max() >= _LATIN_END or codes.min() == HYPHEN:
        codes = codes.copy()
        codes[codes == HYPHEN] = ord("-")
        codes[((codes >= _SURROGATES[0]) & (codes <= _SURROGATES[1])) | (codes > sys.maxunicode)] = _REPLACEMENT
        for symbol, bullet in _BULLETS.items():
            codes[codes == symbol] = bullet
    return codes.astype("<u4").tobytes().decode("utf-32-le")


MAX_SHIFT = 0.1
"""The largest distance of two prints of a character, in font sizes; the thinnest letters are farther apart."""

_ROW = 4.0
"""Height in points of the rows in which characters are compared; at least twice the distance of two prints."""

_STEPS = 20
_BITS = 21
_MAX_STEP = (1 << _BITS) - 1


def printed_again(codes: npt.NDArray[np.uint32], boxes: Boxes, sizes: npt.NDArray[np.float32]) -> npt.NDArray[np.bool_]:
    """Return which characters are second prints, at the position of an equal character.

    Equal characters of one ligature, such as the two in "ffi", are one print.

    Args:
        codes: ``(n,)``, code points.
        boxes: ``(n, 4)``, in points; those of equal characters of a font are equally large.
        sizes: ``(n,)``, font sizes in points.

    Returns:
        ``(n,)``, true for all but the first of several equal characters at one position.
    """
    again = np.zeros(len(codes), np.bool_)
    in_ligature = np.zeros(len(codes), np.bool_)
    in_ligature[1:] = (codes[1:] == codes[:-1]) & (boxes[1:] == boxes[:-1]).all(axis=1)
    in_ligature[1:] &= (codes[1:] < _MATH[0]) | (codes[1:] >= _MATH[1])  # which files do print twice
    x, y = boxes[:, 0].astype(np.float64), boxes[:, 1].astype(np.float64)
    across = np.clip(x * _STEPS, 0, _MAX_STEP).astype(np.int64)
    for shift in (0.0, 0.5):  # two prints on either side of a row's border share a row after the shift
        rows = np.clip(y / _ROW + shift, 0, _MAX_STEP).astype(np.int64)
        key = (codes.astype(np.int64) << 2 * _BITS) | (rows << _BITS) | across
        order = np.argsort(key)
        if (np.diff(key[order]) == 0).any():
            order = np.argsort(key, kind="stable")  # stable sorting is slower
        before, after = order[:-1], order[1:]
        far = np.maximum(np.abs(x[after] - x[before]), np.abs(y[after] - y[before]))
        same = (codes[before] == codes[after]) & (far <= MAX_SHIFT * sizes[after]) & (sizes[before] == sizes[after])
        same &= ~((after - before == 1) & in_ligature[after])
        again[np.maximum(before, after)[same]] = True
    for index in np.flatnonzero(in_ligature):
        again[index] = again[index - 1]
    return again
