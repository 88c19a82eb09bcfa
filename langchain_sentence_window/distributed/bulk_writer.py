"""`BulkWriter`: loads many sentences, with vectors that were made elsewhere, into a vector store; `OpenStore`.

What a writer writes is what the store would have written itself, so a store may be loaded in bulk and kept up to date
by a retriever. A call that is cut short, and made again, leaves no sentence twice and none of an earlier version.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window._arguments import checked_documents, checked_vectorstore
from langchain_sentence_window._display import shown
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, run
from langchain_sentence_window._primitives import SentenceKey, Vectors
from langchain_sentence_window._validation import checked_count
from langchain_sentence_window.adapters.matchers import key_of
from langchain_sentence_window.adapters.registry import adapter_of
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.adapters.store_adapter import StoreAdapter, batches
from langchain_sentence_window.documents.keys import sentence_id
from langchain_sentence_window.documents.source_documents import IngestState
from langchain_sentence_window.embedding.vectors import to_rows
from langchain_sentence_window.errors import (
    EmbeddingError,
    InvalidInputError,
    SentenceWindowError,
    StoreUnavailableError,
)
from langchain_sentence_window.retrieval.indexing import delete_documents

BATCH_SIZE = 5_000
"""Sentences in one call of the store."""

ASK_BATCH_SIZE = 256
"""Sentences of an earlier, longer version of a document that are looked for in one call, after the first."""


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

    def __init__(self, store: VectorStore, *, batch_size: int = BATCH_SIZE, **settings: Any) -> None:
        """Choose the store.

        Args:
            store: A ``PGVectorStore`` or another whose adapter takes vectors; or any other that was built with
                `NeighborMixedEmbeddings`, which is written as it writes itself.
            batch_size: Sentences in one call of the store, 1 or more.
            **settings: Settings of the store's loader, see `langchain_sentence_window.adapters.store_adapter`.

        Raises:
            InvalidInputError: The store can't take vectors that were made elsewhere, or a setting can't be used.
        """
        self._adapter = adapter_of(store)
        self._batch_size = checked_count("batch_size", batch_size)
        self._loader = self._adapter.bulk_loader(settings)

    def __enter__(self) -> Self:
        """Call `prepare`."""
        self.prepare()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Call `finish`; after an exception, only switch on again what was on before."""
        run((self._loader.finish if kind is None else self._loader.restore)(BLOCKING))

    async def __aenter__(self) -> Self:
        """Call `aprepare`."""
        await self.aprepare()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Call `afinish`; after an exception, only build what was there before."""
        await (self._loader.finish if kind is None else self._loader.restore)(ASYNC)

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

    async def _write(self, io: IO, sentences: Sequence[Document], vectors: object) -> int:
        given = checked_documents(sentences)
        if not given:
            return 0
        rows = _single_precision(vectors, [each.page_content for each in given])
        counts = _counts(given)
        beyond = await self._surplus(io, counts)
        for numbers in batches(range(len(given)), self._batch_size):
            part = slice(numbers[0], numbers[-1] + 1)
            await self._loader.write(io, given[part], rows[part])
        await self._adapter.remove(io, beyond[::-1])
        return len(given)

    async def _surplus(self, io: IO, counts: Mapping[str, int]) -> list[str]:
        """Find the ids of what the store has of documents beyond a number of sentences of each.

        Raises:
            InvalidInputError: The store can't fetch by id.
        """
        firsts = {name for name, _ in await fetch_by_keys(io, self._adapter, [(name, 0) for name in counts])}
        asked, left = 1, {name: counts[name] for name in firsts}
        beyond: list[str] = []
        while left:
            keys = [(name, index) for name, first in left.items() for index in range(first, first + asked)]
            there = await fetch_by_keys(io, self._adapter, keys)
            beyond += [sentence_id(*key) for key in keys if key in there]
            # A document without its next sentence has none after it.
            left = {name: first + asked for name, first in left.items() if (name, first + asked - 1) in there}
            asked = ASK_BATCH_SIZE
        return beyond


async def fetch_by_keys(io: IO, adapter: StoreAdapter, keys: Sequence[SentenceKey]) -> dict[SentenceKey, Document]:
    """Fetch sentences by document and index; leave out those that don't exist.

    Raises:
        InvalidInputError: The store can't fetch by id; nothing was written.
    """
    found = await adapter.fetch(io, [sentence_id(*key) for key in keys])
    if found is None:
        raise InvalidInputError(
            f"{adapter.name} can't fetch by id, so earlier versions of the documents can't be found; add the "
            "documents with a retriever. Nothing was written."
        )
    return {key_of(each): each for each in found}


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


T = TypeVar("T")

MakeStore: TypeAlias = Callable[[], VectorStore]
"""A function that opens the store. Each worker calls it once, and again after the store didn't answer."""

