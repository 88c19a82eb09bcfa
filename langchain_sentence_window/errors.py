"""The exceptions this package raises.

    SentenceWindowError
    ├── InvalidInputError (ValueError)           a value that was passed in can't be used
    │   └── FilterError                          a metadata filter can't be read
    ├── AnswerFormatError                        a model's answer isn't in the form that it was asked for
    ├── DocumentReadError                        a file can't be read as a document
    ├── EmbeddingError (ValueError)              vectors can't be used: wrong in number or size, or not finite
    ├── StoreError                               an index on disk can't be used
    │   ├── IndexNotFoundError                   there is no index at that path
    │   ├── IndexMismatchError                   it was made with another embedder, or in another format
    │   └── StoreChangedError                    it is written too often to be read in one state
    ├── IngestError                              a distributed ingest stopped before its end
    ├── StoreUnavailableError (ConnectionError)  a store's server doesn't answer in time
    ├── IncompleteWindowError (LookupError)      a store lacks sentences or metadata of a window
    └── MissingExtraError (ImportError)          an optional dependency isn't installed

    SentenceWindowWarning (UserWarning)          something works, but probably not as intended

Every message names the value and the cure. Any other exception of a user's embedder, model or store passes through
unchanged, after all changes were undone.
"""

from typing import Self

__all__ = [
    "AnswerFormatError",
    "DocumentReadError",
    "EmbeddingError",
    "FilterError",
    "IncompleteWindowError",
    "IndexMismatchError",
    "IndexNotFoundError",
    "IngestError",
    "InvalidInputError",
    "MissingExtraError",
    "SentenceWindowError",
    "SentenceWindowWarning",
    "StoreChangedError",
    "StoreError",
    "StoreUnavailableError",
]


class SentenceWindowError(Exception):
    """The base class of all exceptions of this package; catch it to catch them all."""


class SentenceWindowWarning(UserWarning):
    """Something works, but probably not as intended; the message says what to change."""


class InvalidInputError(SentenceWindowError, ValueError):
    """A value that was passed in can't be used; the message names it and says what to pass instead."""


class FilterError(InvalidInputError):
    """A metadata filter can't be read, for example because of an unknown operator."""


class AnswerFormatError(SentenceWindowError):
    """A model's answer isn't in the form that it was asked for; ask again, or use another model."""


class DocumentReadError(SentenceWindowError):
    """A file can't be read as a document: it is damaged, encrypted, of another type, or missing."""


class EmbeddingError(SentenceWindowError, ValueError):
    """Vectors can't be used: wrong in number or size, or with values that aren't finite."""


class StoreError(SentenceWindowError):
    """An index on disk can't be used."""


class StoreChangedError(StoreError):
    """An index is written too often to be read in one state; ask again."""


class IndexNotFoundError(StoreError):
    """There is no index at the path; create one before opening it."""


class IndexMismatchError(StoreError):
    """The index was made with another embedder, or in a format that this version can't read."""


class IngestError(SentenceWindowError):
    """A distributed ingest stopped before its end; what is stored stays, and another call continues."""


class StoreUnavailableError(SentenceWindowError, ConnectionError):
    """A store's server doesn't answer in time; its driver's error is the ``__cause__``. Trying again may help."""


class IncompleteWindowError(SentenceWindowError, LookupError):
    """A store lacks sentences or metadata of a window; add the document again."""


class MissingExtraError(SentenceWindowError, ImportError):
    """An optional dependency isn't installed, or its version is unsupported.

    Attributes:
        package: The missing package, with the supported versions if others are unsupported: ``ray>=2.51``.
        extra: The extra of ``langchain-sentence-window`` that installs it.
    """

    def __init__(self, package: str, extra: str) -> None:
        """Write the message, which says how to install the package."""
        self.package = package
        self.extra = extra
        cure = f'install it with: pip install "langchain-sentence-window[{extra}]"'
        super().__init__(f"{package} is not installed, or can't be imported; {cure}")

    def __reduce__(self) -> tuple[type[Self], tuple[str, str]]:
        """Return the constructor and its arguments, by which pickle and copy recreate the exception."""
        return type(self), (self.package, self.extra)


def wrong_size(given: int, expected: int) -> EmbeddingError:
    """Make the error for vectors whose size doesn't match an index."""
    return EmbeddingError(
        f"vectors of {given} numbers don't fit an index of vectors of {expected}; use the embedder the index "
        "was made with, or index the documents again at another path"
    )
