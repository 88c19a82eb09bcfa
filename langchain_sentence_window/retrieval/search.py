"""Searching sentences in any vector store: by meaning and words where the store can, else by meaning."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Protocol, runtime_checkable

from langchain_core.documents import Document

from langchain_sentence_window.any_store.access import search
from langchain_sentence_window.any_store.scope import Scope
from langchain_sentence_window.any_store.words import WordIndex
from langchain_sentence_window.calls import Call, Steps, in_thread
from langchain_sentence_window.fusion import CANDIDATES
from langchain_sentence_window.metadata.sentence_documents import StoredSentence, as_hit, read_sentence
from langchain_sentence_window.windows import Hit


@runtime_checkable
class HybridStore(Protocol):
    """A store that can search by meaning and words together, as `FaissStore` can."""

    def hybrid_search(self, query: str, k: int, *, lexical_weight: float, **kwargs: Any) -> Any:
        """Return ``(Document, score)`` pairs, best first."""

    def ahybrid_search(self, query: str, k: int, *, lexical_weight: float, **kwargs: Any) -> Any:
        """Do the same, async."""


def find_sentences(
    scope: Scope,
    query: str,
    k: int,
    *,
    lexical_weight: float,
    search_kwargs: Mapping[str, Any],
    words: WordIndex | None = None,
) -> Steps[tuple[list[StoredSentence], list[Hit]]]:
    """Search sentences, best first.

    Args:
        scope: Where they are, and which of them may be found.
        query: What is asked.
        k: How many to find at most.
        lexical_weight: How much words count beside meaning, where the store can search by words.
        search_kwargs: What else the store's search is given.
        words: What searches by words where the store can't.

    Returns:
        The sentences, and a hit for each, whose score is higher for a better one.
    """
    store = scope.store
    if words is not None and lexical_weight and not isinstance(store, HybridStore):
        return (
            yield from _with_words(scope, query, k, weight=lexical_weight, search_kwargs=search_kwargs, words=words)
        )
    settings: dict[str, Any] = {"k": k, **search_kwargs, **scope.search_settings}
    scored: list[tuple[Document, float]]
    if lexical_weight and isinstance(store, HybridStore):
        settings["lexical_weight"] = lexical_weight
        scored = yield Call(store.hybrid_search, store.ahybrid_search, (query,), settings)
    else:
        scored = yield from search(store, query, settings)
    scope.check_found([document for document, _ in scored])
    found = [read_sentence(document) for document, _ in scored]
    return found, [as_hit(sentence, float(score)) for sentence, (_, score) in zip(found, scored, strict=True)]


def _with_words(
    scope: Scope, query: str, k: int, *, weight: float, search_kwargs: Mapping[str, Any], words: WordIndex
) -> Steps[tuple[list[StoredSentence], list[Hit]]]:
    settings = {"k": max(k, CANDIDATES), **search_kwargs, **scope.search_settings}
    scored = yield from search(scope.store, query, settings)
    scope.check_found([document for document, _ in scored])
    found = [read_sentence(document) for document, _ in scored]
    # Under a filter, a sentence that wasn't found may be one that it forbids; a score would tell its words.
    rank = partial(words.rank, found_alone=scope.is_bound)
    ranked = yield in_thread(rank, query, found, [score for _, score in scored], weight)
    return [found[place] for place, _ in ranked[:k]], [as_hit(found[place], score) for place, score in ranked[:k]]
