"""Calling an embedder: in slices, with progress, checked; and telling one embedder from another."""

import math
import threading
from collections.abc import Callable, Sequence

import numpy as np
from langchain_core.embeddings import Embeddings
from tqdm.auto import tqdm

from langchain_sentence_window.calls import Call, Steps
from langchain_sentence_window.embedding.mixing import Vectors
from langchain_sentence_window.errors import EmbeddingError
from langchain_sentence_window.spans import encodable

TEXTS_AT_ONCE = 256
"""Texts handed to an embedder in one call; LangChain hands vectors over as lists, 8 times the size."""

QUERIES_KEPT = 1_000
"""Queries whose vectors are kept, as a query is often searched again: for more sentences, with other settings."""

_TELLING = ("model", "deployment", "revision", "dimension", "size", "seed", "normalize", "prompt", "instruction")


def embed_in_slices(
    embedding: Embeddings,
    texts: Sequence[str],
    keep: Callable[[Sequence[str], Vectors], Steps[None]],
    *,
    show_progress: bool,
) -> Steps[None]:
    """Embed texts in slices, and hand over each slice as it is done.

    Args:
        embedding: What to embed with.
        texts: What to embed.
        keep: Takes texts and their unit vectors of shape ``(n, dimension)``.
        show_progress: Whether to show a progress bar.

    Raises:
        EmbeddingError: The embedder gave the wrong number of vectors, or unusable ones.
    """
    with tqdm(total=len(texts), desc="Embedding", unit=" sentences", disable=not show_progress) as bar:
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            part = texts[start : start + TEXTS_AT_ONCE]
            given = [encodable(text) for text in part]
            vectors = yield Call(embedding.embed_documents, embedding.aembed_documents, (given,))
            yield from keep(part, unit_vectors(vectors, len(part)))
            bar.update(len(part))


class QueryEmbedder:
    """Embeds queries, and keeps the vectors of the last `QUERIES_KEPT`."""

    def __init__(self, embedding: Embeddings) -> None:
        """Choose what to embed with."""
        self._embedding = embedding
        self._kept: dict[str, Vectors] = {}
        self._lock = threading.Lock()

    def embed(self, query: str) -> Vectors:
        """The query's unit vector, shape ``(dimension,)``.

        Raises:
            EmbeddingError: The embedder gave something else than a list of numbers.
        """
        kept = self._kept.get(query)
        return kept if kept is not None else self._keep(query, self._embedding.embed_query(encodable(query)))

    async def aembed(self, query: str) -> Vectors:
        """Do what `embed` does, with the embedder's own async method."""
        kept = self._kept.get(query)
        return kept if kept is not None else self._keep(query, await self._embedding.aembed_query(encodable(query)))

    def _keep(self, query: str, vector: list[float]) -> Vectors:
        unit = unit_vector(vector)
        unit.flags.writeable = False
        with self._lock:
            self._kept[query] = unit
            while len(self._kept) > QUERIES_KEPT:
                del self._kept[next(iter(self._kept))]
        return unit


def takes_several_calls(texts: Sequence[str]) -> bool:
    """Whether there are more texts than an embedder is handed at once."""
    return len(texts) > TEXTS_AT_ONCE


def unit_vectors(vectors: object, count: int) -> Vectors:
    """Check vectors and bring each to length 1; a vector of zeros stays as it is.

    Raises:
        EmbeddingError: They aren't ``count`` vectors of one size, or hold NaN or infinity.
    """
    try:
        array = np.array(vectors, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise EmbeddingError(f"vectors must be lists of numbers, all of one length: {error}") from error
    if array.ndim != 2 or len(array) != count or not array.shape[1]:  # noqa: PLR2004
        raise EmbeddingError(
            f"expected vectors of shape ({count}, dimension), one for each text, and got {array.shape}; "
            "check what the embedder returns"
        )
    if not np.isfinite(array).all():
        bad = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise EmbeddingError(f"vector {bad} of {count} holds NaN or infinity; check the text it was made from")
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    array /= np.where(lengths > 0, lengths, np.float32(1))
    return array


def unit_vector(vector: object) -> Vectors:
    """Check a single vector, and bring it to length 1, shape ``(dimension,)``.

    Raises:
        EmbeddingError: It isn't a list of numbers, or holds NaN or infinity.
    """
    try:
        array = np.array(vector, dtype=np.float32)  # of a flat list, as a nested one takes three times as long
    except (TypeError, ValueError):
        array = np.empty(0, dtype=np.float32)
    length = math.sqrt(array @ array) if array.ndim == 1 and len(array) else math.inf
    # What isn't right is told by the check for many.
    return array / np.float32(length or 1) if math.isfinite(length) else unit_vectors([vector], 1)[0]


def describe_embedder(embedding: Embeddings) -> str:
    """Name an embedder by its class and those of its settings that say which model it is.

    Two embedders of the same description are taken for the same; two of other descriptions may
    still be the same model, loaded from another folder, say.
    """
    settings = {
        name: value
        for name, value in getattr(embedding, "__dict__", {}).items()
        if not name.startswith("_")
        and any(word in name for word in _TELLING)
        and isinstance(value, str | int | float | bool)
    }
    listed = ", ".join(f"{name}={settings[name]!r}" for name in sorted(settings))
    return f"{type(embedding).__module__}.{type(embedding).__qualname__}({listed})"
