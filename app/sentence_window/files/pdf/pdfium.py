"""PDFium, imported on first use and locked for one thread at a time; and the frame of a page.

A PDF counts points from the lower left, before the page is rotated and cropped. Here, positions are in points from the
upper left of the page as a viewer displays it, x to the right and y down.
"""

import ctypes
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

PDFIUM_LOCK = threading.RLock()
"""Held during all calls of PDFium, which isn't thread-safe, not even for two files."""


@cache
def pdfium() -> Any:
    """Import pypdfium2, which loads PDFium."""
    return import_module("pypdfium2")


@cache
def pdfium_raw() -> Any:
    """Import PDFium's functions."""
    return import_module("pypdfium2.raw")


@cache
def quick_calls() -> SimpleNamespace:
    """Return PDFium's frequently called functions with plain integers as handles, which avoids conversions.

    They are so short that they don't release the GIL.
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
"""Points; positions farther away, in damaged files, are moved here."""

Indexes = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]
Boxes: TypeAlias = npt.NDArray[np.float64]
"""Rectangles ``(n, 4)``: ``[x0, y0, x1, y1]`` as displayed, ``[left, bottom, right, top]`` in a PDF."""


_Number = TypeVar("_Number", np.float32, np.float64)


@dataclass(frozen=True, slots=True)
class PageFrame:
    """The displayed part of a page, and its rotation.

    Attributes:
        left: The left side of the displayed part, in the PDF's points.
        bottom: The lower side.
        right: The right side.
        top: The upper side.
        turns: The rotation in clockwise quarter turns, from 0 to 3.
    """

    left: float
    bottom: float
    right: float
    top: float
    turns: int = 0

    @property
    def width(self) -> float:
        """The width of the displayed page, in points."""
        return self.top - self.bottom if self.turns % 2 else self.right - self.left

    @property
    def height(self) -> float:
        """The height of the displayed page, in points."""
        return self.right - self.left if self.turns % 2 else self.top - self.bottom

    def show(self, boxes: npt.ArrayLike) -> Boxes:
        """Convert boxes of the PDF to displayed boxes.

        Args:
            boxes: ``(n, 4)``, each ``[left, bottom, right, top]`` in the PDF's points.

        Returns:
            ``(n, 4)``, each ``[x0, y0, x1, y1]`` in points from the upper left of the displayed page.
        """
        left, bottom, right, top = np.asarray(boxes, np.float64).reshape(-1, 4).T
        upright = np.stack([left - self.left, self.top - top, right - self.left, self.top - bottom], axis=1)
        return turned_back(upright, self.right - self.left, self.top - self.bottom, -self.turns)

    def unshow(self, boxes: npt.ArrayLike) -> Boxes:
        """Convert displayed boxes to boxes of the PDF: the inverse of `show`.

        Args:
            boxes: ``(n, 4)``, each ``[x0, y0, x1, y1]`` in points from the upper left of the displayed page.
        """
        shown = np.asarray(boxes, np.float64).reshape(-1, 4)
        x0, y0, x1, y1 = turned_back(shown, self.width, self.height, self.turns).T
        return np.stack([self.left + x0, self.top - y1, self.left + x1, self.top - y0], axis=1)


def turned_back(boxes: npt.NDArray[_Number], width: float, height: float, turns: int) -> npt.NDArray[_Number]:
    """Rotate boxes with their page, counterclockwise.

    Args:
        boxes: ``(n, 4)``, each ``[x0, y0, x1, y1]`` in points from the upper left.
        width: The width of the page before the rotation.
        height: The height of the page before the rotation.
        turns: Counterclockwise quarter turns.
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

    Hold `PDFIUM_LOCK` during the call.

    Args:
        page: The handle of the page, from PDFium.
    """
    raw = pdfium_raw()
    box = raw.FS_RECTF()
    raw.FPDF_GetPageBoundingBox(page, box)
    sides = np.clip(np.nan_to_num([box.left, box.bottom, box.right, box.top]), -MAX_POINTS, MAX_POINTS).tolist()
    (left, right), (bottom, top) = sorted(sides[::2]), sorted(sides[1::2])
    return PageFrame(left, bottom, right, top, raw.FPDFPage_GetRotation(page) % 4)
