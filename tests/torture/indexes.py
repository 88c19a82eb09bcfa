"""The kinds of indexes that torture covers, and what to expect of each."""

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import SentenceWindowError
from langchain_sentence_window.store.faiss_index import AUTO, make_faiss_index

INDEXES = (
    *("Flat", "SQ8", "SQfp16", "RaBitQ", "RaBitQ2", "HNSW16", "HNSW16_SQ8"),
    *("IVF8,Flat", "IVF8,SQ8", "IVF8,RaBitQ2", "IVF1,PQ16x4fs", "IVF8,PQ16x4fs", AUTO),
)
"""One of each kind."""

_EXACT = 3e-3
"""How far half precision may move a cosine."""


def known_indexes() -> list[str]:
    """Return the kinds that this version can keep."""
    return [index for index in INDEXES if _is_known(index)]


def finds_all(store: FaissStore) -> bool:
    """Return whether a search for all sentences finds them; graphs and clusters miss some."""
    return not asked_for(store).startswith(("HNSW", "IVF")) or asked_for(store).startswith("IVF1,")


def finds_best(store: FaissStore) -> bool:
    """Return whether a search finds the very best; codes of a bit or two miss some, too."""
    return finds_all(store) and not any(codes in asked_for(store) for codes in ("RaBitQ", "x4fs"))


def is_trained(store: FaissStore) -> bool:
    """Return whether what searches find depends on what the index was trained with."""
    return not finds_best(store) or tolerance(store) > _EXACT


def tolerance(store: FaissStore) -> float:
    """Return how far a cosine may be from that of single precision."""
    return 0.15 if "SQ8" in asked_for(store) else _EXACT  # SQ8 cuts off numbers beyond those it was trained with


def asked_for(store: FaissStore) -> str:
    """Return the name of the index that was asked for. With low limits, what ``auto`` chooses finds all."""
    return str(store.stats().index)


def _is_known(index: str) -> bool:
    if index == AUTO:
        return True
    try:
        make_faiss_index(index, 32)
    except SentenceWindowError:
        return False
    return True
