"""The characters of a page: what PDFium knows of each one, in arrays.

Places are in points as the page is displayed: from the top left corner of its crop box, x to the right, y down, after
the page's rotation. PDFium is asked for what differs from character to character (code point, box, text object) once
a character, and for what a text object has in common (font, size, matrix) once an object.
"""

import ctypes
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from math import atan2, degrees, hypot, isnan
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from langchain_sentence_window.loaders.pdf.frames import MAX_POINTS, PageFrame, read_frame
from langchain_sentence_window.loaders.pdf.pdfium import pdfium_raw

Boxes: TypeAlias = npt.NDArray[np.float32]
"""Rectangles of shape ``(n, 4)``: left, top, right and bottom, in points of the displayed page."""

HYPHEN = 0x2
"""The code point that PDFium gives to a hyphen at the end of a line whose word goes on."""

_HYPHEN_IN_TEXT = 0xFFFE
_BOLD_WEIGHT = 600
_FORCE_BOLD = 1 << 18
_ITALIC = 1 << 6
_BOLD_NAMES = ("bold", "black", "heavy", "semibd", "demi")
_ITALIC_NAMES = ("italic", "oblique")
_FILL_AND_STROKE = 2
_MAX_NAME_BYTES = 512
_SURROGATES = (0xD800, 0xDFFF)
_LOW_SURROGATE = 0xDC00


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
        origins: Where its text object begins, of shape ``(n, 2)``: x, and y of the line it stands on. Unlike a box,
            this is the same for all fonts and characters of a line.
        sizes: Font sizes in points as displayed.
        angles: Directions of the writing in degrees, clockwise as displayed: 0 for text from left to right, 90 for
            text from top to bottom.
        bold: Whether the font is bold, or drawn with an outline.
        italic: Whether the font is italic.
        generated: Whether PDFium made up the character: a space or a line break that the file doesn't draw, or the
            second half of a character that takes two units of UTF-16, whose code point the first half has.
    """

    number: int
    width: float
    height: float
    codes: npt.NDArray[np.uint32]
    boxes: Boxes
    origins: npt.NDArray[np.float32]
    sizes: npt.NDArray[np.float32]
    angles: npt.NDArray[np.float32]
    bold: npt.NDArray[np.bool_]
    italic: npt.NDArray[np.bool_]
    generated: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        """Return the number of characters."""
        return len(self.codes)


def read_characters(page: Any, textpage: Any, number: int) -> PageCharacters:
    """Read the characters of a page.

    Hold `PDFIUM_LOCK` meanwhile.

    Args:
        page: The handle of the page, from PDFium.
        textpage: The handle of its text.
        number: The page's number, from 0.
    """
    raw, calls = pdfium_raw(), _calls()
    count = max(0, raw.FPDFText_CountChars(textpage))
    handle = ctypes.cast(textpage, ctypes.c_void_p).value or 0
    boxes = np.zeros((count, 4), np.float32)
    start = boxes.ctypes.data
    deque(map(calls.box, repeat(handle), range(count), range(start, start + 16 * count, 16)), maxlen=0)
    objects = np.fromiter(map(calls.text_object, repeat(handle), range(count)), np.uint64, count)
    codes = _read_codes(raw, calls, textpage, handle, count)
    halves = _join_halves(codes)
    origins, sizes, angles, bold, italic = _read_objects(raw, calls, handle, objects)
    frame = read_frame(page)
    # PDFium's rectangles are left, top, right, bottom, with y up.
    boxes, origins = _displayed(boxes[:, [0, 3, 2, 1]], frame), _displayed(np.tile(origins, 2), frame)[:, :2]
    generated = (objects == 0) | halves
    boxes[generated] = 0
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
        italic=italic,
        generated=generated,
    )


@dataclass(frozen=True, slots=True)
class _Calls:
    """PDFium's functions that are called often, with plain numbers for handles: fewer conversions."""

    box: Callable[..., int]
    text_object: Callable[..., int]
    code: Callable[..., int]
    matrix: Callable[..., int]
    size: Callable[..., float]
    font: Callable[..., int]
    render_mode: Callable[..., int]


@cache
def _calls() -> _Calls:
    raw = pdfium_raw()
    handle, number = ctypes.c_void_p, ctypes.c_int

    def bound(function: Any, result: Any, *arguments: Any) -> Callable[..., Any]:
        address = ctypes.cast(function, ctypes.c_void_p).value or 0
        called: Callable[..., Any] = ctypes.CFUNCTYPE(result, *arguments)(address)
        return called

    return _Calls(
        box=bound(raw.FPDFText_GetLooseCharBox, number, handle, number, handle),
        text_object=bound(raw.FPDFText_GetTextObject, ctypes.c_size_t, handle, number),
        code=bound(raw.FPDFText_GetUnicode, ctypes.c_uint, handle, number),
        matrix=bound(raw.FPDFText_GetMatrix, number, handle, number, handle),
        size=bound(raw.FPDFText_GetFontSize, ctypes.c_double, handle, number),
        font=bound(raw.FPDFTextObj_GetFont, ctypes.c_size_t, handle),
        render_mode=bound(raw.FPDFTextObj_GetTextRenderMode, number, handle),
    )


