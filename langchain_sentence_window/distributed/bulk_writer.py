"""`BulkWriter`: loads many sentences, with vectors that were made elsewhere, into a vector store.

What a writer writes is what the store would have written itself, so a store may be loaded in bulk and kept up to date
by a retriever. A call that is cut short, and made again, leaves no sentence twice and none of an earlier version.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window._arguments import checked_documents
from langchain_sentence_window._display import shown
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, run
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window.adapters.matchers import key_of
from langchain_sentence_window.adapters.registry import adapter_of
from langchain_sentence_window.documents.keys import sentence_id
from langchain_sentence_window.embedding.vectors import to_rows
from langchain_sentence_window.errors import EmbeddingError, InvalidInputError
from langchain_sentence_window.retrieval.stored_sentences import fetch_documents


class BulkWriter:
    """Writes sentences with their vectors into a vector store.

    Examples:
        >>> with BulkWriter(store) as writer:                    # doctest: +SKIP
        ...     for sentences, vectors in rows:
        ...         writer.write(sentences, vectors)

    On entry, it switches off what makes writing slow, if the store has such a thing. At the end, it switches it on
    again, and builds an index if there is none. If the process is killed, `finish` of another writer does so.

    If several processes write at once, one calls `prepare` before, all call `write`, and one calls `finish` at the end.
    Each method has an async form, which begins with ``a``.
    """

    def __init__(self, store: VectorStore, **settings: Any) -> None:
        """Choose the store.

        Args:
            store: A ``PGVectorStore`` or another whose adapter takes vectors; or any other that was built with
                `NeighborMixedEmbeddings`, which is written as it writes itself.
            **settings: Settings of the store's loader, see `langchain_sentence_window.adapters.store_adapter`.

        Raises:
            InvalidInputError: The store can't take vectors that were made elsewhere, or a setting can't be used.
            TypeError: There is no such setting for the store.
        """
        self._adapter = adapter_of(store)
        self._loader = self._adapter.bulk_loader(**settings)

    def __enter__(self) -> Self:
        """Call `prepare`."""
        self.prepare()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Call `finish`; after an exception, only switch on again what was on before."""
        run(self._leave(BLOCKING, kind))

    async def __aenter__(self) -> Self:
        """Call `aprepare`."""
        await self.aprepare()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Call `afinish`; after an exception, only switch on again what was on before."""
        await self._leave(ASYNC, kind)

    def prepare(self) -> None:
        """Switch off what makes writing slow; searches may be slow meanwhile."""
        run(self._loader.prepare(BLOCKING))

    async def aprepare(self) -> None:
        """Async version of `prepare`."""
        await self._loader.prepare(ASYNC)

    def finish(self) -> None:
        """Build indexes, and switch on again what `prepare` of this or another writer switched off."""
        run(self._loader.finish(BLOCKING))

    async def afinish(self) -> None:
        """Async version of `finish`."""
        await self._loader.finish(ASYNC)

    def write(self, sentences: Sequence[Document], vectors: object) -> int:
        """Write all sentences of some documents, and replace earlier versions of these documents.

        A document's sentences are written from first to last. Then surplus sentences of an earlier version are deleted.
        So an interrupted call leaves no gap, and repeating the call completes it.

        Args:
            sentences: Sentence Documents as `SentenceSplitter` makes them: all sentences of each document, in order,
                and each document once.
            vectors: The vector of each sentence, as it is to be searched: already mixed, if vectors are mixed. An array
                of shape ``(n, dimension)``, or lists of numbers.

        Returns:
            The number of sentences.

        Raises:
            InvalidInputError: Something else was given, or a document lacks sentences; nothing was written.
            EmbeddingError: There isn't one vector of finite numbers for each sentence; nothing was written.
        """
        return run(self._write(BLOCKING, sentences, vectors))

    async def awrite(self, sentences: Sequence[Document], vectors: object) -> int:
        """Async version of `write`."""
        return await self._write(ASYNC, sentences, vectors)

    async def _leave(self, io: IO, exception: type[BaseException] | None) -> None:
        if exception is None:
            await self._loader.finish(io)
        else:
            await self._loader.restore(io)

    async def _write(self, io: IO, sentences: Sequence[Document], vectors: object) -> int:
        given = checked_documents(sentences)
        if not given:
            return 0
        rows = _single_precision(vectors, [each.page_content for each in given])
        counts = _counts(given)
        stored = await fetch_documents(io, self._adapter, list(counts))
        if stored is None:
            raise InvalidInputError(
                f"{self._adapter.name} can't fetch by id, so earlier versions of the documents can't be found; add the "
                "documents with a retriever. Nothing was written."
            )
        await self._loader.write(io, given, rows)
        keys = [key_of(each) for earlier in stored.values() for each in earlier]
        surplus = [sentence_id(name, index) for name, index in keys if index >= counts[name]]
        # From the last one, so that an interrupted call leaves no gap.
        await self._adapter.remove(io, surplus[::-1])
        return len(given)


def _counts(sentences: Sequence[Document]) -> dict[str, int]:
    """Count the sentences of each document.

    Raises:
        InvalidInputError: They aren't all sentences of documents, in order, with their own ids.
    """
    counts: dict[str, int] = {}
    for each in sentences:
        name, index = key_of(each)
        if index != counts.get(name, 0):
            raise InvalidInputError(
                f"sentence {index} of document {name!r} was given after {counts.get(name, 0)} of its sentences; give "
                "all sentences of a document in one call, from first to last. Nothing was written."
            )
        if each.id != sentence_id(name, index):
            raise InvalidInputError(
                f"sentence {index} of document {name!r} has the id {shown(each.id)}; give sentence Documents as "
                "SentenceSplitter makes them. Nothing was written."
            )
        counts[name] = index + 1
    return counts


def _single_precision(vectors: object, texts: Sequence[str]) -> Vectors:
    with np.errstate(over="ignore"):
        rows: Vectors = to_rows(vectors, texts).astype(np.float32)
    if not np.isfinite(rows).all():
        raise EmbeddingError("a vector holds a number beyond single precision; check what the embedder returns")
    return rows
