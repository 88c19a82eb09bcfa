"""Modules that are imported on use: those of public names, so that importing a package is quick, and optional ones."""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, names: Mapping[str, Sequence[str]], *, needs: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package.

    Args:
        package: Its ``__name__``.
        names: The public names of each module, seen from the package; with a dot before it, seen from the one above.
        needs: The extra that brings each optional package that its modules import.
    """
    homes = {name: module for module, of_module in names.items() for name in of_module}

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return getattr(import_module(f".{homes[name]}", package), name)
        except ModuleNotFoundError as error:
            if error.name is None or error.name not in (needs or {}):
                raise
            from .errors import MissingExtraError

            raise MissingExtraError(error.name, (needs or {})[error.name]) from error

    return get, lambda: sorted({*vars(sys.modules[package]), *homes})


def of_extra(module: str, package: str, extra: str) -> Any:
    """Import a module of an optional package.

    Args:
        module: Its full name.
        package: The name of the package that brings it, for the error.
        extra: The extra that installs the package.

    Raises:
        MissingExtraError: The package isn't installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        from .errors import MissingExtraError

        raise MissingExtraError(package, extra) from error
