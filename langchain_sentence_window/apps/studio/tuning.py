"""Tune settings and fit the ranking: try them, write them as a program, and make them the index's default."""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pydantic import Field
from starlette.routing import BaseRoute

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import ASYNC
from langchain_sentence_window.apps.folders.file_sync import index_folder
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.evaluation.fitted_ranking import afit_ranking
from langchain_sentence_window.evaluation.measurement import BUDGETS
from langchain_sentence_window.ranking.ranking import Ranking
from langchain_sentence_window.reranking.late_interaction import LateInteractionReranker
from langchain_sentence_window.retrieval.index_settings import IndexSettings, read_index_settings, write_index_settings
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.retrieval.settings import REMEMBERED
from langchain_sentence_window.stores.faiss.database.store_files import SETTINGS_FILE, replace_file

from .measured_questions import AskedEntries, OnProgress, start_asking
from .page_state import Before, Changed, Studio, calling, changing, check_writable, reading
from .queries import Query
from .replies import Arguments, Refused, fields_of
from .setting_form import FORM, RERANKER, as_json_value, default_of, described, to_ask

MAX_KEYS = 100
"""Keys of metadata that the page offers for a filter."""

MAX_VALUES = 12
"""Values of a key that the page offers."""

MAX_VALUE_CHARS = 80


async def settings(studio: Studio, _: Arguments) -> object:
    """Return what a form needs of the settings, whether they can become the default, and the version to undo that."""
    undo = None if studio.before is None or studio.is_read_only else studio.before.version
    return {**await ASYNC.in_thread(described, studio.retriever), "can_keep": not studio.is_read_only, "undo": undo}


class Proposed(Arguments):
    """Settings that the index shall remember."""

    settings: dict[str, Any] = Field(default_factory=dict)


class Confirmed(Proposed):
    """Settings that the index shall remember, as a person saw what they change."""

    version: str


class Version(Arguments):
    """The state that what is remembered has been seen in."""

    version: str


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return [
        reading("/api/settings", Arguments, settings),
        reading("/api/filter-keys", Arguments, filter_keys),
        calling("/api/program", Query, as_program),
        calling("/api/settings/changes", Proposed, list_changes),
        changing("/api/settings/default", Confirmed, make_default),
        changing("/api/settings/undo", Version, undo_default),
        calling("/api/fit", Arguments, fit),
    ]


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


async def as_program(studio: Studio, given: Query) -> object:
    """Return a program in Python that asks the same."""
    return {"program": await ASYNC.in_thread(program, studio.retriever, given.query, given.settings)}


async def list_changes(studio: Studio, given: Proposed) -> object:
    """Return what settings would change as the default, for a person to look at; nothing is changed.

    Returns:
        The ``file``, ``None`` for an index in memory; ``changes``, each with the ``name`` of a setting, its value
        ``before`` and ``after``; the names of those ``left_out``, as no index remembers them; the ``version`` to
        confirm.
    """
    check_writable(studio)
    kept = await ASYNC.in_thread(_checked, studio, given.settings)
    folder = index_folder(studio.retriever)
    changed = {name: value for name, value in kept.items() if _plain(value) != _plain(getattr(studio.retriever, name))}
    return {
        "file": None if folder is None else str(folder / SETTINGS_FILE),
        "changes": [
            {"name": name, "before": default_of(studio.retriever, name), "after": as_json_value(value)}
            for name, value in changed.items()
        ],
        "left_out": sorted(given.settings.keys() - kept.keys()),
        "version": await ASYNC.in_thread(_version, folder),
    }


async def make_default(studio: Studio, given: Confirmed) -> Changed:
    """Write settings beside the index, if it has any, and return a page that uses them, and the version to undo it.

    Raises:
        Refused: The page is read-only, or what is remembered isn't what was confirmed.
        InvalidInputError: A setting can't be used.
    """
    check_writable(studio)
    kept = await ASYNC.in_thread(_checked, studio, given.settings)
    retriever, folder = studio.retriever.model_copy(update=kept), index_folder(studio.retriever)
    before = await ASYNC.in_thread(_before, studio, folder, given.version)
    if folder is not None:
        await ASYNC.in_thread(remember, folder, kept)
    version = await ASYNC.in_thread(_version, folder)
    return replace(studio, retriever=retriever, before=replace(before, version=version)), {"version": version}


async def undo_default(studio: Studio, given: Version) -> Changed:
    """Bring back what the index remembered, and return the page that it was, and the names of its settings.

    Raises:
        Refused: The page is read-only, there is nothing to bring back, or the settings were changed since.
    """
    check_writable(studio)
    before, folder = studio.before, index_folder(studio.retriever)
    if before is None or before.version != given.version:
        raise Refused(409, "the default was changed again since, so nothing was brought back")
    await ASYNC.in_thread(_check_version, folder, given.version)
    if folder is not None and before.settings is not None:
        if before.ranking is not None:
            await ASYNC.in_thread(replace_file, folder / RANKING_FILE, before.ranking)
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
    settings = None if folder is None else read_index_settings(folder)
    ranking = None if folder is None else folder / RANKING_FILE
    return Before(studio, settings, ranking.read_bytes() if ranking is not None and ranking.is_file() else None)


def _check_version(folder: Path | None, version: str) -> None:
    if _version(folder) != version:
        raise Refused(
            409, f"another program changed {SETTINGS_FILE} meanwhile, so nothing was written; look at the values again"
        )


def _version(folder: Path | None) -> str:
    """Return a name for what an index remembers."""
    known = "" if folder is None else read_index_settings(folder).to_json()
    return hashlib.sha256(known.encode(errors="surrogateescape")).hexdigest()[:16]


