"""The size of a store: counts, and bytes on disk."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from langchain_sentence_window.stores.faiss.database.files import size_of
from langchain_sentence_window.stores.faiss.layout import LEXICAL_FOLDER, VECTORS_FILE


@dataclass(frozen=True, slots=True)
class StoreStats:
    """The contents and the size of a store.

    Attributes:
        documents: The number of source documents.
        sentences: The number of documents in the store; a retriever adds one for each sentence.
        bytes: Bytes on disk by part: ``database``, ``vectors`` (the saved FAISS index) and ``lexical``. Empty for a
            store in memory.
        index: The name of the index for FAISS's index factory.
        neighbor_weights: The weights of a sentence and its neighbors in each vector.
        tombstones: The number of deleted vectors that still take up memory in the FAISS index.
        rebuild_saves: Bytes of memory that rebuilding the FAISS index would free.
        generation: The number of writes so far.
        staged_texts: The number of texts from interrupted calls whose vectors are kept for a retry.
    """

    documents: int
    sentences: int
    bytes: Mapping[str, int]
    index: str
    neighbor_weights: tuple[float, ...]
    tombstones: int
    rebuild_saves: int
    generation: int
    staged_texts: int


def bytes_by_part(folder: Path | None) -> dict[str, int]:
    """Return the bytes on disk of each part of a store, or an empty dict for a store in memory."""
    if folder is None:
        return {}
    parts = {"database": "sentences.*", "vectors": VECTORS_FILE, "lexical": f"{LEXICAL_FOLDER}/*"}
    return {part: _bytes_of(folder, pattern) for part, pattern in parts.items()}


def _bytes_of(folder: Path, pattern: str) -> int:
    try:
        return sum(map(size_of, folder.glob(pattern)))
    except OSError:
        return 0  # the folder disappears meanwhile
