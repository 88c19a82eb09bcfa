"""What the ``repr`` of a store says."""

from collections.abc import Iterator

from langchain_core.embeddings import Embeddings

from langchain_sentence_window._showing import summary_repr
from langchain_sentence_window.embedding.mixing import NEIGHBOR_WEIGHTS
from langchain_sentence_window.stores.faiss.engine import StoreEngine


def describe_store(name: str, index: StoreEngine | None, embedding: Embeddings | None) -> str:
    """Write where a store is, what it holds, and which of its settings aren't the default.

    Args:
        name: The name of the store's class.
        index: What the store keeps its records in; ``None`` for a store that is only half made.
        embedding: Its embedder, of which only the class is told.
    """
    if index is None:
        return f"<{name}: not opened>"
    try:
        parts = ["closed"] if index.is_closed else list(_parts(index, embedding))
    except Exception:  # noqa: BLE001 - who prints a store, as a debugger does, wants to see it, whatever befell it
        parts = ["closed" if index.is_closed else "can't be read"]
    return summary_repr(name, index._folder, parts)


def _parts(index: StoreEngine, embedding: Embeddings | None) -> Iterator[str]:
    stats = index.stats()
    yield f"documents={stats.documents}"
    yield f"sentences={stats.sentences}"
    yield f"index={stats.index!r}"
    yield f"embedding={type(embedding).__name__}"
    if stats.neighbor_weights != NEIGHBOR_WEIGHTS:
        yield f"neighbor_weights={stats.neighbor_weights}"
    if index.is_read_only:
        yield "read_only=True"
