"""A vector store that a function opens: when it is first used, and again after it didn't answer."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias, TypeVar

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window._arguments import checked_vectorstore
from langchain_sentence_window._display import shown
from langchain_sentence_window._io import BLOCKING, run
from langchain_sentence_window._primitives import SentenceKey, Vectors
from langchain_sentence_window.adapters.matchers import key_of
from langchain_sentence_window.adapters.registry import adapter_of
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.adapters.store_adapter import BulkLoader, StoreAdapter
from langchain_sentence_window.documents.keys import sentence_id
from langchain_sentence_window.documents.source_documents import FIRST_SENTENCES, IngestState
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowError, StoreUnavailableError
from langchain_sentence_window.retrieval.indexing import delete_documents
from langchain_sentence_window.retrieval.stored_sentences import fetch_documents

T = TypeVar("T")

MakeStore: TypeAlias = Callable[[], VectorStore]
"""A function that opens the store. Each worker calls it once, and again after the store didn't answer."""

PAUSES = (0.5, 2.0, 8.0)
"""Seconds to wait before a call of the store is repeated."""

_MISTAKES = (
    TypeError,
    AttributeError,
    LookupError,
    NameError,
    ImportError,
    NotImplementedError,
    AssertionError,
    ArithmeticError,
)
"""Errors of code, which fails again in the same way. `ValueError` isn't one: Chroma raises it while its server is away,
and so does a client that reads the HTML page of a gateway as JSON."""


class OpenStore(NamedTuple):
    """An open store.

    Attributes:
        adapter: Its adapter.
        loader: Writes sentences with their vectors into it.
    """

    adapter: StoreAdapter
    loader: BulkLoader

    def fetch(self, keys: Sequence[SentenceKey]) -> dict[SentenceKey, Document]:
        """Fetch sentences by document and index; leave out those that don't exist."""
        documents = run(self.adapter.fetch(BLOCKING, [sentence_id(*key) for key in keys]))
        if documents is None:
            raise self._cannot_fetch()
        return {key_of(each): each for each in documents}

    def complete(self, fingerprints: Mapping[str, str], namespace: str) -> set[str]:
        """Return the names of those documents that the store holds complete, with the given fingerprints."""
        states: dict[str, IngestState] = {}
        for (name, _), first in self.fetch([(name, 0) for name in fingerprints]).items():
            state = IngestState.read(first.metadata)
            if state and (state.fingerprint, state.namespace) == (fingerprints[name], namespace):
                states[name] = state
        ends = {name: (name, state.sentences - 1) for name, state in states.items()}
        # The sentences that a longer version would have next.
        beyond = {name: (name, state.sentences) for name, state in states.items()}
        found = self.fetch([*ends.values(), *beyond.values()])
        last_states = {name: IngestState.read(found[end].metadata) for name, end in ends.items() if end in found}
        return {name for name, state in states.items() if last_states.get(name) == state and beyond[name] not in found}

    def ingested(self, namespace: str) -> set[str]:
        """Return the names of all documents that were ingested with a namespace."""
        filters_by_mapping = isinstance(self.adapter.of_documents([""]), dict)
        found = run(self.adapter.list_sentences(BLOCKING, FIRST_SENTENCES if filters_by_mapping else None))
        states = ((key_of(each)[0], IngestState.read(each.metadata)) for each in found)
        return {name for name, state in states if state is not None and state.namespace == namespace}

    def write(self, sentences: Sequence[Document], vectors: Vectors) -> None:
        """Write all sentences of some documents, from first to last; then delete surplus ones of earlier versions.

        So an interrupted call leaves no gap, and repeating the call completes it.
        """
        if not sentences:
            return
        counts = Counter(key_of(each)[0] for each in sentences)
        stored = run(fetch_documents(BLOCKING, self.adapter, list(counts)))
        if stored is None:
            raise self._cannot_fetch()
        run(self.loader.write(BLOCKING, sentences, vectors))
        keys = [key_of(each) for earlier in stored.values() for each in earlier]
        surplus = [sentence_id(name, index) for name, index in keys if index >= counts[name]]
        # From the last one, so that an interrupted call leaves no gap.
        run(self.adapter.remove(BLOCKING, surplus[::-1]))

    def remove(self, names: Sequence[str]) -> Sequence[str]:
        """Delete documents; return the names of those that existed."""
        return run(delete_documents(BLOCKING, Scope(self.adapter), list(names))) if names else []

    def finish(self) -> None:
        """Build missing indexes."""
        run(self.loader.finish(BLOCKING))

    def _cannot_fetch(self) -> InvalidInputError:
        return InvalidInputError(f"{self.adapter.name} can't fetch by id; add the documents with a retriever")


class StoreConnection:
    """Calls a store, and repeats calls after temporary errors. It can be pickled if its function can."""

    def __init__(self, make: MakeStore, settings: Mapping[str, Any]) -> None:
        """Open nothing yet.

        Args:
            make: Opens the store.
            settings: Settings of the store's `BulkLoader`.

        Raises:
            InvalidInputError: ``make`` is a store, which can't be sent to workers, or isn't a function.
        """
        if isinstance(make, VectorStore):
            raise InvalidInputError(
                f"store is {shown(make)}, which holds connections or data of this process; give a function that opens "
                "the store, which each worker calls: store=open_store"
            )
        if not callable(make):
            raise InvalidInputError(f"store is {shown(make)}; give a function that opens the store")
        self._make, self._settings = make, settings
        self._store: OpenStore | None = None

    def call(self, action: Callable[[OpenStore], T]) -> T:
        """Call a function with the open store; after a temporary error, open the store again and repeat the call.

        Raises:
            SentenceWindowError: At once, unless it is a `StoreUnavailableError`.
            Exception: What the store raised in the last of several attempts; at once if it is a mistake in code, such
                as a `TypeError`.
        """
        for pause in PAUSES:
            try:
                return action(self._opened())
            except Exception as error:
                is_temporary = isinstance(error, StoreUnavailableError)
                if not is_temporary and isinstance(error, (SentenceWindowError, *_MISTAKES)):
                    raise
            self.release()
            time.sleep(pause)
        return action(self._opened())

    def answers(self) -> bool:
        """Return whether the store can be read now."""
        try:
            self._opened().fetch([("", 0)])
        except Exception:  # noqa: BLE001
            self.release()
            return False
        return True

    def release(self) -> None:
        """Close the store; the next call opens it again."""
        if self._store is not None:
            with suppress(Exception):  # the server may be away
                self._store.adapter.close()
            self._store = None

    def _opened(self) -> OpenStore:
        if self._store is None:
            adapter = adapter_of(checked_vectorstore("store", self._make()))
            try:
                self._store = OpenStore(adapter, adapter.bulk_loader(**self._settings))
            except Exception:
                adapter.close()
                raise
        return self._store

    def __getstate__(self) -> Mapping[str, Any]:
        """Return the state to pickle, without what is open."""
        return {**self.__dict__, "_store": None}
