"""The files of a saved index, and the record of them in the database.

An index that FAISS searches alone is one file of a fixed name. One whose candidates are compared again is two files,
which must be of one moment. So they have new names each time, the record names both, and the old ones are removed after
the record is written. A process that is killed at any moment leaves a record whose files are there.
"""

import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.stores.faiss.damaged_cache import is_intact
from langchain_sentence_window.stores.faiss.database.checksums import seal_of
from langchain_sentence_window.stores.faiss.database.files import remove_abandoned
from langchain_sentence_window.stores.faiss.database.state_files import stamp_of
from langchain_sentence_window.stores.faiss.dense.building import DenseIndex
from langchain_sentence_window.stores.faiss.dense.factory import is_coarse
from langchain_sentence_window.stores.faiss.dense.faiss_file import read_index, write_index
from langchain_sentence_window.stores.faiss.dense.fine_vectors import DamagedRecordError, FineVectors, RecordFile
from langchain_sentence_window.stores.faiss.dense.index import VectorIndex
from langchain_sentence_window.stores.faiss.dense.quantized import QuantizedIndex
from langchain_sentence_window.stores.faiss.layout import VECTOR_FILES_BEGIN, VECTORS_FILE, is_vector_file, vector_files

RECORDS_FILE = "vectors.records"
"""The name that the records of an unfinished index begin with."""

_TOKENS = 2**62


def save_index(folder: Path, index: DenseIndex) -> tuple[dict[str, Any], Callable[[], None]]:
    """Write an index into files in a folder, while others search it.

    Returns:
        The record of the files, and a function that makes the index read from them, while nobody searches it.

    Raises:
        StoreError: They can't be written; the old ones are unchanged.
        DamagedRecordError: The present file of records was damaged.
    """
    record = {"index": index.name, "trained_on": index.trained_on}
    if isinstance(index, VectorIndex):
        return {**record, "file": VECTORS_FILE, "seal": index.save(folder / VECTORS_FILE)}, lambda: None
    name = f"{VECTOR_FILES_BEGIN}.{secrets.token_hex(8)}"
    try:
        file = index.fine.write(folder / f"{name}.records")
    except OSError as error:
        raise StoreError(
            f"{str(folder / name)!r} can't be written: {error}; make room, or go on without it, as the database has "
            "everything"
        ) from error
    seal = write_index(folder / f"{name}.faiss", index.faiss_index, index.ids)
    records = {"file": f"{name}.records", "token": file.token, "count": file.count}
    return {**record, "file": f"{name}.faiss", "seal": seal, "records": records}, lambda: index.fine.adopt(file)


def load_index(folder: Path, saved: Mapping[str, Any], *, mapped: bool) -> DenseIndex | None:
    """Load the index that was saved.

    Args:
        folder: The folder of its files.
        saved: The record of them.
        mapped: Whether to leave the vectors in the file and read them on demand.

    Returns:
        The index; ``None`` if a file isn't as it was written, or this release of FAISS can't read it.
    """
    file = folder / file_name(saved)
    before = stamp_of(file)
    if not is_intact(seal_of(file), saved["seal"]):
        return None
    found = read_index(file, mapped=mapped)
    if found is None or before != stamp_of(file):
        return None  # written by another release of FAISS, or replaced by another process
    name, trained_on = str(saved["index"]), int(saved["trained_on"])
    if not is_coarse(found.index):
        return VectorIndex(found.index, found.rows, trained_on, name=name, owner=found.owner, is_mapped=mapped)
    fine = _load_records(folder, saved.get("records"), int(found.index.d), len(found.rows))
    if fine is None:
        return None
    return QuantizedIndex(name, found.index, fine, found.rows, trained_on, owner=found.owner, is_mapped=mapped)


def _load_records(folder: Path, saved: Any, dimension: int, count: int) -> FineVectors | None:
    if not isinstance(saved, dict) or not is_vector_file(str(saved.get("file"))) or saved.get("count") != count:
        return None
    token = saved.get("token")
    if not isinstance(token, int) or not 0 <= token < _TOKENS:
        return None
    try:
        file = RecordFile.open(folder / saved["file"], dimension, count, token)
    except DamagedRecordError:
        return None
    return FineVectors(dimension, file)


def file_name(saved: Mapping[str, Any]) -> str:
    """Return the name of the FAISS file of a saved index; never one of another folder, whatever the record says."""
    name = str(saved.get("file", VECTORS_FILE))
    return name if is_vector_file(name) else VECTORS_FILE


def remove_others(folder: Path, saved: Mapping[str, Any] | None) -> None:
    """Remove the files of indexes that aren't the saved one, and abandoned ones. Nobody may be saving meanwhile."""
    records = {} if saved is None else saved.get("records") or {}
    kept = {"" if saved is None else file_name(saved), records.get("file")}
    for path in vector_files(folder):
        if path.name not in kept:
            with suppress(OSError):  # Windows keeps files that others have open
                path.unlink()
    remove_abandoned(folder / VECTOR_FILES_BEGIN)
