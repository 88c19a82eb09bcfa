"""lxml, imported on use."""

from functools import cache
from importlib import import_module
from typing import Any

from langchain_sentence_window.errors import MissingExtraError


@cache
def etree() -> Any:
    """Import lxml.etree.

    Raises:
        MissingExtraError: lxml isn't installed.
    """
    try:
        return import_module("lxml.etree")
    except ModuleNotFoundError as error:
        raise MissingExtraError("lxml", "files") from error
