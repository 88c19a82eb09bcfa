"""The settings that an index remembers, as commands show and change them."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from langchain_sentence_window._showing import shown
from langchain_sentence_window.cli.values import check_settings, read_settings
from langchain_sentence_window.embedding.named import DEFAULT_EMBEDDING, embedding_name
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.retrieval.index_settings import IndexSettings, read_index_settings

RANKING_FILE = "ranking.json"
"""The file beside an index that holds its fitted ranking."""

_EMBEDDING, _SOURCES, _RANKING = "embedding", "sources", "ranking"


def shown_settings(remembered: IndexSettings) -> dict[str, str]:
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
        InvalidInputError: A setting can't be remembered or isn't remembered, or a ranking can't be read.
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
            if name == _RANKING and value is not None:
                settings[name] = _from_folder(folder, value)
    return {**changed, "retriever": settings}


def _from_folder(folder: Path, given: str) -> str:
    """Return a path, seen from the index's folder if it lies inside."""
    path, base = (Path(os.path.abspath(each)) for each in (given, folder))  # noqa: PTH100 - without ".." in them
    return str(path.relative_to(base) if path.is_relative_to(base) else path)


def _written(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return "none" if value is None else str(value)
