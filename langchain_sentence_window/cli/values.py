"""Values as people type them."""

import json
from collections.abc import Iterable
from typing import Any

from langchain_sentence_window._showing import shown
from langchain_sentence_window.errors import FilterError, InvalidInputError


def read_filter(text: str | None) -> dict[str, Any] | None:
    """Read a filter.

    Raises:
        FilterError: It isn't a JSON object.
    """
    if text is None:
        return None
    found = _json(text)
    if not isinstance(found, dict):
        raise FilterError(
            f'--filter is {shown(text)}, which isn\'t a JSON object; write, e.g., --filter \'{{"source": "a.md"}}\''
        )
    return found


def read_window(text: str) -> Any:
    """Read a window: ``auto``, ``2``, ``1,6``, or a mapping as JSON."""
    return _pair(text) or read_value(text)


def read_value(text: str) -> Any:
    """Read a value of a setting: JSON, a pair of numbers such as ``1,6``, or the text itself."""
    if text.strip().lower() in ("none", "null"):
        return None
    if text.strip().lower() in ("true", "false"):
        return text.strip().lower() == "true"
    found = _json(text)
    return text.strip() if found is _UNREADABLE else found


def read_settings(given: Iterable[str]) -> dict[str, Any]:
    """Read settings such as ``order=document``.

    Raises:
        InvalidInputError: One has no name or no value.
    """
    found: dict[str, Any] = {}
    for each in given:
        name, is_given, value = each.partition("=")
        if not is_given or not name.strip():
            raise InvalidInputError(f"the setting is {shown(each)}; write NAME=VALUE, such as order=document")
        name = name.strip().replace("-", "_")
        found[name] = read_window(value) if name == "window" else read_value(value)
    return found


def call_settings(more: Iterable[str] | None, window: str | None, **named: Any) -> dict[str, Any]:
    """Return the settings of a call: those of ``--set``, and those that have an option and were given."""
    found = read_settings(more or []) | {name: value for name, value in named.items() if value is not None}
    return found if window is None else found | {"window": read_window(window)}


def read_numbers(name: str, text: str) -> list[int]:
    """Read whole numbers between commas.

    Raises:
        InvalidInputError: There is none, or one isn't a number.
    """
    try:
        return [int(each) for each in text.split(",")]
    except ValueError:
        raise InvalidInputError(f"{name} is {shown(text)}; give whole numbers, such as {name} 800,1600") from None


def _pair(text: str) -> tuple[int, int] | None:
    try:
        before, after = (int(each) for each in text.strip().strip("()[]").split(","))
    except ValueError:
        return None
    return before, after


_UNREADABLE = object()


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _UNREADABLE
