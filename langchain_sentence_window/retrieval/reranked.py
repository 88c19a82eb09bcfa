"""Rerank windows with any `BaseDocumentCompressor`, in a run of its own, and match what it returns with the windows.

LangChain's own retrievers only pass their callbacks on to a compressor, and most compressors make no run. So a
reranker's run is made here, for any compressor.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from itertools import islice
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.runnables import RunnableConfig, RunnableLambda

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import IO
from langchain_sentence_window._validation import as_number
from langchain_sentence_window.documents.keys import RELEVANCE_SCORE, WINDOW_ID
from langchain_sentence_window.documents.window_fields import FIELDS
from langchain_sentence_window.errors import InvalidInputError


async def reranked(
    io: IO, reranker: BaseDocumentCompressor, documents: Sequence[Document], query: str, callbacks: Callbacks
) -> list[Document]:
    """Rerank documents in a run with the reranker's name, as a child of the run with the callbacks.

    The run's input is the query and the documents in the order of the search. Its output is the documents in the
    reranker's order, their ranks in the search from 1 as ``search_ranks``, and as ``left_out`` the number of Documents
    that came twice or belong to no window.

    Raises:
        InvalidInputError: The reranker's result isn't a list of Documents, or none of them belongs to a window.
    """
    name = type(reranker).__name__

    def rerank(given: Mapping[str, Any], config: RunnableConfig) -> dict[str, Any]:
        copies = _copied(given["documents"])
        found = reranker.compress_documents(copies, given["query"], config.get("callbacks"))
        return _matched(name, found, documents)

    async def arerank(given: Mapping[str, Any], config: RunnableConfig) -> dict[str, Any]:
        copies = _copied(given["documents"])
        found = await reranker.acompress_documents(copies, given["query"], config.get("callbacks"))
        return _matched(name, found, documents)

    run = RunnableLambda(rerank, arerank, name=name)
    given = {"query": query, "documents": list(documents)}
    found: dict[str, list[Document]] = await io.call(run.invoke, run.ainvoke, given, {"callbacks": callbacks})
    return found["documents"]


_RERANKED = frozenset(row.key for row in FIELDS if row.is_of_reranker)
_SEARCHED = frozenset(row.key for row in FIELDS) - _RERANKED
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

    A Document belongs to the window with the same ``window_id``, id or text. It keeps its own text, as compressors
    shorten texts, and metadata that the reranker added. The metadata that says where it is from is the search's. A
    ``relevance_score`` that isn't a finite number is left out.

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
    given = _check_reranker_result(reranker, found, searched)
    by_name: dict[str, int | None] = {}
    for rank, document in enumerate(searched, 1):
        # A text that two windows share identifies neither.
        by_name[document.page_content] = None if document.page_content in by_name else rank
    for rank, document in enumerate(searched, 1):
        by_name[document.metadata[WINDOW_ID]] = rank
    ranks: dict[tuple[int, str], Document] = {}
    unknown = 0
    for document in given:
        names = (document.metadata.get(WINDOW_ID), document.id, document.page_content)
        named = next((by_name[name] for name in names if isinstance(name, str) and name in by_name), None)
        if named is None:
            unknown += 1
        elif document.page_content.strip():
            ranks.setdefault((named, document.page_content), document)
    if unknown == len(given) > 0:
        raise InvalidInputError(
            f"the reranker {reranker} returned {len(given)} Documents, and none is one of the {len(searched)} windows "
            "that it was given; it must return these, or copies that keep window_id in their metadata"
        )
    documents = [_restored(document, searched[rank - 1]) for (rank, _), document in ranks.items()]
    left_out = len(given) - len(documents)
    return {"documents": documents, "search_ranks": [rank for rank, _ in ranks], "left_out": left_out}


def _check_reranker_result(reranker: str, found: object, searched: Sequence[Document]) -> list[Document]:
    if not isinstance(found, Iterable) or isinstance(found, str | bytes | Mapping | Document):
        raise InvalidInputError(
            f"the reranker {reranker} returned {shown(found)}; it must return a list of the Documents it was given"
        )
    # Some generators never end.
    limit = 100 * len(searched) + 100
    given = list(islice(found, limit + 1))
    if len(given) > limit:
        raise InvalidInputError(
            f"the reranker {reranker} returned more than {limit} Documents for {len(searched)} windows; it must "
            "return each once"
        )
    for position, document in enumerate(given):
        if not isinstance(document, Document):
            raise InvalidInputError(
                f"the reranker {reranker} returned {shown(document)} at position {position}; it must return Documents, "
                f"each with its score in metadata[{RELEVANCE_SCORE!r}]"
            )
    return given


def _restored(document: Document, window: Document) -> Document:
    """Return a reranker's Document with the window's own metadata restored."""
    score = as_number(document.metadata.get(RELEVANCE_SCORE))
    own = {key: value for key, value in window.metadata.items() if key not in _RERANKED}
    added = {key: value for key, value in document.metadata.items() if key not in _SEARCHED}
    metadata = own | added | {RELEVANCE_SCORE: score}
    if not math.isfinite(score):
        del metadata[RELEVANCE_SCORE]
    return Document(id=window.id, page_content=document.page_content, metadata=metadata)
