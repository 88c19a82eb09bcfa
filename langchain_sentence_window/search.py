"""Searching sentences in any vector store: by meaning and words where the store can, else by meaning."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window.calls import Call, Steps
from langchain_sentence_window.metadata import StoredSentence, as_hit, read_sentence
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
        search, asearch = store.similarity_search_with_score, store.asimilarity_search_with_score
        scored = yield Call(search, asearch, (query,), settings)
    found = [read_sentence(document) for document, _ in scored]
    return found, _hits(found, [score for _, score in scored])


def _hits(found: Sequence[StoredSentence], scores: Sequence[float]) -> list[Hit]:
    """Pair sentences and scores, both best first, as hits whose higher score is better.

    Some stores score by distance; they are told by scores that rise.
    """
    sign = -1.0 if scores and scores[0] < scores[-1] else 1.0
    return [as_hit(sentence, sign * float(score)) for sentence, score in zip(found, scores, strict=True)]
