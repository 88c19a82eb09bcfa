"""Vectors in context for any vector store: an embedder that is told the mixed vector of each sentence.

A LangChain store embeds the texts it is given, one by one, and knows no neighbors. So a retriever embeds the
sentences itself, mixes their vectors, and gives the store texts that carry their vectors along; the store hands
them to its embedder, which is this one, and gets those vectors back. Whatever batches, threads and event loops
lie between, a vector stays with its text.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import islice
from typing import Self

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_sentence_window._io import ASYNC, IO
from langchain_sentence_window._showing import described
from langchain_sentence_window._types import Vectors
from langchain_sentence_window._validation import checked_neighbor_weights
from langchain_sentence_window.documents.sentence_documents import sentence_key
from langchain_sentence_window.embedding.checked import checked_embedding
from langchain_sentence_window.embedding.embedder import embed_in_slices, embed_query, embed_texts
from langchain_sentence_window.embedding.mixing import NEIGHBOR_WEIGHTS, NOWHERE, Places, in_context
from langchain_sentence_window.errors import EmbeddingError


class NeighborMixedEmbeddings(Embeddings):
    """An embedder to build a vector store with, so that a retriever can put vectors in context into it.

    Documents that go into the store through a `SentenceWindowRetriever` get vectors that are mixed with those of
    their neighbors, as `FaissStore` mixes them. Queries, and texts that don't come from a retriever, are
    embedded as they are.

    Example:
        >>> store = InMemoryVectorStore(NeighborMixedEmbeddings(embedding))  # doctest: +SKIP
        >>> retriever = SentenceWindowRetriever(vectorstore=store)       # doctest: +SKIP
    """

    def __init__(self, embedding: Embeddings, neighbor_weights: Sequence[float] = NEIGHBOR_WEIGHTS) -> None:
        """Choose what to embed with and how much of its neighbors each sentence is given.

        Args:
            embedding: What texts and queries are embedded with.
            neighbor_weights: The weight of the sentence itself, of those next to it in its section, of those
                two away, and so on.

        Raises:
            InvalidInputError: Something that isn't an embedder, or weights that aren't numbers of 0 or more, the
                first above 0.
        """
        self.embedding = checked_embedding(embedding)
        self.neighbor_weights = checked_neighbor_weights(neighbor_weights)

    def __repr__(self) -> str:
        """Say which class embeds, and the weights if they aren't the default."""
        given = self.__dict__
        weights = given.get("neighbor_weights", NEIGHBOR_WEIGHTS)
        others = "" if tuple(weights) == NEIGHBOR_WEIGHTS else f", neighbor_weights={weights}"
        return f"{type(self).__name__}({described(given.get('embedding'))}{others})"

    def embed_query(self, text: str) -> list[float]:
        """Embed a query, alone."""
        return self.embedding.embed_query(text)

    async def aembed_query(self, text: str) -> list[float]:
        """Do what `embed_query` does, with the embedder's own async method."""
        return await embed_query(ASYNC, self.embedding, text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Give texts that carry their vectors these, and embed the others."""
        plain = _plain(texts)
        return _joined(texts, self.embedding.embed_documents(plain) if plain else [])

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Do what `embed_documents` does, with the embedder's own async method."""
        plain = _plain(texts)
        return _joined(texts, await embed_texts(ASYNC, self.embedding, plain) if plain else [])


class Handover:
    """Sentences whose texts carry their vectors, from when they are made until the store has asked for them."""

    def __init__(self, documents: Sequence[Document], vectors: Vectors) -> None:
        """Take documents and their vectors, shape ``(n, dimension)``."""
        self._vectors: Vectors | None = vectors
        self._waiting = set(range(len(documents)))
        self.documents = [
            document.model_copy(update={"page_content": _CarriedText.of(document.page_content, self, row)})
            for row, document in enumerate(documents)
        ]

    def take(self, row: int) -> list[float]:
        """Give out the vector of a document.

        Raises:
            EmbeddingError: It is asked for after the hand-over.
        """
        if self._vectors is None:
            raise EmbeddingError("a store embeds texts after it said that they were added; index them again")
        self._waiting.discard(row)
        vector: list[float] = self._vectors[row].tolist()
        return vector

    def finish(self, store: object) -> None:
        """Let go of the vectors.

        Raises:
            EmbeddingError: The store didn't ask for all of them.
        """
        self._vectors = None
        if self._waiting:
            raise EmbeddingError(
                f"{type(store).__name__} embedded copies of {len(self._waiting)} of {len(self.documents)} texts, whose "
                "vectors are not in context now; build it with the embedder itself, and index the documents again"
            )


async def prepare(
    io: IO,
    embedding: NeighborMixedEmbeddings,
    sentences: Sequence[Document],
    contexts: Sequence[str] | None = None,
    *,
    show_progress: bool,
) -> Handover:
    """Embed sentences, each text once, and mix their vectors.

    Args:
        io: Makes the calls.
        embedding: What the store was built with.
        sentences: Whole documents, in order.
        contexts: What is put before each sentence when it is embedded; ``None`` for nothing.
        show_progress: Whether to show a progress bar.

    Raises:
        EmbeddingError: The embedder gave the wrong number of vectors, or unusable ones.
    """
    texts = [sentence.page_content for sentence in sentences]
    if contexts is not None:
        texts = [context + text for context, text in zip(contexts, texts, strict=True)]
    row_of = {text: row for row, text in enumerate(dict.fromkeys(texts))}
    slices: list[Vectors] = []
    await embed_in_slices(io, embedding.embedding, list(row_of), _into(slices), show_progress=show_progress)
    return handover(embedding, sentences, np.concatenate(slices)[[row_of[text] for text in texts]])


def handover(embedding: NeighborMixedEmbeddings, sentences: Sequence[Document], vectors: Vectors) -> Handover:
    """Mix unit vectors of whole documents, shape ``(n, dimension)``, and hand them over."""
    return Handover(sentences, in_context(vectors, _places_of(sentences), embedding.neighbor_weights))


class _CarriedText(str):
    """A text that brings its vector along to whoever embeds it."""

    _handover: Handover
    _row: int

    @classmethod
    def of(cls, text: str, handover: Handover, row: int) -> Self:
        carried = cls(text)
        carried._handover, carried._row = handover, row
        return carried

    def vector(self) -> list[float]:
        return self._handover.take(self._row)

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce_ex__(self, protocol: object) -> tuple[type[str], tuple[str]]:
        return str, (str.__str__(self),)


def _plain(texts: Sequence[str]) -> list[str]:
    return [text for text in texts if not isinstance(text, _CarriedText)]


def _joined(texts: Sequence[str], embedded: Iterable[list[float]]) -> list[list[float]]:
    count = sum(not isinstance(text, _CarriedText) for text in texts)
    others = list(islice(embedded, count + 1))
    if len(others) != count:
        got = len(others) if len(others) < count else f"more than {count}"
        raise EmbeddingError(
            f"expected {count} vectors, one for each text, and got {got}; check what the embedder returns"
        )
    plain = iter(others)
    return [text.vector() if isinstance(text, _CarriedText) else next(plain) for text in texts]


def _into(slices: list[Vectors]) -> Callable[[Sequence[str], Vectors], Awaitable[None]]:
    async def keep(_: Sequence[str], unit: Vectors) -> None:
        slices.append(unit)

    return keep


def _places_of(documents: Iterable[Document]) -> Places:
    """Where sentence Documents stand, for mixing their vectors; they are in order, document by document."""
    known = [sentence_key(document.metadata) for document in documents]
    numbers: dict[str | None, int] = {}
    for doc_id, _, _ in known:
        numbers.setdefault(doc_id, len(numbers))
    placed = [
        (NOWHERE if None in (doc_id, index) else numbers[doc_id], section, index or 0)
        for doc_id, index, section in known
    ]
    documents_, sections, indexes = np.array(placed, dtype=np.int64).reshape(-1, 3).T
    return Places(documents_, sections, indexes)
