"""PDFium, imported on use, for one thread at a time; the frame of a page, its ruling lines and its pictures.

A PDF counts points from the lower left, before the page is turned and cropped. Here a place counts points from the
upper left of the page as a viewer shows it, x to the right and y down.

Ruling lines are straight strokes and thin bars that run across or down the page. A line may be a stroke, a thin filled
rectangle, a side of a stroked rectangle, or a part of a path with many of them, inside forms or not. A page that draws
a great deal shows a map or a chart, whose lines aren't read.
"""

import ctypes
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import pairwise, repeat
from types import SimpleNamespace
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._lazy import of_extra

PDFIUM_LOCK = threading.RLock()
"""Held around all calls of PDFium, which isn't safe for threads, not even for two files."""


@cache
def pdfium() -> Any:
    """Import pypdfium2.

    Raises:
        MissingExtraError: It isn't installed.
    """
    return of_extra("pypdfium2", "pypdfium2", "files")


@cache
def pdfium_raw() -> Any:
    """Import PDFium's own functions.

    Raises:
        MissingExtraError: pypdfium2 isn't installed.
    """
    pdfium()
    return import_module("pypdfium2.raw")


@cache
def quick_calls() -> SimpleNamespace:
    """Return PDFium's functions that are called often, with plain numbers for handles: fewer conversions.

    They return at once, so the interpreter's lock isn't given up for each.
    """
    raw = pdfium_raw()
    handle, number, address = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t

    def bound(function: Any, result: Any, *arguments: Any) -> Callable[..., Any]:
        called: Callable[..., Any] = ctypes.PYFUNCTYPE(result, *arguments)(address_of(function))
        return called

    return SimpleNamespace(
        box=bound(raw.FPDFText_GetLooseCharBox, number, handle, number, handle),
        text_object=bound(raw.FPDFText_GetTextObject, address, handle, number),
        code=bound(raw.FPDFText_GetUnicode, ctypes.c_uint, handle, number),
        matrix=bound(raw.FPDFText_GetMatrix, number, handle, number, handle),
        size=bound(raw.FPDFText_GetFontSize, ctypes.c_double, handle, number),
        font=bound(raw.FPDFTextObj_GetFont, address, handle),
        render_mode=bound(raw.FPDFTextObj_GetTextRenderMode, number, handle),
        color=bound(raw.FPDFPageObj_GetFillColor, number, *[handle] * 5),
        page_object=bound(raw.FPDFPage_GetObject, address, handle, number),
        form_object=bound(raw.FPDFFormObj_GetObject, address, handle, number),
        kind=bound(raw.FPDFPageObj_GetType, number, handle),
        segment=bound(raw.FPDFPath_GetPathSegment, address, handle, number),
        segment_kind=bound(raw.FPDFPathSegment_GetType, number, handle),
        segment_point=bound(raw.FPDFPathSegment_GetPoint, number, *[handle] * 3),
        closes=bound(raw.FPDFPathSegment_GetClose, number, handle),
    )


def address_of(handle: Any) -> int:
    """Return a handle or a function of PDFium as a number."""
    return ctypes.cast(handle, ctypes.c_void_p).value or 0


MAX_POINTS = 1e6
"""Points; places of damaged files that are farther away are moved there."""

Indexes = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]
Boxes: TypeAlias = npt.NDArray[np.float64]
"""Rectangles ``(n, 4)``; as they are shown ``[x0, y0, x1, y1]``, in a PDF ``[left, bottom, right, top]``."""


_Number = TypeVar("_Number", np.float32, np.float64)


