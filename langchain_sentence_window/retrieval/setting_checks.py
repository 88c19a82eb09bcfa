"""How the retriever's settings are checked, where pydantic's types alone can't check them."""

from collections.abc import Mapping
from os import PathLike
from typing import Any

from langchain_sentence_window._arguments import checked_reranker, checked_vectorstore
from langchain_sentence_window._checked_settings import Check
from langchain_sentence_window._display import shown
from langchain_sentence_window._validation import (
    checked_callback,
    checked_count,
    checked_function,
    checked_min_score,
    checked_weight,
    optional_count,
)
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.ranking import Ranking
from langchain_sentence_window.retrieval.expansion import WindowSetting, read_expansion


def _checked_window(_: str, window: WindowSetting) -> WindowSetting:
    read_expansion(window)
    return window


def _checked_counter(name: str, count: object) -> Any:
    return checked_callback(name, checked_function(name, count), "a text")


def _checked_ranking(name: str, ranking: object) -> Ranking | None:
    if ranking is None or isinstance(ranking, Ranking):
        return ranking
    if isinstance(ranking, str | PathLike):
        return Ranking.read(ranking)
    raise InvalidInputError(
        f"{name} is {shown(ranking)}; give a Ranking, the path of a JSON file that holds one, or None for the order of "
        "the search"
    )


def _checked_names(name: str, names: object) -> bool | tuple[str, ...]:
    if isinstance(names, bool):
        return names
    keys = tuple(names) if isinstance(names, list | tuple | set | frozenset) else (None,)
    if not keys or not all(isinstance(key, str) and key for key in keys):
        raise InvalidInputError(
            f"{name} is {shown(names)}; give True, False, or a list of metadata keys that hold names of documents"
        )
    return tuple(str(key) for key in keys)


def _checked_situate(name: str, situate: object) -> Any:
    return None if situate is None else checked_callback(name, situate, "a document", "one of its sentences")


CHECKS: Mapping[str, Check] = {
    "vectorstore": checked_vectorstore,
    "k": checked_count,
    "fetch_k": checked_count,
    "window": _checked_window,
    "lexical_weight": checked_weight,
    "max_tokens": optional_count,
    "count_tokens": _checked_counter,
    "min_score": checked_min_score,
    "ranking": _checked_ranking,
    "names": _checked_names,
    "situate": _checked_situate,
    "reranker": checked_reranker,
}
"""Checks for the settings that pydantic's types alone can't check."""

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
