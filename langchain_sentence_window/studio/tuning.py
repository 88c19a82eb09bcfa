"""Tune the settings of a call: describe them, try them, write them as a program, and make them the index's default."""

import time
from collections import defaultdict
from dataclasses import replace
from typing import Any

from pydantic import Field
from starlette.routing import BaseRoute

from langchain_sentence_window._io import ASYNC
from langchain_sentence_window._showing import shown
from langchain_sentence_window.documents.lead_ins import shown_text
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.folders.syncing import index_folder
from langchain_sentence_window.studio.asking import Asking
from langchain_sentence_window.studio.call_settings import RERANKER, to_ask
from langchain_sentence_window.studio.cards import card
from langchain_sentence_window.studio.index_folder import can_remember, remember
from langchain_sentence_window.studio.program import program
from langchain_sentence_window.studio.replies import (
    Arguments,
    Changed,
    Refused,
    calling,
    changing,
    check_writable,
    reading,
)
from langchain_sentence_window.studio.setting_fields import FIELDS, described
from langchain_sentence_window.studio.state import Studio

MAX_KEYS = 100
"""Keys of metadata that the page offers for a filter."""

MAX_VALUES = 12
"""Values of a key that the page offers."""

MAX_VALUE_CHARS = 80


class Defaults(Arguments):
    """Settings that the index shall remember."""

    settings: dict[str, Any] = Field(default_factory=dict)


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return [
        reading("/api/settings", Arguments, settings),
        reading("/api/filter-keys", Arguments, filter_keys),
        calling("/api/try", Asking, try_settings),
        calling("/api/program", Asking, as_program),
        changing("/api/settings/default", Defaults, make_default),
    ]


async def settings(studio: Studio, _: Arguments) -> object:
    """Return what a form needs of the settings, and whether they can become the index's default."""
    can_keep = not studio.is_read_only and index_folder(studio.retriever) is not None
    return {**await ASYNC.in_thread(described, studio.retriever), "can_keep": can_keep}


async def filter_keys(studio: Studio, _: Arguments) -> object:
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


async def try_settings(studio: Studio, given: Asking) -> object:
    """Return the windows of a question as cards with their tokens, and the seconds that the retriever took."""
    retriever, call = await ASYNC.in_thread(to_ask, studio.retriever, given.settings)
    began = time.perf_counter()
    windows = await retriever.ainvoke(given.query, **call)
    seconds = time.perf_counter() - began
    tokens = await ASYNC.in_thread(lambda: [retriever.count_tokens(shown_text(window)) for window in windows])
    cards = [
        {**card(window, rank), "tokens": count}
        for rank, (window, count) in enumerate(zip(windows, tokens, strict=True), 1)
    ]
    return {"windows": cards, "seconds": seconds, "tokens": sum(tokens)}


async def as_program(studio: Studio, given: Asking) -> object:
    """Return a program in Python that asks the same."""
    return {"program": await ASYNC.in_thread(program, studio.retriever, given.query, given.settings)}


async def make_default(studio: Studio, given: Defaults) -> Changed:
    """Write settings beside the index, and return a page that uses them, and what was kept and what wasn't.

    Raises:
        Refused: The page is read-only, or the index isn't on disk.
        InvalidInputError: A setting can't be used.
    """
    check_writable(studio)
    folder = index_folder(studio.retriever)
    if folder is None:
        raise Refused(409, "this index is in memory, so it can't remember settings; set them where it is made")
    unknown = sorted(given.settings.keys() - {field.name for field in FIELDS})
    if unknown:
        raise InvalidInputError(f"{shown(unknown[0])} isn't a setting of a call; leave it out")
    # The reranker and a filter aren't an index's to remember, see `REMEMBERED`.
    call = to_ask(studio.retriever, {name: value for name, value in given.settings.items() if name != RERANKER})[1]
    kept = {name: value for name, value in call.items() if can_remember(name)}
    retriever = studio.retriever.model_copy(update=kept)  # checks them
    await ASYNC.in_thread(remember, folder, kept)
    left_out = sorted(given.settings.keys() - kept.keys())
    return replace(studio, retriever=retriever), {"kept": sorted(kept), "left_out": left_out}
