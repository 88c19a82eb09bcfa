"""What a reranker made of windows: whatever it returns, windows come out, each once, as they were but for its score."""

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._showing import shown
from langchain_sentence_window._validation import as_number
from langchain_sentence_window.documents.keys import (
    DOC_ID,
    END_INDEX,
    HEADING,
    HITS,
    RELEVANCE_SCORE,
    SCORE,
    SENTENCES,
    START_INDEX,
    WINDOW_ID,
)
from langchain_sentence_window.errors import InvalidInputError

_OURS = (DOC_ID, START_INDEX, END_INDEX, SENTENCES, HITS, SCORE, WINDOW_ID, HEADING)
"""What says where a window is from. A reranker has no say in it."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Windows in the order of a reranker.

    Attributes:
        documents: Best first, each once.
        search_ranks: The place, from 1, that each had in the search.
        left_out: How many Documents were returned that aren't of any window, or were there before.
    """

    documents: list[Document]
    search_ranks: list[int]
    left_out: int


def handed_out(documents: Sequence[Document]) -> list[Document]:
    """Copy Documents for a reranker, as some write into what they are given."""
    return [
        Document(id=document.id, page_content=document.page_content, metadata=_copied(document.metadata))
        for document in documents
    ]


def read_ranking(reranker: str, found: object, searched: Sequence[Document]) -> Ranking:
    """Make out which windows a reranker chose.

    A Document is of a window that it shares the ``window_id``, the id or the text with. It keeps a text of its
    own, as compressors shorten what they are given, and what it adds to the metadata. Where it is from is told
    as the search found it. A ``relevance_score`` that is no finite number is left out.

    Args:
        reranker: Its name.
        found: What it returned.
        searched: The windows that it was given, in the order of the search.

    Raises:
        InvalidInputError: It returned something else than Documents, or none that is of a window.
    """
    given = _checked(reranker, found, searched)
    windows = _Windows(searched)
    ranks: dict[tuple[int, str], Document] = {}
    unknown = 0
    for document in given:
        rank = windows.rank(document)
        unknown += rank is None
        if rank is not None and document.page_content.strip():
            ranks.setdefault((rank, document.page_content), document)
    if unknown == len(given) > 0:
        raise InvalidInputError(
            f"the reranker {reranker} returned {len(given)} Documents, and none is one of the {len(searched)} windows "
            "that it was given; it must return these, or copies with their metadata, which holds the window_id"
        )
    documents = [_placed(document, searched[rank - 1]) for (rank, _), document in ranks.items()]
    return Ranking(documents, [rank for rank, _ in ranks], len(given) - len(documents))


def _checked(reranker: str, found: object, searched: Sequence[Document]) -> list[Document]:
    if not isinstance(found, Iterable) or isinstance(found, str | bytes | Mapping | Document):
        raise InvalidInputError(
            f"the reranker {reranker} returned {shown(found)}; it must return a list of the Documents it was given"
        )
    given: list[Document] = []
    # Not more than a few of each window: some generators never end.
    most = 100 * len(searched) + 100
    for place, document in enumerate(found):
        if not isinstance(document, Document) or not isinstance(document.page_content, str):
            raise InvalidInputError(
                f"the reranker {reranker} returned {shown(document)} in place {place}; it must return Documents, each "
                f"with its score in metadata[{RELEVANCE_SCORE!r}]"
            )
        if place == most:
            raise InvalidInputError(
                f"the reranker {reranker} returned more than {most} Documents for {len(searched)} windows; it must "
                "return each once"
            )
        given.append(document)
    return given


class _Windows:
    """Finds the window that a Document is of."""

    def __init__(self, searched: Sequence[Document]) -> None:
        ranked = list(enumerate(searched, 1))
        self._by_id = {document.metadata[WINDOW_ID]: rank for rank, document in ranked}
        self._by_text: dict[str, int | None] = {}
        for rank, document in ranked:
            # Of two windows of one text, neither is known by it.
            self._by_text[document.page_content] = None if document.page_content in self._by_text else rank

    def rank(self, document: Document) -> int | None:
        metadata = document.metadata if isinstance(document.metadata, Mapping) else {}
        for name in (metadata.get(WINDOW_ID), document.id):
            if isinstance(name, str) and name in self._by_id:
                return self._by_id[name]
        return self._by_text.get(document.page_content)


def _placed(document: Document, window: Document) -> Document:
    """What was made of a window, with its place as it was found."""
    given = document.metadata if isinstance(document.metadata, Mapping) else {}
    added = {key: value for key, value in given.items() if isinstance(key, str) and key != RELEVANCE_SCORE}
    ours = {key: window.metadata[key] for key in _OURS if key in window.metadata}
    score = as_number(given.get(RELEVANCE_SCORE))
    kept = {key: value for key, value in window.metadata.items() if key != RELEVANCE_SCORE}
    metadata = {**kept, **added, **ours, **({RELEVANCE_SCORE: score} if math.isfinite(score) else {})}
    if HEADING not in ours:
        metadata.pop(HEADING, None)
    return Document(id=window.id, page_content=document.page_content, metadata=metadata)


def _copied(metadata: dict[str, Any]) -> dict[str, Any]:
    try:
        return deepcopy(metadata)
    except Exception:  # noqa: BLE001 - a store may hold anything, such as a lock; then the dict alone is copied
        return dict(metadata)
