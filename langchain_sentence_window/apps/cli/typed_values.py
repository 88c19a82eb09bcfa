"""Values and settings as people type them, and the settings that an index remembers."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from langchain_sentence_window._checked_settings import likely_name
from langchain_sentence_window._display import shown
from langchain_sentence_window.embedding.named_embedders import DEFAULT_EMBEDDING, embedding_name
from langchain_sentence_window.errors import FilterError, InvalidInputError
from langchain_sentence_window.retrieval.index_settings import IndexSettings, read_index_settings
from langchain_sentence_window.retrieval.settings import RELATED_NAMES, SETTINGS


def read_filter(text: str | None) -> dict[str, Any] | None:
    """Read a filter.

    Raises:
        FilterError: It isn't a JSON object, or binds nothing.
    """
    if text is None:
        return None
    found = _json(text)
    if not isinstance(found, dict):
        raise FilterError(
            f'--filter is {shown(text)}, which isn\'t a JSON object; write, e.g., --filter \'{{"source": "a.md"}}\''
        )
    if not found:
        raise FilterError("--filter is {}, which lets everything through; leave it out, or name what must match")
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
    """Return the settings of a call: those of ``--set``, and those that have an option and were given.

    Raises:
        InvalidInputError: There is no such setting, or its value can't be used.
    """
    found = check_settings(read_settings(more or []))
    if window is not None:
        named = {**named, "window": read_window(window)}
    given = {name: value for name, value in named.items() if value is not None}
    return found | check_settings(given, has_options=True)


def check_settings(
    settings: Mapping[str, Any], *, has_options: bool = False, is_remembered: bool = False
) -> dict[str, Any]:
    """Check settings by themselves, and return them.

    Args:
        settings: The settings by name.
        has_options: Whether they were given by the options of their own; ``--set`` gives all others.
        is_remembered: Whether they are for an index to remember, and not for a call.

    Raises:
        InvalidInputError: There is no such setting, or its value can't be used.
    """
    known = {name for name, row in SETTINGS.items() if row.typed and (row.is_of_call or is_remembered)}
    for name, value in settings.items():
        if name not in known:
            where = "the index can't remember" if is_remembered else "--set has no setting"
            likely = likely_name(name, frozenset(known), RELATED_NAMES)
            cure = "; give it with --filter." if name == "filter" else f"; did you mean {likely}?" if likely else "."
            raise InvalidInputError(f"{where} {shown(name)}{cure} All are {', '.join(sorted(known))}")
        row = SETTINGS[name]
        try:
            IndexSettings(retriever={name: value})
        except InvalidInputError as error:
            option = row.option if has_options else name if is_remembered else f"--set {name}"
            if isinstance(value, Mapping):  # the error names what is wrong in it, such as a signal
                raise InvalidInputError(f"{option}: {error}") from error
            raise InvalidInputError(f"{name} is {shown(value)}; {option} takes {row.typed}") from error
    return dict(settings)


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


_EMBEDDING, _SOURCES = "embedding", "sources"


def settings_text(remembered: IndexSettings) -> dict[str, str]:
    """Return what an index remembers, by name, for readers."""
    return {
        _EMBEDDING: remembered.embedding or f"not remembered, so {DEFAULT_EMBEDDING}",
        _SOURCES: ", ".join(remembered.sources) or "none",
        **{name: _written(value) for name, value in sorted(remembered.retriever.items())},
    }


def changed_settings(folder: Path, given: Iterable[str], forgotten: Iterable[str]) -> dict[str, Any]:
    """Return the fields of `IndexSettings` that change.

    Args:
        folder: The folder of the index.
        given: Settings such as ``k=20``.
        forgotten: Names of settings.

    Raises:
        InvalidInputError: A setting can't be remembered, or isn't remembered.
    """
    changed: dict[str, Any] = {}
    settings = dict(read_index_settings(folder).retriever)
    for name in forgotten:
        if name not in settings:
            raise InvalidInputError(f"the index remembers no setting {shown(name)}, so there is nothing to forget")
        del settings[name]
    for name, value in read_settings(given).items():
        if name == _EMBEDDING:
            changed[_EMBEDDING] = embedding_name(value)
        elif name == _SOURCES:
            raise InvalidInputError("sources are remembered by: sentence-window index PATHS")
        else:
            settings |= check_settings({name: value}, is_remembered=True)
    return {**changed, "retriever": settings}


def _written(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return "none" if value is None else str(value)
