"""What a page draws besides its text: ruling lines, and pictures.

Ruling lines are straight strokes and thin bars that run across or down the page. A line may be a stroke, a thin filled
rectangle, a side of a stroked rectangle, or a part of a path with many of them, inside forms or not. A page that draws
a great deal shows a map or a chart, whose lines aren't read.
"""

import ctypes
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from langchain_sentence_window.loaders.pdf.frames import Boxes, PageFrame
from langchain_sentence_window.loaders.pdf.pdfium import pdfium_raw

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

_MAX_DEPTH = 8
_Matrix: TypeAlias = tuple[float, float, float, float, float, float]
_Point: TypeAlias = tuple[float, float]
_IDENTITY: _Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


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
    found: list[tuple[float, float, float, float]] = []
    try:
        for path, matrix in _paths(raw, page):
            found += _rules_of(raw, path, matrix)
            if len(found) > MAX_PATHS:
                return np.zeros((0, 4))
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


class _TooManyError(Exception):
    """The page draws more than is read."""


def _paths(raw: Any, page: Any) -> Iterator[tuple[Any, _Matrix]]:
    """Yield the paths of a page and its forms, each with the matrix of its form."""
    paths = 0
    for each, kind, matrix in _objects(raw, page):
        if kind == raw.FPDF_PAGEOBJ_PATH:
            paths += 1
            if paths > MAX_PATHS:
                raise _TooManyError
            yield each, matrix


def _objects(raw: Any, page: Any) -> Iterator[tuple[Any, int, _Matrix]]:
    """Yield what a page and its forms draw, each with its kind and the matrix of its form."""
    seen = 0
    todo: list[tuple[Any, Callable[[Any, int], Any], int, _Matrix, int]] = [
        (page, raw.FPDFPage_GetObject, raw.FPDFPage_CountObjects(page), _IDENTITY, 0)
    ]
    while todo:
        holder, get, count, matrix, depth = todo.pop()
        seen += max(0, count)
        if seen > MAX_OBJECTS:
            raise _TooManyError
        for index in range(count):
            each = get(holder, index)
            kind = raw.FPDFPageObj_GetType(each)
            yield each, kind, matrix
            if kind == raw.FPDF_PAGEOBJ_FORM and depth < _MAX_DEPTH:
                inner = _product(_matrix_of(raw, each), matrix)
                todo.append((each, raw.FPDFFormObj_GetObject, raw.FPDFFormObj_CountObjects(each), inner, depth + 1))


def _rules_of(raw: Any, path: Any, matrix: _Matrix) -> Iterator[tuple[float, float, float, float]]:
    """Yield boxes of a path that may be rules, in the PDF's points."""
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    raw.FPDFPath_GetDrawMode(path, fill, stroke)
    if not fill.value and not stroke.value:
        return
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    if not raw.FPDFPageObj_GetBounds(path, left, bottom, right, top):
        return
    around = _box([_moved((left.value, bottom.value), matrix), _moved((right.value, top.value), matrix)])
    if _is_thin(around):
        yield around
        return
    inner = _product(_matrix_of(raw, path), matrix)
    for points in _straight_pieces(raw, path):
        corners = [_moved(point, inner) for point in points]
        if stroke.value:
            yield from (side for side in (_box(pair) for pair in pairwise(corners)) if _is_thin(side))
        elif _is_thin(bar := _box(corners)):
            yield bar


def _straight_pieces(raw: Any, path: Any) -> Iterator[list[_Point]]:
    """Yield the corners of each piece of a path that has no curves, in the path's own coordinates."""
    count = raw.FPDFPath_CountSegments(path)
    if count > MAX_PATHS:
        raise _TooManyError
    x, y = ctypes.c_float(), ctypes.c_float()
    points: list[_Point] = []
    is_straight = True
    for index in range(count):
        segment = raw.FPDFPath_GetPathSegment(path, index)
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            if is_straight and len(points) > 1:
                yield points
            points, is_straight = [], True
        is_straight = is_straight and kind in (raw.FPDF_SEGMENT_MOVETO, raw.FPDF_SEGMENT_LINETO)
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        points.append((x.value, y.value))
        if raw.FPDFPathSegment_GetClose(segment):
            points.append(points[0])
    if is_straight and len(points) > 1:
        yield points


def _matrix_of(raw: Any, each: Any) -> _Matrix:
    matrix = raw.FS_MATRIX()
    if not raw.FPDFPageObj_GetMatrix(each, matrix):
        return _IDENTITY
    return matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f


def _product(first: _Matrix, then: _Matrix) -> _Matrix:
    """Return the matrix that does one, then the other."""
    a, b, c, d, e, f = first
    moved = _moved((e, f), then)
    return (
        a * then[0] + b * then[2],
        a * then[1] + b * then[3],
        c * then[0] + d * then[2],
        c * then[1] + d * then[3],
        *moved,
    )


def _moved(point: _Point, matrix: _Matrix) -> _Point:
    x, y = point
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


def _box(points: list[_Point] | tuple[_Point, _Point]) -> tuple[float, float, float, float]:
    xs, ys = zip(*points, strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def _is_thin(box: tuple[float, float, float, float]) -> bool:
    return min(box[2] - box[0], box[3] - box[1]) <= MAX_THICKNESS
