"""The store of an ingest, as the driver uses it: before the workers begin, and after they have ended."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from typing import Any

from langchain_sentence_window._io import BLOCKING, run
from langchain_sentence_window.adapters.batches import batches
from langchain_sentence_window.adapters.filtering import key_of
from langchain_sentence_window.distributed.document_writer import describe_error
from langchain_sentence_window.distributed.open_store import MakeStore, OpenStore, checked_store_maker
from langchain_sentence_window.documents.ingest_states import FIRST_SENTENCES, IngestState
from langchain_sentence_window.errors import IngestError, InvalidInputError

DELETE_BATCH_SIZE = 200
"""Documents that are deleted in one call."""

_DIGEST_SIZE = 12


class IngestTarget:
    """The store, what it had of the namespace, and what was deleted.

    Attributes:
        deleted: The number of documents that were deleted, as they weren't given any more.
    """

    def __init__(
        self, store: MakeStore, settings: Mapping[str, Any], namespace: str, *, cleans: bool, is_dry: bool
    ) -> None:
        """Open nothing yet.

        Args:
            store: Opens the store.
            settings: Settings of its `BulkWriter`.
            namespace: The name of the ingest.
            cleans: Whether what vanished is deleted.
            is_dry: Whether nothing is written.
        """
        self._store = OpenStore(checked_store_maker(store), settings)
        self._namespace, self._cleans, self._is_dry = namespace, cleans, is_dry
        self._before: dict[bytes, str] = {}
        self.deleted = 0

    def begin(self, *, rebuild_indexes: bool) -> None:
        """Open the store, list what it has of the namespace, and drop indexes, as far as that was asked for."""
        with _failing_as("the store can't be opened ({}); check that it is running"):
            self._store.calling(self._begin)
            if rebuild_indexes and not self._is_dry:
                self._store.calling(self._store.prepare)

    def _begin(self) -> None:
        adapter = self._store.adapter
        self._store.fetch([("", 0)])  # asks the store
        if self._cleans:
            by_mapping = isinstance(adapter.of_documents([""]), dict)
            found = run(adapter.list_sentences(BLOCKING, FIRST_SENTENCES if by_mapping else None))
            states = ((each, IngestState.read(each.metadata)) for each in found)
            names = [key_of(each)[0] for each, state in states if state and state.namespace == self._namespace]
            self._before = {digest(name): name for name in names}

    def release(self) -> None:
        """Close connections of this process."""
        self._store.release()

    def saw(self, name: str) -> None:
        """Note that a document was given."""
        self._before.pop(digest(name), None)

    def end(self, *, keeps_all: bool) -> None:
        """Delete what vanished, unless all is to be kept, and build indexes."""
        if self._is_dry:
            return
        vanished = [] if keeps_all else list(self._before.values())
        with _failing_as("all documents were written, and then the store failed ({}); call ingest again"):
            for part in batches(vanished, DELETE_BATCH_SIZE):
                self.deleted += self._store.calling(partial(self._store.remove, part))
            self._store.calling(self._store.finish)


@contextmanager
def _failing_as(told: str) -> Iterator[None]:
    """Raise `IngestError` in place of what a store raises, with the error in the message; let wrong settings pass."""
    try:
        yield
    except InvalidInputError:
        raise
    except Exception as error:
        raise IngestError(told.format(describe_error(error))) from error


def digest(name: str) -> bytes:
    """Return a few bytes for a name, as there may be many millions."""
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_SIZE).digest()
