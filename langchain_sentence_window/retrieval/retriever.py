"""`SentenceWindowRetriever`: search sentences, return the windows around them."""

from collections.abc import AsyncIterable, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, Unpack, cast

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import LangSmithRetrieverParams
from langchain_core.runnables import RunnableConfig

from langchain_sentence_window._arguments import DocumentStream, as_documents_or_stream
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, arun, run
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.retrieval.callback_runs import search_params
from langchain_sentence_window.retrieval.document_methods import DocumentMethods
from langchain_sentence_window.retrieval.index_methods import IndexMethods
from langchain_sentence_window.retrieval.observing import observed
from langchain_sentence_window.retrieval.pipeline import Request, Retrieval
from langchain_sentence_window.retrieval.settings import CallSettings, with_configured
from langchain_sentence_window.stores.faiss.faiss_store import FaissStore

if TYPE_CHECKING:
    from langchain_core.indexing.base import DocumentIndex

    from langchain_sentence_window.retrieval.tracing.fate import SentenceFate
    from langchain_sentence_window.retrieval.tracing.trace import Trace


class SentenceWindowRetriever(DocumentMethods, IndexMethods):
    """A retriever that searches single sentences and returns the windows around them, merged and cited.

    A window is an unbroken run of sentences of one section. No sentence is in two windows.
    ``page_content`` of each Document is ``source[start_index:end_index]``, character for character. Its metadata
    says which sentences were hit, and with what score; see
    `langchain_sentence_window.documents.window_fields`.

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
            documents: The documents to index; at least one must have text. An iterator may be of any length; see
                `add_documents`.
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
        given = run(cls._checked(BLOCKING, documents, embedding, settings))
        store = FaissStore(embedding, path, neighbor_weights=neighbor_weights)
        retriever = cls(vectorstore=store, **settings)
        run(retriever._add(BLOCKING, given, show_progress=show_progress))
        if path is not None:
            store.save()
        return retriever

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
        given = await cls._checked(ASYNC, documents, embedding, settings)
        store = await ASYNC.in_thread(FaissStore, embedding, path, neighbor_weights=neighbor_weights)
        retriever = cls(vectorstore=store, **settings)
        await retriever._add(ASYNC, given, show_progress=False)
        if path is not None:
            await ASYNC.in_thread(store.save)
        return retriever

    def as_document_index(self) -> "DocumentIndex":
        """Return an object that LangChain's ``index()`` and ``aindex()`` take in place of a vector store.

        Example:
            >>> index(documents, record_manager, retriever.as_document_index(), cleanup="full")  # doctest: +SKIP
        """
        from langchain_sentence_window.retrieval.document_index import WindowDocumentIndex

        return WindowDocumentIndex(retriever=self)

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Find the windows for a question.

        Args:
            input: The question.
            config: The configuration of the run. What it has under ``configurable`` by the name of a setting of the
                call holds where the call doesn't give that setting; a filter there narrows.
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

        Use it to find out why an answer wasn't found. It makes two more searches than `invoke`, by meaning alone and
        by words alone, and reads the sentences around windows.

        Args:
            query: The question.
            config: The configuration of the run, as for `invoke`.
            **settings: The settings of this call, as for `invoke`.

        Returns:
            The trace. ``print`` it, show it in a notebook, or call its ``to_dict``.
        """
        from langchain_sentence_window.retrieval.tracing.explain import explain

        return run(explain(BLOCKING, self._configured_request(query, config, settings), self.reranker))

    async def aexplain(
        self, query: str, config: RunnableConfig | None = None, **settings: Unpack[CallSettings]
    ) -> "Trace":
        """Async version of `explain`."""
        from langchain_sentence_window.retrieval.tracing.explain import explain

        return await arun(lambda io: explain(io, self._configured_request(query, config, settings), self.reranker))

    def why(
        self,
        query: str,
        doc_id: str,
        sentence: int,
        config: RunnableConfig | None = None,
        **settings: Unpack[CallSettings],
    ) -> "SentenceFate":
        """Find out what became of one sentence in a query, and what would have returned it.

        Use it to ask why a sentence isn't there. It searches far down by meaning and by words, and then runs the query
        with other settings until two of them return the sentence: up to ten more queries, and calls of the reranker.

        Args:
            query: The question.
            doc_id: The document.
            sentence: The index of the sentence in it, from 0.
            config: The configuration of the run, as for `invoke`.
            **settings: The settings of the call, as for `invoke`.

        Returns:
            The fate of the sentence. ``print`` it, or call its ``to_dict``. Of a sentence that the retriever's own
            filter forbids it says no more than of one that doesn't exist.

        Raises:
            InvalidInputError: The sentence isn't a whole number from 0, or the store can't read a single sentence.
        """
        from langchain_sentence_window.retrieval.tracing.why import checked_key, why

        key = checked_key(doc_id, sentence)
        request = self._configured_request(query, config, settings)
        return run(why(BLOCKING, request, self.scope(), self.reranker, key))

    async def awhy(
        self,
        query: str,
        doc_id: str,
        sentence: int,
        config: RunnableConfig | None = None,
        **settings: Unpack[CallSettings],
    ) -> "SentenceFate":
        """Async version of `why`."""
        from langchain_sentence_window.retrieval.tracing.why import checked_key, why

        key = checked_key(doc_id, sentence)
        request = self._configured_request(query, config, settings)
        return await arun(lambda io: why(io, request, self.scope(), self.reranker, key))

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **settings: Unpack[CallSettings]
    ) -> list[Document]:
        request = self._request(query, settings)
        return run(observed(BLOCKING, request, self.reranker, run_manager.get_child())).documents

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **settings: Unpack[CallSettings]
    ) -> list[Document]:
        async def ask(io: IO) -> Retrieval:
            request = self._request(query, settings)
            return await observed(io, request, self.reranker, run_manager.get_child())

        return (await arun(ask)).documents

    def _configured_request(self, query: str, config: RunnableConfig | None, settings: CallSettings) -> Request:
        return self._request(query, cast("CallSettings", with_configured(config, settings)))

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        return {**super()._get_ls_params(**kwargs), **search_params(self.vectorstore)}

    @classmethod
    async def _checked(
        cls, io: IO, documents: object, embedding: Embeddings, settings: Mapping[str, Any]
    ) -> list[Document] | DocumentStream:
        """Check all arguments of `from_documents` before anything is created, and read the beginning of a stream."""
        from langchain_sentence_window.retrieval.document_streams import read_beginning

        given = as_documents_or_stream(documents, is_async=io is ASYNC)
        cls._check_settings(embedding, settings)
        found = given if isinstance(given, list) else []
        if not isinstance(given, list):
            found, given = await read_beginning(io, given)
        if not any(document.page_content.strip() for document in found):
            raise InvalidInputError(
                f"there is nothing to index: {len(found)} documents were given, and none of them has any text"
            )
        return given
