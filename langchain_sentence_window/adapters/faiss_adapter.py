"""The adapter of `FaissStore`, which answers a query in one state of the index."""

import inspect
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from langchain_core.documents import Document

from langchain_sentence_window._io import BLOCKING, IO, run
from langchain_sentence_window._primitives import SentenceKey, Vectors
from langchain_sentence_window.documents.indexed_documents import IndexedDocument
from langchain_sentence_window.documents.sentence_documents import SentencesByKey
from langchain_sentence_window.documents.source_metadata import filter_of_source
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.names import DocumentNames
from langchain_sentence_window.store.filters import compile_filter
from langchain_sentence_window.store.state import IndexState

from .store_adapter import FILTER_ALONE, BulkLoader, Scored, SearchedCandidates, SearchWork, StoreAdapter

if TYPE_CHECKING:
    from langchain_sentence_window.store.faiss_store import FaissStore

T = TypeVar("T")

MAX_WITHOUT_COPY = 3
"""Attempts at a query of a store in memory that others keep writing; then its state is copied."""

_METHODS = (
    "similarity_search_with_score",
    "asimilarity_search_with_score",
    "hybrid_search",
    "get_by_ids",
)
"""The methods by which a store is searched and read."""


class FaissStoreAdapter(StoreAdapter):
    """`FaissStore` searches by words, replaces documents in a transaction and enforces filters by id."""

    store: "FaissStore"
    holds_json = True
    finds_words = True
    is_whole_index = True
    read_batch_size = sys.maxsize  # one call reads one state

    @property
    def folder(self) -> Path | None:
        """The folder of the store; ``None`` if it is in memory."""
        return self.store.folder

    async def count_writes(self, io: IO) -> int | None:
        """Return the number of writes so far."""
        return (await io.in_thread(self.store.stats)).generation

    def search_parameters(self) -> Mapping[str, inspect.Parameter]:
        """Return ``filter`` alone; the retriever gives the other arguments."""
        return FILTER_ALONE

    @property
    def is_masked(self) -> bool:
        """Whether the store is of a subclass that searches or reads in its own way, perhaps to hide sentences.

        Then it is only searched and read by these methods.
        """
        return any(map(self._overrides, _METHODS))

    def _overrides(self, name: str) -> bool:
        from langchain_sentence_window.store.faiss_store import FaissStore

        return getattr(type(self.store), name) is not getattr(FaissStore, name)

    async def search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored:
        """Search by meaning, or as a subclass does by meaning and words."""
        if self._overrides("hybrid_search"):
            return await io.in_thread(self.store.hybrid_search, query, **settings)
        return await super().search(io, query, settings)

    async def in_search(self, io: IO, query: str, work: SearchWork[T], *, has_words: bool) -> T:
        """Search and read in one state of the index; start again after a text had to be embedded."""
        if self.is_masked:
            return await work(io, self)
        vectors, text = dict[str, Vectors](), query

        def in_state(state: IndexState) -> T | _NotEmbedded:
            try:
                return run(work(BLOCKING, _StateAdapter(self.store, state, vectors)))
            except _NotEmbedded as missing:
                return missing

        while True:
            vectors[text] = await self.store.embed_query(io, text)
            found = await io.compute(self.store.read, in_state, words=has_words)
            if not isinstance(found, _NotEmbedded):
                return found
            text = found.text

    async def sentences(self, io: IO, keys: Sequence[SentenceKey], filter: Any = None) -> SentencesByKey | None:
        """Read them without making Documents."""
        if self.is_masked:
            return await super().sentences(io, keys, filter)
        return await io.compute(self.store.read_sentences, keys, filter)

    @contextmanager
    def at_one_state(self, attempt: int) -> Iterator[Self]:
        """Return a context with an adapter of the store at one state."""
        with self.store.at_one_state(copies=attempt > MAX_WITHOUT_COPY) as store:
            adapter = type(self)(store)
            adapter.reads_one_state = True
            yield adapter

    async def lexical_search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored | None:
        """Search by words."""
        return await io.in_thread(self.store.lexical_search, query, **settings)

    async def prepare_replacement(
        self,
        io: IO,
        sentences: Sequence[Document],
        doc_ids: Sequence[str],
        contexts: Sequence[str] | None,
        within: Any = None,
    ) -> Any:
        """Prepare a replacement, whose transaction checks the filter too."""
        return await self.store.prepare_replacement(io, sentences, doc_ids, contexts, within)

    async def list_documents(self, io: IO, filter: Any = None, source: str | None = None) -> list[IndexedDocument]:
        """List them without reading their sentences."""
        within = self._of_source(filter, source)
        return await io.in_thread(self.store.list_documents, within)

    async def list_pages(self, io: IO) -> AsyncIterator[Sequence[Document]]:
        """Yield all, in one state of the store."""
        slices = self.store.export()
        while (part := await io.in_thread(next, slices, None)) is not None:
            yield part[0]

    async def count_documents(self, io: IO, filter: Any = None) -> int:
        """Count them without reading them."""
        return await io.in_thread(self.store.count_documents, filter)

    async def delete_documents(
        self, io: IO, doc_ids: Sequence[str] | None, filter: Any, source: str | None
    ) -> Sequence[str]:
        """Delete them in one transaction, which checks the filter too."""
        return await io.in_thread(self.store.delete_documents, doc_ids, filter=self._of_source(filter, source))

    def _of_source(self, filter: Any, source: str | None) -> Any:
        if source is None:
            return filter
        of_source = filter_of_source(source)
        return of_source if filter is None else self.join([filter, of_source])

    async def add_vectors(self, io: IO, documents: Sequence[Document], vectors: Vectors) -> None:
        """Add documents with their vectors."""
        await io.in_thread(self.store.add_embeddings, documents, vectors)

    def bulk_loader(self, **settings: Any) -> BulkLoader:
        """Refuse: the store mixes vectors itself.

        Raises:
            InvalidInputError: Always.
        """
        raise InvalidInputError(
            f"{self.name} embeds and mixes itself, in one transaction; add documents with a retriever, or vectors with "
            "add_embeddings"
        )

    def reads_filter(self, filter: Any) -> bool:
        """Return whether the store reads it; raise a `FilterError` if it can't."""
        compile_filter(filter)
        return True


class _NotEmbedded(Exception):  # noqa: N818 - not an error
    """A text has to be embedded first, which isn't done while a state is read."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class _StateAdapter(FaissStoreAdapter):
    """A `FaissStore` at the state that a search reads."""

    reads_one_state = True

    def __init__(self, store: "FaissStore", state: IndexState, vectors: Mapping[str, Vectors]) -> None:
        super().__init__(store)
        self._state, self._vectors = state, vectors

    async def candidates(
        self, io: IO, text: str, k: int, filter: Any, *, lexical_weight: float, spreads: bool
    ) -> SearchedCandidates:
        vector = self._vectors.get(text)
        if vector is None:
            # Another read finds the same state only if there was no write in between.
            vector = self._state.origin.queries.cached(text)
        if vector is None:
            raise _NotEmbedded(text)
        return self._state.search(vector, text, k, lexical_weight=lexical_weight, filter=filter, spreads=spreads)

    async def sentences(self, io: IO, keys: Sequence[SentenceKey], filter: Any = None) -> SentencesByKey | None:
        return self._state.sentences(keys, filter)

    async def document_names(
        self, io: IO, keys: Sequence[str], metadata_keys: Sequence[str], filter: Any
    ) -> DocumentNames:
        return self._state.document_names(keys, metadata_keys, filter=filter)
