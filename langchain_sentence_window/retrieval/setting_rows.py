"""Rows of the registry of settings: what each holds, and how its values are checked and written in traces."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from langchain_sentence_window._checked_settings import Check
from langchain_sentence_window._display import described, shown
from langchain_sentence_window._validation import checked_callback, checked_function
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.ranking import DEFAULT_RANKING, Ranking

from .expansion import WindowSetting, read_expansion


def traced(value: Any) -> Any:
    """Return a value as a trace shows it: as JSON can hold it, and objects by their names.

    An object may hold a key, so no more is shown of it.
    """
    if isinstance(value, Ranking):
        return "default" if value == DEFAULT_RANKING else dict(value.weights)
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        if isinstance(value, Mapping):
            return {str(name): traced(each) for name, each in value.items()}
        return described(value)
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Metadata of a setting, in addition to the name, type, default and meaning of its field.

    Attributes:
        check: Returns a valid value or raises `InvalidInputError`; ``None`` if the type says enough.
        is_of_call: Whether a call may give it.
        is_own_if_none: Whether ``None`` in a call means the retriever's own value.
        is_remembered: Whether an index may remember it. A filter isn't: what may be read mustn't depend on a file
            next to the data.
        is_ours: Whether it means nothing to any store's search, so that ``search_kwargs`` can't mean it.
        names: Its names in other retrievers of LangChain and LlamaIndex, separated by spaces.
        typed: The values that the command accepts, in words; empty if it can't be typed.
        option: The command's own option for it; empty if only ``--set`` gives it.
        control: What a form asks it with; empty if none shows it.
        label: Its label there.
        help: What it does, in a line.
        choices: The values of a ``choice``.
        min: The lowest number; ``None`` for any.
        max: The highest number that a page may ask for, as it couldn't be read with more; ``None`` for any.
        is_advanced: Whether few people change it, so that a form folds it in.
        advice: What a page says of it if nothing is found; empty if it leaves nothing out.
        traced: Returns its value as a trace shows it; ``None`` if it isn't of a query.
        page: The page of the documentation that explains it, relative to ``docs/``.
    """

    check: Check | None = None
    is_of_call: bool = False
    is_own_if_none: bool = False
    is_remembered: bool = False
    is_ours: bool = False
    names: str = ""
    typed: str = ""
    option: str = ""
    control: Literal["", "count", "number", "choice", "window", "names", "ranking", "filter"] = ""
    label: str = ""
    help: str = ""
    choices: tuple[str | None, ...] = ()
    min: float | None = None
    max: float | None = None
    is_advanced: bool = False
    advice: str = ""
    traced: Callable[[Any], Any] | None = traced
    page: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSetting(Setting):
    """A setting that a call may give and, unless it says otherwise, an index remember."""

    is_of_call: bool = True
    is_remembered: bool = True


def checked_window(_: str, window: WindowSetting) -> WindowSetting:
    """Return a window that can be read."""
    read_expansion(window)
    return window


def checked_counter(name: str, count: object) -> Any:
    """Return a function of a text."""
    return checked_callback(name, checked_function(name, count), "a text")


def checked_ranking(name: str, ranking: object) -> Ranking | None:
    """Return a ranking, made of its weights if these are given."""
    if ranking is None or isinstance(ranking, Ranking):
        return ranking
    if isinstance(ranking, Mapping):
        return Ranking(ranking)
    raise InvalidInputError(
        f"{name} is {shown(ranking)}; give a Ranking, weights by signal, or None for the order of the search"
    )


def checked_names(name: str, names: object) -> bool | tuple[str, ...]:
    """Return whether names count, or the metadata keys that hold some, as a tuple."""
    if isinstance(names, bool):
        return names
    keys = tuple(names) if isinstance(names, list | tuple | set | frozenset) else (None,)
    if not keys or not all(isinstance(key, str) and key for key in keys):
        raise InvalidInputError(
            f"{name} is {shown(names)}; give True, False, or a list of metadata keys that hold names of documents"
        )
    return tuple(str(key) for key in keys)


def checked_situate(name: str, situate: object) -> Any:
    """Return a function of a document and a sentence, or ``None``."""
    return None if situate is None else checked_callback(name, situate, "a document", "one of its sentences")


NOT_SETTINGS: Mapping[str, str] = {
    **dict.fromkeys(
        ("embedding", "embeddings", "embedding_model", "embedding_function", "embed_model", "embedder"),
        "the store embeds: FaissStore(embedding), or from_documents(documents, embedding)",
    ),
    **dict.fromkeys(
        ("documents", "docs", "texts"),
        "index them with from_documents(documents, embedding), or with add_documents(documents)",
    ),
    **dict.fromkeys(
        ("path", "persist_directory", "folder"),
        "write from_documents(documents, embedding, path=...), or open(path, embedding)",
    ),
    "neighbor_weights": "the store has it: FaissStore(embedding, neighbor_weights=...)",
    "language": "write splitter=SentenceSplitter(language)",
    "llm": "a retriever needs none; write create_rag_chain(retriever, llm)",
    "search_type": "it searches by similarity, and no two windows hold the same sentence; for a lowest score set "
    "min_score, for mmr take store.as_retriever(search_type='mmr')",
}
"""Names that are often given as settings but aren't, and what to write instead."""
