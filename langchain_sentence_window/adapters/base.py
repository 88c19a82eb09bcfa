"""`StoreAdapter`: how this package uses a vector store, for any store that follows LangChain's interface.

Each method does one thing that a store can do. The adapters of stores that do it differently stand in files of their
own beside this one, and override no more than that.
"""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_sentence_window._io import IO
from langchain_sentence_window._showing import shown
from langchain_sentence_window._types import SentenceKey, Vectors
from langchain_sentence_window.adapters.filtering import Matcher, mapping_matcher
from langchain_sentence_window.documents.indexed_documents import (
    IndexedDocument,
    indexed_documents,
    runs_of,
)
from langchain_sentence_window.documents.keys import DOC_ID, SENTENCE_INDEX
from langchain_sentence_window.documents.parts.numbering import source_of
from langchain_sentence_window.documents.sentence_documents import StoredSentence, read_sentence
from langchain_sentence_window.documents.stored_metadata import StoreLimits
from langchain_sentence_window.documents.values import is_scalar
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.candidates import Numbers
from langchain_sentence_window.ranking.names import Evidence, QueryWords

T = TypeVar("T")

FILTER_NAMES = ("filter", "pre_filter", "filters", "where")
"""Names of the metadata filter of a search, in the order of how common they are."""

_TO_JSON = "convert it to strings, finite numbers, booleans, lists or dicts"
_TO_SCALARS = "convert it to strings, or use a store that holds JSON, such as FaissStore"

Scored: TypeAlias = list[tuple[Document, float]]
"""Documents with their scores, best first. A higher score is better."""


