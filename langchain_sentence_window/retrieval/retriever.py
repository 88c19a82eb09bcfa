"""`SentenceWindowRetriever`: adds documents, searches their sentences and returns the windows around them."""

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Self, Unpack, cast

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.indexing import DeleteResponse, UpsertResponse
from langchain_core.indexing.base import DocumentIndex
from langchain_core.retrievers import LangSmithRetrieverParams
from langchain_core.runnables import RunnableConfig

from langchain_sentence_window._arguments import DocumentStream, as_documents_or_stream, check_order
from langchain_sentence_window._display import shown
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, arun, run
from langchain_sentence_window.adapters.registry import adapter_of
from langchain_sentence_window.adapters.scope import check_binds
from langchain_sentence_window.documents.indexed_documents import IndexedDocument
from langchain_sentence_window.documents.keys import checked_ids
from langchain_sentence_window.documents.part_groups import Batch
from langchain_sentence_window.documents.splitter import SentenceSplitter
from langchain_sentence_window.embedding.named_embedders import checked_embedding, load_embedding
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.store.backup import require_index
from langchain_sentence_window.store.check import CheckResult, StoreStats
from langchain_sentence_window.store.faiss_store import FaissStore

from .call_settings import QueryMethods, with_configured
from .index_settings import IndexSettings, read_index_settings, with_settings_checked, write_index_settings
from .indexing import Preparation, delete_documents
from .ingest import ingest_batches, read_batches, with_text
from .query import ask
from .request import Request
from .settings import CallSettings
from .stored_sentences import join_documents
from .tracing.explanation import explain
from .tracing.sentence_outcome import SentenceOutcome, why
from .tracing.trace import Trace


