"""`StoreTraits`: what a vector store can do, what metadata it holds, and how it filters.

Nothing here calls the store in a way that may block; the methods that do are those of `StoreAdapter`.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any, ClassVar, Self

from langchain_core.embeddings import Embeddings

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import LONE_SURROGATE, SentenceKey
from langchain_sentence_window.documents.keys import DOC_ID, SENTENCE_INDEX
from langchain_sentence_window.documents.metadata_values import SCALARS, stored_filter
from langchain_sentence_window.documents.source_documents import StoreLimits
from langchain_sentence_window.errors import InvalidInputError, StoreUnavailableError

from .matchers import Matcher, mapping_matcher

_TO_JSON = "convert it to strings, finite numbers, booleans, lists or dicts"
_TO_SCALARS = "convert it to strings, or use a store that holds JSON, such as FaissStore"


class StoreTraits:
    """A store, what it can do, what metadata it holds, and how it filters."""

    filter_name: ClassVar[str] = "filter"
    """The name of the search's argument that is a filter."""
    added_keys: ClassVar[frozenset[str]] = frozenset()
    """Keys that the store adds to the metadata of what it returns. They aren't shown to users."""
    lists_in_order: ClassVar[bool] = False
    """Whether Documents are listed in the order in which they were added, whatever was deleted before."""
    filter_form: ClassVar[str] = "a mapping such as {'tenant': 'a'}"
    """What the store filters by, for messages; see `reads_filter`."""
    filter_class: ClassVar[tuple[str, str] | None] = None
    """The package and the name of the class of its filters, which ``&`` joins; ``None`` for other filters."""
    filters_by_doc_id: ClassVar[bool] = True
    """Whether the store can look for the sentences of a document."""
    gives_distances: ClassVar[bool | None] = None
    """Whether a lower score is better; ``None`` if that is seen from the scores."""
    rechecks_hits: ClassVar[bool] = True
    """Whether hits are checked against the filter, as the store may ignore it."""
    one_key_filters: ClassVar[bool] = False
    """Whether the store filters by mappings of its own with one key, as it takes no other keys next to ``$and``."""
    holds_json: ClassVar[bool] = False
    """Whether the store gives back lists, dicts and ``None`` in metadata as they were given; see `holds`."""
    mixes_neighbors: ClassVar[bool] = False
    """Whether the store mixes vectors with their neighbors' itself, and `add_vectors` works."""
    is_whole_index: ClassVar[bool] = False
    """Whether the store can copy, measure and check itself as `FaissStore` does."""
    away_errors: ClassVar[frozenset[str]] = frozenset()
    """Full names of the exceptions by which the store's driver says that the server doesn't answer."""
    read_batch_size: ClassVar[int] = 10_000
    """The most ids in one call."""
    write_batch_size: ClassVar[int] = 5_000
    """The most documents in one call. If an embedder fails, a store that embeds has stored the batches before."""

    reads_one_state = False
    """Whether all that is searched and read is of one state of the store; see `at_one_state`."""

    def __init__(self, store: Any) -> None:
        """Take the store."""
        self.store = store

    @property
    def name(self) -> str:
        """The name of the store's class, for messages."""
        return type(self.store).__name__

    @property
    def finds_words(self) -> bool:
        """Whether the store searches by words."""
        return False

    @property
    def folder(self) -> Path | None:
        """The folder of the store's index; ``None`` if it is in memory or elsewhere."""
        return None

    def is_same(self, other: "StoreTraits") -> bool:
        """Return whether another store keeps its documents in the same place, as far as that can be seen."""
        own, others = self.folder, other.folder
        is_same_folder = own is not None and others is not None and own.resolve() == others.resolve()
        return self.store is other.store or is_same_folder

    @property
    def embedding(self) -> Embeddings | None:
        """The embedder of the store; ``None`` if it doesn't say."""
        found: Embeddings | None = self.store.embeddings
        if found is None:
            other = getattr(self.store, "embedding", None)
            found = other if isinstance(other, Embeddings) else None
        return found

    def is_away(self, error: BaseException) -> bool:
        """Return whether an error says that the store's server doesn't answer, or not in time."""
        return any(f"{each.__module__}.{each.__qualname__}" in self.away_errors for each in type(error).__mro__)

    @contextmanager
    def reached(self, *errors: type[Exception]) -> Iterator[None]:
        """Raise `StoreUnavailableError` in the block in place of an error for which `is_away` is true.

        Args:
            *errors: Further types of errors that mean the same in this block.
        """
        try:
            yield
        except StoreUnavailableError:
            raise
        except Exception as error:
            # The error, and those that it was raised from.
            cause: BaseException | None = error
            while cause is not None and not (isinstance(cause, errors) or self.is_away(cause)):
                cause = cause.__cause__
            if cause is None:
                raise
            # What the driver said may hold addresses and data.
            raise StoreUnavailableError(
                f"{self.name} doesn't answer ({type(cause).__name__}); see that its server runs and can be reached "
                "from here, and try again"
            ) from error

    @contextmanager
    def at_one_state(self, attempt: int) -> Iterator[Self]:
        """Return a context with an adapter that searches and reads one state of the store, where it can.

        Args:
            attempt: The number of the attempt at what is searched and read there, from 1.
        """
        yield self

    # Metadata

    def holds(self, key: str, value: Any) -> bool:
        """Return whether the store gives back the value of a metadata key as it was given.

        Args:
            key: The key.
            value: A value as JSON holds it.
        """
        return self.holds_json or isinstance(value, SCALARS)

    @property
    def limits(self) -> StoreLimits:
        """The metadata that the store can hold; the rest is left out, with a warning."""
        return StoreLimits(self.name, self.holds, _TO_JSON if self.holds_json else _TO_SCALARS)

    # Filter

    def search_parameters(self) -> Mapping[str, inspect.Parameter]:
        """Return the parameters of a search, for checking ``search_kwargs``."""
        return inspect.signature(self.store.similarity_search_with_score).parameters

    def stored_filter(self, filter: Any) -> Any:
        """Return a filter with its values in the form in which the store was given those of metadata."""
        return stored_filter(filter)

    def join(self, filters: Sequence[Any]) -> Any:
        """Return one filter, in the store's form, that matches what all of some filters match.

        Raises:
            InvalidInputError: They can't be joined, or the store can't read one.
        """
        for each in filters:
            if not self.reads_filter(each):
                raise InvalidInputError(f"{self.name} filters by {self.filter_form}, not by {shown(each)}")
        return self.combine(filters)

    def reads_filter(self, filter: Any) -> bool:
        """Return whether a filter is in the store's form; for a store that isn't known, any may be."""
        if self.filter_class is None:
            return not self.one_key_filters or isinstance(filter, Mapping)
        package, name = self.filter_class
        return any(each.__name__ == name and each.__module__.startswith(package) for each in type(filter).__mro__)

    def combine(self, filters: Sequence[Any]) -> Any:
        """Return one filter, as `join` does, for filters in the store's form."""
        if self.filter_class is not None:
            return reduce(and_, filters)
        if len(filters) == 1 and not (self.one_key_filters and len(filters[0]) > 1):
            return filters[0]
        if all(isinstance(each, Mapping) for each in filters):
            return {"$and": [{key: value} for each in filters for key, value in each.items()]}
        raise InvalidInputError(
            f"{self.name} can't combine the filters {', '.join(map(shown, filters))}; give mappings, or a single filter"
        )

    def matcher(self, filter: Any) -> Matcher | None:
        """Return a function that checks whether a Document matches a filter; ``None`` if only the store knows."""
        return mapping_matcher(filter) if isinstance(filter, Mapping) else None

    def narrow(self, filter: Any, keys: Sequence[SentenceKey]) -> Any:
        """Return a filter that matches only some sentences, for a store that can't fetch by id.

        Returns:
            ``None`` if the store's filters can't say that.
        """
        if not isinstance(filter, Mapping):
            return None
        indexes: dict[str, list[int]] = {}
        for doc_id, index in keys:
            indexes.setdefault(doc_id, []).append(index)
        each = [{"$and": [{DOC_ID: name}, {SENTENCE_INDEX: {"$in": of_it}}]} for name, of_it in indexes.items()]
        return self.join([filter, each[0] if len(each) == 1 else {"$or": each}])


_LARGEST = 2**63


def is_plain(value: Any) -> bool:
    """Return whether a string, number or boolean can be written as UTF-8, or as a number of 64 bits."""
    return is_plain_text(value) and (not isinstance(value, int) or -_LARGEST <= value < _LARGEST)


def is_plain_text(value: Any) -> bool:
    """Return whether a value is no string with a lone surrogate, which UTF-8 can't hold."""
    return not isinstance(value, str) or LONE_SURROGATE.search(value) is None


def has_only(value: Any, holds: Callable[[Any], bool] = is_plain) -> bool:
    """Return whether a store holds all strings, numbers and booleans in a value, keys of dicts included."""
    if isinstance(value, list):
        return all(has_only(each, holds) for each in value)
    if isinstance(value, dict):
        return all(holds(key) and has_only(each, holds) for key, each in value.items())
    return holds(value)
