"""The settings of a call: as a form shows them, as the page sends them, and as the default of an index."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias

from pydantic import Field
from starlette.routing import BaseRoute

from langchain_sentence_window import Ranking, SentenceWindowRetriever
from langchain_sentence_window.documents import shown
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.stores import read_index_settings, write_index_settings
from sentence_window.studio.page_state import Studio, calling, check_writable, index_folder, reading

Settings: TypeAlias = dict[str, Any]
"""The settings of a call by name."""

NO_SETTINGS: Any = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FormField:
    """A setting in the form.

    Attributes:
        name: Its name.
        label: What the form calls it.
        help: What it does.
        kind: How it is written: ``json`` for a value as JSON, with ``null`` for none.
        min: The least number.
        max: The greatest number that a page can ask for; ``None`` for any.
        choices: The values of a ``choice``.
        is_advanced: Whether the form shows it only on demand.
    """

    name: str
    label: str
    help: str
    kind: Literal["count", "number", "choice", "window", "json"]
    min: int | None = None
    max: int | None = None
    choices: tuple[str | None, ...] = ()
    is_advanced: bool = True


FORM = (
    FormField("k", "Windows", "The most windows to return.", "count", 1, 500, is_advanced=False),
    FormField(
        "fetch_k",
        "Sentences searched",
        "The number of sentences in the first search. If they make too few windows, more are searched.",
        "count",
        1,
        10_000,
        is_advanced=False,
    ),
    FormField(
        "window",
        "Window",
        "How far each hit is expanded: forward as far as it needs (auto), or by a number of sentences.",
        "window",
        0,
        1_000,
        is_advanced=False,
    ),
    FormField(
        "max_tokens",
        "Token budget",
        "The most tokens of all windows together. Neighbors are cut first, then weaker hits.",
        "count",
        1,
        1_000_000,
        is_advanced=False,
    ),
    FormField(
        "lexical_weight",
        "Weight of words",
        "How much words count compared with meaning. 0 ignores words.",
        "number",
        0,
        is_advanced=False,
    ),
    FormField(
        "order",
        "Order",
        "Best first (relevance), as in the source (document), or best first and last (edges).",
        "choice",
        choices=("relevance", "document", "edges"),
    ),
    FormField(
        "min_relevance",
        "Relevance",
        "auto leaves out windows that hardly fit the question.",
        "choice",
        choices=(None, "auto"),
    ),
    FormField("min_score", "Lowest similarity", "The lowest similarity at which a sentence counts as a hit.", "number"),
    FormField(
        "names",
        "Names",
        'Whether documents that the question names are preferred, or metadata keys with more names: ["customer"].',
        "json",
    ),
    FormField("ranking", "Ranking", "The weights of signals that reorder the sentences; null for none.", "json"),
    FormField(
        "filter",
        "Filter",
        'Only documents with such metadata: {"year": {"$gte": 2025}}. It narrows the page\'s own filter.',
        "json",
    ),
)
"""The settings of a call that the page can set, in the order of the form."""

_NOT_KEPT = "filter"
"""The setting that no index remembers: it may say what others must not see."""


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return [
        reading("/api/settings", describe_settings),
        calling("/api/settings/changes", list_changes),
        calling("/api/settings/default", make_default),
    ]


async def describe_settings(studio: Studio) -> object:
    """Return the fields of the form with the retriever's own values, and whether they can become the default."""
    return {"fields": [_described(studio.retriever, each) for each in FORM], "can_keep": not studio.is_read_only}


def _described(retriever: SentenceWindowRetriever, field: FormField) -> dict[str, Any]:
    default = _own_value(retriever, field.name)
    # The retriever's own may be a number, as of `min_relevance`.
    choices = list(dict.fromkeys([*field.choices, default])) if field.choices else []
    is_optional = SentenceWindowRetriever.model_fields[field.name].default is None
    return {**asdict(field), "choices": choices, "default": default, "is_optional": is_optional}


def _own_value(retriever: SentenceWindowRetriever, name: str) -> Any:
    # The retriever's own filter always applies, and isn't shown.
    return None if name == _NOT_KEPT else _as_json_value(getattr(retriever, name))


def _as_json_value(value: Any) -> Any:
    if isinstance(value, Ranking):
        return dict(value.weights)
    if isinstance(value, Mapping):
        return {str(key): _as_json_value(each) for key, each in value.items()}
    return list(value) if isinstance(value, tuple | list) else value


def checked_settings(settings: Mapping[str, Any]) -> Settings:
    """Return the settings of a call, as a page may ask for; their types are left to the retriever.

    Raises:
        InvalidInputError: A page can't set one of them, or not to such a number.
    """
    fields = {each.name: each for each in FORM}
    for name, value in settings.items():
        if name not in fields:
            raise InvalidInputError(f"a page can't set {shown(name)}; it can set {', '.join(fields)}")
        most = fields[name].max
        highest = 0 if most is None else max(_numbers(value), default=0)
        if most is not None and highest > most:
            raise InvalidInputError(f"{name} is {shown(highest)}; a page can ask for {most:,} at most")
    return dict(settings)


def _numbers(value: object) -> Iterator[float]:
    """Yield the numbers in a setting: also those of the sides of windows, and of windows by metadata."""
    if isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _numbers(each)
    elif isinstance(value, int | float):
        yield value


def retriever_with(studio: Studio, settings: Mapping[str, Any]) -> SentenceWindowRetriever:
    """Return a copy of the page's retriever with other settings; a filter narrows its own.

    Raises:
        InvalidInputError: A value can't be used.
    """
    update = checked_settings(settings)
    if isinstance(update.get("window"), list):
        update["window"] = tuple(update["window"])
    narrowing = update.pop(_NOT_KEPT, None)
    copy = studio.retriever.model_copy(update=update)
    return copy if narrowing is None else copy.model_copy(update={_NOT_KEPT: copy.scope(narrowing).filter})


async def list_changes(studio: Studio, settings: Settings = NO_SETTINGS) -> object:
    """Return what settings would change as the default, for a person to look at; nothing is changed.

    Returns:
        The ``folder`` of the index, ``None`` for one in memory; ``changes``, each with the ``name`` of a setting, its
        value ``before`` and ``after``; and the names of those ``left_out``, as no index remembers them.
    """
    check_writable(studio)
    kept = _kept_settings(studio, settings)
    folder = index_folder(studio.retriever)
    own = {name: _own_value(studio.retriever, name) for name in kept}
    return {
        "folder": None if folder is None else str(folder),
        "changes": [
            {"name": name, "before": own[name], "after": value} for name, value in kept.items() if value != own[name]
        ],
        "left_out": sorted(settings.keys() - kept.keys()),
    }


async def make_default(studio: Studio, settings: Settings = NO_SETTINGS) -> object:
    """Make settings the default of the page, and write them into the settings of its index if it is in a folder."""
    check_writable(studio)
    async with studio.writing:
        kept = _kept_settings(studio, settings)
        folder = index_folder(studio.retriever)
        if folder is not None:
            known = await asyncio.to_thread(read_index_settings, folder)
            changed = replace(known, retriever={**known.retriever, **kept})
            await asyncio.to_thread(write_index_settings, folder, changed)
        studio.retriever = retriever_with(studio, kept)
    return {}


def _kept_settings(studio: Studio, settings: Mapping[str, Any]) -> Settings:
    """Return those of some settings that an index remembers, as JSON has them, once the retriever has checked them."""
    names = [name for name in settings if name != _NOT_KEPT]
    copy = retriever_with(studio, {name: settings[name] for name in names})
    return {name: _own_value(copy, name) for name in names}
