"""`SentenceWindowRetriever`: search sentences, return the windows around them."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Self

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
    Callbacks,
)
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores import VectorStore
from pydantic import Field

from langchain_sentence_window.calls import Call, Steps, arun, run
from langchain_sentence_window.corpus import delete_documents, replace_documents
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from langchain_sentence_window.metadata import (
    WINDOW_ID,
    SentencesByPlace,
    document_ids,
    document_place,
    read_sentences,
    sentence_id,
    window_document,
    window_id,
    window_text,
)
from langchain_sentence_window.splitter import SentenceSplitter
from langchain_sentence_window.store.faiss_store import FaissStore
from langchain_sentence_window.windows import (
    Hit,
    Order,
    Window,
    WindowSize,
    arrange,
    best_windows,
    shrink,
    window_size,
)

LONGEST_QUERY = 32_000
"""Characters, about 8,000 tokens: more than common embedders read."""

TRIES = 3
"""How often a query is made anew when a document changed between its search and its windows."""


def estimate_tokens(text: str) -> int:
    """Estimate how many tokens a text has: one for every four characters, rounded up.

    True of English prose and today's tokenizers to about a fifth; pass your model's own counter as
    ``count_tokens`` where it matters.
    """
    return math.ceil(len(text) / 4)


class SentenceWindowRetriever(BaseRetriever):
    """Search single sentences; return the windows around them, merged and cited.

    A window is an unbroken run of sentences of one section. Windows that overlap or touch become
    one, so no text is returned twice. ``page_content`` of what is returned is
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
    window: WindowSize = 2
    """How many sentences a hit is opened by on each side, or ``(before, after)``; 0 returns hits alone."""
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

    def model_post_init(self, context: Any, /) -> None:
        """Check the settings.

        Raises:
            InvalidInputError: One is out of its range.
        """
        _check_count("k", self.k)
        _check_count("fetch_k", self.fetch_k)
        if self.max_tokens is not None:
            _check_count("max_tokens", self.max_tokens)
        window_size(self.window)

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Document],
        embedding: Embeddings,
        *,
        path: str | PathLike[str] | None = None,
        show_progress: bool = False,
        **settings: Any,
    ) -> Self:
        """Index documents in a `FaissStore` and make a retriever for them.

        Args:
            documents: What to index; at least one with text.
            embedding: What sentences and queries are embedded with.
            path: A folder to keep the index in; ``None`` keeps it in memory. Documents that an index at
                the path holds already stay, or are replaced by those of the same ``doc_id``.
            show_progress: Whether to show a progress bar while embedding.
            **settings: The retriever's fields, such as ``k`` and ``window``.

        Raises:
            InvalidInputError: There is no text to index, or two documents have the same id.
            StoreError: The path can't be used.
        """
        documents = list(documents)
        _check_text(documents)
        retriever = cls(vectorstore=FaissStore(embedding, path), **settings)
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
        **settings: Any,
    ) -> Self:
        """Do what `from_documents` does, with the embedder's own async method and without progress."""
        documents = list(documents)
        _check_text(documents)
        store = await run_in_executor(None, FaissStore, embedding, path)
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
        window: WindowSize | None = None,
    ) -> list[Document]:
        return run(self._steps(self._request(query, k, filter, window), run_manager.get_child()))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        filter: Any = None,
        window: WindowSize | None = None,
    ) -> list[Document]:
        return await arun(self._steps(self._request(query, k, filter, window), run_manager.get_child()))

    def _steps(self, request: "_Request", callbacks: Callbacks) -> Steps[list[Document]]:
        """Search, expand and merge, read, rerank, budget, order."""
        for left in reversed(range(TRIES)):
            windows, found = yield from self._search(request)
            try:
                sentences = yield from self._read(windows, found)
                candidates = [window_document(window, sentences) for window in windows]
                break
            except IncompleteWindowError:
                # A document may have been replaced since the search.
                if not left:
                    raise
        if self.reranker is not None and candidates:
            candidates = yield Call(
                self.reranker.compress_documents,
                self.reranker.acompress_documents,
                (candidates, request.query),
                {"callbacks": callbacks},
            )
        taken = self._within_budget(candidates, request.k, windows, sentences)
        return arrange(taken, self.order, document_place)

    def _request(self, query: str, k: int | None, filter: Any, window: WindowSize | None) -> "_Request":
        if not isinstance(query, str) or not query.strip():
            raise InvalidInputError(f"the query is {query!r}; ask with at least one word")
        if len(query) > LONGEST_QUERY:
            raise InvalidInputError(
                f"the query has {len(query):,} characters, and embedders read at most about {LONGEST_QUERY:,}; ask "
                "with the question alone"
            )
        return _Request(
            query,
            self.k if k is None else _check_count("k", k),
            *window_size(self.window if window is None else window),
            {} if filter is None else {"filter": filter},
        )

    def _search(self, request: "_Request") -> Steps[tuple[list[Window], SentencesByPlace]]:
        """Search until the hits make ``k`` windows or the store has no more of them."""
        store = self.vectorstore
        fetch_k = max(self.fetch_k, request.k)
        while True:
            scored: list[tuple[Document, float]] = yield Call(
                store.similarity_search_with_score,
                store.asimilarity_search_with_score,
                (request.query,),
                {"k": fetch_k, **request.search},
            )
            found = read_sentences(document for document, _ in scored)
            hits = _hits(found, [score for _, score in scored])
            # A reranker chooses among all windows, so none is held back from it.
            most = request.k if self.reranker is None else None
            windows = best_windows(hits, most, request.before, request.after)
            if len(windows) >= request.k or len(scored) < fetch_k:
                return windows, found
            fetch_k *= 4

    def _read(self, windows: Sequence[Window], found: SentencesByPlace) -> Steps[SentencesByPlace]:
        """Fetch the sentences of windows in one call."""
        places = [(window.doc_id, index) for window in windows for index in range(window.first, window.last + 1)]
        if not places:
            return {}
        store, ids = self.vectorstore, [sentence_id(*place) for place in places]
        try:
            documents = yield Call(store.get_by_ids, store.aget_by_ids, (ids,))
        except NotImplementedError as error:
            raise IncompleteWindowError(
                f"{type(store).__name__} can't fetch documents by id, and windows are read so; use a store with get_by_ids"
            ) from error
        read = read_sentences(documents)
        for place in places:
            if place in found and place in read and found[place].text != read[place].text:
                raise IncompleteWindowError(
                    f"sentence {place[1]} of document {place[0]!r} changed between search and reading; ask again"
                )
        return read

    def _within_budget(
        self, ranked: Sequence[Document], k: int, windows: Sequence[Window], sentences: SentencesByPlace
    ) -> list[Document]:
        """Take the best ``k`` that fit into ``max_tokens``, trimmed where they must be."""
        if self.max_tokens is None:
            return list(ranked[:k])
        by_id = {window_id(window.doc_id, window.first, window.last): window for window in windows}
        left, taken = self.max_tokens, []
        for document in ranked:
            if len(taken) == k:
                break
            window = by_id.get(document.metadata.get(WINDOW_ID, ""))
            fitting = self._fitted(document, left, window, sentences)
            if fitting is not None:
                taken.append(fitting)
                left -= self.count_tokens(fitting.page_content)
        return taken

    def _fitted(
        self, document: Document, budget: int, window: Window | None, sentences: SentencesByPlace
    ) -> Document | None:
        if self.count_tokens(document.page_content) <= budget:
            return document
        # What a reranker rewrote has no sentences to trim.
        if window is None or document.page_content != window_text(window, sentences):
            return None
        smaller = shrink(window, lambda part: self.count_tokens(window_text(part, sentences)) <= budget)
        if smaller is None:
            return None
        trimmed = window_document(smaller, sentences)
        trimmed.metadata = document.metadata | trimmed.metadata
        return trimmed

    def _add_steps(self, documents: Sequence[Document], *, show_progress: bool) -> Steps[list[str]]:
        doc_ids = document_ids(documents)
        sentences = self.splitter.split_documents(documents)
        yield from replace_documents(self.vectorstore, sentences, doc_ids, show_progress=show_progress)
        return doc_ids

    def _save(self, path: str | PathLike[str] | None) -> None:
        if path is not None and isinstance(self.vectorstore, FaissStore):
            self.vectorstore.save()


