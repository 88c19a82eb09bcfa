"""What of a store a query may read: a store and the filter that binds all that is read of it."""

import inspect
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window._io import IO
from langchain_sentence_window._validation import listed
from langchain_sentence_window.adapters.access import fetch, is_milvus, search
from langchain_sentence_window.adapters.filtering import Passes, answering_at_once, own_copy, place_of
from langchain_sentence_window.adapters.store_filters import filters_of
from langchain_sentence_window.documents.ids import sentence_id
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.stores.faiss.search_methods import unknown_keys

FILTER_NAMES = ("filter", "pre_filter", "filters", "where")
"""What stores call a filter of metadata in their searches."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A store, and what of it may be read.

    Attributes:
        store: Where the sentences are.
        filter: What binds each read, in the form that the store's search takes; ``None`` for nothing.
        name: What the store's search calls it.
        given: The filters that it was put together of.
    """

    store: VectorStore
    filter: Any = None
    name: str = "filter"
    given: Sequence[Any] = ()

    @property
    def is_bound(self) -> bool:
        """Whether there is a filter."""
        return self.filter is not None

    @property
    def search_settings(self) -> dict[str, Any]:
        """What the store's search is given."""
        # A store may write into what it is given, and what binds the next read must not change.
        return {} if self.filter is None else {self.name: own_copy(self.filter)}

    @property
    def passes(self) -> Passes | None:
        """What says of a Document whether the filter lets it through; ``None`` if only the store knows."""
        return filters_of(self.store).passes(self.filter)

    async def fetch(self, io: IO, places: Sequence[tuple[str, int]]) -> list[Document] | None:
        """Fetch sentences by document and index; those that don't exist or may not be read are left out.

        Returns:
            ``None`` if the store can't fetch by id.

        Raises:
            InvalidInputError: What the store gives back can't be kept within the filter.
        """
        ids = [sentence_id(*place) for place in places]
        if self.filter is None:
            return await fetch(io, self.store, ids)
        return await filters_of(self.store).fetch(io, ids, self.filter)

    async def find(self, io: IO, places: Sequence[tuple[str, int]], text: str) -> list[Document]:
        """Do what `fetch` does in a store that can't fetch by id, by a search that is kept to the places.

        Args:
            io: Makes the calls.
            places: Which sentences to find.
            text: What to search for, such as the text of one of them.

        Raises:
            InvalidInputError: The store's filters can't say which sentences are meant.
        """
        filters = filters_of(self.store)
        narrowed, passes = filters.only_at(places, self.filter), self.passes
        if narrowed is None or passes is None:
            raise InvalidInputError(
                f"{type(self.store).__name__} can't fetch by id, and its filter can't be narrowed to single sentences, "
                "so it isn't known which of those around a hit it lets through; ask with window=0, or give the store "
                "a method get_by_ids_within(ids, filter)"
            )
        scored = await search(io, self.store, text, {"k": len(places), self.name: narrowed})
        wanted = set(places)
        return [document for document, _ in scored if place_of(document) in wanted and passes(document)]

    def check_found(self, documents: Sequence[Document]) -> None:
        """See that a search was kept within the filter, where that can be seen, and warn of keys that nothing has.

        Raises:
            InvalidInputError: It wasn't, as the store doesn't read what it is given.
        """
        filters = filters_of(self.store)
        if self.is_bound and not documents and (unknown := filters.unknown_keys(self.given)):
            warnings.warn(unknown_keys(unknown), stacklevel=2)
        passes = filters.passes(self.filter) if self.is_bound and filters.sees_hits else None
        if passes is not None and not all(map(passes, documents)):
            raise InvalidInputError(
                f"a search of {type(self.store).__name__} gave back what its filter doesn't let through, so it doesn't "
                f"read {self.name!r}, or otherwise than this package does; use a store that filters, or a subclass "
                "whose search does and that has a method get_by_ids_within(ids, filter)"
            )


def scope_of(store: VectorStore, search_kwargs: Mapping[str, Any], *filters: Any) -> Scope:
    """Put filters together: one in the settings of the store's search, and others; all of them bind.

    Args:
        store: What is read.
        search_kwargs: What its search is given.
        *filters: ``None`` or an empty mapping for none.

    Raises:
        InvalidInputError: They can't be put together, or the settings hold filters of two names.
    """
    names = filter_names(store, search_kwargs)
    unread = [name for name in search_kwargs if "filter" in str(name).lower() and name not in FILTER_NAMES]
    if unread:
        raise InvalidInputError(
            f"search_kwargs holds {listed(unread)}, which isn't known to be a filter, so it might bind nothing; give "
            "the filter as the retriever's own setting: filter=..."
        )
    for name in names:
        if not is_milvus(store) and name not in (known := search_parameters(store)) and "filter" in known:
            raise InvalidInputError(
                f"search_kwargs holds a filter as {name!r}, which {type(store).__name__} doesn't read; give it as the "
                "retriever's own setting: filter=..."
            )
    if len(names) > 1 and not is_milvus(store):
        raise InvalidInputError(f"search_kwargs holds filters as {' and as '.join(map(repr, names))}; give one")
    everyone = [own_copy(each) for each in (*(search_kwargs[name] for name in names), *filters)]
    # As copies, as a mapping may say of itself that it is empty and hold what binds.
    bound = [each for each in everyone if each is not None and not _is_empty(each)]
    given = [answering_at_once(each) for each in bound]
    name = "filter" if is_milvus(store) or not names else names[0]
    return Scope(store, filters_of(store).joined(given) if given else None, name, given)


def check_binds(*filters: Any) -> None:
    """See that none of the filters that are set is empty.

    Raises:
        InvalidInputError: One is; a mistake, as whoever sets a filter means to bind something.
    """
    if any(map(_is_empty, filters)):
        raise InvalidInputError(
            "the filter is {}, which lets everything through; write filter=None where nothing is to be bound"
        )


def _is_empty(filter: Any) -> bool:
    # Not by ==, of which filters of some stores make a filter.
    return isinstance(filter, dict) and not filter


def search_parameters(store: VectorStore) -> Mapping[str, inspect.Parameter]:
    """What a store's search by meaning takes."""
    return inspect.signature(store.similarity_search_with_score).parameters


def filter_names(store: VectorStore, search_kwargs: Mapping[str, Any]) -> list[str]:
    """Under which names the settings of a store's search hold a filter."""
    known = ("filter", "expr") if is_milvus(store) else FILTER_NAMES
    return [name for name in known if name in search_kwargs]
