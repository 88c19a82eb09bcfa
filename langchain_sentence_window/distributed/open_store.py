"""A store that a worker opened, and opens again after an error that may pass, such as a database that is restarted."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window._arguments import checked_vectorstore
from langchain_sentence_window._io import BLOCKING, run
from langchain_sentence_window._showing import shown
from langchain_sentence_window._types import SentenceKey
from langchain_sentence_window.adapters.base import StoreAdapter
from langchain_sentence_window.adapters.registry import adapter_of
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.distributed.bulk import BulkWriter, fetch_by_keys
from langchain_sentence_window.documents.ingest_states import IngestState
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowError, StoreUnavailableError
from langchain_sentence_window.retrieval.indexing import delete_documents

T = TypeVar("T")

MakeStore: TypeAlias = Callable[[], VectorStore]
"""A function that opens the store. Each worker calls it once, and again after the store didn't answer."""

PAUSES = (0.5, 2.0, 8.0)
"""Seconds to wait before a call of the store is made again."""


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
            Exception: What the store raised after several attempts.
        """
        for pause in PAUSES:
            try:
                return call()
            except Exception as error:
                if isinstance(error, SentenceWindowError) and not isinstance(error, StoreUnavailableError):
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

    def remove(self, names: Sequence[str]) -> int:
        """Delete documents; return how many were there."""
        return len(run(delete_documents(BLOCKING, Scope(self.adapter), list(names)))) if names else 0

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
