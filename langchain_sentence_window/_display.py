"""Values as text for messages, short and without secrets, and text tables."""

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

UPGRADE = "pip install --upgrade langchain-sentence-window"
"""The command to install a version that can read a newer format."""

MAX_CHARS = 80
"""Characters of a string that a message shows."""

MAX_ELEMENTS = 4
"""Elements of a list that a message shows."""

MAX_DEPTH = 2
"""Levels of nested lists that a message shows."""

_MAX_INT = 10**30
_SECRET = re.compile(
    r"(?<![\w-])(?:(?:sk|pk|rk|hf|gsk|xai|ghp|lsv2|pcsk|pa|voyage)[-_](?=\S*\d)[\w-]{16,}"
    r"|AIza[\w-]{20,}|Bearer \S{12,})",
    re.ASCII,
)


def shown(value: object, depth: int = MAX_DEPTH) -> str:
    """Write a value for a message.

    Args:
        value: The value.
        depth: The levels of nested lists to show.

    Returns:
        Numbers and short strings as Python writes them, long strings truncated. The first elements of a list, the
        first keys of a dict. For anything else only its type, as its ``repr`` may be long or secret; strings that look
        like API keys are hidden, too.
    """
    if value is None or isinstance(value, int | float):
        is_vast = isinstance(value, int) and abs(value) > _MAX_INT
        return "an int of more than 30 digits" if is_vast else repr(value)
    if isinstance(value, str | bytes):
        return _show_string(value)
    if isinstance(value, dict):
        keys = [f"{shown(key, 0)}: …" for key in islice(value, MAX_ELEMENTS)]
        return f"{{{_join_with_rest(keys, len(value))}}}"
    if isinstance(value, list | tuple):
        return _show_elements(value, depth)
    if isinstance(value, type):
        return f"the class {value.__name__}"
    # A wrapper of a user's function is shown as that function.
    name = type(getattr(value, "__wrapped__", value)).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def described(value: object) -> str:
    """Write a value for the ``repr`` of an object that holds it.

    Returns:
        The ``repr`` of objects of this package, the name of functions and classes, plain values as `shown` writes
        them. For anything else only its class, as an embedder or a store may hold a key.
    """
    if value is None or isinstance(value, int | float | str | bytes | list | tuple | dict):
        return shown(value)
    if isinstance(value, type) or inspect.isroutine(value):
        return value.__name__
    package = __name__.partition(".")[0]
    is_ours = any(kind.__module__.partition(".")[0] == package for kind in type(value).__mro__)
    if is_ours and type(value).__repr__ is not object.__repr__:
        return repr(value)
    return type(value).__name__


def as_call(name: str, settings: Mapping[str, object], defaults: Mapping[str, object]) -> str:
    """Write the call that makes an object, with the settings that aren't the default."""
    usual = {key: described(value) for key, value in defaults.items()}
    written = {key: described(value) for key, value in settings.items()}
    return f"{name}({', '.join(f'{key}={value}' for key, value in written.items() if value != usual.get(key))})"


def summary_repr(name: str, folder: Path | None, parts: Iterable[str]) -> str:
    """Write the ``repr`` of an index in a folder, or in memory if there is no folder, with its properties."""
    where = "in memory" if folder is None else f"at {str(folder)!r}"
    return f"<{name} {where}: {', '.join(parts)}>".replace(": >", ">")


def _show_string(value: str | bytes) -> str:
    text = value if isinstance(value, str) else value[: MAX_CHARS + 1].decode("latin-1")
    if _SECRET.search(text[: 10 * MAX_CHARS]):
        return "a string that looks like a key"
    rest = f"… ({len(value):,} {'characters' if isinstance(value, str) else 'bytes'})"
    return repr(value[:MAX_CHARS]) + (rest if len(value) > MAX_CHARS else "")


def _show_elements(value: list[object] | tuple[object, ...], depth: int) -> str:
    if not depth:
        return f"a {type(value).__name__} of {len(value):,}"
    inner = _join_with_rest([shown(each, depth - 1) for each in value[:MAX_ELEMENTS]], len(value))
    if isinstance(value, list):
        return f"[{inner}]"
    return f"({inner},)" if len(value) == 1 else f"({inner})"


def _join_with_rest(parts: list[str], count: int) -> str:
    """Join the parts of a value of ``count`` elements, and count those that are left out."""
    more = [f"… {count - len(parts):,} more"] if count > len(parts) else []
    return ", ".join(parts + more)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table whose first column is aligned left, and the others right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]


def named(settings: Mapping[str, Any]) -> str:
    """Return settings with their names, on a line."""
    return ", ".join(f"{name}={value!r}" for name, value in settings.items())


def milliseconds(seconds: Mapping[str, float]) -> str:
    """Return the time of each stage in milliseconds, on a line."""
    return ", ".join(f"{stage} {1000 * time:.1f} ms" for stage, time in seconds.items())


def ranked(rank: int | None, score: float | None, digits: int) -> str:
    """Return a rank with its score; a dash if either is missing."""
    return "-" if rank is None or score is None else f"{rank} ({score:.{digits}f})"