def _read_codes(raw: Any, calls: _Calls, textpage: Any, handle: int | None, count: int) -> npt.NDArray[np.uint32]:
    """Return the code points: from the page's text at once if its units are characters, else one by one."""
    buffer = np.zeros(count + 1, np.uint16)
    written = raw.FPDFText_GetText(textpage, 0, count, buffer.ctypes.data_as(ctypes.POINTER(ctypes.c_ushort)))
    units = buffer[:count].astype(np.uint32)
    # The text counts UTF-16 units, all else counts characters. Without surrogates these are the same.
    if written == count + 1 and not bool(((units >= _SURROGATES[0]) & (units <= _SURROGATES[1])).any()):
        units[units == _HYPHEN_IN_TEXT] = HYPHEN
        return units
    return np.fromiter(map(calls.code, repeat(handle), range(count)), np.uint32, count)


def _join_halves(codes: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Write whole code points where PDFium counts two units of UTF-16 as two characters; return the second ones."""
    is_half = np.zeros(len(codes), np.bool_)
    high = (codes >= _SURROGATES[0]) & (codes < _LOW_SURROGATE)
    if high.any():
        low = (codes >= _LOW_SURROGATE) & (codes <= _SURROGATES[1])
        first = np.flatnonzero(high[:-1] & low[1:])
        codes[first] = 0x10000 + ((codes[first] - _SURROGATES[0]) << 10) + codes[first + 1] - _LOW_SURROGATE
        is_half[first + 1] = True
    return is_half


def _read_objects(raw: Any, calls: _Calls, handle: int, objects: npt.NDArray[np.uint64]) -> tuple[Any, ...]:
    """Return what the text object of each character says: origin, size, angle, bold, italic."""
    starts = np.concatenate([[0], np.flatnonzero(np.diff(objects)) + 1])[: len(objects)]
    lengths = np.diff([*starts.tolist(), len(objects)])
    known: dict[int, tuple[float, ...]] = {0: (0.0,) * 6}
    fonts: dict[int, tuple[bool, bool]] = {}
    matrix = np.zeros(6, np.float32)
    found: list[tuple[float, ...]] = []
    for start, address in zip(starts.tolist(), objects[starts].tolist(), strict=True):
        if address not in known:
            calls.matrix(handle, start, matrix.ctypes.data)
            a, b, c, d, x, y = map(_point, matrix.tolist())
            size = _point(abs(calls.size(handle, start)) * hypot(c, d))
            known[address] = x, y, size, degrees(atan2(b, a)), *_style(raw, calls, address, fonts)
        found.append(known[address])
    each = np.repeat(np.array(found, np.float32).reshape(-1, 6), lengths, axis=0)
    return each[:, :2], each[:, 2], each[:, 3], each[:, 4] > 0, each[:, 5] > 0


def _style(raw: Any, calls: _Calls, address: int, fonts: dict[int, tuple[bool, bool]]) -> tuple[bool, bool]:
    """Return whether a text object is bold, and whether it is italic."""
    font = calls.font(address)
    if font not in fonts:
        fonts[font] = _font_style(raw, font) if font else (False, False)
    bold, italic = fonts[font]
    return bold or calls.render_mode(address) == _FILL_AND_STROKE, italic


def _font_style(raw: Any, address: int) -> tuple[bool, bool]:
    """Return whether a font is bold, and whether it is italic."""
    font = ctypes.cast(ctypes.c_void_p(address), raw.FPDF_FONT)
    buffer = ctypes.create_string_buffer(_MAX_NAME_BYTES)
    raw.FPDFFont_GetBaseFontName(font, buffer, _MAX_NAME_BYTES)
    name = buffer.value.decode("latin-1").lower()
    flags = max(0, raw.FPDFFont_GetFlags(font))
    bold = any(part in name for part in _BOLD_NAMES) or bool(flags & _FORCE_BOLD)
    italic = any(part in name for part in _ITALIC_NAMES) or bool(flags & _ITALIC)
    return bold or raw.FPDFFont_GetWeight(font) >= _BOLD_WEIGHT, italic


def _displayed(boxes: Boxes, frame: PageFrame) -> Boxes:
    """Return boxes of the PDF as the page is displayed, those of damaged files too."""
    shown = frame.show(np.clip(np.nan_to_num(boxes), -MAX_POINTS, MAX_POINTS)).astype(np.float32)
    return np.concatenate([np.minimum(shown[:, :2], shown[:, 2:]), np.maximum(shown[:, :2], shown[:, 2:])], axis=1)


def _point(value: float) -> float:
    """Return a number of points, without the infinities and the not-a-numbers of damaged files."""
    return 0.0 if isnan(value) else max(-MAX_POINTS, min(MAX_POINTS, value))
