"""Making indexes, and telling when one should be made anew."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from langchain_sentence_window._types import Vectors
from langchain_sentence_window.stores.faiss.dense.choice import Choice, choose
from langchain_sentence_window.stores.faiss.dense.factory import (
    arrange_centroids,
    clusters_of,
    fork_safe_threads,
    is_coarse,
    load_faiss,
    make_faiss_index,
    min_to_train,
    one_thread,
)
from langchain_sentence_window.stores.faiss.dense.fine_vectors import FineVectors
from langchain_sentence_window.stores.faiss.dense.index import VectorIndex
from langchain_sentence_window.stores.faiss.dense.quantized import QuantizedIndex

DenseIndex: TypeAlias = VectorIndex | QuantizedIndex
"""An index of either kind: one that FAISS searches alone, or one whose candidates are compared again."""

_TRAINING_SAMPLE_SIZE = 50_000
_MIN_TOMBSTONES = 1_000
_TRAINING_ROUNDS = 10
_CODE_TRAINING_ROUNDS = 5
_PAIRS_PER_CODE = 64
"""Vectors to train a code with. More, or more rounds, find no more; see the benchmarks page."""
_CODE_SAMPLE_SIZE = 5_000
"""Vectors to train codes with where there are no clusters to train."""


def empty_index(
    name: str,
    dimension: int,
    count: int,
    sample: Callable[[int], Vectors],
    fine: Callable[[], FineVectors],
    *,
    in_turn: Callable[[Callable[[], None]], None] = lambda step: step(),
) -> DenseIndex:
    """Create and train an index, to be filled.

    Args:
        name: Its name for FAISS's index factory, as `choose` names it.
        dimension: The vectors' length.
        count: The number of vectors that it is made for.
        sample: Returns about so many of the vectors, to train with.
        fine: Creates the records of an index whose candidates are compared again.
        in_turn: Runs a step of the training, which takes seconds at most; it may raise an exception to end it.
    """
    index = make_faiss_index(name, dimension)
    if not index.is_trained:
        _train(index, sample(_sample_size(index)), in_turn)
    rows = np.empty(0, dtype=np.int64)
    empty: DenseIndex
    if is_coarse(index):
        empty = QuantizedIndex(name, index, fine(), rows, count)
    else:
        empty = VectorIndex(index, rows, count, name=name)
    empty.reserve(count)
    return empty


def change_due(index: DenseIndex, asked: str) -> Choice | None:
    """Return the index that should replace one, and why; ``None`` if it should stay.

    Args:
        index: The present index.
        asked: The name that was asked for; see `choose`.
    """
    chosen = choose(asked, index.dimension, len(index), index.name)
    if chosen.name != index.name:
        return chosen
    if index.tombstones > max(len(index), _MIN_TOMBSTONES):
        return Choice(chosen.name, f"{index.tombstones:,} of its vectors are removed ones")
    outgrown = index.trained_on < _TRAINING_SAMPLE_SIZE and len(index) > 4 * index.trained_on
    if outgrown and not make_faiss_index(chosen.name, index.dimension).is_trained:
        return Choice(chosen.name, f"it was trained with {index.trained_on:,} vectors only")
    return None


def _sample_size(index: Any) -> int:
    """Return about how many vectors to train an index with."""
    trains_codes_alone = isinstance(index, load_faiss().IndexIVFPQFastScan) and clusters_of(index) == 1
    return max(_CODE_SAMPLE_SIZE if trains_codes_alone else _TRAINING_SAMPLE_SIZE, min_to_train(index))


def _train(index: Any, sample: Vectors, in_turn: Callable[[Callable[[], None]], None]) -> None:
    faiss, clusters = load_faiss(), clusters_of(index)

    def train_with_threads(train: Callable[[], object]) -> Callable[[], None]:
        def step() -> None:
            with fork_safe_threads():
                train()

        return step

    if clusters:
        index.cp.min_points_per_centroid = 1  # no line on stderr for a sample that is a little small
        centroids: Vectors | None = None
        for _ in range(_TRAINING_ROUNDS if clusters > 1 else 1):
            clustering = faiss.Clustering(index.d, clusters, index.cp)
            clustering.niter = 1
            if centroids is not None:
                faiss.copy_array_to_vector(centroids.ravel(), clustering.centroids)
            assignment = make_faiss_index("Flat", index.d)
            in_turn(train_with_threads(partial(clustering.train, sample, assignment)))
            centroids = faiss.vector_to_array(clustering.centroids).reshape(clusters, index.d)
        index.quantizer.add(centroids)
    # With its clusters known, little is left to train.
    if isinstance(index, faiss.IndexIVFPQFastScan):
        in_turn(partial(_train_codes, index, sample))
    else:
        in_turn(train_with_threads(lambda: index.train(sample)))


def _train_codes(index: Any, sample: Vectors) -> None:
    """Train the codes of fast scan, of which each pair of numbers has 16."""
    training = index.pq.cp
    training.min_points_per_centroid, training.max_points_per_centroid = 1, _PAIRS_PER_CODE
    training.niter = _CODE_TRAINING_ROUNDS
    with one_thread():  # each pair is so little work that threads would only wait for each other
        index.train(sample)
    arrange_centroids(index)
