"""`StoreAdapter`: how this package uses a vector store, for any store that follows LangChain's interface.

The other modules of this folder adapt stores that differ. They override what differs, and no more.
"""

import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, TypeAlias, TypeVar

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import SentenceKey, Vectors
from langchain_sentence_window.documents.indexed_documents import IndexedDocument, indexed_documents, sentence_runs
from langchain_sentence_window.documents.keys import DOC_ID, sentence_id
from langchain_sentence_window.documents.metadata_values import SCALARS, stored_filter
from langchain_sentence_window.documents.sentence_documents import (
    SentencesByKey,
    StoredSentence,
    by_key,
    read_sentence,
)
from langchain_sentence_window.documents.source_documents import StoreLimits
from langchain_sentence_window.documents.source_metadata import source_of
from langchain_sentence_window.embedding.contextual_vectors import CarriedVectors, NeighborMixedEmbeddings
from langchain_sentence_window.embedding.embedder import embed_texts
from langchain_sentence_window.errors import InvalidInputError, StoreUnavailableError
from langchain_sentence_window.ranking.candidates import Candidates
from langchain_sentence_window.ranking.names import DocumentNames
from langchain_sentence_window.ranking.relevance import Unrelated

from .matchers import Matcher, mapping_matcher

T = TypeVar("T")

PAGE_SIZE = 1_000
"""Documents that one call reads when all are read."""

Scored: TypeAlias = list[tuple[Document, float]]
"""Documents with their scores, best first. A higher score is better."""

FILTER_ALONE = {"filter": inspect.Parameter("filter", inspect.Parameter.KEYWORD_ONLY)}
"""The parameters of a search that takes a filter and nothing else, see `StoreAdapter.search_parameters`."""

Embedded: TypeAlias = Sequence[tuple[Document, list[float]]]
"""Documents with ids, each with its vector."""

_TO_JSON = "convert it to strings, finite numbers, booleans, lists or dicts"
_TO_SCALARS = "convert it to strings, or use a store that holds JSON, such as FaissStore"


class SearchedCandidates(Protocol):
    """The candidates of a search, and their sentences."""

    @property
    def candidates(self) -> Candidates:
        """The candidates, best first by the search's own scores."""

    @property
    def unrelated(self) -> Unrelated | None:
        """How close sentences are that have little to do with the text; ``None`` if the store can't say."""

    def sentences(self, order: Sequence[int]) -> list[StoredSentence]:
        """Return the sentences of some candidates, by position."""


SearchWork: TypeAlias = Callable[[IO, Any], Coroutine[Any, Any, T]]
"""Searches and reads, with the interface that makes calls and the adapter that it is given."""


class BulkLoader:
    """Writes sentences whose vectors are ready, any number of times, and builds indexes at the end."""

    def __init__(self, adapter: "StoreAdapter") -> None:
        """Take the store's adapter. A subclass may also take settings, by name."""
        self.adapter = adapter

    async def write(self, io: IO, documents: Sequence[Document], vectors: Vectors) -> None:
        """Write sentence Documents, each in the place of one with the same id.

        Args:
            io: Makes the calls.
            documents: ``n`` sentence Documents with distinct ids.
            vectors: The vectors to search them by, shape ``(n, dimension)``.
        """
        if self.adapter.takes_vectors:
            await self.adapter._put_embedded(io, list(zip(documents, vectors.tolist(), strict=True)))
            return
        carried = CarriedVectors(documents, vectors)
        await self.adapter.put(io, carried.documents)
        carried.finish(self.adapter.store)

    async def finish(self, io: IO) -> None:
        """Build the indexes that are missing."""


