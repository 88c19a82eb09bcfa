"""`WriteMethods`: how the package changes what a vector store holds."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window._types import Vectors
from langchain_sentence_window.adapters.batches import batches
from langchain_sentence_window.adapters.bulk.base import BulkLoader
from langchain_sentence_window.adapters.bulk.carrying import CarryingLoader
from langchain_sentence_window.adapters.traits import StoreTraits


class WriteMethods(StoreTraits):
    """The methods of an adapter that write: adding, replacing and deleting documents."""

    async def put(self, io: IO, documents: Sequence[Document], existing: Sequence[str] | None) -> None:
        """Add documents, in place of those with the same ids.

        Args:
            io: Makes the calls.
            documents: Each with an id.
            existing: Ids that the store holds; ``None`` if that isn't known.
        """
        for batch in batches(documents, self.write_batch_size):
            await io.call(
                self.store.add_documents, self.store.aadd_documents, list(batch), ids=[each.id for each in batch]
            )

    async def remove(self, io: IO, ids: Sequence[str]) -> None:
        """Delete documents that the store holds."""
        for batch in batches(ids, self.write_batch_size):
            await io.call(self.store.delete, self.store.adelete, list(batch))

    async def replace_documents(
        self,
        io: IO,
        sentences: Sequence[Document],
        doc_ids: Sequence[str],
        *,
        contexts: Sequence[str] | None,
        within: Any,
        show_progress: bool,
    ) -> bool:
        """Replace all sentences of the source documents in one transaction, if the store can.

        Args:
            io: Makes the calls.
            sentences: The new ones.
            doc_ids: Source documents to replace; those without a new sentence are deleted.
            contexts: Text to put before each sentence when it is embedded.
            within: A filter that the old and the new sentences must match; ``None`` for no filter.
            show_progress: Whether to show a progress bar.

        Returns:
            Whether it was done. If not, sentences are written with `put`, then old ones are deleted with `remove`.
        """
        return False

    async def prepare_replacement(
        self, io: IO, sentences: Sequence[Document], doc_ids: Sequence[str], contexts: Sequence[str]
    ) -> Any:
        """Prepare a replacement that embeds first and is written by another thread, if the store can; else ``None``."""
        return None

    async def delete_documents(
        self, io: IO, doc_ids: Sequence[str] | None, filter: Any, source: str | None
    ) -> Sequence[str] | None:
        """Delete whole source documents in one transaction, if the store can.

        Args:
            io: Makes the calls.
            doc_ids: Their names; ``None`` for any.
            filter: A filter that all their sentences must match; ``None`` for no filter.
            source: The source that their metadata must name; ``None`` for any.

        Returns:
            The names of the documents that were deleted; ``None`` if it wasn't done. Then they are found with
            `list_documents`, and their sentences deleted with `remove`.

        Raises:
            InvalidInputError: The filter matches only a part of a document; nothing was deleted.
        """
        return None

    async def add_vectors(self, io: IO, documents: Sequence[Document], vectors: Vectors) -> None:
        """Add documents with their vectors as they were embedded, before they are mixed with their neighbors'."""
        raise NotImplementedError

    def bulk_loader(self, settings: Mapping[str, Any]) -> BulkLoader:
        """Return what loads many sentences into the store, see `BulkLoader`.

        Args:
            settings: Settings that differ from those of the loader's class.

        Raises:
            InvalidInputError: The store can't take vectors that were made elsewhere, or a setting can't be used.
        """
        return CarryingLoader(self, settings)

    def release(self) -> None:
        """Close connections that wait for the next call; the store opens new ones when it needs them."""

    def close(self) -> None:
        """Close the store, if it can be closed."""
        close = getattr(self.store, "close", None)
        if callable(close):
            close()
