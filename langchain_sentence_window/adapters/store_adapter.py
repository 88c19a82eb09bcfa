"""`StoreAdapter`: how this package uses a vector store, for any store that follows LangChain's interface.

`StoreTraits` describes a store; the methods here call it. Each does one thing that a store can do. The adapters of
stores that do it differently are in other modules of this folder, and override no more than that. A `BulkLoader` is how
a store takes many sentences with their vectors.
"""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import SentenceKey, Vectors
from langchain_sentence_window.documents.indexed_documents import IndexedDocument, indexed_documents, sentence_runs
from langchain_sentence_window.documents.keys import DOC_ID, sentence_id
from langchain_sentence_window.documents.sentence_documents import (
    SentencesByKey,
    StoredSentence,
    by_key,
    read_sentence,
)
from langchain_sentence_window.documents.source_metadata import source_of
from langchain_sentence_window.embedding.contextual_vectors import CarriedVectors, NeighborMixedEmbeddings
from langchain_sentence_window.embedding.embedder import embed_texts
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.candidates import Candidates
from langchain_sentence_window.ranking.names import DocumentNames
from langchain_sentence_window.ranking.relevance import Unrelated

from .traits import StoreTraits

T = TypeVar("T")

PAGE_SIZE = 1_000
"""Documents that are read at a time where all are read."""

Scored: TypeAlias = list[tuple[Document, float]]
"""Documents with their scores, best first. A higher score is better."""

Embedded: TypeAlias = Sequence[tuple[Document, list[float]]]
"""Documents with ids, each with its vector."""


class SearchedCandidates(Protocol):
    """The candidates of a search, and the sentences that they are."""

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
    """Loads sentences into a store: `prepare` once, `write` often, and `finish` once; or `restore` after an error.

    Writing is idempotent: a sentence replaces the one with the same id. What `prepare` switched off is noted in the
    store itself, so that `finish` switches it on again after a crash too, also from another process.
    """

    def __init__(self, adapter: "StoreAdapter") -> None:
        """Take the store's adapter. A subclass may take settings, too, by name.

        Raises:
            InvalidInputError: A setting can't be used.
        """
        self.adapter = adapter

    async def prepare(self, io: IO) -> None:
        """Switch off what makes writing slow, such as indexes."""

    async def write(self, io: IO, documents: Sequence[Document], vectors: Vectors) -> None:
        """Write sentence Documents, each in the place of one with the same id.

        Args:
            io: Makes the calls.
            documents: ``n`` sentence Documents with ids, no two of them equal.
            vectors: Their vectors as they are to be searched, shape ``(n, dimension)``.
        """
        if self.adapter.takes_vectors:
            await put_in_batches(io, self.adapter, list(zip(documents, vectors.tolist(), strict=True)))
            return
        carried = CarriedVectors(documents, vectors)
        await self.adapter.put(io, carried.documents)
        carried.finish(self.adapter.store)

    async def finish(self, io: IO) -> None:
        """Build indexes, and switch on again what `prepare` switched off."""

    async def restore(self, io: IO) -> None:
        """Switch on again what `prepare` switched off, and build nothing new."""
        await self.finish(io)


