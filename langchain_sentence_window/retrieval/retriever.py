"""`SentenceWindowRetriever`: search sentences, return the windows around them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores import VectorStore
from pydantic import ConfigDict, Field, field_validator

from langchain_sentence_window._arguments import (
    check_order,
    checked_counter,
    checked_documents,
    checked_reranker,
    checked_vectorstore,
)
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, run
from langchain_sentence_window._settings import RELATED_NAMES, Check, CheckedSettings, likely_name
from langchain_sentence_window._validation import (
    checked_callback,
    checked_count,
    checked_function,
    checked_least,
    checked_weight,
    listed,
    optional_count,
)
from langchain_sentence_window.adapters.filtering import own_copy
from langchain_sentence_window.adapters.scope import FILTER_NAMES, Scope, check_binds, filter_names, scope_of
from langchain_sentence_window.documents.ids import checked_ids
from langchain_sentence_window.documents.source_documents import document_ids
from langchain_sentence_window.embedding.checked import checked_embedding
from langchain_sentence_window.embedding.situating import Situate, contexts_of
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.bm25_index import BM25Index
from langchain_sentence_window.ranking.fusion import LEXICAL_WEIGHT
from langchain_sentence_window.retrieval.budget import estimate_tokens
from langchain_sentence_window.retrieval.callback_runs import search_params
from langchain_sentence_window.retrieval.expansion import WindowSetting, read_expansion
from langchain_sentence_window.retrieval.indexing import delete_documents, read_documents, replace_documents
from langchain_sentence_window.retrieval.pipeline import Request, checked_query, retrieve
from langchain_sentence_window.retrieval.search import HybridStore, check_search_settings
from langchain_sentence_window.retrieval.tracing.explain import explain
from langchain_sentence_window.retrieval.tracing.trace import Trace
from langchain_sentence_window.splitting.splitter import SentenceSplitter
from langchain_sentence_window.stores.faiss.faiss_store import FaissStore
from langchain_sentence_window.windows.geometry import Order

if TYPE_CHECKING:
    from langchain_core.indexing.base import DocumentIndex

PER_CALL = frozenset(
    {"k", "fetch_k", "window", "max_tokens", "count_tokens", "order", "lexical_weight", "min_score", "window_key"}
)
"""Settings that a call may give for itself: ``retriever.invoke(query, k=3, order="document")``; and ``filter``."""


def _checked_window(_: str, window: WindowSetting) -> WindowSetting:
    read_expansion(window)
    return window


def _checked_counter(name: str, count: object) -> Any:
    return checked_callback(name, checked_function(name, count), "a text")


def _checked_situate(name: str, situate: object) -> Any:
    return None if situate is None else checked_callback(name, situate, "a document", "one of its sentences")


class SentenceWindowRetriever(CheckedSettings, BaseRetriever):
    """Search single sentences; return the windows around them, merged and cited.

    A window is an unbroken run of sentences of one section. No sentence is in two: with a fixed
    ``window``, those of good hits that overlap or touch become one; other hits open what no better window
    holds. ``page_content`` of what is returned is ``source[start_index:end_index]``, character for
    character; the metadata says which sentences in it were hit, with what score (see
    `langchain_sentence_window.documents.keys`).

    Settings are checked whenever they are set: here, by assignment, in copies and with a call. Copies share the
    store.

    Example:
        >>> retriever = SentenceWindowRetriever.from_documents(documents, embedding)  # doctest: +SKIP
        >>> retriever.invoke("When is a refund refused?", k=3, window=(1, 3))         # doctest: +SKIP
    """

    vectorstore: VectorStore
    """Where the sentences are; any LangChain vector store."""
    k: int = 10
    """How many windows to return; exactly so many come back while there are so many apart. Ten of ``auto`` have
    about 400 tokens together, of English prose."""
    fetch_k: int = 50
    """How many sentences to search at first; more are searched while they make less than ``k`` windows."""
    window: WindowSetting = "auto"
    """How far a hit is opened. ``auto`` opens it forward as far as it needs, see `open_forward`: the most
    evidence for a budget. A number opens it by so many sentences on each side, ``(before, after)`` by so
    many; that shows a reader what surrounds a hit. Recall within 1,600 characters, 40 windows,
    all-MiniLM-L6-v2, with ``auto`` and 2: 80.4 and 75.4 on Chroma's benchmark, 80.7 and 77.5 on Doc2Dial,
    93.0 and 86.2 on SQuAD. A mapping opens hits by a value of their document's metadata, such as
    ``{"legal": (3, 5), "faq": 1}``, and those whose documents hold none of its values by ``auto``."""
    window_key: str | None = None
    """Where in the metadata the values of such a mapping stand; ``None`` for anywhere."""
    lexical_weight: float = LEXICAL_WEIGHT
    """How much words count beside meaning, where the store can search by words, as `FaissStore` can, or `bm25_index`
    does; 0 for not at all. See `langchain_sentence_window.ranking.fusion`."""
    bm25_index: BM25Index | None = None
    """Searches by words beside a store that can't."""
    max_tokens: int | None = 2000
    """The most tokens all windows may have together; ``None`` for no limit. A window that doesn't fit
    loses neighbors first, then its weaker hits; one whose best hit doesn't fit is left out."""
    count_tokens: Callable[[str], int] = estimate_tokens
    """How many tokens a text has."""
    order: Order = "relevance"
    """``relevance``: best first. ``document``: as they stand in the source. ``edges``: best first and last."""
    min_score: float | None = None
    """The lowest score of a sentence that counts as a hit, on the scale of the store's search; ``None`` for any."""
    filter: Any = None
    """What binds all that is read, written as the store's search takes it: a mapping such as ``{"tenant": "a"}`` for
    `FaissStore`. Nothing that it forbids is searched, shown around a hit, given by `get` or `explain`, or read by the
    tools of an agent. A filter that a call gives narrows it further, and so does one in ``search_kwargs``. A window
    ends before a sentence that is forbidden. Documents that it forbids aren't deleted or replaced, and none is added
    that it wouldn't let through. Scores know the whole index: how rare a word is, and what stands next to a sentence
    when it is embedded. A filter that can't be kept to is refused."""
    reranker: BaseDocumentCompressor | None = None
    """Ranks the windows of all ``fetch_k`` sentences before the best are taken."""
    search_kwargs: Mapping[str, Any] = Field(default_factory=dict)
    """What the store's search is given with each query beside ``k``, such as the settings of its own hybrid
    search. A ``filter`` in it, by whatever name the store knows it, binds as the setting does. What else narrows the
    search there narrows the search alone."""
    splitter: SentenceSplitter = Field(default_factory=SentenceSplitter)
    """Cuts the documents that are added."""
    embed_headings: bool = True
    """Whether the heading path is put before a sentence when it is embedded, where the store lets us. It makes
    embedding slower, and a heading that changes costs embedding its section again. Recall within 400 / 800 /
    1,600 / 3,200 characters with and without, all-MiniLM-L6-v2: 56.6 / 71.1 / 82.4 / 93.6 and 49.6 / 64.0 /
    75.6 / 88.0 on the 144 questions of Chroma's benchmark about pages with headings, 79.7 / 89.8 / 95.0 / 96.2 and
    78.2 / 87.5 / 90.0 / 97.5 on the 40 questions of this project's examples."""
    situate: Situate | None = None
    """Writes a line that says what a sentence is about, given its document and itself; it is put before the
    sentence when that is embedded, and nowhere else. A long line is cut. It is called for each sentence of a document
    that is added."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    checks: ClassVar[Mapping[str, Check]] = {
        "vectorstore": checked_vectorstore,
        "k": checked_count,
        "fetch_k": checked_count,
        "window": _checked_window,
        "lexical_weight": checked_weight,
        "max_tokens": optional_count,
        "count_tokens": _checked_counter,
        "min_score": checked_least,
        "situate": _checked_situate,
        "reranker": checked_reranker,
    }
    elsewhere: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(
            ("embedding", "embeddings", "embedding_model", "embedding_function", "embed_model", "embedder"),
            "the store embeds: FaissStore(embedding), or from_documents(documents, embedding)",
        ),
        **dict.fromkeys(
            ("documents", "docs", "texts"),
            "index them with from_documents(documents, embedding), or with add_documents(documents)",
        ),
        **dict.fromkeys(
            ("path", "persist_directory", "folder"),
            "write from_documents(documents, embedding, path=...), or open(path, embedding)",
        ),
        "neighbor_weights": "the store has it: FaissStore(embedding, neighbor_weights=...)",
        "language": "write splitter=SentenceSplitter(language)",
        "llm": "a retriever needs none; write create_rag_chain(retriever, llm)",
        "search_type": "it searches by similarity, and no two windows hold the same sentence; for a lowest score set "
        "min_score, for mmr take store.as_retriever(search_type='mmr')",
    }

    def __init__(self, *given: Any, **settings: Any) -> None:
        """Take the fields as keywords and check them.

        Raises:
            InvalidInputError: One doesn't exist, is of a wrong type or out of its range.
        """
        super().__init__(*given, **settings)
        check_search_settings(self.vectorstore, self.search_kwargs, type(self).model_fields)
        if self.bm25_index is not None and isinstance(self.vectorstore, HybridStore):
            raise InvalidInputError(f"{type(self.vectorstore).__name__} searches by words itself; leave out bm25_index")
        self.scope()
        check_binds(self.filter, *(self.search_kwargs.get(name) for name in FILTER_NAMES))

    # Who changes a mapping that was handed in, or that a copy has, must not change what may be read.

    @field_validator("filter")
    @classmethod
    def _own_filter(cls, given: Any) -> Any:
        return own_copy(given)

    @field_validator("search_kwargs")
    @classmethod
    def _own_search_kwargs(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        return {name: own_copy(value) if name in FILTER_NAMES else value for name, value in given.items()}

    def __copy__(self) -> Self:
        """Copy it, with a filter of its own; the store is shared."""
        copied = super().__copy__()
        copied.__dict__["filter"] = self._own_filter(self.filter)
        copied.__dict__["search_kwargs"] = self._own_search_kwargs(self.search_kwargs)
        return copied

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
            neighbor_weights: How much of its neighbors in its section each sentence's vector is given when
                it is searched, see `FaissStore`.
            show_progress: Whether to show a progress bar while embedding.
            **settings: The retriever's fields, such as ``k`` and ``window``.

        Raises:
            InvalidInputError: There is no text to index, two documents have the same id, or an argument is none of
                these; nothing was made at the path.
            StoreError: The path can't be used.
        """
        documents = cls._checked(documents, embedding, settings)
        retriever = cls(vectorstore=FaissStore(embedding, path, neighbor_weights=neighbor_weights), **settings)
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
        documents = cls._checked(documents, embedding, settings)
        make = partial(FaissStore, embedding, path, neighbor_weights=neighbor_weights)
        store = await run_in_executor(None, make)
        retriever = cls(vectorstore=store, **settings)
        await retriever.aadd_documents(documents)
        await run_in_executor(None, retriever._save, path)
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
        """Open an index that `from_documents` made at a path; nothing is embedded.

        Args:
            path: Its folder.
            embedding: What its sentences were embedded with.
            neighbor_weights: Others than the index has are applied without embedding; ``None`` for those.
            **settings: The retriever's fields.

        Raises:
            IndexNotFoundError: There is no index at the path.
            IndexMismatchError: The index was made with another embedder or a newer version.
        """
        check_order(embedding, path, f"{cls.__name__}.open(path, embedding)")
        cls._check_settings(embedding, settings)
        return cls(vectorstore=FaissStore.open(path, embedding, neighbor_weights=neighbor_weights), **settings)

    def add_documents(self, documents: Iterable[Document], *, show_progress: bool = False) -> list[str]:
        """Index documents; one whose ``doc_id`` is known replaces the old one.

        Args:
            documents: Each is named by its id, else by ``doc_id`` in its metadata, else by a hash of its
                source and text.
            show_progress: Whether to show a progress bar while embedding.

        Returns:
            The ``doc_id`` of each document, in order.

        Raises:
            InvalidInputError: Two documents have the same id, one isn't a Document, or the filter forbids one, or what
                it would replace; nothing was stored.
        """
        documents = checked_documents(documents)
        return run(self._add(BLOCKING, documents, show_progress=show_progress))

    async def aadd_documents(self, documents: Iterable[Document]) -> list[str]:
        """Do what `add_documents` does, with the store's async methods."""
        return await self._add(ASYNC, checked_documents(documents), show_progress=False)

    def delete(self, ids: Sequence[str] | None = None) -> None:
        """Delete documents by their ``doc_id``.

        Documents that don't exist, or that the filter forbids, are ignored.

        Raises:
            InvalidInputError: There is no list of ids, or the filter allows only a part of a document.
        """
        run(delete_documents(BLOCKING, self.scope(), checked_ids(ids), bm25_index=self.bm25_index))

    async def adelete(self, ids: Sequence[str] | None = None) -> None:
        """Async version of `delete`."""
        await delete_documents(ASYNC, self.scope(), checked_ids(ids), bm25_index=self.bm25_index)

    def get(self, ids: Sequence[str]) -> list[Document]:
        """Read whole documents by their ``doc_id``, joined from their sentences.

        Documents that don't exist, or of which the filter forbids any part, are left out.

        Returns:
            The documents, each with its text from the first sentence to the last, ``source[start_index:end_index]``.

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

    def explain(
        self,
        query: str,
        *,
        k: int | None = None,
        filter: Any = None,
        window: WindowSetting | None = None,
        **settings: Any,
    ) -> Trace:
        """Ask, and say what became of the query; for finding out why an answer wasn't found.

        Nothing that `invoke` returns changes by it, and `invoke` does none of its work. Two more searches are
        made, by meaning alone and by words alone, and the sentences around windows are read.

        Args:
            query: What is asked.
            k: How many windows to return; ``None`` for the retriever's setting, as for the others.
            filter: What narrows the retriever's filter for this query.
            window: How far hits are opened.
            **settings: Others of the retriever's settings, as for `invoke`.

        Returns:
            Every hit with its ranks and scores, its window, what ended that, what it was merged with and what
            was left out and why. ``print`` it, show it in a notebook, or take its ``to_dict``.
        """
        return run(explain(BLOCKING, self._request(query, k, filter, window, settings), self.reranker))

    async def aexplain(
        self,
        query: str,
        *,
        k: int | None = None,
        filter: Any = None,
        window: WindowSetting | None = None,
        **settings: Any,
    ) -> Trace:
        """Do what `explain` does, with the store's async methods."""
        return await explain(ASYNC, self._request(query, k, filter, window, settings), self.reranker)

    def scope(self, filter: Any = None) -> Scope:
        """Say what of the store may be read: what the retriever's filter lets through, narrowed by another.

        Raises:
            InvalidInputError: The filters can't be put together.
        """
        return scope_of(self.vectorstore, self.search_kwargs, self.filter, filter)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        filter: Any = None,
        window: WindowSetting | None = None,
        **settings: Any,
    ) -> list[Document]:
        request = self._request(query, k, filter, window, settings)
        found = run(retrieve(BLOCKING, request, self.reranker, run_manager.get_child()))
        return found.documents

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        filter: Any = None,
        window: WindowSetting | None = None,
        **settings: Any,
    ) -> list[Document]:
        request = self._request(query, k, filter, window, settings)
        found = await retrieve(ASYNC, request, self.reranker, run_manager.get_child())
        return found.documents

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        return {**super()._get_ls_params(**kwargs), **search_params(self.vectorstore)}

    def _request(
        self, query: str, k: int | None, filter: Any, window: WindowSetting | None, settings: Mapping[str, Any]
    ) -> Request:
        given = {"k": None if k is None else checked_count("k", k), "window": window}
        now = self._with({name: value for name, value in given.items() if value is not None} | dict(settings))
        filters = filter_names(self.vectorstore, self.search_kwargs)
        return Request(
            scope=self.scope(filter),
            query=checked_query(query),
            k=now.k,
            fetch_k=now.fetch_k,
            policy=read_expansion(now.window, now.window_key),
            max_tokens=now.max_tokens,
            count_tokens=checked_counter("count_tokens", now.count_tokens),
            order=now.order,
            lexical_weight=now.lexical_weight,
            min_score=now.min_score,
            bm25_index=self.bm25_index,
            search={name: value for name, value in self.search_kwargs.items() if name not in filters},
        )

    def _with(self, settings: Mapping[str, Any]) -> Self:
        """This retriever with some settings of a call."""
        unknown = settings.keys() - PER_CALL
        if unknown:
            raise InvalidInputError(
                f"a call can't set {listed(sorted(unknown))}; it can set filter, {', '.join(sorted(PER_CALL))}"
                f"{self._advice(min(unknown))}"
            )
        return self._with_settings(settings) if settings else self

    def _advice(self, name: str) -> str:
        if name in type(self).model_fields:
            return f". Set {name} on the retriever"
        likely = likely_name(name, PER_CALL | {"filter"}, RELATED_NAMES)
        return f". Did you mean {likely}?" if likely else ""

    @classmethod
    def _checked(
        cls, documents: Iterable[Document], embedding: Embeddings, settings: Mapping[str, Any]
    ) -> list[Document]:
        """Check all that a retriever is made of, before anything is made of it."""
        found = checked_documents(documents)
        cls._check_settings(embedding, settings)
        _check_text(found)
        return found

    @classmethod
    def _check_settings(cls, embedding: Embeddings, settings: Mapping[str, Any]) -> None:
        if "vectorstore" in settings:
            raise InvalidInputError(
                "vectorstore can't be set here, as a FaissStore is made; write "
                "SentenceWindowRetriever(vectorstore=store).add_documents(documents)"
            )
        with FaissStore(checked_embedding(embedding)) as store:
            cls(vectorstore=store, **settings)

    async def _add(self, io: IO, documents: Sequence[Document], *, show_progress: bool) -> list[str]:
        doc_ids = document_ids(documents)
        splitter = self.splitter
        sentences = await io.call(splitter.split_documents, splitter.atransform_documents, documents)
        by_id = dict(zip(doc_ids, documents, strict=True))
        # In a thread, as `situate` may ask a model.
        contexts = await io.in_thread(contexts_of, sentences, by_id, self.situate, headings=self.embed_headings)
        await replace_documents(
            io, self.scope(), sentences, doc_ids, contexts, show_progress=show_progress, bm25_index=self.bm25_index
        )
        return doc_ids

    def _save(self, path: str | PathLike[str] | None) -> None:
        if path is not None and isinstance(self.vectorstore, FaissStore):
            self.vectorstore.save()


def _check_text(documents: Sequence[Document]) -> None:
    if not any(document.page_content.strip() for document in documents):
        raise InvalidInputError(
            f"there is nothing to index: {len(documents)} documents were given, and none of them holds any text"
        )
