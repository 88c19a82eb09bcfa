"""PDFium, imported on use, for one thread at a time."""

import threading
from functools import cache
from importlib import import_module
from typing import Any

from langchain_sentence_window.errors import MissingExtraError

PDFIUM_LOCK = threading.RLock()
"""Held around all calls of PDFium, which isn't safe for threads, not even for two files."""


@cache
def pdfium() -> Any:
    """Import pypdfium2.

    Raises:
        MissingExtraError: It isn't installed.
    """
    try:
        return import_module("pypdfium2")
    except ModuleNotFoundError as error:
        raise MissingExtraError("pypdfium2", "pdf") from error


@cache
def pdfium_raw() -> Any:
    """Import PDFium's own functions.

    Raises:
        MissingExtraError: pypdfium2 isn't installed.
    """
    pdfium()
    return import_module("pypdfium2.raw")
