"""Rerank windows with any `BaseDocumentCompressor`, in a run of its own, and match what it returns with the windows.

LangChain's own retrievers only pass their callbacks on to a compressor, and most compressors make no run. So a
reranker's run is made here, for any compressor.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.runnables import RunnableConfig, RunnableLambda

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import IO
from langchain_sentence_window._validation import as_number
from langchain_sentence_window.documents.keys import RELEVANCE_SCORE, WINDOW_ID, WINDOW_KEYS
from langchain_sentence_window.errors import InvalidInputError


async def reranked(
    io: IO, reranker: BaseDocumentCompressor, documents: Sequence[Document], query: str, callbacks: Callbacks
) -> list[Document]:
    """Rerank documents in a run with the reranker's name, as a child of the run with the callbacks.

    The run's input is the query and the documents in the order of the search. Its output is the documents in the
    reranker's order, their ranks in the search from 1 as ``search_ranks``, and as ``left_out`` the number of returned
    Documents that are duplicates or no windows.

    Raises:
        InvalidInputError: The reranker's result isn't a list of Documents, or none of them belongs to a window.
    """
    name = type(reranker).__name__

    def rerank(_: object, config: RunnableConfig) -> dict[str, Any]:
        returned = reranker.compress_documents(_copied(documents), query, config.get("callbacks"))
        return _matched(name, returned, documents)

    async def arerank(_: object, config: RunnableConfig) -> dict[str, Any]:
        returned = await reranker.acompress_documents(_copied(documents), query, config.get("callbacks"))
        return _matched(name, returned, documents)

    run = RunnableLambda(rerank, arerank, name=name)
    shown_input = {"query": query, "documents": list(documents)}
    result: dict[str, list[Document]] = await io.call(run.invoke, run.ainvoke, shown_input, {"callbacks": callbacks})
    return result["documents"]


_RERANKED = frozenset({RELEVANCE_SCORE})
_SEARCHED = WINDOW_KEYS - _RERANKED
"""The keys that say where a window is from. A reranker can't change them."""


def _copied(documents: Sequence[Document]) -> list[Document]:
    """Return copies of Documents for a reranker, as some rerankers change their input."""
    copies: list[Document] = []
    for document in documents:
        try:
            metadata = deepcopy(document.metadata)
        except Exception:  # noqa: BLE001 - metadata may hold anything, such as a lock; then the dict alone is copied
            metadata = dict(document.metadata)
        copies.append(Document(id=document.id, page_content=document.page_content, metadata=metadata))
    return copies


def _matched(reranker: str, found: object, searched: Sequence[Document]) -> dict[str, Any]:
    """Match the Documents that a reranker returned with the windows that it was given.

    A Document belongs to the window with the same ``window_id``, id or text. The reranker decides the order, and may
    add metadata; the text and the metadata that says where it is from stay those of the search. A ``relevance_score``
    that isn't a finite number is left out.

    Args:
        reranker: The reranker's name.
        found: The reranker's result.
        searched: The windows that it was given, in the order of the search.

    Returns:
        ``documents``: the windows' Documents, best first, each once; ``search_ranks``: the rank of each in the search,
        from 1; ``left_out``: the number of returned Documents that belong to no window or came before.

    Raises:
        InvalidInputError: The result isn't a list of Documents, or none of them belongs to a window.
    """
    given = _check_reranker_result(reranker, found)
    by_name: dict[str, int | None] = {}
    for rank, document in enumerate(searched, 1):
        # A text that two windows share identifies neither.
        by_name[document.page_content] = None if document.page_content in by_name else rank
    for rank, document in enumerate(searched, 1):
        by_name[document.metadata[WINDOW_ID]] = rank
    by_rank: dict[int, Document] = {}
    for document in given:
        names = (document.metadata.get(WINDOW_ID), document.id, document.page_content)
        known = next((by_name[name] for name in names if isinstance(name, str) and name in by_name), None)
        if known is not None:
            by_rank.setdefault(known, document)
    if given and not by_rank:
        raise InvalidInputError(
            f"the reranker {reranker} returned {len(given)} Documents, and none is one of the {len(searched)} windows "
            "that it was given; it must return these, or copies that keep window_id in their metadata"
        )
    documents = [_restored(document, searched[rank - 1]) for rank, document in by_rank.items()]
    return {"documents": documents, "search_ranks": list(by_rank), "left_out": len(given) - len(documents)}


def _check_reranker_result(reranker: str, found: object) -> list[Document]:
    if not isinstance(found, Iterable) or isinstance(found, str | bytes | Mapping | Document):
        raise InvalidInputError(
            f"the reranker {reranker} returned {shown(found)}; it must return a list of the Documents it was given"
        )
    given = list(found)
    for position, document in enumerate(given):
        if not isinstance(document, Document):
            raise InvalidInputError(
                f"the reranker {reranker} returned {shown(document)} at position {position}; it must return Documents, "
                f"each with its score in metadata[{RELEVANCE_SCORE!r}]"
            )
    return given


def _restored(document: Document, window: Document) -> Document:
    """Return the window with the metadata that a reranker added."""
    score = as_number(document.metadata.get(RELEVANCE_SCORE))
    own = {key: value for key, value in window.metadata.items() if key not in _RERANKED}
    added = {key: value for key, value in document.metadata.items() if key not in _SEARCHED}
    metadata = own | added | {RELEVANCE_SCORE: score}
    if not math.isfinite(score):
        del metadata[RELEVANCE_SCORE]
    return Document(id=window.id, page_content=window.page_content, metadata=metadata)
