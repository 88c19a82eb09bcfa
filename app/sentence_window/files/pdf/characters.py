"""The characters of a page in arrays: code points, boxes, fonts, and whether each can be seen.

PDFium is asked for box and code once a character, and for what all characters of a text object share (font, size,
matrix) once an object. Places are in points from the upper left of the page as it is displayed, see `PageFrame`.
"""

import ctypes
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .drawings import WHITE, read_painted, shows_ink
from .pdfium import (
    MAX_POINTS,
    Mask,
    PageFrame,
    address_of,
    pdfium_raw,
    quick_calls,
    read_frame,
)

CharacterBoxes: TypeAlias = npt.NDArray[np.float32]
"""Rectangles of shape ``(n, 4)``: left, top, right and bottom, in points of the displayed page."""

HYPHEN = 0x2
"""The code point that PDFium gives to a hyphen at the end of a line whose word goes on."""

_HYPHEN_IN_TEXT = 0xFFFE
_BOLD_WEIGHT = 600
_FORCE_BOLD = 1 << 18
_BOLD_NAMES = ("bold", "black", "heavy", "semibd", "demi")
_FILL_AND_STROKE = 2
_INVISIBLE = 3
_FILLED = (0, 4)
_SPACE = 0x20
_GENERATED_CODES = (0x0A, 0x0D, _SPACE)
_MAX_NAME_BYTES = 512
_SURROGATES = (0xD800, 0xDFFF)
_LOW_SURROGATE = 0xDC00


CLEAR, PALE = 1, 2
"""Why a character may be invisible: it isn't painted, or it is painted white."""

_FROM_RIGHT = ((0x590, 0x900), (0xFB1D, 0xFEFF), (0x10800, 0x11000), (0x1E800, 0x1F000))
"""Unicode blocks of right-to-left scripts, as half-open ranges."""


@dataclass(frozen=True, slots=True, eq=False)
class PageCharacters:
    """The characters of a page, in the order in which the file draws them.

    All arrays have the length ``n``, the number of characters that PDFium counts. An index into them is the index that
    PDFium's text functions take.

    Attributes:
        number: The page's number, from 0.
        width: Points of the displayed page from left to right.
        height: Points from top to bottom.
        codes: Code points, 0 if unknown; `HYPHEN` for a hyphen at the end of a line.
        boxes: From the ascent to the descent of the font, and over the whole advance of the character. Zeros for a
            generated character.
        origins: The origin of its text object, of shape ``(n, 2)``: x, and y of the baseline. Unlike a box, the
            baseline is the same for all fonts and characters of a line.
        sizes: Font sizes in points as displayed.
        angles: Directions of the writing in degrees, clockwise as displayed: 0 for text from left to right, 90 for
            text from top to bottom.
        bold: Whether the font is bold, or drawn with an outline.
        generated: Whether PDFium generated the character: a space or a line break that the file doesn't draw, or the
            second half of a surrogate pair, whose code point is that of the first half.
        hidden: Whether it is invisible: it isn't painted, or is white on white, and there is no picture.
    """

    number: int
    width: float
    height: float
    codes: npt.NDArray[np.uint32]
    boxes: CharacterBoxes
    origins: npt.NDArray[np.float32]
    sizes: npt.NDArray[np.float32]
    angles: npt.NDArray[np.float32]
    bold: npt.NDArray[np.bool_]
    generated: npt.NDArray[np.bool_]
    hidden: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        """Return the number of characters."""
        return len(self.codes)


def read_characters(page: Any, textpage: Any, number: int) -> PageCharacters:
    """Read the characters of a page.

    Hold `PDFIUM_LOCK` during the call.

    Args:
        page: The handle of the page, from PDFium.
        textpage: The handle of its text.
        number: The page's number, from 0.
    """
    raw, calls = pdfium_raw(), quick_calls()
    count = max(0, raw.FPDFText_CountChars(textpage))
    handle = address_of(textpage)
    boxes = np.zeros((count, 4), np.float32)
    _call(calls.box, repeat(handle), range(count), _row_addresses(boxes))
    codes = _read_codes(textpage, handle, count)
    objects = _read_objects(handle, codes, boxes)
    halves = _join_halves(codes)
    frame = read_frame(page)
    origins, sizes, angles, bold, unseen = _read_styles(handle, objects, frame)
    # PDFium's rectangles are left, top, right, bottom, with y up.
    boxes = _displayed(boxes[:, [0, 3, 2, 1]], frame)
    generated = (objects == 0) | halves
    boxes[generated] = 0
    hidden = unseen > 0
    if hidden.any():
        is_alone = bool((hidden | generated).all())
        hidden &= ~_visible_anyway(page, frame, boxes, unseen, is_alone=is_alone)
    return PageCharacters(
        number=number,
        width=frame.width,
        height=frame.height,
        codes=codes,
        boxes=boxes,
        origins=origins,
        sizes=sizes,
        angles=(90 * frame.turns - angles) % 360,
        bold=bold,
        generated=generated,
        hidden=hidden,
    )


