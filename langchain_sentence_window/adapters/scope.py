"""`Scope`: a store, and the filter of everything that a query reads of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window._validation import listed
from langchain_sentence_window.documents.keys import sentence_id
from langchain_sentence_window.documents.sentence_documents import SentencesByKey
from langchain_sentence_window.errors import InvalidInputError

from .matchers import Matcher, own_copy
from .registry import adapter_of
from .store_adapter import StoreAdapter


@dataclass(frozen=True, slots=True)
class Scope:
    """A store, and what of it may be read.

    Attributes:
        adapter: The adapter of the store.
        filter: The filter of each read, in the form that the store's search takes; ``None`` for no filter.
    """

    adapter: StoreAdapter
    filter: Any = None

    @property
    def search_settings(self) -> dict[str, Any]:
        """The filter as an argument of the store's search."""
        # A copy, as a store may write into it.
        return {} if self.filter is None else {self.adapter.filter_name: own_copy(self.filter)}

    @property
    def matcher(self) -> Matcher | None:
        """A function that checks whether a Document matches the filter; ``None`` if only the store can."""
        return self.adapter.matcher(self.filter)

    async def fetch(self, io: IO, keys: Sequence[SentenceKey]) -> list[Document] | None:
        """Fetch sentences by document and index; leave out those that don't exist or may not be read.

        Returns:
            ``None`` if the store can't fetch by id.

        Raises:
            InvalidInputError: The filter can't be enforced when documents are fetched by id.
        """
        return await self.adapter.fetch(io, [sentence_id(*key) for key in keys], own_copy(self.filter))

    async def sentences(self, io: IO, keys: Sequence[SentenceKey]) -> SentencesByKey | None:
        """Read sentences by document and index, as `fetch` does."""
        return await self.adapter.sentences(io, keys, own_copy(self.filter))

    def check_found(self, documents: Sequence[Document]) -> None:
        """Check that a search respected the filter, where that can be checked.

        Raises:
            InvalidInputError: It didn't: the store ignores its filter.
        """
        if self.filter is None or not self.adapter.rechecks_hits:
            return
        matches = self.matcher
        if matches is not None and not all(map(matches, documents)):
            raise InvalidInputError(
                f"a search of {self.adapter.name} returned documents that its filter forbids, so the store ignores "
                f"{self.adapter.filter_name!r}, or reads it otherwise than this package; use a store that applies "
                "filters, or write an adapter for it"
            )


def scope_of(store: VectorStore, search_kwargs: Mapping[str, Any], *filters: Any) -> Scope:
    """Join the filter in the arguments of the store's search with others; a Document must match all of them.

    Args:
        store: The store that is read.
        search_kwargs: Further arguments of its search.
        *filters: ``None`` or an empty mapping for no filter.

    Raises:
        InvalidInputError: They can't be joined, or an argument looks like a filter that the store may not read.
    """
    adapter = adapter_of(store)
    name = adapter.filter_name
    unread = [each for each in search_kwargs if each != name and ("filter" in str(each).lower() or each == "where")]
    if unread:
        raise InvalidInputError(
            f"search_kwargs holds {listed(unread)}, which may not be a filter for this store; give the filter as "
            "the retriever's own setting: filter=..."
        )
    copies = [own_copy(each) for each in (search_kwargs.get(name), *filters) if each is not None]
    # Copies are checked, as a mapping may report a length of 0 and still yield keys. Not by ==, which the filters of
    # some stores overload.
    binding = [adapter.stored_filter(each) for each in copies if not isinstance(each, dict) or each]
    return Scope(adapter, adapter.join(binding) if binding else None)


def check_binds(*filters: Any) -> None:
    """Check that none of the filters that are set is empty.

    Raises:
        InvalidInputError: One is empty, which is a mistake: it would let everything through.
    """
    if any(isinstance(each, dict) and not each for each in filters):
        raise InvalidInputError("the filter is {}, which matches everything; write filter=None for no filter")
