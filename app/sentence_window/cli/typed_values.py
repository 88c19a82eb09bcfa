"""Values and settings as people type them, and the settings that an index remembers."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from langchain_sentence_window.documents import shown
from langchain_sentence_window.errors import FilterError, InvalidInputError
from langchain_sentence_window.stores import DEFAULT_EMBEDDING, IndexSettings, embedding_name, read_index_settings

_EMBEDDING, _SOURCES = "embedding", "sources"


def read_filter(text: str | None) -> dict[str, Any] | None:
    """Read a filter.

    Raises:
        FilterError: It isn't a JSON object, or is empty.
    """
    if text is None:
        return None
    read = _read_json(text)
    if not isinstance(read, dict):
        raise FilterError(
            f'--filter is {shown(text)}, which isn\'t a JSON object; write, e.g., --filter \'{{"source": "a.md"}}\''
        )
    if not read:
        raise FilterError("--filter is {}, which matches everything; leave it out, or name what must match")
    return read


def read_value(text: str) -> Any:
    """Read a value of a setting: JSON, ``none``, a pair such as ``1,6``, or the text itself."""
    text = text.strip()
    if text.lower() == "none":
        return None
    numbers = f"[{text.strip('()')}]" if "," in text else text
    for written in (text, text.lower(), numbers):
        read = _read_json(written)
        if isinstance(read, list) and all(isinstance(each, int) for each in read):
            return tuple(read)
        if read is not _INVALID:
            return read
    return text


def read_settings(typed: Iterable[str]) -> dict[str, Any]:
    """Read settings such as ``order=document``.

    Raises:
        InvalidInputError: One has no name or no value.
    """
    settings: dict[str, Any] = {}
    for each in typed:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise InvalidInputError(f"the setting is {shown(each)}; write NAME=VALUE, such as order=document")
        settings[name.strip().replace("-", "_")] = read_value(value)
    return settings


def call_settings(more: Iterable[str] | None, **options: Any) -> dict[str, Any]:
    """Return the settings of a call: those of ``--set``, and those of options that aren't ``None``."""
    settings = read_settings(more or [])
    for name, value in options.items():
        if value is not None:
            settings[name] = read_value(value) if isinstance(value, str) else value
    return settings


def read_numbers(name: str, text: str) -> list[int]:
    """Read whole numbers between commas.

    Raises:
        InvalidInputError: A part isn't a whole number.
    """
    try:
        return [int(each) for each in text.split(",")]
    except ValueError:
        raise InvalidInputError(f"{name} is {shown(text)}; give whole numbers, such as {name} 800,1600") from None


def read_range(text: str) -> range:
    """Read the numbers of sentences, such as ``12-15``, or ``12–15`` as windows show them.

    Raises:
        InvalidInputError: They can't be read.
    """
    first, _, last = text.replace("–", "-").partition("-")
    try:
        numbers = range(int(first), int(last or first) + 1)
    except ValueError:
        numbers = range(0)
    if not numbers:
        raise InvalidInputError(f"the sentences are {shown(text)}; give their numbers, such as 12-15")
    return numbers


_INVALID = object()


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _INVALID


def remembered_facts(remembered: IndexSettings) -> dict[str, str]:
    """Return what an index remembers, by name, for people to read."""
    return {
        _EMBEDDING: remembered.embedding or f"not remembered, so {DEFAULT_EMBEDDING}",
        _SOURCES: ", ".join(remembered.sources) or "none",
        **{name: _value_text(value) for name, value in sorted(remembered.retriever.items())},
    }


def _value_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return "none" if value is None else str(value)


def changed_settings(folder: Path, typed: Iterable[str], forgotten: Iterable[str]) -> dict[str, Any]:
    """Return the fields of `IndexSettings` that change.

    Args:
        folder: The folder of the index.
        typed: Settings such as ``k=20``.
        forgotten: Names of settings.

    Raises:
        InvalidInputError: A setting to forget isn't remembered, or ``sources`` are given.
    """
    changed: dict[str, Any] = {}
    settings = dict(read_index_settings(folder).retriever)
    for name in forgotten:
        if name not in settings:
            raise InvalidInputError(f"the index remembers no setting {shown(name)}, so there is nothing to forget")
        del settings[name]
    for name, value in read_settings(typed).items():
        if name == _EMBEDDING:
            changed[_EMBEDDING] = embedding_name(value)
        elif name == _SOURCES:
            raise InvalidInputError("sources are remembered by: sentence-window index PATHS")
        else:
            settings[name] = value
    return {**changed, "retriever": settings}
