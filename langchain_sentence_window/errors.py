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

Every message names the value and the cure. An exception that comes out of a user's own embedder,
model or store is passed on as it is, after the state was put back.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from numbers import Real

import pydantic

__all__ = [
    "EmbeddingError",
    "FilterError",
    "IncompleteWindowError",
    "IndexMismatchError",
    "IndexNotFoundError",
    "InvalidInputError",
    "MissingExtraError",
    "SentenceWindowError",
    "StoreError",
]

LISTED = 3
"""Names that a message lists before it only counts them."""

SHOWN = 80
"""Characters of a value that a message shows."""


class SentenceWindowError(Exception):
    """Base of all exceptions of this package; catch it to catch them all."""


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


@contextmanager
def valid_settings(name: str) -> Iterator[None]:
    """Say what pydantic finds wrong with a class's settings as one exception of ours."""
    try:
        yield
    except pydantic.ValidationError as error:
        listed: dict[str, str] = {}
        for problem in error.errors():
            setting = str(problem["loc"][0]) if problem["loc"] else name
            value = "" if problem["type"] == "missing" else f", not {problem['input']!r}"
            listed.setdefault(setting, f"{setting}: {problem['msg']}{value}")
        raise InvalidInputError(f"{name} can't be made: {'; '.join(listed.values())}") from error


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
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidInputError(f"{name} is {value!r}; it must be a whole number, 1 or more")
    return value


def listed(names: Collection[str]) -> str:
    """Name the first few of many, and count the others."""
    shown = ", ".join(map(repr, list(names)[:LISTED]))
    return (shown or "none") + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")


def shown(value: object) -> str:
    """Show a value in a message, whatever it is; a long one is cut."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - e.g. nested too deep, or an integer with too many digits
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def checked_least(name: str, value: float | None) -> None:
    """Check a setting that is the lowest score to keep; ``None`` keeps all.

    Raises:
        InvalidInputError: It is NaN, with which nothing compares.
    """
    if value is not None and math.isnan(value):
        raise InvalidInputError(f"{name} is nan; it must be a number, or None for all")


def checked_weight(name: str, value: object) -> float:
    """Return a setting that weighs something.

    Raises:
        InvalidInputError: It isn't a number, or is below 0.
    """
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < float("inf"):
        raise InvalidInputError(f"{name} is {value!r}; it must be a number, 0 or more")
    return float(value)


def checked_neighbor_weights(weights: Sequence[float]) -> tuple[float, ...]:
    """Return how much of its neighbours each vector is given.

    Raises:
        InvalidInputError: They aren't numbers of 0 or more, the first above 0.
    """
    try:
        checked = tuple(checked_weight("a weight", float(_real(weight))) for weight in weights)
    except (TypeError, ValueError, OverflowError):
        checked = ()
    if not checked or not checked[0]:
        raise InvalidInputError(
            f"neighbor_weights is {weights!r}; it must be numbers of 0 or more, the first above 0, e.g. (1, 0.3, 0.2)"
        )
    return checked


def _real(value: object) -> Real:
    if isinstance(value, Real) and not isinstance(value, bool):
        return value
    raise TypeError