class StoreAdapter:
    """Uses a vector store that follows LangChain's interface, filters by mappings and replaces documents by id.

    To support another store, override what differs, and pass the class to `register`. An adapter is made for each
    query, so it keeps nothing for the next one.

    Methods that take ``io`` run blocking and async. Use ``await io.call(store.method, store.amethod, ...)`` for a call
    that exists in both forms, and ``await io.in_thread(store.method, ...)`` for one that only blocks.
    """

    filter_name: ClassVar[str] = "filter"
    """The name of the search's argument that is a filter."""
    filter_form: ClassVar[str] = "a mapping such as {'tenant': 'a'}"
    """What the store filters by, for messages; see `reads_filter`."""
    filter_class: ClassVar[tuple[str, str] | None] = None
    """The package and the name of the class of its filters, which ``&`` joins; ``None`` for other filters."""
    one_key_filters: ClassVar[bool] = False
    """Whether each mapping in a filter must have one key."""
    rechecks_hits: ClassVar[bool] = True
    """Whether hits are compared with the filter again; ``False`` if the store's mappings have another meaning."""
    added_keys: ClassVar[frozenset[str]] = frozenset()
    """Keys that the store adds to the metadata of what it returns. They aren't shown to users."""
    holds_json: ClassVar[bool] = False
    """Whether the store gives back lists, dicts and ``None`` in metadata as they were given; see `holds`."""
    lists_in_order: ClassVar[bool] = False
    """Whether Documents are listed in the order in which they were added, even after deletions."""
    away_errors: ClassVar[frozenset[str]] = frozenset()
    """Full names of the exceptions by which the store's driver says that the server doesn't answer."""
    read_batch_size: ClassVar[int] = 10_000
    """The most ids in one call."""
    write_batch_size: ClassVar[int] = 5_000
    """The most documents in one call. If an embedder fails, a store that embeds has stored the batches before."""

    is_whole_index: ClassVar[bool] = False
    """Whether the store copies, measures and checks itself, and mixes vectors itself, as `FaissStore` does."""
    finds_words: ClassVar[bool] = False
    """Whether `candidates` and `lexical_search` search by words."""
    loader_class: ClassVar[type[BulkLoader]] = BulkLoader
    """Loads many sentences into the store."""
    reads_one_state = False
    """Whether all that is searched and read is of one state of the store; see `at_one_state`."""

    def __init__(self, store: Any) -> None:
        """Take the store."""
        self.store = store

    @property
    def name(self) -> str:
        """The name of the store's class, for messages."""
        return type(self.store).__name__

    # Searching

    async def search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored:
        """Search by meaning.

        Args:
            io: Makes the calls.
            query: Any text.
            settings: ``k``, the filter by its name, and ``search_kwargs``.

        Returns:
            Documents with their scores, best first. A higher score is better.
        """
        store = self.store
        found = await io.call(
            store.similarity_search_with_score, store.asimilarity_search_with_score, query, **settings
        )
        return self._best_highest(found)

    async def lexical_search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored | None:
        """Search by words alone, see `search`; return ``None`` if the store can't."""
        return None

    async def in_search(self, io: IO, query: str, work: SearchWork[T], *, has_words: bool) -> T:
        """Search, and read around the hits, in one state of the store if it can.

        Args:
            io: Makes the calls.
            query: The question, whose vector is needed.
            work: Searches and reads, with the interface and the adapter that it is given. It may be called again from
                its beginning, so it returns all that it finds.
            has_words: Whether it searches words.
        """
        return await work(io, self)

    async def candidates(
        self,
        io: IO,
        text: str,
        k: int,
        filter: Any,
        *,
        lexical_weight: float,
        spreads: bool,
    ) -> SearchedCandidates | None:
        """Search by meaning and words, and return what a ranking looks at.

        Args:
            io: Makes the calls.
            text: The text to search for.
            k: The number of sentences that are enough; `CANDIDATES` are found at least.
            filter: A filter, in the store's form; ``None`` for no filter.
            lexical_weight: How much words count.
            spreads: Whether the words of its neighbors count for a sentence, see `spread`.

        Returns:
            ``None`` if the store can't. Then candidates are made of what `search` finds.
        """
        return None

    async def document_names(
        self, io: IO, keys: Sequence[str], metadata_keys: Sequence[str], filter: Any
    ) -> DocumentNames | None:
        """Return the names of the documents that a question may name; see `langchain_sentence_window.ranking.names`.

        Args:
            io: Makes the calls.
            keys: The keys of the question.
            metadata_keys: Keys of metadata that hold names, besides the title, the file name and its folder.
            filter: A filter, in the store's form; names of documents that it excludes are never revealed. ``None`` for
                no filter.

        Returns:
            The names of documents that have one of the keys; ``None`` if the store can't find them. Then
            only documents that a search finds can be named.
        """
        return None

    def _best_highest(self, found: Iterable[tuple[T, Any]]) -> list[tuple[T, float]]:
        """Return what was found, best first, with scores of which a higher one is better."""
        scored = [(each, float(score)) for each, score in found]
        sign = -1.0 if self._are_distances([score for _, score in scored]) else 1.0
        return [(each, sign * score) for each, score in scored]

    def _are_distances(self, scores: Sequence[float]) -> bool:
        """Check whether a lower score is better.

        Results come best first, so rising scores are distances. If all are equal, the function that makes relevance
        scores of them decides, if the store has one.
        """
        if scores and scores[0] != scores[-1]:
            return scores[0] < scores[-1]
        try:
            relevance = self.store._select_relevance_score_fn()
            return bool(relevance(0.0) > relevance(1.0))
        except Exception:  # noqa: BLE001 - many stores have none, or none for their metric
            return False

    # Filters

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
        """Return whether a filter is in the store's form; for an unknown store, any may be."""
        if self.filter_class is None:
            return not self.one_key_filters or isinstance(filter, Mapping)
        package, name = self.filter_class
        return any(each.__name__ == name and each.__module__.startswith(package) for each in type(filter).__mro__)

    def combine(self, filters: Sequence[Any]) -> Any:
        """Join filters that are in the store's form; see `join`."""
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
        """Return a function that checks whether a Document matches a filter; ``None`` if only the store can."""
        return mapping_matcher(filter) if isinstance(filter, Mapping) else None

    def matching(self, documents: Sequence[Document], filter: Any) -> list[Document]:
        """Leave out Documents that a filter forbids.

        Raises:
            InvalidInputError: Only the store can apply the filter.
        """
        if filter is None:
            return list(documents)
        matches = self.matcher(filter)
        if matches is None:
            raise InvalidInputError(
                f"{self.name} can't apply the filter {shown(filter)} when sentences are read by id; give a "
                "mapping, ask with window=0, or write an adapter with the method select"
            )
        return [document for document in documents if matches(document)]

    def of_documents(self, doc_ids: Sequence[str]) -> Any:
        """Return a filter, in the store's form, that matches the sentences of some source documents.

        Returns:
            ``None`` if it isn't known how the store filters.
        """
        if type(self) is StoreAdapter:  # it has no adapter of its own
            return None
        return {DOC_ID: doc_ids[0] if len(doc_ids) == 1 else {"$in": list(doc_ids)}}

    def stored_filter(self, filter: Any) -> Any:
        """Convert the values in a filter as those of metadata were converted for the store."""
        return stored_filter(filter)

    def search_parameters(self) -> Mapping[str, inspect.Parameter]:
        """Return the parameters of a search, for checking ``search_kwargs``."""
        return inspect.signature(self.store.similarity_search_with_score).parameters

    # Reading

    async def select(self, io: IO, ids: Sequence[str] | None, filter: Any) -> list[Document] | None:
        """Read Documents with some ids, or all of them, that a filter lets through.

        Args:
            io: Makes the calls.
            ids: No more than `read_batch_size`; ``None`` for all Documents, in the order in which they were added if
                that is possible.
            filter: The filter, in the store's form; ``None`` for no filter.

        Returns:
            ``None`` if the store can't fetch by id.

        Raises:
            InvalidInputError: The store can't list what it holds, or the filter can't be enforced.
        """
        if ids is None:
            raise InvalidInputError(
                f"{self.name} can't list what it holds, so its documents can't be listed, nor found by their source or "
                "a filter; name them by their ids, or write an adapter with the method select"
            )
        try:
            found = await io.call(self.store.get_by_ids, self.store.aget_by_ids, list(ids))
        except NotImplementedError:
            return None
        return self.matching(found, filter)

    async def fetch(self, io: IO, ids: Sequence[str], filter: Any = None) -> list[Document] | None:
        """Fetch documents by id, in any order; leave out ids that don't exist or that the filter forbids.

        Returns:
            ``None`` if the store can't fetch by id.

        Raises:
            InvalidInputError: The filter can't be enforced when documents are fetched by id.
            StoreUnavailableError: The store's server doesn't answer.
        """
        found: list[Document] = []
        for batch in batches(ids, self.read_batch_size):
            with self.reached():
                part = await self.select(io, batch, filter)
            if part is None:
                return None
            found += part
        return found

    async def sentences(self, io: IO, keys: Sequence[SentenceKey], filter: Any = None) -> SentencesByKey | None:
        """Read sentences by document and index, see `fetch`."""
        found = await self.fetch(io, [sentence_id(*key) for key in keys], filter)
        return None if found is None else by_key(map(self.read, found))

    def read(self, document: Document) -> StoredSentence:
        """Read a sentence Document that the store returned.

        Raises:
            IncompleteWindowError: Its metadata isn't what the splitter writes.
        """
        # `None` is the empty column of a store that holds none.
        given = document.metadata
        kept = {
            key: value
            for key, value in given.items()
            if key not in self.added_keys and (value is not None or self.holds(key, None))
        }
        if len(kept) == len(given):
            return read_sentence(document)
        return read_sentence(Document(id=document.id, page_content=document.page_content, metadata=kept))

    async def list_sentences(self, io: IO, filter: Any) -> list[Document]:
        """Return all sentence Documents that a filter lets through.

        Raises:
            InvalidInputError: The store can't list what it holds.
        """
        return await self.select(io, None, filter) or []

    async def list_pages(self, io: IO) -> AsyncIterator[Sequence[Document]]:
        """Yield all Documents that the store holds, with their ids, as many at a time as one call reads.

        Raises:
            InvalidInputError: The store can't list what it holds.
        """
        yield await self.list_sentences(io, None)

    async def list_documents(self, io: IO, filter: Any = None, source: str | None = None) -> list[IndexedDocument]:
        """List the documents of which a filter lets sentences through.

        Args:
            io: Makes the calls.
            filter: The filter, in the store's form; ``None`` for no filter.
            source: The source that their metadata must name; ``None`` for any.

        Raises:
            InvalidInputError: The store can't list what it holds.
        """
        sentences = map(self.read, await self.list_sentences(io, filter))
        return indexed_documents(sentence_runs(each for each in sentences if source in (None, source_of(each.source))))

    async def count_documents(self, io: IO, filter: Any = None) -> int:
        """Count the documents that `list_documents` lists."""
        return len(await self.list_documents(io, filter))

    async def vectors_of(self, io: IO, ids: Sequence[str]) -> Mapping[str, Sequence[float]]:
        """Return the vectors that the store holds, by id; leave out ids that don't exist.

        Raises:
            InvalidInputError: The store doesn't give its vectors.
        """
        raise InvalidInputError(
            f"{self.name} doesn't give the vectors that it holds; read its texts with read_chunks, and embed them again"
        )

    async def count_writes(self, io: IO) -> int | None:
        """Return a number that grows with each write; ``None`` if the store doesn't say."""
        return None

    @contextmanager
    def at_one_state(self, attempt: int) -> Iterator[Self]:
        """Return a context with an adapter that searches and reads one state of the store, if it can.

        Args:
            attempt: The number of the attempt at what is searched and read there, from 1.
        """
        yield self

    # Writing

    @property
    def embedding(self) -> Embeddings | None:
        """The embedder of the store; ``None`` if it doesn't say."""
        found: Embeddings | None = self.store.embeddings
        if found is None:
            other = getattr(self.store, "embedding", None)
            found = other if isinstance(other, Embeddings) else None
        return found

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

    @property
    def takes_vectors(self) -> bool:
        """Whether `put_vectors` works, so that documents are embedded here."""
        return False

    async def put_vectors(self, io: IO, embedded: Embedded) -> None:
        """Write a batch of documents with their vectors, in place of those with the same ids."""
        raise NotImplementedError

    async def put(self, io: IO, documents: Sequence[Document]) -> None:
        """Add documents, each with an id, in place of those with the same ids."""
        if self.takes_vectors and self.embedding is not None:
            # All are embedded before one is written, so that a failing embedder leaves the old ones.
            vectors = await embed_texts(io, self.embedding, [document.page_content for document in documents])
            await self._put_embedded(io, list(zip(documents, vectors, strict=True)))
            return
        for batch in batches(documents, self.write_batch_size):
            await io.call(
                self.store.add_documents, self.store.aadd_documents, list(batch), ids=[each.id for each in batch]
            )

    async def _put_embedded(self, io: IO, embedded: Embedded) -> None:
        """Write any number of documents with their vectors; see `put_vectors`."""
        for batch in batches(embedded, self.write_batch_size):
            await self.put_vectors(io, batch)

    async def remove(self, io: IO, ids: Sequence[str]) -> None:
        """Delete documents that the store holds."""
        for batch in batches(ids, self.write_batch_size):
            await io.call(self.store.delete, self.store.adelete, list(batch))

    async def prepare_replacement(
        self,
        io: IO,
        sentences: Sequence[Document],
        doc_ids: Sequence[str],
        contexts: Sequence[str] | None,
        within: Any = None,
    ) -> Any:
        """Prepare to replace all sentences of source documents in one transaction, which another thread may make.

        Args:
            io: Makes the calls.
            sentences: The new ones.
            doc_ids: Source documents to replace; those without a new sentence are deleted.
            contexts: Text to put before each sentence when it is embedded.
            within: A filter that the old and the new sentences must match; ``None`` for no filter.

        Returns:
            A `Replacement` of `FaissStore`; ``None`` if the store has no such transactions. Then sentences are written
            with `put`, and old ones deleted with `remove`.
        """
        return None

    async def delete_documents(
        self, io: IO, doc_ids: Sequence[str] | None, filter: Any, source: str | None
    ) -> Sequence[str] | None:
        """Delete whole source documents in one transaction, if the store can.

        Args:
            io: Makes the calls.
            doc_ids: Their names; ``None`` for any.
            filter: A filter that all their sentences must match; ``None`` for no filter.
            source: The source that their metadata must name; ``None`` for any.

        Returns:
            The names of the documents that were deleted; ``None`` if it wasn't done. Then they are found with
            `list_documents`, and their sentences deleted with `remove`.

        Raises:
            InvalidInputError: The filter matches only a part of a document; nothing was deleted.
        """
        return None

    async def add_vectors(self, io: IO, documents: Sequence[Document], vectors: Vectors) -> None:
        """Add documents with their vectors as they were embedded, before they are mixed, if `is_whole_index`."""
        raise NotImplementedError

    def bulk_loader(self, **settings: Any) -> BulkLoader:
        """Return what loads many sentences into the store.

        Args:
            **settings: Settings of the loader's class.

        Raises:
            InvalidInputError: The store can't take ready-made vectors, or a setting can't be used.
            TypeError: The loader has no such setting.
        """
        if not self.takes_vectors and not isinstance(self.embedding, NeighborMixedEmbeddings):
            raise InvalidInputError(
                f"{self.name} takes no ready-made vectors; build it with "
                "NeighborMixedEmbeddings(embedding), or add documents with a retriever"
            )
        return self.loader_class(self, **settings)

    # The store itself

    @property
    def folder(self) -> Path | None:
        """The folder of the store's index; ``None`` if it is in memory or elsewhere."""
        return None

    def is_same(self, other: "StoreAdapter") -> bool:
        """Return whether another store keeps its documents in the same place, as far as can be seen."""
        own, others = self.folder, other.folder
        is_same_folder = own is not None and others is not None and own.resolve() == others.resolve()
        return self.store is other.store or is_same_folder

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
            # The driver's message may hold addresses and data.
            raise StoreUnavailableError(
                f"{self.name} doesn't answer ({type(cause).__name__}); check that its server runs and can be reached "
                "from here, and try again"
            ) from error

    def close(self) -> None:
        """Close the store, if it can be closed."""
        close = getattr(self.store, "close", None)
        if callable(close):
            close()


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield items in slices of a size."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