class SentenceWindowRetriever(QueryMethods):
    """A retriever that searches single sentences and returns the windows around them, merged and cited.

    A window is an unbroken run of sentences of one section. No sentence is in two windows.
    ``page_content`` of each Document is ``source[start_index:end_index]``, character for character. Its metadata
    says which sentences were hit, and with what score; see
    `langchain_sentence_window.documents.window_fields`.

    Settings are checked whenever they are set: in the constructor, by assignment, in copies and with a call.
    Copies share the store.

    Examples:
        >>> retriever = SentenceWindowRetriever.from_documents(documents, embedding)  # doctest: +SKIP
        >>> retriever.invoke("When is a refund refused?", k=3, window=(1, 3))         # doctest: +SKIP
    """

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Document],
        embedding: Embeddings,
        *,
        path: str | PathLike[str] | None = None,
        neighbor_weights: Sequence[float] | None = None,
        show_progress: bool = False,
        **settings: Any,
    ) -> Self:
        """Index documents in a new `FaissStore` and return a retriever for them.

        Args:
            documents: The documents to index; at least one must have text. An iterator may be of any length; see
                `add_documents`.
            embedding: Embeds sentences and queries.
            path: A folder for the index; ``None`` keeps it in memory. If an index is already there, its documents stay,
                or are replaced by documents with the same ``doc_id``.
            neighbor_weights: How much of its neighbors' vectors is mixed into each sentence's vector; see
                `FaissStore`.
            show_progress: Whether to show a progress bar while embedding.
            **settings: The retriever's fields, such as ``k`` and ``window``.

        Raises:
            InvalidInputError: There is no text to index, two documents have the same id, or an argument can't be
                used. Nothing was created at the path.
            StoreError: The path can't be used.
        """
        where = {"path": path, "neighbor_weights": neighbor_weights}
        return run(cls._built(BLOCKING, documents, embedding, where, settings, show_progress=show_progress))

    @classmethod
    async def afrom_documents(
        cls,
        documents: Iterable[Document] | AsyncIterable[Document],
        embedding: Embeddings,
        *,
        path: str | PathLike[str] | None = None,
        neighbor_weights: Sequence[float] | None = None,
        **settings: Any,
    ) -> Self:
        """Async version of `from_documents`, without a progress bar; it takes async iterators too."""
        where = {"path": path, "neighbor_weights": neighbor_weights}
        return await cls._built(ASYNC, documents, embedding, where, settings)

    @classmethod
    def open(
        cls,
        path: str | PathLike[str],
        embedding: Embeddings | None = None,
        *,
        read_only: bool = False,
        neighbor_weights: Sequence[float] | None = None,
        **settings: Any,
    ) -> Self:
        """Open an index on disk without embedding anything.

        Args:
            path: The folder of the index.
            embedding: The embedder that the index was made with; ``None`` for the one that it remembers, see
                `IndexSettings`.
            read_only: Whether to leave the files unchanged, and refuse to add and delete documents.
            neighbor_weights: Weights to use instead of the index's own; ``None`` keeps those.
            **settings: The retriever's fields. They come before those that the index remembers.

        Raises:
            IndexNotFoundError: There is no index at the path.
            IndexMismatchError: The index was made with another embedder or a newer version.
            InvalidInputError: No embedder is given, and the index remembers none.
            StoreError: The index is damaged, or what it remembers.
        """
        call = f"{cls.__name__}.open(path, embedding)"
        check_order(embedding, path, call)
        if embedding is not None:
            checked_embedding(embedding)
        require_index(path)
        remembered = read_index_settings(path)
        if embedding is None:
            if remembered.embedding is None:
                raise InvalidInputError(
                    f"embedding is None, and the index at {str(path)!r} doesn't remember its embedder; pass the one "
                    f"that it was made with: {call}"
                )
            embedding = load_embedding(remembered.embedding)
        settings = {**remembered.retriever, **settings}
        cls._check_settings(embedding, settings)
        store = FaissStore.open(path, embedding, neighbor_weights=neighbor_weights, read_only=read_only)
        return cls(vectorstore=store, **settings)

    @classmethod
    async def aopen(
        cls,
        path: str | PathLike[str],
        embedding: Embeddings | None = None,
        *,
        read_only: bool = False,
        neighbor_weights: Sequence[float] | None = None,
        **settings: Any,
    ) -> Self:
        """Async version of `open`."""
        return await ASYNC.in_thread(
            cls.open, path, embedding, read_only=read_only, neighbor_weights=neighbor_weights, **settings
        )

    def close(self) -> None:
        """Close the store, if it can be closed. Copies of the retriever share it.

        Later calls of a closed `FaissStore` raise `StoreError`. Nothing needs to be saved first.
        """
        self.scope().adapter.close()

    def __enter__(self) -> Self:
        """Use the retriever in a ``with`` block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the store."""
        self.close()

    def __len__(self) -> int:
        """Return the number of documents that `documents` lists.

        Raises:
            InvalidInputError: The store can't list what it holds.
        """
        scope = self.scope()
        return run(scope.adapter.count_documents(BLOCKING, scope.filter))

    def __bool__(self) -> bool:
        """Return true, also for an empty index."""
        return True

    def backup(self, path: str | PathLike[str]) -> None:
        """Copy the index and the settings that it remembers into a folder; others may read and write at the same time.

        See `FaissStore.backup`.

        Args:
            path: A folder that holds no index yet.

        Raises:
            StoreError: The folder holds an index already, or can't be written, or the settings are damaged.
            InvalidInputError: The store isn't a `FaissStore`, or the retriever has a filter.
        """
        store = self._whole_store("backup")
        settings = IndexSettings() if store.folder is None else read_index_settings(store.folder)
        store.backup(path)
        if settings != IndexSettings():
            write_index_settings(path, settings)

    @staticmethod
    def restore(backup: str | PathLike[str], path: str | PathLike[str]) -> None:
        """Replace an index, even a damaged one, and the settings that it remembers with a backup.

        A backup that remembers nothing leaves the settings at the path as they are. See `FaissStore.restore`.

        Args:
            backup: A folder that `backup` made, or that of any closed index.
            path: The folder of the index to replace; it is created if it doesn't exist.

        Raises:
            IndexNotFoundError: There is no index in the backup's folder.
            StoreError: The backup is damaged, or the path can't be written.
        """
        settings = read_index_settings(backup)
        FaissStore.restore(backup, path)
        if settings != IndexSettings():
            write_index_settings(path, settings)

    def stats(self) -> StoreStats:
        """Count the contents of the index and measure its size; see `StoreStats`.

        Raises:
            InvalidInputError: The store isn't a `FaissStore`, or a filter binds.
        """
        return self._whole_store("stats").stats()

    def check(self) -> CheckResult:
        """Read everything that the index holds, and list what is wrong; see `FaissStore.check`.

        The settings saved with the index are read too.

        Raises:
            InvalidInputError: The store isn't a `FaissStore`, or a filter binds.
        """
        store = self._whole_store("check")
        result = store.check()
        return result if store.folder is None else with_settings_checked(result, store.folder)

    def add_documents(self, documents: Iterable[Document], *, show_progress: bool = False) -> list[str]:
        """Index documents; each replaces the document of the same ``doc_id``.

        Pages, elements, rows and chunks of one source are parts of one document, and are joined first. Parts that are
        given alone are added to those that the store has.

        A list is stored all at once. An iterator, such as ``loader.lazy_load()``, may be of any length: it is read and
        stored in batches of about a million characters, none of which splits a document. An error leaves the batches
        before it stored, and its notes say so. To go on, call again with the rest, or with all: texts that have a
        vector in a `FaissStore` aren't embedded again.

        Args:
            documents: The documents; of an iterator, the parts of a document one after the other. Each is named by its
                id, else by ``doc_id`` in its metadata, else by its source, else by a hash of its text. So several texts
                of one source need ids, unless they are its parts.
            show_progress: Whether to show a progress bar while embedding.

        Returns:
            The ``doc_id`` of each document, in order.

        Raises:
            InvalidInputError: Two documents have the same id, one isn't a Document, or the filter forbids one or
                what it would replace. Nothing was stored of a list, or of the batch.
        """
        given = as_documents_or_stream(documents, is_async=False)
        return run(self._add(BLOCKING, given, show_progress=show_progress))

    async def aadd_documents(self, documents: Iterable[Document] | AsyncIterable[Document]) -> list[str]:
        """Async version of `add_documents`, which takes async iterators too."""
        return await self._add(ASYNC, as_documents_or_stream(documents, is_async=True))

    def documents(self, filter: Any = None, *, source: str | PathLike[str] | None = None) -> list[IndexedDocument]:
        """List the documents in the store: their names, sources, titles, counts, and when they were added.

        Args:
            filter: Narrows the retriever's own filter. A document of which it lets through a part is listed with that
                part's sentences and pages.
            source: The source that their metadata names, such as a path or an address; ``None`` for any.

        Raises:
            InvalidInputError: The store can't list what it holds, or the filter can't be read.
        """
        scope = self.scope(filter)
        wanted = None if source is None else _source_as_string(source)
        return run(scope.adapter.list_documents(BLOCKING, scope.filter, wanted))

    async def adocuments(
        self, filter: Any = None, *, source: str | PathLike[str] | None = None
    ) -> list[IndexedDocument]:
        """Async version of `documents`."""
        scope = self.scope(filter)
        wanted = None if source is None else _source_as_string(source)
        return await arun(lambda io: scope.adapter.list_documents(io, scope.filter, wanted))

    def delete(
        self, ids: Sequence[str] | None = None, *, source: str | PathLike[str] | None = None, filter: Any = None
    ) -> int:
        """Delete whole documents: by their ``doc_id``, their source, or a filter. All that are given must fit.

        Documents that don't exist, or that the retriever's own filter forbids, are ignored.

        Args:
            ids: The ``doc_id`` of each document.
            source: The source that their metadata names, such as a path or an address.
            filter: Narrows the retriever's own filter. A document is deleted if all its sentences match.

        Returns:
            The number of documents deleted.

        Raises:
            InvalidInputError: There is no list of ids, no source and no filter; or a filter allows only a part of a
                document, or can't be read; or the store can't list what it holds. Nothing was deleted.
        """
        return len(run(self._delete(BLOCKING, ids, source, filter)))

    async def adelete(
        self, ids: Sequence[str] | None = None, *, source: str | PathLike[str] | None = None, filter: Any = None
    ) -> int:
        """Async version of `delete`."""
        return len(await self._delete(ASYNC, ids, source, filter))

    def get(self, ids: Sequence[str]) -> list[Document]:
        """Read whole documents by their ``doc_id``, joined from their sentences.

        Documents that don't exist, or of which the filter forbids any part, are left out.

        Returns:
            The documents, each with its text from the first sentence to the last, ``source[start_index:end_index]``.
            If it was joined from parts, ``parts`` in its metadata has the span of each.

        Raises:
            IncompleteWindowError: The store can't fetch by id, or lacks sentences.
        """
        return run(join_documents(BLOCKING, self.scope(), checked_ids(ids)))

    async def aget(self, ids: Sequence[str]) -> list[Document]:
        """Async version of `get`."""
        wanted = checked_ids(ids)
        return await arun(lambda io: join_documents(io, self.scope(), wanted))

    def as_document_index(self) -> DocumentIndex:
        """Return an object that LangChain's ``index()`` and ``aindex()`` take in place of a vector store.

        Examples:
            >>> index(documents, record_manager, retriever.as_document_index(), cleanup="full")  # doctest: +SKIP
        """
        return _WindowDocumentIndex(retriever=self)

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Find the windows for a question.

        Args:
            input: The question.
            config: The configuration of the run. Settings by name under ``configurable`` apply if the call doesn't give
                them; a filter there narrows the others.
            **kwargs: The settings of this call, see `CallSettings`.

        Raises:
            InvalidInputError: The question is empty, or a setting can't be used.
        """
        return super().invoke(input, config, **with_configured(config, kwargs))

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Async version of `invoke`."""
        return await super().ainvoke(input, config, **with_configured(config, kwargs))

    def explain(self, query: str, config: RunnableConfig | None = None, **settings: Unpack[CallSettings]) -> Trace:
        """Run a query and record what became of every hit and window.

        Use it to find out why an answer wasn't found. It makes two more searches than `invoke`, one by meaning alone
        and one by words alone, and reads the candidates and windows that were left out.

        Args:
            query: The question.
            config: The configuration of the run, as for `invoke`.
            **settings: The settings of this call, as for `invoke`.

        Returns:
            The trace. ``print`` it, or call its ``to_dict``.
        """
        return run(explain(BLOCKING, self._configured_request(query, config, settings)))

    async def aexplain(
        self, query: str, config: RunnableConfig | None = None, **settings: Unpack[CallSettings]
    ) -> Trace:
        """Async version of `explain`."""
        return await arun(lambda io: explain(io, self._configured_request(query, config, settings)))

    def why(
        self,
        query: str,
        doc_id: str,
        sentence: int,
        config: RunnableConfig | None = None,
        **settings: Unpack[CallSettings],
    ) -> SentenceOutcome:
        """Find out what became of one sentence in a query, and what would have returned it.

        Use it to ask why a sentence isn't found. It searches deeper by meaning and by words. Then it runs the query
        with other settings until two of them return the sentence: up to a dozen more queries, and calls of the
        reranker.

        Args:
            query: The question.
            doc_id: The document.
            sentence: The index of the sentence in it, from 0.
            config: The configuration of the run, as for `invoke`.
            **settings: The settings of the call, as for `invoke`.

        Returns: What became of the sentence; ``print`` it, or call its ``to_dict``. A sentence that the retriever's own
        filter forbids is treated as one that doesn't exist.

        Raises:
            InvalidInputError: The sentence isn't a whole number from 0, or the store can't read a single sentence.
        """
        request = self._configured_request(query, config, settings)
        return run(why(BLOCKING, request, self.scope(), doc_id, sentence))

    async def awhy(
        self,
        query: str,
        doc_id: str,
        sentence: int,
        config: RunnableConfig | None = None,
        **settings: Unpack[CallSettings],
    ) -> SentenceOutcome:
        """Async version of `why`."""
        request = self._configured_request(query, config, settings)
        return await arun(lambda io: why(io, request, self.scope(), doc_id, sentence))

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **settings: Unpack[CallSettings]
    ) -> list[Document]:
        return run(ask(BLOCKING, self._request(query, settings), run_manager.get_child()))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **settings: Unpack[CallSettings]
    ) -> list[Document]:
        return await arun(lambda io: ask(io, self._request(query, settings), run_manager.get_child()))

    def _configured_request(self, query: str, config: RunnableConfig | None, settings: CallSettings) -> Request:
        return self._request(query, cast("CallSettings", with_configured(config, settings)))

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        params = super()._get_ls_params(**kwargs)
        params["ls_vector_store_provider"] = type(self.vectorstore).__name__
        embedding = adapter_of(self.vectorstore).embedding
        if embedding is not None:
            params["ls_embedding_provider"] = type(embedding).__name__
            # The first name is langchain-huggingface's, the second that of most others.
            model = getattr(embedding, "model_name", None) or getattr(embedding, "model", None)
            if isinstance(model, str):
                params["ls_embedding_model"] = model
        return params

    @classmethod
    async def _built(
        cls,
        io: IO,
        documents: object,
        embedding: Embeddings,
        where: Mapping[str, Any],
        settings: Mapping[str, Any],
        *,
        show_progress: bool = False,
    ) -> Self:
        # All arguments are checked, and the beginning of a stream is read, before anything is created.
        given = as_documents_or_stream(documents, is_async=io is ASYNC)
        join = cls._check_settings(embedding, settings).join_parts
        batches = await with_text(read_batches(io, given, join))
        store = await io.in_thread(FaissStore, embedding, **where)
        retriever = cls(vectorstore=store, **settings)
        await retriever._add(io, given, batches=batches, show_progress=show_progress)
        if store.folder is not None:
            await io.in_thread(store.save)
        return retriever

    async def _delete(
        self, io: IO, ids: Sequence[str] | None, source: str | PathLike[str] | None, filter: Any
    ) -> Sequence[str]:
        check_binds(filter)
        names = None if ids is None and (source is not None or filter is not None) else checked_ids(ids)
        scope, wanted = self.scope(filter), None if source is None else _source_as_string(source)
        return await delete_documents(io, scope, names, source=wanted, bm25_index=self.bm25_index)

    async def _add(
        self,
        io: IO,
        given: DocumentStream,
        *,
        batches: AsyncIterator[Batch] | None = None,
        show_progress: bool = False,
    ) -> list[str]:
        """Add documents, of which batches may have been read already."""
        scope = self.scope()
        batches = batches or read_batches(io, given, self.splitter.join_parts)
        prepare = Preparation(self.splitter, scope.adapter.limits, self.embed_headings, self.situate)
        how: Any = {"bm25_index": self.bm25_index, "is_list": isinstance(given, list), "show_progress": show_progress}
        return await ingest_batches(io, scope, batches, prepare, **how)

    @classmethod
    def _check_settings(cls, embedding: Embeddings, settings: Any) -> SentenceSplitter:
        """Check settings of a retriever whose store isn't made yet; return its splitter.

        Raises:
            InvalidInputError: One can't be used.
        """
        if "vectorstore" in settings:
            raise InvalidInputError(
                "vectorstore can't be set here, as a FaissStore is created; write "
                "SentenceWindowRetriever(vectorstore=store).add_documents(documents)"
            )
        with FaissStore(checked_embedding(embedding)) as store:
            return cls(vectorstore=store, **settings).splitter

    def _whole_store(self, method: str) -> FaissStore:
        """Return the store for a method that reads all of it.

        Raises:
            InvalidInputError: It isn't a `FaissStore`, or a filter binds.
        """
        scope = self.scope()
        if not scope.adapter.is_whole_index:
            raise InvalidInputError(
                f"{method} needs a FaissStore, and this retriever's store is {scope.adapter.name}; use what that store "
                "has for it"
            )
        if scope.filter is not None:
            raise InvalidInputError(
                f"{method} reads the whole index, and this retriever's filter allows only a part of it; call it on a "
                "retriever without a filter"
            )
        return cast("FaissStore", self.vectorstore)


