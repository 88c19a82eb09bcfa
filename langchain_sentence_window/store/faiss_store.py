"""`FaissStore`: the embedded vector store."""

from collections.abc import Callable, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window.calls import Call, Steps, arun, run
from langchain_sentence_window.embedder import (
    Vectors,
    aembed_texts,
    describe_embedder,
    embed_texts,
    unit_vectors,
)
from langchain_sentence_window.errors import IndexMismatchError, IndexNotFoundError, InvalidInputError, checked_count
from langchain_sentence_window.spans import encodable
from langchain_sentence_window.store.database import Record, of_documents, with_ids
from langchain_sentence_window.store.filters import Condition, Filter, compile_filter
from langchain_sentence_window.store.index import DATABASE_FILE, NO_VECTORS, SentenceIndex
from langchain_sentence_window.store.records import to_document, to_records

SAME_EMBEDDER = 0.98
"""Lowest cosine between a stored vector and its text embedded again for two embedders to be taken for
one. all-MiniLM-L6-v2 in bfloat16 stays above .996 of itself in float32; other models are near 0."""


class FaissStore(VectorStore):
    """A LangChain vector store in one folder, or in memory: SQLite holds it, FAISS searches it.

    Every call is one SQLite transaction: it is done, or nothing of it is. The FAISS index is a cache
    that is rebuilt from the database when it is missing, damaged or behind. Nothing is pickled.

    Scores are cosines: 1 for the same direction, 0 for unrelated, higher is better. Vectors are kept
    in half precision, which moves a score by less than 0.001.

    Metadata can be whatever JSON can hold. It is filtered before the search, so that ``k`` documents
    come back if ``k`` match; the syntax stands in `langchain_sentence_window.store.filters`.
    """

    def __init__(self, embedding: Embeddings, path: str | PathLike[str] | None = None) -> None:
        """Open the store at a path, or make it there.

        Args:
            embedding: What texts and queries are embedded with.
            path: A folder; ``None`` for a store in memory.

        Raises:
            StoreError: The path is a file, or what it holds isn't a store.
            IndexMismatchError: The store was made with another embedder or a newer format.
        """
        self._embedding = embedding
        self._description = describe_embedder(embedding)
        self._index = SentenceIndex(None if path is None else Path(path))
        try:
            self._check_embedder()
        except BaseException:
            self._index.close()
            raise

    @classmethod
    def open(cls, path: str | PathLike[str], embedding: Embeddings) -> Self:
        """Open a store that exists.

        Raises:
            IndexNotFoundError: There is no store at the path.
            StoreError: The path is a file, or what it holds isn't a store.
            IndexMismatchError: The store was made with another embedder or a newer format.
        """
        folder = Path(path)
        if not folder.is_file() and not (folder / DATABASE_FILE).exists():
            raise IndexNotFoundError(
                f"there is no index at {str(path)!r}; make one with from_documents(..., path={str(path)!r})"
            )
        return cls(embedding, path)

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
        """Open or make a store and add texts to it."""
        store = cls(embedding, path, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    @property
    def embeddings(self) -> Embeddings:
        """What texts and queries are embedded with."""
        return self._embedding

    # Writing

    def add_documents(
        self, documents: list[Document], *, ids: list[str] | None = None, show_progress: bool = False, **kwargs: Any
    ) -> list[str]:
        """Embed documents and add them; a document whose id is known replaces the old one.

        Args:
            documents: Those without an id get a new one; of several with one id the last counts.
            ids: Ids to use instead of the documents' own.
            show_progress: Whether to show a progress bar while embedding.
            **kwargs: Not used; LangChain's signature.

        Returns:
            The ids, in the order of the documents.

        Raises:
            InvalidInputError: Metadata that JSON can't hold, or an id that can't be stored.
            EmbeddingError: Vectors of another size than the store's, or unusable ones.
        """
        return run(self._add(documents, ids, show_progress=show_progress))

    async def aadd_documents(
        self, documents: list[Document], *, ids: list[str] | None = None, **kwargs: Any
    ) -> list[str]:
        """Do what `add_documents` does, with the embedder's own async method and without progress."""
        return await arun(self._add(documents, ids))

    def add_embeddings(self, documents: Sequence[Document], vectors: Sequence[Sequence[float]] | Vectors) -> list[str]:
        """Add documents with vectors that the store's embedder made elsewhere.

        Args:
            documents: As in `add_documents`.
            vectors: One for each document, of any length; they are brought to length 1.

        Returns:
            The ids, in the order of the documents.

        Raises:
            InvalidInputError: Metadata that JSON can't hold, or an id that can't be stored.
            EmbeddingError: Not one vector for each document, or of another size than the store's.
        """
        records = to_records(documents, None)
        return self._write(records, unit_vectors(vectors, len(records)) if records else NO_VECTORS)

    def replace_documents(
        self, sentences: Sequence[Document], doc_ids: Sequence[str], *, show_progress: bool = False
    ) -> None:
        """Put sentences in the place of all that source documents had, in one transaction.

        Args:
            sentences: Sentence Documents, as `SentenceSplitter` makes them.
            doc_ids: The source documents they replace; those without a sentence now are removed.
            show_progress: Whether to show a progress bar while embedding.
        """
        run(self._add(sentences, None, remove=of_documents(doc_ids), show_progress=show_progress))

    async def areplace_documents(self, sentences: Sequence[Document], doc_ids: Sequence[str]) -> None:
        """Do what `replace_documents` does, with the embedder's own async method and without progress."""
        await arun(self._add(sentences, None, remove=of_documents(doc_ids)))

    def delete(self, ids: list[str] | None = None, *, filter: Filter | None = None, **kwargs: Any) -> bool:
        """Delete documents by id, or all that a filter matches; ids that don't exist are ignored.

        Raises:
            InvalidInputError: Neither ids nor a filter, or both.
        """
        if (ids is None) == (filter is None):
            raise InvalidInputError("delete takes either ids or a filter; filter={} matches every document")
        self._index.write(remove=compile_filter(filter) if filter is not None else with_ids(ids or []))
        return True

    # Reading

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Fetch documents, in the order of the ids; ids that don't exist are left out."""
        found = self._index.fetch(ids)
        return [to_document(found[id_]) for id_ in dict.fromkeys(ids) if id_ in found]

    def similarity_search(
        self, query: str, k: int = 4, *, filter: Filter | None = None, **kwargs: Any
    ) -> list[Document]:
        """Find the ``k`` documents nearest to a text; see `similarity_search_with_score`."""
        return _without_scores(self.similarity_search_with_score(query, k, filter=filter))

    async def asimilarity_search(
        self, query: str, k: int = 4, *, filter: Filter | None = None, **kwargs: Any
    ) -> list[Document]:
        """Do what `similarity_search` does, with the embedder's own async method."""
        return _without_scores(await self.asimilarity_search_with_score(query, k, filter=filter))

    def similarity_search_with_score(
        self, query: str, k: int = 4, *, filter: Filter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Find the ``k`` documents nearest to a text, with their cosines, best first.

        Args:
            query: Any text.
            k: How many documents to find at most.
            filter: What their metadata must be.
            **kwargs: Not used; LangChain's signature.

        Raises:
            InvalidInputError: ``k`` isn't a number above 0.
            FilterError: The filter can't be read.
            EmbeddingError: The query's vector is of another size than the store's.
        """
        return self.similarity_search_with_score_by_vector(
            self._embedding.embed_query(encodable(query)), k, filter=filter
        )

    async def asimilarity_search_with_score(
        self, query: str, k: int = 4, *, filter: Filter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Do what `similarity_search_with_score` does, with the embedder's own async method."""
        vector = await self._embedding.aembed_query(encodable(query))
        return await run_in_executor(None, self.similarity_search_with_score_by_vector, vector, k, filter=filter)

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, *, filter: Filter | None = None, **kwargs: Any
    ) -> list[Document]:
        """Find the ``k`` documents nearest to a vector; see `similarity_search_with_score`."""
        return _without_scores(self.similarity_search_with_score_by_vector(embedding, k, filter=filter))

    def similarity_search_with_score_by_vector(
        self, embedding: list[float] | Vectors, k: int = 4, *, filter: Filter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Find the ``k`` documents nearest to a vector, with their cosines, best first."""
        checked_count("k", k)
        found = self._index.search(unit_vectors([embedding], 1)[0], k, compile_filter(filter) if filter else None)
        return [(to_document(record), cosine) for record, cosine in found]

    def __len__(self) -> int:
        """The number of documents in the store; a retriever puts one there for each sentence."""
        return len(self._index)

    # The files

    def save(self, path: str | PathLike[str] | None = None) -> None:
        """Write the FAISS index beside the database, so that the next opening needn't rebuild it.

        Documents need no saving: they are in the database when the call that adds them returns.

        Args:
            path: Copy the store into this folder instead, which must not hold one yet. For a store in
                memory there is no other way to keep it.

        Raises:
            StoreError: The folder holds a store already, or a store in memory got no path.
        """
        if path is None:
            self._index.save()
        else:
            self._index.copy_to(Path(path))

    def close(self) -> None:
        """Close the files; the store can't be used any more. Nothing needs to be saved before."""
        self._index.close()

    def __enter__(self) -> Self:
        """Use the store in a ``with`` block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the store."""
        self.close()

    # Machinery

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda cosine: min(max(cosine, 0.0), 1.0)

    def _add(
        self,
        documents: Sequence[Document],
        ids: Sequence[str] | None,
        *,
        remove: Condition | None = None,
        show_progress: bool = False,
    ) -> Steps[list[str]]:
        """Embed documents, then write them."""
        records = to_records(documents, ids)
        vectors: Vectors = yield Call(
            partial(embed_texts, show_progress=show_progress),
            aembed_texts,
            (self._embedding, [record.text for record in records]),
        )
        written: list[str] = yield Call(
            self._write, lambda *given: run_in_executor(None, self._write, *given), (records, vectors, remove)
        )
        return written

    def _write(self, records: Sequence[Record], vectors: Vectors, remove: Condition | None = None) -> list[str]:
        latest = sorted({record.id: i for i, record in enumerate(records)}.values())
        if latest or remove:
            self._index.write(
                [records[i] for i in latest],
                vectors[latest] if latest else NO_VECTORS,
                remove=remove,
                embedder=self._description,
            )
        return [record.id for record in records]

    def _check_embedder(self) -> None:
        """See that the embedder is the one that made the index; embeds nothing if its description is."""
        made_with, first = self._index.embedder(), self._index.first()
        if made_with in (None, self._description) or first is None:
            return
        text, vector = first
        again = unit_vectors(self._embedding.embed_documents([encodable(text)]), 1)[0]
        if again.shape != vector.shape or float(again @ vector) < SAME_EMBEDDER:
            raise IndexMismatchError(
                f"the index was made with {made_with} and can't be searched with {self._description}, which embeds "
                "the same text otherwise; open it with the first, or index the documents again at another path"
            )


def _without_scores(found: Sequence[tuple[Document, float]]) -> list[Document]:
    return [document for document, _ in found]