@dataclass(frozen=True, slots=True)
class _Request:
    """A query with its settings: windows to return, sentences around a hit, what the store is given."""

    query: str
    k: int
    before: int
    after: int
    search: dict[str, Any]


def _hits(found: SentencesByPlace, scores: Sequence[float]) -> list[Hit]:
    """Pair sentences and scores, both best first, as hits whose higher score is better.

    Some stores score by distance; they are told by scores that rise.
    """
    sign = -1.0 if scores and scores[0] < scores[-1] else 1.0
    return [
        Hit(sentence.doc_id, sentence.index, sentence.section_start, sentence.section_end, sign * float(score))
        for sentence, score in zip(found.values(), scores, strict=True)
    ]


def _check_count(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidInputError(f"{name} is {value!r}; it must be a whole number, 1 or more")
    return value


def _check_text(documents: Sequence[Document]) -> None:
    if not any(document.page_content.strip() for document in documents):
        raise InvalidInputError(
            f"there is nothing to index: {len(documents)} documents were given, and none of them holds any text"
        )


def _checked_doc_ids(doc_ids: Sequence[str]) -> list[str]:
    if isinstance(doc_ids, str):
        raise InvalidInputError(f"delete takes a list of ids, not the string {doc_ids!r}; write [{doc_ids!r}]")
    return list(doc_ids)