def _source_as_string(source: object) -> str:
    """Return a source as metadata has it.

    Raises:
        InvalidInputError: It isn't a string or a path.
    """
    if isinstance(source, str | PathLike):
        return str(source)
    raise InvalidInputError(f"source is {shown(source)}; give the source in the documents' metadata as a string")


class _WindowDocumentIndex(DocumentIndex):
    """A retriever in the form that LangChain's ``index()`` writes to.

    ``index()`` names each document by a hash of its text and metadata.

    Attributes:
        retriever: The retriever that does the work.
    """

    # Not the retriever itself, as `DocumentIndex` is in beta and may change.
    retriever: SentenceWindowRetriever

    def upsert(self, items: Sequence[Document], /, **kwargs: Any) -> UpsertResponse:
        """Add documents with the retriever's ``add_documents``."""
        return UpsertResponse(succeeded=self.retriever.add_documents(items, **kwargs), failed=[])

    async def aupsert(self, items: Sequence[Document], /, **kwargs: Any) -> UpsertResponse:
        """Async version of `upsert`."""
        return UpsertResponse(succeeded=await self.retriever.aadd_documents(items, **kwargs), failed=[])

    def delete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> DeleteResponse:
        """Delete documents with the retriever's ``delete``."""
        deleted = self.retriever.delete(ids, **kwargs)
        return DeleteResponse(num_deleted=deleted, num_failed=0, failed=[])

    async def adelete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> DeleteResponse:
        """Async version of `delete`."""
        deleted = await self.retriever.adelete(ids, **kwargs)
        return DeleteResponse(num_deleted=deleted, num_failed=0, failed=[])

    def get(self, ids: Sequence[str], /, **kwargs: Any) -> list[Document]:
        """Read documents with the retriever's ``get``."""
        return self.retriever.get(ids, **kwargs)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **settings: Any
    ) -> list[Document]:
        return self.retriever.invoke(query, {"callbacks": run_manager.get_child()}, **settings)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **settings: Any
    ) -> list[Document]:
        return await self.retriever.ainvoke(query, {"callbacks": run_manager.get_child()}, **settings)
