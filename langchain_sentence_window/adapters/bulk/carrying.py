"""Loads a store that takes vectors only from its own embedder: the texts carry them through it."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window._types import Vectors
from langchain_sentence_window.adapters.bulk.base import BulkLoader
from langchain_sentence_window.embedding.neighbor_mixing import CarriedVectors, NeighborMixedEmbeddings
from langchain_sentence_window.errors import InvalidInputError


class CarryingLoader(BulkLoader):
    """Loads any store that was built with `NeighborMixedEmbeddings`, as fast as the store's own ``add_documents``."""

    def __init__(self, adapter: Any, settings: Mapping[str, Any]) -> None:
        """Take the store's adapter.

        Raises:
            InvalidInputError: The store was built with another embedder, which would embed the texts anew.
        """
        super().__init__(adapter, settings)
        self._adapter = adapter
        if not isinstance(adapter.embedding, NeighborMixedEmbeddings):
            raise InvalidInputError(
                f"{adapter.name} takes no vectors that were made elsewhere; build it with "
                "NeighborMixedEmbeddings(embedding), or add documents with a retriever"
            )

    async def write(self, io: IO, documents: Sequence[Document], vectors: Vectors, *, are_new: bool = False) -> None:
        """Add documents whose texts carry their vectors."""
        carried = CarriedVectors(documents, vectors)
        await self._adapter.put(io, carried.documents, None)
        carried.finish(self._adapter.store)
