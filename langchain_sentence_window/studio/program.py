"""Write a program that asks what the page asked, with the same settings."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from langchain_sentence_window.folders.syncing import index_folder
from langchain_sentence_window.ranking.ranking import Ranking
from langchain_sentence_window.reranking.late_interaction import LateInteractionReranker
from langchain_sentence_window.retrieval.index_settings import IndexSettings
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.studio.call_settings import RERANKER, to_ask
from langchain_sentence_window.studio.index_folder import remembered_settings
from langchain_sentence_window.studio.setting_fields import FIELDS

_SHARED = tuple(field.name for field in FIELDS if field.name not in (RERANKER, "filter"))
"""Settings that a retriever and a call both have."""

_UNTOLD = ("filter", "search_kwargs", "count_tokens", "bm25_index")
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
    known = remembered_settings(folder)
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
    untold = [
        name for name in _UNTOLD if getattr(retriever, name) != fields[name].get_default(call_default_factory=True)
    ]
    if asked.reranker is not None and not isinstance(asked.reranker, LateInteractionReranker):
        untold.append(RERANKER)
    return [f"# The retriever of the page also has its own {', '.join(untold)}; set it here, too."] if untold else []


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
