"""The exceptions this package raises.

    SentenceWindowError
    ├── InvalidInputError (ValueError)      a value that was passed in can't be used
    │   └── FilterError                     a metadata filter can't be read
    ├── EmbeddingError (ValueError)         vectors can't be used: how many, how long, not finite
    ├── StoreError                          an index on disk can't be used
    │   ├── IndexNotFoundError              there is none at that path
    │   └── IndexMismatchError              it was made with another embedder or format
    ├── IncompleteWindowError (LookupError) a store doesn't hold what a window needs
    └── MissingExtraError (ImportError)     an optional dependency isn't installed

    SentenceWindowWarning (UserWarning)     something that works, but hardly as it was meant

Every message names the value and the cure. An exception that comes out of a user's own embedder,
model or store is passed on as it is, after the state was put back.
"""

import inspect
import math
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Self, SupportsIndex, TypeVar

from langchain_sentence_window._showing import shown

__all__ = [
    "EmbeddingError",
    "FilterError",
    "IncompleteWindowError",
    "IndexMismatchError",
    "IndexNotFoundError",
    "InvalidInputError",
    "MissingExtraError",
    "SentenceWindowError",
    "SentenceWindowWarning",
    "StoreError",
]

T = TypeVar("T")

LISTED = 3
"""Names that a message lists before it only counts them."""


class SentenceWindowError(Exception):
    """Base of all exceptions of this package; catch it to catch them all."""


class SentenceWindowWarning(UserWarning):
    """Something works, but hardly as it was meant; the message says what to change."""


class InvalidInputError(SentenceWindowError, ValueError):
    """A value that was passed in can't be used; the message says which, and what would do."""


class FilterError(InvalidInputError):
    """A metadata filter can't be read, e.g. because of an operator that doesn't exist."""


class EmbeddingError(SentenceWindowError, ValueError):
    """Vectors can't be used: wrong in number or size, or with values that aren't finite."""


class StoreError(SentenceWindowError):
    """An index on disk can't be used."""


class IndexNotFoundError(StoreError):
    """There is no index at the path; create one before opening it."""


class IndexMismatchError(StoreError):
    """The index was made with another embedder, or in a format this version can't read."""


class IncompleteWindowError(SentenceWindowError, LookupError):
    """A store doesn't hold the sentences or the metadata that a window is read from."""


class MissingExtraError(SentenceWindowError, ImportError):
    """An optional dependency isn't installed.

    Attributes:
        package: The distribution that is missing.
        extra: The extra of ``langchain-sentence-window`` that brings it.
    """

    def __init__(self, package: str, extra: str) -> None:
        """Say what is missing and how to install it."""
        self.package = package
        self.extra = extra
        super().__init__(
            f'{package} is not installed; install it with: pip install "langchain-sentence-window[{extra}]"'
        )

    def __reduce__(self) -> tuple[type[Self], tuple[str, str]]:
        """Be copied, and handed to another process, by what it was made of."""
        return type(self), (self.package, self.extra)


def wrong_size(given: int, expected: int) -> EmbeddingError:
    """Say that vectors don't fit an index."""
    return EmbeddingError(
        f"vectors of {given} numbers don't fit an index of vectors of {expected}; use the embedder the index "
        "was made with, or index the documents again at another path"
    )


def checked_count(name: str, value: object) -> int:
    """Return a setting that counts something.

    Raises:
        InvalidInputError: It isn't a whole number, or is below 1.
    """
    count = as_integer(value)
    if count is not None and count >= 1:
        return count
    raise InvalidInputError(f"{name} is {shown(value)}; it must be a whole number, 1 or more")


def optional_count(name: str, value: object) -> int | None:
    """Return a setting that counts something; ``None`` for none."""
    return None if value is None else checked_count(name, value)


def checked_function(name: str, function: object) -> Callable[..., Any]:
    """Return something that can be called.

    Raises:
        InvalidInputError: It can't, or is a class, which would only make one of it.
    """
    if not callable(function) or isinstance(function, type):
        raise InvalidInputError(f"{name} is {shown(function)}; give a function of a text, such as len")
    return function


def checked_callback(name: str, function: object, *arguments: str) -> Callable[..., Any]:
    """Return a function that a setting is, which will be called with some arguments.

    Raises:
        InvalidInputError: It can't be called, takes other arguments, or is to be awaited.
    """
    takes = " and ".join(arguments)
    if not callable(function) or isinstance(function, type):
        raise InvalidInputError(f"{name} is {shown(function)}; give a function of {takes}")
    if inspect.iscoroutinefunction(function):
        raise InvalidInputError(f"{name} is an async function, and isn't awaited; give a plain function of {takes}")
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        raise InvalidInputError(f"{name} is called with {takes}, and can't be ({error}); take these") from None
    except ValueError:  # a function of C that doesn't say what it takes
        pass
    return function


def checked_list(name: str, value: object) -> list[object]:
    """Return whatever gives its elements one by one as a list, unless it is a string or a mapping.

    Raises:
        InvalidInputError: It gives none.
    """
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InvalidInputError(f"{name} is {shown(value)}; give a list")
    return gathered(value)


def gathered(values: Iterable[T]) -> list[T]:
    """Each element, one by one; ``list`` asks for the length first, which a class may not tell."""
    return [each for each in values]  # noqa: C416


def listed(names: Collection[str]) -> str:
    """Name the first few of many, and count the others."""
    first = ", ".join(map(shown, islice(names, LISTED)))
    return (first or "none") + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")


def checked_least(name: str, value: object) -> float | None:
    """Return a setting that is the lowest score to keep; ``None`` keeps all.

    Raises:
        InvalidInputError: It isn't a number, or is NaN, with which nothing compares.
    """
    if value is None:
        return None
    number = as_number(value)
    if math.isnan(number):
        raise InvalidInputError(f"{name} is {shown(value)}; it must be a number, or None for all")
    return number


def checked_weight(name: str, value: object) -> float:
    """Return a setting that weighs something.

    Raises:
        InvalidInputError: It isn't a number, or is below 0.
    """
    number = as_number(value)
    if not 0 <= number < math.inf:
        raise InvalidInputError(f"{name} is {shown(value)}; it must be a number, 0 or more")
    return number


def as_integer(value: object) -> int | None:
    """Read a whole number of Python or numpy; ``None`` for whatever is none, such as 2.0 or a boolean."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return None
    try:
        return operator.index(value)
    except Exception:  # noqa: BLE001 - an array of several, or whatever a type does
        return None


def as_number(value: object) -> float:
    """Read a number of Python, numpy or torch; NaN for whatever is none, such as a string or a boolean."""
    if isinstance(value, bool | str | bytes) or not hasattr(value, "__float__"):
        return math.nan
    try:
        return float(value)
    except Exception:  # noqa: BLE001 - an array of several, an int beyond all floats, or whatever a type does
        return math.nan


def checked_neighbor_weights(weights: Sequence[float]) -> tuple[float, ...]:
    """Return how much of its neighbours each vector is given.

    Raises:
        InvalidInputError: They aren't numbers of 0 or more, the first above 0.
    """
    numbers = (
        [] if isinstance(weights, str | bytes) or not isinstance(weights, Iterable) else [*map(as_number, weights)]
    )
    if not numbers or numbers[0] <= 0 or not all(0 <= number < math.inf for number in numbers):
        raise InvalidInputError(
            f"neighbor_weights is {shown(weights)}; it must be numbers of 0 or more, the first above 0, e.g. "
            "(1, 0.3, 0.2)"
        )
    return tuple(numbers)
