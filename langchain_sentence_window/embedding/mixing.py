"""Neighbor mixing: each sentence's vector gets a little of its neighbors' vectors.

A sentence often lacks the word that it is about, which stands in the sentence before. So the vector that is searched is
``v_i = normalize(sum of w_|d| * e_(i+d))`` over the neighbors in the same section: a moving average over the sentences
of a document. Vectors are mixed when a document is added, so a query costs nothing extra. It works with any embedder.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._primitives import Vectors

Numbers = npt.NDArray[np.int64]

NEIGHBOR_WEIGHTS = (1.0, 0.3, 0.2, 0.1)
"""Default weights of a sentence, of the sentences next to it, of those two away, and so on. See the benchmarks page."""

_BATCH_SIZE = 1_024

_SHORT, _LONG = 1e-15, 1e15

_MIN_SHARE = 1e-25
"""The smallest weight above 0, as a share of the largest."""

NOWHERE = -1
"""The document of a sentence that has no neighbors."""


@dataclass(frozen=True, slots=True)
class Positions:
    """Positions of sentences: arrays of one length, sorted by document, then by index.

    Attributes:
        documents: A number for the document of each sentence; `NOWHERE` for a sentence without neighbors.
        sections: A number for its section, distinct within a document.
        indexes: Its index in the document; deleted sentences leave gaps.
    """

    documents: Numbers
    sections: Numbers
    indexes: Numbers


def mix_neighbors(vectors: Vectors, positions: Positions, weights: Sequence[float]) -> Vectors:
    """Mix each vector with those of its neighbors, and normalize it.

    Args:
        vectors: Vectors of ``n`` sentences, shape ``(n, dimension)``.
        positions: Positions of the same sentences, in the same order.
        weights: Weights of the sentence itself, of the sentences next to it, of those two away, and so on; 0 or more,
            the first above 0.

    Returns:
        Unit vectors of the same shape; a mixture of length 0 stays zero.
    """
    scaled = _scaled(weights)
    shares = [_shares(positions, apart, scaled) for apart in range(1, len(scaled))]
    mixed = np.empty_like(vectors, dtype=np.float32)
    # Slices stay in the processor's cache, which is much faster.
    for start in range(0, len(vectors), _BATCH_SIZE):
        end = min(start + _BATCH_SIZE, len(vectors))
        part = vectors[start:end] * scaled[0]
        for apart, share in enumerate(shares, 1):
            stop = min(end, len(vectors) - apart)
            if start < stop:
                part[: stop - start] += share[start:stop] * vectors[start + apart : stop + apart]
            first = max(start, apart)
            if first < end:
                part[first - start :] += share[first - apart : end - apart] * vectors[first - apart : end - apart]
        mixed[start:end] = normalized(part)
    return mixed


def mix_some(vectors: Vectors, positions: Positions, weights: Sequence[float], at: Numbers) -> Vectors:
    """Mix the vectors of some of the sentences, as `mix_neighbors` does for all.

    Args:
        vectors: As for `mix_neighbors`.
        positions: As for `mix_neighbors`.
        weights: As for `mix_neighbors`.
        at: Which sentences, by their place in the arrays.

    Returns:
        Unit vectors of shape ``(len(at), dimension)``.
    """
    scaled = _scaled(weights)
    mixed = vectors[at] * scaled[0]
    for apart in range(1, len(scaled)):
        share = _shares(positions, apart, scaled)
        has_next, has_previous = at + apart < len(vectors), at >= apart
        mixed[has_next] += share[at[has_next]] * vectors[at[has_next] + apart]
        mixed[has_previous] += share[at[has_previous] - apart] * vectors[at[has_previous] - apart]
    return normalized(mixed)


def _shares(positions: Positions, apart: int, weights: Vectors) -> Vectors:
    """Return the weight of each row for the row ``apart`` rows later; 0 if they aren't neighbors.

    Returns:
        Weights by the distance of the sentences' indexes, shape ``(n - apart, 1)``.
    """
    steps = positions.indexes[apart:] - positions.indexes[:-apart]
    related = (
        (positions.documents[apart:] == positions.documents[:-apart])
        & (positions.sections[apart:] == positions.sections[:-apart])
        & (positions.documents[apart:] != NOWHERE)
        & (steps > 0)
        & (steps < len(weights))
    )
    shares = np.zeros((len(steps), 1), dtype=np.float32)
    shares[related, 0] = weights[steps[related]]
    return shares


def normalized(vectors: npt.NDArray[np.floating[Any]]) -> Vectors:
    """Scale each vector to length 1, however long or short it is; a vector of zeros stays as it is.

    Args:
        vectors: Finite numbers of single precision or better, shape ``(n, dimension)``.

    Returns:
        A new array of the same shape.
    """
    with np.errstate(all="ignore"):
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        extreme = ~((lengths > _SHORT) & (lengths < _LONG))[:, 0]
        if extreme.any():
            vectors = vectors.copy()
            vectors[extreme] = _near_one(vectors[extreme])
            lengths[extreme] = np.linalg.norm(vectors[extreme], axis=1, keepdims=True)
        return np.asarray(vectors / np.where(lengths > 0, lengths, np.float32(1)), dtype=np.float32)


def is_usual(length: float) -> bool:
    """Return whether a length was computed without underflow or overflow in single precision."""
    return _SHORT < length < _LONG


def _near_one(vectors: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.floating[Any]]:
    """Scale each vector by a power of two, which is exact: its largest number is then between 1/2 and 1."""
    _, exponents = np.frexp(np.abs(vectors).max(axis=1, keepdims=True))
    return np.asarray(np.ldexp(vectors, -exponents), dtype=vectors.dtype)


def _scaled(weights: Sequence[float]) -> Vectors:
    """Scale weights: the largest becomes 1, and those above 0 stay above 0 in single precision."""
    scaled = np.array([float(weight) / float(max(weights)) for weight in weights])
    return np.where(scaled > 0, np.maximum(scaled, _MIN_SHARE), 0).astype(np.float32)
