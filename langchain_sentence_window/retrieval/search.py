"""Search sentences in any vector store: by meaning and words where the store can, else by meaning."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from langchain_sentence_window._io import IO
from langchain_sentence_window._settings import RELATED_NAMES, likely_name
from langchain_sentence_window._showing import shown
from langchain_sentence_window._validation import listed
from langchain_sentence_window.adapters.base import StoreAdapter
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.sentence_documents import StoredSentence, as_hit
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.bm25_index import BM25Index
from langchain_sentence_window.ranking.fusion import CANDIDATES
from langchain_sentence_window.windows.geometry import Hit

_GIVEN = frozenset({"query", "k", "lexical_weight"})
"""Arguments of a search that the retriever gives."""

_OURS = frozenset({"window", "window_key", "max_tokens", "count_tokens", "lexical_weight"})
"""Settings of the retriever that mean nothing to a store. Those that may, such as ``fetch_k``, are left to it."""


def check_search_settings(adapter: StoreAdapter, settings: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
    """Check that a store's search takes some settings.

    Args:
        adapter: The adapter of the store.
        settings: Further arguments of its search.
        fields: The retriever's own settings, one of which may be meant.

    Raises:
        InvalidInputError: One is the retriever's own, or one that the search doesn't take.
    """
    taken = adapter.search_parameters()
    takes_any = any(each.kind is each.VAR_KEYWORD for each in taken.values())
    usual = [each for each in taken if each not in _GIVEN and taken[each].kind is not taken[each].VAR_KEYWORD]
    for setting in settings:
        told = f"search_kwargs sets {shown(setting)[1:-1]} to {shown(settings[setting])}"
        if setting in ("k", "query"):
            raise InvalidInputError(f"{told}; set fetch_k, or k, instead")
        if setting in _OURS and (setting not in taken or setting in _GIVEN):
            raise InvalidInputError(f"{told}, which isn't the store's; set {setting} on the retriever")
        if not takes_any and setting not in taken:
            likely = likely_name(str(setting), fields, RELATED_NAMES)
            cure = f"set {likely} on the retriever" if likely else "leave it out"
            raise InvalidInputError(f"{told}, and a search of {adapter.name} takes {listed(usual)} alone; {cure}")


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
        query: The question.
        k: The most sentences to find.
        lexical_weight: How much words count beside meaning, where the store can search by words.
        search_kwargs: Further arguments of the store's search.
        bm25_index: Searches by words if the store can't.

    Returns:
        The sentences, and a hit for each, whose score is higher for a better one.
    """
    adapter = scope.adapter
    if bm25_index is not None and lexical_weight and not adapter.is_hybrid:
        return await _with_words(
            io, scope, query, k, weight=lexical_weight, search_kwargs=search_kwargs, bm25_index=bm25_index
        )
    settings: dict[str, Any] = {"k": k, **search_kwargs, **scope.search_settings}
    if lexical_weight and adapter.is_hybrid:
        scored = await adapter.hybrid_search(io, query, {**settings, "lexical_weight": lexical_weight})
    else:
        scored = await adapter.search(io, query, settings)
    scope.check_found([document for document, _ in scored])
    found = [adapter.read(document) for document, _ in scored]
    return found, [as_hit(sentence, float(score)) for sentence, (_, score) in zip(found, scored, strict=True)]


async def _with_words(
    io: IO, scope: Scope, query: str, k: int, *, weight: float, search_kwargs: Mapping[str, Any], bm25_index: BM25Index
) -> tuple[list[StoredSentence], list[Hit]]:
    settings = {"k": max(k, CANDIDATES), **search_kwargs, **scope.search_settings}
    scored = await scope.adapter.search(io, query, settings)
    scope.check_found([document for document, _ in scored])
    found = [scope.adapter.read(document) for document, _ in scored]
    # Under a filter, a sentence that wasn't found may be one that it forbids; a score would tell its words.
    rank = partial(bm25_index.rank, found_alone=scope.is_bound)
    ranked = await io.in_thread(rank, query, found, [score for _, score in scored], weight)
    return [found[i] for i, _ in ranked[:k]], [as_hit(found[i], score) for i, score in ranked[:k]]