def _call(function: Callable[..., Any], *arguments: Iterable[Any]) -> None:
    """Call a function with each set of arguments, for its side effects."""
    deque(map(function, *arguments), maxlen=0)


def _row_addresses(rows: npt.NDArray[Any]) -> range:
    """Return the address of each row of an array."""
    start, step = rows.ctypes.data, rows.strides[0]
    return range(start, start + step * len(rows), step) if len(rows) else range(0)


def _read_codes(textpage: Any, handle: int, count: int) -> npt.NDArray[np.uint32]:
    """Return the code points: from the page's text in one call if possible, else one by one."""
    buffer = np.zeros(count + 1, np.uint16)
    written = pdfium_raw().FPDFText_GetText(textpage, 0, count, buffer.ctypes.data_as(ctypes.POINTER(ctypes.c_ushort)))
    units = buffer[:count].astype(np.uint32)
    # PDFium's text counts UTF-16 units, its other functions count characters. Without surrogates these are equal.
    if written == count + 1 and not bool(((units >= _SURROGATES[0]) & (units <= _SURROGATES[1])).any()):
        units[units == _HYPHEN_IN_TEXT] = HYPHEN
        return units
    return np.fromiter(map(quick_calls().code, repeat(handle), range(count)), np.uint32, count)


def _join_halves(codes: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Join surrogate pairs, which PDFium counts as two characters; return which characters are second halves."""
    is_half = np.zeros(len(codes), np.bool_)
    high = (codes >= _SURROGATES[0]) & (codes < _LOW_SURROGATE)
    if high.any():
        low = (codes >= _LOW_SURROGATE) & (codes <= _SURROGATES[1])
        first = np.flatnonzero(high[:-1] & low[1:])
        codes[first] = 0x10000 + ((codes[first] - _SURROGATES[0]) << 10) + codes[first + 1] - _LOW_SURROGATE
        is_half[first + 1] = True
    return is_half


def _read_objects(handle: int, codes: npt.NDArray[np.uint32], boxes: CharacterBoxes) -> npt.NDArray[np.int64]:
    """Return the text object of each character; 0 for generated ones, which have no size."""
    is_drawn = (boxes[:, 0] != boxes[:, 2]) | (boxes[:, 1] != boxes[:, 3])
    drawn = np.flatnonzero(is_drawn | ~np.isin(codes, _GENERATED_CODES))
    objects = np.zeros(len(codes), np.int64)
    objects[drawn] = np.fromiter(map(quick_calls().text_object, repeat(handle), drawn.tolist()), np.int64, len(drawn))
    return objects


def runs_left(codes: npt.NDArray[np.uint32]) -> bool:
    """Return whether any code points belong to a right-to-left script."""
    return has_any(codes, _FROM_RIGHT)


def has_any(codes: npt.NDArray[np.uint32], blocks: Sequence[tuple[int, int]]) -> bool:
    """Return whether any code points are in one of the half-open ranges, which are sorted."""
    high = codes[codes >= blocks[0][0]]
    return len(high) > 0 and any(bool(((first <= high) & (high < end)).any()) for first, end in blocks)


def _read_styles(handle: int, objects: npt.NDArray[np.int64], frame: PageFrame) -> tuple[Any, ...]:
    """Return what each character inherits from its text object: origin, size, angle, bold, why it isn't visible."""
    calls = quick_calls()
    begins = np.concatenate([[0], np.flatnonzero(np.diff(objects)) + 1])[: len(objects)]
    known, first, places = np.unique(objects[begins], return_index=True, return_inverse=True)
    first, places = begins[first], np.repeat(places, np.diff([*begins.tolist(), len(objects)]))
    is_made = int(len(known) > 0 and known[0] == 0)  # the first of the sorted ones
    indexes, addresses = first[is_made:].tolist(), known[is_made:].tolist()
    count = len(addresses)
    matrices, colors = np.zeros((count, 6), np.float32), np.zeros((count, 4), np.uint32)
    _call(calls.matrix, repeat(handle), indexes, _row_addresses(matrices))
    fonts = np.fromiter(map(calls.font, addresses), np.int64, count)
    modes = np.fromiter(map(calls.render_mode, addresses), np.int64, count)
    has_color = np.fromiter(
        map(calls.color, addresses, *(_row_addresses(colors[:, at:]) for at in range(4))), np.bool_, count
    )
    sizes = np.fromiter(map(calls.size, repeat(handle), indexes), np.float64, count)
    a, b, c, d, x, y = _points(matrices.astype(np.float64)).T
    names, of_name = np.unique(fonts, return_inverse=True)
    is_bold = np.array([_is_bold(name) for name in names.tolist()], np.bool_)[of_name]
    is_filled = has_color & np.isin(modes, _FILLED)
    is_white = is_filled & (colors[:, :3] >= WHITE).all(axis=1)
    is_clear = (modes == _INVISIBLE) | (is_filled & (colors[:, 3] == 0))
    each = np.zeros((len(known), 6), np.float32)
    each[:, :2] = _displayed(np.zeros((1, 4), np.float32), frame)[:, :2]
    each[is_made:, :2] = _displayed(np.column_stack([x, y, x, y]), frame)[:, :2]
    each[is_made:, 2] = _points(np.abs(sizes) * np.hypot(c, d))
    each[is_made:, 3] = np.degrees(np.arctan2(b, a))
    each[is_made:, 4] = is_bold | (modes == _FILL_AND_STROKE)
    each[is_made:, 5] = np.where(is_clear, CLEAR, np.where(is_white, PALE, 0))
    each = each[places]
    return each[:, :2], each[:, 2], each[:, 3], each[:, 4] > 0, each[:, 5].astype(np.int8)


def _is_bold(address: int) -> bool:
    """Return whether a font is bold."""
    if not address:
        return False
    raw = pdfium_raw()
    font = ctypes.cast(ctypes.c_void_p(address), raw.FPDF_FONT)
    buffer = ctypes.create_string_buffer(_MAX_NAME_BYTES)
    raw.FPDFFont_GetBaseFontName(font, buffer, _MAX_NAME_BYTES)
    name = buffer.value.decode("latin-1").lower()
    flags = max(0, raw.FPDFFont_GetFlags(font))
    is_named = any(part in name for part in _BOLD_NAMES) or bool(flags & _FORCE_BOLD)
    return is_named or bool(raw.FPDFFont_GetWeight(font) >= _BOLD_WEIGHT)


def _displayed(boxes: CharacterBoxes, frame: PageFrame) -> CharacterBoxes:
    """Return boxes of the PDF as they are displayed, limited to `MAX_POINTS` in damaged files."""
    known = boxes if np.isfinite(boxes).all() else np.nan_to_num(boxes)
    shown = frame.show(np.clip(known, -MAX_POINTS, MAX_POINTS)).astype(np.float32)
    return np.concatenate([np.minimum(shown[:, :2], shown[:, 2:]), np.maximum(shown[:, :2], shown[:, 2:])], axis=1)


def _points(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return finite numbers of points, as damaged files have infinities and NaNs."""
    return np.clip(np.nan_to_num(values, posinf=MAX_POINTS, neginf=-MAX_POINTS), -MAX_POINTS, MAX_POINTS)


def _visible_anyway(
    page: Any, frame: PageFrame, boxes: CharacterBoxes, unseen: npt.NDArray[np.int8], *, is_alone: bool
) -> Mask:
    """Return which unpainted or white characters are visible after all, or are the text of a picture.

    Args:
        page: The handle of the page.
        frame: The frame of the page.
        boxes: The boxes of the characters.
        unseen: For each character `CLEAR`, `PALE` or 0.
        is_alone: Whether the page has no other text, so that it may belong to a scan with letters drawn as curves.
    """
    pictures, painted = read_painted(page, frame)
    colored = np.concatenate([pictures, painted])
    middles = (boxes[:, :2] + boxes[:, 2:]) / 2
    seen = np.zeros(len(boxes), np.bool_)
    for kind, around in ((CLEAR, colored if is_alone else pictures), (PALE, colored)):
        at = np.flatnonzero(unseen == kind)
        for box in around if len(at) else ():
            seen[at] |= ((box[:2] <= middles[at]) & (middles[at] <= box[2:])).all(axis=1)
    left = np.flatnonzero((unseen == PALE) & ~seen)
    if len(left):  # PDFium reports a pattern as white, so the page is rendered
        seen[left] = shows_ink(page, frame, boxes[left])
    return seen
