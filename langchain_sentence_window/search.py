"""Searching sentences in any vector store: by meaning and words where the store can, else by meaning."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window.calls import Call, Steps
from langchain_sentence_window.metadata import StoredSentence, as_hit, read_sentence
from langchain_sentence_window.stores import search
from langchain_sentence_window.windows import Hit


@runtime_checkable
class HybridStore(Protocol):
    """A store that can search by meaning and words together, as `FaissStore` can."""

    def hybrid_search(self, query: str, k: int, *, lexical_weight: float, **kwargs: Any) -> Any:
        """Return ``(Document, score)`` pairs, best first."""

    def ahybrid_search(self, query: str, k: int, *, lexical_weight: float, **kwargs: Any) -> Any:
        """Do the same, async."""


def find_sentences(
    store: VectorStore, query: str, k: int, *, lexical_weight: float, search_kwargs: Mapping[str, Any]
) -> Steps[tuple[list[StoredSentence], list[Hit]]]:
    """Search sentences, best first.

    Args:
        store: Where they are.
        query: What is asked.
        k: How many to find at most.
        lexical_weight: How much words count beside meaning, where the store can search by words.
        search_kwargs: What else the store's search is given.

    Returns:
        The sentences, and a hit for each, whose score is higher for a better one.
    """
    settings: dict[str, Any] = {"k": k, **search_kwargs}
    scored: list[tuple[Document, float]]
    if lexical_weight and isinstance(store, HybridStore):
        settings["lexical_weight"] = lexical_weight
        scored = yield Call(store.hybrid_search, store.ahybrid_search, (query,), settings)
    else:
        scored = yield from search(store, query, settings)
    found = [read_sentence(document) for document, _ in scored]
    return found, [as_hit(sentence, float(score)) for sentence, (_, score) in zip(found, scored, strict=True)]
