"""Check the saved FAISS index against the database that it was made from."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from langchain_sentence_window._types import Rows, Vectors
from langchain_sentence_window.embedding.mixing import mix_neighbors
from langchain_sentence_window.stores.faiss.damaged_cache import is_intact
from langchain_sentence_window.stores.faiss.database.checksums import seal_of
from langchain_sentence_window.stores.faiss.database.schema import Changes
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.dense.building import DenseIndex
from langchain_sentence_window.stores.faiss.dense.cache import VECTORS_FACT
from langchain_sentence_window.stores.faiss.dense.fine_vectors import DamagedRecordError
from langchain_sentence_window.stores.faiss.dense.saved import file_name, load_index

MIN_COSINE = 0.9
"""The lowest cosine of a vector as the index has it and as the database has it. Codes of 6 bits keep 0.99 and more;
two sentences whose vectors are closer than this can't be told apart."""

_REBUILT = "delete it; it is built again from the database at the next search"


def vector_problems(snapshot: Snapshot, folder: Path) -> Iterator[str]:
    """Yield what is wrong with a saved FAISS index; nothing if it is only behind the database, or isn't there."""
    saved = snapshot.fact(VECTORS_FACT)
    file = folder / ("" if saved is None else file_name(saved))
    if saved is None or not file.exists():
        return
    if not is_intact(seal_of(file), saved["seal"]):
        yield f"{str(file)!r} isn't as it was written, or saving it was interrupted; {_REBUILT}"
        return
    changes = snapshot.changes_since(saved["generation"], saved["token"])
    if changes is None:
        return  # too far behind to be used
    index = load_index(folder, saved, mapped=False)
    if index is None and saved.get("records"):
        yield f"the records of {str(file)!r} are missing, or aren't as they were written; {_REBUILT}"
    if index is None or index.dimension != snapshot.fact("dimension"):
        return  # of another release of FAISS, or of vectors that are all gone
    if not np.array_equal(np.sort(index.live_rows), _rows_at(snapshot, changes)):
        yield f"{str(file)!r} doesn't hold the sentences that the database held when it was saved; {_REBUILT}"
        return
    try:
        are_alike = _are_alike(snapshot, index, changes, saved["weights"])
    except DamagedRecordError as error:
        yield str(error)
        return
    if not are_alike:
        yield f"{str(file)!r} holds other vectors than the database; {_REBUILT}"


def _rows_at(snapshot: Snapshot, changes: Changes) -> Rows:
    """Return the rows that the database held before some changes, in order."""
    now = snapshot.rows((f"row <= {changes.last_row:d}", []))
    removed = changes.removed[changes.removed <= changes.last_row]
    return np.union1d(now, removed)


def _are_alike(snapshot: Snapshot, index: DenseIndex, changes: Changes, weights: Sequence[float]) -> bool:
    """Return whether the index holds the database's vectors, of documents that weren't changed since."""
    changed = np.array(sorted(changes.documents), dtype=np.int64)
    for rows, vectors, positions in snapshot.vectors_in_order(("1", [])):
        kept = (rows <= changes.last_row) & ~np.isin(positions.documents, changed)
        expected = mix_neighbors(vectors, positions, weights)[kept]
        if kept.any() and _lowest_cosine(index.decoded(rows[kept]), expected) < MIN_COSINE:
            return False
    return True


def _lowest_cosine(found: Vectors, expected: Vectors) -> float:
    cosines = np.einsum("ij,ij->i", found, expected)
    lengths = np.linalg.norm(found, axis=1) * np.linalg.norm(expected, axis=1)
    told = np.linalg.norm(expected, axis=1) > 0  # vectors that cancel each other out have no direction
    with np.errstate(all="ignore"):
        return float(np.nan_to_num(cosines / lengths)[told].min(initial=1.0))
