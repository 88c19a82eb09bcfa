"""Public names of a package that are imported on use, so that importing the package is quick."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str], *, needs: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package.

    Args:
        package: Its ``__name__``.
        homes: The module of each public name, seen from the package; with a dot before it, seen from the one above.
        needs: The extra that brings each optional package that its modules import.
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return getattr(import_module(f".{homes[name]}", package), name)
        except ModuleNotFoundError as error:
            if error.name is None or error.name not in (needs or {}):
                raise
            from langchain_sentence_window.errors import MissingExtraError

            raise MissingExtraError(error.name, (needs or {})[error.name]) from error

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return get, names
