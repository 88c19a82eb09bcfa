"""`SentenceWindowRetriever`: search sentences, return the windows around them; open, count, copy and check an index."""

from collections.abc import AsyncIterable, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, Unpack, cast

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import LangSmithRetrieverParams
from langchain_core.runnables import RunnableConfig

from langchain_sentence_window._arguments import as_documents, as_documents_or_stream, check_order
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, arun, run
from langchain_sentence_window.documents.keys import checked_ids
from langchain_sentence_window.documents.splitter import SentenceSplitter
from langchain_sentence_window.embedding.named_embedders import checked_embedding, load_embedding
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.store.check import StoreStats
from langchain_sentence_window.store.faiss_store import FaissStore

from .call_settings import QueryMethods, with_configured
from .document_methods import DocumentMethods
from .index_settings import IndexSettings, read_index_settings, write_index_settings
from .query import Query
from .request import Request
from .settings import CallSettings
from .telemetry import observed, search_params

if TYPE_CHECKING:
    from langchain_core.indexing.base import DocumentIndex

    from langchain_sentence_window.store.check import CheckResult

    from .tracing.sentence_fate import SentenceFate
    from .tracing.trace import Trace


class IndexMethods(QueryMethods):
    """The methods of `SentenceWindowRetriever` for its store as a whole.

    Those that copy, measure or check it need a `FaissStore`, and a retriever without a filter, which would bind only a
    part of what they read.
    """

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
        FaissStore.check_exists(path)
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
        """Copy the index into a folder, while others read and write, with the settings that it remembers.

        See `FaissStore.backup`.

        Args:
            path: A folder that holds no index yet.

        Raises:
            StoreError: The folder holds an index already, or can't be written, or the settings are damaged.
            InvalidInputError: The store isn't a `FaissStore`, or a filter binds.
        """
        store = self._whole_store("backup")
        settings = IndexSettings() if store.folder is None else read_index_settings(store.folder)
        store.backup(path)
        if settings != IndexSettings():
            write_index_settings(path, settings)

    async def abackup(self, path: str | PathLike[str]) -> None:
        """Async version of `backup`."""
        await ASYNC.in_thread(self.backup, path)

    @staticmethod
    def restore(backup: str | PathLike[str], path: str | PathLike[str]) -> None:
        """Replace an index, whatever its state, with a backup, and what it remembers with what the backup does.

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

    async def astats(self) -> StoreStats:
        """Async version of `stats`."""
        return await ASYNC.in_thread(self.stats)

    def check(self) -> "CheckResult":
        """Read everything that the index holds, and list what is wrong; see `FaissStore.check`.

        The settings saved with the index are read too.

        Raises:
            InvalidInputError: The store isn't a `FaissStore`, or a filter binds.
        """
        from .index_settings import with_settings_checked

        store = self._whole_store("check")
        result = store.check()
        return result if store.folder is None else with_settings_checked(result, store.folder)

    async def acheck(self) -> "CheckResult":
        """Async version of `check`."""
        return await ASYNC.in_thread(self.check)

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


class SentenceWindowRetriever(DocumentMethods, IndexMethods):
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
    def from_texts(
        cls,
        texts: Iterable[str],
        embedding: Embeddings,
        metadatas: Iterable[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str] | None = None,
        **settings: Any,
    ) -> Self:
        """Index texts in a new `FaissStore`, each of them a document, and return a retriever for them.

        Args:
            texts: The texts to index.
            embedding: Embeds sentences and queries.
            metadatas: One dict for each text; ``None`` for empty metadata. Texts of one source are its parts if they
                have no ids, as for `from_documents`.
            ids: The ``doc_id`` of each text; ``None`` for what its metadata says, or a hash of the text.
            **settings: As for `from_documents`.

        Raises:
            InvalidInputError: The texts aren't strings, or there isn't one dict or id for each; or as for
                `from_documents`. Nothing was created at the path.
            StoreError: The path can't be used.
        """
        return cls.from_documents(_as_documents(texts, metadatas, ids), embedding, **settings)

    @classmethod
    async def afrom_texts(
        cls,
        texts: Iterable[str],
        embedding: Embeddings,
        metadatas: Iterable[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str] | None = None,
        **settings: Any,
    ) -> Self:
        """Async version of `from_texts`."""
        return await cls.afrom_documents(_as_documents(texts, metadatas, ids), embedding, **settings)

    def as_document_index(self) -> "DocumentIndex":
        """Return an object that LangChain's ``index()`` and ``aindex()`` take in place of a vector store.

        Examples:
            >>> index(documents, record_manager, retriever.as_document_index(), cleanup="full")  # doctest: +SKIP
        """
        from .document_index import WindowDocumentIndex

        return WindowDocumentIndex(retriever=self)

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

    def explain(self, query: str, config: RunnableConfig | None = None, **settings: Unpack[CallSettings]) -> "Trace":
        """Run a query and record what became of every hit and window.

        Use it to find out why an answer wasn't found. It makes two more searches than `invoke`, one by meaning alone
        and one by words alone, and reads the candidates and windows that were left out.

        Args:
            query: The question.
            config: The configuration of the run, as for `invoke`.
            **settings: The settings of this call, as for `invoke`.

        Returns:
            The trace. ``print`` it, show it in a notebook, or call its ``to_dict``.
        """
        from .tracing.explanation import explain

        return run(explain(BLOCKING, self._configured_request(query, config, settings)))

    async def aexplain(
        self, query: str, config: RunnableConfig | None = None, **settings: Unpack[CallSettings]
    ) -> "Trace":
        """Async version of `explain`."""
        from .tracing.explanation import explain

        return await arun(lambda io: explain(io, self._configured_request(query, config, settings)))

    def why(
        self,
        query: str,
        doc_id: str,
        sentence: int,
        config: RunnableConfig | None = None,
        **settings: Unpack[CallSettings],
    ) -> "SentenceFate":
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

        Returns: The fate of the sentence. ``print`` it, or call its ``to_dict``. A sentence that the retriever's own
        filter forbids is treated as one that doesn't exist.

        Raises:
            InvalidInputError: The sentence isn't a whole number from 0, or the store can't read a single sentence.
        """
        from .tracing.sentence_fate import checked_key, why

        key = checked_key(doc_id, sentence)
        request = self._configured_request(query, config, settings)
        return run(why(BLOCKING, request, self.scope(), key))

    async def awhy(
        self,
        query: str,
        doc_id: str,
        sentence: int,
        config: RunnableConfig | None = None,
        **settings: Unpack[CallSettings],
    ) -> "SentenceFate":
        """Async version of `why`."""
        from .tracing.sentence_fate import checked_key, why

        key = checked_key(doc_id, sentence)
        request = self._configured_request(query, config, settings)
        return await arun(lambda io: why(io, request, self.scope(), key))

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **settings: Unpack[CallSettings]
    ) -> list[Document]:
        asked = Query(BLOCKING, self._request(query, settings), run_manager.get_child())
        with observed(asked):
            run(asked.run())
        return asked.documents

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **settings: Unpack[CallSettings]
    ) -> list[Document]:
        async def ask(io: IO) -> list[Document]:
            asked = Query(io, self._request(query, settings), run_manager.get_child())
            with observed(asked):
                await asked.run()
            return asked.documents

        return await arun(ask)

    def _configured_request(self, query: str, config: RunnableConfig | None, settings: CallSettings) -> Request:
        return self._request(query, cast("CallSettings", with_configured(config, settings)))

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        return {**super()._get_ls_params(**kwargs), **search_params(self.vectorstore)}

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
        from .ingest import read_batches, with_text

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


def _as_documents(texts: object, metadatas: object, ids: object) -> list[Document]:
    """Return Documents of texts.

    Raises:
        InvalidInputError: There isn't one dict or id for each text, or one of them isn't what it should be.
    """
    documents = as_documents(texts, metadatas)
    if ids is None:
        return documents
    names = checked_ids(ids)
    if len(names) != len(documents):
        raise InvalidInputError(f"got {len(names)} ids for {len(documents)} texts; give one for each")
    return [document.model_copy(update={"id": id_}) for document, id_ in zip(documents, names, strict=True)]
