"""Making an index from the database: in one go, or in steps between which others read and write."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from langchain_sentence_window.embedding.mixing import normalized
from langchain_sentence_window.stores.faiss.database.schema import Changes, Version
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.dense.building import DenseIndex, empty_index
from langchain_sentence_window.stores.faiss.dense.choice import choose
from langchain_sentence_window.stores.faiss.dense.fine_vectors import FineVectors, RecordFile
from langchain_sentence_window.stores.faiss.dense.reading import (
    Place,
    all_parts,
    next_part,
    of_documents,
    of_none,
    start_of,
)
from langchain_sentence_window.stores.faiss.dense.saved import RECORDS_FILE

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
        index.remove(snapshot.rows((f"document IN ({numbers})", [])))
        for rows, vectors in of_documents(snapshot, changes.documents, self._weights):
            index.add(rows, vectors)
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
