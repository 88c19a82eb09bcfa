"""The adapters of stores that run in this process: `InMemoryVectorStore`, `FAISS` of langchain-community, `Chroma`."""

import inspect
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._io import IO

from .families import BlockingAdapter, offset_pages
from .matchers import Matcher, all_of, checked_function, mapping_matcher
from .store_adapter import FILTER_ALONE, PAGE_SIZE, Embedded, Scored, StoreAdapter
from .stored_values import is_plain

_IN_MEMORY = "langchain_core.vectorstores.in_memory"


class InMemoryAdapter(StoreAdapter):
    """The store filters by functions of a Document; a mapping is made into one."""

    lists_in_order = True
    holds_json = True

    def search_parameters(self) -> Mapping[str, inspect.Parameter]:
        """Return ``filter`` alone, as the store ignores other arguments; those of a subclass's own search.

        The store's signature has ``**kwargs``, which it passes on to a method that ignores them.
        """
        if type(self.store).similarity_search_with_score.__module__ == _IN_MEMORY:
            return FILTER_ALONE
        return super().search_parameters()

    async def select(self, io: IO, ids: Sequence[str] | None, filter: Any) -> list[Document] | None:
        """List what is in memory, even for a subclass that can't fetch by id."""
        if ids is not None:
            return await super().select(io, ids, filter)
        held = [
            Document(id=each["id"], page_content=each["text"], metadata=each["metadata"])
            for each in list(self.store.store.values())
        ]
        return self.matching(held, filter)

    async def vectors_of(self, io: IO, ids: Sequence[str]) -> Mapping[str, Sequence[float]]:
        """Look them up in memory."""
        held = self.store.store
        return {id_: held[id_]["vector"] for id_ in ids if id_ in held}

    def combine(self, filters: Sequence[Any]) -> Any:
        """Return a function that calls them all."""
        return all_of([self.matcher(each) for each in filters])

    def matcher(self, filter: Any) -> Matcher:
        """Return the function itself, or one for a mapping."""
        if isinstance(filter, Mapping):
            return mapping_matcher(filter)
        return checked_function(self.name, filter, "a Document")


class CommunityFaissAdapter(BlockingAdapter):
    """The store filters by functions of metadata or by mappings of its own, after the search."""

    lists_in_order = True
    holds_json = True
    takes_vectors = True

    async def search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored:
        """Search everything if there is a filter, as the store filters only the ``fetch_k`` best."""
        wider = {"fetch_k": self.store.index.ntotal} if "filter" in settings else {}
        return await super().search(io, query, wider | dict(settings))

    def rows(self, ids: Sequence[str] | None, filter: Any) -> list[Document]:
        """Look them up, and set ids, which Documents of older releases lack."""
        store = self.store
        names = list(store.index_to_docstore_id.values()) if ids is None else ids
        found = ((id_, store.docstore.search(id_)) for id_ in names)  # a message for one that doesn't exist
        named = [each.model_copy(update={"id": id_}) for id_, each in found if isinstance(each, Document)]
        return self.matching(named, filter)

    async def vectors_of(self, io: IO, ids: Sequence[str]) -> Mapping[str, Sequence[float]]:
        """Read them from the index, which returns approximations if it holds codes."""
        rows = {id_: row for row, id_ in self.store.index_to_docstore_id.items()}
        return {id_: self.store.index.reconstruct(rows[id_]) for id_ in ids if id_ in rows}

    def write(self, embedded: Embedded) -> None:
        """Delete documents with the same ids, which the store refuses, then add the new ones."""
        ids = [str(document.id) for document, _ in embedded]
        if known := sorted({*ids}.intersection(self.store.index_to_docstore_id.values())):
            self.store.delete(known)
        pairs = [(document.page_content, vector) for document, vector in embedded]
        self.store.add_embeddings(pairs, [document.metadata for document, _ in embedded], ids=ids)

    def reads_filter(self, filter: Any) -> bool:
        """Return whether it is a mapping or a function."""
        return bool(self._function(filter))

    def combine(self, filters: Sequence[Any]) -> Any:
        """Return a function that calls them all."""
        return all_of([self._function(each) for each in filters])

    def matcher(self, filter: Any) -> Matcher:
        """Return a function that reads a filter as the store does."""
        matches = self._function(filter)
        return lambda document: matches(document.metadata)

    def _function(self, filter: Any) -> Callable[[Any], bool]:
        if not isinstance(filter, Mapping):
            return checked_function(self.name, filter, "the metadata")
        function: Callable[[Any], bool] = self.store._create_filter_func(filter)
        return function


class ChromaAdapter(BlockingAdapter):
    """Chroma filters by mappings of its own, in searches and in reads by id."""

    lists_in_order = True
    one_key_filters = True
    rechecks_hits = False
    write_batch_size = 5_000  # it takes no more than 5,461

    def holds(self, key: str, value: Any) -> bool:
        """Ask Chroma itself, as newer releases hold lists of strings, of numbers and of booleans."""
        from chromadb.api.types import validate_metadata

        if value is None or not key or key.startswith("$") or not is_plain([key, value]):
            return False
        try:
            validate_metadata({key: value})
        except (TypeError, ValueError):
            return False
        return True

    def rows(self, ids: Sequence[str] | None, filter: Any) -> list[Document]:
        """Get documents within the filter."""
        return self._get(ids=ids and list(ids), where=filter)

    def list_pages(self, io: IO) -> AsyncIterator[Sequence[Document]]:
        """Get them page by page."""
        return offset_pages(io, lambda offset: self._get(limit=PAGE_SIZE, offset=offset))

    async def vectors_of(self, io: IO, ids: Sequence[str]) -> Mapping[str, Sequence[float]]:
        """Get them by id."""
        got = await io.in_thread(self.store.get, ids=list(ids), include=["embeddings"])
        return dict(zip(got["ids"], got["embeddings"], strict=True))

    def _get(self, **settings: Any) -> list[Document]:
        got = self.store.get(**settings)
        rows = zip(got["documents"], got["metadatas"], got["ids"], strict=True)
        return [Document(page_content=text or "", metadata=metadata or {}, id=id_) for text, metadata, id_ in rows]
