"""The characters of a page: what PDFium knows of each one, in arrays; and the boxes around some of them.

Places are in points as the page is displayed: from the top left corner of its crop box, x to the right, y down, after
the page's rotation. PDFium is asked for what differs from character to character (code point, box, text object) once
a character, and for what a text object has in common (font, size, matrix) once an object.

Characters that follow each other on a line share a box; a column's gap or a new line begins another. So does a text
that the file draws before the one on its left: readers keep to the file's order, and should find the text's order in
the boxes. Boxes are as high as their font, so that they look even. Where the box of a line would touch any other
character, as in a tight line above, it is trimmed; where trimming isn't enough, the line gets several boxes.

Everything is in points from the upper left of the page as it is shown, see `PageFrame`.
"""

import ctypes
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .pdfium import (
    MAX_POINTS,
    WHITE,
    Boxes,
    Indexes,
    Mask,
    PageFrame,
    address_of,
    pdfium_raw,
    quick_calls,
    read_frame,
    read_painted,
    shows_ink,
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
_MADE = (0x0A, 0x0D, _SPACE)
_UNKNOWN = np.int64(-1)
_FEW = 200
_MAX_NAME_BYTES = 512
_SURROGATES = (0xD800, 0xDFFF)
_LOW_SURROGATE = 0xDC00


CLEAR, PALE = 1, 2
"""Why a character may not be seen: nothing is painted, or it is painted white."""

_FROM_RIGHT = ((0x590, 0x900), (0xFB1D, 0xFEFF), (0x10800, 0x11000), (0x1E800, 0x1F000))
"""Blocks of scripts from right to left, by their first code points and those after their last."""


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
        generated: Whether PDFium made up the character: a space or a line break that the file doesn't draw, or the
            second half of a character that takes two units of UTF-16, whose code point the first half has.
        hidden: Whether nobody sees it: it isn't painted, or is white on white, and no picture lies there.
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

    Hold `PDFIUM_LOCK` meanwhile.

    Args:
        page: The handle of the page, from PDFium.
        textpage: The handle of its text.
        number: The page's number, from 0.
    """
    raw, calls = pdfium_raw(), quick_calls()
    count = max(0, raw.FPDFText_CountChars(textpage))
    handle = address_of(textpage)
    boxes = np.zeros((count, 4), np.float32)
    _call(calls.box, repeat(handle), range(count), _places(boxes))
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
        hidden &= ~_seen_anyway(page, frame, boxes, unseen, is_alone=is_alone)
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
    """Call a function with each of some arguments, for what it writes."""
    deque(map(function, *arguments), maxlen=0)


def _places(rows: npt.NDArray[Any]) -> range:
    """Return the address of each row of an array."""
    start, step = rows.ctypes.data, rows.strides[0]
    return range(start, start + step * len(rows), step) if len(rows) else range(0)


def _read_codes(textpage: Any, handle: int, count: int) -> npt.NDArray[np.uint32]:
    """Return the code points: from the page's text at once if its units are characters, else one by one."""
    buffer = np.zeros(count + 1, np.uint16)
    written = pdfium_raw().FPDFText_GetText(textpage, 0, count, buffer.ctypes.data_as(ctypes.POINTER(ctypes.c_ushort)))
    units = buffer[:count].astype(np.uint32)
    # The text counts UTF-16 units, all else counts characters. Without surrogates these are the same.
    if written == count + 1 and not bool(((units >= _SURROGATES[0]) & (units <= _SURROGATES[1])).any()):
        units[units == _HYPHEN_IN_TEXT] = HYPHEN
        return units
    return np.fromiter(map(quick_calls().code, repeat(handle), range(count)), np.uint32, count)


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


def _read_objects(handle: int, codes: npt.NDArray[np.uint32], boxes: CharacterBoxes) -> npt.NDArray[np.int64]:
    """Return the text object of each character, 0 for those that PDFium made up, which have no size.

    The characters of an object follow each other, unless PDFium puts text from right to left in order. So what lies
    between two characters of one object needn't be asked for: most lines, else most words, else their halves.
    """
    is_drawn = (boxes[:, 0] != boxes[:, 2]) | (boxes[:, 1] != boxes[:, 3])
    is_made = (codes == _MADE[0]) | (codes == _MADE[1]) | (codes == _MADE[2])
    objects = np.where(is_drawn | ~is_made, _UNKNOWN, 0)
    drawn = np.flatnonzero(objects)
    found = np.full(len(drawn), _UNKNOWN)
    if runs_left(codes):
        _ask(handle, drawn, found, np.ones(len(drawn), np.bool_))
    breaks = np.diff(drawn) > 1
    for parted in (breaks & (codes[drawn[1:] - 1] != _SPACE), breaks | (codes[drawn[:-1]] == _SPACE)):
        edges = np.ones(len(drawn), np.bool_)
        edges[1:-1] = parted[1:] | parted[:-1]
        _ask(handle, drawn, found, edges)
    while len(unknown := np.flatnonzero(found == _UNKNOWN)):
        parted = np.flatnonzero(np.diff(unknown) > 1)
        starts, ends = unknown[np.append(0, parted + 1)], unknown[np.append(parted, len(unknown) - 1)]
        middles = np.zeros(len(drawn), np.bool_)
        middles[(starts + ends) // 2 if len(unknown) > _FEW else unknown] = True
        _ask(handle, drawn, found, middles)
    objects[drawn] = found
    return objects


def _ask(handle: int, drawn: Indexes, found: npt.NDArray[np.int64], which: Mask) -> None:
    """Ask for the objects of some characters, and fill in those between two of one object."""
    new = np.flatnonzero(which & (found == _UNKNOWN))
    found[new] = np.fromiter(map(quick_calls().text_object, repeat(handle), drawn[new].tolist()), np.int64, len(new))
    known = np.flatnonzero(found != _UNKNOWN)
    before, after = known[:-1], known[1:]
    same = np.where(found[before] == found[after], found[before], _UNKNOWN)
    between = slice(int(known[0]), int(known[-1])) if len(known) else slice(0)
    found[between] = np.where(found[between] == _UNKNOWN, np.repeat(same, after - before), found[between])


def runs_left(codes: npt.NDArray[np.uint32]) -> bool:
    """Return whether any of some code points are of a script from right to left."""
    return has_any(codes, _FROM_RIGHT)


def has_any(codes: npt.NDArray[np.uint32], blocks: Sequence[tuple[int, int]]) -> bool:
    """Return whether any of some code points are in blocks, in order, each from its first code point to another."""
    high = codes[codes >= blocks[0][0]]
    return len(high) > 0 and any(bool(((first <= high) & (high < end)).any()) for first, end in blocks)


def _read_styles(handle: int, objects: npt.NDArray[np.int64], frame: PageFrame) -> tuple[Any, ...]:
    """Return what the text object of each character says: origin, size, angle, bold, and why it isn't seen."""
    calls = quick_calls()
    begins = np.concatenate([[0], np.flatnonzero(np.diff(objects)) + 1])[: len(objects)]
    known, first, places = np.unique(objects[begins], return_index=True, return_inverse=True)
    first, places = begins[first], np.repeat(places, np.diff([*begins.tolist(), len(objects)]))
    is_made = int(len(known) > 0 and known[0] == 0)  # the first of the sorted ones
    indexes, addresses = first[is_made:].tolist(), known[is_made:].tolist()
    count = len(addresses)
    matrices, colors = np.zeros((count, 6), np.float32), np.zeros((count, 4), np.uint32)
    _call(calls.matrix, repeat(handle), indexes, _places(matrices))
    fonts = np.fromiter(map(calls.font, addresses), np.int64, count)
    modes = np.fromiter(map(calls.render_mode, addresses), np.int64, count)
    has_color = np.fromiter(map(calls.color, addresses, *(_places(colors[:, at:]) for at in range(4))), np.bool_, count)
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
    """Return boxes of the PDF as the page is displayed, those of damaged files too."""
    known = boxes if np.isfinite(boxes).all() else np.nan_to_num(boxes)
    shown = frame.show(np.clip(known, -MAX_POINTS, MAX_POINTS)).astype(np.float32)
    return np.concatenate([np.minimum(shown[:, :2], shown[:, 2:]), np.maximum(shown[:, :2], shown[:, 2:])], axis=1)


def _points(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return numbers of points, without the infinities and the not-a-numbers of damaged files."""
    return np.clip(np.nan_to_num(values, posinf=MAX_POINTS, neginf=-MAX_POINTS), -MAX_POINTS, MAX_POINTS)


def _seen_anyway(
    page: Any, frame: PageFrame, boxes: CharacterBoxes, unseen: npt.NDArray[np.int8], *, is_alone: bool
) -> Mask:
    """Return which characters are seen, or are the text of a picture, although they are clear or white.

    Args:
        page: The handle of the page.
        frame: Of that page.
        boxes: Those of the characters.
        unseen: For each character `CLEAR`, `PALE` or 0.
        is_alone: Whether the page has no other text; then it may be that of a scan whose letters are drawn as curves.
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
    if len(left):  # PDFium calls a pattern white, so the page is looked at
        seen[left] = shows_ink(page, frame, boxes[left])
    return seen


_OF_OBJECTS = ("origins", "sizes", "angles", "bold", "generated", "hidden")
"""Values that are the same for many characters, one after the other."""


@dataclass(frozen=True, slots=True, eq=False)
class PackedPage:
    """A page's characters and ruling lines, in little space.

    Attributes:
        characters: The page, with `_OF_OBJECTS` once for each stretch of characters for which they are the same.
        lengths: The number of characters of each stretch.
        rules: The page's ruling lines.
    """

    characters: PageCharacters
    lengths: npt.NDArray[np.int64]
    rules: Boxes


def pack(page: PageCharacters, rules: Boxes) -> PackedPage:
    """Pack a page's characters and ruling lines; nothing of them is lost."""
    table = np.column_stack([getattr(page, name) for name in _OF_OBJECTS])
    changes = (table[1:] != table[:-1]).any(axis=1)
    starts = np.concatenate([[0], np.flatnonzero(changes) + 1])[: len(page)]
    once: dict[str, Any] = {name: getattr(page, name)[starts] for name in _OF_OBJECTS}
    return PackedPage(replace(page, **once), np.diff([*starts.tolist(), len(page)]), rules)


def unpack(packed: PackedPage) -> PageCharacters:
    """Return the characters that were packed."""
    page = packed.characters
    each: dict[str, Any] = {name: np.repeat(getattr(page, name), packed.lengths, axis=0) for name in _OF_OBJECTS}
    return replace(page, **each)


MIN_SHARED_HEIGHT = 0.4
"""How much of the lower of two neighbors lies beside the higher one if they are on one line; a raised figure does."""

MAX_GAP = 6.0
"""The widest gap between neighbors of a line, in heights. Whatever else stands in a gap parts them too."""

_USUAL_HEIGHT = 40.0
"""Points; the few characters that are higher are looked at for each line."""

_LONG = 500
"""Characters; a longer line is halved, not cut at its widest gap, when it gets several boxes."""

_NEAR = 0.01
"""Points; what is nearer may touch, as PDFium counts in single precision."""

_CLEARANCE = 0.02
"""Points between a trimmed box and the character it gives way to."""


def line_boxes(chosen: Indexes, tight: Boxes, loose: Boxes, is_ink: Mask) -> Boxes:
    """Return the boxes around some characters of a page.

    Args:
        chosen: Indexes of the characters, each once, in the order of the text.
        tight: ``(n, 4)``, around the ink of each character of the page.
        loose: ``(len(chosen), 4)``, around each chosen character, as high as its font.
        is_ink: ``(n,)``, whether a character of the page can be seen; boxes give way to those that can.

    Returns:
        ``(m, 4)``, a box or more for each line. The center of each chosen character that has a size is in one of them.
    """
    own = np.where(_is_empty(tight[chosen])[:, None], loose, tight[chosen])  # around the ink, if there is any
    has_size = np.isfinite(own).all(axis=1) & np.isfinite(loose).all(axis=1) & ~_is_empty(own)
    chosen, own, loose = chosen[has_size], own[has_size], loose[has_size]
    if not len(chosen):
        return np.zeros((0, 4))
    has_ink = is_ink & np.isfinite(tight).all(axis=1) & ~_is_empty(tight)
    swap = [1, 0, 3, 2] if _runs_down(loose) else [0, 1, 2, 3]
    own, loose, tight = own[:, swap], loose[:, swap], tight[:, swap]
    neighbors = _Neighbors(np.flatnonzero(has_ink), tight)
    boxes: list[Boxes] = []
    for run in np.split(np.arange(len(chosen)), _breaks(chosen, loose)):
        others = neighbors.touching(_around(own[run], loose[run]), chosen[run])
        boxes += _fit(own[run], loose[run], others)
    return np.stack(boxes)[:, swap]


class _Neighbors:
    """The characters of a page by height, so that those near a line are found without a look at all."""

    def __init__(self, indexes: Indexes, tight: Boxes) -> None:
        heights = tight[indexes, 3] - tight[indexes, 1]
        is_high = heights > _USUAL_HEIGHT
        self._high = indexes[is_high]
        usual = indexes[~is_high]
        self._usual = usual[np.argsort(tight[usual, 1], kind="stable")]
        self._tops = tight[self._usual, 1]
        self._tight = tight

    def touching(self, box: Boxes, without: Indexes) -> Boxes:
        """Return the boxes of the characters that touch a box, without those of some characters."""
        start, end = np.searchsorted(self._tops, [box[1] - _USUAL_HEIGHT - _NEAR, box[3] + _NEAR])
        near = np.concatenate([self._usual[start:end], self._high])
        return _touching(box, self._tight[near[~np.isin(near, without)]])


def _is_empty(boxes: Boxes) -> Mask:
    empty: Mask = (boxes[:, 0] >= boxes[:, 2]) | (boxes[:, 1] >= boxes[:, 3])
    return empty


def _runs_down(loose: Boxes) -> bool:
    """Return whether the text runs up or down the page."""
    steps = np.abs(np.diff((loose[:, :2] + loose[:, 2:]) / 2, axis=0))
    return len(steps) > 0 and bool(np.median(steps[:, 0]) < np.median(steps[:, 1]))


def _breaks(chosen: Indexes, loose: Boxes) -> Indexes:
    """Return the positions of characters that aren't beside the one before them, or that the file draws before it."""
    before, after = loose[:-1], loose[1:]
    heights = np.minimum(before[:, 3] - before[:, 1], after[:, 3] - after[:, 1])
    shared = np.minimum(before[:, 3], after[:, 3]) - np.maximum(before[:, 1], after[:, 1])
    gaps = np.maximum(after[:, 0] - before[:, 2], before[:, 0] - after[:, 2])
    is_beside = (shared >= MIN_SHARED_HEIGHT * heights) & (gaps <= MAX_GAP * heights)
    return np.flatnonzero(~is_beside | (np.diff(chosen) < 0)) + 1


def _around(own: Boxes, loose: Boxes) -> Boxes:
    """Return the box around a run: as wide as its ink, as high as its font."""
    left, right = own[:, 0].min(), own[:, 2].max()
    return np.array([left, min(own[:, 1].min(), loose[:, 1].min()), right, max(own[:, 3].max(), loose[:, 3].max())])


def _touching(box: Boxes, others: Boxes) -> Boxes:
    """Return those of some boxes that touch a box, or nearly do."""
    near = box + np.array([-_NEAR, -_NEAR, _NEAR, _NEAR])
    x_apart = (others[:, 0] >= near[2]) | (others[:, 2] <= near[0])
    y_apart = (others[:, 1] >= near[3]) | (others[:, 3] <= near[1])
    touching: Boxes = others[~(x_apart | y_apart)]
    return touching


def _fit(own: Boxes, loose: Boxes, others: Boxes) -> list[Boxes]:
    """Return boxes around a run that touch none of the others but those that lie on the run's own characters."""
    todo = [(own, loose, others)]
    fitted: list[Boxes] = []
    while todo:
        own, loose, others = todo.pop()
        box = _around(own, loose)
        others = _touching(box, others)
        trimmed = _trimmed(box, own, others)
        if trimmed is not None:
            fitted.append(trimmed)
            continue
        gaps = np.maximum(own[1:, 0] - own[:-1, 2], own[:-1, 0] - own[1:, 2])
        at = len(own) // 2 if len(own) > _LONG else 1 + int(np.argmax(gaps))
        todo += [(own[at:], loose[at:], others), (own[:at], loose[:at], others)]
    return fitted


def _trimmed(box: Boxes, own: Boxes, others: Boxes) -> Boxes | None:
    """Return a box without what other characters take of it; ``None`` if centers of its own would be left out."""
    centers = (own[:, :2] + own[:, 2:]) / 2
    low, high = centers.min(axis=0), centers.max(axis=0)
    box = box.copy()
    for other in others:
        if not len(_touching(box, other[None])):
            continue
        cuts = [(side, other[side + 2] + _CLEARANCE) for side in (0, 1) if other[side + 2] + _CLEARANCE <= low[side]]
        cuts += [(side + 2, other[side] - _CLEARANCE) for side in (0, 1) if other[side] - _CLEARANCE >= high[side]]
        if cuts:
            side, to = min(cuts, key=lambda cut: abs(box[cut[0]] - cut[1]) / (box[cut[0] % 2 + 2] - box[cut[0] % 2]))
            box[side] = to
        elif len(own) > 1 and not _lies_on(other, own, centers):
            return None
    return box


def _lies_on(other: Boxes, own: Boxes, centers: Boxes) -> bool:
    """Return whether a character lies on one of a run, as one that is printed twice does; no box could part them."""
    center = (other[:2] + other[2:]) / 2
    is_under = ((own[:, :2] <= center) & (center <= own[:, 2:])).all(axis=1)
    is_over = ((other[:2] <= centers) & (centers <= other[2:])).all(axis=1)
    return bool((is_under | is_over).any())
