"""Calls of an embedder: in batches, counted, with progress, and checked."""

import math
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from tqdm.auto import tqdm

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import Vectors, encodable
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowError

from .vectors import is_usual, normalized, to_rows

EMBED_BATCH_SIZE = 256
"""Texts of one call of an embedder; their vectors come as lists, which take several times the memory of arrays."""

MULTI_PROCESS_BATCH_SIZE = 16_384
"""Texts of one call of an embedder that starts several processes for each call."""

MAX_CACHED_QUERIES = 1_000
"""Queries whose vectors are cached, as a query is often searched again with other settings."""

MAX_CACHED_QUERY_CHARS = 2_000
"""Characters of the longest query that is cached."""


async def embed_in_slices(
    io: IO,
    embedding: Embeddings,
    texts: Sequence[str],
    keep: Callable[[Sequence[str], Vectors], Awaitable[None]],
    *,
    show_progress: bool,
) -> None:
    """Embed texts in slices, and pass on each slice as soon as it is embedded.

    A slice that the embedder rejects is halved until it is accepted, as many services accept few texts per call.

    If there are several slices, the longest texts come first: a model pads texts of a batch to one length, and texts
    that don't fit into memory fail at once.

    Args:
        io: Makes the calls.
        embedding: The embedder.
        texts: The texts to embed.
        keep: Receives the texts of a slice and their unit vectors, shape ``(n, dimension)``.
        show_progress: Whether to show a progress bar.

    Raises:
        EmbeddingError: The embedder returned the wrong number of vectors, or unusable ones.
    """
    if takes_several_calls(texts):
        texts = sorted(texts, key=len, reverse=True)
    with tqdm(total=len(texts), desc="Embedding", unit=" sentences", disable=not (show_progress and texts)) as bar:

        async def take(at: slice, vectors: object) -> None:
            part = texts[at]
            count_texts(len(part))
            await keep(part, unit_vectors(vectors, part))
            bar.update(len(part))

        await _embed_in_batches(io, embedding, [encodable(text) for text in texts], take)


class QueryEmbedder:
    """An embedder of queries that caches the vectors of the last `MAX_CACHED_QUERIES`.

    It needs no lock, as each change of the cache is a single operation of a dict. Threads that ask for the same query
    at once may embed it twice.
    """

    def __init__(self, embedding: Embeddings) -> None:
        """Begin with an empty cache."""
        self._embedding = embedding
        self._cached: OrderedDict[str, Vectors] = OrderedDict()

    async def embed(self, io: IO, query: str) -> Vectors:
        """Return the unit vector of a query, shape ``(dimension,)``, read-only.

        Raises:
            InvalidInputError: The query isn't a string.
            EmbeddingError: The embedder didn't return a list of finite numbers.
        """
        if not isinstance(query, str):
            raise InvalidInputError(f"the query is {shown(query)}; it must be a string")
        cached = self.cached(query)
        if cached is not None:
            return cached
        text = encodable(query)
        unit = unit_vector(await embed_query(io, self._embedding, text))
        unit.flags.writeable = False
        if len(text) <= MAX_CACHED_QUERY_CHARS:
            self._cached[text] = unit
            while len(self._cached) > MAX_CACHED_QUERIES:
                self._cached.popitem(last=False)
        return unit

    def cached(self, query: str) -> Vectors | None:
        """Return the unit vector of a query if it is in the cache."""
        return self._cached.get(encodable(query))


def takes_several_calls(texts: Sequence[str]) -> bool:
    """Return whether texts are too many for one call of an embedder."""
    return len(texts) > EMBED_BATCH_SIZE


def unit_vectors(vectors: object, texts: Sequence[str] | int) -> Vectors:
    """Check vectors and normalize them; a vector of zeros stays as it is.

    Args:
        vectors: Lists, tuples or arrays of numbers.
        texts: The texts that they were made from, for messages, or their number.

    Returns:
        A new array, shape ``(n, dimension)``.

    Raises:
        EmbeddingError: There isn't one vector for each text, they differ in size, or they hold anything but finite
            numbers.
    """
    return normalized(to_rows(vectors, texts))


