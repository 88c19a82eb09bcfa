"""Calling an embedder: in slices, with progress, checked; and telling one embedder from another."""

import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

import numpy as np
from langchain_core.embeddings import Embeddings
from tqdm.auto import tqdm

from langchain_sentence_window._io import ASYNC, IO
from langchain_sentence_window._showing import shown
from langchain_sentence_window._text import encodable
from langchain_sentence_window._types import Vectors
from langchain_sentence_window.embedding.description import describe_embedder
from langchain_sentence_window.embedding.mixing import is_usual, normalized
from langchain_sentence_window.embedding.numbers import to_row, to_rows
from langchain_sentence_window.errors import InvalidInputError

__all__ = [
    "EMBED_BATCH_SIZE",
    "LONGEST_KEPT",
    "QUERIES_KEPT",
    "SAME_EMBEDDER",
    "QueryEmbedder",
    "check_same_embedder",
    "describe_embedder",
    "embed_in_slices",
    "embed_query",
    "embed_texts",
    "takes_several_calls",
    "unit_vector",
    "unit_vectors",
]

EMBED_BATCH_SIZE = 256
"""Texts handed to an embedder in one call; LangChain hands vectors over as lists, 8 times the size."""

QUERIES_KEPT = 1_000
"""Queries whose vectors are kept, as a query is often searched again: for more sentences, with other settings."""

LONGEST_KEPT = 2_000
"""Characters of the longest query whose vector is kept, as the query is kept too."""


SAME_EMBEDDER = 0.999
"""Lowest cosine between a stored vector and its text embedded again for two embedders to be taken for one. Half
precision, of the model or of what is stored, stays above it; a prompt of one word doesn't."""


async def embed_in_slices(
    io: IO,
    embedding: Embeddings,
    texts: Sequence[str],
    keep: Callable[[Sequence[str], Vectors], Awaitable[None]],
    *,
    show_progress: bool,
) -> None:
    """Embed texts in slices, and hand over each slice as it is done.

    Args:
        io: Makes the calls.
        embedding: What to embed with.
        texts: What to embed.
        keep: Takes texts and their unit vectors of shape ``(n, dimension)``.
        show_progress: Whether to show a progress bar.

    Raises:
        EmbeddingError: The embedder gave the wrong number of vectors, or unusable ones.
    """
    with tqdm(total=len(texts), desc="Embedding", unit=" sentences", disable=not (show_progress and texts)) as bar:
        for start in range(0, len(texts), EMBED_BATCH_SIZE):
            part = texts[start : start + EMBED_BATCH_SIZE]
            given = [encodable(text) for text in part]
            vectors = await embed_texts(io, embedding, given)
            await keep(part, unit_vectors(vectors, part))
            bar.update(len(part))


class QueryEmbedder:
    """Embeds queries, and keeps the vectors of the last `QUERIES_KEPT`.

    Nothing is locked, so nothing stays locked if a call is interrupted: each change of what is kept is one operation
    of a dict. Threads that ask the same at once may embed it twice.
    """

    def __init__(self, embedding: Embeddings) -> None:
        """Choose what to embed with."""
        self._embedding = embedding
        self._kept: OrderedDict[str, Vectors] = OrderedDict()

    def embed(self, query: str) -> Vectors:
        """The query's unit vector, shape ``(dimension,)``, which can't be written to.

        Raises:
            InvalidInputError: The query isn't a string.
            EmbeddingError: The embedder gave something else than a list of numbers.
        """
        asked = _checked_query(query)
        kept = self._kept.get(asked)
        if kept is not None:
            return kept
        return self._keep(asked, self._embedding.embed_query(asked))

    async def aembed(self, query: str) -> Vectors:
        """Do what `embed` does, with the embedder's own async method."""
        asked = _checked_query(query)
        kept = self._kept.get(asked)
        if kept is not None:
            return kept
        return self._keep(asked, await embed_query(ASYNC, self._embedding, asked))

    def _keep(self, query: str, vector: object) -> Vectors:
        unit = unit_vector(vector)
        unit.flags.writeable = False
        if len(query) <= LONGEST_KEPT:
            self._kept[query] = unit
            while len(self._kept) > QUERIES_KEPT:
                self._kept.popitem(last=False)
        return unit


def _checked_query(query: object) -> str:
    if not isinstance(query, str):
        raise InvalidInputError(f"the query is {shown(query)}; it must be a string")
    return encodable(query)


def takes_several_calls(texts: Sequence[str]) -> bool:
    """Whether there are more texts than an embedder is handed at once."""
    return len(texts) > EMBED_BATCH_SIZE


async def check_same_embedder(io: IO, embedding: Embeddings, stored: Sequence[tuple[str, Vectors]]) -> bool:
    """Embed texts again, and say whether the vectors are those that are stored.

    Args:
        io: Makes the calls.
        embedding: What may have made them.
        stored: A few texts, each with its vector; long texts tell more embedders apart than short ones.

    Returns:
        Whether each cosine is at least `SAME_EMBEDDER`; true of no texts.

    Raises:
        EmbeddingError: The embedder gave the wrong number of vectors, or unusable ones.
    """
    if not stored:
        return True
    texts = [encodable(text) for text, _ in stored]
    again = unit_vectors(await embed_texts(io, embedding, texts), texts)
    if any(vector.shape != again.shape[1:] for _, vector in stored):
        return False
    before = normalized(np.stack([vector for _, vector in stored]))
    both_zero = ~(before.any(axis=1) | again.any(axis=1))
    return bool((both_zero | ((before * again).sum(axis=1) >= SAME_EMBEDDER)).all())


def unit_vectors(vectors: object, texts: Sequence[str] | int) -> Vectors:
    """Check vectors and bring each to length 1; a vector of zeros stays as it is.

    Args:
        vectors: Lists, tuples, arrays, tensors or a generator of numbers.
        texts: What they were made from, to be named in messages, or how many there are.

    Returns:
        An array of its own, shape ``(n, dimension)``.

    Raises:
        EmbeddingError: They aren't one for each text, all of one size, or hold NaN, infinity or no numbers.
    """
    return normalized(to_rows(vectors, texts))


def unit_vector(vector: object) -> Vectors:
    """Check a single vector, and bring it to length 1, shape ``(dimension,)``; see `unit_vectors`.

    Raises:
        EmbeddingError: It isn't a list of numbers, or holds NaN or infinity.
    """
    row = to_row(vector)
    with np.errstate(all="ignore"):
        length = math.sqrt(row @ row)
    if is_usual(length):  # which every search asks; the check for many takes several times as long
        return np.asarray(row / np.float32(length), dtype=np.float32)
    unit: Vectors = normalized(row[np.newaxis])[0]
    return unit


async def embed_texts(io: IO, embedding: Embeddings, texts: list[str]) -> list[list[float]]:
    """Embed texts; in a thread, if need be, as not every embedder has async methods."""
    if not hasattr(embedding, "aembed_documents"):
        return await io.in_thread(embedding.embed_documents, texts)
    return await io.call(embedding.embed_documents, embedding.aembed_documents, texts)


async def embed_query(io: IO, embedding: Embeddings, text: str) -> list[float]:
    """Embed a query; see `embed_texts`."""
    if not hasattr(embedding, "aembed_query"):
        return await io.in_thread(embedding.embed_query, text)
    return await io.call(embedding.embed_query, embedding.aembed_query, text)
