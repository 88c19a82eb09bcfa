"""The vectors of the database as they are searched, mixed with their neighbors', in parts.

An index is built from parts that are read one by one, each in a state of its own, so that no reading lasts long. All
parts skip the rows that were added since the first. Documents that change meanwhile are read again at the end, as they
are after any other write.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from langchain_sentence_window._primitives import Rows, Vectors
from langchain_sentence_window.embedding.vectors import mix_neighbors, normalized
from langchain_sentence_window.stores.faiss.database.reads import vectors_in_order
from langchain_sentence_window.stores.faiss.database.schema import Changes, Version
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.dense.dense_index import RECORDS_FILE, DenseIndex, empty_index
from langchain_sentence_window.stores.faiss.dense.faiss_factory import choose
from langchain_sentence_window.stores.faiss.dense.fine_vectors import FineVectors, RecordFile

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
    for rows, vectors, positions in vectors_in_order(snapshot.execute, (condition, [])):
        yield rows, np.ascontiguousarray(mix_neighbors(vectors, positions, weights))


def of_none(snapshot: Snapshot, after: int, *, until: int = LAST_OF_ALL) -> Iterator[Part]:
    """Yield the rows of no document, after one and up to another, and their unit vectors."""
    for rows, vectors in snapshot.vectors_after(after, until, of_no_document=True):
        yield rows, normalized(vectors)


def _in_row_order(parts: Sequence[Part]) -> list[Part]:
    if not parts:
        return []
    rows, vectors = (np.concatenate(each) for each in zip(*parts, strict=True))
    if np.any(np.diff(rows) < 0):  # else they needn't be copied again
        order = np.argsort(rows)
        rows, vectors = rows[order], vectors[order]
    return [(rows, vectors)]


T = TypeVar("T")

Step: TypeAlias = Callable[[Callable[[], Any]], Any]
"""Runs a step of a change as a call of the store, and returns its result; see `change`."""

Read: TypeAlias = Callable[[Callable[[Snapshot], Any]], Any]
"""Reads one state of the database."""


class _Plan(NamedTuple):
    version: Version
    place: Place
    dimension: int
    sentences: int
    name: str


class IndexMaker:
    """Makes the index that was asked for."""

    def __init__(self, folder: Path | None, asked: str, weights: Sequence[float]) -> None:
        """Set what all indexes have in common.

        Args:
            folder: Where records are written; ``None`` keeps them in memory.
            asked: The name of the index, or ``auto``; see `choose`.
            weights: The weights of a sentence and its neighbors in each vector.
        """
        self._folder = folder
        self._asked = asked
        self._weights = weights

    def make(self, snapshot: Snapshot, present: str | None) -> DenseIndex | None:
        """Make the index of one state of the database; ``None`` if it never had a vector.

        Args:
            snapshot: The state.
            present: The name of the present index, if there is one.
        """
        plan = self._plan(snapshot, present)
        if plan is None:
            return None
        index = self._empty(plan, snapshot.sample_vectors, lambda step: step())
        for rows, vectors in all_parts(snapshot, self._weights):
            index.add(rows, vectors)
        return index

    def make_in_steps(self, read: Read, step: Step, present: str) -> tuple[DenseIndex, Version] | None:
        """Make an index while others read and write.

        Args:
            read: Reads the database.
            step: Runs a step; may raise an exception to end the work.
            present: The name of the present index.

        Returns:
            The index, and the version to whose later changes it is to be brought up; ``None`` for an empty database.
        """
        plan: _Plan | None = step(lambda: read(lambda snapshot: self._plan(snapshot, present)))
        if plan is None:
            return None
        index = self._empty(plan, lambda size: step(lambda: read(lambda snapshot: snapshot.sample_vectors(size))), step)
        place = plan.place
        try:
            while not place.is_end:
                place = step(partial(read, partial(self._add_part, place, index)))
        except BaseException:
            index.discard()
            raise
        return index, plan.version

    def apply(self, changes: Changes, snapshot: Snapshot, index: DenseIndex) -> None:
        """Bring an index up to date."""
        index.remove(changes.removed)
        if len(self._weights) == 1:
            for rows, vectors in snapshot.vectors_after(changes.last_row):
                index.add(rows, normalized(vectors))
            return
        # All sentences of a changed document may have new neighbors.
        numbers = ",".join(map(str, sorted(changes.documents)))
        changed = snapshot.rows((f"document IN ({numbers})", []))
        if len(changed):
            index.remove(changed)
            for rows, vectors in of_documents(snapshot, changes.documents, self._weights):
                index.add(rows, vectors)
        if snapshot.state.last_row > changes.last_row:
            for rows, vectors in of_none(snapshot, changes.last_row):
                index.add(rows, vectors)

    def _plan(self, snapshot: Snapshot, present: str | None) -> _Plan | None:
        dimension, count = snapshot.fact("dimension"), snapshot.state.sentences
        if dimension is None:
            return None
        name = choose(self._asked, dimension, count, present).name
        return _Plan(snapshot.version, start_of(snapshot), dimension, count, name)

    def _empty(self, plan: _Plan, sample: Callable[[int], Any], step: Step) -> DenseIndex:
        new_fine = partial(self._new_fine, plan.dimension)
        return empty_index(plan.name, plan.dimension, plan.sentences, sample, new_fine, in_turn=step)

    def _add_part(self, place: Place, index: DenseIndex, snapshot: Snapshot) -> Place:
        after, parts = next_part(snapshot, place, self._weights)
        for rows, vectors in parts:
            index.add(rows, vectors)
        return after

    def _new_fine(self, dimension: int) -> FineVectors:
        if self._folder is None:
            return FineVectors(dimension)
        try:
            return FineVectors(dimension, RecordFile.new(self._folder / RECORDS_FILE, dimension))
        except OSError:
            return FineVectors(dimension)  # a search needs no room on the disk