PAUSES = (0.5, 2.0, 8.0)
"""Seconds to wait before a call of the store is made again."""

_LASTING = (
    TypeError,
    AttributeError,
    LookupError,
    NameError,
    ImportError,
    NotImplementedError,
    AssertionError,
    ArithmeticError,
)
"""Errors of code, which fails again in the same way. A `ValueError` isn't one: Chroma raises it while its server is
away (and so does a client that reads the HTML page of a gateway as JSON)."""


class OpenStore:
    """A store, opened when it is first needed."""

    def __init__(self, make: MakeStore, settings: Mapping[str, Any]) -> None:
        """Open nothing yet.

        Args:
            make: Opens the store.
            settings: Settings of its `BulkWriter`.
        """
        self._make, self._settings = make, settings
        self._opened: tuple[StoreAdapter, BulkWriter] | None = None

    @property
    def adapter(self) -> StoreAdapter:
        """The adapter of the store."""
        return self._open()[0]

    @property
    def bulk(self) -> BulkWriter:
        """The writer into the store."""
        return self._open()[1]

    def calling(self, call: Callable[[], T]) -> T:
        """Make a call that uses the store; open the store and make it again after errors that may pass.

        Raises:
            SentenceWindowError: At once, as it doesn't pass, unless it is a `StoreUnavailableError`.
            Exception: What the store raised after several attempts; at once if it is a mistake in code, such as a
                `TypeError`.
        """
        for pause in PAUSES:
            try:
                return call()
            except Exception as error:
                is_away = isinstance(error, StoreUnavailableError)
                if isinstance(error, _LASTING) or (isinstance(error, SentenceWindowError) and not is_away):
                    raise
                self.release()
                time.sleep(pause)
        return call()

    def answers(self) -> bool:
        """Return whether the store can be read now."""
        try:
            self.fetch([("", 0)])
        except Exception:  # noqa: BLE001
            self.release()
            return False
        return True

    def fetch(self, keys: Sequence[SentenceKey]) -> dict[SentenceKey, Document]:
        """Fetch sentences by document and index; leave out those that don't exist.

        Raises:
            InvalidInputError: The store can't fetch by id.
        """
        return run(fetch_by_keys(BLOCKING, self.adapter, keys))

    def complete(self, fingerprints: Mapping[str, str], namespace: str) -> set[str]:
        """Return the names of those documents that the store holds whole, with the given fingerprints."""
        states: dict[str, IngestState] = {}
        for (name, _), first in self.fetch([(name, 0) for name in fingerprints]).items():
            state = IngestState.read(first.metadata)
            if state and (state.fingerprint, state.namespace) == (fingerprints[name], namespace):
                states[name] = state
        # The last sentence, and the one after it, which would be left of a longer version.
        ends = [(name, state.sentences - 1 + beyond) for name, state in states.items() for beyond in (0, 1)]
        found = self.fetch(ends) if ends else {}
        return {name for name, state in states.items() if _is_complete(name, state, found)}

    def release(self) -> None:
        """Let the store go, and close connections that wait, as far as it can; the next call opens it again."""
        if self._opened is not None:
            with suppress(Exception):  # the server may be away
                self._opened[0].release()
            self._opened = None

    def prepare(self) -> None:
        """Switch off what makes writing slow."""
        self.bulk.prepare()

    def finish(self) -> None:
        """Build indexes."""
        self.bulk.finish()

    def remove(self, names: Sequence[str]) -> Sequence[str]:
        """Delete documents; return the names of those that were there."""
        return run(delete_documents(BLOCKING, Scope(self.adapter), list(names))) if names else []

    def _open(self) -> tuple[StoreAdapter, BulkWriter]:
        if self._opened is None:
            store = checked_vectorstore("store", self._make())
            adapter = adapter_of(store)
            try:
                self._opened = adapter, BulkWriter(store, **self._settings)
            except SentenceWindowError:
                adapter.release()
                raise
        return self._opened


def _is_complete(name: str, state: IngestState, found: Mapping[SentenceKey, Document]) -> bool:
    last = found.get((name, state.sentences - 1))
    return last is not None and IngestState.read(last.metadata) == state and (name, state.sentences) not in found


def checked_store_maker(store: object) -> MakeStore:
    """Return the function that opens the store.

    Raises:
        InvalidInputError: It is a store, which can't be sent to workers, or something else.
    """
    if isinstance(store, VectorStore):
        raise InvalidInputError(
            f"store is {shown(store)}, which holds connections or data of this process; give a function that opens the "
            "store, which each worker calls: store=open_store"
        )
    if not callable(store):
        raise InvalidInputError(f"store is {shown(store)}; give a function that opens the store")
    return store
