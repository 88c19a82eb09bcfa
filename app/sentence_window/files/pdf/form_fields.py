"""Texts of form fields and annotations, and the names of files attached to a page."""

import ctypes
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from .pdfium import pdfium, pdfium_raw

MAX_NOTES = 10_000
"""Annotations of a page that are read."""

_MAX_NAME_BYTES = 4096
_MAX_LOST = 0.02


def read_notes(page: Any) -> tuple[bool, list[str]]:
    """Read the annotations of a page.

    Hold `PDFIUM_LOCK` during the call.

    Args:
        page: The handle of the page, from PDFium.

    Returns:
        Whether there are form fields or text boxes; and the names of attached files.
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
    """Return how often each code unit except for white space appears on a page."""
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
    """A second copy of an open PDF, in which form fields and text boxes are made part of the pages.

    Hold `PDFIUM_LOCK` during all calls.
    """

    def __init__(self, open_again: Callable[[], Any]) -> None:
        """Prepare a copy, which is opened on first use.

        Args:
            open_again: Opens the document of pypdfium2.
        """
        self._open_again = open_again
        self._document: Any = None
        self._fields: Any = None
        self._config: Any = None
        self._filled: set[int] = set()
        self.unread: set[int] = set()
        """The pages whose own text would be lost, so that their fields aren't read."""

    def load_page(self, number: int, page: Any) -> Any:
        """Return the handle of a page with its fields, to be closed after use; none if they can't be read.

        Args:
            number: The page's number, from 0.
            page: The handle of the original page.
        """
        raw = pdfium_raw()
        if self._document is None:
            try:
                self._document = self._open_again()
            except pdfium().PdfiumError:  # the file is gone
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
        if self._fields:  # draws fields that only have a value
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
        """Remove push buttons, whose labels aren't text of the document."""
        raw = pdfium_raw()
        for number in range(min(raw.FPDFPage_GetAnnotCount(page), MAX_NOTES) - 1, -1, -1):
            note = raw.FPDFPage_GetAnnot(page, number)
            kind = raw.FPDFAnnot_GetFormFieldType(self._fields, note)
            raw.FPDFPage_CloseAnnot(note)
            if kind == raw.FPDF_FORMFIELD_PUSHBUTTON:
                raw.FPDFPage_RemoveAnnot(page, number)
