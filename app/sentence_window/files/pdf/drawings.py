"""What a page draws besides text: ruling lines, pictures, and painted areas.

Ruling lines are straight strokes and thin bars across or down the page: a stroke, a thin filled rectangle, a side of a
stroked rectangle, or a part of a path with many of them, inside form objects or not. A page that draws very much shows
a map or a chart, whose lines aren't read.
"""

import ctypes
from collections.abc import Callable, Iterator
from itertools import pairwise, repeat
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .pdfium import Boxes, Mask, PageFrame, address_of, pdfium, pdfium_raw, quick_calls

MAX_PATHS = 10_000
"""Paths, and straight pieces of paths, on a page whose rules are read."""

MAX_OBJECTS = 100_000
"""Objects on a page whose rules are read."""

MAX_THICKNESS = 3.0
"""Points of the thickest rule; a thicker bar is a box."""

MIN_LENGTH = 4.0
"""Points of the shortest rule; a shorter one is a dot."""

MIN_SHAPES = 100
"""Paths on a page without text that may be letters drawn as curves."""

WHITE = 250
"""From 0 to 255; a color looks white if red, green and blue are at least this."""

_MAX_DEPTH = 8
_Matrix: TypeAlias = Any  # pypdfium2's `PdfMatrix`
_Point: TypeAlias = tuple[float, float]


def read_rules(page: Any, frame: PageFrame) -> Boxes:
    """Read the ruling lines of a page.

    Hold `PDFIUM_LOCK` during the call.

    Args:
        page: The handle of the page, from PDFium.
        frame: The frame of the page.

    Returns:
        ``(n, 4)``, thin boxes in points of the displayed page; none if the page draws too much.
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
    """Return whether a page may show a picture of text: an image, or very many shapes.

    Hold `PDFIUM_LOCK` during the call.

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
    """Read where a page shows pictures, and where it is painted in colors other than white.

    Hold `PDFIUM_LOCK` during the call.

    Args:
        page: The handle of the page, from PDFium.
        frame: The frame of the page.

    Returns:
        Boxes ``(n, 4)`` of the displayed page around images, and around shapes; the whole page if it draws too much.
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
    """Return which boxes of the displayed page show any color other than white.

    Hold `PDFIUM_LOCK` during the call.

    Args:
        page: The handle of the page, from PDFium.
        frame: The frame of the page.
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
    """Yield the bounding box of an object in the PDF's points, if it has one."""
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    if raw.FPDFPageObj_GetBounds(each, left, bottom, right, top):
        corners = [(x.value, y.value) for x in (left, right) for y in (bottom, top)]
        yield _box([matrix.on_point(*corner) for corner in corners])


def _is_colored(raw: Any, path: Any) -> bool:
    """Return whether a path is filled or thickly stroked with a pattern, or a color other than white."""
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
    """The page draws too much."""


def _objects(raw: Any, page: Any) -> Iterator[tuple[Any, int, _Matrix]]:
    """Yield the objects of a page and its form objects except for text, with their kinds and their form's matrix."""
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
    """Yield boxes in a path that may be rules, in the PDF's points."""
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    raw.FPDFPath_GetDrawMode(path, fill, stroke)
    if not fill.value and not stroke.value:
        return
    around = next(_bounds(raw, path, matrix), None)
    if around is None:
        return
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
    """Yield the corners of each subpath without curves, in the coordinates of the path."""
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
