"""Vectors as arrays: converted from the results of embedders, and mixed with those of neighbors.

A sentence often lacks the word that it is about, which is in the sentence before. So the vector that is searched is
``v_i = normalize(sum of w_|d| * e_(i+d))`` over the neighbors in the same section: a moving average over the sentences
of a document. Vectors are mixed when a document is added, so a query costs nothing extra. It works with any embedder.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window.errors import EmbeddingError

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


def mix_neighbors(
    vectors: Vectors, positions: Positions, weights: Sequence[float], at: Numbers | None = None
) -> Vectors:
    """Mix each vector with those of its neighbors, and normalize it.

    Args:
        vectors: Vectors of ``n`` sentences, shape ``(n, dimension)``.
        positions: Positions of the same sentences, in the same order.
        weights: Weights of the sentence itself, of the sentences next to it, of those two away, and so on; 0 or more,
            the first above 0.
        at: The rows of the sentences whose vectors are mixed; ``None`` for all.

    Returns:
        Unit vectors of these sentences; a mixture of length 0 stays zero.
    """
    own, shares = _shares(positions, weights)
    places = np.arange(len(vectors)) if at is None else at
    mixed = np.empty((len(places), vectors.shape[1]), dtype=np.float32)
    # Small slices stay in the processor's cache, which is much faster.
    for start in range(0, len(places), _BATCH_SIZE):
        rows = places[start : start + _BATCH_SIZE]
        part = vectors[rows] * own
        for apart, share in enumerate(shares, 1):
            # Beyond the ends, shares are 0, so any vector may be read there.
            for others, first in ((rows + apart, rows), (rows - apart, rows - apart)):
                part += share.take(first, axis=0, mode="wrap") * vectors.take(others, axis=0, mode="wrap")
        mixed[start : start + _BATCH_SIZE] = normalized(part)
    return mixed


def _shares(positions: Positions, weights: Sequence[float]) -> tuple[np.float32, list[Vectors]]:
    """Return the weight of each row for itself, and for the rows that are one, two and so on rows later.

    Weights are scaled: the largest becomes 1, and those above 0 stay above 0 in single precision.

    Returns:
        The weight for itself; for each step, an array of shape ``(n, 1)`` with the weight for the row that is so many
        rows later, by the distance of their indexes. It is 0 if they aren't neighbors, or there is no such row.
    """
    ratios = np.array([float(weight) / float(max(weights)) for weight in weights])
    scaled = np.where(ratios > 0, np.maximum(ratios, _MIN_SHARE), 0).astype(np.float32)
    shares: list[Vectors] = []
    for apart in range(1, len(scaled)):
        steps = positions.indexes[apart:] - positions.indexes[:-apart]
        related = (
            (positions.documents[apart:] == positions.documents[:-apart])
            & (positions.sections[apart:] == positions.sections[:-apart])
            & (positions.documents[apart:] != NOWHERE)
            & (steps > 0)
            & (steps < len(scaled))
        )
        share = np.zeros((len(positions.indexes), 1), dtype=np.float32)
        share[: len(steps)][related, 0] = scaled[steps[related]]
        shares.append(share)
    return scaled[0], shares


def normalized(vectors: npt.NDArray[np.floating[Any]]) -> Vectors:
    """Scale each vector to length 1, however long or short it is; a vector of zeros stays as it is.

    Args:
        vectors: Finite numbers of single precision or better, shape ``(n, dimension)``.

    Returns:
        A new array of the same shape.
    """
    with np.errstate(all="ignore"):
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        extreme = ~((lengths > _SHORT) & (lengths < _LONG))
        if extreme.any():
            # Sums of their squares overflow or underflow.
            largest = np.abs(vectors).max(axis=1, keepdims=True)
            vectors = np.where(extreme & (largest > 0), vectors / largest, vectors)
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(lengths > 0, lengths, np.float32(1)), dtype=np.float32)


def is_usual(length: float) -> bool:
    """Return whether a length was computed without underflow or overflow in single precision."""
    return _SHORT < length < _LONG


Floats: TypeAlias = npt.NDArray[np.floating[Any]]


def to_rows(vectors: object, texts: Sequence[str] | int) -> Floats:
    """Convert vectors to an array of single precision or better, without scaling.

    Args:
        vectors: The value that an embedder returned.
        texts: The texts that it embedded, for messages, or their number.

    Returns:
        An array of shape ``(n, dimension)``.

    Raises:
        EmbeddingError: There isn't one vector of finite numbers for each text, all of one length.
    """
    count = texts if isinstance(texts, int) else len(texts)
    array = _as_floats(vectors)
    if array is None or array.ndim != 2 or len(array) != count or not array.shape[1]:  # noqa: PLR2004
        returned = shown(vectors) if array is None else f"numbers of shape {array.shape}"
        raise EmbeddingError(
            f"expected a list of numbers for each of {count} texts, all of one length, and got {returned}; "
            "check what the embedder returns"
        )
    finite = np.isfinite(array)
    if not finite.all():
        bad, number = np.argwhere(~finite)[0].tolist()
        of = "" if isinstance(texts, int) else f", of the text {shown(texts[bad])},"
        raise EmbeddingError(
            f"vector {bad} of {count}{of} holds NaN or infinity at position {number}; check the text it was made from"
        )
    return array


def _as_floats(values: object) -> Floats | None:
    """Convert numbers to an array of at least single precision, integers to double precision.

    Returns:
        ``None`` if they aren't numbers, or rows differ in length.
    """
    try:
        array: npt.NDArray[Any] = np.asarray(values)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return None
    if array.dtype.kind in "iu":
        return array.astype(np.float64)
    if array.dtype.kind != "f":
        return None
    return array if array.dtype.itemsize >= 4 else array.astype(np.float32)  # noqa: PLR2004