@dataclass(frozen=True, slots=True)
class PageFrame:
    """The part of a page that is shown, and how it is turned.

    Attributes:
        left: Left end of the visible part, in the PDF's points.
        bottom: Its lower end.
        right: Its right end.
        top: Its upper end.
        turns: Quarter turns, clockwise, from 0 to 3.
    """

    left: float
    bottom: float
    right: float
    top: float
    turns: int = 0

    @property
    def width(self) -> float:
        """The width of the page as it is shown, in points."""
        return self.top - self.bottom if self.turns % 2 else self.right - self.left

    @property
    def height(self) -> float:
        """The height of the page as it is shown, in points."""
        return self.right - self.left if self.turns % 2 else self.top - self.bottom

    def show(self, boxes: npt.ArrayLike) -> Boxes:
        """Return where boxes of the PDF are shown.

        Args:
            boxes: ``(n, 4)``, each ``[left, bottom, right, top]`` in the PDF's points.

        Returns:
            ``(n, 4)``, each ``[x0, y0, x1, y1]`` in points from the upper left of the page as it is shown.
        """
        left, bottom, right, top = np.asarray(boxes, np.float64).reshape(-1, 4).T
        upright = np.stack([left - self.left, self.top - top, right - self.left, self.top - bottom], axis=1)
        return turned_back(upright, self.right - self.left, self.top - self.bottom, -self.turns)

    def unshow(self, boxes: npt.ArrayLike) -> Boxes:
        """Return the PDF's boxes for boxes as they are shown: the inverse of `show`.

        Args:
            boxes: ``(n, 4)``, each ``[x0, y0, x1, y1]`` in points from the upper left of the page as it is shown.
        """
        shown = np.asarray(boxes, np.float64).reshape(-1, 4)
        x0, y0, x1, y1 = turned_back(shown, self.width, self.height, self.turns).T
        return np.stack([self.left + x0, self.top - y1, self.left + x1, self.top - y0], axis=1)


def turned_back(boxes: npt.NDArray[_Number], width: float, height: float, turns: int) -> npt.NDArray[_Number]:
    """Return boxes of a page as they are once the page is turned back.

    Args:
        boxes: ``(n, 4)``, each ``[x0, y0, x1, y1]`` in points from the upper left.
        width: Of the page as it is.
        height: Of the page as it is.
        turns: Quarter turns, counterclockwise.
    """
    if turns % 4 == 0:
        return boxes
    x0, y0, x1, y1 = boxes.T
    sides = (
        (),
        (y0, width - x1, y1, width - x0),
        (width - x1, height - y1, width - x0, height - y0),
        (height - y1, x0, height - y0, x1),
    )[turns % 4]
    return np.stack(sides, axis=1)


def read_frame(page: Any) -> PageFrame:
    """Read the frame of a page.

    Hold `PDFIUM_LOCK` meanwhile.

    Args:
        page: The handle of the page, from PDFium.
    """
    raw = pdfium_raw()
    box = raw.FS_RECTF()
    raw.FPDF_GetPageBoundingBox(page, box)
    sides = np.clip(np.nan_to_num([box.left, box.bottom, box.right, box.top]), -MAX_POINTS, MAX_POINTS).tolist()
    (left, right), (bottom, top) = sorted(sides[::2]), sorted(sides[1::2])
    return PageFrame(left, bottom, right, top, raw.FPDFPage_GetRotation(page) % 4)


MAX_PATHS = 10_000
"""Paths, and straight pieces of paths, of a page whose rules are read."""

MAX_OBJECTS = 100_000
"""Objects of a page whose rules are read."""

MAX_THICKNESS = 3.0
"""Points; a thicker bar is a box."""

MIN_LENGTH = 4.0
"""Points; what is shorter is a dot."""

MIN_SHAPES = 100
"""Paths of a page without text that may be letters drawn as curves."""

WHITE = 250
"""The least of red, green and blue, up to 255, of what looks white."""

_MAX_DEPTH = 8
_Matrix: TypeAlias = Any  # pypdfium2's `PdfMatrix`
_Point: TypeAlias = tuple[float, float]


def read_rules(page: Any, frame: PageFrame) -> Boxes:
    """Read the ruling lines of a page.

    Hold `PDFIUM_LOCK` meanwhile.

    Args:
        page: The handle of the page, from PDFium.
        frame: Of that page.

    Returns:
        ``(n, 4)``, thin boxes in points of the page as it is shown; none if the page draws too much.
    """
    raw = pdfium_raw()
    paths, found = 0, list[tuple[float, float, float, float]]()
    try:
        for each, kind, matrix in _objects(raw, page):
            if kind == raw.FPDF_PAGEOBJ_PATH:
                paths += 1
                found += _rules_of(raw, each, matrix)
            if max(paths, len(found)) > MAX_PATHS:
                raise _TooManyError
    except _TooManyError:
        return np.zeros((0, 4))
    boxes = frame.show(found)
    boxes = boxes[np.isfinite(boxes).all(axis=1)]
    sides = boxes[:, 2:] - boxes[:, :2]
    thin: Boxes = boxes[(sides.min(axis=1) <= MAX_THICKNESS) & (sides.max(axis=1) >= MIN_LENGTH)]
    return thin


