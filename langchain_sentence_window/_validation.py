"""Checks of values that were passed in: each returns the value, or raises an error that names it and the cure."""

import inspect
import math
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from itertools import islice
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ._display import shown
from .errors import InvalidInputError

MAX_LISTED = 3
"""Names that a message lists; it only counts the rest."""


def invalid(name: str, value: object, cure: str) -> InvalidInputError:
    """Make the error for an invalid value."""
    return InvalidInputError(f"{name} is {shown(value)}; {cure}")


def wrong_kind(name: str, value: object, cure: str) -> InvalidInputError:
    """Make the error for a value of the wrong type; the cure for a class is an instance of it."""
    return invalid(name, value, f"pass an instance: {value.__name__}(...)" if isinstance(value, type) else cure)


def checked_count(name: str, value: object) -> int:
    """Return a setting that must be a whole number, 1 or more.

    Raises:
        InvalidInputError: It isn't.
    """
    count = as_integer(value)
    if count is not None and count >= 1:
        return count
    raise invalid(name, value, "it must be a whole number, 1 or more")


def optional_count(name: str, value: object) -> int | None:
    """Return a setting that must be ``None`` or a whole number, 1 or more.

    Raises:
        InvalidInputError: It isn't.
    """
    return None if value is None else checked_count(name, value)


def checked_choice(name: str, value: object, choices: Sequence[str]) -> str:
    """Return a setting that must be one of some strings.

    Raises:
        InvalidInputError: It isn't.
    """
    if isinstance(value, str) and value in choices:
        return value
    raise invalid(name, value, f"write {' or '.join(map(repr, choices))}")


def checked_flag(name: str, value: object) -> bool:
    """Return a setting that must be ``True`` or ``False``.

    Raises:
        InvalidInputError: It isn't.
    """
    if isinstance(value, bool):
        return value
    raise invalid(name, value, "write True or False")


def checked_function(name: str, function: object) -> Callable[..., Any]:
    """Return a setting that must be a function of a text, or another object that can be called.

    Raises:
        InvalidInputError: It can't be called, or is a class.
    """
    if not callable(function) or isinstance(function, type):
        raise invalid(name, function, "give a function of a text, such as len")
    return function


def checking_counter(name: str, counter: Callable[[str], Any]) -> Callable[[str], int]:
    """Return a counter of tokens that checks each count, and raises `InvalidInputError` if one isn't 0 or more."""

    @wraps(counter, updated=())
    def checked(text: str) -> int:
        count = counter(text)
        if not 0 <= as_number(count) < math.inf:
            raise InvalidInputError(
                f"{name} returned {shown(count)} for a text of {len(text):,} characters; it must return the number of "
                "tokens, as model.get_num_tokens does"
            )
        return count  # type: ignore[no-any-return]

    return checked


def checked_callback(name: str, function: object, *arguments: str) -> Callable[..., Any]:
    """Return a setting that must be a function of some arguments.

    Args:
        name: The name of the setting, for messages.
        function: Its value.
        arguments: Its arguments, in words, for messages.

    Raises:
        InvalidInputError: It can't be called, takes other arguments, or is async.
    """
    cure = f"give a plain function of {' and '.join(arguments)}"
    if not callable(function) or isinstance(function, type):
        raise invalid(name, function, cure)
    if inspect.iscoroutinefunction(function):
        raise InvalidInputError(f"{name} is an async function, which can't be used here; {cure}")
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        raise InvalidInputError(f"{name} takes other arguments ({error}); {cure}") from None
    except ValueError:  # a function of C without a signature
        pass
    return function


def checked_list(name: str, value: object) -> list[object]:
    """Return the elements of an iterable as a list.

    Raises:
        InvalidInputError: It isn't an iterable, or is a string or a mapping.
    """
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise invalid(name, value, "give a list")
    return list(value)


def listed(names: Collection[str]) -> str:
    """Write the first few names, and count the rest."""
    first = ", ".join(map(shown, islice(names, MAX_LISTED)))
    return (first or "none") + (f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else "")


def checked_min_score(name: str, value: object) -> float | None:
    """Return the lowest score to keep; ``None`` keeps all.

    Raises:
        InvalidInputError: It isn't a number, or is NaN.
    """
    if value is None:
        return None
    number = as_number(value)
    if math.isnan(number):
        raise invalid(name, value, "it must be a number, or None for all")
    return number


def checked_min_relevance(name: str, value: object) -> float | Literal["auto"] | None:
    """Return ``auto``, a probability from 0 to 1, or ``None``.

    Raises:
        InvalidInputError: It is something else.
    """
    if value is None:
        return None
    if isinstance(value, str) and value == "auto":
        return "auto"
    number = as_number(value)
    if not 0 <= number <= 1:
        raise invalid(name, value, "give 'auto', a number from 0 to 1, or None")
    return number


def checked_weight(name: str, value: object) -> float:
    """Return a weight, which must be a finite number, 0 or more.

    Raises:
        InvalidInputError: It isn't.
    """
    number = as_number(value)
    if not 0 <= number < math.inf:
        raise invalid(name, value, "it must be a number, 0 or more")
    return number


def as_integer(value: object) -> int | None:
    """Return a whole number of Python or NumPy as an ``int``; ``None`` for anything else, such as 2.0 or a boolean."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def as_number(value: object) -> float:
    """Return a number of Python, NumPy or torch as a float; NaN for anything else, such as a string or a boolean."""
    if isinstance(value, bool | str | bytes) or not hasattr(value, "__float__"):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError, OverflowError):  # several numbers, or an int beyond all floats
        return math.nan


def finite_numbers(name: str, values: object, count: int | None = None) -> npt.NDArray[np.float64]:
    """Return finite numbers as an array of shape ``(n,)``.

    Args:
        name: The name of the numbers, for messages.
        values: A list, an array, or anything else that NumPy reads as numbers.
        count: ``n``; ``None`` for any.

    Raises:
        InvalidInputError: They aren't finite numbers in one dimension, or there are more or fewer than ``count``.
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        array = np.full(1, np.nan)
    if array.ndim != 1 or not np.isfinite(array).all() or count not in (None, len(array)):
        size = "" if count is None else f"{count:,} "
        raise invalid(name, values, f"give {size}finite number{'s' * (count != 1)}")
    return array


def checked_neighbor_weights(weights: Sequence[float]) -> tuple[float, ...]:
    """Return the weights of a sentence and its neighbors as a tuple.

    Raises:
        InvalidInputError: They aren't finite numbers of 0 or more, or the first is 0.
    """
    numbers = [as_number(weight) for weight in weights] if isinstance(weights, Iterable) else []
    if not numbers or numbers[0] <= 0 or not all(0 <= number < math.inf for number in numbers):
        cure = "it must be numbers of 0 or more, the first above 0, e.g. (1, 0.3, 0.2)"
        raise invalid("neighbor_weights", weights, cure)
    return tuple(numbers)
