"""The files of a store, and what they hold."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from langchain_sentence_window.stores.faiss.database.files import size_of

DATABASE_FILE = "sentences.sqlite3"
VECTORS_FILE = "vectors.faiss"
LEXICAL_FOLDER = "lexical"


@dataclass(frozen=True, slots=True)
class StoreStats:
    """What a store holds.

    Attributes:
        documents: Source documents.
        sentences: Documents of the store; a retriever puts one there for each sentence.
        bytes: Bytes on disk by part: ``database``, ``vectors`` (the saved FAISS index), ``lexical``.
        index: What FAISS calls the index.
        neighbor_weights: How much of its neighbors each vector is given.
        tombstones: Vectors that were deleted and still take room in the FAISS index.
        rebuild_saves: Bytes of memory that rebuilding the FAISS index would give back.
        generation: The number of writes so far.
        embedded_ahead: Texts of interrupted calls whose vectors are kept for when they are resumed.
    """

    documents: int
    sentences: int
    bytes: Mapping[str, int]
    index: str
    neighbor_weights: tuple[float, ...]
    tombstones: int
    rebuild_saves: int
    generation: int
    embedded_ahead: int


def bytes_by_part(folder: Path | None) -> dict[str, int]:
    """Bytes on disk of each part of a store; none for a store in memory."""
    if folder is None:
        return {}
    parts = {"database": "sentences.*", "vectors": VECTORS_FILE, "lexical": f"{LEXICAL_FOLDER}/*"}
    return {part: _bytes_of(folder, pattern) for part, pattern in parts.items()}


def _bytes_of(folder: Path, pattern: str) -> int:
    try:
        return sum(map(size_of, folder.glob(pattern)))
    except OSError:
        return 0  # the folder goes away meanwhile