class StoreAdapter(StoreTraits):
    """Uses a vector store that follows LangChain's interface, filters by mappings and replaces documents by id.

    To support another store, override what differs, and pass the class to `register`. An adapter is made for each
    query, so it keeps nothing for the next one.

    Methods that take ``io`` run blocking and async. Use ``await io.call(store.method, store.amethod, ...)`` for a call
    that exists in both forms, and ``await io.in_thread(store.method, ...)`` for one that only blocks.
    """

    loader_class: ClassVar[type[BulkLoader]] = BulkLoader
    """Loads many sentences into the store."""

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

    async def in_search(self, io: IO, query: str, work: SearchWork[T], *, has_words: bool) -> T:
        """Run what searches, and reads around what it found, in one state of the store if that is possible.

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
            ``None`` if the store can't. Then candidates are made of what `search` or `search_both` finds.
        """
        return None

    async def search_both(self, io: IO, query: str, settings: Mapping[str, Any]) -> list[tuple[Document, float, float]]:
        """Search by meaning and by words, see `search`, if `finds_words` and there are no `candidates`.

        Returns:
            Documents that either finds, each with its score by meaning and its BM25 score, 0 for one without a word
            of the query. A higher score is better.
        """
        raise NotImplementedError

    async def lexical_search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored | None:
        """Search by words alone, see `search`; return ``None`` if the store can't."""
        if not self.finds_words:
            return None
        both = await self.search_both(io, query, settings)
        scored = [(document, words) for document, _, words in both if words]
        return sorted(scored, key=lambda pair: -pair[1])[: settings["k"]]

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

        Results come best first, so rising scores are distances. Where all are equal, the function that makes
        relevance scores of them tells, if the store has one.
        """
        if self.gives_distances is not None:
            return self.gives_distances
        if scores and scores[0] != scores[-1]:
            return scores[0] < scores[-1]
        try:
            relevance = self.store._select_relevance_score_fn()
            return bool(relevance(0.0) > relevance(1.0))
        except Exception:  # noqa: BLE001 - many stores have none, or none for their metric
            return False

    def of_documents(self, doc_ids: Sequence[str]) -> Any:
        """Return a filter, in the store's form, that matches the sentences of some source documents.

        Returns:
            ``None`` if it isn't known how the store filters.
        """
        if type(self) is StoreAdapter or not self.filters_by_doc_id:  # nobody wrote an adapter for it
            return None
        return {DOC_ID: doc_ids[0] if len(doc_ids) == 1 else {"$in": list(doc_ids)}}

    # Reading

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

    async def sentences(self, io: IO, keys: Sequence[SentenceKey], filter: Any = None) -> SentencesByKey | None:
        """Read sentences by document and index; leave out those that don't exist or that the filter forbids.

        Returns:
            ``None`` if the store can't fetch by id.

        Raises:
            InvalidInputError: The filter can't be enforced when documents are fetched by id.
        """
        found = await self.fetch(io, [sentence_id(*key) for key in keys], filter)
        return None if found is None else by_key(map(self.read, found))

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
        """Count the documents that `list_documents` lists.

        Raises:
            InvalidInputError: The store can't list what it holds.
        """
        return len(await self.list_documents(io, filter))

    async def count_writes(self, io: IO) -> int | None:
        """Return a number that grows with each write; ``None`` if the store doesn't say."""
        return None

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

    async def vectors_of(self, io: IO, ids: Sequence[str]) -> Mapping[str, Sequence[float]]:
        """Return the vectors that the store holds, by id; leave out ids that don't exist.

        Raises:
            InvalidInputError: The store doesn't give its vectors.
        """
        raise InvalidInputError(
            f"{self.name} doesn't give the vectors that it holds; read its texts with read_chunks, and embed them anew"
        )

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

    # Writing

    @property
    def takes_vectors(self) -> bool:
        """Whether `put_vectors` works, so that documents are embedded here."""
        return False

    async def put(self, io: IO, documents: Sequence[Document]) -> None:
        """Add documents, each with an id, in place of those with the same ids."""
        embedding = self.embedding
        if self.takes_vectors and embedding is not None:
            # All are embedded before one is written, so that a failing embedder leaves the old ones.
            vectors = await embed_texts(io, embedding, [document.page_content for document in documents])
            await put_in_batches(io, self, list(zip(documents, vectors, strict=True)))
            return
        for batch in batches(documents, self.write_batch_size):
            await io.call(
                self.store.add_documents, self.store.aadd_documents, list(batch), ids=[each.id for each in batch]
            )

    async def put_vectors(self, io: IO, embedded: Embedded) -> None:
        """Write a batch of documents with their vectors, in place of those with the same ids."""
        raise NotImplementedError

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
        """Add documents with their vectors as they were embedded, before they are mixed with their neighbors'."""
        raise NotImplementedError

    def bulk_loader(self, **settings: Any) -> BulkLoader:
        """Return what loads many sentences into the store, see `BulkLoader`.

        Args:
            **settings: Settings of the loader's class.

        Raises:
            InvalidInputError: The store can't take vectors that were made elsewhere, or a setting can't be used.
            TypeError: The loader has no such setting.
        """
        if not self.takes_vectors and not isinstance(self.embedding, NeighborMixedEmbeddings):
            raise InvalidInputError(
                f"{self.name} takes no vectors that were made elsewhere; build it with "
                "NeighborMixedEmbeddings(embedding), or add documents with a retriever"
            )
        return self.loader_class(self, **settings)

    def release(self) -> None:
        """Close connections that wait for the next call; the store opens new ones when it needs them."""

    def close(self) -> None:
        """Close the store, if it can be closed."""
        close = getattr(self.store, "close", None)
        if callable(close):
            close()


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield items in slices of a size."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


async def put_in_batches(io: IO, adapter: StoreAdapter, embedded: Embedded) -> None:
    """Write documents with their vectors, as `StoreAdapter.put` and `BulkLoader.write` do if a store takes vectors."""
    for batch in batches(embedded, adapter.write_batch_size):
        await adapter.put_vectors(io, batch)
