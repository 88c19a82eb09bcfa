"""`SentenceWindowRetriever`: search sentences, return the windows around them."""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, Unpack

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import LangSmithRetrieverParams

from langchain_sentence_window._arguments import check_order, checked_documents
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, run
from langchain_sentence_window._showing import shown
from langchain_sentence_window.adapters.scope import check_binds
from langchain_sentence_window.documents.ids import checked_ids
from langchain_sentence_window.documents.indexed_documents import IndexedDocument
from langchain_sentence_window.embedding.checked import checked_embedding
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.retrieval.callback_runs import search_params
from langchain_sentence_window.retrieval.indexing import delete_documents, read_documents
from langchain_sentence_window.retrieval.ingest import ingest_documents
from langchain_sentence_window.retrieval.observing import observed
from langchain_sentence_window.retrieval.settings import CallSettings, RetrieverSettings
from langchain_sentence_window.retrieval.tracing.explain import explain
from langchain_sentence_window.retrieval.tracing.trace import Trace
from langchain_sentence_window.stores.faiss.faiss_store import FaissStore

if TYPE_CHECKING:
    from langchain_core.indexing.base import DocumentIndex


class SentenceWindowRetriever(RetrieverSettings):
    """A retriever that searches single sentences and returns the windows around them, merged and cited.

    A window is an unbroken run of sentences of one section. No sentence is in two windows.
    ``page_content`` of each Document is ``source[start_index:end_index]``, character for character. Its metadata
    says which sentences were hit, and with what score; see
    `langchain_sentence_window.documents.window_metadata`.

    Settings are checked whenever they are set: in the constructor, by assignment, in copies and with a call.
    Copies share the store.

    Example:
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
            documents: The documents to index; at least one must have text.
            embedding: Embeds sentences and queries.
            path: A folder for the index; ``None`` keeps it in memory. Documents of an index that is already there
                stay, or are replaced by those of the same ``doc_id``.
            neighbor_weights: How much of its neighbors' vectors is mixed into each sentence's vector; see
                `FaissStore`.
            show_progress: Whether to show a progress bar while embedding.
            **settings: The retriever's fields, such as ``k`` and ``window``.

        Raises:
            InvalidInputError: There is no text to index, two documents have the same id, or an argument can't be
                used. Nothing was created at the path.
            StoreError: The path can't be used.
        """
        documents = cls._checked(documents, embedding, settings)
        store = FaissStore(embedding, path, neighbor_weights=neighbor_weights)
        retriever = cls(vectorstore=store, **settings)
        retriever.add_documents(documents, show_progress=show_progress)
        if path is not None:
            store.save()
        return retriever

    @classmethod
    async def afrom_documents(
        cls,
        documents: Iterable[Document],
        embedding: Embeddings,
        *,
        path: str | PathLike[str] | None = None,
        neighbor_weights: Sequence[float] | None = None,
        **settings: Any,
    ) -> Self:
        """Async version of `from_documents`, without a progress bar."""
        documents = cls._checked(documents, embedding, settings)
        store = await ASYNC.in_thread(FaissStore, embedding, path, neighbor_weights=neighbor_weights)
        retriever = cls(vectorstore=store, **settings)
        await retriever.aadd_documents(documents)
        if path is not None:
            await ASYNC.in_thread(store.save)
        return retriever

    @classmethod
    def open(
        cls,
        path: str | PathLike[str],
        embedding: Embeddings,
        *,
        neighbor_weights: Sequence[float] | None = None,
        **settings: Any,
    ) -> Self:
        """Open an index on disk without embedding anything.

        Args:
            path: The folder of the index.
            embedding: The embedder that the index was made with.
            neighbor_weights: Weights to use instead of the index's own; ``None`` keeps those.
            **settings: The retriever's fields.

        Raises:
            IndexNotFoundError: There is no index at the path.
            IndexMismatchError: The index was made with another embedder or a newer version.
        """
        check_order(embedding, path, f"{cls.__name__}.open(path, embedding)")
        cls._check_settings(embedding, settings)
        return cls(vectorstore=FaissStore.open(path, embedding, neighbor_weights=neighbor_weights), **settings)

    def add_documents(self, documents: Iterable[Document], *, show_progress: bool = False) -> list[str]:
        """Index documents; each replaces the document of the same ``doc_id``.

        Pages, elements, rows and chunks of one source are parts of one document, and are joined first. Parts that are
        given alone are added to those that the store has.

        Args:
            documents: The documents. Each is named by its id, else by ``doc_id`` in its metadata, else by its source,
                else by a hash of its text. So several texts of one source need ids, unless they are its parts.
            show_progress: Whether to show a progress bar while embedding.

        Returns:
            The ``doc_id`` of each document, in order.

        Raises:
            InvalidInputError: Two documents have the same id, one isn't a Document, or the filter forbids one or
                what it would replace. Nothing was stored.
        """
        documents = checked_documents(documents)
        return run(self._add(BLOCKING, documents, show_progress=show_progress))

    async def aadd_documents(self, documents: Iterable[Document]) -> list[str]:
        """Async version of `add_documents`."""
        return await self._add(ASYNC, checked_documents(documents), show_progress=False)

    def documents(self, filter: Any = None, *, source: str | PathLike[str] | None = None) -> list[IndexedDocument]:
        """List the documents in the store: their names, sources, titles, numbers of sentences and pages.

        Args:
            filter: Narrows the retriever's own filter. A document of which it lets through a part is listed with that
                part's sentences and pages.
            source: The source that their metadata names, such as a path or an address; ``None`` for any.

        Raises:
            InvalidInputError: The store can't list what it holds, or the filter can't be read.
        """
        scope = self.scope(filter)
        return run(scope.adapter.list_documents(BLOCKING, scope.filter, _text_of(source)))

    async def adocuments(
        self, filter: Any = None, *, source: str | PathLike[str] | None = None
    ) -> list[IndexedDocument]:
        """Async version of `documents`."""
        scope = self.scope(filter)
        return await scope.adapter.list_documents(ASYNC, scope.filter, _text_of(source))

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
        return run(self._delete(BLOCKING, ids, source, filter))

    async def adelete(
        self, ids: Sequence[str] | None = None, *, source: str | PathLike[str] | None = None, filter: Any = None
    ) -> int:
        """Async version of `delete`."""
        return await self._delete(ASYNC, ids, source, filter)

    def get(self, ids: Sequence[str]) -> list[Document]:
        """Read whole documents by their ``doc_id``, joined from their sentences.

        Documents that don't exist, or of which the filter forbids any part, are left out.

        Returns:
            The documents, each with its text from the first sentence to the last, ``source[start_index:end_index]``.
            If it was joined from parts, ``parts`` in its metadata says where each of them stands.

        Raises:
            IncompleteWindowError: The store can't fetch by id, or lacks sentences.
        """
        return run(read_documents(BLOCKING, self.scope(), checked_ids(ids)))

    async def aget(self, ids: Sequence[str]) -> list[Document]:
        """Async version of `get`."""
        return await read_documents(ASYNC, self.scope(), checked_ids(ids))

    def as_document_index(self) -> "DocumentIndex":
        """Return an object that LangChain's ``index()`` and ``aindex()`` take in place of a vector store.

        Example:
            >>> index(documents, record_manager, retriever.as_document_index(), cleanup="full")  # doctest: +SKIP
        """
        from langchain_sentence_window.retrieval.document_index import WindowDocumentIndex

        return WindowDocumentIndex(retriever=self)

    def explain(self, query: str, **settings: Unpack[CallSettings]) -> Trace:
        """Run a query and record what became of every hit and window.

        Use it to find out why an answer wasn't found. It makes two more searches than `invoke`, by meaning alone and
        by words alone, and reads the sentences around windows.

        Args:
            query: The question.
            **settings: The settings of this call, as for `invoke`.

        Returns:
            The trace. ``print`` it, show it in a notebook, or call its ``to_dict``.
        """
        return run(explain(BLOCKING, self._request(query, settings), self.reranker))

    async def aexplain(self, query: str, **settings: Unpack[CallSettings]) -> Trace:
        """Async version of `explain`."""
        return await explain(ASYNC, self._request(query, settings), self.reranker)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **settings: Unpack[CallSettings]
    ) -> list[Document]:
        request = self._request(query, settings)
        return run(observed(BLOCKING, request, self.reranker, run_manager.get_child())).documents

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **settings: Unpack[CallSettings]
    ) -> list[Document]:
        request = self._request(query, settings)
        return (await observed(ASYNC, request, self.reranker, run_manager.get_child())).documents

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        return {**super()._get_ls_params(**kwargs), **search_params(self.vectorstore)}

    @classmethod
    def _checked(
        cls, documents: Iterable[Document], embedding: Embeddings, settings: Mapping[str, Any]
    ) -> list[Document]:
        """Check all arguments of `from_documents` before anything is created."""
        found = checked_documents(documents)
        cls._check_settings(embedding, settings)
        if not any(document.page_content.strip() for document in found):
            raise InvalidInputError(
                f"there is nothing to index: {len(found)} documents were given, and none of them has any text"
            )
        return found

    @classmethod
    def _check_settings(cls, embedding: Embeddings, settings: Mapping[str, Any]) -> None:
        if "vectorstore" in settings:
            raise InvalidInputError(
                "vectorstore can't be set here, as a FaissStore is created; write "
                "SentenceWindowRetriever(vectorstore=store).add_documents(documents)"
            )
        with FaissStore(checked_embedding(embedding)) as store:
            cls(vectorstore=store, **settings)

    async def _delete(self, io: IO, ids: Sequence[str] | None, source: str | PathLike[str] | None, filter: Any) -> int:
        check_binds(filter)
        names = None if ids is None and (source is not None or filter is not None) else checked_ids(ids)
        return await delete_documents(
            io, self.scope(filter), names, source=_text_of(source), bm25_index=self.bm25_index
        )

    async def _add(self, io: IO, documents: Sequence[Document], *, show_progress: bool) -> list[str]:
        return await ingest_documents(
            io,
            self.scope(),
            documents,
            self.splitter,
            embed_headings=self.embed_headings,
            situate=self.situate,
            bm25_index=self.bm25_index,
            show_progress=show_progress,
        )


def _text_of(source: str | PathLike[str] | None) -> str | None:
    """Return a source as metadata has it.

    Raises:
        InvalidInputError: It isn't a string or a path.
    """
    if source is None or isinstance(source, str | PathLike):
        return None if source is None else str(source)
    raise InvalidInputError(f"source is {shown(source)}; give the source in the documents' metadata as a string")