def unit_vector(vector: object) -> Vectors:
    """Check a single vector and normalize it, as `unit_vectors` does; shape ``(dimension,)``.

    Raises:
        EmbeddingError: It isn't a list of finite numbers.
    """
    row = to_rows([vector], 1)[0]
    with np.errstate(all="ignore"):
        length = math.sqrt(row @ row)
    if is_usual(length):  # a fast path for searches
        return np.asarray(row / np.float32(length), dtype=np.float32)
    unit: Vectors = normalized(row[np.newaxis])[0]
    return unit


async def embed_texts(io: IO, embedding: Embeddings, texts: list[str]) -> list[list[float]]:
    """Embed texts, and return what the embedder did; one without async methods runs in a thread."""
    batches: list[Any] = []

    async def take(_: slice, vectors: object) -> None:
        batches.append(vectors)

    await _embed_in_batches(io, embedding, texts, take)
    return batches[0] if len(batches) == 1 else [vector for batch in batches for vector in batch]


async def _embed_in_batches(
    io: IO,
    embedding: Embeddings,
    texts: list[str],
    take: Callable[[slice, object], Awaitable[None]],
) -> None:
    """Embed texts in batches, which are halved while the embedder rejects them.

    Only a rejected batch is sent again, and the smaller size is kept for the rest of the call.
    """
    size = MULTI_PROCESS_BATCH_SIZE if getattr(embedding, "multi_process", None) is True else EMBED_BATCH_SIZE
    at = 0
    while at < len(texts):
        end = min(at + size, len(texts))
        part = texts[at:end]
        try:
            if hasattr(embedding, "aembed_documents"):
                vectors = await io.call(embedding.embed_documents, embedding.aembed_documents, part)
            else:
                vectors = await io.in_thread(embedding.embed_documents, part)
        except Exception as error:
            if end - at == 1 or not _may_take_fewer(error):
                raise
            size = (end - at) // 2
            continue
        await take(slice(at, end), vectors)
        at = end


_TOO_MANY = frozenset({400, 413, 422})
"""HTTP statuses with which services reject a batch: TEI 413 or 422, others 400."""

_OTHER_REASON = re.compile(
    r"(?:code|error|status)\W{0,3}(?:40[1378]|429|5\d\d)\b"
    r"|api[ _-]?key|unauthori[sz]ed|forbidden|credential|rate.?limit|quota|timed? ?out",
    re.IGNORECASE,
)
"""Texts of errors that smaller batches wouldn't avoid."""


def _may_take_fewer(error: Exception) -> bool:
    """Return whether an embedder that raised an error may embed fewer texts at once.

    Each service has its own errors. They hold an HTTP status if a service replied. Without one, a ``ValueError`` or the
    like may be a rejection, but an error of the network isn't.
    """
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    statuses = {status for each in chain if (status := _status(each)) is not None}
    if statuses:
        return statuses <= _TOO_MANY
    if any(isinstance(each, SentenceWindowError | OSError) or _OTHER_REASON.search(str(each)) for each in chain):
        return False
    return isinstance(error, ValueError | RuntimeError | AssertionError)


def _status(error: BaseException) -> int | None:
    """Return the HTTP status in an error of openai, Cohere, httpx, requests or aiohttp."""
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "status", "http_status", "code"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and 400 <= value < 600:  # noqa: PLR2004
                return value
    return None


async def embed_query(io: IO, embedding: Embeddings, text: str) -> list[float]:
    """Embed a query; an embedder without async methods runs in a thread."""
    if not hasattr(embedding, "aembed_query"):
        return await io.in_thread(embedding.embed_query, text)
    return await io.call(embedding.embed_query, embedding.aembed_query, text)


_listeners: ContextVar[tuple[Callable[[int], object], ...]] = ContextVar("listeners_to_texts", default=())


@contextmanager
def on_embedded_texts(listener: Callable[[int], object]) -> Iterator[None]:
    """Call a function whenever texts are embedded within the block, in this thread or task.

    Args:
        listener: Called with the number of texts. An error that it raises ends the call that embeds.
    """
    token = _listeners.set((*_listeners.get(), listener))
    try:
        yield
    finally:
        _listeners.reset(token)


def count_texts(count: int) -> None:
    """Call the listeners of the enclosing blocks."""
    for listener in _listeners.get():
        listener(count)
