"""Vectors as arrays: converted from what embedders return, and mixed with those of neighbors.

A sentence often lacks the word that it is about, which stands in the sentence before. So the vector that is searched is
``v_i = normalize(sum of w_|d| * e_(i+d))`` over the neighbors in the same section: a moving average over the sentences
of a document. Vectors are mixed when a document is added, so a query costs nothing extra. It works with any embedder.
"""

import inspect
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

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
    own, shares = _shares(positions, weights)
    mixed = np.empty_like(vectors, dtype=np.float32)
    # Slices stay in the processor's cache, which is much faster.
    for start in range(0, len(vectors), _BATCH_SIZE):
        end = min(start + _BATCH_SIZE, len(vectors))
        part = vectors[start:end] * own
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
    own, shares = _shares(positions, weights)
    mixed = vectors[at] * own
    for apart, share in enumerate(shares, 1):
        has_next, has_previous = at + apart < len(vectors), at >= apart
        mixed[has_next] += share[at[has_next]] * vectors[at[has_next] + apart]
        mixed[has_previous] += share[at[has_previous] - apart] * vectors[at[has_previous] - apart]
    return normalized(mixed)


def _shares(positions: Positions, weights: Sequence[float]) -> tuple[np.float32, list[Vectors]]:
    """Return the weight of a row for itself, and those of each row for the rows one, two and so on rows later.

    Weights are scaled: the largest becomes 1, and those above 0 stay above 0 in single precision.

    Returns:
        The first weight; for each step, weights by the distance of the sentences' indexes, shape ``(n - apart, 1)``; 0
        for rows that aren't neighbors.
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
        shares.append(np.zeros((len(steps), 1), dtype=np.float32))
        shares[-1][related, 0] = scaled[steps[related]]
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


Floats: TypeAlias = npt.NDArray[np.floating[Any]]

_UNREADABLE = (TypeError, ValueError, RuntimeError, OverflowError)
_MAX_SHOWN_CHARS = 80


def to_rows(vectors: object, texts: Sequence[str] | int) -> Floats:
    """Convert vectors to an array of single precision or better, without scaling.

    Args:
        vectors: The value that an embedder returned.
        texts: The texts that it embedded, to be named in messages, or the number of texts.

    Returns:
        An array of shape ``(n, dimension)``.

    Raises:
        EmbeddingError: There isn't one vector of finite numbers for each text, all of one length.
    """
    count = texts if isinstance(texts, int) else len(texts)
    rows: Any = vectors if hasattr(vectors, "__array__") else _listed(vectors, count)
    array = _floats(rows)
    if array is None:
        array = _row_by_row(rows, texts)
    if array.ndim != 2 or len(array) != count or not array.shape[1]:  # noqa: PLR2004
        raise EmbeddingError(
            f"expected vectors of shape ({count}, dimension), one for each text, and got {array.shape}; "
            "check what the embedder returns"
        )
    finite = np.isfinite(array)
    if not finite.all():
        bad, number = np.argwhere(~finite)[0].tolist()
        raise EmbeddingError(
            f"{_which(bad, texts)} holds NaN or infinity at position {number}; check the text it was made from"
        )
    return array


def _row_by_row(rows: Iterable[Any], texts: Sequence[str] | int) -> Floats:
    """Convert rows of different kinds, such as tensors or generators, and name one that can't be used."""
    arrays: list[Floats] = []
    for number, row in enumerate(rows):
        array = _floats(row if hasattr(row, "__array__") else _listed(row, None))
        if array is None or array.shape != (arrays or [array])[0].shape:
            raise EmbeddingError(
                f"{_which(number, texts)} isn't a list of numbers as long as the others; check what the embedder "
                "returns"
            )
        arrays.append(array)
    return np.stack(arrays)


def _floats(values: object) -> Floats | None:
    """Convert numbers to an array of at least single precision, whole ones to double precision.

    Returns:
        ``None`` if they are something else, or rows of different lengths.
    """
    try:
        array: npt.NDArray[Any] = np.asarray(_from_torch(values))
    except _UNREADABLE:
        return None
    if array.dtype.kind in "iu":
        return array.astype(np.float64)
    if array.dtype.kind != "f":
        return None
    return array if array.dtype.itemsize >= 4 else array.astype(np.float32)  # noqa: PLR2004


def _listed(given: object, count: int | None) -> list[object]:
    """Return the items of an iterable as a list: of a generator, one more than expected at most."""
    if isinstance(given, list):
        return given
    if inspect.iscoroutine(given):
        given.close()
    if not isinstance(given, Iterable) or isinstance(given, str | bytes | dict | set | frozenset):
        raise EmbeddingError(
            f"vectors must be lists of numbers, and the embedder returned {type(given).__name__}; "
            "check what the embedder returns"
        )
    return list(islice(given, None if count is None else count + 1))


def _from_torch(given: object) -> object:
    """Convert a torch tensor of any device and precision; return anything else as it is."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(given, torch.Tensor):
        return given
    tensor = given.detach().cpu()
    return tensor.float().numpy() if tensor.is_floating_point() and tensor.itemsize < 4 else tensor.numpy()  # noqa: PLR2004


def _which(number: int, texts: Sequence[str] | int) -> str:
    if isinstance(texts, int):
        return f"vector {number} of {texts}"
    of = f", of the text {texts[number][:_MAX_SHOWN_CHARS]!r}," if number < len(texts) else ""
    return f"vector {number} of {len(texts)}{of}"
