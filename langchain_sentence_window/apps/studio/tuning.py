"""Tune settings: try them, write them as a program, and make them the index's default."""

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.routing import BaseRoute

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import ASYNC
from langchain_sentence_window.apps.folders.file_sync import index_folder
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.ranking import Ranking
from langchain_sentence_window.retrieval.index_settings import read_index_settings, write_index_settings
from langchain_sentence_window.retrieval.settings import REMEMBERED
from langchain_sentence_window.store.files import SETTINGS_FILE

from .page_state import Before, Changed, Studio, calling, changing, check_writable, reading
from .queries import NO_SETTINGS, Settings
from .replies import Refused
from .setting_form import FORM, RERANKER, as_json_value, default_of, described, to_ask

MAX_KEYS = 100
"""Keys of metadata that the page offers for a filter."""

MAX_VALUES = 12
"""Values of a key that the page offers."""

MAX_VALUE_CHARS = 80


async def describe_settings(studio: Studio) -> object:
    """Return what a form needs of the settings, whether they can become the default, and the version to undo that."""
    undo = None if studio.before is None or studio.is_read_only else studio.before.version
    return {**await ASYNC.in_thread(described, studio.retriever), "can_keep": not studio.is_read_only, "undo": undo}


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return [
        reading("/api/settings", describe_settings),
        reading("/api/filter-keys", filter_keys),
        calling("/api/program", as_python),
        calling("/api/settings/changes", list_changes),
        changing("/api/settings/default", make_default),
        changing("/api/settings/undo", undo_default),
    ]


async def filter_keys(studio: Studio) -> object:
    """Return the keys of the documents' metadata, each with some of its values, the most frequent keys first."""
    values: dict[str, dict[Any, None]] = defaultdict(dict)
    counts: dict[str, int] = defaultdict(int)
    for document in await studio.documents():
        for key, value in document.metadata.items():
            counts[key] += 1
            for each in value if isinstance(value, list) else [value]:
                is_shown = isinstance(each, str | int | float | bool) and len(str(each)) <= MAX_VALUE_CHARS
                if is_shown and len(values[key]) < MAX_VALUES:
                    values[key][each] = None
    keys = sorted(counts, key=lambda key: (-counts[key], key))[:MAX_KEYS]
    return {"keys": [{"name": key, "documents": counts[key], "values": list(values[key])} for key in keys]}


async def as_python(studio: Studio, query: str, settings: Settings = NO_SETTINGS) -> object:
    """Return the call in Python that asks the same of this index, and how its reranker is set, if that is another."""
    asked, call = await ASYNC.in_thread(to_ask, studio.retriever, settings)
    first = ""
    if asked.reranker is not studio.retriever.reranker:
        late = "LateInteractionReranker(model=retriever.vectorstore.embeddings)"
        first = f"retriever.reranker = {'None' if asked.reranker is None else late}\n"
    return {"program": first + call_of(query, call)}


async def list_changes(studio: Studio, settings: Settings = NO_SETTINGS) -> object:
    """Return what settings would change as the default, for a person to look at; nothing is changed.

    Returns:
        The ``file``, ``None`` for an index in memory; ``changes``, each with the ``name`` of a setting, its value
        ``before`` and ``after``; the names of those ``left_out``, as no index remembers them; the ``version`` to
        confirm.
    """
    check_writable(studio)
    kept = await ASYNC.in_thread(_checked, studio, settings)
    folder = index_folder(studio.retriever)
    changed = {name: value for name, value in kept.items() if _plain(value) != _plain(getattr(studio.retriever, name))}
    return {
        "file": None if folder is None else str(folder / SETTINGS_FILE),
        "changes": [
            {"name": name, "before": default_of(studio.retriever, name), "after": as_json_value(value)}
            for name, value in changed.items()
        ],
        "left_out": sorted(settings.keys() - kept.keys()),
        "version": await ASYNC.in_thread(_version, folder),
    }


async def make_default(studio: Studio, version: str, settings: Settings = NO_SETTINGS) -> Changed:
    """Write settings beside the index, if it has any, and return a page that uses them, and the version to undo it.

    Raises:
        Refused: The page is read-only, or what is remembered isn't what was confirmed.
        InvalidInputError: A setting can't be used.
    """
    check_writable(studio)
    kept = await ASYNC.in_thread(_checked, studio, settings)
    retriever, folder = studio.retriever.model_copy(update=kept), index_folder(studio.retriever)
    before = await ASYNC.in_thread(_before, studio, folder, version)
    if folder is not None:
        await ASYNC.in_thread(remember, folder, kept)
    kept_version = await ASYNC.in_thread(_version, folder)
    before = replace(before, version=kept_version)
    return replace(studio, retriever=retriever, before=before), {"version": kept_version}


async def undo_default(studio: Studio, version: str) -> Changed:
    """Bring back what the index remembered, and return the page that it was, and the names of its settings.

    Raises:
        Refused: The page is read-only, there is nothing to bring back, or the settings were changed since.
    """
    check_writable(studio)
    before, folder = studio.before, index_folder(studio.retriever)
    if before is None or before.version != version:
        raise Refused(409, "the default was changed again since, so nothing was brought back")
    await ASYNC.in_thread(_check_version, folder, version)
    if folder is not None and before.settings is not None:
        await ASYNC.in_thread(write_index_settings, folder, before.settings)
    return before.studio, {}


def _checked(studio: Studio, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some settings of a call that an index remembers, as a retriever has them."""
    unknown = sorted(settings.keys() - FORM.keys())
    if unknown:
        raise InvalidInputError(f"{shown(unknown[0])} isn't a setting of a call; leave it out")
    # The reranker and a filter aren't an index's to remember, see `REMEMBERED`.
    call = to_ask(studio.retriever, {name: value for name, value in settings.items() if name != RERANKER})[1]
    kept = {name: value for name, value in call.items() if name in REMEMBERED}
    copy = studio.retriever.model_copy(update=kept)  # checks them
    return {name: getattr(copy, name) for name in kept}


def _before(studio: Studio, folder: Path | None, version: str) -> Before:
    _check_version(folder, version)
    return Before(studio, None if folder is None else read_index_settings(folder))


def _check_version(folder: Path | None, version: str) -> None:
    if _version(folder) != version:
        raise Refused(
            409, f"another program changed {SETTINGS_FILE} meanwhile, so nothing was written; look at the values again"
        )


def _version(folder: Path | None) -> str:
    """Return a name for what an index remembers."""
    known = "" if folder is None else read_index_settings(folder).to_json()
    return hashlib.sha256(known.encode(errors="surrogateescape")).hexdigest()[:16]


def call_of(query: str, settings: Mapping[str, Any]) -> str:
    """Return the call of a retriever that asks the same; ``repr`` escapes whatever a text holds."""
    given = [repr(query), *(f"{name}={_literal(value)}" for name, value in settings.items())]
    return "\n".join(["windows = retriever.invoke(", *(f"    {each}," for each in given), ")\n"])


def _literal(value: object) -> str:
    return f"Ranking({dict(value.weights)!r})" if isinstance(value, Ranking) else repr(value)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple | list) else value


def remember(folder: Path, settings: Mapping[str, Any]) -> None:
    """Add settings to those that an index remembers.

    Args:
        folder: The index's folder.
        settings: Settings of the retriever by name, each one of `REMEMBERED`.

    Raises:
        InvalidInputError: A setting can't be stored.
        StoreError: The folder can't be written.
    """
    known = read_index_settings(folder)
    write_index_settings(folder, replace(known, retriever={**known.retriever, **settings}))
