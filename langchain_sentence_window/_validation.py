"""Checks of values that were passed in: each returns the value, or names it and the cure."""

import inspect
import math
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, SupportsIndex, TypeVar

from langchain_sentence_window._showing import shown
from langchain_sentence_window.errors import InvalidInputError

T = TypeVar("T")

LISTED = 3
"""Names that a message lists before it only counts them."""


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
    """Return how much of its neighbors each vector is given.

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
