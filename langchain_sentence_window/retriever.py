"""`SentenceWindowRetriever`: search sentences, return the windows around them."""

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any, Literal, Self

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores import VectorStore
from pydantic import ConfigDict, Field

from langchain_sentence_window.calls import Call, Steps, arun, run
from langchain_sentence_window.corpus import delete_documents, replace_documents
from langchain_sentence_window.errors import InvalidInputError, checked_count, checked_weight, valid_settings
from langchain_sentence_window.fusion import LEXICAL_WEIGHT
from langchain_sentence_window.metadata import document_ids
from langchain_sentence_window.mixing import NEIGHBOR_WEIGHTS
from langchain_sentence_window.query import Request, checked_query, estimate_tokens, retrieve
from langchain_sentence_window.splitter import SentenceSplitter
from langchain_sentence_window.store.faiss_store import FaissStore
from langchain_sentence_window.callback_runs import search_params
from langchain_sentence_window.windows import Order, WindowSize, window_size


class SentenceWindowRetriever(BaseRetriever):
    """Search single sentences; return the windows around them, merged and cited.

    A window is an unbroken run of sentences of one section. Windows of good hits that overlap
    or touch become one, and weaker hits open what no better window holds, so no text is returned
    twice. ``page_content`` of what is returned is
    ``source[start_index:end_index]``, character for character; the metadata says which sentences in
    it were hit, with what score (see `langchain_sentence_window.metadata`).

    Example:
        >>> retriever = SentenceWindowRetriever.from_documents(documents, embedding)  # doctest: +SKIP
        >>> retriever.invoke("When is a refund refused?", k=3, window=(1, 3))         # doctest: +SKIP
    """

    vectorstore: VectorStore
    """Where the sentences are; any LangChain vector store that can fetch by id."""
    k: int = 4
    """How many windows to return; exactly so many come back while there are so many apart."""
    fetch_k: int = 50
    """How many sentences to search at first; more are searched while they make less than ``k`` windows."""
    window: WindowSize | Literal["auto"] = 2
    """How many sentences a hit is opened by on each side, or ``(before, after)``; 0 returns hits alone.
    ``auto`` opens each forward as far as it needs, see `open_forward`, and merges none: the most evidence
    for a budget. Recall within 1,600 characters, 40 windows, all-MiniLM-L6-v2, with 2 and ``auto``: 72.0 and
    78.4 on Chroma's benchmark, 77.5 and 80.4 on Doc2Dial, 86.2 and 93.0 on SQuAD; but a window of 2 shows a
    reader what surrounds a hit."""
    lexical_weight: float = LEXICAL_WEIGHT
    """How much words count beside meaning, where the store can search by words, as `FaissStore` can; 0 for
    not at all. See `langchain_sentence_window.fusion`."""
    max_tokens: int | None = None
    """The most tokens all windows may have together; ``None`` for no limit. A window that doesn't fit
    loses neighbours first, then its weaker hits; one whose best hit doesn't fit is left out."""
    count_tokens: Callable[[str], int] = estimate_tokens
    """How many tokens a text has."""
    order: Order = "relevance"
    """``relevance``: best first. ``document``: as they stand in the source. ``edges``: best first and last."""
    reranker: BaseDocumentCompressor | None = None
    """Ranks the windows of all ``fetch_k`` sentences before the best are taken."""
    splitter: SentenceSplitter = Field(default_factory=SentenceSplitter)
    """Cuts the documents that are added."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    def __init__(self, **settings: Any) -> None:
        """Take the fields as keywords and check them.

        Raises:
            InvalidInputError: One doesn't exist, is of a wrong type or out of its range.
        """
        with valid_settings(type(self).__name__):
            super().__init__(**settings)
        checked_count("k", self.k)
        checked_count("fetch_k", self.fetch_k)
        if self.max_tokens is not None:
            checked_count("max_tokens", self.max_tokens)
        checked_weight("lexical_weight", self.lexical_weight)
        _size_or_auto(self.window)

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
        """Index documents in a `FaissStore` and make a retriever for them.

        Args:
            documents: What to index; at least one with text.
            embedding: What sentences and queries are embedded with.
            path: A folder to keep the index in; ``None`` keeps it in memory. Documents that an index at
                the path holds already stay, or are replaced by those of the same ``doc_id``.
            neighbor_weights: How much of its neighbours in its section each sentence's vector is given when
                it is searched, see `FaissStore`; ``(1,)`` for nothing. ``None`` for what the index at
                the path has, and `NEIGHBOR_WEIGHTS` for a new one.
            show_progress: Whether to show a progress bar while embedding.
            **settings: The retriever's fields, such as ``k`` and ``window``.

        Raises:
            InvalidInputError: There is no text to index, or two documents have the same id.
            StoreError: The path can't be used.
        """
        documents = list(documents)
        _check_text(documents)
        retriever = cls(vectorstore=_make_store(embedding, path, neighbor_weights), **settings)
        retriever.add_documents(documents, show_progress=show_progress)
        retriever._save(path)
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
        """Do what `from_documents` does, with the embedder's own async method and without progress."""
        documents = list(documents)
        _check_text(documents)
        store = await run_in_executor(None, _make_store, embedding, path, neighbor_weights)
        retriever = cls(vectorstore=store, **settings)
        await retriever.aadd_documents(documents)
        await run_in_executor(None, retriever._save, path)
        return retriever

    @classmethod
    def open(cls, path: str | PathLike[str], embedding: Embeddings, **settings: Any) -> Self:
        """Open an index that `from_documents` made at a path; nothing is embedded.

        Raises:
            IndexNotFoundError: There is no index at the path.
            IndexMismatchError: The index was made with another embedder or a newer version.
        """
        return cls(vectorstore=FaissStore.open(path, embedding), **settings)

    def add_documents(self, documents: Iterable[Document], *, show_progress: bool = False) -> list[str]:
        """Index documents; one whose ``doc_id`` is known replaces the old one.

        Args:
            documents: Each is named by its id, else by ``doc_id`` in its metadata, else by a hash of its
                source and text.
            show_progress: Whether to show a progress bar while embedding.

        Returns:
            The ``doc_id`` of each document, in order.

        Raises:
            InvalidInputError: Two documents have the same id; nothing was stored.
        """
        documents = list(documents)
        return run(self._add_steps(documents, show_progress=show_progress))

    async def aadd_documents(self, documents: Iterable[Document]) -> list[str]:
        """Do what `add_documents` does, with the store's async methods."""
        return await arun(self._add_steps(list(documents), show_progress=False))

    def delete(self, doc_ids: Sequence[str]) -> None:
        """Delete documents; those that don't exist are ignored."""
        run(delete_documents(self.vectorstore, _checked_doc_ids(doc_ids)))

    async def adelete(self, doc_ids: Sequence[str]) -> None:
        """Do what `delete` does, with the store's async methods."""
        await arun(delete_documents(self.vectorstore, _checked_doc_ids(doc_ids)))

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        filter: Any = None,
        window: WindowSize | Literal["auto"] | None = None,
    ) -> list[Document]:
        request = self._request(query, k, filter, window)
        return run(retrieve(self.vectorstore, request, self.reranker, run_manager.get_child()))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        filter: Any = None,
        window: WindowSize | Literal["auto"] | None = None,
    ) -> list[Document]:
        request = self._request(query, k, filter, window)
        return await arun(retrieve(self.vectorstore, request, self.reranker, run_manager.get_child()))

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        return {**super()._get_ls_params(**kwargs), **search_params(self.vectorstore)}

    def _request(self, query: str, k: int | None, filter: Any, window: WindowSize | Literal["auto"] | None) -> Request:
        return Request(
            query=checked_query(query),
            k=self.k if k is None else checked_count("k", k),
            fetch_k=self.fetch_k,
            window=_size_or_auto(self.window if window is None else window),
            max_tokens=self.max_tokens,
            count_tokens=self.count_tokens,
            order=self.order,
            lexical_weight=self.lexical_weight,
            search={} if filter is None else {"filter": filter},
        )

    def _add_steps(self, documents: Sequence[Document], *, show_progress: bool) -> Steps[list[str]]:
        doc_ids = document_ids(documents)
        splitter = self.splitter
        sentences = yield Call(splitter.split_documents, splitter.atransform_documents, (documents,))
        yield from replace_documents(self.vectorstore, sentences, doc_ids, show_progress=show_progress)
        return doc_ids

    def _save(self, path: str | PathLike[str] | None) -> None:
        if path is not None and isinstance(self.vectorstore, FaissStore):
            self.vectorstore.save()


def _size_or_auto(window: object) -> tuple[int, int] | None:
    return None if window == "auto" else window_size(window)


def _make_store(
    embedding: Embeddings, path: str | PathLike[str] | None, neighbor_weights: Sequence[float] | None
) -> FaissStore:
    if neighbor_weights is None and (path is None or not FaissStore.exists(path)):
        neighbor_weights = NEIGHBOR_WEIGHTS
    return FaissStore(embedding, path, neighbor_weights=neighbor_weights)


def _check_text(documents: Sequence[Document]) -> None:
    if not any(document.page_content.strip() for document in documents):
        raise InvalidInputError(
            f"there is nothing to index: {len(documents)} documents were given, and none of them holds any text"
        )


def _checked_doc_ids(doc_ids: Sequence[str]) -> list[str]:
    if isinstance(doc_ids, str):
        raise InvalidInputError(f"delete takes a list of ids, not the string {doc_ids!r}; write [{doc_ids!r}]")
    return list(doc_ids)
