"""`FaissStore`: the embedded vector store."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from os import PathLike
from typing import Any, Self

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import run_in_executor

from langchain_sentence_window._arguments import as_documents, check_order, checked_documents, checked_texts
from langchain_sentence_window._display import summary_repr
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, OpenFiles, run, with_arguments_of
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window._validation import checked_neighbor_weights
from langchain_sentence_window.documents.keys import checked_ids
from langchain_sentence_window.embedding.embedder_state import watch_of
from langchain_sentence_window.embedding.named_embedders import checked_embedding
from langchain_sentence_window.embedding.vectors import NEIGHBOR_WEIGHTS
from langchain_sentence_window.errors import IndexNotFoundError, InvalidInputError, StoreError

from .conversion import to_records
from .database.database_opening import holds_index
from .database.filters import Filter, compile_filter
from .database.schema import Record, of_documents, with_ids
from .database.store_files import DATABASE_FILE, as_folder
from .database.transaction import Transaction
from .embedder_guard import EmbedderGuard
from .index_state import checked_effort
from .session import IndexSession
from .store_searches import IndexSearch
from .store_writer import Replacement, StoreWriter


class FaissStore(OpenFiles, IndexSearch):
    """A LangChain vector store in one folder, or in memory: SQLite stores it, FAISS searches it.

    Every call is one SQLite transaction: it takes effect completely or not at all. The FAISS index and the lexical
    index are caches. They are updated before each search, and rebuilt from the database if they are missing or damaged.
    Nothing is pickled. Any number of threads may search while one writes, and each search sees one state of the store.
    Several processes may open the same path: writers queue, and each process sees at once what another has written.

    Scores are cosines: 1 for the same direction, 0 for unrelated texts; higher is better. Relevance scores are the
    same, with 0 instead of negative values. Vectors are stored in half precision, which changes scores slightly. What
    an index of codes finds is compared again with the stored vectors. So scores don't depend on the index, except that
    a hybrid search uses 6-bit records. See the benchmarks page.

    The index depends on the size of the store. A new index is built in the background, while searches and writes use
    the present one. `stats` says which index is in use, and why.

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
            index: ``auto`` compares all vectors exactly in small stores. In larger stores, it compares codes of two
                bits per number (``IVF1,PQ…x4fs``), and in the largest only those of the nearest clusters
                (``IVF…,PQ…x4fs``); then it compares the best again. Or the name of an index for FAISS's index factory:
                ``Flat`` is exact; ``SQ8`` and ``SQfp16`` are smaller; ``RaBitQ`` and ``RaBitQ2`` are much smaller and
                faster; ``HNSW32``, ``HNSW32_SQ8`` and ``IVF…`` are faster, and miss some results. ``None`` keeps the
                index of an existing store; a new store gets ``auto``. If an existing store has another index than the
                one named, the new one is built from the database, without embedding, and kept.
            neighbor_weights: The weights with which a sentence's vector is mixed with those of its neighbors in its
                section when it is searched: of the sentence itself, of those next to it, of those two away, and so on;
                ``(1,)`` for no mixing. ``None`` keeps the weights of an existing store; a new store gets
                `NEIGHBOR_WEIGHTS`. Other weights are applied without embedding. Documents without ``doc_id`` and
                ``sentence_index`` have no neighbors.
            search_effort: How much a search compares if the index isn't exact: 1 is the default, 2 compares twice as
                many candidates, clusters or nodes and finds more, and ``float("inf")`` compares everything.
                `recall_estimate` measures the effect.
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
        try:
            self._guard = EmbedderGuard(self._embedding, watch, self._session)
            self._writer = StoreWriter(self._session, self._guard)
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

    # Writing

    def add_texts(
        self, texts: Iterable[str], metadatas: list[dict[str, Any]] | None = None, **kwargs: Any
    ) -> list[str]:
        """Embed texts and add them; see `add_documents`.

        Args:
            texts: The texts.
            metadatas: One dict for each text; ``None`` for empty metadata.
            **kwargs: As for `add_documents`.

        Returns:
            The ids, in the order of the texts.

        Raises:
            InvalidInputError: The texts are a single string or aren't strings, or there isn't one dict or id for each.
        """
        return self.add_documents(as_documents(texts, metadatas), **kwargs)

    async def aadd_texts(
        self, texts: Iterable[str], metadatas: list[dict[str, Any]] | None = None, **kwargs: Any
    ) -> list[str]:
        """Async version of `add_texts`."""
        return await self.aadd_documents(as_documents(texts, metadatas), **kwargs)

    def add_documents(
        self, documents: Iterable[Document], *, ids: list[str] | None = None, show_progress: bool = False, **kwargs: Any
    ) -> list[str]:
        """Embed documents and add them; a document replaces the one with the same id.

        Texts that have a vector in the store aren't embedded again. If a long call is interrupted, for example by
        Ctrl-C, it adds no document and keeps the vectors that it has made. The same call embeds only the rest when it
        is made again.

        A list is added all at once. An iterator may be of any length: it is read and added in batches of
        `DOCUMENT_BATCH_SIZE`, each in one transaction, unless ids are given.

        Args:
            documents: The documents. A document without an id gets a new one. Of several with the same id, the last
                is added.
            ids: Ids to use instead of the documents' own.
            show_progress: Whether to show a progress bar while embedding.
            **kwargs: Ignored; LangChain's signature.

        Returns:
            The ids, in the order of the documents.

        Raises:
            InvalidInputError: The metadata can't be stored as JSON, or an id can't be stored.
            EmbeddingError: The vectors are unusable, or of another length than the store's.
            IndexMismatchError: The store's vectors are from another embedder; nothing was changed.
        """
        return run(self._writer.add(BLOCKING, documents, ids, show_progress=show_progress))

    async def aadd_documents(
        self, documents: Iterable[Document], *, ids: list[str] | None = None, show_progress: bool = False, **kwargs: Any
    ) -> list[str]:
        """Async version of `add_documents`."""
        return await self._writer.add(ASYNC, documents, ids, show_progress=show_progress)

    def add_embeddings(self, documents: Sequence[Document], vectors: Sequence[Sequence[float]] | Vectors) -> list[str]:
        """Add documents with vectors that the store's embedder made elsewhere.

        Args:
            documents: As for `add_documents`.
            vectors: One vector for each document; they are scaled to length 1.

        Returns:
            The ids, in the order of the documents.

        Raises:
            InvalidInputError: The metadata can't be stored as JSON, or an id can't be stored.
            EmbeddingError: There isn't one vector for each document, or they have another dimension than the store's.
            IndexMismatchError: The store's vectors are from another embedder; nothing was changed.
        """
        return self._writer.add_vectors(checked_documents(documents), vectors)

    async def aadd_embeddings(
        self, documents: Sequence[Document], vectors: Sequence[Sequence[float]] | Vectors
    ) -> list[str]:
        """Async version of `add_embeddings`."""
        return await run_in_executor(None, self.add_embeddings, documents, vectors)

    def replace_documents(
        self,
        sentences: Sequence[Document],
        doc_ids: Sequence[str],
        *,
        contexts: Sequence[str] | None = None,
        within: Filter | None = None,
        show_progress: bool = False,
    ) -> None:
        """Replace all sentences of some source documents, in one transaction.

        Args:
            sentences: Sentence Documents, as `SentenceSplitter` makes them.
            doc_ids: The source documents to replace; those without new sentences are removed.
            contexts: Text to put before each sentence when it is embedded, and nowhere else.
            within: A filter that everything replaced must match; ``None`` for no restriction.
            show_progress: Whether to show a progress bar while embedding.

        Raises:
            InvalidInputError: The filter doesn't match everything that would be replaced; nothing was changed.
            EmbeddingError: The vectors are unusable, or of another length than the store's.
            IndexMismatchError: The store's vectors are from another embedder; nothing was changed.
        """
        replacement = run(self.prepare_replacement(BLOCKING, sentences, doc_ids, contexts, within))
        run(replacement.make(BLOCKING, show_progress=show_progress))

    @with_arguments_of(replace_documents)
    async def areplace_documents(self, *given: Any, show_progress: bool = False, **settings: Any) -> None:
        """Async version of `replace_documents`."""
        replacement = await self.prepare_replacement(ASYNC, *given, **settings)
        await replacement.make(ASYNC, show_progress=show_progress)

    def delete(self, ids: list[str] | None = None, *, filter: Filter | None = None, **kwargs: Any) -> bool:
        """Delete documents by id, or all that match a filter; ids that don't exist are ignored.

        Args:
            ids: Ids of documents.
            filter: A metadata filter; ``{}`` matches every document.
            **kwargs: Ignored; LangChain's signature.

        Returns:
            True.

        Raises:
            InvalidInputError: There are neither ids nor a filter, or both, or the ids aren't a list of strings.
            FilterError: The filter is invalid.
        """
        if (ids is None) == (filter is None):
            raise InvalidInputError("delete takes either ids or a filter; filter={} matches every document")
        condition = compile_filter(filter) if filter is not None else with_ids(checked_ids(ids))
        self._session.write(lambda transaction: transaction.remove(condition))
        return True

    def delete_documents(self, doc_ids: Sequence[str] | None = None, *, filter: Filter | None = None) -> int:
        """Delete whole documents that a retriever added, in one transaction.

        Args:
            doc_ids: Their names; those that don't exist are ignored. ``None`` for any.
            filter: A filter on the metadata of their sentences; ``None`` for any.

        Returns:
            The number of documents deleted.

        Raises:
            InvalidInputError: There are neither names nor a filter, or the filter matches only a part of a document;
                nothing was deleted.
            FilterError: The filter is invalid.
        """
        return len(self.remove_documents(doc_ids, filter=filter))

    def remove_documents(self, doc_ids: Sequence[str] | None = None, *, filter: Filter | None = None) -> list[str]:
        """Delete what `delete_documents` deletes, and return the names of the documents."""
        if doc_ids is None and filter is None:
            raise InvalidInputError("delete_documents takes doc_ids or a filter; filter={} matches every document")
        conditions = [] if filter is None else [compile_filter(filter)]
        conditions += [] if doc_ids is None else [of_documents(checked_ids(doc_ids))]
        sql = " AND ".join(f"({sql})" for sql, _ in conditions)
        condition = sql, [value for _, values in conditions for value in values]
        return self._session.write(lambda transaction: transaction.remove_documents(condition))

    async def adelete_documents(self, doc_ids: Sequence[str] | None = None, *, filter: Filter | None = None) -> int:
        """Async version of `delete_documents`."""
        return await run_in_executor(None, partial(self.delete_documents, doc_ids, filter=filter))

    async def prepare_replacement(
        self,
        io: IO,
        sentences: Sequence[Document],
        doc_ids: Sequence[str],
        contexts: Sequence[str] | None = None,
        within: Filter | None = None,
    ) -> Replacement:
        """Prepare what `replace_documents` does, to be written alone or with others.

        The last of several sentences with the same id counts.
        """
        documents = checked_documents(sentences)
        texts = None if contexts is None else checked_texts(contexts)
        remove, forbidden = of_documents(checked_ids(doc_ids)), None
        if within is not None:
            by_id, filtered = with_ids([each.id for each in documents if each.id]), compile_filter(within)
            sql = f"({remove[0]} OR {by_id[0]}) AND NOT ({filtered[0]})"
            forbidden = sql, [*remove[1], *by_id[1], *filtered[1]]
        self._guard.refresh()
        records: list[Record] = await io.in_thread(to_records, documents, None, texts)
        latest = list({record.id: record for record in records}.values())
        return Replacement(self._session, self._guard, latest, remove=remove, forbidden=forbidden)

    def catch_up(self) -> None:
        """Bring the indexes up to date after parts were written; else the next searches do."""
        self._session.catch_up_after_parts()

    def discard_staged(self) -> int:
        """Drop the texts and vectors of interrupted calls, which are kept for a retry.

        Returns:
            The number of texts dropped.
        """
        return self._session.write(Transaction.discard_staged, is_part=True)

    def __repr__(self) -> str:
        """Show the path, the contents and the settings that aren't the default; never raises."""
        name, session = type(self).__name__, self.__dict__.get("_session")
        if session is None:  # its construction failed
            return f"<{name}: not opened>"
        try:
            parts = ["closed"] if session.is_closed else list(self._parts())
        except Exception:  # noqa: BLE001 - a debugger prints stores in any state
            parts = ["closed" if session.is_closed else "can't be read"]
        return summary_repr(name, session.folder, parts)

    def _parts(self) -> Iterator[str]:
        stats = self._session.stats()
        yield f"documents={stats.documents}"
        yield f"sentences={stats.sentences}"
        yield f"index={stats.index_in_use!r}"
        yield f"embedding={type(self._embedding).__name__}"
        if stats.neighbor_weights != NEIGHBOR_WEIGHTS:
            yield f"neighbor_weights={stats.neighbor_weights}"
        if self._session.is_read_only:
            yield "read_only=True"

    def _reopened(self) -> str:
        path, name = self._session.folder, type(self).__name__
        if path is None:
            return f"keep it in a folder first, with save(path), then {name}.open(path, embedding)"
        return f"{name}.open({str(path)!r}, embedding)"
