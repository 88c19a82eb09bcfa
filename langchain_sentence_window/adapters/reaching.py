"""`reached`: what to raise when a store's server doesn't answer, whatever its driver raised."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from langchain_sentence_window.errors import StoreUnavailableError


@contextmanager
def reached(name: str, is_away: Callable[[BaseException], bool]) -> Iterator[None]:
    """Raise `StoreUnavailableError` in place of an error that says that a store's server doesn't answer.

    Args:
        name: The store, for the message. What the driver said isn't in it, as that may hold addresses and data.
        is_away: Whether an error, or one that it was raised from, says so.
    """
    try:
        yield
    except StoreUnavailableError:
        raise
    except Exception as error:
        cause = next(filter(is_away, _chain(error)), None)
        if cause is None:
            raise
        raise StoreUnavailableError(
            f"{name} doesn't answer ({type(cause).__name__}); see that its server runs and can be reached from here, "
            "and try again"
        ) from error


def is_named(error: BaseException, names: frozenset[str]) -> bool:
    """Return whether an error is of a class whose full name is one of some, or of a class below it."""
    return any(f"{each.__module__}.{each.__qualname__}" in names for each in type(error).__mro__)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, and those that it was raised from."""
    at: BaseException | None = error
    while at is not None:
        yield at
        at = at.__cause__
