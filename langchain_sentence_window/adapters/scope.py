"""`Scope`: a store, and the filter that binds everything that a query reads of it."""

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

from .matchers import Matcher, answering_at_once, key_of, own_copy
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
        # A copy, as a store may write into it, and what binds the next read must not change.
        return {} if self.filter is None else {self.adapter.filter_name: own_copy(self.filter)}

    @property
    def matcher(self) -> Matcher | None:
        """A function that checks whether a Document matches the filter; ``None`` if only the store knows."""
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

    async def find(self, io: IO, keys: Sequence[SentenceKey], text: str) -> list[Document]:
        """Find sentences as `fetch` does, in a store that can't fetch by id, by a search among them alone.

        Args:
            io: Makes the calls.
            keys: Which sentences to find.
            text: The text to search for, such as that of one of them.

        Raises:
            InvalidInputError: The store's filters can't say which sentences are meant.
        """
        narrowed, matches = self.adapter.narrow(self.filter, keys), self.matcher
        if narrowed is None or matches is None:
            raise InvalidInputError(
                f"{self.adapter.name} can't fetch by id, and its filter can't be narrowed to single sentences, so "
                "the sentences around a hit can't be checked; ask with window=0, or write an adapter with the method "
                "select"
            )
        scored = await self.adapter.search(io, text, {"k": len(keys), self.adapter.filter_name: narrowed})
        wanted = set(keys)
        return [document for document, _ in scored if key_of(document) in wanted and matches(document)]

    def check_found(self, documents: Sequence[Document]) -> None:
        """Check that a search respected the filter, where that can be checked.

        Raises:
            InvalidInputError: It didn't, as the store ignores what it is given.
        """
        matches = self.matcher if self.filter is not None and self.adapter.rechecks_hits else None
        if matches is not None and not all(map(matches, documents)):
            raise InvalidInputError(
                f"a search of {self.adapter.name} returned documents that its filter forbids, so the store ignores "
                f"{self.adapter.filter_name!r}, or reads it otherwise than this package; use a store that applies "
                "filters, or write an adapter for it"
            )


def scope_of(store: VectorStore, search_kwargs: Mapping[str, Any], *filters: Any) -> Scope:
    """Join the filters in the arguments of the store's search with others; all of them bind.

    Args:
        store: The store that is read.
        search_kwargs: Further arguments of its search.
        *filters: ``None`` or an empty mapping for no filter.

    Raises:
        InvalidInputError: They can't be joined, or the arguments hold a filter by a name that the store may not read.
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
    # Checked as copies, as a mapping may say of itself that it is empty and hold what binds; not by ==, of which the
    # filters of some stores make a filter.
    set_ones = [each for each in copies if not isinstance(each, dict) or each]
    bound = [answering_at_once(adapter.stored_filter(each)) for each in set_ones]
    return Scope(adapter, adapter.join(bound) if bound else None)


def check_binds(*filters: Any) -> None:
    """Check that none of the filters that are set is empty.

    Raises:
        InvalidInputError: One is. That is a mistake, as whoever sets a filter means to bind something.
    """
    if any(isinstance(each, dict) and not each for each in filters):
        raise InvalidInputError("the filter is {}, which matches everything; write filter=None for no filter")
