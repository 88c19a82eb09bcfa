"""The ``repr`` of a store."""

from collections.abc import Iterator

from langchain_core.embeddings import Embeddings

from langchain_sentence_window._showing import summary_repr
from langchain_sentence_window.embedding.mixing import NEIGHBOR_WEIGHTS
from langchain_sentence_window.stores.faiss.engine import StoreEngine


def describe_store(name: str, engine: StoreEngine | None, embedding: Embeddings | None) -> str:
    """Describe the path, the contents and the settings of a store that aren't the default; never raises.

    Args:
        name: The name of the store's class.
        engine: The store's engine; ``None`` for a store whose construction failed.
        embedding: The store's embedder, of which only the class is shown.
    """
    if engine is None:
        return f"<{name}: not opened>"
    try:
        parts = ["closed"] if engine.is_closed else list(_parts(engine, embedding))
    except Exception:  # noqa: BLE001 - a debugger prints stores in any state
        parts = ["closed" if engine.is_closed else "can't be read"]
    return summary_repr(name, engine.folder, parts)


def _parts(engine: StoreEngine, embedding: Embeddings | None) -> Iterator[str]:
    stats = engine.stats()
    yield f"documents={stats.documents}"
    yield f"sentences={stats.sentences}"
    yield f"index={stats.index_in_use!r}"
    yield f"embedding={type(embedding).__name__}"
    if stats.neighbor_weights != NEIGHBOR_WEIGHTS:
        yield f"neighbor_weights={stats.neighbor_weights}"
    if engine.is_read_only:
        yield "read_only=True"
