"""Files of FAISS indexes, in FAISS's own format: an ``IndexIDMap`` whose ids are the rows."""

from pathlib import Path
from typing import Any, NamedTuple

from langchain_sentence_window._types import Rows
from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.stores.faiss.database.checksums import Seal, seal_of
from langchain_sentence_window.stores.faiss.database.files import new_file
from langchain_sentence_window.stores.faiss.dense.factory import (
    arrange_centroids,
    is_left_in_file,
    load_faiss,
    make_faiss_index,
)


class LoadedIndex(NamedTuple):
    """An index from a file.

    Attributes:
        index: The index.
        rows: Its ids.
        owner: The object that frees the index when it is collected.
    """

    index: Any
    rows: Rows
    owner: Any


def write_index(path: Path, index: Any, rows: Rows) -> Seal | None:
    """Write an index to a file, so that the old or the new file is complete at any moment.

    Args:
        path: The file.
        index: The index.
        rows: The id of each of its positions.

    Returns:
        The file's seal.

    Raises:
        StoreError: The file can't be written; the old one is unchanged.
    """
    wrapper = load_faiss().IndexIDMap(make_faiss_index("Flat", index.d))
    wrapper.index, wrapper.ntotal = index, index.ntotal
    load_faiss().copy_array_to_vector(rows, wrapper.id_map)
    try:
        with new_file(path) as part:
            load_faiss().write_index(wrapper, str(part))
            seal = seal_of(part)
    except (OSError, RuntimeError) as error:
        raise StoreError(
            f"{str(path)!r} can't be written: {error}; make room, or go on without it, as the database has everything"
        ) from error
    return seal


def read_index(path: Path, *, mapped: bool) -> LoadedIndex | None:
    """Load an index from a file whose checksum was verified.

    Args:
        path: A file that `write_index` wrote.
        mapped: Whether to leave the vectors in the file and read them on demand, if FAISS can. None can be added or
            removed then.

    Returns:
        The index; ``None`` if this release of FAISS can't read it, as another may have written it.
    """
    faiss = load_faiss()
    try:
        wrapper = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
        if not mapped and is_left_in_file(faiss.downcast_index(wrapper.index)):
            wrapper = faiss.read_index(str(path))
        rows = faiss.vector_to_array(wrapper.id_map)
    except (RuntimeError, AttributeError):
        return None
    faiss.Int64Vector().swap(wrapper.id_map)  # frees its memory
    index = faiss.downcast_index(wrapper.index)
    arrange_centroids(index)
    return LoadedIndex(index, rows, wrapper)