def shows_picture(page: Any) -> bool:
    """Return whether a page shows what may be a picture of text: an image, or very many shapes.

    Hold `PDFIUM_LOCK` meanwhile.

    Args:
        page: The handle of the page, from PDFium.
    """
    raw = pdfium_raw()
    shapes = 0
    try:
        for _, kind, _ in _objects(raw, page):
            shapes += kind == raw.FPDF_PAGEOBJ_PATH
            if kind == raw.FPDF_PAGEOBJ_IMAGE or shapes >= MIN_SHAPES:
                return True
    except _TooManyError:
        return True
    return False


def read_painted(page: Any, frame: PageFrame) -> tuple[Boxes, Boxes]:
    """Read where a page shows pictures, and where it is painted in other colors than white.

    Hold `PDFIUM_LOCK` meanwhile.

    Args:
        page: The handle of the page, from PDFium.
        frame: Of that page.

    Returns:
        Boxes ``(n, 4)`` of the page as it is shown, around images, and around shapes; the whole page if it draws too
        much.
    """
    raw = pdfium_raw()
    images: list[tuple[float, float, float, float]] = []
    shapes: list[tuple[float, float, float, float]] = []
    try:
        for each, kind, matrix in _objects(raw, page):
            if kind == raw.FPDF_PAGEOBJ_IMAGE:
                images += _bounds(raw, each, matrix)
            elif kind == raw.FPDF_PAGEOBJ_SHADING or (kind == raw.FPDF_PAGEOBJ_PATH and _is_colored(raw, each)):
                shapes += _bounds(raw, each, matrix)
            if len(images) + len(shapes) > MAX_PATHS:
                raise _TooManyError
    except _TooManyError:
        images = shapes = [(frame.left, frame.bottom, frame.right, frame.top)]
    return frame.show(images), frame.show(shapes)


_MAX_PIXELS = 4_000_000
_MAX_SCALE = 2.0


def shows_ink(page: Any, frame: PageFrame, boxes: npt.NDArray[np.float32]) -> Mask:
    """Return in which boxes of a page as it is shown anything but white can be seen.

    Hold `PDFIUM_LOCK` meanwhile.

    Args:
        page: The handle of the page, from PDFium.
        frame: Of that page.
        boxes: ``(n, 4)``.
    """
    raw = pdfium_raw()
    scale = min(_MAX_SCALE, (_MAX_PIXELS / max(1.0, frame.width * frame.height)) ** 0.5)
    width, height = max(1, round(frame.width * scale)), max(1, round(frame.height * scale))
    pixels = np.full((height, width), 0xFF, np.uint8)
    bitmap = raw.FPDFBitmap_CreateEx(width, height, raw.FPDFBitmap_Gray, ctypes.c_void_p(pixels.ctypes.data), width)
    raw.FPDF_RenderPageBitmap(bitmap, page, 0, 0, width, height, 0, 0)
    raw.FPDFBitmap_Destroy(bitmap)
    spans = np.clip(boxes * scale, 0, max(width, height)).astype(int)
    return np.array([bool((pixels[y0 : y1 + 1, x0 : x1 + 1] < WHITE).any()) for x0, y0, x1, y1 in spans.tolist()])


def _bounds(raw: Any, each: Any, matrix: _Matrix) -> Iterator[tuple[float, float, float, float]]:
    """Yield the box around an object, if it has one, in the PDF's points."""
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    if raw.FPDFPageObj_GetBounds(each, left, bottom, right, top):
        corners = [(x.value, y.value) for x in (left, right) for y in (bottom, top)]
        yield _box([matrix.on_point(*corner) for corner in corners])


def _is_colored(raw: Any, path: Any) -> bool:
    """Return whether a path is filled, or drawn with a thick line, in another color than white, or with a pattern."""
    fill, stroke, width = ctypes.c_int(), ctypes.c_int(), ctypes.c_float()
    raw.FPDFPath_GetDrawMode(path, fill, stroke)
    raw.FPDFPageObj_GetStrokeWidth(path, width)
    is_thick = stroke.value and width.value > MAX_THICKNESS
    get = raw.FPDFPageObj_GetFillColor if fill.value else raw.FPDFPageObj_GetStrokeColor if is_thick else None
    if get is None:
        return False
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    known = get(path, red, green, blue, alpha)
    return not known or (alpha.value > 0 and min(red.value, green.value, blue.value) < WHITE)


class _TooManyError(Exception):
    """The page draws more than is read."""


