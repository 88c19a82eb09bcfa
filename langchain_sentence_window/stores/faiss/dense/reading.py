"""The vectors of the database as they are searched, mixed with their neighbors', in parts.

An index is built from parts that are read one by one, each in a state of its own, so that no reading lasts long. All
parts skip the rows that were added since the first. Documents that change meanwhile are read again at the end, as they
are after any other write.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from langchain_sentence_window._types import Rows, Vectors
from langchain_sentence_window.embedding.mixing import mix_neighbors, normalized
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot

PART_SIZE = 10_000
"""Rows of a part, and of a document that begins in it also the later ones."""

LAST_OF_ALL = 2**62
"""A row after any other."""

Part = tuple[Rows, Vectors]


class Place(NamedTuple):
    """How far the rows have been read.

    Attributes:
        row: The last row that was looked at.
        last_row: The last row to read.
        unfinished: Documents that were read whole, with their last rows, which come after ``row``.
    """

    row: int
    last_row: int
    unfinished: Mapping[int, int]

    @property
    def is_end(self) -> bool:
        """Whether all rows were read."""
        return self.row >= self.last_row


def start_of(snapshot: Snapshot) -> Place:
    """Return the place before the first row."""
    return Place(0, snapshot.state.last_row, {})


def all_parts(snapshot: Snapshot, weights: Sequence[float]) -> Iterator[Part]:
    """Yield all rows and their vectors, which are slices of one state."""
    place = start_of(snapshot)
    while not place.is_end:
        place, parts = next_part(snapshot, place, weights)
        yield from parts


def next_part(snapshot: Snapshot, place: Place, weights: Sequence[float]) -> tuple[Place, list[Part]]:
    """Read the rows after a place, and all other rows of the documents that begin there.

    Args:
        snapshot: A state of the database.
        place: Where to go on.
        weights: The weights of a sentence and its neighbors in each vector.

    Returns:
        Where to go on next; rows in rising order, and their unit vectors of shape ``(n, dimension)``.
    """
    until, documents = snapshot.documents_after(place.row, place.last_row, PART_SIZE)
    if len(weights) == 1:
        parts = [(rows, normalized(vectors)) for rows, vectors in snapshot.vectors_after(place.row, until)]
        return Place(until, place.last_row, {}), parts
    began = sorted(documents - place.unfinished.keys())
    parts = [
        *of_documents(snapshot, began, weights, until=place.last_row),
        *of_none(snapshot, place.row, until=until),
    ]
    last_rows = {**place.unfinished, **snapshot.last_rows(began, until, place.last_row)}
    unfinished = {document: row for document, row in last_rows.items() if row > until}
    return Place(until, place.last_row, unfinished), _in_row_order(parts)


def of_documents(
    snapshot: Snapshot, documents: Iterable[int], weights: Sequence[float], *, until: int = LAST_OF_ALL
) -> Iterator[Part]:
    """Yield the rows of some documents, up to one, and their unit vectors."""
    numbers = ",".join(map(str, sorted(documents)))
    condition = f"document IN ({numbers}) AND row <= {until:d}"
    for rows, vectors, positions in snapshot.vectors_in_order((condition, [])):
        yield rows, np.ascontiguousarray(mix_neighbors(vectors, positions, weights))


def of_none(snapshot: Snapshot, after: int, *, until: int = LAST_OF_ALL) -> Iterator[Part]:
    """Yield the rows of no document, after one and up to another, and their unit vectors."""
    for rows, vectors in snapshot.vectors_of_no_document(after, until):
        yield rows, normalized(vectors)


def _in_row_order(parts: Sequence[Part]) -> list[Part]:
    if not parts:
        return []
    rows, vectors = (np.concatenate(each) for each in zip(*parts, strict=True))
    if np.any(np.diff(rows) < 0):  # else they needn't be copied again
        order = np.argsort(rows)
        rows, vectors = rows[order], vectors[order]
    return [(rows, vectors)]