async def fit(studio: Studio, _: Arguments) -> object:
    """Start to fit the retriever's ranking; the job's result holds its weights, and what they gain."""

    async def work(asked: AskedEntries, report: OnProgress) -> object:
        fitted = await afit_ranking(studio.retriever, asked.questions, BUDGETS, on_progress=report)
        return {
            **fields_of(fitted, "is_recommended without_gold groups"),
            "ranking": dict(fitted.ranking.weights),
            "gain": asdict(fitted.gain),
            "count": fitted.questions,
            "left_out": asked.left_out,
        }

    return await start_asking(studio, "fit", work)


_SHARED = tuple(name for name in FORM if name not in (RERANKER, "filter"))
"""Settings that a retriever and a call both have."""

_LEFT_OUT = ("filter", "search_kwargs", "count_tokens", "bm25_index")
"""Settings of a retriever that a program can't hold, or that the page mustn't tell."""

_MAX_LINE = 100


def program(retriever: SentenceWindowRetriever, query: str, settings: Mapping[str, Any]) -> str:
    """Return a program in Python that opens the index, asks the question and prints the windows.

    Args:
        retriever: The retriever of the page.
        query: The question.
        settings: The settings of the call, as the page sends them.

    Raises:
        InvalidInputError: A setting can't be used.
        StoreError: What the index remembers can't be read.
    """
    asked, call = to_ask(retriever, settings)
    folder = index_folder(retriever)
    known = IndexSettings() if folder is None else read_index_settings(folder)
    call = _own_settings(retriever, known, folder) | call
    is_reranked = isinstance(asked.reranker, LateInteractionReranker)
    names = [
        *(["LateInteractionReranker"] if is_reranked else []),
        *(["Ranking"] if isinstance(call.get("ranking"), Ranking) else []),
        "SentenceWindowRetriever",
    ]
    first, opened = _opened(retriever, folder, known)
    given = [_literal(query), *(f"{name}={_literal(value)}" for name, value in call.items())]
    return "\n".join(
        [
            *first,
            f"from langchain_sentence_window import {', '.join(names)}",
            "",
            *_notes(retriever, asked),
            f"retriever = {opened}",
            *(["retriever.reranker = LateInteractionReranker(model=retriever.vectorstore.embeddings)"] * is_reranked),
            f"windows = {_call('retriever.invoke', given)}",
            "for window in windows:",
            '    print(f"{window.metadata[\'score\']:.3f}", window.page_content, end="\\n\\n")',
            "",
        ]
    )


def _own_settings(retriever: SentenceWindowRetriever, known: IndexSettings, folder: Path | None) -> dict[str, Any]:
    """Return the settings of a retriever that it wouldn't have if its index were just opened."""
    fields = type(retriever).model_fields
    usual = {name: fields[name].default for name in _SHARED} | known.retriever_settings(folder or ".")
    if isinstance(usual["ranking"], str):
        usual["ranking"] = Ranking.read(usual["ranking"])
    own = {name: getattr(retriever, name) for name in _SHARED}
    return {name: value for name, value in own.items() if _plain(value) != _plain(usual[name])}


def _opened(retriever: SentenceWindowRetriever, folder: Path | None, known: IndexSettings) -> tuple[list[str], str]:
    """Return imports, and the call that opens the index."""
    if folder is None:
        return [], "...  # make it as your program does; the index of this page isn't on disk"
    path = _literal(str(folder))
    if known.embedding is not None:
        return [], _call("SentenceWindowRetriever.open", [path])
    embeddings = retriever.scope().adapter.embedding
    model = getattr(embeddings, "model_name", None)
    if type(embeddings).__name__ == "HuggingFaceEmbeddings" and isinstance(model, str):
        embedder = f"HuggingFaceEmbeddings(model_name={_literal(model)})"
        imported = ["from langchain_huggingface import HuggingFaceEmbeddings"]
        return imported, _call("SentenceWindowRetriever.open", [path, embedder])
    return [], f"SentenceWindowRetriever.open({path}, ...)  # ... is the embedder that the index was made with"


def _notes(retriever: SentenceWindowRetriever, asked: SentenceWindowRetriever) -> list[str]:
    """Return what the program lacks, as comments."""
    fields = type(retriever).model_fields
    left_out = [
        name for name in _LEFT_OUT if getattr(retriever, name) != fields[name].get_default(call_default_factory=True)
    ]
    if asked.reranker is not None and not isinstance(asked.reranker, LateInteractionReranker):
        left_out.append(RERANKER)
    return (
        [f"# The retriever of the page also has its own {', '.join(left_out)}; set it here, too."] if left_out else []
    )


def _call(function: str, arguments: Sequence[str]) -> str:
    """Write a call on a line, or on several if it is long."""
    line = f"{function}({', '.join(arguments)})"
    if len(line) <= _MAX_LINE:
        return line
    return f"{function}(\n" + "".join(f"    {each},\n" for each in arguments) + ")"


def _literal(value: object) -> str:
    """Write a setting as Python; ``repr`` escapes whatever a text holds."""
    return f"Ranking({dict(value.weights)!r})" if isinstance(value, Ranking) else repr(value)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple | list) else value


RANKING_FILE = "ranking.json"
"""The file in the index's folder that holds a ranking which the page made."""

_RANKING = "ranking"


def remember(folder: Path, settings: Mapping[str, Any]) -> None:
    """Add settings to those that an index remembers.

    Args:
        folder: The index's folder.
        settings: Settings of the retriever by name, each one of `REMEMBERED`. A `Ranking` is
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
