"""`FaissStore`: the embedded vector store."""

from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any, Self

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import run_in_executor

from langchain_sentence_window._arguments import as_documents, check_order, checked_documents
from langchain_sentence_window._display import summary_repr
from langchain_sentence_window._io import ASYNC, BLOCKING, OpenFiles, run
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window._validation import checked_count, checked_neighbor_weights
from langchain_sentence_window.documents.indexed_documents import IndexedDocument
from langchain_sentence_window.documents.keys import checked_ids
from langchain_sentence_window.embedding.embedder_state import watch_of
from langchain_sentence_window.embedding.named_embedders import checked_embedding
from langchain_sentence_window.embedding.vectors import NEIGHBOR_WEIGHTS
from langchain_sentence_window.errors import IndexNotFoundError, InvalidInputError, StoreError
from langchain_sentence_window.ranking.candidates import Numbers
from langchain_sentence_window.ranking.relevance import SAMPLED_SENTENCES
from langchain_sentence_window.stores.faiss.conversion import to_documents, to_indexed_documents
from langchain_sentence_window.stores.faiss.database.database_opening import holds_index
from langchain_sentence_window.stores.faiss.database.filters import Filter, compile_filter, compile_for_sources
from langchain_sentence_window.stores.faiss.database.reads import (
    count_sources,
    list_sources,
)
from langchain_sentence_window.stores.faiss.database.store_files import DATABASE_FILE, as_folder
from langchain_sentence_window.stores.faiss.embedder_guard import TEXTS_TO_WRITE, EmbedderGuard, closest_matches
from langchain_sentence_window.stores.faiss.estimates import ClosestMatches
from langchain_sentence_window.stores.faiss.index_state import checked_effort
from langchain_sentence_window.stores.faiss.session import IndexSession
from langchain_sentence_window.stores.faiss.store_searches import IndexSearch
from langchain_sentence_window.stores.faiss.store_upkeep import FileMethods, RecallMethods
from langchain_sentence_window.stores.faiss.store_writes import WriteMethods


