"""The folder of the page's index, and the settings that it remembers."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from langchain_sentence_window.ranking.ranking import Ranking
from langchain_sentence_window.retrieval.index_settings import (
    REMEMBERED,
    IndexSettings,
    read_index_settings,
    write_index_settings,
)

RANKING_FILE = "ranking.json"
"""The file in the index's folder that holds a ranking which the page made."""

_RANKING = "ranking"


def can_remember(name: str) -> bool:
    """Return whether an index remembers a setting."""
    return name in REMEMBERED


def remembered_settings(folder: Path | None) -> IndexSettings:
    """Return what the index remembers; the defaults for one in memory.

    Raises:
        StoreError: The file is damaged.
    """
    return IndexSettings() if folder is None else read_index_settings(folder)


def remember(folder: Path, settings: Mapping[str, Any]) -> None:
    """Add settings to those that an index remembers.

    Args:
        folder: The index's folder.
        settings: Settings of the retriever by name, each one of those that `can_remember` allows. A `Ranking` is
            written into a file beside the index.

    Raises:
        InvalidInputError: A setting can't be stored.
        StoreError: The folder can't be written.
    """
    known = read_index_settings(folder)
    changed = dict(settings)
    ranking = changed.get(_RANKING)
    if isinstance(ranking, Ranking):
        changed[_RANKING] = RANKING_FILE
    new = replace(known, retriever={**known.retriever, **changed})  # checks the settings before anything is written
    if isinstance(ranking, Ranking):
        ranking.save(folder / RANKING_FILE)
    write_index_settings(folder, new)
