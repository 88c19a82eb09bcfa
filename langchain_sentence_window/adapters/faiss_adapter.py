"""The adapter of `FaissStore`, which answers a query in one state of the index."""

import inspect
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window.documents.indexed_documents import IndexedDocument
from langchain_sentence_window.documents.source_parts import filter_of_source
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.names import DocumentNames
from langchain_sentence_window.ranking.relevance import Unrelated
from langchain_sentence_window.store.filters import compile_filter
from langchain_sentence_window.store.state import IndexState

from .store_adapter import BulkLoader, Scored, StoreAdapter
from .traits import StoreTraits

if TYPE_CHECKING:
    from langchain_sentence_window.store.faiss_store import FaissStore

T = TypeVar("T")

MAX_WITHOUT_COPY = 3
"""Attempts at a query of a store in memory, before its state is copied as others write all the time."""

_IN_ONE_ROUND = ("hybrid_search", "ahybrid_search", "get_by_ids", "get_by_ids_within", "aget_by_ids_within")
"""The methods in whose place a search in one round comes."""


class FaissStoreAdapter(StoreAdapter):
    """`FaissStore` searches by words, replaces documents in a transaction and enforces filters by id."""

    store: "FaissStore"
    holds_json = True
    is_hybrid = True
    ranks_candidates = True
    mixes_neighbors = True
    is_whole_index = True
    read_batch_size = sys.maxsize  # one call reads one state

    @property
    def folder(self) -> Path | None:
        """The folder of the store; ``None`` if it is in memory."""
        return self.store.folder

    def is_same(self, other: StoreTraits) -> bool:
        """Compare the folders, too."""
        own, others = self.folder, other.folder
        return super().is_same(other) or (own is not None and others is not None and own.resolve() == others.resolve())

    async def count_writes(self, io: IO) -> int | None:
        """Return the number of writes so far."""
        return (await io.call(self.store.stats, self.store.astats)).generation

    def search_parameters(self) -> Mapping[str, inspect.Parameter]:
        """Return those of a hybrid search, without the ones that the retriever gives."""
        taken = inspect.signature(self.store.hybrid_search).parameters
        return {name: parameter for name, parameter in taken.items() if name not in ("rank", "spreads")}

    async def hybrid_search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored:
        """Search by meaning and words; ``settings`` may hold ``rank``, see `FaissStore.hybrid_search`."""
        return await io.call(self.store.hybrid_search, self.store.ahybrid_search, query, **settings)

    @property
    def reads_index(self) -> bool:
        """Whether a query reads the index itself; not that of a subclass that searches or reads in its own way."""
        from langchain_sentence_window.store.faiss_store import FaissStore

        return all(getattr(type(self.store), name) is getattr(FaissStore, name) for name in _IN_ONE_ROUND)

    async def read_index(self, io: IO, work: Callable[[IndexState], T], *, words: bool = True) -> T:
        """Run a function of one state of the index; see `FaissStore.read`."""
        return await io.compute(partial(self.store.read, work, words=words))

    @contextmanager
    def at_one_state(self, attempt: int) -> Iterator[Self]:
        """Return a context with an adapter of the store at one state."""
        with self.store.at_one_state(copies=attempt > MAX_WITHOUT_COPY) as store:
            adapter = type(self)(store)
            adapter.reads_one_state = True
            yield adapter

    async def lexical_search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored | None:
        """Search by words."""
        return await io.call(self.store.lexical_search, self.store.alexical_search, query, **settings)

    async def unrelated_to(self, io: IO, query: str) -> Unrelated | None:
        """Look at the store's vectors."""
        vector = await self.store.embed_query(io, query)
        return await self.read_index(io, lambda state: state.unrelated_to(vector), words=False)

    async def document_names(
        self, io: IO, keys: Sequence[str], metadata_keys: Sequence[str], filter: Any
    ) -> DocumentNames:
        """Look the keys up in the database."""
        return await io.in_thread(partial(self.store.document_names, keys, metadata_keys, filter=filter))

    async def replace_documents(
        self, io: IO, sentences: Sequence[Document], doc_ids: Sequence[str], *, show_progress: bool, **keywords: Any
    ) -> bool:
        """Replace them in one transaction, which checks the filter too."""
        replacement = await self.store.prepare_replacement(io, sentences, doc_ids, **keywords)
        await replacement.make(io, show_progress=show_progress)
        return True

    async def prepare_replacement(
        self, io: IO, sentences: Sequence[Document], doc_ids: Sequence[str], contexts: Sequence[str]
    ) -> Any:
        """Prepare a replacement, whose transaction another thread makes."""
        return await self.store.prepare_replacement(io, sentences, doc_ids, contexts)

    async def list_documents(self, io: IO, filter: Any = None, source: str | None = None) -> list[IndexedDocument]:
        """List them without reading their sentences."""
        joined = filter if source is None else self._of_source(filter, source)
        return await io.call(self.store.list_documents, self.store.alist_documents, joined)

    async def list_pages(self, io: IO) -> AsyncIterator[Sequence[Document]]:
        """Yield all, in one state of the store."""
        slices = self.store.export()
        while (part := await io.in_thread(next, slices, None)) is not None:
            yield part[0]

    async def count_documents(self, io: IO, filter: Any = None) -> int:
        """Count them without reading them."""
        return await io.call(self.store.count_documents, self.store.acount_documents, filter)

    async def delete_documents(
        self, io: IO, doc_ids: Sequence[str] | None, filter: Any, source: str | None
    ) -> Sequence[str]:
        """Delete them in one transaction, which checks the filter too."""
        given = filter if source is None else self._of_source(filter, source)
        return await io.in_thread(self.store.remove_documents, doc_ids, filter=given)

    def _of_source(self, filter: Any, source: str) -> Any:
        of_source = filter_of_source(source)
        return of_source if filter is None else self.join([filter, of_source])

    async def add_vectors(self, io: IO, documents: Sequence[Document], vectors: Vectors) -> None:
        """Add documents with their vectors."""
        await io.call(self.store.add_embeddings, self.store.aadd_embeddings, documents, vectors)

    def bulk_loader(self, settings: Mapping[str, Any]) -> BulkLoader:
        """Refuse, as the store mixes vectors itself.

        Raises:
            InvalidInputError: Always.
        """
        raise InvalidInputError(
            f"{self.name} embeds and mixes itself, in one transaction; add documents with a retriever, or vectors with "
            "add_embeddings"
        )

    def join(self, filters: Sequence[Any]) -> Any:
        """Check that the store can read each, and join them."""
        for each in filters:
            compile_filter(each)
        return super().join(filters)