def _objects(raw: Any, page: Any) -> Iterator[tuple[Any, int, _Matrix]]:
    """Yield what a page and its forms draw but text, each with its kind and the matrix of its form."""
    seen = 0
    calls = quick_calls()
    todo: list[tuple[Any, Callable[[Any, int], int], int, _Matrix, int]] = [
        (address_of(page), calls.page_object, raw.FPDFPage_CountObjects(page), pdfium().PdfMatrix(), 0)
    ]
    while todo:
        holder, get, count, matrix, depth = todo.pop()
        seen += max(0, count)
        if seen > MAX_OBJECTS:
            raise _TooManyError
        addresses = list(map(get, repeat(holder), range(count)))
        for address, kind in zip(addresses, map(calls.kind, addresses), strict=True):
            if kind == raw.FPDF_PAGEOBJ_TEXT:
                continue
            each = ctypes.cast(ctypes.c_void_p(address), raw.FPDF_PAGEOBJECT)
            yield each, kind, matrix
            if kind == raw.FPDF_PAGEOBJ_FORM and depth < _MAX_DEPTH:
                inner = _matrix_of(raw, each).multiply(matrix)
                todo.append((address, calls.form_object, raw.FPDFFormObj_CountObjects(each), inner, depth + 1))


def _rules_of(raw: Any, path: Any, matrix: _Matrix) -> Iterator[tuple[float, float, float, float]]:
    """Yield boxes of a path that may be rules, in the PDF's points."""
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    raw.FPDFPath_GetDrawMode(path, fill, stroke)
    if not fill.value and not stroke.value:
        return
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    if not raw.FPDFPageObj_GetBounds(path, left, bottom, right, top):
        return
    around = _box([matrix.on_point(left.value, bottom.value), matrix.on_point(right.value, top.value)])
    if _is_thin(around):
        yield around
        return
    inner = _matrix_of(raw, path).multiply(matrix)
    for points in _straight_pieces(raw, path):
        corners = [inner.on_point(*point) for point in points]
        if stroke.value:
            yield from (side for side in (_box(pair) for pair in pairwise(corners)) if _is_thin(side))
        elif _is_thin(bar := _box(corners)):
            yield bar


def _straight_pieces(raw: Any, path: Any) -> Iterator[list[_Point]]:
    """Yield the corners of each piece of a path that has no curves, in the path's own coordinates."""
    count = raw.FPDFPath_CountSegments(path)
    if count > MAX_PATHS:
        raise _TooManyError
    calls = quick_calls()
    segments = list(map(calls.segment, repeat(address_of(path)), range(count)))
    kinds = list(map(calls.segment_kind, segments))
    starts = [at for at, kind in enumerate(kinds) if kind == raw.FPDF_SEGMENT_MOVETO]
    x, y = np.zeros((2, 1), np.float32)
    places = x.ctypes.data, y.ctypes.data
    for start, end in pairwise(sorted({0, *starts, count})):
        if raw.FPDF_SEGMENT_BEZIERTO in kinds[start:end] or raw.FPDF_SEGMENT_UNKNOWN in kinds[start:end]:
            continue
        points: list[_Point] = []
        for segment in segments[start:end]:
            calls.segment_point(segment, *places)
            points.append((float(x[0]), float(y[0])))
            if calls.closes(segment):
                points.append(points[0])
        if len(points) > 1:
            yield points


def _matrix_of(raw: Any, each: Any) -> _Matrix:
    matrix = raw.FS_MATRIX()
    known = raw.FPDFPageObj_GetMatrix(each, matrix)
    return pdfium().PdfMatrix.from_raw(matrix) if known else pdfium().PdfMatrix()


