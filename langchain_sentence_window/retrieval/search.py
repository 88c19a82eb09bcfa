"""Searching sentences in any vector store: by meaning and words where the store can, else by meaning."""

import inspect
from collections.abc import Mapping
from functools import partial
from typing import Any, Protocol, runtime_checkable

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window._io import IO
from langchain_sentence_window._settings import RELATED_NAMES, likely_name
from langchain_sentence_window._showing import shown
from langchain_sentence_window._validation import listed
from langchain_sentence_window.adapters.access import search
from langchain_sentence_window.adapters.scope import Scope, search_parameters
from langchain_sentence_window.documents.sentence_documents import StoredSentence, as_hit, read_sentence
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.bm25_index import BM25Index
from langchain_sentence_window.ranking.fusion import CANDIDATES
from langchain_sentence_window.windows.geometry import Hit

_GIVEN = frozenset({"query", "k", "lexical_weight"})
"""What a search is given by the retriever."""

_OURS = frozenset({"window", "window_key", "max_tokens", "count_tokens", "lexical_weight"})
"""Settings of the retriever that mean nothing to a store. Those that may, such as ``fetch_k``, are left to it."""


@runtime_checkable
class HybridStore(Protocol):
    """A store that can search by meaning and words together, as `FaissStore` can."""

    def hybrid_search(self, query: str, k: int, *, lexical_weight: float, **kwargs: Any) -> Any:
        """Return ``(Document, score)`` pairs, best first."""

    def ahybrid_search(self, query: str, k: int, *, lexical_weight: float, **kwargs: Any) -> Any:
        """Do the same, async."""


def check_search_settings(store: VectorStore, settings: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
    """See that a store's search can be given some settings.

    Args:
        store: What is searched.
        settings: What its search would be given.
        fields: The retriever's own settings, one of which may be meant.

    Raises:
        InvalidInputError: One is the retriever's own, or one that the search doesn't take.
    """
    name = type(store).__name__
    taken = search_parameters(store)
    if isinstance(store, HybridStore):
        taken = inspect.signature(store.hybrid_search).parameters
    takes_any = any(each.kind is each.VAR_KEYWORD for each in taken.values())
    usual = [each for each in taken if each not in _GIVEN and taken[each].kind is not inspect.Parameter.VAR_KEYWORD]
    for setting in settings:
        told = f"search_kwargs sets {shown(setting)[1:-1]} to {shown(settings[setting])}"
        if setting in ("k", "query"):
            raise InvalidInputError(f"{told}; set fetch_k, or k, instead")
        if setting in _OURS and (setting not in taken or setting in _GIVEN):
            raise InvalidInputError(f"{told}, which isn't the store's; set {setting} on the retriever")
        if not takes_any and setting not in taken:
            likely = likely_name(str(setting), fields, RELATED_NAMES)
            cure = f"set {likely} on the retriever" if likely else "leave it out"
            raise InvalidInputError(f"{told}, and a search of {name} takes {listed(usual)} alone; {cure}")


async def find_sentences(
    io: IO,
    scope: Scope,
    query: str,
    k: int,
    *,
    lexical_weight: float,
    search_kwargs: Mapping[str, Any],
    bm25_index: BM25Index | None = None,
) -> tuple[list[StoredSentence], list[Hit]]:
    """Search sentences, best first.

    Args:
        io: Makes the calls.
        scope: Where they are, and which of them may be found.
        query: What is asked.
        k: How many to find at most.
        lexical_weight: How much words count beside meaning, where the store can search by words.
        search_kwargs: What else the store's search is given.
        bm25_index: What searches by words where the store can't.

    Returns:
        The sentences, and a hit for each, whose score is higher for a better one.
    """
    store = scope.store
    if bm25_index is not None and lexical_weight and not isinstance(store, HybridStore):
        return await _with_words(
            io, scope, query, k, weight=lexical_weight, search_kwargs=search_kwargs, bm25_index=bm25_index
        )
    settings: dict[str, Any] = {"k": k, **search_kwargs, **scope.search_settings}
    scored: list[tuple[Document, float]]
    if lexical_weight and isinstance(store, HybridStore):
        settings["lexical_weight"] = lexical_weight
        scored = await io.call(store.hybrid_search, store.ahybrid_search, query, **settings)
    else:
        scored = await search(io, store, query, settings)
    scope.check_found([document for document, _ in scored])
    found = [read_sentence(document) for document, _ in scored]
    return found, [as_hit(sentence, float(score)) for sentence, (_, score) in zip(found, scored, strict=True)]


async def _with_words(
    io: IO, scope: Scope, query: str, k: int, *, weight: float, search_kwargs: Mapping[str, Any], bm25_index: BM25Index
) -> tuple[list[StoredSentence], list[Hit]]:
    settings = {"k": max(k, CANDIDATES), **search_kwargs, **scope.search_settings}
    scored = await search(io, scope.store, query, settings)
    scope.check_found([document for document, _ in scored])
    found = [read_sentence(document) for document, _ in scored]
    # Under a filter, a sentence that wasn't found may be one that it forbids; a score would tell its words.
    rank = partial(bm25_index.rank, found_alone=scope.is_bound)
    ranked = await io.in_thread(rank, query, found, [score for _, score in scored], weight)
    return [found[place] for place, _ in ranked[:k]], [as_hit(found[place], score) for place, score in ranked[:k]]
