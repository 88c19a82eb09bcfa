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

from typing import Self

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
