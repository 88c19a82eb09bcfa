"""Searches of one state of a store, as a retriever makes them."""

from typing import Any

import numpy as np

from langchain_sentence_window import FaissStore


def unit(store: FaissStore, query: str) -> Any:
    vector = np.array(store.embeddings.embed_query(query), dtype=np.float32)
    return vector / np.linalg.norm(vector)


def candidates_of(store: FaissStore, query: str, k: int = 9, *, lexical_weight: float = 0.25, **settings: Any) -> Any:
    """Return the candidates of a search, best first."""
    vector = unit(store, query)
    return store.read(
        lambda state: state.search(vector, query, k, lexical_weight=lexical_weight, **settings).candidates
    )
