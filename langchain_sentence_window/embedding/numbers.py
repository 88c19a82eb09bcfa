"""Conversion of what embedders return to arrays: lists, tuples, generators, NumPy arrays and torch tensors."""

import inspect
import sys
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import islice
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from langchain_sentence_window.errors import EmbeddingError

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
    given = vectors if hasattr(vectors, "__array__") else _listed(vectors, count)
    array = _at_once(given)
    if array is None and isinstance(given, list):
        array = _one_by_one(given, texts)
    elif array is None:
        array = _numbers(given, "vectors")
    if array.ndim != 2 or len(array) != count or not array.shape[1]:  # noqa: PLR2004
        raise EmbeddingError(
            f"expected vectors of shape ({count}, dimension), one for each text, and got {array.shape}; "
            "check what the embedder returns"
        )
    finite = np.isfinite(array)
    if not finite.all():
        bad, number = np.argwhere(~finite)[0].tolist()
        raise EmbeddingError(
            f"{_which(bad, texts)} holds NaN or infinity, its number {number}; check the text it was made from"
        )
    return array


def to_row(vector: object) -> Floats:
    """Convert a single vector to an array of shape ``(dimension,)``, as `to_rows` does.

    Raises:
        EmbeddingError: It isn't a list of finite numbers.
    """
    array = _numbers(vector, "a vector")
    if array.ndim != 1 or not len(array):
        raise EmbeddingError(
            f"a vector must be a list of numbers, and this one has the shape {array.shape}; "
            "check what the embedder returns"
        )
    finite = np.isfinite(array)
    if not finite.all():
        raise EmbeddingError(
            f"the vector holds NaN or infinity, its number {int(np.argmin(finite))}; check the text it was made from"
        )
    return array


def _at_once(given: object) -> Floats | None:
    """Convert a list of lists or arrays in one step, as most embedders return it; ``None`` for anything else."""
    if isinstance(given, list) and all(isinstance(row, list | tuple | np.ndarray) for row in given):
        try:
            array = np.asarray(given)
        except _UNREADABLE:
            return None
        return _floats(array) if array.dtype.kind in "fiu" else None
    return None


def _one_by_one(rows: list[object], texts: Sequence[str] | int) -> Floats:
    arrays = [_numbers(row, _which(number, texts)) for number, row in enumerate(rows)]
    for number, array in enumerate(arrays):
        if array.shape != arrays[0].shape:
            raise EmbeddingError(
                f"vectors must be lists of numbers, all of one length: {_which(number, texts)} has the shape "
                f"{array.shape}, and the first {arrays[0].shape}; check what the embedder returns"
            )
    return np.stack(arrays) if arrays else np.empty((0, 0), dtype=np.float32)


def _numbers(given: object, name: str) -> Floats:
    """Convert a list of numbers, or anything that NumPy can read."""
    try:
        array = np.asarray(_from_torch(given) if hasattr(given, "__array__") else _listed(given, None))
        if array.dtype == object:
            array = np.array([_number(each) for each in array.ravel()], dtype=np.float64).reshape(array.shape)
    except _UNREADABLE as error:
        raise EmbeddingError(
            f"{name} can't be read, as vectors must be lists of numbers, all of one length: {error}; "
            "check what the embedder returns"
        ) from error
    if array.dtype.kind not in "fiu" and not array.dtype.name.startswith(("bfloat", "float")):
        raise EmbeddingError(
            f"{name} can't be used, as vectors must be lists of numbers, and this is {array.dtype.name}; "
            "check what the embedder returns"
        )
    return _floats(array)


def _floats(array: npt.NDArray[Any]) -> Floats:
    """Convert whole numbers to double precision, and floats of less than 32 bits to single precision."""
    if array.dtype.kind in "iu":
        return array.astype(np.float64)
    return array if array.dtype.kind == "f" and array.dtype.itemsize >= 4 else array.astype(np.float32)  # noqa: PLR2004


def _number(given: object) -> float:
    if isinstance(given, Real | Decimal) and not isinstance(given, bool):
        return float(given)
    raise TypeError(f"{given!r:.{_MAX_SHOWN_CHARS}} isn't a number")


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
