"""Calls of an embedder: in slices, counted, with progress, and checked."""

import math
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
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

    A slice that the embedder refuses, as many services take few texts a call, is halved until it is taken.

    If there are several slices, the longest texts come first. A model reads texts of one length with the least waste,
    as it fills up short ones, and what doesn't fit into memory fails at once.

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

    It needs no lock, as each change of the cache is one operation of a dict. Threads that embed the same query at the
    same time may embed it twice.
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
        """Return the unit vector of a query that was embedded lately; ``None`` if it would have to be embedded."""
        return self._cached.get(encodable(query))


def takes_several_calls(texts: Sequence[str]) -> bool:
    """Return whether texts are too many for one call of an embedder."""
    return len(texts) > EMBED_BATCH_SIZE


def unit_vectors(vectors: object, texts: Sequence[str] | int) -> Vectors:
    """Check vectors and normalize them; a vector of zeros stays as it is.

    Args:
        vectors: Lists, tuples, arrays, tensors or a generator of numbers.
        texts: The texts that they were made from, to be named in messages, or the number of texts.

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
    made = list[Any]()

    async def take(_: slice, vectors: object) -> None:
        made.append(vectors)

    await _embed_in_batches(io, embedding, texts, take)
    return made[0] if len(made) == 1 else [vector for part in made for vector in part]


async def _embed_in_batches(
    io: IO,
    embedding: Embeddings,
    texts: list[str],
    take: Callable[[slice, object], Awaitable[None]],
) -> None:
    """Embed texts in batches, which are halved as long as the embedder refuses so many.

    Only a refused batch is sent again, and the smaller size holds for the rest of the call.
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


_REFUSED = frozenset({400, 413, 422})
"""HTTP statuses with which services refuse a batch: TEI 413 or 422, others 400."""

_OTHER_REASON = re.compile(
    r"(?:code|error|status)\W{0,3}(?:40[1378]|429|5\d\d)\b"
    r"|api[ _-]?key|unauthori[sz]ed|forbidden|credential|rate.?limit|quota|timed? ?out",
    re.IGNORECASE,
)
"""What errors say that fewer texts wouldn't help against."""


def _may_take_fewer(error: Exception) -> bool:
    """Return whether an embedder that raised an error may embed fewer texts at once.

    Each service has errors of its own. They hold a status of HTTP, if a service was reached. Without one, an error of
    the network or of a program isn't a refusal, and a ``ValueError`` or the like is.
    """
    chain = _chain(error)
    statuses = {status for each in chain if (status := _status(each)) is not None}
    if statuses:
        return statuses <= _REFUSED
    if any(isinstance(each, SentenceWindowError | OSError) or _OTHER_REASON.search(str(each)) for each in chain):
        return False
    return isinstance(error, ValueError | RuntimeError | AssertionError)


def _chain(error: BaseException) -> list[BaseException]:
    """Return an error and its causes."""
    chain = [error]
    while (before := chain[-1].__cause__ or chain[-1].__context__) is not None and before not in chain:
        chain.append(before)
    return chain


def _status(error: BaseException) -> int | None:
    """Return the status of HTTP that an error holds, as openai, Cohere, httpx, requests or aiohttp do."""
    names = ("status_code", "status", "http_status", "code")
    values = [getattr(holder, name, None) for holder in (error, getattr(error, "response", None)) for name in names]
    return next((int(each) for each in values if isinstance(each, int) and 400 <= each < 600), None)  # noqa: PLR2004


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
        listener: Is given the number of the texts. An error that it raises ends the call that embeds.
    """
    token = _listeners.set((*_listeners.get(), listener))
    try:
        yield
    finally:
        _listeners.reset(token)


@dataclass(slots=True)
class EmbeddedTexts:
    """The texts that were embedded so far.

    Attributes:
        count: Their number.
    """

    count: int = 0


@contextmanager
def counted_texts() -> Iterator[EmbeddedTexts]:
    """Count the texts that are embedded within the block, in this thread or task."""
    texts = EmbeddedTexts()

    def add(count: int) -> None:
        texts.count += count

    with on_embedded_texts(add):
        yield texts


def count_texts(count: int) -> None:
    """Call the listeners of the blocks that this is within."""
    for listener in _listeners.get():
        listener(count)
