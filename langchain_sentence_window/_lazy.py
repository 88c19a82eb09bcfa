"""Imports on first use: of public names, so that importing the package is quick, and of optional packages."""

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
        names: The public names of each module, by the module's name relative to the package.
        needs: The extra that installs each optional package that the modules import. Without the package, the name
            is a class that raises when it is called.
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
            return _stand_in(name, error.name, (needs or {})[error.name])

    return get, lambda: sorted({*vars(sys.modules[package]), *homes})


def _stand_in(name: str, package: str, extra: str) -> type:
    """Return a class that raises `MissingExtraError` when it is called: ``import *`` works without the extra, too."""

    def fail(*_arguments: object, **_settings: object) -> None:
        from .errors import MissingExtraError

        raise MissingExtraError(package, extra)

    return type(name, (), {"__new__": fail})


def of_extra(module: str, package: str, extra: str) -> Any:
    """Import a module of an optional package.

    Args:
        module: Its full name.
        package: The distribution that contains it, for the error.
        extra: The extra that installs the package.

    Raises:
        MissingExtraError: The package isn't installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        from .errors import MissingExtraError

        raise MissingExtraError(package, extra) from error