class StoreAdapter:
    """Uses a vector store that follows LangChain's interface, filters by mappings and replaces documents by id.

    To support a store that differs, override what differs, and pass the class to `register`. An adapter is made for
    each query, so it keeps nothing but the store.

    Methods that take ``io`` run blocking and async. Use ``await io.call(store.method, store.amethod, ...)`` for a call
    that exists in both forms, and ``await io.in_thread(store.method, ...)`` for one that only blocks.
    """

    filter_names: ClassVar[Sequence[str]] = FILTER_NAMES
    """Names of a search's argument that is a filter, the usual one first."""
    added_keys: ClassVar[frozenset[str]] = frozenset()
    """Keys that the store adds to the metadata of what it returns. They aren't shown to users."""
    holds_json: ClassVar[bool] = False
    """Whether the store gives back lists, dicts and ``None`` in metadata as they were given; see `holds`."""
    is_hybrid: ClassVar[bool] = False
    """Whether `hybrid_search` works."""
    ranks_candidates: ClassVar[bool] = False
    """Whether `hybrid_search` takes ``rank``, which ranks its candidates anew; see `FaissStore.hybrid_search`."""
    mixes_neighbors: ClassVar[bool] = False
    """Whether the store mixes vectors with their neighbors' itself, and `add_vectors` works."""
    read_batch_size: ClassVar[int] = 10_000
    """The most ids in one call."""
    write_batch_size: ClassVar[int] = 5_000
    """The most documents in one call. If an embedder fails, a store that embeds has stored the batches before."""

    def __init__(self, store: Any) -> None:
        """Take the store."""
        self.store = store

    @property
    def name(self) -> str:
        """The store's class, for messages."""
        return type(self.store).__name__

    @property
    def embedding(self) -> Embeddings | None:
        """The embedder of the store; ``None`` if it doesn't say."""
        found: Embeddings | None = self.store.embeddings
        if found is None:
            other = getattr(self.store, "embedding", None)
            found = other if isinstance(other, Embeddings) else None
        return found

    # Metadata

    def holds(self, key: str, value: Any) -> bool:
        """Return whether the store gives back the value of a metadata key as it was given.

        Args:
            key: The key.
            value: A value as JSON holds it.
        """
        return self.holds_json or is_scalar(value)

    @property
    def limits(self) -> StoreLimits:
        """The metadata that the store can hold; the rest is left out, with a warning."""
        return StoreLimits(self.name, self.holds, _TO_JSON if self.holds_json else _TO_SCALARS)

    # Search

    def search_parameters(self) -> Mapping[str, inspect.Parameter]:
        """Return the parameters of a search, for checking ``search_kwargs``."""
        return inspect.signature(self.store.similarity_search_with_score).parameters

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
        found: Scored = await io.call(
            store.similarity_search_with_score, store.asimilarity_search_with_score, query, **settings
        )
        sign = -1.0 if self._are_distances([float(score) for _, score in found]) else 1.0
        return [(document, sign * float(score)) for document, score in found]

    async def hybrid_search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored:
        """Search by meaning and words together; ``settings`` hold ``lexical_weight`` too, see `search`."""
        raise NotImplementedError

    async def lexical_search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored | None:
        """Search by words alone, see `search`; return ``None`` if the store can't."""
        return None

    async def name_evidence(self, io: IO, words: QueryWords, keys: Sequence[str], filter: Any) -> Evidence | None:
        """Collect what tells which documents a query names; see `langchain_sentence_window.ranking.names`.

        Args:
            io: Makes the calls.
            words: The words of the query.
            keys: Keys of metadata that hold names, beside the title and the file name.
            filter: A filter, in the store's form; of what it forbids, nothing is told. ``None`` for no filter.

        Returns:
            ``None`` if the store can't; then names are heard from what a search finds.
        """
        return None

    async def closest_matches(self, io: IO) -> Numbers:
        """Return how close sentences of the store are to the closest one elsewhere in it, for a sample of them.

        They are of the whole store, whatever the filter of a search.

        Returns:
            Scores by meaning, see `judge_relevance`; none if the store can't say.
        """
        return np.empty(0, dtype=np.float64)

    # Read

    async def fetch(self, io: IO, ids: Sequence[str], filter: Any = None) -> list[Document] | None:
        """Fetch documents by id, in any order; leave out ids that don't exist or that the filter forbids.

        Returns:
            ``None`` if the store can't fetch by id.

        Raises:
            InvalidInputError: The filter can't be enforced when documents are fetched by id.
        """
        get = self.get if filter is None or not hasattr(self.store, "get_by_ids_within") else self._get_within
        found: list[Document] = []
        for batch in batches(ids, self.read_batch_size):
            part = await get(io, batch, filter)
            if part is None:
                return None
            found += part
        return found

    async def get(self, io: IO, ids: Sequence[str], filter: Any) -> list[Document] | None:
        """Fetch one batch of documents, as `fetch` does."""
        matches = None if filter is None else self._required_matcher(filter)
        try:
            found: list[Document] = await io.call(self.store.get_by_ids, self.store.aget_by_ids, list(ids))
        except NotImplementedError:
            return None
        return found if matches is None else [document for document in found if matches(document)]

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
        return indexed_documents(runs_of(each for each in sentences if source in (None, source_of(each.source))))

    async def list_sentences(self, io: IO, filter: Any) -> list[Document]:
        """Return all sentence Documents that a filter lets through, in the order in which they were added, if possible.

        Raises:
            InvalidInputError: The store can't list what it holds.
        """
        raise InvalidInputError(
            f"{self.name} can't list what it holds, so its documents can't be listed, nor found by their source or a "
            "filter; name them by their ids, or write an adapter with the method list_sentences"
        )

    def read(self, document: Document) -> StoredSentence:
        """Read a sentence Document that the store returned.

        Raises:
            IncompleteWindowError: Its metadata isn't what the splitter writes.
        """
        # `None` is the empty column of a store that holds none.
        unwanted = [
            key
            for key, value in document.metadata.items()
            if key in self.added_keys or (value is None and not self.holds(key, None))
        ]
        if not unwanted:
            return read_sentence(document)
        metadata = {key: value for key, value in document.metadata.items() if key not in unwanted}
        return read_sentence(Document(id=document.id, page_content=document.page_content, metadata=metadata))

    # Write

    async def put(self, io: IO, documents: Sequence[Document], existing: Sequence[str] | None) -> None:
        """Add documents, in place of those with the same ids.

        Args:
            io: Makes the calls.
            documents: Each with an id.
            existing: Ids that the store holds; ``None`` if that isn't known.
        """
        for batch in batches(documents, self.write_batch_size):
            await io.call(
                self.store.add_documents, self.store.aadd_documents, list(batch), ids=[each.id for each in batch]
            )

    async def remove(self, io: IO, ids: Sequence[str]) -> None:
        """Delete documents that the store holds."""
        for batch in batches(ids, self.write_batch_size):
            await io.call(self.store.delete, self.store.adelete, list(batch))

    async def replace_documents(
        self,
        io: IO,
        sentences: Sequence[Document],
        doc_ids: Sequence[str],
        *,
        contexts: Sequence[str] | None,
        within: Any,
        show_progress: bool,
    ) -> bool:
        """Replace all sentences of the source documents in one transaction, if the store can.

        Args:
            io: Makes the calls.
            sentences: The new ones.
            doc_ids: Source documents to replace; those without a new sentence are deleted.
            contexts: Text to put before each sentence when it is embedded.
            within: A filter that the old and the new sentences must match; ``None`` for no filter.
            show_progress: Whether to show a progress bar.

        Returns:
            Whether it was done. If not, sentences are written with `put`, then old ones are deleted with `remove`.
        """
        return False

    async def delete_documents(
        self, io: IO, doc_ids: Sequence[str] | None, filter: Any, source: str | None
    ) -> int | None:
        """Delete whole source documents in one transaction, if the store can.

        Args:
            io: Makes the calls.
            doc_ids: Their names; ``None`` for any.
            filter: A filter that all their sentences must match; ``None`` for no filter.
            source: The source that their metadata must name; ``None`` for any.

        Returns:
            The number of documents that were deleted; ``None`` if it wasn't done. Then they are found with
            `list_documents`, and their sentences deleted with `remove`.

        Raises:
            InvalidInputError: The filter matches only a part of a document; nothing was deleted.
        """
        return None

    async def add_vectors(self, io: IO, documents: Sequence[Document], vectors: Vectors) -> None:
        """Add documents with their vectors as they were embedded, before they are mixed with their neighbors'."""
        raise NotImplementedError

    # Filter

    @property
    def rechecks_hits(self) -> bool:
        """Whether hits are checked against the filter, as the store may ignore it."""
        return not hasattr(self.store, "get_by_ids_within")

    def filter_name(self, given: Sequence[str]) -> str:
        """Return the name by which a search takes the filter.

        Args:
            given: Those of `filter_names` that ``search_kwargs`` use.

        Raises:
            InvalidInputError: They use several names, or one that the search doesn't read.
        """
        known = self.search_parameters() if given else {}
        for name in given:
            if name not in known and "filter" in known:
                raise InvalidInputError(
                    f"search_kwargs holds a filter as {name!r}, which {self.name} doesn't read; give it as the "
                    "retriever's own setting: filter=..."
                )
        if len(given) > 1:
            raise InvalidInputError(f"search_kwargs holds filters as {' and as '.join(map(repr, given))}; give one")
        return given[0] if given else self.filter_names[0]

    def join(self, filters: Sequence[Any]) -> Any:
        """Return one filter, in the store's form, that matches what all of some filters match.

        Raises:
            InvalidInputError: They can't be joined, or the store can't read one.
        """
        return filters[0] if len(filters) == 1 else self._in_one_mapping(filters)

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

    def of_documents(self, doc_ids: Sequence[str]) -> Any:
        """Return a filter, in the store's form, that matches the sentences of some source documents.

        Returns:
            ``None`` if it isn't known how the store filters.
        """
        if type(self) is StoreAdapter:
            return None
        return {DOC_ID: doc_ids[0] if len(doc_ids) == 1 else {"$in": list(doc_ids)}}

    def unknown_keys(self, filters: Sequence[Any]) -> list[str]:
        """Return keys of filters that no document has, as far as that shows without a search."""
        return []

    # Helpers

    def _in_one_mapping(self, filters: Sequence[Any]) -> dict[str, Any]:
        if all(isinstance(each, Mapping) for each in filters):
            return {"$and": [{key: value} for each in filters for key, value in each.items()]}
        raise InvalidInputError(
            f"the filters {', '.join(map(shown, filters))} can't both be kept to by {self.name}, as it isn't "
            "known how it puts them together; give mappings, or a single filter that says it all"
        )

    def _required_matcher(self, filter: Any) -> Matcher:
        matches = self.matcher(filter)
        if matches is None:
            raise InvalidInputError(
                f"{self.name} can't be kept within the filter {shown(filter)} when sentences are read by "
                "id; give a mapping, ask with window=0, or give the store a method get_by_ids_within(ids, filter)"
            )
        return matches

    async def _get_within(self, io: IO, ids: Sequence[str], filter: Any) -> list[Document]:
        """Ask a store that enforces filters by id itself."""
        get, aget = self.store.get_by_ids_within, getattr(self.store, "aget_by_ids_within", None)
        given = list(ids), filter
        found: list[Document] = await (io.in_thread(get, *given) if aget is None else io.call(get, aget, *given))
        return found

    def _are_distances(self, scores: Sequence[float]) -> bool:
        """Check whether a lower score is better.

        Results come best first, so rising scores are distances. Where all are equal, the function that makes
        relevance scores of them tells, if the store has one.
        """
        if scores and scores[0] != scores[-1]:
            return scores[0] < scores[-1]
        try:
            relevance = self.store._select_relevance_score_fn()
            return bool(relevance(0.0) > relevance(1.0))
        except Exception:  # noqa: BLE001 - many stores have none, or none for their metric
            return False


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield items in slices of a size."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
