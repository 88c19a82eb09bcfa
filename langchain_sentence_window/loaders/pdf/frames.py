"""From a PDF's coordinates to the page as it is shown, and back.

A PDF counts points from the lower left, before the page is turned and cropped. Here a place counts points from the
upper left of the page as a viewer shows it, x to the right and y down.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from langchain_sentence_window.loaders.pdf.pdfium import pdfium_raw

MAX_POINTS = 1e6
"""Points; places of damaged files that are farther away are moved there."""

Boxes: TypeAlias = npt.NDArray[np.float64]
"""Rectangles ``(n, 4)``; as they are shown ``[x0, y0, x1, y1]``, in a PDF ``[left, bottom, right, top]``."""


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
        left, bottom, right, top = _columns(boxes)
        from_left, from_right = (left - self.left, right - self.left), (self.right - right, self.right - left)
        from_bottom, from_top = (bottom - self.bottom, top - self.bottom), (self.top - top, self.top - bottom)
        (x0, x1), (y0, y1) = (
            (from_left, from_top),
            (from_bottom, from_left),
            (from_right, from_bottom),
            (from_top, from_right),
        )[self.turns % 4]
        return np.stack([x0, y0, x1, y1], axis=1)

    def unshow(self, boxes: npt.ArrayLike) -> Boxes:
        """Return the PDF's boxes for boxes as they are shown: the inverse of `show`.

        Args:
            boxes: ``(n, 4)``, each ``[x0, y0, x1, y1]`` in points from the upper left of the page as it is shown.
        """
        x0, y0, x1, y1 = _columns(boxes)
        sides: tuple[Callable[[], tuple[Boxes, ...]], ...] = (
            lambda: (self.left + x0, self.top - y1, self.left + x1, self.top - y0),
            lambda: (self.left + y0, self.bottom + x0, self.left + y1, self.bottom + x1),
            lambda: (self.right - x1, self.bottom + y0, self.right - x0, self.bottom + y1),
            lambda: (self.right - y1, self.top - x1, self.right - y0, self.top - x0),
        )
        return np.stack(sides[self.turns % 4](), axis=1)


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


def _columns(boxes: npt.ArrayLike) -> Boxes:
    return np.asarray(boxes, np.float64).reshape(-1, 4).T