class FaissStore(OpenFiles, IndexSearch, WriteMethods, FileMethods, RecallMethods):
    """A LangChain vector store in one folder, or in memory: SQLite stores it, FAISS searches it.

    Every call is one SQLite transaction: it takes effect completely or not at all. The FAISS index and the lexical
    index are caches. They are brought up to date before each search, and rebuilt from the database when they are
    missing or damaged. Nothing is pickled. Any number of threads may search while one writes, and each search sees
    one state of the store. Several processes may open the same path: writers queue, and each process sees at once
    what another has written.

    Scores are cosines: 1 for the same direction, 0 for unrelated; higher is better. Relevance scores are the same,
    with 0 instead of negative values. Vectors are stored in half precision, which changes scores slightly. An index of
    codes finds candidates, and those are compared again with the stored vectors. So scores don't depend on the index,
    except that a hybrid search uses 6-bit records. See the benchmarks page.

    The index follows the size of the store. Another one is made in the background, while searches and writes go on with
    the present one; `stats` tells which is in use, and why.

    Metadata can be anything that JSON can represent. It is filtered before the search, so ``k`` documents are returned
    if ``k`` match. `langchain_sentence_window.stores.faiss.database.filters` describes the syntax of filters.
    """

    def __init__(
        self,
        embedding: Embeddings,
        path: str | PathLike[str] | None = None,
        index: str | None = None,
        *,
        neighbor_weights: Sequence[float] | None = None,
        search_effort: float = 1.0,
        read_only: bool = False,
    ) -> None:
        """Open the store at a path, or create it there.

        Args:
            embedding: The embedder of texts and queries.
            path: A folder; ``None`` for a store in memory.
            index: ``auto`` compares all vectors exactly as long as that is cheap. Above, it compares codes of two bits
                a number (``IVF1,PQ…x4fs``), and above that those of the nearest clusters (``IVF…,PQ…x4fs``), and
                compares the best again. Or the name of an index for FAISS's index factory: ``Flat`` is exact; ``SQ8``
                and ``SQfp16`` are smaller; ``RaBitQ`` and ``RaBitQ2`` are much smaller and faster; ``HNSW32``,
                ``HNSW32_SQ8`` and ``IVF…`` are faster, and miss some results. ``None`` keeps the index of an existing
                store; a new store gets ``auto``. If an existing store has another index than the one named, the new
                one is built from the database, without embedding, and kept.
            neighbor_weights: The weights with which a sentence's vector is mixed with those of its neighbors in its
                section when it is searched: of the sentence itself, of those next to it, of those two away, and so on;
                ``(1,)`` for no mixing. ``None`` keeps the weights of an existing store; a new store gets
                `NEIGHBOR_WEIGHTS`. Other weights are applied without embedding. Documents without ``doc_id`` and
                ``sentence_index`` have no neighbors.
            search_effort: How much a search looks at, where the index isn't exact: 1 is usual, 2 compares twice as many
                candidates, clusters or nodes and finds more, and ``float("inf")`` compares everything.
                `recall_estimate` tells what it gives.
            read_only: Whether to leave the files unchanged. If the saved FAISS index is current, it is mapped into
                memory instead of read, unless it is one of fast scan (``x4fs``).

        Raises:
            InvalidInputError: FAISS can't make the index, the index can't be kept up to date, the weights aren't
                numbers of 0 or more, the first above 0, or the effort isn't a number above 0.
            StoreError: The path is a file, or what it holds isn't a store or is damaged.
            IndexMismatchError: The store was made with another embedder or format.
        """
        check_order(embedding, path, f"{type(self).__name__}(embedding, path)")
        if neighbor_weights is not None:
            neighbor_weights = checked_neighbor_weights(neighbor_weights)
        effort = checked_effort(search_effort)
        self._embedding = checked_embedding(embedding)
        watch = watch_of(embedding)
        self._session = IndexSession(
            None if path is None else as_folder(path),
            index,
            neighbor_weights,
            search_effort=effort,
            read_only=read_only,
        )
        self._matches = ClosestMatches(self._session)
        try:
            self._guard = EmbedderGuard(self._embedding, watch, self._session)
            self._guard.check_made_with()
        except BaseException:
            self._session.close()
            raise

    @classmethod
    def open(cls, path: str | PathLike[str], embedding: Embeddings, **settings: Any) -> Self:
        """Open a store that exists.

        Args:
            path: The folder of the store.
            embedding: The embedder of its texts.
            **settings: ``index``, ``neighbor_weights``, ``search_effort`` or ``read_only``; others stay as they were.

        Raises:
            IndexNotFoundError: There is no store at the path.
            StoreError: The path is a file, or what it holds isn't a store or is damaged.
            IndexMismatchError: The store was made with another embedder or format.
        """
        check_order(embedding, path, f"{cls.__name__}.open(path, embedding)")
        cls.check_exists(path)
        return cls(embedding, path, **settings)

    @classmethod
    def check_exists(cls, path: str | PathLike[str]) -> None:
        """Check that there is a store at a path.

        Raises:
            IndexNotFoundError: There is none.
            StoreError: The path is a file, or can't be read.
        """
        folder = as_folder(path)
        if cls.exists(folder):
            return
        if folder.is_file():
            is_of_index = folder.name == DATABASE_FILE
            likely = repr(str(folder.parent)) if is_of_index else "the path that from_documents was given"
            raise StoreError(f"{str(folder)!r} is a file, and an index is a folder; give {likely}")
        raise IndexNotFoundError(
            f"there is no index at {str(path)!r}; make one with from_documents(..., path={str(path)!r})"
        )

    @staticmethod
    def exists(path: str | PathLike[str]) -> bool:
        """Return whether there is a store at a path, or one is being restored there."""
        return holds_index(as_folder(path))

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        path: str | PathLike[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Open or create a store and add texts to it.

        Args:
            texts: The texts.
            embedding: The embedder of texts and queries.
            metadatas: One dict for each text; ``None`` for empty metadata.
            ids: One id for each text; ``None`` for new ids.
            path: A folder; ``None`` for a store in memory.
            **kwargs: Other arguments of the class.

        Raises:
            InvalidInputError: As for `add_texts`; nothing was created at the path.
        """
        documents = as_documents(texts, metadatas)
        if ids is not None and len(checked_ids(ids)) != len(documents):
            raise InvalidInputError(f"got {len(ids)} ids for {len(documents)} texts; give one for each")
        store = cls(embedding, path, **kwargs)
        store.add_documents(documents, ids=ids)
        return store

    @classmethod
    def from_documents(cls, documents: list[Document], embedding: Embeddings, **kwargs: Any) -> Self:
        """Open or create a store and add documents to it.

        Args:
            documents: The documents.
            embedding: The embedder of texts and queries.
            **kwargs: ``path``, ``ids`` and other arguments of the class.

        Raises:
            InvalidInputError: The documents aren't a list of Documents; nothing was created at the path.
        """
        return super().from_documents(checked_documents(documents), embedding, **kwargs)

    @classmethod
    async def afrom_documents(cls, documents: list[Document], embedding: Embeddings, **kwargs: Any) -> Self:
        """Async version of `from_documents`."""
        return await super().afrom_documents(checked_documents(documents), embedding, **kwargs)

    @property
    def embeddings(self) -> Embeddings:
        """The embedder of texts and queries."""
        return self._embedding

    # Reading

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Fetch documents, in the order of the ids; ids that don't exist are left out.

        Raises:
            InvalidInputError: The ids aren't a list of strings.
        """
        wanted = checked_ids(ids)
        found = self._session.read(lambda state: state.snapshot.by_ids(wanted))
        return to_documents([found[id_] for id_ in dict.fromkeys(wanted) if id_ in found])

    def get_by_ids_within(self, ids: Sequence[str], filter: Filter) -> list[Document]:
        """Fetch the documents that match a filter, in the order of the ids.

        Raises:
            InvalidInputError: The ids aren't a list of strings.
            FilterError: The filter is invalid.
        """
        wanted = checked_ids(ids)
        condition = compile_filter(filter)
        found = self._session.read(lambda state: state.snapshot.by_ids(wanted, condition))
        return to_documents([found[id_] for id_ in dict.fromkeys(wanted) if id_ in found])

    async def aget_by_ids_within(self, ids: Sequence[str], filter: Filter) -> list[Document]:
        """Async version of `get_by_ids_within`."""
        return await run_in_executor(None, self.get_by_ids_within, ids, filter)

    def list_documents(self, filter: Filter | None = None) -> list[IndexedDocument]:
        """List the documents that a retriever added, in the order in which they were last written.

        No sentence is read, unless the filter asks for what differs among a document's sentences.

        Args:
            filter: A filter on the metadata of their sentences; ``None`` for no filter. A document of which it matches
                a part is listed with that part's sentences and pages.

        Raises:
            FilterError: The filter is invalid.
        """
        given = {} if filter is None else filter
        of_sources, of_sentences = compile_for_sources(given), compile_filter(given)
        sources = self._session.read(lambda state: list_sources(state.snapshot.execute, of_sources, of_sentences))
        return to_indexed_documents(sources)

    async def alist_documents(self, filter: Filter | None = None) -> list[IndexedDocument]:
        """Async version of `list_documents`."""
        return await run_in_executor(None, self.list_documents, filter)

    def count_documents(self, filter: Filter | None = None) -> int:
        """Count the documents that `list_documents` lists, without reading them.

        Args:
            filter: A filter on the metadata of their sentences; ``None`` for no filter.

        Raises:
            FilterError: The filter is invalid.
        """
        given = {} if filter is None else filter
        of_sources, of_sentences = compile_for_sources(given), compile_filter(given)
        return self._session.read(lambda state: count_sources(state.snapshot.execute, of_sources, of_sentences))

    async def acount_documents(self, filter: Filter | None = None) -> int:
        """Async version of `count_documents`."""
        return await run_in_executor(None, self.count_documents, filter)

    def sample_embedded(self) -> list[tuple[str, Vectors]]:
        """Return a few texts as they were embedded, with their unit vectors.

        By these, one can tell whether an embedder is the store's. They are long, as a model that truncates its input
        may give the same vectors for short ones.
        """
        return self._guard.sample(TEXTS_TO_WRITE)[1]

    def closest_matches(self, sample: int = SAMPLED_SENTENCES) -> Numbers:
        """Return how close sentences usually come to others elsewhere in the store, by which a query can be judged.

        A query whose best cosine is far below these asks about something that the store doesn't speak of; see
        `langchain_sentence_window.ranking.relevance`. The sentences are spread evenly over the whole store, so the
        cosines are the same whatever filter a query has.

        The sentences are embedded again as a question is, without a heading: in one call of the embedder, and one more
        for a single text, which tells whether it embeds questions otherwise than documents. If it does, up to 32
        sentences are embedded one by one instead. The cosines are kept in memory until more than a tenth of the
        sentences were added or removed.

        Args:
            sample: The most sentences to search with. Fewer are, if the store is large.

        Returns:
            For each sentence, the cosine of its text alone and the nearest vector that is searched, other than those up
            to `NEARBY` sentences away in the same document and those whose text differs in case and white space only.
            Sentences without such a match are left out, so there is none for an empty store.

        Raises:
            InvalidInputError: ``sample`` isn't a whole number above 0.
            EmbeddingError: The embedder's vectors are unusable, or of another length than the store's.
            IndexMismatchError: The store's vectors are from another embedder.
        """
        return run(closest_matches(BLOCKING, self._matches, self._guard, checked_count("sample", sample)))

    async def aclosest_matches(self, sample: int = SAMPLED_SENTENCES) -> Numbers:
        """Async version of `closest_matches`."""
        return await closest_matches(ASYNC, self._matches, self._guard, checked_count("sample", sample))

    def is_made_with(self, embedding: Embeddings) -> bool:
        """Return whether an embedder is known to have made the vectors, without embedding anything."""
        return self._guard.is_made_with(embedding)

    def export(self) -> Iterator[tuple[list[Document], Vectors]]:
        """Yield all documents with their vectors as they were embedded, in slices; the reverse of `add_embeddings`.

        Yields:
            Documents and unit vectors of shape ``(n, dimension)``, in the order of source documents and sentences. No
            section is in two slices. All slices are from the state of the store at the first one.
        """
        for records, vectors in self._session.in_order():
            yield to_documents(records), vectors

    def __len__(self) -> int:
        """Return the number of documents in the store; a retriever adds one for each sentence."""
        return self._session.read(lambda state: state.snapshot.state.sentences)

    def __bool__(self) -> bool:
        """Return true, also for an empty store."""
        return True

    def __repr__(self) -> str:
        """Show the path, the contents and the settings that aren't the default; never raises."""
        return describe_store(type(self).__name__, self.__dict__.get("_session"), self.__dict__.get("_embedding"))

    def _reopened(self) -> str:
        path, name = self._session.folder, type(self).__name__
        if path is None:
            return f"keep it in a folder first, with save(path), then {name}.open(path, embedding)"
        return f"{name}.open({str(path)!r}, embedding)"


def describe_store(name: str, session: IndexSession | None, embedding: Embeddings | None) -> str:
    """Describe the path, the contents and the settings of a store that aren't the default; never raises.

    Args:
        name: The name of the store's class.
        session: The store's session; ``None`` for a store whose construction failed.
        embedding: The store's embedder, of which only the class is shown.
    """
    if session is None:
        return f"<{name}: not opened>"
    try:
        parts = ["closed"] if session.is_closed else list(_parts(session, embedding))
    except Exception:  # noqa: BLE001 - a debugger prints stores in any state
        parts = ["closed" if session.is_closed else "can't be read"]
    return summary_repr(name, session.folder, parts)


def _parts(session: IndexSession, embedding: Embeddings | None) -> Iterator[str]:
    stats = session.stats()
    yield f"documents={stats.documents}"
    yield f"sentences={stats.sentences}"
    yield f"index={stats.index_in_use!r}"
    yield f"embedding={type(embedding).__name__}"
    if stats.neighbor_weights != NEIGHBOR_WEIGHTS:
        yield f"neighbor_weights={stats.neighbor_weights}"
    if session.is_read_only:
        yield "read_only=True"
