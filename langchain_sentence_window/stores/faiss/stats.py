"""The size of a store: counts, and bytes on disk."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from langchain_sentence_window.stores.faiss.database.files import size_of
from langchain_sentence_window.stores.faiss.layout import LEXICAL_FOLDER, VECTOR_FILES


@dataclass(frozen=True, slots=True)
class StoreStats:
    """The contents and the size of a store.

    Attributes:
        documents: The number of source documents.
        sentences: The number of documents in the store; a retriever adds one for each sentence.
        bytes: Bytes on disk by part: ``database``, ``vectors`` (the saved FAISS index) and ``lexical``. Empty for a
            store in memory.
        index: The index that was asked for: a name for FAISS's index factory, or ``auto``.
        index_in_use: The name of the index that is searched now, or that the next search makes.
        index_reason: Why it is this one, as a clause.
        index_to_come: The name of the index that is being made in the background; ``None`` if none is.
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
    index_in_use: str
    index_reason: str
    index_to_come: str | None
    neighbor_weights: tuple[float, ...]
    tombstones: int
    rebuild_saves: int
    generation: int
    staged_texts: int


def bytes_by_part(folder: Path | None) -> dict[str, int]:
    """Return the bytes on disk of each part of a store, or an empty dict for a store in memory."""
    if folder is None:
        return {}
    parts = {"database": "sentences.*", "vectors": VECTOR_FILES, "lexical": f"{LEXICAL_FOLDER}/*"}
    return {part: _bytes_of(folder, pattern) for part, pattern in parts.items()}


def _bytes_of(folder: Path, pattern: str) -> int:
    try:
        return sum(map(size_of, folder.glob(pattern)))
    except OSError:
        return 0  # the folder disappears meanwhile