def _box(points: list[_Point] | tuple[_Point, _Point]) -> tuple[float, float, float, float]:
    xs, ys = zip(*points, strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def _is_thin(box: tuple[float, float, float, float]) -> bool:
    return min(box[2] - box[0], box[3] - box[1]) <= MAX_THICKNESS


MAX_NOTES = 10_000
"""Annotations of a page that are looked at."""

_MAX_NAME_BYTES = 4096
_MAX_LOST = 0.02


def read_notes(page: Any) -> tuple[bool, list[str]]:
    """Read what the annotations of a page hold.

    Hold `PDFIUM_LOCK` meanwhile.

    Args:
        page: The handle of the page, from PDFium.

    Returns:
        Whether there are form fields, or texts that were written onto the page; and the names of files that are
        attached to it.
    """
    raw = pdfium_raw()
    has_text, attached = False, list[str]()
    for number in range(min(raw.FPDFPage_GetAnnotCount(page), MAX_NOTES) if page else 0):
        note = raw.FPDFPage_GetAnnot(page, number)
        kind = raw.FPDFAnnot_GetSubtype(note)
        has_text |= kind in (raw.FPDF_ANNOT_WIDGET, raw.FPDF_ANNOT_FREETEXT)
        file = kind == raw.FPDF_ANNOT_FILEATTACHMENT and raw.FPDFAnnot_GetFileAttachment(note)
        if file:
            name = ctypes.create_string_buffer(_MAX_NAME_BYTES)
            length = raw.FPDFAttachment_GetName(file, ctypes.cast(name, ctypes.POINTER(ctypes.c_ushort)), len(name))
            attached.append(name.raw[: max(0, min(length, len(name)) - 2)].decode("utf-16-le", "replace"))
        raw.FPDFPage_CloseAnnot(note)
    return has_text, attached


def _letters_of(page: Any) -> Counter[int]:
    """Return how often a page's text has each code but white space."""
    raw = pdfium_raw()
    textpage = raw.FPDFText_LoadPage(page)
    count = max(0, raw.FPDFText_CountChars(textpage)) if textpage else 0
    units = np.zeros(count + 1, np.uint16)
    if count:
        raw.FPDFText_GetText(textpage, 0, count, units.ctypes.data_as(ctypes.POINTER(ctypes.c_ushort)))
    if textpage:
        raw.FPDFText_ClosePage(textpage)
    return Counter(units[units > ord(" ")].tolist())


class FilledForm:
    """A second copy of an open PDF, on whose pages the texts of form fields and notes are put.

    The copy alone is changed. Hold `PDFIUM_LOCK` around all calls.
    """

    def __init__(self, open_again: Callable[[], Any]) -> None:
        """Open nothing yet.

        Args:
            open_again: Opens the document of pypdfium2.
        """
        self._open_again = open_again
        self._document: Any = None
        self._fields: Any = None
        self._config: Any = None
        self._filled: set[int] = set()
        self.unread: set[int] = set()
        """The pages whose own text would be damaged, so that their fields aren't read."""

    def load_page(self, number: int, page: Any) -> Any:
        """Return the handle of a page with its texts, to be closed after use; none if it can't be read.

        Args:
            number: The page's number, from 0.
            page: The handle of the page as it is.
        """
        raw = pdfium_raw()
        if self._document is None:
            try:
                self._document = self._open_again()
            except pdfium().PdfiumError:  # the file isn't there any more
                return None
            self._config = raw.FPDF_FORMFILLINFO(version=2)
            self._fields = raw.FPDFDOC_InitFormFillEnvironment(self._document.raw, self._config)
        is_new = number not in self._filled
        if is_new:
            self._filled.add(number)
            self._fill(number)
        filled = None if number in self.unread else raw.FPDF_LoadPage(self._document.raw, number)
        if filled and is_new:
            own = _letters_of(page)
            if (own - _letters_of(filled)).total() > _MAX_LOST * own.total():
                self.unread.add(number)
                raw.FPDF_ClosePage(filled)
                filled = None
        return filled

    def _fill(self, number: int) -> None:
        raw = pdfium_raw()
        page = raw.FPDF_LoadPage(self._document.raw, number)
        if self._fields:  # makes the looks of fields that have a value alone
            raw.FORM_OnAfterLoadPage(page, self._fields)
            self._remove_buttons(page)
        raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY)
        if self._fields:
            raw.FORM_OnBeforeClosePage(page, self._fields)
        raw.FPDF_ClosePage(page)

    def close(self) -> None:
        """Close the copy; closing it again does nothing."""
        if self._fields:
            pdfium_raw().FPDFDOC_ExitFormFillEnvironment(self._fields)
        if self._document is not None:
            self._document.close()
        self._fields = None

    def _remove_buttons(self, page: Any) -> None:
        """Remove buttons to push, whose texts are for programs that show the form."""
        raw = pdfium_raw()
        for number in range(min(raw.FPDFPage_GetAnnotCount(page), MAX_NOTES) - 1, -1, -1):
            note = raw.FPDFPage_GetAnnot(page, number)
            kind = raw.FPDFAnnot_GetFormFieldType(self._fields, note)
            raw.FPDFPage_CloseAnnot(note)
            if kind == raw.FPDF_FORMFIELD_PUSHBUTTON:
                raw.FPDFPage_RemoveAnnot(page, number)
